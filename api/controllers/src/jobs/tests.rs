//! Jobs from their first pod to their last, on a server of a few lines.

use serde_json::{Value, json};

use super::*;

/// A job and its pods, as a server would keep them.
struct Play {
    job: Job,
    pods: Vec<Pod>,
    now: Timestamp,
    made: usize,
    told: Vec<&'static str>,
}

impl Play {
    fn new(spec: &Value) -> Self {
        let mut job = json!({ "metadata": { "name": "j", "namespace": "ns", "uid": "ju" }, "spec": spec });
        for (field, value) in [("parallelism", json!(1)), ("backoffLimit", json!(6))] {
            if job["spec"].get(field).is_none() {
                job["spec"][field] = value;
            }
        }
        let job = serde_json::from_value(job).expect("a job");
        let now = Timestamp::parse("2026-01-02T03:04:05Z").expect("a time");
        Self { job, pods: Vec::new(), now, made: 0, told: Vec::new() }
    }

    fn actions(&self) -> JobActions {
        let pods: Vec<&Pod> = self.pods.iter().collect();
        reconcile(&self.job, &pods, None, self.now)
    }

    /// Does what is to be done until there is nothing to do, and gives the time at which there will be.
    fn go(&mut self) -> Option<Timestamp> {
        for _ in 0..20 {
            let actions = self.actions();
            if actions == (JobActions { again_at: actions.again_at, ..JobActions::default() }) {
                return actions.again_at;
            }
            self.carry_out(actions);
        }
        panic!("there is no end to it: {:?}", self.actions());
    }

    fn carry_out(&mut self, actions: JobActions) {
        for gone in &actions.discard {
            self.pods.retain(|pod| pod.metadata.uid != gone.uid);
        }
        for deleted in &actions.delete {
            self.pod(&deleted.name).metadata.deletion_timestamp = Some(Time(self.now));
        }
        for mut pod in actions.make {
            pod.metadata.name = format!("p{}", self.made);
            pod.metadata.uid = format!("u{}", self.made);
            pod.status.phase = "Pending".to_owned();
            self.made += 1;
            self.pods.push(pod);
        }
        if let Some(status) = actions.status {
            self.job.status = *status;
        }
        for released in &actions.release {
            self.pod(&released.name).metadata.finalizers.clear();
        }
        self.pods.retain(|pod| pod.metadata.deletion_timestamp.is_none() || is_tracked(pod));
        self.told.extend(actions.events.into_iter().map(|event| event.reason));
        assert!(!actions.expire, "nobody asked for it to go");
    }

    fn pod(&mut self, name: &str) -> &mut Pod {
        self.pods.iter_mut().find(|pod| pod.metadata.name == name).expect("it is there")
    }

    fn ends(&mut self, name: &str, code: i32) {
        let end = Time(self.now);
        let pod = self.pod(name);
        pod.status.phase = if code == 0 { "Succeeded" } else { "Failed" }.to_owned();
        let state = json!({ "terminated": { "exitCode": code, "finishedAt": end } });
        pod.status.container_statuses =
            serde_json::from_value(json!([{ "name": "c", "state": state }])).expect("a status");
    }

    fn wait(&mut self, seconds: i64) {
        self.now = self.now.plus_millis(seconds * 1_000);
    }

    /// Active, ready, succeeded and failed.
    fn numbers(&self) -> (i32, i32, i32, i32) {
        let status = &self.job.status;
        (status.active, status.ready.unwrap_or(0), status.succeeded, status.failed)
    }

    fn conditions(&self) -> Vec<(&str, &str)> {
        let conditions = self.job.status.conditions.iter().filter(|condition| condition.status == "True");
        conditions.map(|condition| (condition.type_.as_str(), condition.reason.as_str())).collect()
    }

    fn indexes(&self) -> Vec<u32> {
        let active = self.pods.iter().filter(|pod| pod.status.phase == "Pending");
        active.filter_map(count::index).collect()
    }
}

#[test]
fn a_job_runs_until_as_many_pods_succeeded_as_were_to() {
    let mut play = Play::new(&json!({ "parallelism": 2, "completions": 3 }));
    assert_eq!(play.go(), None);
    assert_eq!((play.numbers(), play.pods.len()), ((2, 0, 0, 0), 2));
    assert_eq!(play.job.status.start_time, Some(Time(play.now)));
    play.ends("p0", 0);
    play.go();
    assert_eq!(play.numbers(), (2, 0, 1, 0));
    assert!(!is_tracked(&play.pods[0]) && is_tracked(&play.pods[1]));
    play.wait(5);
    play.ends("p1", 0);
    play.ends("p2", 0);
    play.go();
    assert_eq!(play.numbers(), (0, 0, 3, 0));
    let reached = [("SuccessCriteriaMet", "CompletionsReached"), ("Complete", "CompletionsReached")];
    assert_eq!(play.conditions(), reached);
    assert_eq!(play.job.status.completion_time, Some(Time(play.now)));
    assert_eq!((play.told, play.pods.len()), (vec!["Completed"], 3));
}

#[test]
fn a_pod_that_ends_is_named_before_it_is_counted() {
    let mut play = Play::new(&json!({ "completions": 2 }));
    play.go();
    play.ends("p0", 0);
    let actions = play.actions();
    let status = actions.status.as_ref().expect("something changed");
    let uncounted = status.uncounted_terminated_pods.as_ref().expect("there is one");
    assert_eq!((&uncounted.succeeded, status.succeeded), (&vec!["u0".to_owned()], 0));
    assert_eq!((actions.release.len(), actions.make.len()), (1, 1));
    play.carry_out(actions);
    let counted = play.actions().status.expect("something changed");
    assert_eq!(counted.succeeded, 1);
    assert_eq!(counted.uncounted_terminated_pods, Some(Default::default()));
}

#[test]
fn a_job_without_completions_ends_with_its_first_success() {
    let mut play = Play::new(&json!({ "parallelism": 2 }));
    play.go();
    play.ends("p0", 0);
    play.go();
    assert_eq!((play.numbers(), play.pods.len()), ((1, 0, 1, 0), 2));
    play.ends("p1", 1);
    play.go();
    assert_eq!(play.numbers(), (0, 0, 1, 1));
    assert!(is_finished(&play.job));
}

#[test]
fn a_failure_is_made_good_after_a_while_until_there_were_too_many() {
    let mut play = Play::new(&json!({ "completions": 1, "backoffLimit": 1 }));
    play.go();
    play.ends("p0", 1);
    let again = play.go().expect("it will try again");
    assert_eq!(again, play.now.plus_millis(10_000));
    assert_eq!((play.numbers(), play.pods.len()), ((0, 0, 0, 1), 1));
    play.now = again;
    play.go();
    assert_eq!(play.numbers(), (1, 0, 0, 1));
    play.ends("p1", 1);
    play.go();
    let exceeded = [("FailureTarget", "BackoffLimitExceeded"), ("Failed", "BackoffLimitExceeded")];
    assert_eq!(play.conditions(), exceeded);
    assert_eq!((play.numbers(), play.told), ((0, 0, 0, 2), vec!["BackoffLimitExceeded"]));
}

#[test]
fn a_job_that_failed_deletes_what_still_runs_and_counts_it() {
    let mut play = Play::new(&json!({ "parallelism": 3, "completions": 3, "backoffLimit": 0 }));
    play.go();
    play.ends("p1", 1);
    play.go();
    assert_eq!((play.numbers(), play.pods.len()), ((0, 0, 0, 3), 1));
    assert!(is_finished(&play.job));
}

#[test]
fn restarts_of_containers_count_towards_the_limit() {
    let template = json!({ "spec": { "restartPolicy": "OnFailure" } });
    let mut play = Play::new(&json!({ "completions": 1, "backoffLimit": 2, "template": template }));
    play.go();
    let restarted = |count: i32| {
        serde_json::from_value(json!([{ "name": "c", "restartCount": count }])).expect("a status")
    };
    play.pod("p0").status.container_statuses = restarted(1);
    play.go();
    assert!(play.conditions().is_empty());
    play.pod("p0").status.container_statuses = restarted(2);
    play.go();
    assert_eq!(play.conditions()[1], ("Failed", "BackoffLimitExceeded"));
}

#[test]
fn a_job_that_takes_too_long_fails() {
    let mut play = Play::new(&json!({ "completions": 1, "activeDeadlineSeconds": 30 }));
    assert_eq!(play.go(), Some(play.now.plus_millis(30_000)));
    play.wait(30);
    play.go();
    assert_eq!(play.conditions()[1], ("Failed", "DeadlineExceeded"));
    assert!(play.pods.is_empty());
}

#[test]
fn a_suspended_job_has_no_pods_and_begins_anew() {
    let mut play = Play::new(&json!({ "completions": 2, "parallelism": 2, "suspend": true }));
    play.go();
    assert_eq!((play.pods.len(), play.job.status.start_time), (0, None));
    assert_eq!(play.conditions(), [("Suspended", "JobSuspended")]);
    play.job.spec.suspend = Some(false);
    play.go();
    assert_eq!((play.pods.len(), play.job.status.start_time), (2, Some(Time(play.now))));
    play.wait(7);
    play.job.spec.suspend = Some(true);
    play.go();
    assert_eq!((play.pods.len(), play.numbers()), (0, (0, 0, 0, 0)));
    play.job.spec.suspend = Some(false);
    play.go();
    assert_eq!(play.job.status.start_time, Some(Time(play.now)));
    assert_eq!(play.told, ["Suspended", "Resumed", "Suspended", "Resumed"]);
}

#[test]
fn each_index_succeeds_once() {
    let mut play = Play::new(&json!({ "completions": 4, "parallelism": 2, "completionMode": "Indexed" }));
    play.go();
    assert_eq!(play.indexes(), [0, 1]);
    play.ends("p1", 0);
    play.go();
    assert_eq!((play.indexes(), play.job.status.completed_indexes.as_str()), (vec![0, 2], "1"));
    play.wait(1);
    play.ends("p0", 1);
    let again = play.go().expect("it will try again");
    play.now = again;
    play.go();
    // The index that failed is the first that is missing.
    assert_eq!(play.indexes(), [2, 0]);
    for name in ["p2", "p3"] {
        play.ends(name, 0);
    }
    play.go();
    play.ends("p4", 0);
    play.go();
    assert_eq!((play.numbers(), play.job.status.completed_indexes.as_str()), ((0, 0, 4, 1), "0-3"));
    assert!(is_finished(&play.job));
}

#[test]
fn two_pods_with_one_index_are_one_too_many() {
    let mut play = Play::new(&json!({ "completions": 2, "parallelism": 2, "completionMode": "Indexed" }));
    play.go();
    let mut twin = play.pods[0].clone();
    twin.metadata.uid = "twin".to_owned();
    play.pods[0].spec.node_name = "n".to_owned();
    play.pods.push(twin);
    assert_eq!(play.actions().discard.iter().map(|pod| pod.uid.as_str()).collect::<Vec<_>>(), ["twin"]);
}

#[test]
fn pods_that_have_come_least_far_are_the_first_too_many() {
    let mut play = Play::new(&json!({ "completions": 9, "parallelism": 3 }));
    play.go();
    play.pods[0].spec.node_name = "n".to_owned();
    play.pods[2].spec.node_name = "n".to_owned();
    play.pods[2].status.phase = "Running".to_owned();
    play.job.spec.parallelism = Some(1);
    let discarded: Vec<String> = play.actions().discard.into_iter().map(|pod| pod.name).collect();
    assert_eq!(discarded, ["p1", "p0"]);
}

#[test]
fn an_index_can_fail_on_its_own() {
    let mut play = Play::new(&json!({
        "completions": 2, "parallelism": 2, "completionMode": "Indexed", "backoffLimitPerIndex": 1,
        "backoffLimit": i32::MAX,
    }));
    play.go();
    play.ends("p0", 1);
    let again = play.go().expect("it will try again");
    play.ends("p1", 0);
    play.now = again;
    play.go();
    assert_eq!(play.pods[2].metadata.annotations[INDEX_FAILURES], "1");
    play.ends("p2", 1);
    play.go();
    assert_eq!(play.job.status.failed_indexes.as_deref(), Some("0"));
    assert_eq!(play.conditions()[1], ("Failed", "FailedIndexes"));
}

#[test]
fn policies_end_a_job_early() {
    let fatal =
        json!({ "rules": [{ "action": "FailJob", "onExitCodes": { "operator": "In", "values": [42] } }] });
    let mut play = Play::new(&json!({ "completions": 1, "podFailurePolicy": fatal }));
    play.go();
    play.ends("p0", 42);
    play.go();
    assert_eq!(play.conditions()[1], ("Failed", "PodFailurePolicy"));
    let leader = json!({ "rules": [{ "succeededIndexes": "0" }] });
    let mut play = Play::new(&json!({
        "completions": 3, "parallelism": 3, "completionMode": "Indexed", "successPolicy": leader,
    }));
    play.go();
    play.ends("p0", 0);
    play.go();
    assert_eq!(play.conditions()[1], ("Complete", "SuccessPolicy"));
}

#[test]
fn a_failure_that_is_ignored_does_not_count() {
    let rule = json!({ "action": "Ignore", "onExitCodes": { "operator": "In", "values": [42] } });
    let mut play =
        Play::new(&json!({ "completions": 1, "backoffLimit": 0, "podFailurePolicy": { "rules": [rule] } }));
    play.go();
    play.ends("p0", 42);
    play.now = play.go().expect("it will try again");
    play.go();
    assert_eq!(play.numbers(), (1, 0, 0, 0));
}

#[test]
fn a_job_that_ended_goes_when_its_time_is_over() {
    let mut play = Play::new(&json!({ "completions": 1, "ttlSecondsAfterFinished": 60 }));
    play.go();
    play.ends("p0", 0);
    assert_eq!(play.go(), Some(play.now.plus_millis(60_000)));
    play.wait(60);
    assert_eq!(play.actions(), JobActions { expire: true, ..JobActions::default() });
}

#[test]
fn pods_of_a_job_that_is_gone_or_ended_or_to_go_are_let_go() {
    let mut play = Play::new(&json!({ "completions": 1 }));
    play.go();
    let pod = play.pods[0].clone();
    assert_eq!(job_of(&pod), Some(("j", "ju")));
    assert!(is_orphan(&pod, None) && !is_orphan(&pod, Some(&play.job)));
    play.job.metadata.deletion_timestamp = Some(Time(play.now));
    assert_eq!(play.actions(), JobActions { release: vec![PodName::of(&pod)], ..JobActions::default() });
}

#[test]
fn a_job_that_others_manage_is_left_alone() {
    let play = Play::new(&json!({ "completions": 1, "managedBy": "example.com/theirs" }));
    assert_eq!(play.actions(), JobActions::default());
}
