//! Priorities by name.

use crate::meta::ObjectMeta;
use crate::wire::wire;

wire! {
    /// A name for a priority.
    pub object PriorityClass of "scheduling.k8s.io/v1" {
        description: String = "description",
        global_default: bool = "globalDefault",
        metadata: ObjectMeta = "metadata",
        preemption_policy: Option<String> = "preemptionPolicy",
        value: i32 = "value",
    }
}
