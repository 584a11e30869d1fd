//! Health reports on their way to the kubelet.
//!
//! Reports are passed on as they come and are never repeated by the kit: only the driver knows whether they still hold. If
//! it is silent for longer than its last report was valid, it hears of that once.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::plugin::calls::Calls;
use crate::plugin::driver::{DeviceHealth, Driver, HealthReports};
use crate::plugin::trouble::Trouble;

/// How long the kubelet believes a report that does not say.
const VALID_FOR: Duration = Duration::from_secs(30);

/// One kubelet that listens.
pub(crate) struct Reports<D> {
    reports: HealthReports,
    calls: Arc<Calls<D>>,
    stop: watch::Receiver<bool>,
    last: Instant,
    /// When the last report is no longer true, unless that was said.
    stale_at: Option<Instant>,
}

impl<D: Driver> Reports<D> {
    pub(crate) fn new(reports: HealthReports, calls: Arc<Calls<D>>, stop: watch::Receiver<bool>) -> Self {
        let last = Instant::now();
        Self { reports, calls, stop, last, stale_at: Some(last + VALID_FOR) }
    }

    /// The reports, until the driver has no more or the plugin stops.
    pub(crate) fn stream(self) -> impl Stream<Item = Vec<DeviceHealth>> + Send {
        stream::unfold(self, |mut reports| async move {
            let report = reports.next().await?;
            Some((report, reports))
        })
    }

    async fn next(&mut self) -> Option<Vec<DeviceHealth>> {
        loop {
            let stale_at = self.stale_at;
            tokio::select! {
                report = self.reports.next() => {
                    let report = report?;
                    self.last = Instant::now();
                    self.stale_at = Some(self.last + validity(&report));
                    return Some(report);
                }
                () = sleep_until(stale_at.unwrap_or(self.last)), if stale_at.is_some() => {
                    self.stale_at = None;
                    self.calls.driver().trouble(&Trouble::HealthStale { silent: self.last.elapsed() });
                }
                // A plugin that is gone stops, too.
                _ = self.stop.wait_for(|stop| *stop) => return None,
            }
        }
    }
}

/// For how long all of a report is true.
fn validity(report: &[DeviceHealth]) -> Duration {
    let each = report.iter().map(|device| device.valid_for);
    each.map(|time| if time.is_zero() { VALID_FOR } else { time }).min().unwrap_or(VALID_FOR)
}
