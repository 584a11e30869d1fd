//! What the files below `proto` become in Rust. Nothing here is written by hand, apart from this list.
#![allow(missing_docs, unused_qualifications, clippy::all, clippy::too_many_lines, clippy::wildcard_imports)]

/// How a plugin makes itself known.
#[rustfmt::skip]
pub mod registration;

/// Claims made ready for use, and taken back.
pub mod dra {
    #[rustfmt::skip]
    pub mod v1;
    #[rustfmt::skip]
    pub mod v1beta1;
}

/// How devices are.
pub mod health {
    #[rustfmt::skip]
    pub mod v1;
    #[rustfmt::skip]
    pub mod v1alpha1;
}
