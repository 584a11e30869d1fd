//! Somebody who makes devices ready once they are chosen: says of each that it is ready, or that it failed, or nothing at all.
//!
//! Invariant: what is said is said of the allocation that was seen. Reports name the version of the claim that they were made
//! from, so that none is believed of devices that the claim got since.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::World;
use super::api::{Api, text};
use super::component::Component;
use super::dice::Dice;
use super::replica::Stream;
use super::shown::Shown;

/// The condition that says that a device is ready.
pub(super) const READY: &str = "example.com/Ready";

/// The condition that says that it will not be.
pub(super) const FAILED: &str = "example.com/Failed";

/// How long a device may take.
pub(super) const TIMEOUT: &str = "6s";

/// Whoever makes devices ready, and what it knows.
#[derive(Debug)]
pub(crate) struct Attacher {
    claims: Stream,
    /// Devices of which nothing will be heard: the uid of the claim, when it got them, and the place in its results.
    silent: BTreeSet<(String, String, usize)>,
}

/// A device that waits to be made ready.
struct Waiting {
    claim: Arc<Shown>,
    at: usize,
}

impl Attacher {
    pub fn new(api: &Api) -> Attacher {
        Attacher { claims: Stream::new(api.site("ResourceClaim")), silent: BTreeSet::new() }
    }

    /// Devices that wait, as far as is known.
    fn waiting(&self) -> Vec<Waiting> {
        let mut waiting = Vec::new();
        for claim in self.claims.known.values() {
            let results = claim["status"]["allocation"]["devices"]["results"].as_array();
            let reports = claim["status"]["devices"].as_array();
            let said = |result: &Value| {
                let report = reports.into_iter().flatten().find(|report| is_about(report, result));
                report.and_then(|report| report["conditions"].as_array()).is_some_and(|all| !all.is_empty())
            };
            for (at, result) in results.into_iter().flatten().enumerate() {
                if result.get("bindingConditions").is_some() && !said(result) {
                    waiting.push(Waiting { claim: claim.clone(), at });
                }
            }
        }
        waiting
    }

    /// Says something of a device that waits, or decides to say nothing, and tells what.
    pub fn work(&mut self, api: &mut Api, dice: &mut Dice, is_kind: bool) -> Option<String> {
        let most = if is_kind { usize::MAX } else { dice.below(6) };
        if self.claims.listed {
            self.claims.news(api, most);
        } else {
            self.claims.everything(api);
        }
        let mut waiting = self.waiting();
        if !is_kind {
            waiting.retain(|one| !self.silent.contains(&key(one)));
        }
        let one = dice.pick(&waiting)?;
        let condition = match dice.below(10) {
            _ if is_kind => READY,
            0..=5 => READY,
            6 | 7 => FAILED,
            _ => {
                self.silent.insert(key(one));
                return None;
            }
        };
        let mut claim = Value::clone(&one.claim);
        report(&mut claim, one.at, condition, &api.now.to_seconds().to_string());
        // Who was overtaken sees so by the next news.
        let written = api.update("ResourceClaim", claim, true).ok()?;
        Some(format!("says that a device of claim {} is {condition}", text(&written["metadata"]["name"])))
    }
}

impl World {
    /// Somebody makes devices ready.
    pub(super) fn make_ready(&mut self) {
        let is_kind = self.setup.calm || self.life.is_some();
        let Some(what) = self.attacher.work(&mut self.api, &mut self.chances, is_kind) else { return };
        self.did(Component::Driver, &what, 0);
    }
}

fn key(one: &Waiting) -> (String, String, usize) {
    let since = &one.claim["status"]["allocation"]["allocationTimestamp"];
    (text(&one.claim["metadata"]["uid"]).to_owned(), text(since).to_owned(), one.at)
}

fn is_about(report: &Value, result: &Value) -> bool {
    ["driver", "pool", "device", "shareID"].iter().all(|field| report.get(field) == result.get(field))
}

/// Writes down what is said of a device.
fn report(claim: &mut Value, at: usize, condition: &str, time: &str) {
    let result = claim["status"]["allocation"]["devices"]["results"][at].clone();
    let mut report = json!({ "conditions": [{
        "type": condition, "status": "True", "reason": "Said", "message": "", "lastTransitionTime": time,
    }] });
    for field in ["driver", "pool", "device", "shareID"] {
        if let Some(value) = result.get(field) {
            report[field] = value.clone();
        }
    }
    let status = &mut claim["status"];
    if !status["devices"].is_array() {
        status["devices"] = json!([]);
    }
    if let Some(reports) = status["devices"].as_array_mut() {
        reports.retain(|old| !is_about(old, &result));
        reports.push(report);
    }
}
