//! A document on the disk, read as it was before it was compressed. Knows nothing of what is written in it.
//!
//! Compression is told by the first bytes, never by the name. A document that breaks off is an error, never an end.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::items::SourceError;

/// Compressed bytes held at a time.
const CHUNK: usize = 32 << 10;
/// A document that inflates to more than this many bytes must keep to its [`Compression::most_inflation`].
const TRUSTED: u64 = 64 << 20;

/// What errors call a document, and how a person can look into it.
#[derive(Debug, Clone)]
pub struct Origin {
    pub name: String,
    pub compression: Compression,
}

impl Origin {
    /// A complaint about the place of a document: `line` counts from 1, `byte` from 0, both after decompression.
    pub fn complain(&self, line: u64, byte: u64, complaint: impl std::fmt::Display) -> SourceError {
        let Self { name, compression } = self;
        let (unpacked, show) = match compression {
            Compression::None => ("", "cat"),
            Compression::Gzip => (" after decompression", "zcat"),
            Compression::Zstd => (" after decompression", "zstdcat"),
        };
        let fetched = match name.split_once("://") {
            Some(("s3", _)) => format!("aws s3 cp '{name}' - | {show}"),
            Some(_) => format!("curl -sL '{name}' | {show}"),
            None => format!("{show} '{name}'"),
        };
        let from = byte.saturating_sub(40) + 1;
        SourceError::new(format!(
            "{name}: line {line}, byte {byte}{unpacked}: {complaint} (look there: {fetched} | tail -c +{from} | head -c 80)"
        ))
    }

    /// A document that could not be read on.
    pub fn broken(&self, cause: io::Error) -> SourceError {
        SourceError::caused(format!("{}: {cause}", self.name), cause)
    }
}

/// How a document is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// By the first bytes of the document (RFC 1952, RFC 8878).
    fn of(head: &[u8]) -> io::Result<Self> {
        let other = match head {
            [0x1f, 0x8b, ..] => return Ok(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => return Ok(Self::Zstd),
            [0xfd, b'7', b'z', b'X', b'Z', ..] => "xz",
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => "bzip2",
            [b'P', b'K', 3, 4, ..] => "zip",
            [0x04, 0x22, 0x4d, 0x18, ..] => "lz4",
            _ => return Ok(Self::None),
        };
        Err(io::Error::other(format!("the file is {other}; gzip and zstd are read: unpack it first")))
    }

    fn name(self) -> &'static str {
        match self {
            Self::None => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    /// Bytes that one compressed byte may become before the document is taken for a bomb. Texts stay below 50. Deflate
    /// cannot pass 1032, so gzip's bound lies below that.
    fn most_inflation(self) -> u64 {
        match self {
            Self::None => u64::MAX,
            Self::Gzip => 800,
            Self::Zstd => 2000,
        }
    }
}

/// Counts what was taken from the file, and remembers whether it could not be read on: that is no fault of the packing.
struct Counted<R> {
    reader: R,
    taken: u64,
    failed: bool,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(into);
        match &read {
            Ok(bytes) => self.taken += *bytes as u64,
            Err(cause) => self.failed = cause.kind() != io::ErrorKind::Interrupted,
        }
        read
    }
}

/// The file, its sniffed first bytes put back.
type Packed<R> = BufReader<Counted<io::Chain<Cursor<Vec<u8>>, R>>>;

enum Decoder<R: Read> {
    Plain(Packed<R>),
    Gzip(Box<MultiGzDecoder<Packed<R>>>),
    Zstd(Box<zstd::Decoder<'static, Packed<R>>>),
}

/// A document being read, decompressed.
pub struct Document<R: Read = File> {
    decoder: Decoder<R>,
    origin: Origin,
    inflated: u64,
}

impl Document {
    /// # Errors
    /// A file that is not there, is no regular file, or is packed in a way that is not read.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        check(path)?;
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Self::new(file, name),
            Err(cause) => Err(SourceError::caused(format!("{name}: {cause}"), cause)),
        }
    }
}

impl<R: Read> Document<R> {
    /// The document behind any reader; `name` stands for it in errors.
    ///
    /// # Errors
    /// A reader that fails at once, and a packing that is not read.
    pub fn new(reader: R, name: String) -> Result<Self, SourceError> {
        let unknown = Origin { name, compression: Compression::None };
        let (compression, decoder) = unpack(reader).map_err(|cause| unknown.broken(cause))?;
        Ok(Self { decoder, origin: Origin { compression, ..unknown }, inflated: 0 })
    }

    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    fn counted(&self) -> &Counted<io::Chain<Cursor<Vec<u8>>, R>> {
        match &self.decoder {
            Decoder::Plain(packed) => packed.get_ref(),
            Decoder::Gzip(decoder) => decoder.get_ref().get_ref(),
            Decoder::Zstd(decoder) => decoder.get_ref().get_ref(),
        }
    }

    /// Bytes taken from the file; up to one chunk of them are not yet decompressed.
    fn taken(&self) -> u64 {
        self.counted().taken
    }

    fn refuse_bombs(&self) -> io::Result<()> {
        let most = self.origin.compression.most_inflation();
        let (inflated, taken) = (self.inflated, self.taken());
        if inflated <= TRUSTED || inflated / most <= taken {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "{taken} bytes of {} became {inflated}, more than {most} for each: that is no text but a decompression bomb; \
             if the data are good, unpack them first",
            self.origin.compression.name()
        )))
    }

    fn broke_off(&self, cause: &io::Error) -> io::Error {
        let (kind, taken, inflated) = (self.origin.compression.name(), self.taken(), self.inflated);
        let advice = match cause.kind() {
            io::ErrorKind::UnexpectedEof => "the file was cut short: fetch or write it again",
            _ => "the file is damaged, or something else follows the compressed data: fetch or write it again",
        };
        io::Error::new(
            cause.kind(),
            format!(
                "the {kind} data break off in the first {taken} bytes of the file, {inflated} after decompression ({cause}); {advice}"
            ),
        )
    }
}

impl<R: Read> Read for Document<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.decoder {
            Decoder::Plain(packed) => return packed.read(into),
            Decoder::Gzip(decoder) => decoder.read(into),
            Decoder::Zstd(decoder) => decoder.read(into),
        };
        match read {
            Ok(bytes) => self.inflated += bytes as u64,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => return Err(cause),
            Err(cause) if self.counted().failed => return Err(cause),
            Err(cause) => return Err(self.broke_off(&cause)),
        }
        self.refuse_bombs()?;
        read
    }
}

fn unpack<R: Read>(mut reader: R) -> io::Result<(Compression, Decoder<R>)> {
    let mut head = Vec::new();
    reader.by_ref().take(6).read_to_end(&mut head)?;
    let compression = Compression::of(&head)?;
    let whole = Counted { reader: Cursor::new(head).chain(reader), taken: 0, failed: false };
    let mut packed = BufReader::with_capacity(CHUNK, whole);
    if packed.fill_buf()?.is_empty() {
        return Err(io::Error::other("the file is empty"));
    }
    let decoder = match compression {
        Compression::None => Decoder::Plain(packed),
        Compression::Gzip => Decoder::Gzip(Box::new(MultiGzDecoder::new(packed))),
        Compression::Zstd => Decoder::Zstd(Box::new(zstd::Decoder::with_buffer(packed)?)),
    };
    Ok((compression, decoder))
}

/// Whether a regular file lies at `path`.
///
/// # Errors
/// Nothing there, a folder, or a pipe: every cell of an experiment reads the data again.
pub fn check(path: &Path) -> Result<(), SourceError> {
    let name = path.display();
    let about = std::fs::metadata(path).map_err(|cause| {
        SourceError::caused(format!("{name}: {cause}; give the path of a file that can be read"), cause)
    })?;
    if about.is_dir() {
        return Err(SourceError::new(format!("{name} is a folder; name a file in it (only mo: takes a folder)")));
    }
    if !about.is_file() {
        return Err(SourceError::new(format!(
            "{name} is not a regular file and could be read only once; write it to a file, or use json:- for stdin"
        )));
    }
    Ok(())
}
