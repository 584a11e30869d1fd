//! A candidate at work: reads the lease, does what `decide` says, and tells how it stands.
//!
//! Leadership is counted from before a renewal was sent, and its end is told in time even while a request hangs.

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use model::timestamp::Timestamp;
use objects::MicroTime;
use objects::coordination::Lease;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use uuid::Uuid;

use super::decide::{BadTerms, LeaseAction, Observed, Terms, decide};
use crate::answer::Answer;
use crate::backoff::fraction;
use crate::connection::Connection;
use crate::resource::Resource;

/// Who wants to lead, and what.
#[derive(Clone, Debug)]
pub struct Candidacy {
    /// The namespace of the lease.
    pub namespace: String,
    /// The name of the lease.
    pub name: String,
    /// Who we are; no two candidates may be the same.
    pub identity: String,
    /// How long things last.
    pub terms: Terms,
}

/// How a candidate stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leadership {
    /// Another leads, or nobody does that we know of.
    Following {
        /// Who leads, as far as we know.
        leader: Option<String>,
        /// Why the lease could not be read or written the last time.
        trouble: Option<String>,
    },
    /// We lead.
    Leading {
        /// Until then at least, also if nothing more is heard. Moves on with each renewal.
        until: Instant,
    },
    /// We led and lead no longer. The election is over for us; stand again to take part in the next.
    Lost {
        /// What happened.
        why: String,
    },
    /// We gave up, and the lease is free if it was ours.
    Resigned,
}

/// A candidate at work. Dropped, it stops without giving up the lease, which then runs out.
pub struct Election {
    state: watch::Receiver<Leadership>,
    resign: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Election {
    /// How we stand, now and from now on.
    pub fn state(&self) -> watch::Receiver<Leadership> {
        self.state.clone()
    }

    /// Stops, and frees the lease if it is ours, so that the next leader need not wait.
    pub async fn resign(self) {
        // If the task is over already there is nothing to give up.
        let _ = self.resign.send(());
        let _ = self.task.await;
    }
}

/// A name for this process that no other has: the host's, and a random part.
pub fn identity() -> String {
    let host =
        ["/proc/sys/kernel/hostname", "/etc/hostname"].iter().find_map(|path| fs::read_to_string(path).ok());
    let host = host.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default();
    let host = host.trim();
    format!("{}_{}", if host.is_empty() { "localhost" } else { host }, Uuid::new_v4())
}

/// Stands for election. Must be called within the async runtime.
///
/// # Errors
/// When the terms do not fit together.
pub fn lead(connection: Connection, candidacy: Candidacy) -> Result<Election, BadTerms> {
    candidacy.terms.check()?;
    let (told, state) = watch::channel(Leadership::Following { leader: None, trouble: None });
    let (resign, resigned) = oneshot::channel();
    let leases = Resource::named("leases").within(&candidacy.namespace);
    let seen = Observed::default();
    let candidate = Candidate {
        connection,
        candidacy,
        leases,
        told,
        seen,
        start: Instant::now(),
        fresh: false,
        trouble: None,
    };
    let task = tokio::spawn(candidate.run(resigned));
    Ok(Election { state, resign, task })
}

struct Candidate {
    connection: Connection,
    candidacy: Candidacy,
    leases: Resource<Lease>,
    told: watch::Sender<Leadership>,
    seen: Observed,
    /// The zero of our clock.
    start: Instant,
    /// What was seen of the lease was our own write, so it need not be read again before the next.
    fresh: bool,
    trouble: Option<String>,
}

impl Candidate {
    async fn run(mut self, resigned: oneshot::Receiver<()>) {
        tokio::select! {
            biased;
            asked = resigned => {
                // Dropped without a word, the election is over and the lease is left to run out.
                if asked.is_ok() {
                    self.release().await;
                    self.told.send_replace(Leadership::Resigned);
                }
            }
            why = self.stand() => drop(self.told.send_replace(Leadership::Lost { why })),
        }
    }

    /// Acquires and renews until the lease is lost, and says why it was.
    async fn stand(&mut self) -> String {
        let terms = self.candidacy.terms;
        loop {
            let deadline = self.seen.renewed.map(|renewed| self.start + renewed + terms.renew_deadline);
            let in_time = match deadline {
                Some(deadline) => timeout_at(deadline, self.attempt()).await,
                None => timeout(terms.renew_deadline, self.attempt()).await,
            };
            if in_time.is_err() {
                self.fresh = false;
                self.trouble = Some(format!("{} does not answer in time", self.connection.server()));
            }
            if decide(&self.seen, &self.candidacy.identity, &terms, self.now()) == LeaseAction::Lost {
                return self.why_lost();
            }
            self.tell();
            let pause = match self.seen.renewed {
                Some(renewed) => {
                    // The end of the term is never slept through.
                    let left = (renewed + terms.renew_deadline).saturating_sub(self.now());
                    terms.retry_period.min(left)
                }
                // Candidates that started together do not ask together.
                None => terms.retry_period.mul_f64(1.0 + 1.2 * fraction()),
            };
            sleep(pause).await;
        }
    }

    /// Reads the lease if need be, and does what is to be done. Tried again at once if somebody else was faster.
    async fn attempt(&mut self) {
        for _ in 0..2 {
            if !self.fresh && !self.read().await {
                return;
            }
            let begun = self.now();
            let answer = match decide(&self.seen, &self.candidacy.identity, &self.candidacy.terms, begun) {
                LeaseAction::Wait { .. } | LeaseAction::Lost => return self.fresh = false,
                LeaseAction::Create => {
                    let mut lease = Lease::default();
                    lease.metadata.name.clone_from(&self.candidacy.name);
                    lease.metadata.namespace.clone_from(&self.candidacy.namespace);
                    self.connection.create(&self.leases, &self.taken(lease)).await
                }
                LeaseAction::Take | LeaseAction::Renew => {
                    let lease =
                        self.seen.lease.clone().expect("only a lease that is there is taken or renewed");
                    self.connection.update(&self.leases, &self.taken(lease)).await
                }
            };
            self.trouble = answer.trouble();
            match answer {
                Answer::Done(lease) => {
                    self.observe(Some(lease));
                    self.seen.renewed = Some(begun);
                    self.fresh = true;
                    return;
                }
                Answer::Conflict(_) | Answer::AlreadyExists(_) | Answer::NotFound(_) => self.fresh = false,
                _ => return self.fresh = false,
            }
        }
    }

    async fn read(&mut self) -> bool {
        let answer = self.connection.get(&self.leases, &self.candidacy.name).await;
        self.trouble = answer.trouble();
        match answer {
            Answer::Done(lease) => self.observe(Some(lease)),
            Answer::NotFound(_) => self.observe(None),
            _ => return false,
        }
        true
    }

    fn observe(&mut self, lease: Option<Lease>) {
        let spec = |lease: &Option<Lease>| lease.as_ref().map(|lease| lease.spec.clone());
        if spec(&lease) != spec(&self.seen.lease) {
            self.seen.since = self.now();
        }
        self.seen.lease = lease;
    }

    /// The lease in our name, renewed now.
    fn taken(&self, mut lease: Lease) -> Lease {
        let now = Some(wall_clock());
        let spec = &mut lease.spec;
        if spec.holder_identity.as_deref() != Some(&self.candidacy.identity) {
            // Making the lease is no transition, taking it over is.
            let made = lease.metadata.resource_version.is_empty();
            spec.lease_transitions =
                Some(if made { 0 } else { spec.lease_transitions.unwrap_or(0).saturating_add(1) });
            spec.acquire_time = now;
            spec.holder_identity = Some(self.candidacy.identity.clone());
        }
        spec.renew_time = now;
        // Leases count whole seconds; rounding up errs on the side of one leader.
        let seconds = self.candidacy.terms.lease_duration.as_millis().div_ceil(1000);
        spec.lease_duration_seconds = Some(i32::try_from(seconds).unwrap_or(i32::MAX));
        lease
    }

    /// Frees the lease if it is ours.
    async fn release(&mut self) {
        let _ = timeout(self.candidacy.terms.renew_deadline, async {
            // A renewal may have been under way when we were asked, so what we know may be one write old.
            while self.seen.renewed.is_some() && self.read().await {
                let Some(mut lease) = self.seen.lease.clone() else { return };
                if lease.spec.holder_identity.as_deref() != Some(&self.candidacy.identity) {
                    return;
                }
                let now = Some(wall_clock());
                lease.spec.holder_identity = Some(String::new());
                lease.spec.lease_duration_seconds = Some(1);
                (lease.spec.acquire_time, lease.spec.renew_time) = (now, now);
                if !matches!(self.connection.update(&self.leases, &lease).await, Answer::Conflict(_)) {
                    return;
                }
            }
        })
        .await;
    }

    fn tell(&self) {
        let leadership = match self.seen.renewed {
            Some(renewed) => {
                Leadership::Leading { until: self.start + renewed + self.candidacy.terms.renew_deadline }
            }
            None => {
                let holder = self.seen.lease.as_ref().and_then(|lease| lease.spec.holder_identity.clone());
                let leader = holder.filter(|holder| !holder.is_empty());
                Leadership::Following { leader, trouble: self.trouble.clone() }
            }
        };
        self.told.send_if_modified(|told| {
            let news = *told != leadership;
            *told = leadership;
            news
        });
    }

    fn why_lost(&self) -> String {
        let holder = self.seen.lease.as_ref().and_then(|lease| lease.spec.holder_identity.as_deref());
        match holder {
            Some(holder) if holder != self.candidacy.identity && !holder.is_empty() => {
                format!("{holder} has taken the lease {}", self.candidacy.name)
            }
            _ => {
                let trouble = self.trouble.as_deref().unwrap_or("its holder released it");
                format!("the lease {} could not be renewed: {trouble}", self.candidacy.name)
            }
        }
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

fn wall_clock() -> MicroTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    MicroTime(Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX)))
}
