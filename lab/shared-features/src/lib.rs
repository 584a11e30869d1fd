//! Nothing but dependencies: crates from outside have the same features whichever of our crates is built, so that they and
//! what is above them are compiled once. The manifest says how.
