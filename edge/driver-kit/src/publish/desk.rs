//! Decides what to write next, given what is wanted, what is known, and what is under way.
//!
//! Invariants: a slice has at most one write under way, and a pool is looked at again only when all its writes are
//! settled, so that what is sent at the same time is always of one plan. After a write whose answer was lost the slice is
//! read before anything else happens to its pool. Nothing here waits, reads a clock or touches a socket.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::once;
use std::time::Duration;

use objects::meta::OwnerReference;
use objects::resource::slice::{ResourceSlice, ResourceSliceSpec};

use crate::publish::difference::{Added, Difference, between};
use crate::publish::dropped;
use crate::publish::known::Known;
use crate::publish::plan::{Alterations, Altered, Publication, SliceWrite, plan};
use crate::publish::pool::{Pool, Scope};
use crate::publish::trouble::PublishTrouble;

/// How long a pool is left alone after its first failure. Doubles with each.
const PAUSE_FIRST: Duration = Duration::from_millis(200);

/// How long a pool is left alone at most.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Something to do on the server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Job {
    /// Write a slice.
    Write(Box<SliceWrite>),
    /// Read the slice of this name.
    Read(String),
}

/// What came of a job.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// It is over.
    Clear(Verdict),
    /// The slice must be read before anything else happens to its pool.
    Unclear(Doubt),
}

/// How a job ended.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    /// The slice is now so.
    Stored(Box<ResourceSlice>),
    /// There is no such slice.
    Missing,
    /// It did not happen, and will not happen if it is tried again at once.
    Failed {
        /// What went wrong.
        why: String,
        /// When the server wants to be asked again.
        retry_after: Option<Duration>,
    },
}

/// Why nobody knows how a slice is.
#[derive(Clone, Debug)]
pub(crate) enum Doubt {
    /// Its deletion was asked for; with a finalizer it stays for a while.
    Deleting,
    /// Somebody else was faster.
    Overtaken,
    /// There was no answer.
    Lost {
        /// What went wrong.
        why: String,
    },
}

/// How long a pool is left alone, and why so long.
#[derive(Debug, Default)]
struct Rest {
    failures: u32,
    not_before: Duration,
}

/// All that the decision rests on.
#[derive(Debug)]
pub(crate) struct Desk {
    publication: Publication,
    wanted: BTreeMap<String, Pool>,
    known: Known,
    alterations: Alterations,
    /// Somebody said what is wanted. Before that nothing is deleted.
    is_told: bool,
    /// Everything that was there at the start has been said.
    is_complete: bool,
    /// Slices of a node need the node's uid.
    has_owner: bool,
    /// Pools that must be looked at.
    restless: BTreeSet<String>,
    /// Jobs under way: the pool of each slice.
    busy: BTreeMap<String, String>,
    /// What the watch said last of a slice while a job about it was under way: that it is there, or not.
    heard: BTreeMap<String, bool>,
    /// What is written: as it was sent.
    sent: BTreeMap<String, ResourceSliceSpec>,
    rests: BTreeMap<String, Rest>,
    /// What was said of a pool's fields that the server drops, so that it is said once.
    said: BTreeMap<String, Vec<String>>,
}

impl Desk {
    pub(crate) fn new(driver: &str, scope: Scope) -> Self {
        let owner = match &scope {
            Scope::Node(_) => None,
            Scope::Network { owner } => owner.clone(),
        };
        let has_owner = matches!(scope, Scope::Network { .. });
        Self {
            publication: Publication { driver: driver.to_owned(), scope, owner },
            wanted: BTreeMap::new(),
            known: Known::default(),
            alterations: Alterations::default(),
            is_told: false,
            is_complete: false,
            has_owner,
            restless: BTreeSet::new(),
            busy: BTreeMap::new(),
            heard: BTreeMap::new(),
            sent: BTreeMap::new(),
            rests: BTreeMap::new(),
            said: BTreeMap::new(),
        }
    }

    /// These pools are wanted, and no others.
    pub(crate) fn want(&mut self, pools: Vec<Pool>) {
        let pools: BTreeMap<String, Pool> = pools.into_iter().map(|pool| (pool.name.clone(), pool)).collect();
        for name in self.wanted.keys().chain(pools.keys()) {
            if self.wanted.get(name) != pools.get(name) {
                self.restless.insert(name.clone());
                // What was refused before may be right now.
                self.rests.remove(name);
            }
        }
        self.wanted = pools;
        self.is_told = true;
    }

    /// The node has this uid.
    pub(crate) fn owned_by(&mut self, owner: OwnerReference) {
        if self.publication.owner.as_ref() != Some(&owner) {
            self.publication.owner = Some(owner);
            self.has_owner = true;
            self.restless.extend(self.wanted.keys().cloned());
        }
    }

    /// The watch says that a slice is so.
    pub(crate) fn applied(&mut self, slice: ResourceSlice) {
        let (name, pool) = (slice.metadata.name.clone(), slice.spec.pool.name.clone());
        if self.belongs(&slice) && self.known.apply(slice) {
            self.hear(&name, true);
            self.restless.insert(pool);
        }
    }

    /// The watch says that a slice is gone. Whether that is news.
    pub(crate) fn vanished(&mut self, name: &str, uid: &str) -> bool {
        let pool = self.known.vanished(name, uid).map(|slice| slice.spec.pool.name);
        let is_news = pool.is_some();
        if is_news {
            self.hear(name, false);
        }
        self.restless.extend(pool);
        is_news
    }

    fn hear(&mut self, name: &str, is_there: bool) {
        if self.busy.contains_key(name) {
            self.heard.insert(name.to_owned(), is_there);
        }
    }

    /// Everything that is there has been said.
    pub(crate) fn synced(&mut self) {
        self.is_complete = true;
        self.restless.extend(self.known.pools().into_iter().map(str::to_owned));
        self.restless.extend(self.wanted.keys().cloned());
    }

    /// The server was away. It may be another one now, with other features.
    pub(crate) fn interrupted(&mut self) {
        self.alterations.clear();
        self.said.clear();
    }

    /// What to do now. Each job must be answered.
    pub(crate) fn jobs(&mut self, now: Duration, room: usize) -> Vec<Job> {
        let mut jobs = Vec::new();
        if !self.can_decide() {
            return jobs;
        }
        let is_due = |pool: &String| self.rests.get(pool).is_none_or(|rest| rest.not_before <= now);
        let busy: BTreeSet<&String> = self.busy.values().collect();
        let due: Vec<String> =
            self.restless.iter().filter(|pool| !busy.contains(pool) && is_due(pool)).cloned().collect();
        for pool in due {
            if jobs.len() == room {
                break;
            }
            let there = self.known.of_pool(&pool);
            let writes = plan(&self.publication, self.wanted.get(&pool), &there, &self.alterations);
            if writes.is_empty() {
                self.rests.remove(&pool);
                self.restless.remove(&pool);
            }
            // The rest of a plan is planned again when this part is settled.
            for write in writes.into_iter().take(room - jobs.len()) {
                let name = write.slice().metadata.name.clone();
                self.busy.insert(name.clone(), pool.clone());
                if !matches!(write, SliceWrite::Delete(_)) {
                    self.sent.insert(name, write.slice().spec.clone());
                }
                jobs.push(Job::Write(Box::new(write)));
            }
        }
        jobs
    }

    /// What came of a job; what to do next about the same slice, and what somebody should know.
    pub(crate) fn settle(
        &mut self,
        name: &str,
        outcome: Outcome,
        now: Duration,
    ) -> (Option<Job>, Option<PublishTrouble>) {
        let pool = self.busy.get(name).expect("only what is under way is settled").clone();
        // What is read after a doubt may be somebody else's doing, and is not what the server made of what was sent.
        let sent = self.sent.remove(name);
        let heard = self.heard.remove(name);
        let read = Some(Job::Read(name.to_owned()));
        match outcome {
            Outcome::Unclear(doubt) => (read, self.doubt(pool, name, doubt, now)),
            // The answer is older than what the watch said, or younger: only the server knows.
            Outcome::Clear(Verdict::Stored(_)) if heard == Some(false) => (read, None),
            Outcome::Clear(Verdict::Missing) if heard == Some(true) => (read, None),
            Outcome::Clear(verdict) => {
                self.busy.remove(name);
                self.restless.insert(pool.clone());
                (None, self.conclude(pool, name, verdict, sent, now))
            }
        }
    }

    fn doubt(&mut self, pool: String, name: &str, doubt: Doubt, now: Duration) -> Option<PublishTrouble> {
        match doubt {
            Doubt::Deleting => None,
            Doubt::Overtaken => {
                self.rest(&pool, now, None);
                None
            }
            Doubt::Lost { why } => {
                let retry_in = self.rest(&pool, now, None);
                Some(PublishTrouble::Failed { pool, slice: name.to_owned(), why, retry_in })
            }
        }
    }

    fn conclude(
        &mut self,
        pool: String,
        name: &str,
        verdict: Verdict,
        sent: Option<ResourceSliceSpec>,
        now: Duration,
    ) -> Option<PublishTrouble> {
        match verdict {
            Verdict::Stored(found) if !self.belongs(&found) => {
                self.rest(&pool, now, None);
                let driver = found.spec.driver;
                Some(PublishTrouble::NameTaken { pool, slice: name.to_owned(), driver })
            }
            Verdict::Stored(found) => self.stored(pool, *found, sent),
            Verdict::Missing => {
                self.known.missing(name);
                None
            }
            Verdict::Failed { why, retry_after } => {
                let retry_in = self.rest(&pool, now, retry_after);
                Some(PublishTrouble::Failed { pool, slice: name.to_owned(), why, retry_in })
            }
        }
    }

    /// When to look again although nothing happened. A pool with jobs under way is looked at when they are settled.
    pub(crate) fn wake_at(&self, now: Duration) -> Option<Duration> {
        let busy: BTreeSet<&String> = self.busy.values().collect();
        let waiting = self.restless.iter().filter(|pool| !busy.contains(pool));
        let times = waiting.filter_map(|pool| self.rests.get(pool)).map(|rest| rest.not_before);
        times.filter(|time| *time > now).min()
    }

    /// The server has what is wanted, as far as is known.
    pub(crate) fn is_settled(&self) -> bool {
        self.can_decide() && self.restless.is_empty() && self.busy.is_empty()
    }

    fn can_decide(&self) -> bool {
        self.is_told && self.is_complete && self.has_owner
    }

    fn belongs(&self, slice: &ResourceSlice) -> bool {
        slice.spec.driver == self.publication.driver
            && slice.spec.node_name.as_deref().filter(|name| !name.is_empty())
                == self.publication.scope.node()
    }

    /// Takes an answer in, and notices if the server kept something else than it was sent.
    fn stored(
        &mut self,
        pool: String,
        slice: ResourceSlice,
        sent: Option<ResourceSliceSpec>,
    ) -> Option<PublishTrouble> {
        let mut trouble = None;
        if let Some(mut sent) = sent {
            self.rests.remove(&pool);
            Added::of(once(&slice)).keep(sent.devices.as_deref_mut().unwrap_or_default());
            if between(&sent, &slice.spec) == Difference::None {
                self.alterations.remove(&slice.metadata.name);
            } else {
                trouble = self.dropped(pool, &sent, &slice.spec);
                let kept = slice.spec.clone();
                self.alterations.insert(slice.metadata.name.clone(), Altered { sent, kept });
            }
        }
        self.known.apply(slice);
        trouble
    }

    fn dropped(
        &mut self,
        pool: String,
        sent: &ResourceSliceSpec,
        kept: &ResourceSliceSpec,
    ) -> Option<PublishTrouble> {
        let fields = dropped::fields(sent, kept);
        let said = self.said.entry(pool.clone()).or_default();
        let is_news = !fields.is_empty() && *said != fields;
        said.clone_from(&fields);
        is_news.then(|| PublishTrouble::FieldsDropped { pool, gates: dropped::gates(&fields), fields })
    }

    /// Leaves a pool alone for a while, longer with each failure.
    fn rest(&mut self, pool: &str, now: Duration, retry_after: Option<Duration>) -> Duration {
        let rest = self.rests.entry(pool.to_owned()).or_default();
        let pause = PAUSE_FIRST.saturating_mul(1 << rest.failures.min(20)).min(PAUSE_MAX);
        let pause = pause.max(retry_after.unwrap_or_default());
        rest.failures = rest.failures.saturating_add(1);
        rest.not_before = now + pause;
        pause
    }
}
