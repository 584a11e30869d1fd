//! Lots: numbers that follow from names, so that the same is drawn each time, and pods and schedulers do not all draw alike.

/// What numbers follow from that are drawn with the same texts first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lot(u64);

impl Lot {
    /// Texts that come first.
    pub(crate) fn of(texts: &[&str]) -> Lot {
        Lot(sum(0xcbf2_9ce4_8422_2325, texts))
    }

    /// The number that follows with one more text.
    pub(crate) fn drawn(self, text: &str) -> u64 {
        stirred(sum(self.0, &[text]))
    }
}

/// A number that follows from texts, and from which nothing can be told about them.
pub(crate) fn mix(texts: &[&str]) -> u64 {
    stirred(Lot::of(texts).0)
}

fn sum(first: u64, texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0]));
    bytes.fold(first, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn stirred(sum: u64) -> u64 {
    // The last bytes have not reached the low bits' neighbours yet.
    let sum = (sum ^ (sum >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    sum ^ (sum >> 29)
}
