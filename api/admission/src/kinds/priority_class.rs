//! Priority classes: values by name, one of them the default.

use objects::scheduling::priority_class::PriorityClass;
use schema::Path;

use crate::cause::Causes;
use crate::kind::{Admit, Context};
use crate::kinds::pod_spec::preemption_policy;
use crate::rejection::Rejection;

const USER_MAX: i32 = 1_000_000_000;
const SYSTEM_PREFIX: &str = "system-";
/// The classes that the cluster itself has: name and value. None of them is the default.
const SYSTEM: [(&str, i32); 2] =
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];

impl Admit for PriorityClass {
    /// It starts to count and never goes on, because nothing in it can change that matters.
    const COUNTS_GENERATIONS: bool = true;

    fn validate(&self, _context: &Context<'_>, causes: &mut Causes) {
        let name = self.metadata.name.as_str();
        if name.starts_with(SYSTEM_PREFIX) {
            if self.global_default || !SYSTEM.contains(&(name, self.value)) {
                let metadata = Path::ROOT.field("metadata");
                causes.forbidden(
                    &metadata.field("name"),
                    format!("names that begin with {SYSTEM_PREFIX} are the system's"),
                );
            }
        } else if self.value > USER_MAX {
            causes.forbidden(&Path::ROOT.field("value"), format!("may be at most {USER_MAX}"));
        }
        if let Some(policy) = &self.preemption_policy {
            preemption_policy(policy, &Path::ROOT.field("preemptionPolicy"), causes);
        }
    }

    fn validate_update(&self, old: &Self, _context: &Context<'_>, causes: &mut Causes) {
        if self.value != old.value {
            causes.forbidden(&Path::ROOT.field("value"), "cannot be changed once it is set");
        }
        causes.immutable(
            &Path::ROOT.field("preemptionPolicy"),
            &self.preemption_policy,
            &old.preemption_policy,
        );
    }

    fn consent(&self, context: &Context<'_>) -> Result<(), Rejection> {
        let Some(default) = context.surroundings.default_priority_class().filter(|_| self.global_default)
        else {
            return Ok(());
        };
        // On a change the class itself may be the default; a new one of that name fails because it exists.
        if default.metadata.name == self.metadata.name && default.metadata.uid == self.metadata.uid {
            return Ok(());
        }
        Err(Rejection::Forbidden(format!(
            "priority class {:?} is the default already, and there can be only one",
            default.metadata.name
        )))
    }
}
