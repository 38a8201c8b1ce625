//! JSON by streaming: one big object of key to string, or lines of {"key","lang","value"}. The document is never held as a whole.
//!
//! Which of the two it is shows in the first object: where its members are `key`, `value` and perhaps `lang` and nothing else, it is the
//! first line of many. (So an object of exactly these names is read as a line.)

use std::collections::VecDeque;
use std::io::BufRead;
use std::path::Path;

use super::LONGEST;
use crate::items::{Item, Items, SourceError};

/// Items of a JSON document.
pub struct Json {
    text: Text,
    form: Form,
    /// Members that were read to tell the form, still to be given out.
    ahead: VecDeque<(Vec<u8>, Vec<u8>)>,
    key: Vec<u8>,
    value: Vec<u8>,
    line: Line,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Inside the one object; the flag says whether a member came already.
    Object { first: bool },
    /// Between the objects of lines.
    Lines,
    /// At the end of the document.
    Over,
}

/// The parts of one line.
#[derive(Default)]
struct Line {
    key: Option<Vec<u8>>,
    lang: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
}

const LINE_NAMES: [&[u8]; 3] = [b"key", b"lang", b"value"];

impl Json {
    /// Opens a document and reads as much as tells its form.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        Self::new(super::open(path)?, &path.display().to_string())
    }

    pub fn new(reader: Box<dyn BufRead + Send>, path: &str) -> Result<Self, SourceError> {
        let mut text = Text { reader, path: path.to_owned(), offset: 0, lines: 1 };
        text.skip_byte_order_mark()?;
        text.expect(b'{', "the document must be an object of key to string, or lines of such objects")?;
        let (key, value) = (Vec::new(), Vec::new());
        let form = Form::Object { first: true };
        let mut json = Self { text, form, ahead: VecDeque::new(), key, value, line: Line::default() };
        json.tell_form()?;
        Ok(json)
    }

    fn tell_form(&mut self) -> Result<(), SourceError> {
        while self.ahead.len() < LINE_NAMES.len() {
            if !self.next_member()? {
                break;
            }
            let (key, value) = (std::mem::take(&mut self.key), std::mem::take(&mut self.value));
            let of_a_line = LINE_NAMES.contains(&key.as_slice()) && !self.ahead.iter().any(|(known, _)| *known == key);
            self.ahead.push_back((key, value));
            if !of_a_line {
                return Ok(());
            }
        }
        let closed = self.form == Form::Over || (self.ahead.len() == LINE_NAMES.len() && !self.next_ahead()?);
        let has = |name: &[u8]| self.ahead.iter().any(|(key, _)| key == name);
        if closed && has(b"key") && has(b"value") {
            for (name, value) in std::mem::take(&mut self.ahead) {
                self.line.set(&name, value);
            }
            let (key, value) = self.line.take(&self.text)?;
            self.ahead.push_back((key, value));
            self.form = Form::Lines;
        } else if closed {
            self.text.expect_end()?;
        }
        Ok(())
    }

    /// Reads a fourth member, if there is one, behind three that could be those of a line.
    fn next_ahead(&mut self) -> Result<bool, SourceError> {
        let more = self.next_member()?;
        if more {
            self.ahead.push_back((std::mem::take(&mut self.key), std::mem::take(&mut self.value)));
        }
        Ok(more)
    }

    /// Reads the next member of the one object into `key` and `value`; at its end the form is `Over`.
    fn next_member(&mut self) -> Result<bool, SourceError> {
        let Form::Object { first } = self.form else { return Ok(false) };
        let next = self.text.peek_behind_space()?;
        match next {
            Some(b'}') => {
                self.text.bump();
                self.form = Form::Over;
                return Ok(false);
            }
            Some(b',') if !first => {
                self.text.bump();
            }
            _ if !first => return Err(self.text.fault("a comma or the object's closing brace must stand here")),
            _ => {}
        }
        self.form = Form::Object { first: false };
        self.text.string(&mut self.key, "a key")?;
        self.text.expect(b':', "a colon must follow the key")?;
        self.text.value(&mut self.value, &self.key)?;
        Ok(true)
    }

    /// Reads one line's object; `false` at the end of the document.
    fn next_line(&mut self) -> Result<bool, SourceError> {
        match self.text.peek_behind_space()? {
            None => {
                self.form = Form::Over;
                return Ok(false);
            }
            Some(b'{') => self.text.bump(),
            Some(_) => return Err(self.text.fault("the next line's object must start here")),
        }
        self.form = Form::Object { first: true };
        while self.next_member()? {
            let (name, value) = (std::mem::take(&mut self.key), std::mem::take(&mut self.value));
            if !self.line.set(&name, value) {
                let name = String::from_utf8_lossy(&name).into_owned();
                return Err(self.text.fault(&format!("member {name:?} must be key, lang or value, and each once")));
            }
        }
        self.form = Form::Lines;
        (self.key, self.value) = self.line.take(&self.text)?;
        Ok(true)
    }
}

impl Line {
    /// `false` for a name that is none of a line, or comes twice.
    fn set(&mut self, name: &[u8], value: Vec<u8>) -> bool {
        let part = match name {
            b"key" => &mut self.key,
            b"lang" => &mut self.lang,
            b"value" => &mut self.value,
            _ => return false,
        };
        part.replace(value).is_none()
    }

    fn take(&mut self, text: &Text) -> Result<(Vec<u8>, Vec<u8>), SourceError> {
        let Self { key, lang, value } = std::mem::take(self);
        let (Some(mut key), Some(value)) = (key, value) else {
            return Err(text.fault("a line's object needs \"key\" and \"value\""));
        };
        if let Some(lang) = lang {
            key.push(b'-');
            key.extend_from_slice(&lang);
        }
        Ok((key, value))
    }
}

impl Items for Json {
    fn next_item(&mut self) -> Result<Option<Item<'_>>, SourceError> {
        if let Some((key, value)) = self.ahead.pop_front() {
            (self.key, self.value) = (key, value);
            return Ok(Some(Item { key: &self.key, value: &self.value }));
        }
        let more = match self.form {
            Form::Over => false,
            Form::Lines => self.next_line()?,
            Form::Object { .. } => {
                let more = self.next_member()?;
                if !more {
                    self.text.expect_end()?;
                }
                more
            }
        };
        Ok(more.then_some(Item { key: &self.key, value: &self.value }))
    }
}

/// The document's bytes, with the place that was reached.
struct Text {
    reader: Box<dyn BufRead + Send>,
    path: String,
    /// Bytes of the inflated document before the next one.
    offset: u64,
    lines: u64,
}

impl Text {
    fn fault(&self, message: &str) -> SourceError {
        SourceError::new(format!("{}: byte {} (line {}): {message}", self.path, self.offset, self.lines))
    }

    fn peek(&mut self) -> Result<Option<u8>, SourceError> {
        match self.reader.fill_buf() {
            Ok(bytes) => Ok(bytes.first().copied()),
            Err(cause) => {
                let message = format!("{}: byte {} (line {}): {cause}", self.path, self.offset, self.lines);
                Err(SourceError::caused(message, cause))
            }
        }
    }

    /// Steps over the byte that was peeked at.
    fn bump(&mut self) {
        self.reader.consume(1);
        self.offset += 1;
    }

    fn skip_byte_order_mark(&mut self) -> Result<(), SourceError> {
        if self.peek()? == Some(0xef) {
            for byte in [0xef, 0xbb, 0xbf] {
                if self.peek()? != Some(byte) {
                    return Err(self.fault("this is not UTF-8 text"));
                }
                self.bump();
            }
        }
        Ok(())
    }

    fn peek_behind_space(&mut self) -> Result<Option<u8>, SourceError> {
        loop {
            match self.peek()? {
                Some(b'\n') => self.lines += 1,
                Some(b' ' | b'\t' | b'\r') => {}
                other => return Ok(other),
            }
            self.bump();
        }
    }

    fn expect(&mut self, byte: u8, message: &str) -> Result<(), SourceError> {
        match self.peek_behind_space()? {
            Some(found) if found == byte => {
                self.bump();
                Ok(())
            }
            Some(_) => Err(self.fault(message)),
            None => Err(self.fault(&format!("the document ends too early; {message}"))),
        }
    }

    fn expect_end(&mut self) -> Result<(), SourceError> {
        match self.peek_behind_space()? {
            None => Ok(()),
            Some(_) => Err(self.fault("nothing may follow the document's closing brace")),
        }
    }

    fn value(&mut self, into: &mut Vec<u8>, key: &[u8]) -> Result<(), SourceError> {
        match self.peek_behind_space()? {
            Some(b'"') => self.string(into, "a value"),
            None => Err(self.fault("the document ends where a value must stand")),
            Some(_) => {
                let key = String::from_utf8_lossy(key);
                Err(self.fault(&format!("the value of {key:?} must be a string; flatten nested objects, quote numbers")))
            }
        }
    }

    /// Reads a string into `into`, replacing what was there.
    fn string(&mut self, into: &mut Vec<u8>, what: &str) -> Result<(), SourceError> {
        into.clear();
        self.expect(b'"', &format!("{what} must stand here, in double quotes"))?;
        let start = self.offset;
        loop {
            let Some(byte) = self.plain(into)? else {
                return Err(self.fault(&format!("the document ends inside {what} that starts at byte {start}")));
            };
            if into.len() > LONGEST {
                return Err(self.fault(&format!("{what} is longer than {} MiB", LONGEST >> 20)));
            }
            match byte {
                b'"' => {
                    self.bump();
                    break;
                }
                b'\\' => {
                    self.bump();
                    self.escape(into)?;
                }
                _ => return Err(self.fault("a control character in a string must be escaped")),
            }
        }
        match std::str::from_utf8(into) {
            Ok(_) => Ok(()),
            Err(_) => Err(self.fault(&format!("{what} that starts at byte {start} is not UTF-8"))),
        }
    }

    /// Copies bytes that stand for themselves; returns the one behind them, `None` at the end of the document.
    fn plain(&mut self, into: &mut Vec<u8>) -> Result<Option<u8>, SourceError> {
        loop {
            if self.peek()?.is_none() {
                return Ok(None);
            }
            let bytes = self.reader.fill_buf().unwrap_or_default();
            let special = bytes.iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20);
            let count = special.unwrap_or(bytes.len());
            into.extend_from_slice(&bytes[..count]);
            let found = special.map(|at| bytes[at]);
            self.reader.consume(count);
            self.offset += count as u64;
            if found.is_some() || into.len() > LONGEST {
                return Ok(Some(found.unwrap_or(b'"')));
            }
        }
    }

    fn escape(&mut self, into: &mut Vec<u8>) -> Result<(), SourceError> {
        let Some(byte) = self.peek()? else { return Err(self.fault("the document ends inside an escape")) };
        let plain = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                self.bump();
                let letter = self.unicode()?;
                into.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return Err(self.fault("no such escape in JSON")),
        };
        self.bump();
        into.push(plain);
        Ok(())
    }

    /// The letter of `\uXXXX`, or of a surrogate pair of them.
    fn unicode(&mut self) -> Result<char, SourceError> {
        let first = self.four_digits()?;
        if !(0xd800..0xe000).contains(&first) {
            return char::from_u32(first).ok_or_else(|| self.fault("no such letter"));
        }
        for byte in *b"\\u" {
            if first >= 0xdc00 || self.peek()? != Some(byte) {
                return Err(self.fault("half of a surrogate pair"));
            }
            self.bump();
        }
        let second = self.four_digits()?;
        if !(0xdc00..0xe000).contains(&second) {
            return Err(self.fault("half of a surrogate pair"));
        }
        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        char::from_u32(code).ok_or_else(|| self.fault("no such letter"))
    }

    fn four_digits(&mut self) -> Result<u32, SourceError> {
        let mut number = 0;
        for _ in 0..4 {
            let digit = self.peek()?.and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else { return Err(self.fault("four hexadecimal digits must follow \\u")) };
            number = number * 16 + digit;
            self.bump();
        }
        Ok(number)
    }
}
