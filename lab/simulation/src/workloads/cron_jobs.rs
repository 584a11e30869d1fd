//! One run of a CronJob: the Job that it makes when its time has come.

use objects::Object;
use objects::batch::Job;
use objects::kept::CronJob;
use serde_json::{Value, json};

use super::{controller, or_empty, owned_by};
use crate::manifest::BadInput;
use crate::shelf::Key;
use crate::simulation::Simulation;

/// The annotation of a Job with the time that it was to be made at.
const SCHEDULED_AT: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

impl Simulation {
    /// Makes a Job as if the time of a CronJob had come, unless it is suspended or a Job of it is there.
    pub(super) fn make_job(&mut self, key: &Key) -> Result<(), BadInput> {
        let Some(cron_job) = self.shelf.get(key).cloned() else { return Ok(()) };
        let uid = &cron_job["metadata"]["uid"];
        let is_own = |job: &Value| controller(job).is_some_and(|owner| owner["uid"] == *uid);
        let given: Vec<Key> =
            self.shelf.all::<Job>().filter(|(_, job)| is_own(job)).map(|(key, _)| key.clone()).collect();
        let has_run = !given.is_empty();
        self.workloads.parents.extend(given.into_iter().map(|job| (job, key.clone())));
        if has_run || cron_job["spec"]["suspend"] == true {
            return Ok(());
        }
        let template = &cron_job["spec"]["jobTemplate"];
        let now = self.shelf.now.to_seconds();
        let mut annotations = or_empty(&template["metadata"]["annotations"]);
        annotations[SCHEDULED_AT] = json!(now.to_string());
        let job = json!({
            "apiVersion": Job::API_VERSION,
            "kind": Job::KIND,
            "metadata": {
                // Kubernetes ends the name with the minute of the run.
                "name": format!("{}-{}", key.name, now.micros() / 60_000_000),
                "namespace": key.namespace,
                "labels": or_empty(&template["metadata"]["labels"]),
                "annotations": annotations,
                "ownerReferences": [owned_by(key, &cron_job)],
            },
            "spec": template["spec"],
        });
        debug_assert!(key.is::<CronJob>(), "only a CronJob has runs");
        let job = self.make_for(key, job)?;
        self.workloads.parents.insert(job, key.clone());
        Ok(())
    }
}
