//! The priority of groups: what a priority class says, and what must hold of the fields that repeat it.

use gates::Gate;
use objects::scheduling::composite_pod_group::CompositePodGroupSpec;
use objects::scheduling::pod_group::PodGroupSpec;
use objects::scheduling::workload::{CompositePodGroupTemplate, PodGroupTemplate};
use schema::Path;

use crate::cause::Causes;
use crate::kind::Context;
use crate::kinds::change::Change;
use crate::names;
use crate::rejection::Rejection;

/// The highest priority that users can give; what is above belongs to the system.
const PRIORITY_MAX: i32 = 1_000_000_000;
const PREEMPT_LOWER: &str = "PreemptLowerPriority";
const PREEMPTION_POLICIES: [&str; 2] = ["Never", PREEMPT_LOWER];

/// What has a priority.
pub(crate) trait Prioritized {
    /// The name of the priority class; empty for the default.
    fn class_name(&self) -> &String;

    /// The class's value.
    fn priority(&self) -> &Option<i32>;

    /// Whether others may be evicted.
    fn preemption_policy(&self) -> &Option<String>;

    /// Sets the class and its value.
    fn set_priority(&mut self, class_name: String, priority: i32);

    /// Sets whether others may be evicted.
    fn set_preemption_policy(&mut self, policy: Option<String>);
}

macro_rules! prioritized {
    ($($type:ty),*) => {$(
        impl Prioritized for $type {
            fn class_name(&self) -> &String {
                &self.priority_class_name
            }

            fn priority(&self) -> &Option<i32> {
                &self.priority
            }

            fn preemption_policy(&self) -> &Option<String> {
                &self.preemption_policy
            }

            fn set_priority(&mut self, class_name: String, priority: i32) {
                self.priority_class_name = class_name;
                self.priority = Some(priority);
            }

            fn set_preemption_policy(&mut self, policy: Option<String>) {
                self.preemption_policy = policy;
            }
        }
    )*};
}
prioritized!(PodGroupSpec, CompositePodGroupSpec, PodGroupTemplate, CompositePodGroupTemplate);

/// Says that others may be evicted where nothing else is said.
pub(crate) fn set_defaults(group: &mut impl Prioritized, context: &Context<'_>) {
    if context.has(Gate::PodGroupPreemptionPolicy) && group.preemption_policy().is_none() {
        group.set_preemption_policy(Some(PREEMPT_LOWER.to_owned()));
    }
}

/// Fills in what the priority class says.
///
/// # Errors
/// When the class does not exist, or the group says something else than its class.
pub(crate) fn resolve(group: &mut impl Prioritized, context: &Context<'_>) -> Result<(), Rejection> {
    let (class_name, value, policy) = established(group.class_name(), context)?;
    if let Some(priority) = group.priority()
        && *priority != value
    {
        return Err(Rejection::Forbidden(format!(
            "spec.priority is {priority} and the priority class says {value}; hint: leave the priority out"
        )));
    }
    group.set_priority(class_name, value);
    let Some(policy) = policy.filter(|_| context.has(Gate::PodGroupPreemptionPolicy)) else { return Ok(()) };
    if !PREEMPTION_POLICIES.contains(&policy.as_str()) {
        return Err(Rejection::Forbidden(format!(
            "the priority class has the preemption policy {policy:?}, which groups do not support"
        )));
    }
    if let Some(own) = group.preemption_policy()
        && *own != policy
    {
        return Err(Rejection::Forbidden(format!(
            "spec.preemptionPolicy is {own:?} and the priority class says {policy:?}; hint: set it to {policy:?}"
        )));
    }
    group.set_preemption_policy(Some(policy));
    Ok(())
}

/// The name, value and preemption policy of the class that a group or pod has.
pub(crate) fn established(
    class_name: &str,
    context: &Context<'_>,
) -> Result<(String, i32, Option<String>), Rejection> {
    let class = if class_name.is_empty() {
        let Some(class) = context.surroundings.default_priority_class() else {
            return Ok((String::new(), 0, Some(PREEMPT_LOWER.to_owned())));
        };
        class
    } else {
        let missing = || Rejection::Forbidden(format!("no PriorityClass {class_name:?} exists"));
        context.surroundings.priority_class(class_name).ok_or_else(missing)?
    };
    Ok((class.metadata.name, class.value, class.preemption_policy))
}

/// The three fields have their form, and never change.
pub(crate) fn validate<T: Prioritized>(
    change: Change<'_, T>,
    path: &Path<'_>,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    let class_name = change.part(Prioritized::class_name);
    let path_of_name = path.field("priorityClassName");
    if class_name.is_fixed(&path_of_name, causes) && !class_name.new.is_empty() {
        causes.malformed(&path_of_name, class_name.new, names::dns_subdomain(class_name.new));
    }
    let priority = change.part(Prioritized::priority);
    let path_of_priority = path.field("priority");
    if priority.is_fixed(&path_of_priority, causes) && priority.new.is_some_and(|new| new > PRIORITY_MAX) {
        causes.invalid(&path_of_priority, format!("must be at most {PRIORITY_MAX}"));
    }
    preemption_policy(
        change.part(Prioritized::preemption_policy),
        &path.field("preemptionPolicy"),
        context,
        causes,
    );
}

fn preemption_policy(
    change: Change<'_, Option<String>>,
    path: &Path<'_>,
    context: &Context<'_>,
    causes: &mut Causes,
) {
    let on = context.has(Gate::PodGroupPreemptionPolicy);
    if !on && change.is_news() && change.new.is_some() {
        causes.forbidden(path, "needs feature gate PodGroupPreemptionPolicy");
    }
    if change.is_fixed(path, causes)
        && on
        && let Some(policy) = change.new
        && !PREEMPTION_POLICIES.contains(&policy.as_str())
    {
        causes.not_supported(path, policy, &PREEMPTION_POLICIES);
    }
}
