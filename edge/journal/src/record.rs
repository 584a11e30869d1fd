//! The layout of segments: a header, then records. All numbers are little-endian.
//!
//! header: magic 8 | version 4 | salt 4 | first revision 8 | sealed 8 | zero 4 | checksum 4
//! record: length 4 | checksum 4 | revision 8 | committed 4 | kind 1 | payload
//!
//! *Sealed* is how much of the file was durable before it got its name. *Committed* is how much of it was durable when the
//! record was written. Whatever lies before either and cannot be read was damaged after it was durable; whatever lies
//! behind both may never have been acknowledged. The salt starts every checksum, so that no payload can pass for a record
//! and no record of one file for a record of another.

use std::ops::Range;

pub(crate) const SEGMENT_HEADER: usize = 40;
pub(crate) const RECORD_HEADER: usize = 21;
const MAGIC: [u8; 8] = *b"SCLOG\r\n\x1a";
const VERSION: u32 = 1;
/// The only kind so far. It is not 0, so that a run of zeros is never taken for records.
const KIND_CHANGE: u8 = 1;

/// What a segment says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) salt: u32,
    pub(crate) first_revision: u64,
    pub(crate) sealed: u64,
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> [u8; SEGMENT_HEADER] {
        let mut bytes = [0; SEGMENT_HEADER];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.salt.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.first_revision.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.sealed.to_le_bytes());
        let checksum = crc32fast::hash(&bytes[..36]);
        bytes[36..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads a header, or says what is wrong with it.
    pub(crate) fn decode(bytes: &[u8]) -> Result<SegmentHeader, String> {
        if bytes.len() < SEGMENT_HEADER {
            return Err(format!(
                "the file has {} bytes and the header alone has {SEGMENT_HEADER}",
                bytes.len()
            ));
        }
        if bytes[..8] != MAGIC {
            return Err("this is not a log segment".to_owned());
        }
        let version = u32_at(bytes, 8);
        if version != VERSION {
            return Err(format!("the format's version is {version}, this program knows {VERSION}"));
        }
        if crc32fast::hash(&bytes[..36]) != u32_at(bytes, 36) {
            return Err("the header's checksum does not fit".to_owned());
        }
        let header = SegmentHeader {
            salt: u32_at(bytes, 12),
            first_revision: u64_at(bytes, 16),
            sealed: u64_at(bytes, 24),
        };
        if header.sealed > bytes.len() as u64 {
            return Err(format!("the file has {} bytes and was made with {}", bytes.len(), header.sealed));
        }
        Ok(header)
    }
}

/// A record whose checksum fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordAt {
    pub(crate) revision: u64,
    pub(crate) committed: usize,
    pub(crate) payload: Range<usize>,
}

pub(crate) fn encode_record(into: &mut Vec<u8>, salt: u32, committed: u32, revision: u64, payload: &[u8]) {
    let start = into.len();
    let length = u32::try_from(payload.len()).expect("the queue refuses payloads that are longer");
    into.extend_from_slice(&length.to_le_bytes());
    into.extend_from_slice(&[0; 4]);
    into.extend_from_slice(&revision.to_le_bytes());
    into.extend_from_slice(&committed.to_le_bytes());
    into.push(KIND_CHANGE);
    into.extend_from_slice(payload);
    let checksum = record_checksum(&into[start..], salt);
    into[start + 4..start + 8].copy_from_slice(&checksum.to_le_bytes());
}

/// The record at an offset, if one that is whole begins there.
pub(crate) fn record_at(bytes: &[u8], at: usize, salt: u32) -> Option<RecordAt> {
    let rest = bytes.get(at..)?;
    if rest.len() < RECORD_HEADER || rest[20] != KIND_CHANGE {
        return None;
    }
    let end = RECORD_HEADER.checked_add(u32_at(rest, 0) as usize)?;
    let record = rest.get(..end)?;
    if record_checksum(record, salt) != u32_at(record, 4) {
        return None;
    }
    Some(RecordAt {
        revision: u64_at(record, 8),
        committed: u32_at(record, 16) as usize,
        payload: at + RECORD_HEADER..at + end,
    })
}

/// Whether a record behind `at` shows that what is at `at` was durable once, where `next` is the revision expected there.
///
/// The length at `at` cannot be trusted, so every offset behind it is tried.
pub(crate) fn was_durable(bytes: &[u8], at: usize, salt: u32, next: u64) -> bool {
    let last = bytes.len().saturating_sub(RECORD_HEADER);
    (at + 1..=last).any(|offset| {
        // The checksum is the dear part, so it comes after everything else that a record must satisfy.
        bytes[offset + 20] == KIND_CHANGE
            && u64_at(bytes, offset + 8) > next
            && (at + 1..=offset).contains(&(u32_at(bytes, offset + 16) as usize))
            && record_at(bytes, offset, salt).is_some()
    })
}

fn record_checksum(record: &[u8], salt: u32) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(salt);
    hasher.update(&record[..4]);
    hasher.update(&record[8..]);
    hasher.finalize()
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("a slice of four bytes"))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("a slice of eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_back_and_any_changed_bit_is_noticed() {
        let mut bytes = Vec::new();
        encode_record(&mut bytes, 7, 40, 12, b"payload");
        let record = record_at(&bytes, 0, 7).expect("whole");
        assert_eq!(
            (record.revision, record.committed, &bytes[record.payload]),
            (12, 40, b"payload".as_slice())
        );
        assert_eq!(record_at(&bytes, 0, 8), None, "another file's salt");
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(record_at(&bytes, 0, 7), None, "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn a_header_is_read_back_and_any_changed_bit_is_noticed() {
        let header = SegmentHeader { salt: 3, first_revision: 9, sealed: 40 };
        let mut bytes = header.encode();
        assert_eq!(SegmentHeader::decode(&bytes), Ok(header));
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(SegmentHeader::decode(&bytes).is_err(), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn zeros_are_no_record() {
        assert_eq!(record_at(&[0; 64], 0, 0), None);
    }
}
