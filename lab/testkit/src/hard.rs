//! Hard instances of allocation, by family and size: what is asked for is about as much as there is, or a little more.
//!
//! Each family makes one rule hard: partitions that share counters, devices that must match, compatibility groups, shares of
//! capacity, alternatives, and attributes that must differ as neighbours in a graph do. One family mixes all of these. The others
//! are what people ask for: devices of several drivers that match in two ways, partitions to fall back on, counters of several sets and
//! pools, capacity that is had in steps, all devices of a kind beside some, and pools that other nodes reach too. An instance
//! is made of objects that admission lets in, and no device ends a search.

mod alternatives;
mod capacity;
mod colouring;
mod dice;
mod fallbacks;
mod groups;
mod mixed;
mod node;
mod pairs;
mod partitions;
mod policies;
mod sets;
mod sites;
mod ties;
mod wholes;

use crate::instances::Instance;
use dice::Dice;

/// What makes an instance hard.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Family {
    /// Devices of two or three kinds that must have a value in common, pair by pair.
    Pairs,
    /// Partitions that draw on the counters of the device that they are part of.
    Partitions,
    /// Devices that share counters only with devices of the same compatibility group.
    Groups,
    /// Shares of the capacity of devices.
    Capacity,
    /// Requests with up to eight alternatives.
    Alternatives,
    /// Devices of which some must differ and some must match, as neighbours in a random graph.
    Colouring,
    /// All of that at once.
    Mixed,
    /// Devices of several drivers that must match by two attributes, and by others across claims.
    Ties,
    /// A large partition, or smaller ones instead.
    Fallbacks,
    /// Devices that draw on several counter sets, of two pools.
    Sets,
    /// Shares of capacities that are had in steps, in ranges or as one of some values.
    Policies,
    /// All devices of a kind, beside some of them and admin access, for several claims.
    Wholes,
    /// Pools of this node and of all nodes, with taints, and devices that others hold.
    Sites,
}

impl Family {
    /// All families.
    pub const ALL: [Family; 13] = [
        Family::Pairs,
        Family::Partitions,
        Family::Groups,
        Family::Capacity,
        Family::Alternatives,
        Family::Colouring,
        Family::Mixed,
        Family::Ties,
        Family::Fallbacks,
        Family::Sets,
        Family::Policies,
        Family::Wholes,
        Family::Sites,
    ];
}

/// An instance of a family with about so many requests, at most 32; the same for the same seed on every machine.
pub fn hard(family: Family, requests: usize, seed: u64) -> Instance {
    let requests = requests.clamp(2, 32);
    let mut dice = Dice::new(seed ^ (family as u64) << 56 ^ (requests as u64) << 48);
    match family {
        Family::Pairs => pairs::instance(&mut dice, requests),
        Family::Partitions => partitions::instance(&mut dice, requests),
        Family::Groups => groups::instance(&mut dice, requests),
        Family::Capacity => capacity::instance(&mut dice, requests),
        Family::Alternatives => alternatives::instance(&mut dice, requests),
        Family::Colouring => colouring::instance(&mut dice, requests),
        Family::Mixed => mixed::instance(&mut dice, requests),
        Family::Ties => ties::instance(&mut dice, requests),
        Family::Fallbacks => fallbacks::instance(&mut dice, requests),
        Family::Sets => sets::instance(&mut dice, requests),
        Family::Policies => policies::instance(&mut dice, requests),
        Family::Wholes => wholes::instance(&mut dice, requests),
        Family::Sites => sites::instance(&mut dice, requests),
    }
}

#[cfg(test)]
mod tests {
    use super::{Family, hard};

    #[test]
    fn an_instance_has_as_many_requests_as_a_claim_may_have_at_most() {
        for family in Family::ALL {
            for requests in [2, 9, 32] {
                let instance = hard(family, requests, 7);
                let asked = instance.claims.iter().map(|claim| claim.spec.devices.requests.len());
                let most = asked.max().unwrap_or_default();
                assert!(
                    (1..=requests).contains(&most),
                    "{family:?} has {most} requests instead of {requests}"
                );
            }
        }
    }

    #[test]
    fn a_seed_gives_the_same_instance_every_time() {
        for family in Family::ALL {
            let shown = |seed| format!("{:?}", hard(family, 8, seed));
            assert_eq!(shown(7), shown(7));
            assert_ne!(shown(7), shown(8));
        }
    }
}
