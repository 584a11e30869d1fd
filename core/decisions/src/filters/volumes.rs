//! Volumes that a pod uses: they must exist, and be within reach of the node.
//!
//! We bind no volumes. A claim that waits for its pod to be placed before it gets one is refused, and says so.

use std::sync::Arc;

use cluster::volumes::Volumes;
use model::node::{Node, NodeSelector};
use model::pod::Shape;
use model::volume::{Volume, VolumeClaim};

use crate::filters::settings::FilterSettings;
use crate::values::filter_set::Filter;
use crate::values::node_refusal::{NodeRefusal, VolumeRefusal};

/// Labels of volumes and nodes that tell zones and regions, each with the one that replaced it.
const ZONES: [(&str, &str); 4] = [
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
    ("topology.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ("topology.kubernetes.io/region", "topology.kubernetes.io/region"),
];

/// The volumes of a pod, looked up once for many nodes.
#[derive(Clone, Debug, Default)]
pub struct Mounts {
    mounts: Vec<Mount>,
}

#[derive(Clone, Debug)]
struct Mount {
    volume: Arc<str>,
    nodes: Option<NodeSelector>,
    /// Labels of which a node that knows zones must have one of the values.
    zones: Vec<(usize, Vec<Arc<str>>)>,
}

impl Mounts {
    /// Looks up the volumes of a pod.
    ///
    /// # Errors
    /// They cannot be had on any node.
    pub fn new(shape: &Shape, volumes: &Volumes, settings: &FilterSettings) -> Result<Mounts, NodeRefusal> {
        let zones = settings.has(Filter::VolumeZones);
        if !settings.has(Filter::Volumes) {
            return Ok(if zones { Mounts::zones_alone(shape, volumes) } else { Mounts::default() });
        }
        let found: Result<_, _> =
            shape.volume_claims.iter().map(|name| usable(shape, name, volumes)).collect();
        let claims: Vec<&VolumeClaim> = found.map_err(NodeRefusal::Volume)?;
        let mut waiting = None;
        for claim in claims.iter().filter(|claim| !claim.bound) {
            let name = claim.id.name.clone();
            let class = claim.class.as_ref().and_then(|class| volumes.class(class));
            if claim.volume.is_some() || !class.is_some_and(|class| class.waits_for_pod) {
                return Err(NodeRefusal::Volume(VolumeRefusal::Unbound { claim: name }));
            }
            waiting.get_or_insert(name);
        }
        if let Some(claim) = waiting {
            return Err(NodeRefusal::Volume(VolumeRefusal::Waits { claim }));
        }
        let mounts = claims.into_iter().filter_map(|claim| claim.volume.as_ref()).map(|name| {
            match volumes.volume(name) {
                Some(volume) => Ok(Mount::new(volume, true, zones)),
                None => Err(NodeRefusal::Volume(VolumeRefusal::NoVolume { volume: name.clone() })),
            }
        });
        Ok(Mounts { mounts: mounts.collect::<Result<_, _>>()? })
    }

    /// The zones of the volumes that are known, when nothing else about volumes is asked.
    fn zones_alone(shape: &Shape, volumes: &Volumes) -> Mounts {
        let claims = shape.volume_claims.iter().filter_map(|name| volumes.claim(&shape.namespace, name));
        let known = claims.filter_map(|claim| volumes.volume(claim.volume.as_ref()?));
        Mounts { mounts: known.map(|volume| Mount::new(volume, false, true)).collect() }
    }

    /// Whether every node will do.
    #[must_use]
    pub fn is_everywhere(&self) -> bool {
        self.mounts.iter().all(|mount| mount.nodes.is_none() && mount.zones.is_empty())
    }

    /// Whether the volumes can be reached from a node.
    ///
    /// # Errors
    /// One of them cannot.
    pub fn check(&self, node: &Node) -> Result<(), NodeRefusal> {
        if let Some(mount) = self.mounts.iter().find(|mount| !mount.reaches(node)) {
            return Err(NodeRefusal::VolumeElsewhere { volume: mount.volume.clone() });
        }
        let knows_zones = ZONES.iter().any(|(key, _)| node.labels.contains_key(*key));
        match self.mounts.iter().find(|mount| knows_zones && !mount.is_in_zone(node)) {
            Some(mount) => Err(NodeRefusal::VolumeZone { volume: mount.volume.clone() }),
            None => Ok(()),
        }
    }
}

/// A claim that exists and is there to stay.
fn usable<'a>(
    shape: &Shape,
    name: &Arc<str>,
    volumes: &'a Volumes,
) -> Result<&'a VolumeClaim, VolumeRefusal> {
    let own = shape.own_volume_claims.iter().find(|own| own.claim == *name);
    let Some(claim) = volumes.claim(&shape.namespace, name) else {
        let claim = name.clone();
        return Err(if own.is_some() {
            VolumeRefusal::NotMade { claim }
        } else {
            VolumeRefusal::NoClaim { claim }
        });
    };
    if claim.lost {
        let volume = claim.volume.clone().unwrap_or_default();
        return Err(VolumeRefusal::Lost { claim: name.clone(), volume });
    }
    if claim.deleting {
        return Err(VolumeRefusal::Deleting { claim: name.clone() });
    }
    match own {
        Some(own) if claim.owner.as_deref() != Some(&*own.pod_uid) => Err(VolumeRefusal::NotOwn {
            namespace: shape.namespace.clone(),
            claim: name.clone(),
            pod: own.pod.clone(),
        }),
        _ => Ok(claim),
    }
}

impl Mount {
    fn new(volume: &Volume, asks_nodes: bool, asks_zones: bool) -> Mount {
        let zones = ZONES
            .iter()
            .enumerate()
            .filter(|_| asks_zones)
            .filter_map(|(at, (key, _))| Some((at, zones(volume.labels.get(*key)?)?)));
        let nodes = volume.nodes.clone().filter(|_| asks_nodes);
        Mount { volume: volume.name.clone(), nodes, zones: zones.collect() }
    }

    fn reaches(&self, node: &Node) -> bool {
        let picks = |nodes: &NodeSelector| nodes.terms.iter().any(|term| term.picks(node).unwrap_or(false));
        self.nodes.as_ref().is_none_or(picks)
    }

    fn is_in_zone(&self, node: &Node) -> bool {
        self.zones.iter().all(|(at, zones)| {
            let (old, new) = ZONES[*at];
            node.labels.get(old).or_else(|| node.labels.get(new)).is_some_and(|zone| zones.contains(zone))
        })
    }
}

/// The zones that a label lists; a list with an empty name in it says nothing.
fn zones(label: &str) -> Option<Vec<Arc<str>>> {
    let zones: Vec<Arc<str>> = label.split("__").map(|zone| zone.trim().into()).collect();
    (!zones.iter().any(|zone| zone.is_empty())).then_some(zones)
}

#[cfg(test)]
mod tests {
    use model::node::{NodeTerm, Operator, Requirement};
    use model::pod::OwnVolumeClaim;
    use model::volume::{StorageClass, VolumeClaimId};

    use super::*;
    use crate::sample::{labels, node, shape};

    fn claim(name: &str, volume: Option<&str>, bound: bool, class: &str) -> VolumeClaim {
        VolumeClaim {
            id: VolumeClaimId { namespace: "ns".into(), name: name.into() },
            volume: volume.map(Into::into),
            bound,
            lost: name == "lost",
            deleting: name == "deleting",
            one_pod: false,
            owner: (name == "p-scratch").then(|| "u".into()),
            class: Some(class.into()),
        }
    }

    fn volumes() -> Volumes {
        let mut volumes = Volumes::default();
        for (name, volume, bound, class) in [
            ("local", Some("on-a"), true, "slow"),
            ("p-scratch", Some("on-a"), true, "slow"),
            ("zonal", Some("in-z1"), true, "slow"),
            ("old", Some("in-old"), true, "slow"),
            ("lost", Some("gone"), true, "slow"),
            ("dangling", Some("gone"), true, "slow"),
            ("deleting", Some("on-a"), true, "slow"),
            ("wish", Some("on-a"), false, "waiting"),
            ("fresh", None, false, "slow"),
            ("unknown", None, false, "none"),
            ("waiting", None, false, "waiting"),
        ] {
            volumes.apply_claim(claim(name, volume, bound, class));
        }
        let requirement =
            Requirement { key: "host".into(), operator: Operator::In, values: vec!["a".into()] };
        let term = NodeTerm { fields: Vec::new(), labels: vec![requirement] };
        let nodes = Some(NodeSelector { terms: vec![term] });
        volumes.apply_volume(Volume { name: "on-a".into(), nodes, ..Volume::default() });
        let zoned = |name: &str, text: &str| Volume { name: name.into(), nodes: None, labels: labels(text) };
        volumes.apply_volume(zoned("in-z1", "topology.kubernetes.io/zone=z1__z2"));
        volumes.apply_volume(zoned("in-old", "failure-domain.beta.kubernetes.io/zone=z1"));
        for (name, waits_for_pod) in [("slow", false), ("waiting", true)] {
            volumes.apply_class(StorageClass { name: name.into(), waits_for_pod });
        }
        volumes
    }

    /// What a pod with these claims is told by a node with these labels.
    fn answer(claims: &[&str], node_labels: &str) -> String {
        answer_without(&[], claims, node_labels)
    }

    /// The same with some filters off.
    fn answer_without(off: &[Filter], claims: &[&str], node_labels: &str) -> String {
        let settings = FilterSettings { off: off.iter().copied().collect(), ..FilterSettings::default() };
        let mut shape = shape("");
        shape.volume_claims = claims.iter().map(|name| (*name).into()).collect();
        let mounts = Mounts::new(&shape, &volumes(), &settings);
        let answer = mounts.and_then(|mounts| mounts.check(&node("n", node_labels)));
        answer.map_or_else(|refusal| refusal.to_string(), |()| "fits".to_owned())
    }

    #[test]
    fn claims_must_have_a_volume() {
        let table = [
            ("none", "persistentvolumeclaim \"none\" not found"),
            ("lost", "persistentvolumeclaim \"lost\" bound to non-existent persistentvolume \"gone\""),
            ("dangling", "persistentvolume \"gone\" not found"),
            ("deleting", "persistentvolumeclaim \"deleting\" is being deleted"),
            ("wish", "pod has unbound immediate PersistentVolumeClaims"),
            ("fresh", "pod has unbound immediate PersistentVolumeClaims"),
            ("unknown", "pod has unbound immediate PersistentVolumeClaims"),
            (
                "waiting",
                "persistentvolumeclaim \"waiting\" waits for its first consumer, and this scheduler binds no volumes",
            ),
        ];
        for (claim, expected) in table {
            assert_eq!(answer(&[claim], "host=a"), expected);
        }
        assert_eq!(answer(&["waiting", "fresh"], "host=a"), table[5].1);
        assert_eq!(answer(&["waiting", "none"], "host=a"), table[0].1);
    }

    #[test]
    fn a_volume_is_used_from_nodes_that_reach_it() {
        assert_eq!(answer(&["local"], "host=a"), "fits");
        assert_eq!(answer(&["local"], "host=b"), "node(s) didn't match PersistentVolume's node affinity");
        assert_eq!(answer(&[], "host=b"), "fits");
    }

    #[test]
    fn a_volume_is_used_in_its_zones() {
        let refused = "node(s) had no available volume zone";
        assert_eq!(answer(&["zonal"], "topology.kubernetes.io/zone=z2"), "fits");
        assert_eq!(answer(&["zonal"], "topology.kubernetes.io/zone=z3"), refused);
        assert_eq!(answer(&["zonal"], "topology.kubernetes.io/region=r1"), refused);
        assert_eq!(answer(&["zonal"], "host=a"), "fits");
        assert_eq!(answer(&["old"], "topology.kubernetes.io/zone=z1"), "fits");
        assert_eq!(answer(&["old"], "failure-domain.beta.kubernetes.io/zone=z2"), refused);
    }

    #[test]
    fn reach_and_zones_can_be_switched_off_one_by_one() {
        let elsewhere = "topology.kubernetes.io/zone=z9";
        assert_eq!(answer_without(&[Filter::Volumes], &["local", "waiting", "none"], elsewhere), "fits");
        let refused = "node(s) had no available volume zone";
        assert_eq!(answer_without(&[Filter::Volumes], &["zonal"], elsewhere), refused);
        assert_eq!(answer_without(&[Filter::VolumeZones], &["zonal"], elsewhere), "fits");
        let unreached = "node(s) didn't match PersistentVolume's node affinity";
        assert_eq!(answer_without(&[Filter::VolumeZones], &["local"], elsewhere), unreached);
        assert_eq!(answer_without(&[Filter::Volumes, Filter::VolumeZones], &["zonal"], elsewhere), "fits");
    }

    #[test]
    fn a_claim_that_is_made_for_the_pod_must_be_its_own() {
        let told = |claim: &str, pod_uid: &str| {
            let own = OwnVolumeClaim { claim: claim.into(), pod: "p".into(), pod_uid: pod_uid.into() };
            let mut shape = shape("");
            shape.volume_claims = vec![claim.into()];
            shape.own_volume_claims = vec![own];
            let mounts = Mounts::new(&shape, &volumes(), &FilterSettings::default());
            mounts.map_or_else(|refusal| refusal.to_string(), |_| "fits".to_owned())
        };
        assert_eq!(told("p-scratch", "u"), "fits");
        let foreign = "PVC ns/p-scratch was not created for pod ns/p (pod is not owner)";
        assert_eq!(told("p-scratch", "another"), foreign);
        let missing = "waiting for ephemeral volume controller to create the persistentvolumeclaim \"p-tmp\"";
        assert_eq!(told("p-tmp", "u"), missing);
    }
}
