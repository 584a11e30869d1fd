//! The layout of files: a header, then frames. All numbers are little-endian.
//!
//! header: magic 8 | version 4 | zero 4 | checksum 4
//! frame:  plain length 4 | stored length 4 | checksum of the bytes 4 | checksum of these three 4 | bytes; LZ4 if the lengths differ
//!
//! The bytes of a frame are lines. Lengths have a checksum of their own, so that a length that was damaged is not taken for a file
//! that ends too early, and no more is reserved than a frame may have.

use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};

pub(crate) const HEADER: usize = 20;
pub(crate) const FRAME_HEADER: usize = 16;
pub(crate) const VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"SCREC\r\n\x1a";

/// How many bytes a frame may have, plain or stored.
pub(crate) const FRAME_MAX: usize = 64 * 1024 * 1024;

/// What the beginning of a file says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Beginning {
    /// It is a recording that can be read.
    Good,
    /// It is a recording of another version.
    OtherVersion(u32),
    /// Its header is damaged.
    Damaged,
    /// It is something else.
    NotARecording,
}

pub(crate) fn header() -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    let checksum = crc32fast::hash(&bytes[..16]);
    bytes[16..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

pub(crate) fn beginning(bytes: &[u8]) -> Beginning {
    if bytes.get(..8) != Some(&MAGIC) {
        return Beginning::NotARecording;
    }
    if bytes.len() < HEADER || crc32fast::hash(&bytes[..16]) != u32_at(bytes, 16) {
        return Beginning::Damaged;
    }
    match u32_at(bytes, 8) {
        VERSION => Beginning::Good,
        other => Beginning::OtherVersion(other),
    }
}

/// What the header of a frame says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FrameHeader {
    pub plain: usize,
    pub stored: usize,
    checksum: u32,
}

impl FrameHeader {
    /// Reads it, or says what is wrong with it.
    pub fn decode(bytes: &[u8; FRAME_HEADER]) -> Result<FrameHeader, String> {
        if crc32fast::hash(&bytes[..12]) != u32_at(bytes, 12) {
            return Err("the header of a frame does not have its checksum".to_owned());
        }
        let (plain, stored) = (u32_at(bytes, 0) as usize, u32_at(bytes, 4) as usize);
        if plain > FRAME_MAX || stored > plain {
            return Err(format!("a frame of {plain} bytes, stored as {stored}, is too long"));
        }
        Ok(FrameHeader { plain, stored, checksum: u32_at(bytes, 8) })
    }

    /// The plain bytes of what is stored, or what is wrong with it.
    pub fn unpack(&self, stored: Vec<u8>) -> Result<Vec<u8>, String> {
        if crc32fast::hash(&stored) != self.checksum {
            return Err("a frame does not have its checksum".to_owned());
        }
        if self.stored == self.plain {
            return Ok(stored);
        }
        let mut plain = vec![0; self.plain];
        match decompress_into(&stored, &mut plain) {
            Ok(length) if length == self.plain => Ok(plain),
            _ => Err("a frame cannot be decompressed".to_owned()),
        }
    }
}

/// Appends a frame.
pub(crate) fn encode(plain: &[u8], into: &mut Vec<u8>) {
    let mut packed = vec![0; get_maximum_output_size(plain.len())];
    let length = compress_into(plain, &mut packed).expect("there is room for what cannot be compressed");
    let stored = if length < plain.len() { &packed[..length] } else { plain };
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).expect("a frame is bounded").to_le_bytes();
    let start = into.len();
    into.extend_from_slice(&length(plain));
    into.extend_from_slice(&length(stored));
    into.extend_from_slice(&crc32fast::hash(stored).to_le_bytes());
    let checksum = crc32fast::hash(&into[start..]);
    into.extend_from_slice(&checksum.to_le_bytes());
    into.extend_from_slice(stored);
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("a slice of four bytes"))
}
