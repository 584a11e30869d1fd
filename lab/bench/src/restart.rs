//! How long a server with many objects takes to start: from the log alone, and from a snapshot.

use std::path::Path;
use std::sync::mpsc;
use std::time::Instant;

use anyhow::Context;
use clap::Args;
use journal::{Journal, Options, PendingRecord};
use schema::table;
use serde_json::{Value, json};
use store::{Body, Expected, Key, Record, Resource, Store, selectable};

/// How many objects to start with
#[derive(Args, Debug)]
pub(crate) struct Restart {
    /// How many pods of one and a half kibibytes
    #[arg(long, default_value_t = 1_000_000)]
    objects: usize,
    /// Forget all that the operating system has read before each start; Linux only, and only for root
    #[arg(long)]
    cold: bool,
}

impl Restart {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let dir = std::env::temp_dir().join(format!("supercargo-restart-{}", std::process::id()));
        let done = self.measure(&dir);
        // What a bench leaves behind is nobody's business.
        let _ = std::fs::remove_dir_all(&dir);
        done
    }

    fn measure(&self, dir: &Path) -> anyhow::Result<()> {
        let pods =
            Resource::of(table().kind("v1", "Pod").context("pods are served")?).context("and stored")?;
        let (journal, _) = Journal::open(dir, Options::default(), |_| Ok(()))?;
        let mut store = Store::default();
        for number in 0..self.objects {
            let pod = pod(number);
            let key = Key::new("default", pod["metadata"]["name"].as_str().unwrap_or_default());
            let body = Body::new(&pod, selectable(pods.kind(), &pod));
            let committed = store.put(pods, key, body, Expected::Absent)?;
            journal.append(vec![PendingRecord::new(
                committed.event.revision(),
                committed.record.encode(),
                |_| {},
            )])?;
        }
        drop(journal);
        drop(store);
        self.start(dir, "from the log")?;
        snapshot(dir)?;
        self.start(dir, "from a snapshot")
    }

    fn start(&self, dir: &Path, what: &str) -> anyhow::Result<()> {
        if self.cold {
            // Only what is on the disk already can be forgotten; the journal has synced all of it.
            std::fs::write("/proc/sys/vm/drop_caches", "3")
                .context("cannot drop the page cache; hint: leave out --cold, or run as root on Linux")?;
        }
        let began = Instant::now();
        let (store, _log, recovery) = server::open(dir)?;
        let took = began.elapsed();
        println!(
            "{} objects {what}: {:.1} s ({} records from the snapshot, {} from the log)",
            self.objects,
            took.as_secs_f64(),
            recovery.snapshot_records,
            recovery.log_records,
        );
        drop(store);
        Ok(())
    }
}

/// Writes a snapshot of what is there, as the server does when its log has become long.
fn snapshot(dir: &Path) -> anyhow::Result<()> {
    let mut store = Store::default();
    let (journal, recovery) = Journal::open(dir, Options::default(), |found| {
        store.restore(&Record::decode(found.payload)?);
        Ok(())
    })?;
    let objects = store.snapshot();
    let records =
        objects.into_iter().map(|(resource, key, entry)| Record::of(resource, &key, &entry).encode());
    let (tell, told) = mpsc::channel();
    journal.snapshot(recovery.last_revision, records, move |written| drop(tell.send(written)))?;
    told.recv().context("the snapshot was given up")??;
    Ok(())
}

/// A pod of about one and a half kibibytes.
fn pod(number: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("pod-{number:08}"), "namespace": "default", "uid": format!("{number:036}"),
            "labels": {"app": format!("app-{}", number % 100)}, "annotations": {"filler": "x".repeat(900)}},
        "spec": {"nodeName": format!("node-{}", number % 5000), "schedulerName": "default-scheduler",
            "containers": [{"name": "main", "image": "registry.example.com/team/image:1.2.3",
                "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}]},
        "status": {"phase": "Running", "qosClass": "Burstable"}})
}
