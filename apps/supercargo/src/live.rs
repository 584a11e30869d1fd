//! The live view: what becomes of pods, as it happens, on a terminal or line by line.

mod board;
mod show;

pub(crate) use board::Board;
pub(crate) use show::{Show, is_live};
