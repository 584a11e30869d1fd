//! Claims for storage, and the storage.

use objects::core::kinds::{
    PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimSpec, PersistentVolumeSpec,
};
use objects::meta::ObjectMeta;
use schema::Path;

use crate::cause::Causes;
use crate::kind::{Admit, Context};
use crate::kinds::resource_names::{round_up, validate_amount};
use crate::names;
use crate::rejection::Rejection;
use crate::same::same;
use crate::selectors::{label_selector, node_selector};

const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];
const STORAGE: &str = "storage";
/// Fields of a volume's spec that say nothing of where the storage is.
const NO_SOURCES: [&str; 1] = ["mountOptions"];

impl Admit for PersistentVolumeClaim {
    const STATUS_KEEPS_METADATA: bool = false;

    fn set_defaults(&mut self, _context: &Context<'_>) {
        round_up(&mut self.spec.resources.requests);
        round_up(&mut self.spec.resources.limits);
    }

    fn mutate(&mut self, old: Option<&Self>, _context: &Context<'_>) -> Result<(), Rejection> {
        protect(&mut self.metadata, old.is_none(), "kubernetes.io/pvc-protection");
        Ok(())
    }

    fn prepare_create(&mut self, _context: &Context<'_>) {
        self.status = Default::default();
        "Pending".clone_into(&mut self.status.phase);
    }

    fn prepare_update(&mut self, old: &Self, _context: &Context<'_>) {
        self.status.clone_from(&old.status);
    }

    fn prepare_status(&mut self, old: &Self, _context: &Context<'_>) {
        self.spec.clone_from(&old.spec);
    }

    fn validate(&self, _context: &Context<'_>, causes: &mut Causes) {
        let (spec, path) = (&self.spec, Path::ROOT.field("spec"));
        validate_access(&spec.access_modes, &path.field("accessModes"), causes);
        if let Some(selector) = &spec.selector {
            label_selector(selector, &path.field("selector"), causes);
        }
        let resources = path.field("resources");
        let storage = resources.key(STORAGE);
        match spec.resources.requests.get(STORAGE) {
            None => causes.required(&storage, "must say how much"),
            Some(amount) if amount.0.signum() <= 0 => causes.invalid(&storage, "must be greater than zero"),
            Some(_) => {}
        }
        if let Some(class) = spec.storage_class_name.as_deref().filter(|class| !class.is_empty()) {
            causes.malformed(&path.field("storageClassName"), class, names::dns_subdomain(class));
        }
        validate_mode(spec.volume_mode.as_deref(), &path, causes);
    }

    fn validate_update(&self, old: &Self, context: &Context<'_>, causes: &mut Causes) {
        self.validate(context, causes);
        let path = Path::ROOT.field("spec");
        let bound = self.status.phase == "Bound";
        if !same(
            "core.v1.PersistentVolumeClaimSpec",
            &with_allowed_changes_undone(&self.spec, &old.spec, bound),
            &old.spec,
        ) {
            causes.forbidden(&path, "only the size of a claim that is bound can change");
        }
        let size = |spec: &PersistentVolumeClaimSpec| {
            spec.resources.requests.get(STORAGE).map(|each| each.0.clone())
        };
        if size(&self.spec) < size(&old.spec) {
            let resources = path.field("resources");
            let requests = resources.field("requests");
            causes.forbidden(&requests.field(STORAGE), "can only become larger");
        }
        causes.immutable(&Path::ROOT.field("volumeMode"), &self.spec.volume_mode, &old.spec.volume_mode);
    }
}

/// Storage that is in use goes only when its users are gone.
fn protect(meta: &mut ObjectMeta, new: bool, finalizer: &str) {
    if new && !meta.finalizers.iter().any(|each| each == finalizer) {
        meta.finalizers.push(finalizer.to_owned());
    }
}

fn with_allowed_changes_undone(
    spec: &PersistentVolumeClaimSpec,
    old: &PersistentVolumeClaimSpec,
    bound: bool,
) -> PersistentVolumeClaimSpec {
    let mut rest = spec.clone();
    if old.volume_name.is_empty() {
        rest.volume_name.clear();
    }
    if old.storage_class_name.is_none() {
        rest.storage_class_name = None;
    }
    if bound && let Some(size) = old.resources.requests.get(STORAGE) {
        rest.resources.requests.insert(STORAGE.to_owned(), size.clone());
    }
    rest
}

impl Admit for PersistentVolume {
    const STATUS_KEEPS_METADATA: bool = false;

    fn set_defaults(&mut self, _context: &Context<'_>) {
        round_up(&mut self.spec.capacity);
    }

    fn mutate(&mut self, old: Option<&Self>, _context: &Context<'_>) -> Result<(), Rejection> {
        protect(&mut self.metadata, old.is_none(), "kubernetes.io/pv-protection");
        Ok(())
    }

    fn prepare_create(&mut self, context: &Context<'_>) {
        self.status = Default::default();
        "Pending".clone_into(&mut self.status.phase);
        self.status.last_phase_transition_time = Some(context.time());
    }

    fn prepare_update(&mut self, old: &Self, _context: &Context<'_>) {
        self.status.clone_from(&old.status);
    }

    fn prepare_status(&mut self, old: &Self, context: &Context<'_>) {
        self.spec.clone_from(&old.spec);
        let (new, before) = (&mut self.status, &old.status);
        if new.phase != before.phase
            && (new.last_phase_transition_time.is_none()
                || new.last_phase_transition_time == before.last_phase_transition_time)
        {
            new.last_phase_transition_time = Some(context.time());
        }
    }

    fn validate(&self, _context: &Context<'_>, causes: &mut Causes) {
        let (spec, path) = (&self.spec, Path::ROOT.field("spec"));
        validate_access(&spec.access_modes, &path.field("accessModes"), causes);
        let capacity = path.field("capacity");
        if spec.capacity.is_empty() {
            causes.required(&capacity, "must say how much");
        }
        if !(spec.capacity.len() == 1 && spec.capacity.contains_key(STORAGE)) {
            causes.not_supported(&capacity, "other resources", &[STORAGE]);
        }
        for (name, amount) in &spec.capacity {
            if amount.0.signum() <= 0 {
                causes.invalid(&capacity.key(name), "must be greater than zero");
            } else {
                validate_amount(name, amount, &capacity.key(name), causes);
            }
        }
        let policies = ["Delete", "Recycle", "Retain"];
        let policy = spec.persistent_volume_reclaim_policy.as_str();
        if !policies.contains(&policy) {
            causes.not_supported(&path.field("persistentVolumeReclaimPolicy"), policy, &policies);
        }
        if let Some(affinity) = &spec.node_affinity {
            let path = path.field("nodeAffinity");
            match &affinity.required {
                None => causes.required(&path.field("required"), "must be set"),
                Some(selector) => node_selector(selector, &path.field("required"), causes),
            }
        }
        match sources(spec).as_slice() {
            [] => causes.required(&path, "must have a source"),
            [_, others @ ..] => {
                for other in others {
                    causes.forbidden(&path.field(other), "a volume has one source");
                }
            }
        }
        if !spec.storage_class_name.is_empty() {
            let class = &spec.storage_class_name;
            causes.malformed(&path.field("storageClassName"), class, names::dns_subdomain(class));
        }
        validate_mode(spec.volume_mode.as_deref(), &path, causes);
    }

    fn validate_update(&self, old: &Self, context: &Context<'_>, causes: &mut Causes) {
        self.validate(context, causes);
        let path = Path::ROOT.field("spec");
        causes.immutable(&path.field("volumeMode"), &self.spec.volume_mode, &old.spec.volume_mode);
        if old.spec.node_affinity.is_some() {
            causes.immutable(&path.field("nodeAffinity"), &self.spec.node_affinity, &old.spec.node_affinity);
        }
    }
}

fn validate_access(modes: &[String], path: &Path<'_>, causes: &mut Causes) {
    if modes.is_empty() {
        causes.required(path, "must have at least one mode");
    }
    for mode in modes.iter().filter(|mode| !ACCESS_MODES.contains(&mode.as_str())) {
        causes.not_supported(path, mode, &ACCESS_MODES);
    }
    let single = |mode: &String| mode == "ReadWriteOncePod";
    if modes.iter().any(single) && modes.iter().any(|mode| !single(mode)) {
        causes.forbidden(path, "ReadWriteOncePod excludes other modes");
    }
}

fn validate_mode(mode: Option<&str>, path: &Path<'_>, causes: &mut Causes) {
    if let Some(mode) = mode.filter(|mode| !VOLUME_MODES.contains(mode)) {
        causes.not_supported(&path.field("volumeMode"), mode, &VOLUME_MODES);
    }
}

/// The sources that a volume names.
fn sources(spec: &PersistentVolumeSpec) -> Vec<&str> {
    let named = [
        ("gcePersistentDisk", spec.gce_persistent_disk.is_some()),
        ("awsElasticBlockStore", spec.aws_elastic_block_store.is_some()),
        ("cinder", spec.cinder.is_some()),
        ("azureDisk", spec.azure_disk.is_some()),
        ("portworxVolume", spec.portworx_volume.is_some()),
        ("csi", spec.csi.is_some()),
    ];
    let named = named.into_iter().filter(|(_, set)| *set).map(|(name, _)| name);
    spec.rest.names().filter(|name| !NO_SOURCES.contains(name)).chain(named).collect()
}
