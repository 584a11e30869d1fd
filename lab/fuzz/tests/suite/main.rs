//! What nobody would write, and instances made of bytes.

mod allocation;
mod instances;
mod selector;
mod smoke;
