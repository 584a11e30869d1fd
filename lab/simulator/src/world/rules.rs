//! What must hold of volumes, neighbours, tainted devices and evictions, in worlds that have them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use invariants::with_taint_rules;
use objects::Object;
use objects::core::kinds::PersistentVolumeClaim;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceTaintRule;
use objects::resource::slice::ResourceSlice;
use scheduler::write::Write;
use store::{Change, Key};

use super::World;
use super::api::{Made, text};
use super::extras::{ANNEX, APP, TEAM, TEAMS, VOLUMES};
use super::judge::is_over;
use super::provisioner::VolumeRecord;
use super::replica::{Replica, Stream};
use super::shown::Shown;

/// What volume claims and namespaces were like, at any time: whoever places pods may know any of it.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// Every volume that a claim ever named.
    volumes: BTreeMap<String, BTreeSet<String>>,
    /// Claims for one pod at a time.
    single: BTreeSet<String>,
    /// Volumes that are found or made late.
    late: VolumeRecord,
    /// Every team that the other namespace ever had.
    teams: BTreeSet<String>,
}

impl Rules {
    /// Takes in what became of a volume, a volume claim or a namespace, and says what is wrong since.
    pub fn see(&mut self, made: &Made, object: &Shown) -> Vec<String> {
        let wrong = self.late.see(made, object).into_iter().collect();
        let name = &*made.event.key.name;
        match made.site.kind.kind.as_str() {
            "PersistentVolumeClaim" if made.event.change != Change::Deleted => {
                let spec = &object.read::<PersistentVolumeClaim>().spec;
                self.volumes.entry(name.to_owned()).or_default().insert(spec.volume_name.clone());
                if spec.access_modes.iter().any(|mode| mode == "ReadWriteOncePod") {
                    self.single.insert(name.to_owned());
                }
            }
            "Namespace" if name == ANNEX => {
                self.teams.insert(text(&object["metadata"]["labels"][TEAM]).to_owned());
            }
            _ => {}
        }
        wrong
    }

    /// A pod was put on a node by a scheduler: the node reaches its volumes.
    pub fn check_reach(&self, pod: &Pod) -> Vec<String> {
        let node = pod.spec.node_name.as_str();
        let reaches = |volume: &String| {
            let known = VOLUMES.iter().any(|(name, nodes)| name == volume && nodes.contains(&node));
            known || self.late.reaches(volume, node)
        };
        let is_far = |claim: &&str| !self.volumes.get(*claim).is_some_and(|named| named.iter().any(reaches));
        let told =
            |claim: &str| format!("pod {} is on {node}, which does not reach {claim}", pod.metadata.name);
        disks(pod).filter(is_far).map(told).collect()
    }

    /// A pod was put on a node by the one scheduler that there is: it shares no volume that it may not share, and no node with
    /// pods that it or they want to be apart from.
    pub fn check_company<'p>(&self, pod: &Pod, pods: impl Iterator<Item = &'p Arc<Pod>>) -> Vec<String> {
        let mut wrong = Vec::new();
        let is_other = |other: &&Arc<Pod>| {
            other.metadata.uid != pod.metadata.uid && !other.spec.node_name.is_empty() && !is_over(other)
        };
        for other in pods.filter(is_other) {
            let (name, other_name) = (&pod.metadata.name, &other.metadata.name);
            for disk in disks(pod).filter(|disk| self.single.contains(*disk)) {
                if disks(other).any(|one| one == disk) {
                    wrong.push(format!("pods {name} and {other_name} both use {disk}, which is for one pod"));
                }
            }
            let is_near = other.spec.node_name == pod.spec.node_name;
            if is_near && (self.is_kept_away(pod, other) || self.is_kept_away(other, pod)) {
                let node = &pod.spec.node_name;
                wrong.push(format!("pods {name} and {other_name} are on {node}, and have to be apart"));
            }
        }
        wrong
    }

    /// Whether a pod has to be apart from another by a rule about namespaces, whatever is known of these.
    fn is_kept_away(&self, pod: &Pod, from: &Pod) -> bool {
        let affinity = pod.spec.affinity.as_ref().and_then(|one| one.pod_anti_affinity.as_ref());
        let terms = affinity.map_or(&[][..], |one| &one.required_during_scheduling_ignored_during_execution);
        let is_always_red = self.teams.len() == 1 && self.teams.contains(TEAMS[0]);
        is_always_red
            && from.metadata.namespace == ANNEX
            && terms.iter().any(|term| {
                let labels = term.label_selector.as_ref().map(|selector| &selector.match_labels);
                labels.is_some_and(|labels| labels.get(APP) == from.metadata.labels.get(APP))
            })
    }
}

/// The volume claims of a pod by name.
pub(super) fn disks(pod: &Pod) -> impl Iterator<Item = &str> {
    let claims = pod.spec.volumes.iter().filter_map(|volume| volume.persistent_volume_claim.as_ref());
    claims.map(|claim| claim.claim_name.as_str())
}

impl World {
    /// A scheduler wants something written, as it has decided by all that it was told until now: it gives no device away that
    /// rules which it was told of keep the claim off.
    pub(super) fn check_submission(&mut self, replica: usize, write: &Write) {
        if let Write::Nominate { uid, node: Some(node), .. } = write {
            self.check_asked(replica, uid, node, "room is kept");
        }
        let grants = match write {
            Write::Allocate { allocation, .. } | Write::MakeClaim { allocation, .. } => &allocation.grants,
            _ => return,
        };
        let told = &self.replicas[replica];
        let rules: Vec<DeviceTaintRule> = known(told);
        if rules.is_empty() {
            return;
        }
        let slices = with_taint_rules(&known::<ResourceSlice>(told), &rules);
        let tolerated: Vec<String> = match write {
            Write::Allocate { claim, .. } => tolerated(told, &Key::new(&claim.namespace, &claim.name)),
            _ => Vec::new(),
        };
        let mut wrong = Vec::new();
        for grant in grants {
            let (pool, device) = (&*grant.device.pool, &*grant.device.device);
            let slices = slices.iter().filter(|slice| slice.spec.pool.name == pool);
            let mut devices = slices.flat_map(|slice| slice.spec.devices.iter().flatten());
            let taints = devices.find(|one| one.name == device).map_or(&[][..], |one| &one.taints);
            let bad = taints.iter().find(|taint| !tolerated.contains(&taint.key));
            wrong.extend(bad.map(|taint| {
                let (key, device) = (&taint.key, &grant.device);
                format!("scheduler {replica} gives {device} away, and was told that it is tainted with {key}")
            }));
        }
        self.note_violations(wrong);
    }

    /// A scheduler lets a pod go for another, which is more important.
    pub(super) fn check_eviction(&mut self, victim: &str, by: &str) {
        let priority = |uid: &str| {
            let pod = self.judge.pods.values().find(|pod| pod.metadata.uid == uid)?;
            Some((pod.spec.priority.unwrap_or(0), pod.metadata.name.clone()))
        };
        let (Some((lower, victim)), Some((higher, by))) = (priority(victim), priority(by)) else { return };
        if lower >= higher {
            let wrong = format!("pod {victim} of priority {lower} goes for pod {by} of priority {higher}");
            self.note_violations(vec![wrong]);
        }
    }

    pub(super) fn note_violations(&mut self, wrong: Vec<String>) {
        let now = self.agenda.now();
        for what in wrong {
            self.trace.note(now, format_args!("WRONG: {what}"));
            self.violations.push(what);
        }
    }
}

fn stream<'r>(replica: &'r Replica, kind: &str) -> Option<&'r Stream> {
    replica.streams.iter().find(|stream| stream.site.kind.kind == kind)
}

/// Objects of a kind as a scheduler was told of them.
pub(super) fn known<T: Object + Send + Sync + 'static>(replica: &Replica) -> Vec<T> {
    let objects = stream(replica, T::KIND).into_iter().flat_map(|stream| stream.known.values());
    objects.map(|object| T::clone(object.read())).collect()
}

/// An object as a scheduler was told of it.
pub(super) fn told_of<'r, T>(replica: &'r Replica, key: &Key) -> Option<&'r Arc<T>>
where
    T: Object + Send + Sync + 'static,
{
    stream(replica, T::KIND)?.known.get(key).map(|object| object.read())
}

/// The keys of taints that a claim bears, as far as worlds have such claims: whatever their values and effects.
fn tolerated(replica: &Replica, key: &Key) -> Vec<String> {
    let claim = stream(replica, ResourceClaim::KIND).and_then(|stream| stream.known.get(key));
    let requests = claim.into_iter().flat_map(|claim| &claim.read::<ResourceClaim>().spec.devices.requests);
    let exactly = requests.filter_map(|request| request.exactly.as_ref());
    exactly.flat_map(|exactly| &exactly.tolerations).map(|toleration| toleration.key.clone()).collect()
}
