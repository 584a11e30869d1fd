//! Fields that pod groups, composite pod groups and their templates share, and what must hold of them.

use objects::scheduling::pod_group::{
    DisruptionMode, PodGroupResourceClaim, PodGroupSchedulingPolicy, TopologyConstraint, WorkloadReference,
};
use objects::scheduling::workload::{CompositeDisruptionMode, CompositePodGroupSchedulingPolicy};
use schema::Path;

use crate::cause::Causes;
use crate::kinds::change::Change;
use crate::names::{self, Faults};

const CLAIMS_MAX: usize = 4;
const TOPOLOGY_MAX: usize = 1;

/// How members are scheduled: as they come, or all at once.
pub(crate) trait Policy: PartialEq {
    /// The name of the field that says how many make a gang.
    const COUNT: &'static str;

    /// Members are scheduled as they come.
    fn is_basic(&self) -> bool;

    /// So many members make a gang.
    fn gang(&self) -> Option<i32>;
}

impl Policy for PodGroupSchedulingPolicy {
    const COUNT: &'static str = "minCount";

    fn is_basic(&self) -> bool {
        self.basic.is_some()
    }

    fn gang(&self) -> Option<i32> {
        self.gang.as_ref().map(|gang| gang.min_count)
    }
}

impl Policy for CompositePodGroupSchedulingPolicy {
    const COUNT: &'static str = "minGroupCount";

    fn is_basic(&self) -> bool {
        self.basic.is_some()
    }

    fn gang(&self) -> Option<i32> {
        self.gang.as_ref().map(|gang| gang.min_group_count)
    }
}

/// Exactly one policy, which stays what it is; only the size of a gang can change.
pub(crate) fn policy<P: Policy>(change: Change<'_, P>, path: &Path<'_>, causes: &mut Causes) {
    if !change.is_news() {
        return;
    }
    let (basic, gang) = (change.new.is_basic(), change.new.gang());
    let chosen = |policy: &P| (policy.is_basic(), policy.gang().is_some());
    if change.old.is_none_or(|old| chosen(old) != chosen(change.new)) {
        exactly_one(&[("basic", basic), ("gang", gang.is_some())], path, causes);
    }
    if let Some(old) = change.old {
        causes.immutable(&path.field("basic"), &basic, &old.is_basic());
    }
    let path = path.field("gang");
    match (change.old.map(Policy::gang), gang) {
        (Some(None), Some(_)) => causes.invalid(&path, "cannot be set after the object was made"),
        (Some(Some(_)), None) => causes.invalid(&path, "cannot be taken away once it is set"),
        (Some(Some(before)), Some(count)) if before == count => {}
        (None | Some(Some(_)), Some(count)) => at_least_one(count, &path.field(P::COUNT), causes),
        (None | Some(None), None) => {}
    }
}

fn at_least_one(count: i32, path: &Path<'_>, causes: &mut Causes) {
    match count {
        0 => causes.required(path, "must be at least 1"),
        ..0 => causes.invalid(path, "must be at least 1"),
        1.. => {}
    }
}

/// Whether members may be evicted one by one.
pub(crate) trait Mode: PartialEq {
    /// One by one.
    fn is_single(&self) -> bool;

    /// All or none.
    fn is_all(&self) -> bool;
}

impl Mode for DisruptionMode {
    fn is_single(&self) -> bool {
        self.single.is_some()
    }

    fn is_all(&self) -> bool {
        self.all.is_some()
    }
}

impl Mode for CompositeDisruptionMode {
    fn is_single(&self) -> bool {
        self.single.is_some()
    }

    fn is_all(&self) -> bool {
        self.all.is_some()
    }
}

/// One mode or the other, for good.
pub(crate) fn disruption_mode<M: Mode>(change: Change<'_, Option<M>>, path: &Path<'_>, causes: &mut Causes) {
    if change.is_fixed(path, causes)
        && let Some(mode) = change.new
    {
        exactly_one(&[("single", mode.is_single()), ("all", mode.is_all())], path, causes);
    }
}

/// One of several fields must be set, and no other.
pub(crate) fn exactly_one(members: &[(&str, bool)], path: &Path<'_>, causes: &mut Causes) {
    let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    match members.iter().filter(|(_, set)| *set).count() {
        0 => causes.invalid(path, format!("one of {} must be set", names.join(", "))),
        1 => {}
        _ => causes.invalid(path, format!("only one of {} can be set", names.join(", "))),
    }
}

/// Where members may be, relative to each other.
pub(crate) fn topology(constraints: &[TopologyConstraint], path: &Path<'_>, causes: &mut Causes) {
    causes.each(constraints, TOPOLOGY_MAX, &path.field("topology"), |causes, constraint, path| {
        required(&constraint.key, names::label_key, &path.field("key"), causes);
    });
}

/// Claims that the group's pods share; the list cannot change.
pub(crate) fn resource_claims(
    change: Change<'_, Vec<PodGroupResourceClaim>>,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    if change.is_fixed(path, causes) {
        causes.each_once(change.new, CLAIMS_MAX, path, |claim| claim.name.clone(), resource_claim);
    } else if change.is_news() && change.new.len() > CLAIMS_MAX {
        causes.too_many(path, change.new.len(), CLAIMS_MAX);
    }
}

fn resource_claim(causes: &mut Causes, claim: &PodGroupResourceClaim, path: &Path<'_>) {
    let sources = [
        ("resourceClaimName", &claim.resource_claim_name),
        ("resourceClaimTemplateName", &claim.resource_claim_template_name),
    ];
    exactly_one(&sources.map(|(name, source)| (name, source.is_some())), path, causes);
    required(&claim.name, names::dns_label, &path.field("name"), causes);
    for (name, source) in sources {
        if let Some(source) = source {
            causes.malformed(&path.field(name), source, names::dns_subdomain(source));
        }
    }
}

/// The workload and template that a group was made from.
pub(crate) fn workload_reference(reference: &WorkloadReference, path: &Path<'_>, causes: &mut Causes) {
    required(&reference.workload_name, names::dns_subdomain, &path.field("workloadName"), causes);
    required(&reference.template_name, names::dns_label, &path.field("templateName"), causes);
}

/// A text that must be set and have a certain form.
pub(crate) fn required(text: &str, form: fn(&str) -> Faults, path: &Path<'_>, causes: &mut Causes) {
    if text.is_empty() {
        causes.required(path, "must be set");
    } else {
        causes.malformed(path, text, form(text));
    }
}
