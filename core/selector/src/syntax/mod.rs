//! From text to a tree: tokens, grammar, macros.

pub(crate) mod lexer;
pub(crate) mod literal;
pub(crate) mod macros;
pub(crate) mod parser;
pub(crate) mod tree;
