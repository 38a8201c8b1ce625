//! The characters of a JSON text (RFC 8259), pulled one after another: white space, punctuation, strings. Knows where it is,
//! not what the text is for.

use std::io::{self, Read};

use super::LONGEST;
use super::document::Document;
use crate::items::SourceError;

/// Decompressed bytes held at a time.
const CHUNK: usize = 32 << 10;

/// Bytes that end a run of plain characters in a string: its quote, an escape, and control characters, which must be escaped.
const STOPS: [bool; 256] = {
    let mut stops = [false; 256];
    let mut control = 0;
    while control < 0x20 {
        stops[control] = true;
        control += 1;
    }
    stops[b'"' as usize] = true;
    stops[b'\\' as usize] = true;
    stops
};

/// A place in the decompressed document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// From 1.
    pub line: u64,
    /// From 0.
    pub byte: u64,
}

/// A JSON text and a place in it.
pub struct Text<R: Read> {
    document: Document<R>,
    chunk: Box<[u8]>,
    at: usize,
    filled: usize,
    /// Bytes of the document before this chunk.
    before: u64,
    /// Counts from 1. Outside strings only: a line break inside one is an error.
    line: u64,
}

impl<R: Read> Text<R> {
    /// # Errors
    /// A document that cannot be read.
    pub fn new(document: Document<R>) -> Result<Self, SourceError> {
        let chunk = vec![0; CHUNK].into_boxed_slice();
        let mut text = Self { document, chunk, at: 0, filled: 0, before: 0, line: 1 };
        text.skip_byte_order_mark()?;
        Ok(text)
    }

    /// Where the next byte stands.
    pub fn place(&self) -> Place {
        Place { line: self.line, byte: self.before + self.at as u64 }
    }

    /// A complaint about the next byte.
    pub fn complain(&self, complaint: impl std::fmt::Display) -> SourceError {
        self.complain_of(self.place(), complaint)
    }

    pub fn complain_of(&self, Place { line, byte }: Place, complaint: impl std::fmt::Display) -> SourceError {
        self.document.origin().complain(line, byte, complaint)
    }

    /// The byte before the next one. Only for bytes that are no line break.
    fn previous(&self) -> Place {
        let Place { line, byte } = self.place();
        Place { line, byte: byte - 1 }
    }

    /// Steps over white space; the byte after it, `None` at the end of the document.
    pub fn peek_after_space(&mut self) -> Result<Option<u8>, SourceError> {
        loop {
            match self.peek()? {
                Some(b'\n') => self.line += 1,
                Some(b' ' | b'\t' | b'\r') => {}
                other => return Ok(other),
            }
            self.at += 1;
        }
    }

    /// Steps over white space and the byte `wanted`, or complains that `hope` was expected.
    pub fn expect(&mut self, wanted: u8, hope: impl std::fmt::Display) -> Result<(), SourceError> {
        match self.peek_after_space()? {
            Some(byte) if byte == wanted => {
                self.at += 1;
                Ok(())
            }
            other => Err(self.unexpected(other, hope)),
        }
    }

    /// Steps over the byte that was peeked.
    pub fn step(&mut self) {
        debug_assert!(self.at < self.filled, "nothing was peeked");
        self.at += 1;
    }

    pub fn unexpected(&self, found: Option<u8>, hope: impl std::fmt::Display) -> SourceError {
        self.complain(format!("expected {hope}, found {}", shown(found)))
    }

    /// Reads a string, from its opening quote, in place of what `into` holds.
    ///
    /// # Errors
    /// Anything but a well-formed string of at most [`LONGEST`] bytes of UTF-8.
    pub fn string(&mut self, into: &mut Vec<u8>) -> Result<(), SourceError> {
        self.expect(b'"', "a string in double quotes")?;
        let start = self.place();
        into.clear();
        loop {
            match self.plain(start, into)? {
                b'"' => break,
                b'\\' => self.escape(into)?,
                control => {
                    let written = format!("write it as \\u{control:04x}; perhaps a closing quote is missing");
                    return Err(self.complain_of(
                        self.previous(),
                        format!("control character 0x{control:02x} in a string; {written}"),
                    ));
                }
            }
        }
        self.check_utf8(start, into)
    }

    /// Moves a run of plain characters to `into`; the byte that ended it, already stepped over.
    fn plain(&mut self, start: Place, into: &mut Vec<u8>) -> Result<u8, SourceError> {
        loop {
            if self.peek()?.is_none() {
                let found = format!(
                    "the document ends inside the string that begins at byte {}; it was cut short, or a quote is missing",
                    start.byte
                );
                return Err(self.complain(found));
            }
            let rest = &self.chunk[self.at..self.filled];
            let stop = rest.iter().position(|byte| STOPS[usize::from(*byte)]);
            let run = &rest[..stop.unwrap_or(rest.len())];
            if into.len() + run.len() > LONGEST {
                return Err(self.complain_of(
                    start,
                    format!("a string longer than {LONGEST} bytes; perhaps its closing quote is missing"),
                ));
            }
            into.extend_from_slice(run);
            self.at += run.len();
            if let Some(found) = stop.map(|stop| rest[stop]) {
                self.at += 1;
                return Ok(found);
            }
        }
    }

    /// Reads what follows a backslash.
    fn escape(&mut self, into: &mut Vec<u8>) -> Result<(), SourceError> {
        let start = self.previous();
        let found = self.peek()?;
        let plain = match found {
            Some(same @ (b'"' | b'\\' | b'/')) => same,
            Some(b'b') => 0x08,
            Some(b'f') => 0x0c,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                self.step();
                let character = self.character(start)?;
                into.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            other => return Err(self.unexpected(other, "one of \" \\ / b f n r t u after a backslash")),
        };
        self.step();
        into.push(plain);
        Ok(())
    }

    /// The character of `\uXXXX`, or of two of them that are the surrogates of one character.
    fn character(&mut self, start: Place) -> Result<char, SourceError> {
        let first = self.four_digits()?;
        if let Some(character) = char::from_u32(first) {
            return Ok(character);
        }
        let alone = |text: &Self| {
            text.complain_of(start, format!("\\u{first:04x} is half of a surrogate pair; its other half is missing"))
        };
        if first >= 0xdc00 {
            return Err(alone(self));
        }
        for wanted in *b"\\u" {
            if self.peek()? != Some(wanted) {
                return Err(alone(self));
            }
            self.step();
        }
        let second = self.four_digits()?;
        if !(0xdc00..0xe000).contains(&second) {
            return Err(alone(self));
        }
        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        char::from_u32(code).ok_or_else(|| alone(self))
    }

    fn four_digits(&mut self) -> Result<u32, SourceError> {
        let mut code = 0;
        for _ in 0..4 {
            let found = self.peek()?;
            let Some(digit) = found.and_then(|byte| char::from(byte).to_digit(16)) else {
                return Err(self.unexpected(found, "four hexadecimal digits after \\u"));
            };
            code = code * 16 + digit;
            self.step();
        }
        Ok(code)
    }

    fn check_utf8(&self, start: Place, string: &[u8]) -> Result<(), SourceError> {
        let Err(error) = std::str::from_utf8(string) else { return Ok(()) };
        let valid = error.valid_up_to();
        let complaint = format!("a string that is not UTF-8 after its first {valid} bytes; convert the file to UTF-8");
        Err(self.complain_of(start, complaint))
    }

    /// The next byte, which stays; `None` at the end of the document.
    fn peek(&mut self) -> Result<Option<u8>, SourceError> {
        if self.at == self.filled {
            self.refill()?;
        }
        Ok(self.chunk[..self.filled].get(self.at).copied())
    }

    fn refill(&mut self) -> Result<(), SourceError> {
        self.before += self.filled as u64;
        (self.at, self.filled) = (0, 0);
        self.filled = loop {
            match self.document.read(&mut self.chunk) {
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(self.document.origin().broken(cause)),
                Ok(read) => break read,
            }
        };
        Ok(())
    }

    fn skip_byte_order_mark(&mut self) -> Result<(), SourceError> {
        match self.peek()? {
            Some(0xef) => {}
            Some(0xfe | 0xff) => return Err(self.complain("this looks like UTF-16; convert the file to UTF-8")),
            _ => return Ok(()),
        }
        for wanted in *b"\xef\xbb\xbf" {
            let found = self.peek()?;
            if found != Some(wanted) {
                return Err(self.unexpected(found, "a JSON object"));
            }
            self.step();
        }
        Ok(())
    }
}

fn shown(found: Option<u8>) -> String {
    match found {
        None => "the end of the document".to_owned(),
        Some(byte @ 0x21..=0x7e) => format!("`{}`", char::from(byte)),
        Some(byte) => format!("byte 0x{byte:02x}"),
    }
}
