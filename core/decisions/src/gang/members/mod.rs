//! The pods of a gang by kind, with what their claims need.

pub(crate) mod axes;
pub(crate) mod cast;
pub(crate) mod claims;
pub(crate) mod kinds;
pub(crate) mod member;
