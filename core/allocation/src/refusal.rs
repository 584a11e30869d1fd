//! Why no choice of devices satisfies the claims, with numbers.

use std::fmt;
use std::sync::Arc;

use cluster::ledger::Holder;
use gates::Gate;
use model::device::{DeviceId, PoolId};
use model::request_name::RequestName;

use crate::asked::Asker;
use crate::problem::Problem;
use crate::search::Miss;

/// How many holders of devices are named.
pub(crate) const HOLDERS_MAX: usize = 5;

/// Why there are no devices for the claims on a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The request that came closest to being satisfied last, and was not.
    pub nearest: Option<NearestMiss>,
    /// Pools that contradict themselves, whose devices cannot be used.
    pub contradictory_pools: Vec<(PoolId, String)>,
    /// Pools of which slices are missing, whose devices cannot be used yet.
    pub gathering_pools: Vec<PoolId>,
}

/// A request for which devices ran out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NearestMiss {
    /// The claim.
    pub claim: Asker,
    /// The request, or the alternative of it.
    pub request: RequestName,
    /// The class that it names.
    pub class: Arc<str>,
    /// How many devices it wants.
    pub wanted: usize,
    /// How many it could have had, with what was chosen for the requests before it.
    pub found: usize,
    /// How many devices each stage left.
    pub stages: Vec<StageCount>,
    /// Devices that would do if they were not taken, and what holds them; at most five.
    pub holders: Vec<(DeviceId, Holder)>,
    /// How many more holders there are.
    pub more_holders: usize,
}

/// How many devices were left after a stage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StageCount {
    /// The stage.
    pub stage: Stage,
    /// How many were left.
    pub left: usize,
}

/// A rule by which devices are left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stage {
    /// None yet: what whole pools offer to the node.
    Published,
    /// Devices that need a feature, while its gate is off.
    Off(Gate),
    /// Devices that the class does not pick.
    Class,
    /// Devices that a selector of the request does not pick.
    Selector(usize),
    /// Devices outside of the set that several claims have to be met from.
    Together,
    /// Devices for other nodes.
    Reach,
    /// Devices with too little capacity.
    Capacity,
    /// Devices that need a feature that the node does not declare.
    NotDeclared(Gate),
    /// Devices with taints that the request does not bear.
    Taints,
    /// Devices that claims hold.
    Taken,
    /// Devices for which counters of the pool do not suffice.
    Counters,
    /// Devices whose compatibility groups those on the same counter set do not share.
    Groups,
    /// Devices that draw on a counter set that is held with compatibility groups, while these are off.
    GroupsOff,
    /// Devices of which others have shares that leave too little.
    CapacityTaken,
    /// Devices for which counters do not suffice at the same time.
    CountersTogether,
    /// Devices that other requests of these claims get.
    Chosen,
    /// Devices that a constraint excludes.
    Constraint(usize),
}

impl fmt::Display for Stage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stage::Published => write!(out, "published for the node"),
            Stage::Off(gate) => write!(out, "usable while feature gate {gate} is off"),
            Stage::NotDeclared(gate) => write!(out, "usable on a node that does not declare {gate}"),
            Stage::Class => write!(out, "of the class"),
            Stage::Selector(index) => write!(out, "picked by selector {index}"),
            Stage::Together => write!(out, "of the device set of the group"),
            Stage::Reach => write!(out, "usable from the node"),
            Stage::Capacity => write!(out, "with enough capacity"),
            Stage::Taints => write!(out, "without taints that the request does not tolerate"),
            Stage::Taken => write!(out, "not held by other claims"),
            Stage::Counters => write!(out, "covered by the remaining counters"),
            Stage::Groups => write!(out, "compatible with devices that share their counters"),
            Stage::GroupsOff => write!(
                out,
                "not sharing counters with devices in compatibility groups, as feature gate {} is off",
                Gate::DRADeviceCompatibilityGroups
            ),
            Stage::CapacityTaken => write!(out, "with enough remaining capacity"),
            Stage::CountersTogether => write!(out, "covered by the counters at the same time"),
            Stage::Chosen => write!(out, "not needed for other requests"),
            Stage::Constraint(index) => write!(out, "allowed by constraint {index}"),
        }
    }
}

/// Explains a search that found nothing.
pub(crate) fn explain(problem: &Problem, miss: Option<&Miss>) -> Refusal {
    Refusal {
        nearest: miss.map(|miss| nearest(problem, miss)),
        contradictory_pools: problem.contradictory_pools.clone(),
        gathering_pools: problem.gathering_pools.clone(),
    }
}

fn nearest(problem: &Problem, miss: &Miss) -> NearestMiss {
    let alternative = &problem.alternatives[miss.alternative];
    let claim = &problem.claims[problem.requests[alternative.request as usize].claim as usize];
    let mut stages = alternative.stages.clone();
    stages.extend(miss.stages.iter().cloned());
    NearestMiss {
        claim: claim.asker.clone(),
        request: alternative.name.clone(),
        class: alternative.class.clone(),
        wanted: alternative.need,
        found: miss.found,
        stages,
        holders: alternative.holders.clone(),
        more_holders: alternative.more_holders,
    }
}

impl fmt::Display for Refusal {
    /// One sentence: what was wanted, how near it came, and the stage at which most devices were lost.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.nearest {
            None => write!(out, "the claims cannot be satisfied")?,
            Some(miss) => miss.fmt(out)?,
        }
        for (pool, reason) in &self.contradictory_pools {
            write!(out, "; pool {pool} is left out: {reason}")?;
        }
        for pool in &self.gathering_pools {
            write!(out, "; pool {pool} is left out until all of its slices are published")?;
        }
        Ok(())
    }
}

impl NearestMiss {
    /// What holds devices that would do. Claims of other namespaces are counted: a reader may not know of them.
    fn told_holders(&self) -> Vec<String> {
        let namespace = self.claim.namespace();
        let is_near = |(_, holder): &&(DeviceId, Holder)| {
            matches!(holder, Holder::FailedFor(_)) || Some(holder.namespace()) == namespace
        };
        let (near, far): (Vec<_>, Vec<_>) = self.holders.iter().partition(is_near);
        let mut told: Vec<String> =
            near.iter().map(|(device, holder)| format!("{device} by {holder}")).collect();
        match (far.len(), namespace) {
            (0, _) => {}
            (1, Some(_)) => told.push("1 by a claim in another namespace".to_owned()),
            (count, Some(_)) => told.push(format!("{count} by claims in other namespaces")),
            (1, None) => told.push("1 by another claim".to_owned()),
            (count, None) => told.push(format!("{count} by other claims")),
        }
        if self.more_holders > 0 {
            told.push(format!("{} more", self.more_holders));
        }
        told
    }
}

impl fmt::Display for NearestMiss {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NearestMiss { claim, request, class, wanted, found, stages, .. } = self;
        let noun = if *wanted == 1 { "device" } else { "devices" };
        write!(out, "{claim}, request {request}: wants {wanted} {noun} of class {class}, ")?;
        write!(out, "can have {found}")?;
        let mut before: Option<usize> = None;
        let mut told = false;
        for StageCount { stage, left } in stages {
            if before.is_none_or(|before| before != *left) {
                write!(out, "{} {left} {stage}", if told { "," } else { ":" })?;
                told = true;
            }
            before = Some(*left);
        }
        let holders = self.told_holders();
        if holders.is_empty() { Ok(()) } else { write!(out, "; held: {}", holders.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use model::claim::ClaimId;
    use model::pod::PodId;

    use super::*;
    use cluster::ledger::PodRef;

    fn claim(namespace: &str, name: &str) -> ClaimId {
        ClaimId { namespace: namespace.into(), name: name.into() }
    }

    fn pod(namespace: &str, name: &str) -> PodRef {
        PodRef { id: PodId { namespace: namespace.into(), name: name.into() }, uid: name.into() }
    }

    /// What holds devices, as a claim is told.
    #[track_caller]
    fn check(asker: Asker, holders: Vec<Holder>, more_holders: usize, expected: &str) {
        let device = |at: usize| DeviceId {
            driver: "d".into(),
            pool: "p".into(),
            device: format!("gpu-{at}").as_str().into(),
        };
        let miss = NearestMiss {
            claim: asker,
            request: "r".into(),
            class: "gpu".into(),
            wanted: 1,
            found: 0,
            stages: Vec::new(),
            holders: holders.into_iter().enumerate().map(|(at, holder)| (device(at), holder)).collect(),
            more_holders,
        };
        assert_eq!(miss.told_holders().join(", "), expected);
    }

    #[test]
    fn holders_in_other_namespaces_are_counted_and_not_named() {
        let own = || Asker::Claim(claim("default", "wants"));
        let of = |namespace: &str, name: &str| Holder::Claim(claim(namespace, name));
        check(own(), vec![of("default", "mine")], 0, "d/p/gpu-0 by default/mine");
        check(own(), vec![of("secret", "x")], 0, "1 by a claim in another namespace");
        let mixed = vec![of("secret", "x"), of("default", "mine"), Holder::Nominee(pod("secret", "y"))];
        let told = "d/p/gpu-1 by default/mine, 2 by claims in other namespaces, 3 more";
        check(own(), mixed.clone(), 3, told);
        // Of the claim for a pod's extended resources it is not known in which namespace it will be.
        check(Asker::ExtendedResources, mixed, 0, "3 by other claims");
        let failed = vec![Holder::FailedFor(pod("default", "p"))];
        check(own(), failed, 0, "d/p/gpu-0 by nothing, it failed for pod default/p");
    }
}
