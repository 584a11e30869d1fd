//! How much work may be done at once.
//!
//! Others wait while something is decided, and there is no clock here. So work is counted in nominal nanoseconds: about what it takes
//! on a machine of these days, and the same on every machine. The figures were measured; `cargo run --release -p bench -- turns`
//! shows how long the hardest turns take.
//!
//! Invariant: a search that loops counts what it does, and ends when nothing is left. What is not found out by
//! then is not called impossible.

/// What may be done for one pod or gang, and in answer to one fact.
const WORK_MAX: u64 = 500_000_000;

/// What is done for one pod before others have their turn.
const SLICE: u64 = 3_000_000;

/// How much a node gets at the least when several share what there is.
const SHARE_MIN: u64 = 2_000_000;

/// To look at a node for a pod.
pub(crate) const NODE: u64 = 500;

/// To see what a node has for a gang.
pub(crate) const SURVEY: u64 = 6_000;

/// To look at what a node or a domain has left, as numbers.
pub(crate) const GLANCE: u64 = 20;

/// To look at a member of a gang.
pub(crate) const MEMBER: u64 = 2_000;

/// To put a state of a node beside another.
pub(crate) const STATE: u64 = 1_500;

/// To look at a pod of a node.
pub(crate) const POD: u64 = 150;

/// To take a step of a search for seats.
pub(crate) const STEP: u64 = 250;

/// To ask for devices in vain, as it cannot be judged.
pub(crate) const QUESTION: u64 = 20_000;

/// Work that may still be done.
#[derive(Debug)]
pub struct Work {
    /// What may be done for each.
    most: u64,
    left: u64,
    done: u64,
    /// What may be done before others have their turn.
    slice: u64,
    /// What may be done about one question, with what was done about it in earlier slices.
    question: u64,
}

/// Work that is kept back for later, and what could be done about one question.
#[derive(Debug)]
#[must_use = "what is kept back is given back later"]
pub struct Kept {
    left: u64,
    question: u64,
}

impl Default for Work {
    fn default() -> Work {
        Work::of(WORK_MAX)
    }
}

impl Work {
    /// So much for each pod or gang.
    pub fn of(most: u64) -> Work {
        Work { most, left: most, done: 0, slice: u64::MAX, question: u64::MAX }
    }

    /// Something else is decided now.
    pub fn begin(&mut self) {
        *self = Work::of(self.most);
    }

    /// A search goes on that had so many slices before. A slice is long enough to see that many nodes again.
    pub fn begin_slice(&mut self, before: u32, nodes: usize) {
        self.begin();
        let slice = SLICE + nodes as u64 * NODE * 2;
        self.left = self.most.saturating_sub(slice.saturating_mul(before.into()));
        self.slice = slice;
    }

    /// What comes now is not cut.
    pub fn end_slice(&mut self) {
        self.slice = u64::MAX;
    }

    /// Whether what is decided may be put down and taken up.
    #[must_use]
    pub fn is_sliced(&self) -> bool {
        self.slice != u64::MAX
    }

    /// Whether the slice is over although more may be done in another.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.slice == 0 && self.left > 0
    }

    /// How much is left.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.left.min(self.slice)
    }

    /// How much is left for a question about which so much was done in earlier slices.
    #[must_use]
    pub fn left_for_question(&self, done: u64) -> u64 {
        self.left().min(self.question.saturating_sub(done))
    }

    /// How much was done since something else was decided.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.left() == 0
    }

    /// Counts what was done.
    pub fn spend(&mut self, nanos: u64) {
        self.left = self.left.saturating_sub(nanos);
        if self.is_sliced() {
            self.slice = self.slice.saturating_sub(nanos);
        }
        self.done = self.done.saturating_add(nanos);
    }

    /// Lets no more be done than this for now.
    pub fn limit(&mut self, most: u64) -> Kept {
        let granted = self.left.min(most);
        let kept = self.left - granted;
        self.left = granted;
        Kept { left: kept, question: self.question }
    }

    /// The same for one of so many that share what is left. No question gets more than that in all.
    pub fn limit_to_share(&mut self, of: usize) -> Kept {
        let share = (self.left / of.max(1) as u64).max(SHARE_MIN);
        let kept = self.limit(share);
        self.question = share;
        kept
    }

    /// Keeps a part for what comes after.
    pub fn keep_for_later(&mut self) -> Kept {
        self.limit(self.left / 3 * 2)
    }

    /// Lets what was kept back be done.
    pub fn restore(&mut self, Kept { left, question }: Kept) {
        self.left += left;
        self.question = question;
    }

    /// Lets seats be handed out that were found, even if nothing is left.
    pub fn begin_hand_out(&mut self) -> Kept {
        let kept = self.left;
        self.left = self.hand_out_max();
        Kept { left: kept, question: self.question }
    }

    /// Goes on with what was left before seats were handed out.
    pub fn end_hand_out(&mut self, Kept { left, question }: Kept) {
        self.question = question;
        self.left = left.saturating_sub(self.hand_out_max() - self.left);
    }

    /// How much may go into finding devices again for seats that were found.
    fn hand_out_max(&self) -> u64 {
        self.most / 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_back_can_be_done_later() {
        let mut work = Work::default();
        let kept = work.limit(1_000);
        work.spend(400);
        assert_eq!(work.left(), 600);
        work.spend(700);
        assert!(work.is_spent());
        work.restore(kept);
        assert_eq!(work.left(), WORK_MAX - 1_000);
    }

    #[test]
    fn a_share_is_large_enough_to_find_something() {
        let mut work = Work::default();
        let kept = work.limit_to_share(10);
        assert_eq!(work.left(), WORK_MAX / 10);
        work.restore(kept);
        let kept = work.limit_to_share(100_000);
        assert_eq!(work.left(), SHARE_MIN);
        work.restore(kept);
        assert_eq!(work.left(), WORK_MAX);
    }

    #[test]
    fn a_slice_ends_before_all_is_done_and_the_last_does_not() {
        let mut work = Work::of(SLICE * 2);
        work.begin_slice(0, 0);
        work.spend(SLICE + 1);
        assert!(work.is_spent() && work.is_cut());
        work.begin_slice(1, 0);
        assert!(!work.is_spent());
        work.spend(SLICE + 1);
        assert!(work.is_spent() && !work.is_cut());
    }

    #[test]
    fn a_question_gets_no_more_than_its_share_in_all_slices() {
        let mut work = Work::default();
        work.begin_slice(0, 0);
        let kept = work.limit_to_share(100);
        assert_eq!(work.left_for_question(0), SLICE);
        assert_eq!(work.left_for_question(WORK_MAX / 100), 0);
        work.restore(kept);
        assert_eq!(work.left_for_question(WORK_MAX / 100), SLICE);
    }

    #[test]
    fn seats_are_handed_out_even_if_nothing_is_left() {
        let mut work = Work::default();
        work.spend(WORK_MAX);
        let kept = work.begin_hand_out();
        assert!(!work.is_spent());
        work.end_hand_out(kept);
        assert!(work.is_spent());
    }
}
