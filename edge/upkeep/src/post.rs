//! What one controller has to do, and when it may: what it was touched by, what it waits to hear of, and what becomes of work that
//! ended.
//!
//! | work ended with | then |
//! |---|---|
//! | nothing undone | the subject rests until something happens to it, or until its appointment |
//! | `Overtaken` | it is looked at again after a pause, or at once if something happened meanwhile; nobody is told |
//! | `Failed` | the same, and it is told |
//! | `Hopeless` | it rests until something happens to it, and it is told |
//!
//! Invariant: nothing is looked at before everything that was there at the start has been said of the kinds that the controller
//! follows: an object that is missing may just not have been named yet.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;

use crate::controller::{Subject, Undone};
use crate::kinds::KindId;
use crate::queue::Queue;

/// The work of one controller.
pub(crate) struct Post {
    queue: Queue<Subject>,
    /// Kinds that it follows.
    kinds: BTreeSet<KindId>,
    /// Kinds of which not everything has been said yet.
    awaits: BTreeSet<KindId>,
    /// How many subjects may be under way.
    work_max: usize,
    /// How many subjects waited when it was last told.
    told: usize,
}

/// What a look at a subject led to.
pub(crate) struct Looked {
    /// Work has begun, and its end will be told.
    pub(crate) works: bool,
    /// When to look again, even if nothing changes.
    pub(crate) again_at: Option<Instant>,
    /// What else is to be looked at.
    pub(crate) besides: Vec<Subject>,
}

/// What is told of work that ended.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    /// Nothing is left undone.
    Done,
    /// It went wrong, and is not tried again by itself.
    GivenUp { why: String },
    /// It is tried again.
    Retried {
        /// What went wrong; nothing if somebody else was faster.
        why: Option<String>,
        /// After how long.
        retry_in: Duration,
    },
}

impl Post {
    /// The work of a controller that follows these kinds and begins with these subjects.
    pub(crate) fn new(kinds: BTreeSet<KindId>, begins_with: Vec<Subject>, work_max: usize) -> Self {
        let mut queue = Queue::default();
        queue.touch_all(begins_with);
        Self { queue, awaits: kinds.clone(), kinds, work_max, told: 0 }
    }

    /// Whether it follows a kind.
    pub(crate) fn follows(&self, kind: KindId) -> bool {
        self.kinds.contains(&kind)
    }

    /// Whether not everything has been said of a kind that it follows.
    pub(crate) fn awaits(&self, kind: KindId) -> bool {
        self.awaits.contains(&kind)
    }

    /// Everything has been said of a kind; says whether it was the last that was awaited.
    pub(crate) fn hear_all_of(&mut self, kind: KindId) -> bool {
        self.awaits.remove(&kind) && self.awaits.is_empty()
    }

    /// Something happened to a subject; says whether it is new here.
    pub(crate) fn touch(&mut self, subject: Subject) -> bool {
        self.queue.touch(subject)
    }

    /// The next subject to look at, if one may be. [`Post::looked`] is to follow.
    pub(crate) fn begin(&mut self, now: Instant) -> Option<Subject> {
        if self.may_begin() { self.queue.begin(now) } else { None }
    }

    /// A subject was looked at.
    pub(crate) fn looked(&mut self, subject: &Subject, looked: Looked) {
        if let Some(time) = looked.again_at {
            self.queue.look_at(subject.clone(), time);
        }
        self.queue.touch_all(looked.besides);
        if !looked.works {
            self.queue.end(subject);
        }
    }

    /// The work about a subject ended; `besides` is to be looked at because of it.
    pub(crate) fn end(
        &mut self,
        now: Instant,
        subject: &Subject,
        besides: Vec<Subject>,
        undone: Option<Undone>,
    ) -> Ended {
        self.queue.touch_all(besides);
        let why = match undone {
            None => {
                self.queue.end(subject);
                return Ended::Done;
            }
            Some(Undone::Hopeless(why)) => {
                self.queue.end(subject);
                return Ended::GivenUp { why };
            }
            Some(Undone::Failed(why)) => Some(why),
            Some(Undone::Overtaken) => None,
        };
        Ended::Retried { why, retry_in: self.queue.fail(subject, now) }
    }

    /// When the next subject is due, if it may be looked at then.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        if self.may_begin() { self.queue.next_due() } else { None }
    }

    /// How many subjects wait, if that is not what was said the last time.
    pub(crate) fn new_depth(&mut self) -> Option<usize> {
        let depth = self.queue.depth();
        let is_new = depth != self.told;
        self.told = depth;
        is_new.then_some(depth)
    }

    /// Everything is known, and not too much is under way.
    fn may_begin(&self) -> bool {
        self.awaits.is_empty() && self.queue.under_way() < self.work_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: KindId = ("v1", "Pod");
    const NODE: KindId = ("v1", "Node");

    fn subject(name: &str) -> Subject {
        Subject { kind: "Pod", name: (String::new(), name.to_owned()) }
    }

    fn works() -> Looked {
        Looked { works: true, again_at: None, besides: Vec::new() }
    }

    /// A post at which everything is known.
    fn post(work_max: usize) -> Post {
        let mut post = Post::new([POD].into(), Vec::new(), work_max);
        assert!(post.hear_all_of(POD));
        post
    }

    #[test]
    fn nothing_is_looked_at_before_everything_has_been_said() {
        let now = Instant::now();
        let mut post = Post::new([POD, NODE].into(), vec![subject("first")], 1);
        post.touch(subject("a"));
        assert_eq!((post.begin(now), post.next_due()), (None, None));
        assert!(!post.hear_all_of(POD) && post.awaits(NODE) && !post.awaits(POD));
        assert_eq!(post.begin(now), None);
        assert!(post.hear_all_of(NODE) && !post.hear_all_of(NODE), "it is ready once");
        assert_eq!(post.begin(now), Some(subject("first")));
        assert!(post.follows(POD) && post.follows(NODE) && !post.follows(("v1", "Secret")));
    }

    #[test]
    fn what_becomes_of_work_that_ended() {
        let first = Duration::from_millis(100);
        let cases = [
            (None, false, Ended::Done, None),
            (Some(Undone::Hopeless("no".into())), false, Ended::GivenUp { why: "no".into() }, None),
            (
                Some(Undone::Failed("down".into())),
                false,
                Ended::Retried { why: Some("down".into()), retry_in: first },
                Some(first),
            ),
            (Some(Undone::Overtaken), false, Ended::Retried { why: None, retry_in: first }, Some(first)),
            // What happened meanwhile is looked at at once, however the work ended.
            (None, true, Ended::Done, Some(Duration::ZERO)),
            (
                Some(Undone::Hopeless("no".into())),
                true,
                Ended::GivenUp { why: "no".into() },
                Some(Duration::ZERO),
            ),
            (
                Some(Undone::Overtaken),
                true,
                Ended::Retried { why: None, retry_in: first },
                Some(Duration::ZERO),
            ),
        ];
        for (undone, is_touched, expected, again_in) in cases {
            let (mut post, now, told) =
                (post(1), Instant::now(), format!("{undone:?}, touched: {is_touched}"));
            post.touch(subject("a"));
            let begun = post.begin(now).expect("it was touched");
            post.looked(&begun, works());
            if is_touched {
                post.touch(subject("a"));
            }
            assert_eq!(post.end(now, &begun, Vec::new(), undone), expected, "{told}");
            match again_in {
                None => assert_eq!((post.begin(now), post.next_due()), (None, None), "{told}"),
                Some(pause) => {
                    assert_eq!(post.begin(now).is_some(), pause.is_zero(), "{told}");
                    assert!(pause.is_zero() || post.begin(now + pause) == Some(begun), "{told}");
                }
            }
        }
    }

    #[test]
    fn only_so_much_is_under_way_and_a_look_without_work_takes_no_room() {
        let (mut post, now) = (post(1), Instant::now());
        ["a", "b", "c"].into_iter().for_each(|name| assert!(post.touch(subject(name))));
        assert_eq!((post.new_depth(), post.new_depth()), (Some(3), None));
        let a = post.begin(now).expect("a is first");
        post.looked(
            &a,
            Looked { works: false, again_at: Some(now + Duration::from_secs(9)), besides: vec![] },
        );
        let b = post.begin(now).expect("nothing is under way");
        post.looked(&b, Looked { besides: vec![subject("d")], ..works() });
        assert_eq!((post.begin(now), post.next_due(), post.new_depth()), (None, None, Some(2)));
        assert_eq!(post.end(now, &b, vec![subject("e")], None), Ended::Done);
        assert_eq!(post.next_due(), Some(now + Duration::from_secs(9)), "the appointment stands");
        let order: Vec<Subject> = std::iter::from_fn(|| {
            let next = post.begin(now)?;
            post.looked(&next, Looked { works: false, ..works() });
            Some(next)
        })
        .collect();
        assert_eq!(order, ["c", "d", "e"].map(subject));
    }
}
