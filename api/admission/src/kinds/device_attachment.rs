//! What is attached where.

use objects::supercargo::device_attachment::{AttachmentClaim, DeviceAttachment};
use schema::Path;

use crate::cause::Causes;
use crate::kind::{Admit, Context};
use crate::names;

/// The longest name that a fabric may have for something of its own.
const NAME_BYTES_MAX: usize = 253;
const UID_BYTES_MAX: usize = 128;
const DRIVER_BYTES_MAX: usize = 63;
const MESSAGE_BYTES_MAX: usize = 1024;

const ORIGINS: &[&str] = &["Attached", "Found"];
const PHASES: &[&str] = &["Attached", "Attaching", "Detaching", "Resting"];

impl Admit for DeviceAttachment {
    const COUNTS_GENERATIONS: bool = true;

    fn validate(&self, _context: &Context<'_>, causes: &mut Causes) {
        let (spec, path) = (&self.spec, Path::ROOT.field("spec"));
        causes.malformed(&path.field("driver"), &spec.driver, names::dns_subdomain(&spec.driver));
        short(&spec.driver, DRIVER_BYTES_MAX, &path.field("driver"), causes);
        causes.malformed(&path.field("node"), &spec.node, names::dns_subdomain(&spec.node));
        short(&spec.port, NAME_BYTES_MAX, &path.field("port"), causes);
        for (name, value) in [("host", &spec.host), ("model", &spec.model), ("unit", &spec.unit)] {
            said(value, NAME_BYTES_MAX, &path.field(name), causes);
        }
        if !spec.origin.is_empty() && !ORIGINS.contains(&spec.origin.as_str()) {
            causes.not_supported(&path.field("origin"), &spec.origin, ORIGINS);
        }
        if let Some(claim) = &spec.claim {
            claimed(claim, &path.field("claim"), causes);
        }
        let (status, path) = (&self.status, Path::ROOT.field("status"));
        if !PHASES.contains(&status.phase.as_str()) {
            causes.not_supported(&path.field("phase"), &status.phase, PHASES);
        }
        short(&status.message, MESSAGE_BYTES_MAX, &path.field("message"), causes);
    }

    fn validate_update(&self, old: &Self, context: &Context<'_>, causes: &mut Causes) {
        self.validate(context, causes);
        causes.immutable(&Path::ROOT.field("spec").field("unit"), &self.spec.unit, &old.spec.unit);
    }

    fn same_spec(&self, old: &Self) -> bool {
        self.spec == old.spec
    }
}

fn claimed(claim: &AttachmentClaim, path: &Path<'_>, causes: &mut Causes) {
    causes.malformed(&path.field("device"), &claim.device, names::dns_label(&claim.device));
    causes.malformed(&path.field("name"), &claim.name, names::dns_subdomain(&claim.name));
    causes.malformed(&path.field("namespace"), &claim.namespace, names::dns_label(&claim.namespace));
    causes.malformed(&path.field("pool"), &claim.pool, names::dns_subdomain(&claim.pool));
    said(&claim.uid, UID_BYTES_MAX, &path.field("uid"), causes);
}

fn said(value: &str, bytes_max: usize, path: &Path<'_>, causes: &mut Causes) {
    if value.is_empty() {
        causes.required(path, "must be said");
    }
    short(value, bytes_max, path, causes);
}

fn short(value: &str, bytes_max: usize, path: &Path<'_>, causes: &mut Causes) {
    if value.len() > bytes_max {
        causes.too_long(path, bytes_max);
    }
}
