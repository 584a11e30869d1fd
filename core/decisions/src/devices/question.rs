//! What is asked about the devices of a node, for whichever pod and whenever.

use allocation::{Asked, DeviceOrder, Question};
use cluster::facts::Facts;
use cluster::pools::PoolView;
use model::claim::ClaimSpec;
use model::node::Node;

use crate::devices::extended::wish_on;
use crate::settings::Settings;
use crate::values::certainty::Certainty;
use crate::values::no_devices::NoDevices;
use crate::values::pending::Pending;
use crate::values::pod_claims::PodClaims;
use crate::values::pod_refusal::Nearest;
use crate::values::reason::DeviceReason;

/// Why claims cannot be used on a node, whatever devices are free there.
pub(crate) fn why_elsewhere(node: &Node, claims: &PodClaims) -> Option<NoDevices> {
    if claims.settled.iter().any(|state| !state.is_usable_on(node)) {
        return Some(DeviceReason::ClaimElsewhere.into());
    }
    claims.pending.iter().find_map(|pending| unsuitable(pending, node))
}

/// What a driver's controller, or the class, has against a node for a claim.
fn unsuitable(pending: &Pending, node: &Node) -> Option<NoDevices> {
    let reason = pending.refuses(node)?;
    let nearest = Nearest::Unsuitable {
        node: node.name.clone(),
        entry: pending.entry.clone(),
        driver: pending.driver.clone(),
        by_class: reason == DeviceReason::ExcludedByClass,
    };
    Some(NoDevices { reason, nearest: Some(nearest), certainty: Certainty::Proved })
}

/// What a claim would ask for that is made for what the pod asks for by name and the node does not have itself.
pub(crate) fn made_on(facts: &Facts, node: &Node, claims: &PodClaims) -> Option<ClaimSpec> {
    let (spec, _) = wish_on(&facts.resources, claims.named.as_ref()?, node)?;
    Some(spec)
}

/// What devices are asked for together.
pub(crate) fn asked<'c>(claims: &'c PodClaims, made: Option<&'c ClaimSpec>) -> Vec<Asked<'c>> {
    let open = claims.open.iter().map(|state| Asked::from(&*state.wish));
    open.chain(made.map(Asked::ExtendedResources)).collect()
}

/// Which devices there are for claims on a node.
pub(crate) fn question<'q>(
    (settings, facts): (&Settings, &'q Facts),
    node: &'q Node,
    pools: &'q [PoolView],
    claims: &'q [Asked<'q>],
) -> Question<'q> {
    Question {
        node,
        pools,
        claims,
        classes: &facts.classes,
        ledger: facts.claims.ledger(),
        gates: settings.gates,
        order: DeviceOrder::PreferReady,
        budget: settings.search_steps_max,
    }
}
