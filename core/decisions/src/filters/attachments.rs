//! How many volumes a node attaches for each storage driver, and whether a pod's driver is there at all.
//!
//! A volume that several pods use on a node is attached once. A claim that has no volume yet counts as one of its class's driver.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::nodes::NodeState;
use cluster::volumes::Volumes;
use model::disk::{Handle, InTree};
use model::identity::NodeName;
use model::pod::Shape;
use model::volume::{StorageNode, VolumeClaim, VolumeClaimId, VolumeSource};

use crate::filters::node::node_of;
use crate::values::node_refusal::NodeRefusal;

/// What a pod attaches to a node.
#[derive(Clone, Debug)]
pub(crate) struct Attachments {
    units: Vec<Unit>,
}

/// Something that is attached to a node.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Unit {
    key: Key,
    /// It counts on nodes about which drivers say something.
    in_tree: bool,
}

/// What is attached once, however many pods use it: the driver, and what it attaches.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key(Arc<str>, Attached);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Attached {
    /// A volume, as its driver calls it.
    Volume(Arc<str>),
    /// What a claim will have.
    Claim(VolumeClaimId),
}

impl Attachments {
    /// What pods of a shape attach.
    pub(crate) fn new(shape: &Shape, volumes: &Volumes) -> Attachments {
        let of_claims = shape.volume_claims.iter().filter_map(|name| of_claim(shape, name, volumes));
        let of_disks =
            shape.disks.iter().filter_map(|disk| disk.handle()).map(|handle| Unit::in_tree(&handle));
        Attachments { units: of_claims.chain(of_disks).collect() }
    }

    /// Whether there is a node that could refuse them.
    pub(crate) fn matter(&self, volumes: &Volumes) -> bool {
        self.units.iter().any(|unit| volumes.is_choosy(&unit.key.0))
    }

    /// Whether a node takes them.
    pub(crate) fn check(&self, state: &NodeState, volumes: &Volumes) -> Result<(), NodeRefusal> {
        let name = &node_of(state).name;
        let known = volumes.node(name);
        let mut new: BTreeSet<&Key> = self.keys(known).collect();
        for Key(driver, _) in &new {
            let must_be_there = volumes.driver(driver).is_some_and(|driver| driver.must_be_there);
            if must_be_there && !known.is_some_and(|known| known.drivers.contains_key(driver)) {
                return Err(NodeRefusal::DriverMissing { driver: driver.clone() });
            }
        }
        let max = |driver: &Arc<str>| known.and_then(|known| known.drivers.get(driver).copied().flatten());
        new.retain(|Key(driver, _)| max(driver).is_some());
        if new.is_empty() {
            return Ok(());
        }
        let with_volumes = state.pods.values().filter(|pod| pod.shape.has_volumes());
        let of_pods = with_volumes.flat_map(|pod| Attachments::new(&pod.shape, volumes).into_keys(known));
        let used: BTreeSet<Key> = of_pods.collect();
        new.retain(|key| !used.contains(*key));
        let mut counts: BTreeMap<&Arc<str>, i64> = BTreeMap::new();
        new.iter().for_each(|Key(driver, _)| *counts.entry(driver).or_default() += 1);
        // What is attached though no pod uses it takes room until it is detached, also from a pod that is to use it.
        let unused: BTreeSet<Key> = attached(name, volumes).filter(|key| !used.contains(key)).collect();
        for (driver, added) in counts {
            let of_driver = |key: &&Key| key.0 == *driver;
            let there = used.iter().chain(&unused).filter(of_driver).count() as i64;
            if let Some(max) = max(driver).filter(|max| there + added > *max) {
                let (driver, count) = (driver.clone(), there + added);
                return Err(NodeRefusal::TooManyVolumes { driver, count, max });
            }
        }
        Ok(())
    }

    fn into_keys(self, known: Option<&StorageNode>) -> impl Iterator<Item = Key> {
        let is_known = known.is_some();
        self.units.into_iter().filter(move |unit| !unit.in_tree || is_known).map(|unit| unit.key)
    }

    fn keys(&self, known: Option<&StorageNode>) -> impl Iterator<Item = &Key> {
        let is_known = known.is_some();
        self.units.iter().filter(move |unit| !unit.in_tree || is_known).map(|unit| &unit.key)
    }
}

impl Unit {
    fn of(driver: &Arc<str>, handle: &Arc<str>) -> Unit {
        Unit { key: Key(driver.clone(), Attached::Volume(handle.clone())), in_tree: false }
    }

    fn in_tree(handle: &Handle) -> Unit {
        let driver = handle.plugin.driver().into();
        Unit { key: Key(driver, Attached::Volume(handle.name.clone())), in_tree: true }
    }
}

/// What a claim of a pod attaches. One that is not there, or is another's, does not count.
fn of_claim(shape: &Shape, name: &Arc<str>, volumes: &Volumes) -> Option<Unit> {
    let claim = volumes.claim(&shape.namespace, name)?;
    let own = shape.own_volume_claims.iter().find(|own| own.claim == *name);
    if own.is_some_and(|own| claim.owner.as_deref() != Some(&*own.pod_uid)) {
        return None;
    }
    let Some(volume) = claim.volume.as_ref().and_then(|volume| volumes.volume(volume)) else {
        return of_class(claim, volumes);
    };
    match &volume.source {
        VolumeSource::Driver { driver, handle } => Some(Unit::of(driver, handle)),
        VolumeSource::InTree(handle) => Some(Unit::in_tree(handle)),
        VolumeSource::Other => None,
    }
}

/// What a claim will attach that has no volume yet.
fn of_class(claim: &VolumeClaim, volumes: &Volumes) -> Option<Unit> {
    let class = volumes.class(claim.class.as_ref()?)?;
    let in_tree = InTree::named(&class.provisioner);
    let driver = in_tree.map_or_else(|| class.provisioner.clone(), |in_tree| in_tree.driver().into());
    let key = Key(driver, Attached::Claim(claim.id.clone()));
    Some(Unit { key, in_tree: in_tree.is_some() })
}

/// What is attached to a node, as the API has it.
fn attached<'v>(node: &'v NodeName, volumes: &'v Volumes) -> impl Iterator<Item = Key> + 'v {
    volumes.attached(node).filter_map(|attachment| {
        let volume = volumes.volume(attachment.volume.as_ref()?)?;
        match &volume.source {
            VolumeSource::Driver { handle, .. } => {
                Some(Key(attachment.driver.clone(), Attached::Volume(handle.clone())))
            }
            VolumeSource::InTree(_) | VolumeSource::Other => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use model::disk::Disk;
    use model::pod::{OwnVolumeClaim, Pod};
    use model::volume::{Attachment, StorageClass, StorageDriver, Volume};

    use super::*;
    use crate::sample::{node, nodes, pod, shape, state};

    const DRIVER: &str = "disks.example.com";

    fn volumes(max: Option<i64>) -> Volumes {
        let mut volumes = Volumes::default();
        for at in 0..6 {
            let name: Arc<str> = format!("v{at}").into();
            let source = VolumeSource::Driver { driver: DRIVER.into(), handle: name.clone() };
            volumes.apply_volume(Volume { name: name.clone(), source, ..Volume::default() });
            let id = VolumeClaimId { namespace: "ns".into(), name: format!("c{at}").into() };
            let owner = Some("u".into());
            let volume = Some(name);
            volumes.apply_claim(VolumeClaim { id, volume, bound: true, owner, ..VolumeClaim::default() });
        }
        for (name, class) in [("new", "fast"), ("old", "aws"), ("bare", "none")] {
            let id = VolumeClaimId { namespace: "ns".into(), name: name.into() };
            volumes.apply_claim(VolumeClaim { id, class: Some(class.into()), ..VolumeClaim::default() });
        }
        for (name, provisioner) in [("fast", DRIVER), ("aws", "kubernetes.io/aws-ebs")] {
            let (name, provisioner) = (name.into(), provisioner.into());
            volumes.apply_class(StorageClass { name, provisioner, ..StorageClass::default() });
        }
        let drivers = [(DRIVER.into(), max), ("ebs.csi.aws.com".into(), max)].into();
        volumes.apply_node(StorageNode { name: "a".into(), drivers });
        volumes
    }

    fn using(claims: &[&str]) -> Shape {
        Shape { volume_claims: claims.iter().map(|name| (*name).into()).collect(), ..shape("") }
    }

    /// What a pod with these claims is told by a node with pods that have those.
    fn told(ours: &Shape, theirs: &[Shape], volumes: &Volumes) -> String {
        let there = theirs.iter().enumerate();
        let there: Vec<Pod> = there.map(|(at, shape)| pod(&format!("p{at}"), "a", shape.clone())).collect();
        let nodes = nodes([node("a", "")], there);
        let answer = Attachments::new(ours, volumes).check(state(&nodes, "a"), volumes);
        answer.map_or_else(|refusal| refusal.to_string(), |()| "fits".to_owned())
    }

    const TOO_MANY: &str = "node(s) exceed max volume count";

    #[test]
    fn a_node_takes_as_many_volumes_as_its_driver_attaches() {
        type Row<'r> = (&'r [&'r str], &'r [&'r [&'r str]], Option<i64>, &'r str);
        let table: [Row<'_>; 10] = [
            (&["c0"], &[&["c1"]], Some(1), TOO_MANY),
            (&["c0"], &[&["c1"]], Some(2), "fits"),
            (&["c0", "c1"], &[], Some(1), TOO_MANY),
            (&["c0"], &[&["c1"]], None, "fits"),
            // A volume is attached once.
            (&["c0"], &[&["c0"], &["c0", "c1"]], Some(2), "fits"),
            (&["c0", "c2"], &[&["c0"], &["c0", "c1"]], Some(2), TOO_MANY),
            // What is yet to be provisioned counts.
            (&["c0"], &[&["new"]], Some(1), TOO_MANY),
            (&["new"], &[&["new"]], Some(1), "fits"),
            (&["bare"], &[&["c0"]], Some(1), "fits"),
            // Another driver has room of its own.
            (&["old"], &[&["c0"]], Some(1), "fits"),
        ];
        for (ours, theirs, max, expected) in table {
            let theirs: Vec<Shape> = theirs.iter().map(|claims| using(claims)).collect();
            assert_eq!(told(&using(ours), &theirs, &volumes(max)), expected, "{ours:?} {theirs:?} {max:?}");
        }
    }

    #[test]
    fn disks_of_pods_and_of_former_plugins_count_where_drivers_say_something() {
        let disk = |id: &str| Shape { disks: vec![Disk::AwsEbs { volume: id.into() }], ..shape("") };
        let mut volumes = volumes(Some(1));
        assert_eq!(told(&disk("vol-1"), &[disk("aws://z/vol-1")], &volumes), "fits");
        assert_eq!(told(&disk("vol-1"), &[disk("vol-2")], &volumes), TOO_MANY);
        assert_eq!(told(&disk("vol-1"), &[using(&["old"])], &volumes), TOO_MANY);
        volumes.remove_node("a");
        assert_eq!(told(&disk("vol-1"), &[disk("vol-2")], &volumes), "fits");
    }

    #[test]
    fn what_is_attached_without_a_pod_takes_room() {
        let mut volumes = volumes(Some(2));
        let attachment = |name: &str, volume: &str| Attachment {
            name: name.into(),
            node: "a".into(),
            driver: DRIVER.into(),
            volume: Some(volume.into()),
        };
        volumes.apply_attachment(attachment("one", "v1"));
        assert_eq!(told(&using(&["c0"]), &[using(&["c1"])], &volumes), "fits");
        assert_eq!(told(&using(&["c0"]), &[using(&["c2"])], &volumes), TOO_MANY);
        volumes.apply_attachment(Attachment { volume: None, ..attachment("one", "") });
        assert_eq!(told(&using(&["c0"]), &[using(&["c2"])], &volumes), "fits");
    }

    #[test]
    fn a_claim_made_for_another_pod_does_not_count() {
        let with_owner = |uid: &str| {
            let own = OwnVolumeClaim { claim: "c0".into(), pod: "p".into(), pod_uid: uid.into() };
            Shape { own_volume_claims: vec![own], ..using(&["c0"]) }
        };
        assert_eq!(told(&using(&["c1"]), &[with_owner("u")], &volumes(Some(1))), TOO_MANY);
        assert_eq!(told(&using(&["c1"]), &[with_owner("other")], &volumes(Some(1))), "fits");
    }

    #[test]
    fn a_driver_may_have_to_be_there() {
        let mut volumes = volumes(None);
        let driver = |must_be_there: bool| StorageDriver {
            name: DRIVER.into(),
            must_be_there,
            ..StorageDriver::default()
        };
        volumes.apply_driver(driver(true));
        assert_eq!(told(&using(&["c0"]), &[], &volumes), "fits");
        volumes.apply_node(StorageNode { name: "a".into(), ..StorageNode::default() });
        let missing = "disks.example.com CSI driver is not installed on the node";
        assert_eq!(told(&using(&["c0"]), &[], &volumes), missing);
        volumes.remove_node("a");
        assert_eq!(told(&using(&["new"]), &[], &volumes), missing);
        volumes.apply_driver(driver(false));
        assert_eq!(told(&using(&["c0"]), &[], &volumes), "fits");
    }
}
