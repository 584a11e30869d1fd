//! The loop: facts come in, each controller looks at what they touch, and what is to be done is done.
//!
//! Invariant: what is looked at, and when, is for the [`Post`] of a controller to say; here it is done.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::controller::{Controller, Done, Look, Reception, Subject, Tools, Undone};
use crate::follow::{Fact, Heard, follow};
use crate::kinds::{Kind, KindId};
use crate::notice::Notice;
use crate::post::{Ended, Looked, Post};
use crate::world::World;

/// How many facts may wait; beyond that their streams do.
const INBOX_MAX: usize = 1024;

/// How often it is told that the loop is alive.
const BEAT_EVERY: Duration = Duration::from_secs(1);

/// What is tried again sooner than this is no trouble.
const BRIEF: Duration = Duration::from_secs(1);

/// The loop and all that it holds.
pub(crate) struct Drive {
    tools: Tools,
    world: World,
    posts: Vec<Posted>,
    streams: JoinSet<()>,
    inbox: Receiver<Heard>,
    working: JoinSet<Worked>,
}

/// A controller with what it has to do.
struct Posted {
    controller: Box<dyn Controller>,
    post: Post,
}

/// What came of a piece of work, and of which controller.
struct Worked {
    post: usize,
    subject: Subject,
    result: Result<Done, Undone>,
    took: Duration,
}

impl Drive {
    /// Starts to follow what the controllers need to know.
    pub(crate) fn start(controllers: Vec<Box<dyn Controller>>, tools: Tools) -> Self {
        let (outbox, inbox) = channel(INBOX_MAX);
        let mut streams = JoinSet::new();
        let kinds = controllers.iter().flat_map(|controller| controller.follows());
        let kinds: BTreeMap<KindId, Kind> = kinds.map(|kind| (kind.id, kind)).collect();
        for kind in kinds.values() {
            follow(*kind, &tools.connection, outbox.clone(), &mut streams);
        }
        let posts = controllers.into_iter().map(|controller| {
            let kinds = controller.follows().iter().map(|kind| kind.id).collect();
            let post = Post::new(kinds, controller.begins_with(), controller.work_max());
            Posted { controller, post }
        });
        let posts = posts.collect();
        Self { tools, world: World::default(), posts, streams, inbox, working: JoinSet::new() }
    }

    /// Works without end. It can be dropped at any time; [`Drive::finish`] then ends what is under way.
    pub(crate) async fn run(&mut self) -> Infallible {
        let mut beat_at = Instant::now();
        loop {
            if beat_at <= Instant::now() {
                self.tools.listener.hear(&Notice::Beat);
                beat_at = Instant::now() + BEAT_EVERY;
            }
            (0..self.posts.len()).for_each(|post| self.begin(post));
            let due = self.posts.iter().filter_map(|posted| posted.post.next_due());
            let wake_at = due.chain([beat_at]).min().expect("there is a next beat");
            tokio::select! {
                Some(heard) = self.inbox.recv() => self.take(heard),
                Some(worked) = self.working.join_next() => {
                    self.settle(worked.expect("work does not panic, and nobody cancels it"));
                }
                () = sleep_until(wake_at) => {}
            }
        }
    }

    /// Ends what is under way and begins nothing else.
    pub(crate) async fn finish(mut self, within: Duration) {
        self.streams.abort_all();
        let deadline = Instant::now() + within;
        while let Ok(Some(_)) = timeout_at(deadline, self.working.join_next()).await {}
        self.working.abort_all();
    }

    /// Lets a controller look at what waits for it.
    fn begin(&mut self, at: usize) {
        let Posted { controller, post } = &mut self.posts[at];
        loop {
            let now = Instant::now();
            let Some(subject) = post.begin(now) else { break };
            let Look { work, again_at, besides } = controller.look(&subject, &self.world, &self.tools);
            let again_at = again_at.map(|time| self.tools.clock.instant(time));
            post.looked(&subject, Looked { works: work.is_some(), again_at, besides });
            let Some(work) = work else { continue };
            self.working.spawn(async move {
                let result = work.await;
                Worked { post: at, subject, result, took: now.elapsed() }
            });
        }
        if let Some(depth) = post.new_depth() {
            self.tools.listener.hear(&Notice::Waiting { queue: controller.queue(), depth });
        }
    }

    fn take(&mut self, heard: Heard) {
        match heard {
            Heard::Fact(fact) => self.learn(fact),
            Heard::Synced(kind) => self.whole(kind),
            Heard::NotServed(kind) => {
                if self.posts.iter().any(|posted| posted.post.awaits(kind)) {
                    let (api_version, kind) = kind;
                    self.tools.listener.hear(&Notice::NotServed { api_version, kind });
                }
                self.whole(kind);
            }
            Heard::Interrupted(kind, why, retry_in) => {
                self.tune(kind, Reception::Broken);
                let is_brief = retry_in < BRIEF;
                self.tools.listener.hear(&Notice::Trouble { why: &why, is_brief });
            }
            Heard::Trouble(why) => {
                self.tools.listener.hear(&Notice::Trouble { why: &why, is_brief: false });
            }
        }
    }

    /// Everything of a kind has been said.
    fn whole(&mut self, kind: KindId) {
        self.tune(kind, Reception::Whole);
        for Posted { controller, post } in &mut self.posts {
            if post.hear_all_of(kind) {
                self.tools.listener.hear(&Notice::Ready { controller: controller.name() });
            }
        }
    }

    fn tune(&mut self, kind: KindId, reception: Reception) {
        let now = self.tools.clock.now();
        for posted in self.posts.iter_mut().filter(|posted| posted.post.follows(kind)) {
            posted.controller.tune(kind, reception, now);
        }
    }

    fn learn(&mut self, fact: Fact) {
        let now = self.tools.clock.now();
        self.world.now = now;
        let Some(change) = fact(&mut self.world) else { return };
        for Posted { controller, post } in &mut self.posts {
            let queue = controller.queue();
            controller.count(&change, &*self.tools.listener);
            controller.note(&change, &self.world, now);
            for subject in controller.touched(&change, &self.world) {
                if post.touch(subject) {
                    self.tools.listener.hear(&Notice::Added { queue });
                }
            }
        }
    }

    fn settle(&mut self, worked: Worked) {
        let Worked { post: at, subject, result, took } = worked;
        let (controller, name) = (self.posts[at].controller.name(), self.posts[at].controller.queue());
        self.tools.listener.hear(&Notice::Worked { queue: name, took });
        let Done { learnt, trouble, besides } =
            result.unwrap_or_else(|undone| Done { trouble: Some(undone), ..Done::default() });
        // Before the subject may be looked at again: it would be seen as it was.
        learnt.into_iter().for_each(|fact| self.learn(fact));
        let (why, retry_in) = match self.posts[at].post.end(Instant::now(), &subject, besides, trouble) {
            Ended::Done => return,
            Ended::GivenUp { why } => (Some(why), None),
            Ended::Retried { why, retry_in } => (why, Some(retry_in)),
        };
        if retry_in.is_some() {
            self.tools.listener.hear(&Notice::Retried { queue: name });
        }
        if let Some(why) = why {
            let subject = subject.to_string();
            self.tools.listener.hear(&Notice::Failed { controller, subject: &subject, why: &why, retry_in });
        }
    }
}
