//! Eviction, carried out: a pod is marked, an event says so, and the pod is deleted.
//!
//! Invariant: only the pod that was decided about is deleted, not one that took its name.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use client::{Answer, Patch};
use controllers::evictions::{self, EvictionAction, Evictor};
use model::timestamp::Timestamp;
use objects::core::pod::Pod;
use objects::meta::{DeleteOptions, Preconditions};

use crate::controller::{Done, Look, Reception, Tools, Undone, done};
use crate::kinds::resource;
use crate::notice::Notice;

/// When a pod is to go and why, or that it may stay.
pub(crate) type Sentence = Option<(Timestamp, String)>;

/// The evictions on behalf of somebody.
pub(crate) struct Evictions {
    evictor: Evictor,
    /// Pods for which one is foreseen, by uid, so that somebody hears of it when it is called off.
    foreseen: Mutex<BTreeSet<String>>,
    /// When something could last not be heard.
    broken: Option<Timestamp>,
}

impl Evictions {
    pub(crate) const fn new(evictor: Evictor) -> Self {
        Self { evictor, foreseen: Mutex::new(BTreeSet::new()), broken: None }
    }

    /// Hears how things can be heard.
    pub(crate) fn tune(&mut self, reception: Reception, now: Timestamp) {
        if reception == Reception::Broken {
            self.broken = Some(now);
        }
    }

    /// Forgets a pod that is gone; says whether something was foreseen for it.
    pub(crate) fn forget(&self, pod: &Pod) -> bool {
        self.foreseen().remove(&pod.metadata.uid)
    }

    /// What there is to do about a pod.
    pub(crate) fn look(&self, pod: &Arc<Pod>, sentence: Sentence, tools: &Tools) -> Look {
        let evictor = self.evictor;
        // Who could not hear everything a moment ago may not have heard yet that a taint is gone.
        let not_before = self.broken.map(|broken| broken.plus(tools.limits.settle)).unwrap_or_default();
        let at = sentence.as_ref().map(|(at, _)| not_before.max(*at));
        match evictions::decide(pod, evictor, at, tools.clock.now()) {
            EvictionAction::Leave => {
                let goes = pod.metadata.deletion_timestamp.is_some();
                if self.forget(pod) && !goes {
                    tools.tell(&**pod, evictor.controller(), evictor.event(), CALLED_OFF.to_owned());
                }
                Look::NOTHING
            }
            EvictionAction::Wait(until) => {
                self.foreseen().insert(pod.metadata.uid.clone());
                Look::at(until)
            }
            EvictionAction::Spare => {
                self.forget(pod);
                Look::work(spare(tools.clone(), evictor, pod.clone()))
            }
            EvictionAction::Evict { mark } => {
                self.forget(pod);
                let (due, why) = sentence.expect("who is evicted has a time");
                Look::work(evict(tools.clone(), evictor, pod.clone(), Verdict { mark, due, why }))
            }
        }
    }

    fn foreseen(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.foreseen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an event says of an eviction that is not to be after all.
const CALLED_OFF: &str = "Cancelling deletion";

/// That a pod goes now.
struct Verdict {
    /// It has no mark yet.
    mark: bool,
    /// When it was to go.
    due: Timestamp,
    why: String,
}

async fn spare(tools: Tools, evictor: Evictor, pod: Arc<Pod>) -> Result<Done, Undone> {
    let patch = evictions::spare(&pod, evictor, tools.clock.now());
    let mut spared = Done::default();
    spared.learn(patched(&tools, &pod, &patch).await?);
    tools.tell(&*pod, evictor.controller(), evictor.event(), CALLED_OFF.to_owned());
    Ok(spared)
}

async fn evict(tools: Tools, evictor: Evictor, pod: Arc<Pod>, verdict: Verdict) -> Result<Done, Undone> {
    let Verdict { mark, due, why } = verdict;
    let pods = resource::<Pod>(&pod.metadata.namespace);
    let name = &pod.metadata.name;
    let mut evicted = Done::default();
    if mark {
        let patch = evictions::mark(&pod, evictor, &why, tools.clock.now());
        let marked = patched(&tools, &pod, &patch).await?;
        let goes = marked.metadata.deletion_timestamp.is_some();
        evicted.learn(marked);
        if goes {
            return Ok(evicted);
        }
    }
    let note = format!("Marking for deletion: {why}");
    tools.tell(&*pod, evictor.controller(), evictor.event(), note);
    let preconditions =
        Some(Preconditions { uid: Some(pod.metadata.uid.clone()), ..Preconditions::default() });
    let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
    match tools.connection.delete(&pods, name, &options).await {
        Answer::NotFound(_) => {}
        answer => {
            done(answer)?;
            let late = tools.clock.now().micros().saturating_sub(due.micros());
            let late = Duration::from_micros(u64::try_from(late).unwrap_or(0));
            tools.listener.hear(&Notice::Evicted { evictor, late });
        }
    }
    Ok(evicted)
}

/// The pod after a patch of its status.
pub(crate) async fn patched(tools: &Tools, pod: &Pod, patch: &serde_json::Value) -> Result<Pod, Undone> {
    let pods = resource::<Pod>(&pod.metadata.namespace);
    done(tools.connection.patch_status(&pods, &pod.metadata.name, &Patch::Strategic, patch).await)
}
