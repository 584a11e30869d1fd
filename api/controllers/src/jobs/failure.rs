//! What becomes of a failure: a job's policy may ignore it, count it, or end an index or the whole job by it.

use objects::batch::{Job, PodFailurePolicyOnExitCodesRequirement, PodFailurePolicyRule};
use objects::core::pod::{ContainerStatus, Pod, PodStatus};

/// What a failed pod means for its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// One more towards the limit.
    Counts,
    /// As if it had never been.
    Ignored,
    /// Its index has failed.
    EndsIndex,
    /// The job has failed, and this is why.
    EndsJob(String),
}

/// A pod failed, or counts as if it had: one that is to go will not do its work.
pub(super) fn has_failed(job: &Job, pod: &Pod) -> bool {
    match pod.status.phase.as_str() {
        "Failed" => true,
        "Succeeded" => false,
        _ => pod.metadata.deletion_timestamp.is_some() && !replaces_only_failed(job),
    }
}

/// A pod that is on its way out is replaced only once it has failed.
pub(super) fn replaces_only_failed(job: &Job) -> bool {
    job.spec.pod_replacement_policy.as_deref() == Some("Failed")
}

/// Judges a pod that failed: the first rule that applies decides.
pub(super) fn judge(job: &Job, pod: &Pod) -> Failure {
    let Some(policy) = &job.spec.pod_failure_policy else { return Failure::Counts };
    let found =
        policy.rules.iter().enumerate().find_map(|(at, rule)| matched(rule, pod).map(|why| (at, rule, why)));
    let Some((at, rule, why)) = found else { return Failure::Counts };
    match rule.action.as_str() {
        "Ignore" => Failure::Ignored,
        "FailIndex" => Failure::EndsIndex,
        "FailJob" => Failure::EndsJob(format!("{why}, which matches rule {at} of the pod failure policy")),
        _ => Failure::Counts,
    }
}

/// Why a rule applies to a pod, if it does.
fn matched(rule: &PodFailurePolicyRule, pod: &Pod) -> Option<String> {
    let place = format!("{}/{}", pod.metadata.namespace, pod.metadata.name);
    if let Some(codes) = &rule.on_exit_codes {
        let (container, code) = exit_code(&pod.status, codes)?;
        return Some(format!("container {container} of pod {place} ended with exit code {code}"));
    }
    let condition = pod.status.conditions.iter().find(|condition| {
        let mut patterns = rule.on_pod_conditions.iter();
        patterns.any(|wanted| wanted.type_ == condition.type_ && wanted.status == condition.status)
    })?;
    Some(format!("pod {place} has the condition {}", condition.type_))
}

/// The first container that ended with an exit code as wanted. A code of zero is no failure.
fn exit_code<'a>(
    status: &'a PodStatus,
    wanted: &PodFailurePolicyOnExitCodesRequirement,
) -> Option<(&'a str, i32)> {
    let is_meant = |status: &&ContainerStatus| {
        wanted.container_name.as_ref().is_none_or(|container| *container == status.name)
    };
    let fits = |code: i32| match wanted.operator.as_str() {
        "In" => wanted.values.contains(&code),
        "NotIn" => !wanted.values.contains(&code),
        _ => false,
    };
    let all = status.container_statuses.iter().chain(&status.init_container_statuses).filter(is_meant);
    let ended = all.filter_map(|one| Some((one.name.as_str(), one.state.terminated.as_ref()?.exit_code)));
    ended.into_iter().find(|(_, code)| *code != 0 && fits(*code))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn failed(code: i32, condition: Option<&str>) -> Pod {
        let conditions: Vec<Value> =
            condition.iter().map(|name| json!({ "type": name, "status": "True" })).collect();
        let container = json!({ "name": "main", "state": { "terminated": { "exitCode": code } } });
        let pod = json!({
            "metadata": { "namespace": "ns", "name": "p" },
            "status": { "phase": "Failed", "conditions": conditions, "containerStatuses": [container] },
        });
        serde_json::from_value(pod).expect("a pod")
    }

    fn job(rules: &Value) -> Job {
        serde_json::from_value(json!({ "spec": { "podFailurePolicy": { "rules": rules } } })).expect("a job")
    }

    #[test]
    fn the_first_rule_that_applies_decides() {
        let ends = "container main of pod ns/p ended with exit code 42, which matches rule 1 of the pod failure policy";
        let disrupted = json!({
            "action": "Ignore", "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }],
        });
        let fatal = json!({ "action": "FailJob", "onExitCodes": { "operator": "In", "values": [42] } });
        let others = json!({
            "action": "FailIndex", "onExitCodes": { "containerName": "main", "operator": "NotIn", "values": [1, 42] },
        });
        let job = job(&json!([disrupted, fatal, others]));
        let table = [
            (failed(1, None), Failure::Counts),
            (failed(42, None), Failure::EndsJob(ends.to_owned())),
            (failed(42, Some("DisruptionTarget")), Failure::Ignored),
            (failed(7, None), Failure::EndsIndex),
            (failed(0, None), Failure::Counts),
        ];
        for (pod, expected) in table {
            assert_eq!(judge(&job, &pod), expected);
        }
        assert_eq!(judge(&Job::default(), &failed(42, None)), Failure::Counts);
    }

    #[test]
    fn a_pod_that_is_to_go_counts_as_failed_unless_only_failed_ones_are_replaced() {
        let mut pod = failed(1, None);
        pod.metadata.deletion_timestamp = Some(objects::Time::default());
        let mut job = Job::default();
        for (phase, policy, expected) in [
            ("Running", "TerminatingOrFailed", true),
            ("Running", "Failed", false),
            ("Failed", "Failed", true),
            ("Succeeded", "TerminatingOrFailed", false),
        ] {
            pod.status.phase = phase.to_owned();
            job.spec.pod_replacement_policy = Some(policy.to_owned());
            assert_eq!(has_failed(&job, &pod), expected, "{phase}, {policy}");
        }
    }
}
