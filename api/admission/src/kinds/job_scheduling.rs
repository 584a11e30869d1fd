//! How the pods of a job are scheduled together: settled when the job is made, but for the size of a gang.

use objects::batch::{JobScheduling, JobSpec};
use objects::scheduling::job::JobSchedulingPolicy;
use schema::Path;

use crate::cause::Causes;
use crate::kinds::change::Change;
use crate::kinds::group_fields::{self, Policy};

impl Policy for JobSchedulingPolicy {
    const COUNT: &'static str = "minCount";

    fn is_basic(&self) -> bool {
        self.basic.is_some()
    }

    fn gang(&self) -> Option<i32> {
        // A gang whose size is left open has as many as run side by side, which is a size like any other.
        self.gang.as_ref().map(|gang| gang.min_count.unwrap_or(1))
    }
}

/// What must hold of a job's `scheduling`.
pub(crate) fn validate(change: Change<'_, JobSpec>, path: &Path<'_>, causes: &mut Causes) {
    let path = path.field("scheduling");
    let scheduling = change.part(|spec| &spec.scheduling);
    let (new, old) = match (scheduling.new, scheduling.old) {
        (None, None | Some(None)) => return,
        (Some(new), None) => (new, None),
        (Some(new), Some(Some(old))) => (new, Some(old)),
        (Some(_), Some(None)) => return causes.invalid(&path, "cannot be set after the job was made"),
        (None, Some(Some(_))) => return causes.invalid(&path, "cannot be taken away once it is set"),
    };
    fields(Change { new, old }, &path, causes);
    let gang = new.scheduling_policy.as_ref().and_then(|policy| policy.gang.as_ref());
    let side_by_side = change.new.parallelism.unwrap_or(1);
    if gang.and_then(|gang| gang.min_count).is_some_and(|least| least > side_by_side) {
        let (policy, path) = ("schedulingPolicy", &path);
        causes.invalid(
            &path.field(policy).field("gang").field("minCount"),
            format!("must not be greater than parallelism, which is {side_by_side}"),
        );
    }
    if gang.is_none() && new.disruption_mode.as_ref().is_some_and(|mode| mode.all.is_some()) {
        causes.invalid(&path.field("disruptionMode"), "pods go all at once only as a gang");
    }
}

fn fields(change: Change<'_, JobScheduling>, path: &Path<'_>, causes: &mut Causes) {
    let policy = change.part(|scheduling| &scheduling.scheduling_policy);
    let path_of_policy = path.field("schedulingPolicy");
    match (policy.new, policy.old) {
        (Some(new), old) if old.is_none_or(Option::is_some) => {
            let policy = Change { new, old: old.and_then(Option::as_ref) };
            group_fields::policy(policy, &path_of_policy, causes);
        }
        (new, Some(old)) => causes.immutable(&path_of_policy, new, old),
        (_, None) => {}
    }
    let constraints = change.part(|scheduling| &scheduling.scheduling_constraints);
    let path_of_constraints = path.field("schedulingConstraints");
    if constraints.is_fixed(&path_of_constraints, causes)
        && let Some(constraints) = constraints.new
    {
        group_fields::topology(&constraints.topology, &path_of_constraints, causes);
    }
    let claims = change.part(|scheduling| &scheduling.resource_claims);
    group_fields::resource_claims(claims, &path.field("resourceClaims"), causes);
    let mode = change.part(|scheduling| &scheduling.disruption_mode);
    group_fields::disruption_mode(mode, &path.field("disruptionMode"), causes);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn spec(scheduling: &Value) -> JobSpec {
        let scheduling = if scheduling.is_null() { json!({}) } else { json!({ "scheduling": scheduling }) };
        let mut spec: JobSpec = serde_json::from_value(scheduling).expect("a spec");
        spec.parallelism = Some(4);
        spec
    }

    fn paths(new: &Value, old: Option<&Value>) -> Vec<String> {
        let (new, old) = (spec(new), old.map(spec));
        let mut causes = Causes::default();
        let change = Change { new: &new, old: old.as_ref() };
        validate(change, &Path::ROOT.field("spec"), &mut causes);
        causes.into_vec().into_iter().map(|cause| cause.field).collect()
    }

    #[test]
    fn a_new_job_says_how_its_pods_are_scheduled() {
        let gang = |least: Value| json!({ "schedulingPolicy": { "gang": least } });
        let table: [(Value, &[&str]); 7] = [
            (json!(null), &[]),
            (gang(json!({})), &[]),
            (gang(json!({ "minCount": 4 })), &[]),
            (gang(json!({ "minCount": 5 })), &["spec.scheduling.schedulingPolicy.gang.minCount"]),
            (json!({ "schedulingPolicy": {} }), &["spec.scheduling.schedulingPolicy"]),
            (json!({ "disruptionMode": { "all": {} } }), &["spec.scheduling.disruptionMode"]),
            (json!({ "resourceClaims": [{ "name": "c" }] }), &["spec.scheduling.resourceClaims[0]"]),
        ];
        for (scheduling, expected) in table {
            assert_eq!(paths(&scheduling, None), expected, "{scheduling}");
        }
    }

    #[test]
    fn only_the_size_of_a_gang_can_change() {
        let gang = |least: i32| json!({ "schedulingPolicy": { "gang": { "minCount": least } } });
        let basic = json!({ "schedulingPolicy": { "basic": {} } });
        assert!(paths(&gang(2), Some(&gang(3))).is_empty());
        assert!(!paths(&gang(2), Some(&basic)).is_empty());
        assert_eq!(paths(&gang(2), Some(&json!(null))), ["spec.scheduling"]);
        assert_eq!(paths(&json!(null), Some(&gang(2))), ["spec.scheduling"]);
        assert_eq!(paths(&json!({}), Some(&gang(2))), ["spec.scheduling.schedulingPolicy"]);
    }
}
