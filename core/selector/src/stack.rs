//! Recursion that cannot overflow the stack.
//!
//! Trees nest a few thousand levels at most, which the limits of the language see to, but threads may have small stacks.

/// How much stack must be left to go on without a new piece.
const LEFT_MIN: usize = 512 << 10;
/// The size of a new piece.
const PIECE: usize = 4 << 20;

/// Runs a step of a recursion, on a new piece of stack if the current one ends soon.
pub(crate) fn deeper<T>(step: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(LEFT_MIN, PIECE, step)
}
