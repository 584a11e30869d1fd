//! What happened, line by line, and a number by which two histories are told apart.

use std::fmt::{self, Write};

/// The history of a world.
#[derive(Debug)]
pub(crate) struct Trace {
    hash: u64,
    line: String,
    lines: Option<Vec<String>>,
}

impl Trace {
    /// A history that is kept, or only its hash.
    pub fn new(kept: bool) -> Trace {
        Trace { hash: 0xcbf2_9ce4_8422_2325, line: String::new(), lines: kept.then(Vec::new) }
    }

    /// Something happened.
    pub fn note(&mut self, now: i64, what: fmt::Arguments<'_>) {
        self.line.clear();
        write!(self.line, "{:>7}.{:03} {what}", now / 1_000, now % 1_000).expect("a text takes everything");
        // FNV-1a.
        let mix = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        self.hash = self.line.bytes().fold(self.hash, mix);
        if let Some(lines) = &mut self.lines {
            lines.push(self.line.clone());
        }
    }

    pub fn end(self) -> (u64, Vec<String>) {
        (self.hash, self.lines.unwrap_or_default())
    }
}
