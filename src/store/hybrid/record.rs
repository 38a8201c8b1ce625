//! A record on disk, made and read by hand. Knows nothing of files.
//!
//! `checksum (4 bytes), key length, value length, key, value, zeros to a multiple of 8`; lengths are LEB128 varints. The
//! checksum is a CRC-32 over the record's place (shard and offset) and everything behind the checksum, padding too, so
//! that a whole record at the wrong place is found as surely as a torn one. A CRC finds every run of damage of up to 32
//! bits; anything longer slips through once in four billion times, and then still has to carry the key that was asked for.

use super::table::UNIT;

const CHECKSUM_BYTES: usize = 4;

/// Bytes of the longest header: the checksum and two varints of 64 bits.
pub const LONGEST_HEADER: usize = CHECKSUM_BYTES + 2 * LONGEST_VARINT;

const LONGEST_VARINT: usize = 10;

/// Where a record stands; part of what its checksum covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub shard: u8,
    /// In units of [`UNIT`] bytes.
    pub offset: u32,
}

impl Place {
    /// The offset in bytes.
    pub fn byte(self) -> u64 {
        u64::from(self.offset) * UNIT
    }
}

/// The lengths at the front of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    bytes: usize,
    key: usize,
    value: usize,
}

impl Header {
    fn new(key: &[u8], value: &[u8]) -> Self {
        let bytes = CHECKSUM_BYTES + varint_bytes(key.len()) + varint_bytes(value.len());
        Self { bytes, key: key.len(), value: value.len() }
    }

    /// Reads a header from the front of a record, of which `bytes` may be the first part only; `None` when it makes no sense.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (key, value_at) = read_varint(bytes, CHECKSUM_BYTES)?;
        let (value, end) = read_varint(bytes, value_at)?;
        let header = Self { bytes: end, key, value };
        // Lengths that no memory could hold would overflow below.
        end.checked_add(key)?.checked_add(value)?.checked_next_multiple_of(UNIT as usize)?;
        Some(header)
    }

    /// Bytes of the whole record, padding too.
    pub fn record_bytes(self) -> usize {
        (self.bytes + self.key + self.value).next_multiple_of(UNIT as usize)
    }
}

/// Bytes that a record of these takes on disk.
pub fn record_bytes(key: &[u8], value: &[u8]) -> u64 {
    Header::new(key, value).record_bytes() as u64
}

/// Appends the record of the key and the value for this place.
pub fn write(place: Place, key: &[u8], value: &[u8], to: &mut Vec<u8>) {
    let start = to.len();
    to.extend_from_slice(&[0; CHECKSUM_BYTES]);
    write_varint(key.len(), to);
    write_varint(value.len(), to);
    to.extend_from_slice(key);
    to.extend_from_slice(value);
    to.resize((to.len() - start).next_multiple_of(UNIT as usize) + start, 0);
    let checksum = checksum(place, &to[start + CHECKSUM_BYTES..]);
    to[start..start + CHECKSUM_BYTES].copy_from_slice(&checksum.to_le_bytes());
}

/// A verified record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    pub key: &'a [u8],
    pub value: &'a [u8],
}

/// Verifies a record of exactly these bytes; `None` when anything is wrong with it.
pub fn read(place: Place, bytes: &[u8]) -> Option<Record<'_>> {
    let header = Header::read(bytes).filter(|header| header.record_bytes() == bytes.len())?;
    let stored = u32::from_le_bytes(*bytes.first_chunk()?);
    if stored != checksum(place, &bytes[CHECKSUM_BYTES..]) {
        return None;
    }
    let (key, rest) = bytes[header.bytes..].split_at(header.key);
    Some(Record { key, value: &rest[..header.value] })
}

/// Verifies the record at the front of these bytes; `None` when anything is wrong with it.
pub fn read_front(place: Place, bytes: &[u8]) -> Option<Record<'_>> {
    read(place, bytes.get(..Header::read(bytes)?.record_bytes())?)
}

fn checksum(place: Place, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    let [a, b, c, d] = place.offset.to_le_bytes();
    hasher.update(&[place.shard, a, b, c, d]);
    hasher.update(bytes);
    hasher.finalize()
}

fn varint_bytes(number: usize) -> usize {
    (usize::BITS - (number | 1).leading_zeros()).div_ceil(7) as usize
}

fn write_varint(mut number: usize, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// The number at `at`, and where it ends; `None` when it does not end inside `bytes` or is too large.
fn read_varint(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let mut number = 0_usize;
    for (place, &byte) in bytes.iter().enumerate().skip(at).take(LONGEST_VARINT) {
        let part = usize::from(byte & 0x7F);
        let shift = 7 * (place - at) as u32;
        let shifted = part.checked_shl(shift).filter(|shifted| shifted >> shift == part)?;
        number |= shifted;
        if byte < 0x80 {
            return Some((number, place + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place { shard: 7, offset: 4711 };

    fn written(key: &[u8], value: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(PLACE, key, value, &mut bytes);
        bytes
    }

    #[test]
    fn a_record_gives_back_what_it_was_made_of_and_says_its_length() {
        for key_length in [0, 1, 127, 128, 300, 20_000] {
            for value_length in [0, 1, 5, 127, 128, 16_383, 16_384] {
                let (key, value) = (vec![b'k'; key_length], vec![b'v'; value_length]);
                let bytes = written(&key, &value);
                assert_eq!(bytes.len() as u64, record_bytes(&key, &value));
                assert_eq!(bytes.len() % UNIT as usize, 0);
                let front = &bytes[..bytes.len().min(LONGEST_HEADER)];
                assert_eq!(Header::read(front).unwrap().record_bytes(), bytes.len());
                assert_eq!(read(PLACE, &bytes), Some(Record { key: &key, value: &value }));
            }
        }
    }

    #[test]
    fn a_record_with_any_bit_flipped_is_none() {
        for (key, value) in [(&b"key"[..], &b"some value"[..]), (b"", b""), (&[1; 200], &[2; 150])] {
            let bytes = written(key, value);
            for bit in 0..8 * bytes.len() {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(read(PLACE, &flipped), None, "bit {bit} of {} bytes", bytes.len());
            }
        }
    }

    #[test]
    fn a_record_cut_short_or_moved_is_none() {
        let bytes = written(b"key", b"some value that takes a few units");
        for length in 0..bytes.len() {
            assert_eq!(read(PLACE, &bytes[..length]), None);
        }
        assert_eq!(read(Place { shard: 8, ..PLACE }, &bytes), None);
        assert_eq!(read(Place { offset: 4712, ..PLACE }, &bytes), None);
    }

    #[test]
    fn lengths_that_make_no_sense_are_none_and_no_panic() {
        assert_eq!(Header::read(&[0xFF; 40]), None);
        assert_eq!(Header::read(&[0; 5]), None);
        let mut huge = vec![0; 4];
        write_varint(usize::MAX, &mut huge);
        write_varint(usize::MAX, &mut huge);
        assert_eq!(Header::read(&huge), None);
    }
}
