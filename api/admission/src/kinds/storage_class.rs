//! Storage classes, and what nodes and drivers say of volumes.

use std::collections::{BTreeMap, BTreeSet};

use objects::storage::{
    CSIDriver, CSINode, CSINodeDriver, CSIStorageCapacity, StorageClass, VolumeAttachment,
};
use schema::Path;

use crate::cause::Causes;
use crate::kind::{Admit, Context};
use crate::kinds::container::one_of;
use crate::names;
use crate::same::same;
use crate::selectors::label_selector;

const DRIVER_BYTES_MAX: usize = 63;
const NODE_ID_BYTES_MAX: usize = 192;

impl Admit for StorageClass {
    fn validate(&self, _context: &Context<'_>, causes: &mut Causes) {
        let root = Path::ROOT;
        if self.provisioner.is_empty() {
            causes.required(&root.field("provisioner"), "must be set");
        } else {
            let faults = names::label_key(&self.provisioner.to_lowercase());
            causes.malformed(&root.field("provisioner"), &self.provisioner, faults);
        }
        if self.parameters.contains_key("") {
            causes.invalid(&root.field("parameters"), "a parameter must have a name");
        }
        if let Some(policy) = self.reclaim_policy.as_deref().filter(|policy| !policy.is_empty()) {
            one_of(policy, &["Delete", "Retain"], &root.field("reclaimPolicy"), causes);
        }
        let modes = ["Immediate", "WaitForFirstConsumer"];
        match self.volume_binding_mode.as_deref() {
            None => causes.required(&root.field("volumeBindingMode"), "must be set"),
            Some(mode) if !modes.contains(&mode) => {
                causes.not_supported(&root.field("volumeBindingMode"), mode, &modes);
            }
            Some(_) => {}
        }
    }

    fn validate_update(&self, old: &Self, _context: &Context<'_>, causes: &mut Causes) {
        let root = Path::ROOT;
        causes.immutable(&root.field("parameters"), &self.parameters, &old.parameters);
        causes.immutable(&root.field("provisioner"), &self.provisioner, &old.provisioner);
        causes.immutable(&root.field("reclaimPolicy"), &self.reclaim_policy, &old.reclaim_policy);
        causes.immutable(
            &root.field("volumeBindingMode"),
            &self.volume_binding_mode,
            &old.volume_binding_mode,
        );
    }
}

impl Admit for CSINode {
    const UNCONDITIONAL_UPDATE: bool = false;

    fn prepare_create(&mut self, _context: &Context<'_>) {
        self.status = None;
    }

    fn prepare_update(&mut self, old: &Self, _context: &Context<'_>) {
        self.status.clone_from(&old.status);
    }

    fn prepare_status(&mut self, old: &Self, _context: &Context<'_>) {
        self.spec.clone_from(&old.spec);
    }

    fn validate(&self, _context: &Context<'_>, causes: &mut Causes) {
        let spec = Path::ROOT.field("spec");
        let list = spec.field("drivers");
        let mut seen = BTreeSet::new();
        for (index, driver) in self.spec.drivers.iter().enumerate() {
            let path = list.index(index);
            validate_driver(driver, &path, causes);
            if !seen.insert(driver.name.as_str()) {
                causes.duplicate(&path.field("name"), &driver.name);
            }
        }
    }

    fn validate_update(&self, old: &Self, context: &Context<'_>, causes: &mut Causes) {
        self.validate(context, causes);
        let mut drivers = BTreeMap::new();
        for driver in &self.spec.drivers {
            drivers.entry(driver.name.as_str()).or_insert(driver);
        }
        for before in &old.spec.drivers {
            let now = drivers.get(before.name.as_str());
            if now
                .is_some_and(|now| now.node_id != before.node_id || now.topology_keys != before.topology_keys)
            {
                let spec = Path::ROOT.field("spec");
                causes.invalid(&spec.field("drivers"), format!("driver {:?} cannot be changed", before.name));
            }
        }
    }
}

fn validate_driver(driver: &CSINodeDriver, path: &Path<'_>, causes: &mut Causes) {
    driver_name(&driver.name, &path.field("name"), causes);
    let id = path.field("nodeID");
    if driver.node_id.is_empty() {
        causes.required(&id, "must be set");
    } else if driver.node_id.len() > NODE_ID_BYTES_MAX {
        causes.invalid(&id, format!("may have at most {NODE_ID_BYTES_MAX} bytes"));
    }
    let count = driver.allocatable.as_ref().and_then(|allocatable| allocatable.count);
    if count.is_some_and(|count| count < 0) {
        causes.invalid(&path.field("allocatable").field("count"), "must not be negative");
    }
    let mut seen = BTreeSet::new();
    for key in &driver.topology_keys {
        if key.is_empty() {
            causes.required(path, "a topology key must not be empty");
        }
        if !seen.insert(key) {
            causes.duplicate(path, key);
        }
        causes.malformed(path, key, names::label_key(key));
    }
}

fn driver_name(name: &str, path: &Path<'_>, causes: &mut Causes) {
    if name.is_empty() {
        causes.required(path, "must be set");
        return;
    }
    if name.len() > DRIVER_BYTES_MAX {
        causes.too_long(path, DRIVER_BYTES_MAX);
    }
    causes.malformed(path, name, names::dns_subdomain(&name.to_lowercase()));
}

impl Admit for CSIDriver {
    const UNCONDITIONAL_UPDATE: bool = false;

    fn prepare_update(&mut self, old: &Self, _context: &Context<'_>) {
        // A new driver has no generation; the first change makes it 1.
        if !same("storage.v1.CSIDriverSpec", &self.spec, &old.spec) {
            self.metadata.generation = old.metadata.generation.saturating_add(1);
        }
    }

    fn validate(&self, _context: &Context<'_>, causes: &mut Causes) {
        let path = Path::ROOT.field("spec");
        if let Some(policy) = &self.spec.fs_group_policy {
            let known = ["ReadWriteOnceWithFSType", "File", "None"];
            one_of(policy, &known, &path.field("fsGroupPolicy"), causes);
        }
        for mode in &self.spec.volume_lifecycle_modes {
            let known = ["Persistent", "Ephemeral"];
            if !known.contains(&mode.as_str()) {
                causes.not_supported(&path.field("volumeLifecycleModes"), mode, &known);
            }
        }
    }

    fn validate_update(&self, old: &Self, context: &Context<'_>, causes: &mut Causes) {
        self.validate(context, causes);
        let (new, old, path) = (&self.spec, &old.spec, Path::ROOT.field("spec"));
        // Quirk: the field has another name here.
        causes.immutable(&path.field("attachedRequired"), &new.attach_required, &old.attach_required);
        causes.immutable(
            &path.field("volumeLifecycleModes"),
            &new.volume_lifecycle_modes,
            &old.volume_lifecycle_modes,
        );
    }
}

impl Admit for CSIStorageCapacity {
    const UNCONDITIONAL_UPDATE: bool = false;

    fn validate(&self, _context: &Context<'_>, causes: &mut Causes) {
        let root = Path::ROOT;
        if let Some(selector) = &self.node_topology {
            label_selector(selector, &root.field("nodeTopology"), causes);
        }
        let class = &self.storage_class_name;
        causes.malformed(&root.field("storageClassName"), class, names::dns_subdomain(class));
        if self.capacity.as_ref().is_some_and(|capacity| capacity.0.signum() < 0) {
            causes.invalid(&root.field("capacity"), "must not be negative");
        }
    }

    fn validate_update(&self, old: &Self, _context: &Context<'_>, causes: &mut Causes) {
        let root = Path::ROOT;
        causes.immutable(&root.field("nodeTopology"), &self.node_topology, &old.node_topology);
        causes.immutable(&root.field("storageClassName"), &self.storage_class_name, &old.storage_class_name);
    }
}

impl Admit for VolumeAttachment {
    const UNCONDITIONAL_UPDATE: bool = false;

    fn prepare_create(&mut self, _context: &Context<'_>) {
        self.status = None;
    }

    fn prepare_update(&mut self, old: &Self, _context: &Context<'_>) {
        self.status.clone_from(&old.status);
    }

    fn prepare_status(&mut self, old: &Self, _context: &Context<'_>) {
        self.spec.clone_from(&old.spec);
    }

    fn validate(&self, _context: &Context<'_>, causes: &mut Causes) {
        let path = Path::ROOT.field("spec");
        driver_name(&self.spec.attacher, &path.field("attacher"), causes);
        let source = &self.spec.source;
        let has_inline = source.rest.get("inlineVolumeSpec").is_some();
        match &source.persistent_volume_name {
            None if !has_inline => causes.required(
                &path.field("source"),
                "must specify exactly one of inlineVolumeSpec and persistentVolumeName",
            ),
            Some(_) if has_inline => causes.forbidden(
                &path.field("source"),
                "must specify exactly one of inlineVolumeSpec and persistentVolumeName",
            ),
            Some(name) if name.is_empty() => {
                causes.required(&path.field("source").field("persistentVolumeName"), "must not be empty");
            }
            Some(_) | None => {}
        }
        if self.spec.node_name.is_empty() {
            causes.required(&path.field("nodeName"), "must be set");
        } else {
            causes.malformed(
                &path.field("nodeName"),
                &self.spec.node_name,
                names::dns_subdomain(&self.spec.node_name),
            );
        }
    }

    fn validate_update(&self, old: &Self, _context: &Context<'_>, causes: &mut Causes) {
        causes.immutable(&Path::ROOT.field("spec"), &self.spec, &old.spec);
    }
}
