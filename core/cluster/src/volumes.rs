//! Volumes, claims for them, their classes, and what storage drivers say; and which claims are about to get a volume, for which pods.
//!
//! Invariant: a volume is planned for one claim at the most, and a claim for one volume or one node. A plan lasts as long as a pod has
//! it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::identity::{NodeName, PodUid};
use model::volume::{
    Attachment, StorageCapacity, StorageClass, StorageDriver, StorageNode, Volume, VolumeClaim, VolumeClaimId,
};

/// All that is known of volumes.
#[derive(Clone, Debug, Default)]
pub struct Volumes {
    /// By namespace and name.
    claims: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Arc<VolumeClaim>>>,
    volumes: BTreeMap<Arc<str>, Arc<Volume>>,
    /// Volumes that no claim has, by class.
    free: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
    /// Volumes that are for a claim.
    owned: BTreeMap<VolumeClaimId, BTreeSet<Arc<str>>>,
    classes: BTreeMap<Arc<str>, Arc<StorageClass>>,
    nodes: BTreeMap<NodeName, StorageNode>,
    drivers: BTreeMap<Arc<str>, StorageDriver>,
    /// By class, and then by namespace and name.
    capacities: BTreeMap<Arc<str>, BTreeMap<CapacityId, Arc<StorageCapacity>>>,
    attachments: BTreeMap<Arc<str>, Attachment>,
    /// The names of attachments by node.
    attached: BTreeMap<NodeName, BTreeSet<Arc<str>>>,
    plans: BTreeMap<VolumeClaimId, Planned>,
    /// The claims that volumes are planned for.
    taken: BTreeMap<Arc<str>, VolumeClaimId>,
}

/// The namespace and the name of a capacity.
type CapacityId = (Arc<str>, Arc<str>);

/// How a claim is to get a volume.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum VolumeChoice {
    /// It takes this one.
    Take(Arc<str>),
    /// One is provisioned for a node.
    Provision(NodeName),
}

/// A claim that is to get a volume for a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VolumePlan {
    /// The claim, as it was looked at.
    pub claim: Arc<VolumeClaim>,
    /// How.
    pub choice: VolumeChoice,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Planned {
    choice: VolumeChoice,
    /// The pods that it is for; at least one.
    pods: BTreeSet<PodUid>,
}

impl Volumes {
    /// Adds or replaces a claim, unless a later state of it is known.
    pub fn apply_claim(&mut self, claim: VolumeClaim) {
        let id = claim.id.clone();
        let known = self.claims.entry(id.namespace).or_default();
        let is_late = |known: &Arc<VolumeClaim>| known.uid == claim.uid && known.revision > claim.revision;
        if !known.get(&id.name).is_some_and(is_late) {
            known.insert(id.name, Arc::new(claim));
        }
    }

    /// Takes note of an answer about a claim. One that is not known is gone by now, or is told of by a watch.
    pub fn answer_claim(&mut self, claim: VolumeClaim) {
        let known = self.claim(&claim.id.namespace, &claim.id.name);
        if known.is_some_and(|known| known.uid == claim.uid) {
            self.apply_claim(claim);
        }
    }

    /// Takes a claim away.
    pub fn remove_claim(&mut self, id: &VolumeClaimId) {
        if let Some(claims) = self.claims.get_mut(&id.namespace) {
            claims.remove(&id.name);
            if claims.is_empty() {
                self.claims.remove(&id.namespace);
            }
        }
    }

    /// A claim by name.
    #[must_use]
    pub fn claim(&self, namespace: &str, name: &str) -> Option<&Arc<VolumeClaim>> {
        self.claims.get(namespace)?.get(name)
    }

    /// Adds or replaces a volume, unless a later state of it is known.
    pub fn apply_volume(&mut self, volume: Volume) {
        let known = self.volumes.get(&volume.name);
        if known.is_some_and(|known| known.uid == volume.uid && known.revision > volume.revision) {
            return;
        }
        self.remove_volume(&volume.name.clone());
        match &volume.claim {
            Some(owner) => {
                self.owned.entry(owner.id.clone()).or_default().insert(volume.name.clone());
            }
            None if volume.available => {
                self.free.entry(volume.class.clone()).or_default().insert(volume.name.clone());
            }
            None => {}
        }
        self.volumes.insert(volume.name.clone(), Arc::new(volume));
    }

    /// Takes note of an answer about a volume. One that is not known is gone by now, or is told of by a watch.
    pub fn answer_volume(&mut self, volume: Volume) {
        if self.volume(&volume.name).is_some_and(|known| known.uid == volume.uid) {
            self.apply_volume(volume);
        }
    }

    /// Takes a volume away.
    pub fn remove_volume(&mut self, name: &str) {
        let Some(known) = self.volumes.remove(name) else { return };
        if let Some(owner) = &known.claim {
            take_from(&mut self.owned, &owner.id, name);
        }
        take_from(&mut self.free, &known.class, name);
    }

    /// A volume by name.
    #[must_use]
    pub fn volume(&self, name: &str) -> Option<&Arc<Volume>> {
        self.volumes.get(name)
    }

    /// The volumes of a class that no claim has and none is about to get.
    pub fn free<'v>(&'v self, class: &str) -> impl Iterator<Item = &'v Arc<Volume>> {
        let names = self.free.get(class).into_iter().flatten();
        names.filter(|name| !self.taken.contains_key(*name)).filter_map(|name| self.volumes.get(name))
    }

    /// The volumes that are for a claim, or are about to be.
    pub fn owned_by<'v>(&'v self, claim: &VolumeClaim) -> impl Iterator<Item = &'v Arc<Volume>> {
        let planned = match self.planned(&claim.id) {
            Some(VolumeChoice::Take(volume)) => Some(volume),
            Some(VolumeChoice::Provision(_)) | None => None,
        };
        planned
            .into_iter()
            .chain(self.owned.get(&claim.id).into_iter().flatten())
            .filter_map(|name| self.volumes.get(name))
    }

    /// Adds or replaces a class.
    pub fn apply_class(&mut self, class: StorageClass) {
        self.classes.insert(class.name.clone(), Arc::new(class));
    }

    /// Takes a class away.
    pub fn remove_class(&mut self, name: &str) {
        self.classes.remove(name);
    }

    /// A class by name.
    #[must_use]
    pub fn class(&self, name: &str) -> Option<&Arc<StorageClass>> {
        self.classes.get(name)
    }

    /// Takes note of what drivers say about a node, and tells what they said before.
    pub fn apply_node(&mut self, node: StorageNode) -> Option<StorageNode> {
        self.nodes.insert(node.name.clone(), node)
    }

    /// Forgets what drivers say about a node.
    pub fn remove_node(&mut self, name: &str) {
        self.nodes.remove(name);
    }

    /// What drivers say about a node.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&StorageNode> {
        self.nodes.get(name)
    }

    /// Takes note of a driver.
    pub fn apply_driver(&mut self, driver: StorageDriver) {
        self.drivers.insert(driver.name.clone(), driver);
    }

    /// Forgets a driver.
    pub fn remove_driver(&mut self, name: &str) {
        self.drivers.remove(name);
    }

    /// A driver by name.
    #[must_use]
    pub fn driver(&self, name: &str) -> Option<&StorageDriver> {
        self.drivers.get(name)
    }

    /// Whether it matters for a driver's volumes which node they are attached to: a node limits them, or lacks the driver.
    #[must_use]
    pub fn is_choosy(&self, driver: &str) -> bool {
        let limits = |node: &StorageNode| node.drivers.get(driver).is_some_and(Option::is_some);
        self.drivers.get(driver).is_some_and(|driver| driver.must_be_there) || self.nodes.values().any(limits)
    }

    /// Takes note of how much storage there is somewhere.
    pub fn apply_capacity(&mut self, capacity: StorageCapacity) {
        self.remove_capacity(&capacity.namespace.clone(), &capacity.name.clone());
        let key = (capacity.namespace.clone(), capacity.name.clone());
        self.capacities.entry(capacity.class.clone()).or_default().insert(key, Arc::new(capacity));
    }

    /// Forgets how much storage there was somewhere.
    pub fn remove_capacity(&mut self, namespace: &str, name: &str) {
        let key = (namespace.into(), name.into());
        self.capacities.retain(|_, capacities| {
            capacities.remove(&key);
            !capacities.is_empty()
        });
    }

    /// How much storage of a class there is, wherever.
    pub fn capacities(&self, class: &str) -> impl Iterator<Item = &Arc<StorageCapacity>> {
        self.capacities.get(class).into_iter().flat_map(BTreeMap::values)
    }

    /// Takes note of an attachment.
    pub fn apply_attachment(&mut self, attachment: Attachment) {
        self.remove_attachment(&attachment.name.clone());
        self.attached.entry(attachment.node.clone()).or_default().insert(attachment.name.clone());
        self.attachments.insert(attachment.name.clone(), attachment);
    }

    /// Forgets an attachment.
    pub fn remove_attachment(&mut self, name: &str) {
        if let Some(known) = self.attachments.remove(name) {
            take_from(&mut self.attached, &known.node, name);
        }
    }

    /// What is attached to a node.
    pub fn attached(&self, node: &NodeName) -> impl Iterator<Item = &Attachment> {
        self.attached.get(node).into_iter().flatten().filter_map(|name| self.attachments.get(name))
    }

    /// How a claim is about to get a volume.
    #[must_use]
    pub fn planned(&self, claim: &VolumeClaimId) -> Option<&VolumeChoice> {
        self.plans.get(claim).map(|planned| &planned.choice)
    }

    /// The same with the pods that it is for.
    #[cfg(debug_assertions)]
    pub(crate) fn plan_of(&self, claim: &VolumeClaimId) -> Option<(VolumeChoice, BTreeSet<PodUid>)> {
        self.plans.get(claim).map(|planned| (planned.choice.clone(), planned.pods.clone()))
    }

    /// The claim that is about to get a volume.
    #[must_use]
    pub fn planned_for(&self, volume: &str) -> Option<&VolumeClaimId> {
        self.taken.get(volume)
    }

    /// The node for which a claim gets its volume, or is about to.
    #[must_use]
    pub fn selected_node<'v>(&'v self, claim: &'v VolumeClaim) -> Option<&'v NodeName> {
        match self.planned(&claim.id) {
            Some(VolumeChoice::Provision(node)) => Some(node),
            Some(VolumeChoice::Take(_)) | None => claim.selected_node.as_ref(),
        }
    }

    /// A claim is to get a volume for a pod.
    pub fn plan(&mut self, pod: &PodUid, plan: &VolumePlan) {
        let VolumePlan { claim, choice } = plan;
        let fresh = || Planned { choice: choice.clone(), pods: BTreeSet::new() };
        let planned = self.plans.entry(claim.id.clone()).or_insert_with(fresh);
        assert!(planned.choice == *choice, "claim {} is to get a volume in one way only", claim.id);
        planned.pods.insert(pod.clone());
        if let VolumeChoice::Take(volume) = choice {
            let other = self.taken.insert(volume.clone(), claim.id.clone());
            assert!(other.is_none_or(|other| other == claim.id), "volume {volume} is planned for two claims");
        }
    }

    /// A pod needs a plan no more.
    pub fn unplan(&mut self, pod: &str, claim: &VolumeClaimId) {
        let Some(planned) = self.plans.get_mut(claim) else { return };
        planned.pods.remove(pod);
        if !planned.pods.is_empty() {
            return;
        }
        if let Some(Planned { choice: VolumeChoice::Take(volume), .. }) = self.plans.remove(claim) {
            self.taken.remove(&volume);
        }
    }

    /// Whether nothing is planned.
    #[must_use]
    pub fn has_plans(&self) -> bool {
        !self.plans.is_empty()
    }
}

fn take_from<K: Ord>(sets: &mut BTreeMap<K, BTreeSet<Arc<str>>>, key: &K, name: &str) {
    if let Some(set) = sets.get_mut(key) {
        set.remove(name);
        if set.is_empty() {
            sets.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use model::volume::VolumeOwner;

    use super::*;

    fn claim(name: &str) -> VolumeClaim {
        let id = VolumeClaimId { namespace: "ns".into(), name: name.into() };
        VolumeClaim { id, uid: name.into(), ..VolumeClaim::default() }
    }

    fn volume(name: &str, revision: u64) -> Volume {
        Volume { name: name.into(), class: "c".into(), available: true, revision, ..Volume::default() }
    }

    fn names<'v>(volumes: impl Iterator<Item = &'v Arc<Volume>>) -> String {
        volumes.map(|volume| &*volume.name).collect::<Vec<_>>().join(" ")
    }

    fn plan(claim: &VolumeClaim, volume: &str) -> VolumePlan {
        VolumePlan { claim: Arc::new(claim.clone()), choice: VolumeChoice::Take(volume.into()) }
    }

    #[test]
    fn a_volume_is_free_until_a_claim_has_it_or_is_about_to() {
        let mut volumes = Volumes::default();
        let (one, other) = (claim("one"), claim("other"));
        ["a", "b", "x"].into_iter().for_each(|name| volumes.apply_volume(volume(name, 1)));
        volumes.apply_volume(Volume { available: false, ..volume("x", 2) });
        assert_eq!(names(volumes.free("c")), "a b");
        volumes.plan(&"p".into(), &plan(&one, "a"));
        volumes.plan(&"q".into(), &plan(&one, "a"));
        assert_eq!((names(volumes.free("c")), names(volumes.owned_by(&one))), ("b".into(), "a".into()));
        volumes.unplan("p", &one.id);
        assert_eq!(names(volumes.free("c")), "b");
        volumes.unplan("q", &one.id);
        assert_eq!((names(volumes.free("c")), volumes.has_plans()), ("a b".into(), false));
        let owner = Some(VolumeOwner { id: other.id.clone(), uid: None });
        volumes.apply_volume(Volume { claim: owner, ..volume("a", 2) });
        assert_eq!((names(volumes.free("c")), names(volumes.owned_by(&other))), ("b".into(), "a".into()));
        volumes.apply_volume(volume("a", 1));
        assert_eq!(names(volumes.free("c")), "b", "what was before does not come back");
        volumes.remove_volume("a");
        assert_eq!(names(volumes.owned_by(&other)), "");
    }

    #[test]
    #[should_panic(expected = "planned for two claims")]
    fn no_volume_is_planned_for_two_claims() {
        let mut volumes = Volumes::default();
        volumes.apply_volume(volume("a", 1));
        volumes.plan(&"p".into(), &plan(&claim("one"), "a"));
        volumes.plan(&"q".into(), &plan(&claim("other"), "a"));
    }

    #[test]
    fn a_claim_is_as_it_was_written_last() {
        let mut volumes = Volumes::default();
        let node = |volumes: &Volumes| {
            let claim = volumes.claim("ns", "one").expect("it is there");
            volumes.selected_node(claim).map(ToString::to_string)
        };
        let written = |revision: u64, node: &str| VolumeClaim {
            revision,
            selected_node: Some(node.into()),
            ..claim("one")
        };
        volumes.apply_claim(written(2, "n2"));
        volumes.apply_claim(written(1, "n1"));
        assert_eq!(node(&volumes).as_deref(), Some("n2"));
        let planned =
            VolumePlan { claim: Arc::new(claim("one")), choice: VolumeChoice::Provision("n3".into()) };
        volumes.plan(&"p".into(), &planned);
        assert_eq!(node(&volumes).as_deref(), Some("n3"));
        volumes.unplan("p", &planned.claim.id);
        volumes.apply_claim(VolumeClaim { uid: "another".into(), ..claim("one") });
        assert_eq!(node(&volumes), None);
    }

    #[test]
    fn what_is_attached_to_a_node_is_known_until_it_is_gone() {
        let mut volumes = Volumes::default();
        let attachment = |name: &str, node: &str| Attachment {
            name: name.into(),
            node: node.into(),
            ..Attachment::default()
        };
        let on = |volumes: &Volumes, node: &str| volumes.attached(&node.into()).count();
        volumes.apply_attachment(attachment("one", "a"));
        volumes.apply_attachment(attachment("other", "a"));
        volumes.apply_attachment(attachment("one", "b"));
        assert_eq!((on(&volumes, "a"), on(&volumes, "b")), (1, 1));
        volumes.remove_attachment("other");
        assert_eq!((on(&volumes, "a"), on(&volumes, "b")), (0, 1));
    }
}
