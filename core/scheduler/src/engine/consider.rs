//! What takes longer to decide than others can wait: it is asked for as a consideration, and the verdict is acted on when it comes.
//!
//! Invariant: nothing rests on a verdict about an earlier moment. If anything happened since, it is acted on only as far as it holds now, and
//! else the question is decided anew.

use std::sync::Arc;
use std::time::Duration;

use cluster::change::Change;
use cluster::groups::Key;
use decisions::considering::{Consideration, SchedulingQuestion, SchedulingVerdict, Situation, Snapshot};
use decisions::notice::Notice;
use decisions::preempt::Nomination;
use model::pod::Pod;
use model::timestamp::Timestamp;

use crate::considerations::{ConsiderationId, ConsiderationOutcome};
use crate::engine::{Engine, Input};
use crate::queue::Failure;
use crate::write::WaitReason;

impl Engine {
    /// What is known at this moment.
    fn situation(&mut self) -> Situation<'_> {
        Situation {
            settings: &self.settings,
            facts: &mut self.facts,
            plans: &self.plans,
            underway: &self.bindings,
            caches: &mut self.caches,
            now: self.now,
        }
    }

    /// Decides about what was taken from the queue, and says whether it did. If that takes longer than others can wait, it is
    /// considered later.
    pub(super) fn decide(&mut self, now: Timestamp, key: &Key, question: &SchedulingQuestion) -> bool {
        let verdict = self.outbox.considerations.take(key);
        let aside = self.put_aside(question);
        self.caches.work.begin_slice(self.facts.nodes.count_max());
        let decided = match verdict {
            None => self.situation().decide(question),
            Some((_, ConsiderationOutcome::Failed(why))) => {
                self.put_back_aside(aside);
                self.fail_to_decide(now, key, question, why);
                return true;
            }
            Some((asked, ConsiderationOutcome::Decided(considered))) => {
                if self.outbox.considerations.is_current(&asked) {
                    Some(considered.verdict)
                } else if let Some(verdict) = self.situation().confirm(question, *considered) {
                    Some(verdict)
                } else {
                    self.put_back_aside(aside);
                    let until = self.outbox.considerations.outdated(key, now);
                    self.queue.postpone(key, until);
                    return true;
                }
            }
        };
        let Some(verdict) = decided else {
            self.put_back_aside(aside);
            let queue = &self.queue;
            self.outbox.considerations.forget_unless(|key| queue.contains(key));
            self.outbox.considerations.put_off(key, now);
            self.queue.put_off(key);
            return false;
        };
        self.outbox.considerations.settle(key);
        self.act(now, key, question, verdict, aside);
        true
    }

    fn act(
        &mut self,
        now: Timestamp,
        key: &Key,
        question: &SchedulingQuestion,
        verdict: SchedulingVerdict,
        aside: Vec<Nomination>,
    ) {
        match (question, verdict) {
            (SchedulingQuestion::Pod(pod), SchedulingVerdict::Pod(verdict)) => {
                self.act_on_pod(now, pod, *verdict)
            }
            (SchedulingQuestion::Gang { group, members, .. }, SchedulingVerdict::Gang(verdict)) => {
                self.act_on_gang(now, (key, group), members, *verdict, aside);
            }
            (SchedulingQuestion::Tree { root, members }, SchedulingVerdict::Gang(verdict)) => {
                self.act_on_tree(now, (key, root), members, *verdict, aside);
            }
            (SchedulingQuestion::Pod(_), SchedulingVerdict::Gang(_)) | (_, SchedulingVerdict::Pod(_)) => {
                unreachable!("a verdict is about what was asked")
            }
        }
    }

    /// Room that is kept for members of a gang does not matter to it.
    fn put_aside(&mut self, question: &SchedulingQuestion) -> Vec<Nomination> {
        match question {
            SchedulingQuestion::Pod(_) => Vec::new(),
            SchedulingQuestion::Gang { members, .. } | SchedulingQuestion::Tree { members, .. } => {
                self.put_nominations_aside(members)
            }
        }
    }

    /// The room of nominees is theirs again.
    fn put_back_aside(&mut self, aside: Vec<Nomination>) {
        aside.into_iter().for_each(|nomination| self.nominate(nomination));
    }

    /// What is waited for under a key of the queue: where these go. If that is not the question now, the key is not waited for any
    /// more, or waits for something else.
    pub(super) fn question(&mut self, now: Timestamp, key: &Key) -> Option<SchedulingQuestion> {
        let question = match key {
            Key::Pod(uid) => self.question_about_pod(now, key, uid),
            Key::Gang(id) => self.question_about_gang(now, key, id),
            Key::Tree(id) => self.question_about_tree(now, key, id),
        };
        if question.is_none() {
            self.outbox.considerations.settle(key);
        }
        question
    }

    /// Takes note that what was done may change other decisions.
    pub(super) fn note_changes(&mut self) {
        self.outbox.note_changes();
    }

    /// A question could not be decided, whatever the reason: it is tried again after a while.
    fn fail_to_decide(&mut self, now: Timestamp, key: &Key, question: &SchedulingQuestion, why: String) {
        self.outbox.considerations.settle(key);
        self.queue.put_back(key, Failure::Failed, now);
        let message = Notice::SearchFailed { why }.to_string();
        let pods = question.pods();
        let news = self.queue.news(key, pods.iter().map(|pod| &pod.uid), (&*message).into(), now);
        for pod in pods.iter().filter(|pod| news.is_written(&pod.uid) && pod.node.is_none()) {
            self.note_pod(pod, WaitReason::SchedulerError, message.clone());
        }
    }

    /// Whether a turn would ask for something to be considered.
    #[must_use]
    pub fn begins_consideration(&self) -> bool {
        self.outbox.considerations.may_begin() && self.queue.has_undecided()
    }

    /// What is known at this moment. It shares with the engine what neither changes afterwards.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            settings: self.settings.clone(),
            facts: self.facts.clone(),
            plans: self.plans.clone(),
            underway: self.bindings.freeze(),
            now: self.now,
        }
    }

    /// A scheduler that knows what a snapshot has, and has written nothing yet.
    #[must_use]
    pub fn of(snapshot: Snapshot) -> Engine {
        let Snapshot { settings, facts, plans, underway: _, now } = snapshot;
        let mut waiting: Vec<Arc<Pod>> = facts.waiting.values().cloned().collect();
        waiting.sort_by(|one, other| (one.created, &one.id).cmp(&(other.created, &other.id)));
        let mut engine = Engine { facts, plans, now, ..Engine::new(settings) };
        for (place, pod) in waiting.into_iter().enumerate() {
            // They get their places in the queue, a moment after one another. Nothing is decided, so nothing has to be done.
            let then = now.plus(Duration::from_micros(place as u64));
            drop(engine.handle(then, Input::Changed(Change::PodApplied(pod))));
        }
        engine
    }

    /// Asks for what takes long to be considered, the most important first, as long as another may begin, and says whether there was
    /// something.
    pub(super) fn begin_considerations(&mut self, now: Timestamp) -> bool {
        let mut has_begun = false;
        while self.outbox.considerations.may_begin()
            && let Some(key) = self.queue.next_undecided()
        {
            let Some(question) = self.question(now, &key) else { continue };
            self.outbox.considerations.note_undecided(&key, now);
            let aside = self.put_aside(&question);
            let snapshot = Snapshot { now, ..self.snapshot() };
            self.put_back_aside(aside);
            self.note_changes();
            let id = self.outbox.considerations.begin(&key);
            let (expressions, work_max) = (self.caches.expressions.share(), self.caches.work.most());
            let lanes = self.caches.lanes.clone();
            self.outbox.consider(id, Consideration { snapshot, question, expressions, work_max, lanes });
            self.queue.consider(&key);
            has_begun = true;
        }
        has_begun
    }

    /// A verdict is there: what it is about has its turn.
    pub(super) fn considered(&mut self, id: ConsiderationId, mut outcome: ConsiderationOutcome) {
        if let ConsiderationOutcome::Decided(considered) = &mut outcome {
            self.caches.expressions.rejoin(std::mem::take(&mut considered.expressions));
            self.caches.adopt(std::mem::take(&mut considered.learned), &self.facts.touches);
        }
        let Some(asked) = self.outbox.considerations.end(id) else { return };
        if self.outbox.considerations.is_asked_again(id, &asked.key)
            || !self.queue.end_considering(&asked.key)
        {
            return;
        }
        self.outbox.considerations.keep(asked, outcome);
    }

    /// Says of pods that it is not decided yet where they go, if nothing else was told of why they wait.
    pub(super) fn tell_undecided(&mut self, now: Timestamp) {
        let message = Notice::Undecided.to_string();
        for key in self.outbox.considerations.take_due(now) {
            if !self.queue.is_undecided(&key) || self.queue.is_told(&key) {
                continue;
            }
            let pods = match &key {
                Key::Pod(uid) => self.facts.waiting.get(uid).cloned().into_iter().collect(),
                Key::Gang(_) | Key::Tree(_) => {
                    key.root().map(|root| self.members_here(&root)).unwrap_or_default()
                }
            };
            let news = self.queue.news(&key, pods.iter().map(|pod| &pod.uid), (&*message).into(), now);
            for pod in pods.iter().filter(|pod| news.is_written(&pod.uid) && pod.node.is_none()) {
                self.note_pod(pod, WaitReason::Undecided, message.clone());
            }
        }
    }
}
