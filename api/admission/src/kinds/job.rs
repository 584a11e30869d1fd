//! Jobs: pods that run to completion.

use gates::Gate;
use objects::batch::Job;
use schema::Path;

use crate::cause::Causes;
use crate::kind::{Admit, Context, Gated, strip};
use crate::kinds::change::Change;
use crate::kinds::replicas::not_negative;
use crate::kinds::{job_scheduling, pod_template};
use crate::same::same;
use crate::selectors::label_selector;

const CONTROLLER_UID: &str = "batch.kubernetes.io/controller-uid";
const BACKOFF_LIMIT: i32 = 6;

impl Admit for Job {
    const COUNTS_GENERATIONS: bool = true;
    const STATUS_KEEPS_METADATA: bool = false;

    fn set_defaults(&mut self, _context: &Context<'_>) {
        let spec = &mut self.spec;
        pod_template::set_defaults(&mut spec.template);
        if spec.parallelism.is_none() {
            spec.parallelism = Some(1);
            spec.completions.get_or_insert(1);
        }
        let limit = if spec.backoff_limit_per_index.is_some() { i32::MAX } else { BACKOFF_LIMIT };
        spec.backoff_limit.get_or_insert(limit);
        let replacement = if spec.pod_failure_policy.is_some() { "Failed" } else { "TerminatingOrFailed" };
        spec.pod_replacement_policy.get_or_insert_with(|| replacement.to_owned());
        if self.metadata.labels.is_empty() {
            self.metadata.labels.clone_from(&spec.template.metadata.labels);
        }
    }

    fn prepare_create(&mut self, context: &Context<'_>) {
        self.status = Default::default();
        strip(GATED, self, None, context);
        if self.spec.manual_selector != Some(true) {
            select_own_pods(self);
        }
    }

    fn prepare_update(&mut self, old: &Self, context: &Context<'_>) {
        self.status.clone_from(&old.status);
        strip(GATED, self, Some(old), context);
    }

    fn prepare_status(&mut self, old: &Self, _context: &Context<'_>) {
        self.spec.clone_from(&old.spec);
    }

    fn validate(&self, context: &Context<'_>, causes: &mut Causes) {
        validate_spec(self, None, context, causes);
        job_scheduling::validate(Change::create(&self.spec), &Path::ROOT.field("spec"), causes);
    }

    fn validate_update(&self, old: &Self, context: &Context<'_>, causes: &mut Causes) {
        validate_spec(self, Some(old), context, causes);
        let (new, old, path) = (&self.spec, &old.spec, Path::ROOT.field("spec"));
        job_scheduling::validate(Change::update(new, old), &path, causes);
        causes.immutable(&path.field("selector"), &new.selector, &old.selector);
        causes.immutable(&path.field("completionMode"), &new.completion_mode, &old.completion_mode);
        causes.immutable(
            &path.field("backoffLimitPerIndex"),
            &new.backoff_limit_per_index,
            &old.backoff_limit_per_index,
        );
        if new.completion_mode.as_deref() != Some("Indexed") {
            causes.immutable(&path.field("completions"), &new.completions, &old.completions);
        }
        // A job that waits may still change where its pods can run; one that runs may not change them at all.
        if old.suspend != Some(true) && !same("core.v1.PodTemplateSpec", &new.template, &old.template) {
            causes.invalid(&path.field("template"), "cannot be changed while the job runs");
        }
    }

    fn same_spec(&self, old: &Self) -> bool {
        same("batch.v1.JobSpec", &self.spec, &old.spec)
    }
}

const GATED: &[Gated<Job>] = &[Gated {
    gates: &[Gate::WorkloadWithJob],
    in_use: |job| job.spec.scheduling.is_some(),
    clear: |job| job.spec.scheduling = None,
}];

/// Labels that no other job's pods have, and a selector for them.
fn select_own_pods(job: &mut Job) {
    let labels = &mut job.spec.template.metadata.labels;
    for (key, value) in [
        ("job-name", &job.metadata.name),
        ("batch.kubernetes.io/job-name", &job.metadata.name),
        ("controller-uid", &job.metadata.uid),
        (CONTROLLER_UID, &job.metadata.uid),
    ] {
        labels.entry(key.to_owned()).or_insert_with(|| value.clone());
    }
    let selector = job.spec.selector.get_or_insert_default();
    selector.match_labels.entry(CONTROLLER_UID.to_owned()).or_insert_with(|| job.metadata.uid.clone());
}

fn validate_spec(job: &Job, old: Option<&Job>, context: &Context<'_>, causes: &mut Causes) {
    let (spec, path) = (&job.spec, Path::ROOT.field("spec"));
    not_negative("parallelism", spec.parallelism, &path, causes);
    not_negative("completions", spec.completions, &path, causes);
    not_negative("backoffLimit", spec.backoff_limit, &path, causes);
    not_negative("backoffLimitPerIndex", spec.backoff_limit_per_index, &path, causes);
    not_negative("ttlSecondsAfterFinished", spec.ttl_seconds_after_finished, &path, causes);
    if spec.active_deadline_seconds.is_some_and(|seconds| seconds < 0) {
        causes.invalid(&path.field("activeDeadlineSeconds"), "must not be negative");
    }
    match spec.completion_mode.as_deref() {
        Some("Indexed") if spec.completions.is_none() => {
            causes.required(&path.field("completions"), "an indexed job needs it");
        }
        None | Some("Indexed" | "NonIndexed") => {}
        Some(other) => {
            let known = ["NonIndexed", "Indexed"];
            causes.not_supported(&path.field("completionMode"), other, &known);
        }
    }
    validate_template(job, old, &path, context, causes);
}

fn validate_template(
    job: &Job,
    old: Option<&Job>,
    path: &Path<'_>,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    let spec = &job.spec;
    let place = path.field("template");
    let old = old.map(|old| &old.spec.template);
    pod_template::validate(&spec.template, old, &place, context, causes);
    let policy = spec.template.spec.restart_policy.as_str();
    let inner = place.field("spec");
    match policy {
        "" | "Always" => {
            causes.required(&inner.field("restartPolicy"), "must be OnFailure or Never for pods that end");
        }
        "OnFailure" | "Never" => {}
        other => causes.not_supported(&inner.field("restartPolicy"), other, &["OnFailure", "Never"]),
    }
    if policy == "OnFailure" && spec.pod_failure_policy.is_some() {
        causes.invalid(&inner.field("restartPolicy"), "must be Never when podFailurePolicy is set");
    }
    match &spec.selector {
        None => causes.required(&path.field("selector"), "must be set"),
        Some(selector) => label_selector(selector, &path.field("selector"), causes),
    }
    pod_template::validate_selected(spec.selector.as_ref(), &spec.template, &place, causes);
}
