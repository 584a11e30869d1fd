//! Bytes as a source of decisions.
//!
//! When the bytes are used up every decision is the first of its alternatives, which by convention adds nothing. So
//! what is made from bytes is never larger than they pay for.

/// Decisions, each paid with a byte.
#[derive(Clone, Copy, Debug)]
pub struct Choices<'b> {
    bytes: &'b [u8],
}

impl<'b> Choices<'b> {
    /// Decisions that these bytes make.
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { bytes }
    }

    /// The next byte, or zero when none is left.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *first
    }

    /// A number below `count`; zero when no byte is left.
    pub fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count.max(1)
    }

    /// One in `odds`; never when no byte is left.
    pub fn one_in(&mut self, odds: usize) -> bool {
        self.below(odds) + 1 == odds
    }

    /// One of several values; the first when no byte is left.
    pub fn pick<'v, T: ?Sized>(&mut self, values: &[&'v T]) -> &'v T {
        values[self.below(values.len())]
    }

    /// What is left in equal shares, so that the first parts of a whole do not starve the last.
    pub fn shares(self, count: usize) -> impl Iterator<Item = Choices<'b>> {
        let size = self.bytes.len().div_ceil(count.max(1)).max(1);
        let mut chunks = self.bytes.chunks(size);
        (0..count).map(move |_| Choices { bytes: chunks.next().unwrap_or_default() })
    }
}

#[cfg(test)]
mod tests {
    use super::Choices;

    #[test]
    fn without_bytes_every_decision_is_the_first() {
        let mut choices = Choices::new(&[]);
        assert_eq!((choices.below(7), choices.one_in(2), choices.pick(&["a", "b"])), (0, false, "a"));
    }

    #[test]
    fn shares_use_every_byte_once() {
        let bytes: Vec<u8> = (0..10).collect();
        let shares: Vec<&[u8]> = Choices::new(&bytes).shares(4).map(|share| share.bytes).collect();
        assert_eq!(shares.len(), 4);
        assert_eq!(shares.concat(), bytes);
    }
}
