//! A member of a gang, and members that have to be on one node.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::nodes::NodeIdx;
use model::allocation::Allocation;
use model::claim::{Amount, Ask, Wish};
use model::node::Node;
use model::pod::Pod;

use crate::values::choice::{Choice, Wanted, choice};
use crate::values::openings::Openings;
use crate::values::pod_claims::PodClaims;

/// A member, and what its claims need.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub pod: Arc<Pod>,
    pub claims: PodClaims,
    /// Claims that need devices and get them with another member.
    pub follows: Vec<Arc<ClaimState>>,
    /// The nodes on which it may be, if not anywhere that the search looks at.
    pub within: Option<Arc<BTreeSet<NodeIdx>>>,
}

impl Member {
    pub fn new(pod: Arc<Pod>, claims: PodClaims) -> Member {
        Member { pod, claims, follows: Vec::new(), within: None }
    }

    /// All claims for which devices have to be found where it is, with it or with another member.
    pub fn open(&self) -> impl Iterator<Item = &Arc<ClaimState>> {
        self.claims.open.iter().chain(&self.follows)
    }

    /// Its seat on a node, with the claims that get their devices with other members.
    pub fn seat(&self, node: &Node, allocations: Vec<Allocation>) -> Choice {
        let mut choice = choice(&self.pod, node, &self.claims, allocations);
        let reservation = |state: &Arc<ClaimState>| Wanted::Reservation {
            claim: state.wish.id.clone(),
            uid: state.uid.clone(),
        };
        choice.claims.extend(self.follows.iter().map(reservation));
        choice.negotiation = Openings::at(&self.claims, node);
        choice
    }
}

/// Members that share claims which need devices, and so have to be where these are; most are alone.
#[derive(Clone, Debug)]
pub(crate) struct Bundle {
    pub members: Vec<Member>,
}

/// How many devices a claim has for itself at the least.
pub(crate) fn devices_at_least(state: &ClaimState) -> u64 {
    let of_ask = |ask: &Ask| match ask.amount {
        _ if ask.is_admin() => 0,
        Amount::Exactly(count) => u64::try_from(count).unwrap_or(0),
        Amount::All => 1,
        Amount::Unknown(_) => 0,
    };
    let of_wish = |wish: &Wish| match wish {
        Wish::Exactly(ask) => of_ask(ask),
        Wish::FirstAvailable(asks) => asks.iter().map(|(_, ask)| of_ask(ask)).min().unwrap_or(0),
    };
    state.wish.spec.requests.iter().map(|request| of_wish(&request.wish)).sum()
}
