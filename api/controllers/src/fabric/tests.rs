//! A fabric, an API and a plain scheduler made of values, and what must hold whatever happens between any two steps.

mod handing;
mod offering;
mod restarts;
mod world;
