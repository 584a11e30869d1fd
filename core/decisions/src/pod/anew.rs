//! All nodes against one pod, with nothing known about any: filters, then scores, then devices on the best.

use std::ops::Range;

use cluster::nodes::NodeIdx;
use model::pod::{Pod, Shape};
use model::volume::VolumeClaimId;

use crate::cycle::Cycle;
use crate::devices::search::Found;
use crate::filters::{self, Around, Mounts};
use crate::lanes::in_parts;
use crate::pod::nominees::Beside;
use crate::pod::ranking::best_first;
use crate::pod::tally::Tally;
use crate::profile::Profile;
use crate::values::choice::{Choice, choice};
use crate::values::pod_claims::PodClaims;
use crate::values::pod_refusal::PodRefusal;
use crate::values::wake::{Object, Wake};
use crate::values::work;

impl Cycle<'_> {
    /// The best node for a pod, with nothing known about any.
    pub(crate) fn choose_anew(
        &mut self,
        pod: &Pod,
        claims: &PodClaims,
        profile: &Profile,
    ) -> Result<Choice, Box<PodRefusal>> {
        self.openings_anew(pod, claims, profile).map(|(best, _)| best)
    }

    /// The best node for a pod, with nothing known about any. If drivers are to be asked about the pod, all that will do come with it,
    /// the best first.
    pub(crate) fn openings_anew(
        &mut self,
        pod: &Pod,
        claims: &PodClaims,
        profile: &Profile,
    ) -> Result<(Choice, Vec<NodeIdx>), Box<PodRefusal>> {
        let settings = &profile.filters;
        let companions = self.companions_of(&pod.shape, profile);
        let companions = companions.as_ref();
        let around = Around::new(&pod.shape, &self.facts.nodes, &self.facts.namespaces, settings, companions);
        let around = around.with_volumes(&self.facts.nodes, &self.facts.volumes, settings);
        let found = filters::anywhere(&pod.shape, settings);
        let found = found.and_then(|()| Mounts::new(&pod.shape, &self.facts.volumes, settings));
        let mounts = found.map_err(|refusal| {
            let nodes = self.facts.nodes.iter().count();
            let mut wakes = refusal.wakes_on();
            wakes.narrow(Wake::VolumeClaim, own_volume_claims(&pod.shape));
            PodRefusal::of_all_nodes(nodes, refusal.reason(), refusal.filter(), wakes)
        })?;
        let (mut tally, candidates) = self.sift(pod, profile, (&around, &mounts));
        self.caches.work.spend(tally.nodes as u64 * work::NODE);
        let depends_on_devices =
            self.alternatives_weight(profile, claims) != 0 || self.readiness_weight(profile, claims) != 0;
        let asks_drivers = !claims.pending.is_empty();
        let compares_devices = !asks_drivers && depends_on_devices;
        let scored = if compares_devices {
            None
        } else {
            Some(self.scored(pod, candidates.clone(), &[], companions, profile))
        };
        let scores =
            scored.iter().flatten().filter(|_| asks_drivers).map(|(score, at)| (*at, *score)).collect();
        let candidates = scored.map_or(candidates, best_first);
        let most = if asks_drivers || compares_devices { usize::MAX } else { 1 };
        let Found { nodes: mut found, others } = self.find_devices(&candidates, claims, most);
        for (at, none) in others {
            tally.refuse_devices(at, &filters::node_of(self.facts.nodes.get(at)).name, none, claims);
        }
        if compares_devices {
            found = self.best_of(pod, claims, found, companions, profile).into_iter().collect();
        } else if asks_drivers {
            found = self.in_order_for_drivers((pod, claims), profile, found, &scores);
        }
        if let Some((best, allocations)) = found.first_mut() {
            let node = filters::node_of(self.facts.nodes.get(*best));
            let volumes = mounts.plans(node, &self.facts.volumes);
            let best = Choice { volumes, ..choice(pod, node, claims, std::mem::take(allocations)) };
            return Ok((best, found.iter().map(|(at, _)| *at).collect()));
        }
        let in_the_way = self.in_the_way(pod, claims, &candidates);
        tally.wakes_on.narrow(Wake::VolumeClaim, own_volume_claims(&pod.shape));
        if let Some(breadth) = tally.devices {
            tally.wakes_on.extend(&self.device_wakes(claims, breadth));
        }
        Err(tally.refusal(claims, in_the_way))
    }

    /// The nodes that no filter is against, and a count of the others.
    fn sift(
        &self,
        pod: &Pod,
        profile: &Profile,
        (around, mounts): (&Around, &Mounts),
    ) -> (Tally, Vec<NodeIdx>) {
        let parts = in_parts(&*self.caches.lanes, (self.facts.nodes.count_max(), work::NODE), |part| {
            self.sift_part(pod, profile, (around, mounts), part)
        });
        let mut parts = parts.into_iter();
        let (mut tally, mut candidates) = parts.next().unwrap_or_default();
        for (more, others) in parts {
            tally.extend(more);
            candidates.extend(others);
        }
        tally.wakes_on.extend(&Wake::NodeAdded.into());
        (tally, candidates)
    }

    fn sift_part(
        &self,
        pod: &Pod,
        profile: &Profile,
        (around, mounts): (&Around, &Mounts),
        part: Range<usize>,
    ) -> (Tally, Vec<NodeIdx>) {
        let settings = &profile.filters;
        let who = (&*pod.uid, pod.priority);
        let mut tally = Tally::default();
        let mut candidates = Vec::new();
        // Nominees of a node are counted while it is looked at.
        let mut with_nominees = (!self.plans.nominations.is_empty()).then(|| around.clone());
        for (at, state) in self.facts.nodes.within(part) {
            tally.nodes += 1;
            let node = filters::node_of(state);
            let fits = filters::fixed(&pod.shape, node, settings)
                .and_then(|()| filters::usage(&pod.shape, state, settings))
                .and_then(|()| mounts.check_disks(state))
                .and_then(|()| around.check_volumes())
                .and_then(|()| mounts.check(state, &self.facts.volumes))
                .and_then(|()| around.check(state))
                .and_then(|()| {
                    let beside = with_nominees.as_mut().map_or(Beside::Nothing, Beside::Counted);
                    self.check_beside_nominees(&pod.shape, who, state, beside, (settings, Some(mounts)))
                });
            match fits {
                Ok(()) => candidates.push(at),
                Err(refusal) => tally.refuse(at, &node.name, &refusal),
            }
        }
        (tally, candidates)
    }
}

/// The volume claims of a pod: what becomes of others does not help it.
fn own_volume_claims(shape: &Shape) -> impl Iterator<Item = Object> {
    let id =
        |name: &std::sync::Arc<str>| VolumeClaimId { namespace: shape.namespace.clone(), name: name.clone() };
    shape.volume_claims.iter().map(id).map(Object::VolumeClaim)
}
