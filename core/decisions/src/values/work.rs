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

/// What is done for one pod or gang while others wait.
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

/// To take a device, and to give it back.
pub(crate) const TAKE: u64 = 600;

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
    /// What may be done in a slice, besides what it takes to look at all nodes.
    slice_max: u64,
    /// What may yet be done in this slice.
    slice: u64,
}

/// Work that is kept back for later.
#[derive(Debug)]
#[must_use = "what is kept back is given back later"]
pub struct KeptWork {
    left: u64,
}

impl Default for Work {
    fn default() -> Work {
        Work::of(WORK_MAX)
    }
}

impl Work {
    /// So much for each pod or gang.
    pub fn of(most: u64) -> Work {
        Work { most, left: most, done: 0, slice_max: SLICE, slice: u64::MAX }
    }

    /// The same, with so much for each pod or gang.
    #[must_use]
    pub fn with_most(&self, most: u64) -> Work {
        Work::of(most).in_slices_of(self.slice_max)
    }

    /// The same, with so much in each slice.
    #[must_use]
    pub fn in_slices_of(&self, slice_max: u64) -> Work {
        Work { slice_max, ..Work::of(self.most) }
    }

    /// What may be done for each pod or gang.
    #[must_use]
    pub fn most(&self) -> u64 {
        self.most
    }

    /// Something else is decided now.
    pub fn begin(&mut self) {
        *self = self.with_most(self.most);
    }

    /// Something else is decided now, as far as a slice of work goes. A slice is long enough to see that many nodes.
    pub fn begin_slice(&mut self, nodes: usize) {
        self.begin();
        self.slice = self.slice_max.saturating_add(nodes as u64 * NODE * 2);
    }

    /// Whether a slice is long enough to look for members of a gang on so many nodes, which takes about twice as long as to see what
    /// they have. It is not begun for nothing.
    #[must_use]
    pub(crate) fn may_survey(&self, nodes: usize) -> bool {
        nodes as u64 * SURVEY * 2 <= self.slice
    }

    /// Whether the slice is over although more may be done.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.slice == 0 && self.left > 0
    }

    /// How much is left.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.left.min(self.slice)
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
        if self.slice != u64::MAX {
            self.slice = self.slice.saturating_sub(nanos);
        }
        self.done = self.done.saturating_add(nanos);
    }

    /// Lets no more be done than this for now.
    pub fn limit(&mut self, most: u64) -> KeptWork {
        let granted = self.left.min(most);
        let kept = self.left - granted;
        self.left = granted;
        KeptWork { left: kept }
    }

    /// The same for one of so many that share what is left.
    pub fn limit_to_share(&mut self, of: usize) -> KeptWork {
        self.limit((self.left / of.max(1) as u64).max(SHARE_MIN))
    }

    /// Keeps a part for what comes after.
    pub fn keep_for_later(&mut self) -> KeptWork {
        self.limit(self.left / 3 * 2)
    }

    /// Lets what was kept back be done.
    pub fn restore(&mut self, KeptWork { left }: KeptWork) {
        self.left += left;
    }

    /// Lets seats be handed out that were found, even if nothing is left.
    pub fn begin_hand_out(&mut self) -> KeptWork {
        let kept = self.left;
        self.left = self.hand_out_max();
        KeptWork { left: kept }
    }

    /// Goes on with what was left before seats were handed out.
    pub fn end_hand_out(&mut self, KeptWork { left }: KeptWork) {
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
    fn a_slice_ends_before_all_is_done() {
        let mut work = Work::of(SLICE * 2);
        work.begin_slice(0);
        work.spend(SLICE + 1);
        assert!(work.is_spent() && work.is_cut());
        work.begin();
        work.spend(SLICE + 1);
        assert!(!work.is_spent() && !work.is_cut());
        work.spend(SLICE);
        assert!(work.is_spent() && !work.is_cut());
    }

    #[test]
    fn a_slice_is_not_begun_in_which_a_gang_cannot_be_looked_for() {
        let mut work = Work::default();
        assert!(work.may_survey(1_000_000), "where nothing waits there are no slices");
        work.begin_slice(100);
        assert!(work.may_survey(100));
        work.begin_slice(1_000);
        assert!(!work.may_survey(1_000));
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
