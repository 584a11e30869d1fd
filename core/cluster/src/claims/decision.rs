//! An allocation that is on its way to the API. It counts from the moment in which it is decided until the API has both answered the
//! write and shown the claim with an allocation; what is refused or belongs to another claim of the name is forgotten at once.
//!
//! | | Shown | Answered |
//! |---|---|---|
//! | Decided | Seen | Written |
//! | Seen | Seen | Over |
//! | Written | Over | - |
//! | Over | - | - |
//!
//! A write that is not answered may be carried out again. So what the API has shown meanwhile does not end it. It is answered once.

use model::identity::ClaimUid;
use std::sync::Arc;

use super::state::Allocated;

/// An allocation that is on its way to the API.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    /// The uid of the claim.
    pub uid: ClaimUid,
    pub allocated: Arc<Allocated>,
    stage: DecisionStage,
}

/// How far it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DecisionStage {
    /// The write is not answered.
    Decided,
    /// The write is not answered, and the API has shown an allocation of the claim since.
    Seen,
    /// The write is answered, and the API has yet to show it.
    Written,
    /// The write is answered, and the API has shown it.
    Over,
}

/// What the API told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event {
    /// The claim has an allocation.
    Shown,
    /// The write is done.
    Answered,
}

impl Decision {
    pub fn new(uid: &ClaimUid, allocated: Allocated) -> Decision {
        Decision { uid: uid.clone(), allocated: Arc::new(allocated), stage: DecisionStage::Decided }
    }

    /// Goes on, and says whether it is over.
    pub fn step(&mut self, event: Event) -> bool {
        let next = step(self.stage, event);
        debug_assert!(
            next.is_some(),
            "the allocation of claim {:?} was {:?} and was told {event:?}",
            self.uid,
            self.stage
        );
        self.stage = next.unwrap_or(self.stage);
        self.stage == DecisionStage::Over
    }
}

/// The stage after an event; none where it cannot happen.
fn step(stage: DecisionStage, event: Event) -> Option<DecisionStage> {
    match (stage, event) {
        (DecisionStage::Decided | DecisionStage::Seen, Event::Shown) => Some(DecisionStage::Seen),
        (DecisionStage::Decided, Event::Answered) => Some(DecisionStage::Written),
        (DecisionStage::Seen, Event::Answered) | (DecisionStage::Written, Event::Shown) => {
            Some(DecisionStage::Over)
        }
        (DecisionStage::Written, Event::Answered) | (DecisionStage::Over, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_in_the_header_is_what_the_code_does() {
        let rows = include_str!("decision.rs").lines().filter_map(|line| line.strip_prefix("//! | "));
        let rows: Vec<Vec<&str>> =
            rows.map(|row| row.split(" | ").map(|cell| cell.trim_matches(['|', ' '])).collect()).collect();
        let stages =
            [DecisionStage::Decided, DecisionStage::Seen, DecisionStage::Written, DecisionStage::Over];
        assert_eq!(rows.len(), stages.len() + 1);
        for (stage, row) in stages.into_iter().zip(&rows[1..]) {
            let after = |event| step(stage, event).map_or("-".to_owned(), |next| format!("{next:?}"));
            assert_eq!(row[..], [format!("{stage:?}"), after(Event::Shown), after(Event::Answered)]);
        }
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "was Written and was told Answered")]
    fn a_write_is_answered_once() {
        let mut decision = Decision::new(&"uid".into(), Allocated { nodes: None, held: Vec::new() });
        assert!(!decision.step(Event::Answered));
        decision.step(Event::Answered);
    }
}
