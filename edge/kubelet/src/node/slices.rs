//! Slices of this node go when nobody answers for their devices.

use std::time::Duration;

use client::{Answer, Connection, Resource, Selectors};
use objects::meta::DeleteOptions;
use objects::resource::slice::ResourceSlice;
use tokio::time::sleep;

use crate::simulated::Complaints;

/// The pauses between attempts.
const PAUSE_FIRST: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(300);

/// Deletes the slices of a node, of one driver or of all, and tries again until it is done.
pub(crate) async fn wipe(connection: &Connection, node: &str, driver: Option<&str>, complaints: &Complaints) {
    let slices = Resource::<ResourceSlice>::named("resourceslices");
    let mut fields = format!("spec.nodeName={node}");
    if let Some(driver) = driver {
        fields.push_str(&format!(",spec.driver={driver}"));
    }
    let selectors = Selectors { fields, ..Selectors::default() };
    let mut pause = PAUSE_FIRST;
    loop {
        match connection.delete_all(&slices, &selectors, &DeleteOptions::default()).await {
            // A server that does not serve slices has none.
            Answer::Done(()) | Answer::NotFound(_) => return,
            answer => complaints(&answer.trouble().unwrap_or_default()),
        }
        sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}
