//! Volumes for the claims of several pods at once: no volume goes to two claims, and what is provisioned does not take more storage
//! than there is.
//!
//! Invariant: if volumes that are there can be matched with the claims for which none can be provisioned, they are. Storage that is
//! counted is given out in one order only, so a cluster with little of it left may be found too small though another order would do.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::volumes::{VolumeChoice, VolumePlan, Volumes};
use model::identity::NodeName;
use model::node::Node;
use model::volume::{StorageCapacity, VolumeClaim, VolumeClaimId};

use crate::filters::{Mounts, Unbound, reaches_volume};
use crate::values::node_refusal::VolumeLack;

/// The claims of pods that have seats and no volumes yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct JointVolumes {
    /// By claim, with the nodes of the pods that use it, one for each of these.
    claims: BTreeMap<VolumeClaimId, (Unbound, Vec<Arc<Node>>)>,
}

/// What a claim can get.
struct Options<'v> {
    claim: &'v Arc<VolumeClaim>,
    /// Volumes that are there, the smallest first.
    there: Vec<&'v Arc<str>>,
    /// The node for which one can be provisioned.
    provisioned: Option<(&'v NodeName, Option<Arc<StorageCapacity>>)>,
}

impl JointVolumes {
    /// Counts the claims of a pod that comes to a node.
    pub(crate) fn add(&mut self, mounts: &Mounts, node: &Arc<Node>) {
        for unbound in mounts.unbound() {
            let id = unbound.claim.id.clone();
            let (_, nodes) = self.claims.entry(id).or_insert_with(|| (unbound.clone(), Vec::new()));
            nodes.push(node.clone());
        }
    }

    /// Counts the claims of a pod no more that goes from a node.
    pub(crate) fn remove(&mut self, mounts: &Mounts, node: &Node) {
        for unbound in mounts.unbound() {
            let Some((_, nodes)) = self.claims.get_mut(&unbound.claim.id) else { continue };
            if let Some(at) = nodes.iter().position(|one| one.name == node.name) {
                nodes.swap_remove(at);
            }
            if nodes.is_empty() {
                self.claims.remove(&unbound.claim.id);
            }
        }
    }

    /// What the claims get, or what one of them lacks.
    pub(crate) fn plans(&self, volumes: &Volumes) -> Result<Vec<VolumePlan>, VolumeLack> {
        let mut options: Vec<Options<'_>> = Vec::with_capacity(self.claims.len());
        for (unbound, nodes) in self.claims.values() {
            options.push(options_of(unbound, nodes, volumes)?);
        }
        // The smallest claim takes the smallest volume; claims for which none can be provisioned come first.
        options.sort_by(|one, other| {
            let key = |one: &Options<'_>| one.provisioned.is_some();
            let size = |one: &Options<'_>| one.claim.wish.size.clone();
            key(one).cmp(&key(other)).then_with(|| size(one).cmp(&size(other)))
        });
        let mut taken: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
        for at in 0..options.len() {
            if !give(at, &options, &mut taken, &mut Vec::new()) && options[at].provisioned.is_none() {
                return Err(VolumeLack::NoMatch { claim: options[at].claim.id.name.clone() });
            }
        }
        let given: BTreeMap<usize, &Arc<str>> = taken.into_iter().map(|(volume, at)| (at, volume)).collect();
        let mut left: BTreeMap<(Arc<str>, Arc<str>), i64> = BTreeMap::new();
        let mut plans = Vec::new();
        for (at, Options { claim, provisioned, .. }) in options.iter().enumerate() {
            let choice = match (given.get(&at), provisioned) {
                (Some(volume), _) => VolumeChoice::Take(Arc::clone(volume)),
                (None, Some((node, from))) => {
                    if from.as_ref().is_some_and(|from| !draw(from, claim, &mut left)) {
                        return Err(VolumeLack::NoSpace { claim: claim.id.name.clone() });
                    }
                    VolumeChoice::Provision(NodeName::clone(node))
                }
                (None, None) => unreachable!("a claim without a volume was refused"),
            };
            plans.push(VolumePlan { claim: Arc::clone(claim), choice });
        }
        Ok(plans)
    }
}

/// What a claim can get if it is used from these nodes.
fn options_of<'v>(
    unbound: &'v Unbound,
    nodes: &'v [Arc<Node>],
    volumes: &Volumes,
) -> Result<Options<'v>, VolumeLack> {
    let lack = || VolumeLack::NoMatch { claim: unbound.claim.id.name.clone() };
    let is_reached =
        |volume: &&Arc<model::volume::Volume>| nodes.iter().all(|node| reaches_volume(node, volume));
    let selected_elsewhere =
        unbound.node.as_ref().is_some_and(|one| nodes.iter().any(|node| node.name != *one));
    if selected_elsewhere {
        return Err(lack());
    }
    let there: Vec<&Arc<str>> = match (&unbound.node, &unbound.own) {
        (Some(_), _) => Vec::new(),
        (None, Some(own)) => Some(own).into_iter().filter(is_reached).map(|volume| &volume.name).collect(),
        (None, None) => unbound.free.iter().filter(is_reached).map(|volume| &volume.name).collect(),
    };
    // It is provisioned for one node, and pods that share it have to be there.
    let is_on_one_node = nodes.windows(2).all(|pair| pair[0].name == pair[1].name);
    let provisioned = match nodes.first().filter(|_| is_on_one_node && !unbound.is_taking) {
        Some(node) => unbound.provision(node, volumes).map(|from| (&node.name, from)),
        None => Err(lack()),
    };
    match provisioned {
        Err(lack) if there.is_empty() => Err(lack),
        provisioned => Ok(Options { claim: &unbound.claim, there, provisioned: provisioned.ok() }),
    }
}

/// Gives a claim a volume, for which others may have to take another.
fn give<'v>(
    at: usize,
    options: &[Options<'v>],
    taken: &mut BTreeMap<&'v Arc<str>, usize>,
    tried: &mut Vec<&'v Arc<str>>,
) -> bool {
    for volume in &options[at].there {
        if !taken.contains_key(volume) {
            taken.insert(volume, at);
            return true;
        }
    }
    for volume in &options[at].there {
        if tried.contains(volume) {
            continue;
        }
        tried.push(volume);
        let other = taken.get(volume).copied();
        if other.is_some_and(|other| give(other, options, taken, tried)) {
            taken.insert(volume, at);
            return true;
        }
    }
    false
}

/// Takes storage for a claim, if there is enough left.
fn draw(from: &StorageCapacity, claim: &VolumeClaim, left: &mut BTreeMap<(Arc<str>, Arc<str>), i64>) -> bool {
    let Some(all) = from.capacity else { return true };
    let size = claim.wish.size.as_ref().map_or(0, model::quantity::Quantity::value);
    let left = left.entry((from.namespace.clone(), from.name.clone())).or_insert(all);
    *left = left.saturating_sub(size);
    *left >= 0
}

#[cfg(test)]
mod tests {
    use model::node::{NodeSelector, NodeTerm, Operator, Requirement};
    use model::pod::{LabelSelector, Shape};
    use model::quantity::{Format, Quantity};
    use model::volume::{StorageClass, StorageDriver, Volume, VolumeWish};

    use super::*;
    use crate::filters::FilterSettings;
    use crate::sample::{node, shape};

    fn size(gigabytes: i64) -> Quantity {
        Quantity::new(gigabytes << 30, Format::BinarySi)
    }

    fn volume(name: &str, gigabytes: i64, hosts: &[&str]) -> Volume {
        let values = hosts.iter().map(|host| (*host).into()).collect();
        let labels = vec![Requirement { key: "host".into(), operator: Operator::In, values }];
        let nodes = Some(NodeSelector { terms: vec![NodeTerm { fields: Vec::new(), labels }] });
        let (name, class, capacity) = (name.into(), "local".into(), size(gigabytes));
        Volume { name, class, capacity, nodes, available: true, ..Volume::default() }
    }

    fn claim(name: &str, class: &str, gigabytes: i64) -> VolumeClaim {
        VolumeClaim {
            id: VolumeClaimId { namespace: "ns".into(), name: name.into() },
            uid: name.into(),
            class: Some(class.into()),
            wish: VolumeWish { size: Some(size(gigabytes)), ..VolumeWish::default() },
            ..VolumeClaim::default()
        }
    }

    fn volumes() -> Volumes {
        let mut volumes = Volumes::default();
        for (name, provisioner) in [("local", "kubernetes.io/no-provisioner"), ("made", "d")] {
            let (name, provisioner) = (name.into(), provisioner.into());
            let waits_for_pod = true;
            volumes.apply_class(StorageClass { name, provisioner, waits_for_pod, ..StorageClass::default() });
        }
        for (name, class, gigabytes) in [
            ("one", "local", 1),
            ("two", "local", 1),
            ("big", "local", 3),
            ("x", "made", 4),
            ("y", "made", 4),
        ] {
            volumes.apply_claim(claim(name, class, gigabytes));
        }
        volumes
    }

    /// What pods with these claims on these nodes get.
    fn told(volumes: &Volumes, seats: &[(&str, &str)]) -> String {
        let mut joint = JointVolumes::default();
        for (name, host) in seats {
            let shape = Arc::new(Shape { volume_claims: vec![(*name).into()], ..shape("") });
            let mounts = Mounts::new(&shape, volumes, &FilterSettings::default()).expect("claims are there");
            joint.add(&mounts, &Arc::new(node(host, &format!("host={host}"))));
        }
        let told = |plan: &VolumePlan| match &plan.choice {
            VolumeChoice::Take(volume) => format!("{}={volume}", plan.claim.id.name),
            VolumeChoice::Provision(node) => format!("{}@{node}", plan.claim.id.name),
        };
        match joint.plans(volumes) {
            Ok(plans) => plans.iter().map(told).collect::<Vec<_>>().join(" "),
            Err(lack) => format!("{lack:?}"),
        }
    }

    #[test]
    fn no_volume_goes_to_two_claims_and_a_claim_takes_another_if_that_helps() {
        let mut volumes = volumes();
        volumes.apply_volume(volume("on-a", 1, &["a"]));
        assert_eq!(told(&volumes, &[("one", "a")]), "one=on-a");
        assert_eq!(told(&volumes, &[("one", "a"), ("two", "a")]), "NoMatch { claim: \"two\" }");
        volumes.apply_volume(volume("on-ab", 2, &["a", "b"]));
        assert_eq!(told(&volumes, &[("one", "a"), ("two", "a")]), "one=on-a two=on-ab");
        // The smaller volume would suit the first, but the second reaches no other.
        volumes.apply_volume(volume("for-all", 1, &["a", "b", "c"]));
        volumes.remove_volume("on-a");
        assert_eq!(told(&volumes, &[("one", "a"), ("two", "c")]), "one=on-ab two=for-all");
        assert_eq!(told(&volumes, &[("big", "a")]), "NoMatch { claim: \"big\" }");
    }

    #[test]
    fn pods_that_share_a_claim_are_where_its_volume_is() {
        let mut volumes = volumes();
        volumes.apply_volume(volume("on-a", 1, &["a"]));
        assert_eq!(told(&volumes, &[("one", "a"), ("one", "b")]), "NoMatch { claim: \"one\" }");
        volumes.apply_volume(volume("on-ab", 2, &["a", "b"]));
        assert_eq!(told(&volumes, &[("one", "a"), ("one", "b")]), "one=on-ab");
        assert_eq!(told(&volumes, &[("x", "a"), ("x", "a")]), "x@a");
        assert_eq!(told(&volumes, &[("x", "a"), ("x", "b")]), "NoMatch { claim: \"x\" }");
    }

    #[test]
    fn what_is_provisioned_takes_storage_together() {
        let mut volumes = volumes();
        let tells_capacity = true;
        volumes.apply_driver(StorageDriver { name: "d".into(), tells_capacity, ..StorageDriver::default() });
        let capacity = |gigabytes: i64| StorageCapacity {
            namespace: "ns".into(),
            name: "all".into(),
            class: "made".into(),
            nodes: LabelSelector::All(Vec::new()),
            capacity: Some(gigabytes << 30),
            volume_max: None,
        };
        volumes.apply_capacity(capacity(7));
        assert_eq!(told(&volumes, &[("x", "a")]), "x@a");
        assert_eq!(told(&volumes, &[("x", "a"), ("y", "b")]), "NoSpace { claim: \"y\" }");
        volumes.apply_capacity(capacity(8));
        assert_eq!(told(&volumes, &[("x", "a"), ("y", "b")]), "x@a y@b");
    }

    #[test]
    fn a_pod_that_goes_leaves_its_volume_to_others() {
        let mut volumes = volumes();
        volumes.apply_volume(volume("on-a", 1, &["a"]));
        let mounts = |name: &str| {
            let shape = Arc::new(Shape { volume_claims: vec![name.into()], ..shape("") });
            Mounts::new(&shape, &volumes, &FilterSettings::default()).expect("claims are there")
        };
        let (one, two, a) = (mounts("one"), mounts("two"), Arc::new(node("a", "host=a")));
        let mut joint = JointVolumes::default();
        joint.add(&one, &a);
        joint.add(&two, &a);
        assert!(joint.plans(&volumes).is_err());
        joint.remove(&one, &a);
        assert_eq!(joint.plans(&volumes).map(|plans| plans.len()), Ok(1));
    }
}
