//! Reasons in words that hold for every pod that is alike: a claim of the pod stands in them by its place.
//!
//! Invariant: what is kept for pods that are alike names no claim of any of them. Each pod puts its own in.

use allocation::{AllocationError, Refusal};
use model::claim::{Claim, ClaimId};

/// A reason in words.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// It names no claim of the pod.
    Plain(String),
    /// It names one.
    OfClaim {
        before: String,
        /// The claim's place among those that need devices.
        place: usize,
        after: String,
    },
}

impl Reason {
    /// What came closest on a node.
    pub fn nearest(node: &str, refusal: &Refusal, own: &[&Claim]) -> Reason {
        let claim = refusal.nearest.as_ref().map(|miss| &miss.claim);
        Reason::of(format!("On node {node}, {refusal}"), claim, own)
    }

    /// Why devices cannot even be looked for.
    pub fn broken(error: &AllocationError, own: &[&Claim]) -> Reason {
        Reason::of(error.to_string(), error.claim(), own)
    }

    /// A sentence about one of these claims, or about none.
    fn of(text: String, claim: Option<&ClaimId>, own: &[&Claim]) -> Reason {
        let place = claim.and_then(|claim| own.iter().position(|one| one.id == *claim));
        let parts = claim.and_then(|claim| text.split_once(&format!("claim {claim}")));
        match place.zip(parts) {
            Some((place, (before, after))) => {
                Reason::OfClaim { before: before.to_owned(), place, after: after.to_owned() }
            }
            None => Reason::Plain(text),
        }
    }

    /// The reason for a pod with these claims that need devices.
    pub fn told(&self, own: &[ClaimId]) -> String {
        match self {
            Reason::Plain(text) => text.clone(),
            Reason::OfClaim { before, place, after } => match own.get(*place) {
                Some(claim) => format!("{before}claim {claim}{after}"),
                None => format!("{before}a claim{after}"),
            },
        }
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Reason {
        Reason::Plain(text.to_owned())
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Reason {
        Reason::Plain(text)
    }
}
