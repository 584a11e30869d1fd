//! One attempt to allocate: claims that get their devices together, on one node.
//!
//! What the attempt holds is what the predicates of this crate look at: picks, each a device for a request. They come
//! from results that somebody wrote, or from a search.

use objects::core::node::Node;

use crate::evidence::{Evidence, Held, Made};
use crate::expressions::Expressions;
use crate::names::{ClaimName, DeviceName};
use crate::pools::{self, Found, Pool};
use crate::violation::{Choice, Violation};
use crate::wanted::{Wanted, requests};

/// Everything that an attempt is judged by.
#[derive(Debug)]
pub(crate) struct Attempt<'o> {
    pub(crate) evidence: Evidence<'o>,
    pub(crate) node: &'o Node,
    pub(crate) pools: Vec<Pool<'o>>,
    /// What others hold.
    pub(crate) held: Vec<Held<'o>>,
    pub(crate) expressions: Expressions,
}

/// A device for a request.
#[derive(Clone, Debug)]
pub(crate) struct Pick<'o> {
    pub(crate) wanted: Wanted<'o>,
    pub(crate) found: Found<'o>,
}

impl Pick<'_> {
    pub(crate) fn choice(&self) -> Choice {
        Choice {
            claim: self.wanted.claim_name(),
            request: self.wanted.name(),
            device: self.found.name.clone(),
        }
    }

    /// The driver says that the device can be shared, and sharing is on.
    pub(crate) fn is_shareable(&self, evidence: &Evidence<'_>) -> bool {
        evidence.gates.enabled(gates::Gate::DRAConsumableCapacity)
            && self.found.device.allow_multiple_allocations == Some(true)
    }
}

impl<'o> Attempt<'o> {
    /// An attempt for some claims; what they hold themselves does not count.
    pub(crate) fn new(evidence: Evidence<'o>, node: &'o Node, claims: &[ClaimName]) -> Self {
        let pools = pools::on_node(&evidence, node);
        let held = evidence.held(claims);
        Self { evidence, node, pools, held, expressions: Expressions::default() }
    }

    pub(crate) fn pool_of(&self, device: &DeviceName) -> Option<&Pool<'o>> {
        self.pools.iter().find(|pool| pool.name == device.pool)
    }

    /// The devices that results name, with the index of each result; and the results that name none.
    pub(crate) fn picks(&self, made: &Made<'o>) -> (Vec<(usize, Pick<'o>)>, Vec<Violation>) {
        let claim = ClaimName::of(made.claim);
        let requests = requests(made.claim);
        let (mut picks, mut violations) = (Vec::new(), Vec::new());
        for (at, result) in made.allocation.devices.results.iter().enumerate() {
            let mut alternatives = requests.iter().flat_map(|(_, alternatives)| alternatives);
            let Some(wanted) = alternatives.find(|wanted| wanted.name() == result.request) else {
                let request = result.request.clone();
                violations.push(Violation::UnknownRequest { claim: claim.clone(), request });
                continue;
            };
            let device = DeviceName::in_result(result);
            match self.find(&device) {
                Ok(found) => picks.push((at, Pick { wanted: wanted.clone(), found })),
                Err(why) => {
                    let choice = Choice { claim: claim.clone(), request: wanted.name(), device };
                    let node = self.node.metadata.name.clone();
                    violations.push(match why {
                        Some(why) => Violation::NotOffered { choice, node, why },
                        None => Violation::UnknownDevice(choice),
                    });
                }
            }
        }
        (picks, violations)
    }

    /// A device that the node can reach, or why it cannot; nothing if there is no such device.
    fn find(&self, name: &DeviceName) -> Result<Found<'o>, Option<String>> {
        if let Some(pool) = self.pool_of(name) {
            if let Some(found) =
                pool.near_devices(&self.evidence).into_iter().find(|found| found.name == *name)
            {
                return Ok(found);
            }
            if let Some(why) = pool.obstacle() {
                return Err(Some(why));
            }
        }
        let slices: Vec<_> = self.evidence.slices.iter().collect();
        let exists = pools::devices(&slices, &self.evidence).iter().any(|found| found.name == *name);
        Err(exists.then(|| "no slice of the pool's current generation offers it to the node".to_owned()))
    }
}
