//! Controllers that keep a number of pods: replica sets, replication controllers and stateful sets.

use objects::IntOrString;
use objects::apps::{ReplicaSet, StatefulSet};
use objects::core::container::Volume;
use objects::core::kinds::ReplicationController;
use objects::core::pod::PodTemplateSpec;
use objects::meta::LabelSelector;
use schema::Path;

use crate::cause::Causes;
use crate::kind::{Admit, Context};
use crate::kinds::pod_template;
use crate::names;
use crate::same::same;
use crate::selectors::label_selector;

/// What is the same for all of them: a status of its own, and a generation.
macro_rules! keeps_status {
    ($structure:literal) => {
        const COUNTS_GENERATIONS: bool = true;
        const STATUS_KEEPS_METADATA: bool = false;

        fn prepare_create(&mut self, _context: &Context<'_>) {
            self.status = Default::default();
        }

        fn prepare_update(&mut self, old: &Self, _context: &Context<'_>) {
            self.status.clone_from(&old.status);
        }

        fn prepare_status(&mut self, old: &Self, _context: &Context<'_>) {
            self.spec.clone_from(&old.spec);
        }

        fn same_spec(&self, old: &Self) -> bool {
            same($structure, &self.spec, &old.spec)
        }
    };
}

impl Admit for ReplicaSet {
    keeps_status!("apps.v1.ReplicaSetSpec");

    fn set_defaults(&mut self, _context: &Context<'_>) {
        pod_template::set_defaults(&mut self.spec.template);
    }

    fn validate(&self, context: &Context<'_>, causes: &mut Causes) {
        validate_replica_set(self, None, context, causes);
    }

    fn validate_update(&self, old: &Self, context: &Context<'_>, causes: &mut Causes) {
        validate_replica_set(self, Some(old), context, causes);
        let path = Path::ROOT.field("spec");
        causes.immutable(&path.field("selector"), &self.spec.selector, &old.spec.selector);
    }

    fn validate_status(&self, _old: &Self, _context: &Context<'_>, causes: &mut Causes) {
        let path = Path::ROOT.field("status");
        not_negative("replicas", Some(self.status.replicas), &path, causes);
    }
}

impl Admit for ReplicationController {
    keeps_status!("core.v1.ReplicationControllerSpec");

    fn set_defaults(&mut self, _context: &Context<'_>) {
        let Some(template) = &mut self.spec.template else { return };
        pod_template::set_defaults(template);
        let labels = &template.metadata.labels;
        for own in [&mut self.spec.selector, &mut self.metadata.labels] {
            if own.is_empty() {
                own.clone_from(labels);
            }
        }
    }

    fn validate(&self, context: &Context<'_>, causes: &mut Causes) {
        validate_replication_controller(self, None, context, causes);
    }

    fn validate_update(&self, old: &Self, context: &Context<'_>, causes: &mut Causes) {
        validate_replication_controller(self, Some(old), context, causes);
    }

    fn validate_status(&self, _old: &Self, _context: &Context<'_>, causes: &mut Causes) {
        let path = Path::ROOT.field("status");
        not_negative("replicas", Some(self.status.replicas), &path, causes);
    }
}

impl Admit for StatefulSet {
    const NAME_FORM: fn(&str) -> names::Faults = names::dns_label;
    keeps_status!("apps.v1.StatefulSetSpec");

    fn set_defaults(&mut self, _context: &Context<'_>) {
        pod_template::set_defaults(&mut self.spec.template);
        let strategy = &mut self.spec.update_strategy;
        if strategy.type_.is_empty() {
            "RollingUpdate".clone_into(&mut strategy.type_);
            strategy.rolling_update.get_or_insert_default();
        }
        if strategy.type_ == "RollingUpdate"
            && let Some(rolling) = &mut strategy.rolling_update
        {
            rolling.partition.get_or_insert(0);
            rolling.max_unavailable.get_or_insert(IntOrString::Int(1));
        }
    }

    fn validate(&self, context: &Context<'_>, causes: &mut Causes) {
        validate_stateful_set(self, None, context, causes);
    }

    fn validate_update(&self, old: &Self, context: &Context<'_>, causes: &mut Causes) {
        validate_stateful_set(self, Some(old), context, causes);
        let path = Path::ROOT.field("spec");
        causes.immutable(&path.field("selector"), &self.spec.selector, &old.spec.selector);
        causes.immutable(&path.field("serviceName"), &self.spec.service_name, &old.spec.service_name);
        let (new, old) = (&self.spec, &old.spec);
        causes.immutable(
            &path.field("podManagementPolicy"),
            &new.pod_management_policy,
            &old.pod_management_policy,
        );
        let claims = |spec: &objects::apps::StatefulSetSpec| objects::apps::StatefulSetSpec {
            volume_claim_templates: spec.volume_claim_templates.clone(),
            ..Default::default()
        };
        if !same("apps.v1.StatefulSetSpec", &claims(new), &claims(old)) {
            causes.invalid(&path.field("volumeClaimTemplates"), "cannot be changed once it is set");
        }
    }

    fn validate_status(&self, _old: &Self, _context: &Context<'_>, causes: &mut Causes) {
        let path = Path::ROOT.field("status");
        not_negative("replicas", Some(self.status.replicas), &path, causes);
    }
}

fn validate_replica_set(
    set: &ReplicaSet,
    old: Option<&ReplicaSet>,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    let old = old.map(|old| &old.spec.template);
    let (spec, path) = (&set.spec, Path::ROOT.field("spec"));
    not_negative("replicas", spec.replicas, &path, causes);
    not_negative("minReadySeconds", Some(spec.min_ready_seconds), &path, causes);
    let template = path.field("template");
    validate_selector(spec.selector.as_ref(), &spec.template, &path, causes);
    pod_template::validate_lasting(&spec.template, old, &template, context, causes);
}

fn validate_replication_controller(
    controller: &ReplicationController,
    old: Option<&ReplicationController>,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    let old = old.and_then(|old| old.spec.template.as_ref());
    let (spec, path) = (&controller.spec, Path::ROOT.field("spec"));
    not_negative("minReadySeconds", Some(spec.min_ready_seconds), &path, causes);
    not_negative("replicas", spec.replicas, &path, causes);
    if spec.selector.is_empty() {
        causes.required(&path.field("selector"), "must be set");
    }
    let place = path.field("template");
    match &spec.template {
        None => causes.required(&place, "must be set"),
        Some(template) => {
            pod_template::validate_labelled(&spec.selector, template, &place, causes);
            pod_template::validate_lasting(template, old, &place, context, causes);
        }
    }
}

fn validate_stateful_set(
    set: &StatefulSet,
    old: Option<&StatefulSet>,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    let old = old.map(|old| &old.spec.template);
    let (spec, path) = (&set.spec, Path::ROOT.field("spec"));
    not_negative("replicas", spec.replicas, &path, causes);
    not_negative("minReadySeconds", Some(spec.min_ready_seconds), &path, causes);
    if !matches!(spec.pod_management_policy.as_str(), "OrderedReady" | "Parallel") {
        causes.invalid(&path.field("podManagementPolicy"), "must be OrderedReady or Parallel");
    }
    let strategy = path.field("updateStrategy");
    match spec.update_strategy.type_.as_str() {
        "RollingUpdate" => {
            let partition = spec.update_strategy.rolling_update.as_ref().and_then(|each| each.partition);
            not_negative("partition", partition, &strategy.field("rollingUpdate"), causes);
        }
        "OnDelete" | "Recreate" => {
            if spec.update_strategy.rolling_update.is_some() {
                causes.invalid(&strategy.field("rollingUpdate"), "needs the type RollingUpdate");
            }
        }
        _ => causes.invalid(&strategy, "must be RollingUpdate, OnDelete or Recreate"),
    }
    if !spec.service_name.is_empty() {
        let faults = names::dns_label(&spec.service_name);
        causes.malformed(&path.field("serviceName"), &spec.service_name, faults);
    }
    validate_selector(spec.selector.as_ref(), &spec.template, &path, causes);
    let template = as_made(set);
    pod_template::validate_lasting(&template, old, &path.field("template"), context, causes);
}

/// The template with what the controller adds to each pod: volumes for its claims, and names in place of those given.
fn as_made(set: &StatefulSet) -> PodTemplateSpec {
    let mut template = set.spec.template.clone();
    template.spec.hostname.clear();
    template.spec.subdomain.clear();
    for claim in &set.spec.volume_claim_templates {
        let name = &claim.metadata.name;
        template.spec.volumes.retain(|volume| volume.name != *name);
        template.spec.volumes.push(Volume {
            name: name.clone(),
            persistent_volume_claim: Some(objects::core::container::PersistentVolumeClaimVolumeSource {
                claim_name: name.clone(),
                ..Default::default()
            }),
            ..Default::default()
        });
    }
    template
}

/// A count that may be zero.
pub(crate) fn not_negative(name: &str, count: Option<i32>, path: &Path<'_>, causes: &mut Causes) {
    if count.is_some_and(|count| count < 0) {
        causes.invalid(&path.field(name), "must not be negative");
    }
}

fn validate_selector(
    selector: Option<&LabelSelector>,
    template: &PodTemplateSpec,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    let place = path.field("selector");
    match selector {
        None => causes.required(&place, "must be set"),
        Some(selector) => {
            label_selector(selector, &place, causes);
            if selector.match_labels.is_empty() && selector.match_expressions.is_empty() {
                causes.invalid(&place, "must not be empty, because it would pick every pod");
            }
        }
    }
    pod_template::validate_selected(selector, template, &path.field("template"), causes);
}
