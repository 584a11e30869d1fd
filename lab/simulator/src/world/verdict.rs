//! What must hold in the end where drivers give devices themselves: every pod and every gang that could have all that it wants
//! has it, and nobody has what nobody uses.
//!
//! What is held by those who wait is no excuse: they would have it given back, or have all of theirs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::quantity::Quantity;
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::supercargo::control;

use super::bargain::{CARDS, Market, NODES, all, at_least, node_name, place_of};
use super::gangs::rack_of;
use super::judge::is_over;
use super::node_taints::{keeps_off, taints_of};
use super::ranks::has_cpu;
use super::{World, workload};

/// How long a round of negotiation takes at most when nothing goes wrong.
const ROUND_ENDS_MS: i64 = 10_000;

/// Everything that matters, as the API has it.
struct Scene<'s> {
    claims: &'s [Arc<ResourceClaim>],
    pods: &'s [Arc<Pod>],
    market: &'s Market,
    nodes: &'s [Arc<Node>],
    /// How much cpu each node has.
    cpu: Quantity,
}

/// Pods, each with a node.
type Seats<'s> = Vec<(&'s Pod, String)>;

/// Pods that are placed together, and how many of them at least.
struct Party<'s> {
    name: String,
    waiting: Vec<&'s Pod>,
    at_least: usize,
    /// Where they have to be, since others of them are there.
    rack: Option<String>,
    stay_together: bool,
}

impl World {
    /// A round of negotiation about what cannot be had may have begun at the very end: pods that have rested for long ask again. It is
    /// soon over, as nothing goes wrong, and then nothing is kept that was given in vain.
    pub(super) fn await_rounds(&mut self) {
        for _ in 0..ROUND_ENDS_MS / 100 {
            if self.violations.is_empty() && self.is_anything_kept_in_vain() {
                self.end = self.end.map(|end| end + 100);
                self.go_on();
            }
        }
    }

    fn is_anything_kept_in_vain(&mut self) -> bool {
        let Some(market) = self.market.take() else { return false };
        let claims: Vec<Arc<ResourceClaim>> = all(&mut self.api, "ResourceClaim");
        let pods: Vec<Arc<Pod>> = all(&mut self.api, "Pod");
        let scene =
            Scene { claims: &claims, pods: &pods, market: &market, nodes: &[], cpu: Quantity::default() };
        let is_anything = claims.iter().any(|claim| scene.is_kept_in_vain(claim));
        self.market = Some(market);
        is_anything
    }

    /// Whether every pod has what it could have, and nobody has what nobody uses.
    pub(super) fn check_bargain(&mut self) {
        let Some(market) = self.market.take() else { return };
        let claims: Vec<Arc<ResourceClaim>> = all(&mut self.api, "ResourceClaim");
        let pods: Vec<Arc<Pod>> = all(&mut self.api, "Pod");
        let nodes: Vec<Arc<Node>> = all(&mut self.api, "Node");
        self.check_nominations(&market);
        let cpu = workload::CPU.parse().expect("a good quantity");
        let scene = Scene { claims: &claims, pods: &pods, market: &market, nodes: &nodes, cpu };
        for party in parties(&pods) {
            if let Some(nodes) = scene.seats_for(&party) {
                let name = &party.name;
                self.violations.push(format!("{name} waits, and could have all that it wants on {nodes:?}"));
            }
        }
        for claim in claims.iter().filter(|claim| scene.is_kept_in_vain(claim)) {
            let name = &claim.metadata.name;
            self.violations.push(format!("claim {name} has something, and nobody uses it"));
        }
        let is_bound = |name: &str| {
            pods.iter().find(|pod| pod.metadata.name == name).is_none_or(|pod| !pod.spec.node_name.is_empty())
        };
        for (key, _) in &*self.api.list("PodSchedulingContext") {
            if is_bound(&key.name) {
                self.violations
                    .push(format!("what is negotiated about pod {} is over, and still there", key.name));
            }
        }
    }
}

/// Whether a pod that may still run wants a claim.
fn names(pod: &Pod, claim: &ResourceClaim) -> bool {
    let mut entries = pod.spec.resource_claims.iter();
    let name = Some(claim.metadata.name.as_str());
    !is_over(pod) && entries.any(|entry| entry.resource_claim_name.as_deref() == name)
}

pub(super) fn group_of(pod: &Pod) -> Option<&str> {
    pod.spec.scheduling_group.as_ref()?.pod_group_name.as_deref()
}

/// Those who wait, each alone or with its gang.
fn parties(pods: &[Arc<Pod>]) -> Vec<Party<'_>> {
    let waits = |pod: &&Arc<Pod>| pod.spec.node_name.is_empty() && pod.metadata.deletion_timestamp.is_none();
    let alone = pods.iter().filter(|pod| waits(pod) && group_of(pod).is_none()).map(|pod| Party {
        name: format!("pod {}", pod.metadata.name),
        waiting: vec![&**pod],
        at_least: 1,
        rack: None,
        stay_together: false,
    });
    let groups: BTreeSet<&str> = pods.iter().filter(waits).filter_map(|pod| group_of(pod)).collect();
    let gangs = groups.into_iter().map(|group| {
        let members = || pods.iter().filter(move |pod| group_of(pod) == Some(group) && !is_over(pod));
        let on_node: Vec<&Arc<Pod>> = members().filter(|pod| !pod.spec.node_name.is_empty()).collect();
        Party {
            name: format!("gang {group}"),
            waiting: members().filter(waits).map(|pod| &**pod).collect(),
            at_least: at_least(group).saturating_sub(on_node.len()).max(1),
            rack: on_node.first().map(|pod| rack_of(&pod.spec.node_name)),
            stay_together: true,
        }
    });
    alone.chain(gangs).collect()
}

impl<'s> Scene<'s> {
    /// Nodes for as many pods of a party as are needed, if there are such.
    fn seats_for(&self, party: &Party<'s>) -> Option<Vec<String>> {
        // Each is on a node or stays away.
        let mut ways: Vec<Seats<'s>> = vec![Vec::new()];
        for pod in &party.waiting {
            let mut more = ways.clone();
            for seats in &ways {
                more.extend((0..NODES).map(|at| [seats.as_slice(), &[(*pod, node_name(at))]].concat()));
            }
            ways = more;
        }
        let will_do = |seats: &Seats<'s>| {
            let racks = seats.iter().map(|(_, node)| rack_of(node)).chain(party.rack.clone());
            let is_together = racks.collect::<BTreeSet<String>>().len() <= 1 || !party.stay_together;
            seats.len() >= party.at_least && is_together && self.could_be(seats)
        };
        let found = ways.into_iter().find(will_do)?;
        Some(found.into_iter().map(|(_, node)| node).collect())
    }

    /// Whether a claim has something that is of use to nobody.
    fn is_kept_in_vain(&self, claim: &ResourceClaim) -> bool {
        let Scene { pods, market, .. } = self;
        let is_there = |uid: &str| pods.iter().any(|pod| pod.metadata.uid == uid && !is_over(pod));
        let users = &claim.status.reserved_for;
        let is_used = !users.is_empty() && users.iter().all(|user| is_there(&user.uid));
        let is_silent = market.silent.is_some_and(|at| market.traders[at].name == control::controller(claim));
        let may_be_kept = match control::controller(claim).is_empty() {
            // Its driver never hears that it is to take it back.
            _ if is_silent => true,
            // A card of ours is kept for the pod that wants it.
            true => claim.status.allocation.is_none() || pods.iter().any(|pod| names(pod, claim)),
            false => control::is_immediate(claim),
        };
        !is_used && !may_be_kept
    }

    /// Whether somebody on a node uses a claim.
    fn is_used(&self, claim: &ResourceClaim) -> bool {
        let is_on_node =
            |uid: &str| self.pods.iter().any(|pod| pod.metadata.uid == uid && !pod.spec.node_name.is_empty());
        claim.status.reserved_for.iter().any(|user| is_on_node(&user.uid))
    }

    /// Whether a pod waits for a driver that is silent, or for others of its gang that do: it keeps what other drivers gave.
    fn is_stuck(&self, pod: &Pod) -> bool {
        let is_hopeless = |pod: &Pod| self.market.is_hopeless(pod);
        let Some(group) = group_of(pod) else { return is_hopeless(pod) };
        let members = self.pods.iter().filter(|other| group_of(other) == Some(group) && !is_over(other));
        let with_hope = members.filter(|other| !other.spec.node_name.is_empty() || !is_hopeless(other));
        is_hopeless(pod) || with_hope.count() < at_least(group)
    }

    /// Whether a pod tolerates the taints of a node.
    fn takes(&self, node: &str, pod: &Pod) -> bool {
        let node = self.nodes.iter().find(|one| one.metadata.name == node);
        node.is_some_and(|node| keeps_off(pod, taints_of(node)).is_none())
    }

    /// Whether pods could have all that they want on these nodes, if nobody had anything who waits.
    fn could_be(&self, seats: &[(&Pod, String)]) -> bool {
        let Scene { claims, market, .. } = self;
        if seats.iter().any(|(pod, node)| market.is_hopeless(pod) || !self.takes(node, pod)) {
            return false;
        }
        if !has_cpu(seats, self.pods, &self.cpu) {
            return false;
        }
        let is_stuck =
            |claim: &ResourceClaim| self.pods.iter().any(|pod| names(pod, claim) && self.is_stuck(pod));
        let is_movable = |claim: &&Arc<ResourceClaim>| {
            !control::is_immediate(claim) && !self.is_used(claim) && !is_stuck(claim)
        };
        let movable: BTreeSet<String> =
            claims.iter().filter(is_movable).map(|claim| claim.metadata.uid.clone()).collect();
        // What would have to be given, of which driver and on which node; and where each claim is then.
        let mut needed: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        let mut placed: BTreeMap<&str, &str> = BTreeMap::new();
        let mut cards: BTreeMap<&str, usize> = BTreeMap::new();
        for (pod, node) in seats {
            let names =
                pod.spec.resource_claims.iter().filter_map(|entry| entry.resource_claim_name.as_deref());
            for name in names {
                let Some(claim) = claims.iter().find(|claim| claim.metadata.name == name) else {
                    return false;
                };
                let Some(request) = claim.spec.devices.requests.first().and_then(|one| one.exactly.as_ref())
                else {
                    return false;
                };
                let found = market.traders.iter().find(|trader| trader.name == request.device_class_name);
                let Some(trader) = found else {
                    // A card of ours, which one pod has for itself.
                    *cards.entry(node).or_default() += 1;
                    continue;
                };
                let has = !control::controller(claim).is_empty();
                let uid = claim.metadata.uid.as_str();
                if let Some(other) = placed.insert(uid, node) {
                    // Another of them has it as well.
                    if !trader.shareable || (trader.is_local() && other != node) {
                        return false;
                    }
                    continue;
                }
                if has && (self.is_used(claim) || is_stuck(claim)) && !control::is_shareable(claim) {
                    return false;
                }
                let is_kept = has && !movable.contains(uid);
                let is_there = !trader.is_local() || place_of(claim) == *node;
                match (is_kept, is_there) {
                    (true, true) => {}
                    (true, false) => return false,
                    (false, _) if control::is_immediate(claim) => return false,
                    (false, _) => *needed.entry((&trader.name, node)).or_default() += 1,
                }
            }
        }
        let has_card = |claim: &&Arc<ResourceClaim>, node: &str| {
            let allocation = claim.status.allocation.as_ref();
            let results = allocation.map(|allocation| &allocation.devices.results);
            self.is_used(claim) && results.into_iter().flatten().any(|result| result.pool == node)
        };
        let has_cards = cards.iter().all(|(node, count)| {
            claims.iter().filter(|claim| has_card(claim, node)).count() + count <= CARDS
        });
        let mut by_place: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for ((driver, node), count) in needed {
            let trader = market.traders.iter().find(|trader| trader.name == driver).expect("it was found");
            *by_place.entry((driver, if trader.is_local() { node } else { "" })).or_default() += count;
        }
        has_cards
            && by_place.iter().all(|((driver, place), count)| {
                let trader =
                    market.traders.iter().find(|trader| trader.name == *driver).expect("it was found");
                trader.left(place, claims, &movable) >= *count
            })
    }
}
