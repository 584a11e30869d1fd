//! Namespaces.

use objects::core::kinds::Namespace;
use schema::Path;

use crate::cause::Causes;
use crate::kind::{Admit, Context};
use crate::names;

/// Every namespace has its name as a label, so that selectors can pick it.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";
/// The one who empties a namespace before it goes.
const FINALIZER: &str = "kubernetes";

impl Admit for Namespace {
    const NAME_FORM: fn(&str) -> names::Faults = names::dns_label;
    const STATUS_KEEPS_METADATA: bool = false;

    fn set_defaults(&mut self, _context: &Context<'_>) {
        if !self.metadata.name.is_empty() {
            self.metadata.labels.insert(NAME_LABEL.to_owned(), self.metadata.name.clone());
        }
    }

    fn prepare_create(&mut self, context: &Context<'_>) {
        // A name that was generated is known only now.
        self.set_defaults(context);
        "Active".clone_into(&mut self.status.phase);
        if !self.spec.finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
            self.spec.finalizers.push(FINALIZER.to_owned());
        }
    }

    fn prepare_update(&mut self, old: &Self, _context: &Context<'_>) {
        self.spec.clone_from(&old.spec);
        self.status.clone_from(&old.status);
    }

    fn prepare_status(&mut self, old: &Self, _context: &Context<'_>) {
        self.spec.clone_from(&old.spec);
    }

    fn validate(&self, _context: &Context<'_>, causes: &mut Causes) {
        let path = Path::ROOT.field("spec");
        for finalizer in &self.spec.finalizers {
            causes.malformed(&path.field("finalizers"), finalizer, names::label_key(finalizer));
            if !finalizer.contains('/')
                && !matches!(finalizer.as_str(), FINALIZER | "orphan" | "foregroundDeletion")
            {
                causes.invalid(&path.field("finalizers"), format!("{finalizer:?} needs a domain"));
            }
        }
    }

    fn validate_update(&self, _old: &Self, _context: &Context<'_>, _causes: &mut Causes) {}

    fn validate_status(&self, _old: &Self, _context: &Context<'_>, causes: &mut Causes) {
        let going = self.metadata.deletion_timestamp.is_some();
        let phase = if going { "Terminating" } else { "Active" };
        if self.status.phase != phase {
            // Quirk: the field's name begins with a capital here.
            let status = Path::ROOT.field("status");
            causes.invalid(&status.field("Phase"), format!("must be {phase}"));
        }
    }
}
