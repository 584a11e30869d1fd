//! Configuration files, read and written.

mod damage;
mod defaults;
mod faults;
mod file;
mod merge;
