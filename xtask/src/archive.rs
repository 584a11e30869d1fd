//! Archives that are the same whenever they are made of the same files: tar by the ustar format, gzip without a name or a time.
//!
//! Invariant: owner, group and times are those that the caller gives, and files come in the order of their names.

mod sha256;
mod tar;

use std::io::{self, Write};

use flate2::{Compression, GzBuilder};

pub(crate) use sha256::hex;
pub(crate) use tar::{Packed, archive};

/// The bytes, compressed.
pub(crate) fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    // 255 says that nobody knows on what system it was made.
    let mut writer = GzBuilder::new().operating_system(255).write(Vec::new(), Compression::best());
    writer.write_all(bytes)?;
    writer.finish()
}
