//! The words of every reason, in one place: in Kubernetes' words where it has some, which tools look for, and in ours where it has none.
//! They are made from values alone. What crates below say of their own, such as an error of allocation, stands in these sentences as it is.

mod bindings;
mod claims;
mod devices;
mod gangs;
mod lacking;
mod pods;
mod preemption;
mod rules;
mod volumes;
mod waiting;

use std::fmt;
use std::fmt::Display;

use crate::values::reason::Reason;

type Out<'a, 'b> = &'a mut fmt::Formatter<'b>;

/// Reasons with their numbers, in the order of the alphabet.
fn counts<'r>(reasons: impl Iterator<Item = (&'r Reason, usize)>) -> String {
    let mut counted: Vec<String> = reasons.map(|(reason, count)| format!("{count} {reason}")).collect();
    counted.sort_unstable();
    counted.join(", ")
}

/// Things separated by commas.
fn list(all: impl IntoIterator<Item = impl Display>) -> String {
    let told: Vec<String> = all.into_iter().map(|one| one.to_string()).collect();
    told.join(", ")
}
