//! Lots: numbers that follow from names, so that the same is drawn each time, and pods and schedulers do not all draw alike.

/// A number that follows from texts, and from which nothing can be told about them.
pub(crate) fn mix(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0]));
    let sum = bytes
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    // The last bytes have not reached the low bits' neighbours yet.
    let sum = (sum ^ (sum >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    sum ^ (sum >> 29)
}
