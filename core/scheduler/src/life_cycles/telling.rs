//! What drivers' controllers are told about a pod, by the write that tells it: which nodes would do and which one is selected.
//!
//! | | Overtaken | AskBack | Answered |
//! |---|---|---|---|
//! | Telling | Outdated | Withdrawing | over |
//! | Outdated | Outdated | - | over |
//! | Withdrawing | Withdrawing | Withdrawing | over |
//!
//! Between two of these a negotiation is a round of nodes that were selected, or rests: see `decisions::plans`.

use model::identity::{NodeName, PodUid};
use std::collections::BTreeMap;

use decisions::in_the_way::InTheWay;

use crate::write::WriteId;

/// What is being told about a pod.
#[derive(Debug)]
pub(crate) struct Telling {
    /// The pod, by uid.
    pub pod: PodUid,
    /// The node that is selected.
    pub selected: Option<NodeName>,
    /// The nodes that would do.
    potential: Vec<NodeName>,
    stage: TellingStage,
}

/// Why it is told.
#[derive(Clone, Debug)]
pub(crate) enum TellingStage {
    /// So that drivers say which nodes will do, or give devices.
    Telling,
    /// The same, and the pod has something else to tell by now.
    Outdated,
    /// So that no node is selected when these claims are asked to give their devices back.
    Withdrawing(Vec<InTheWay>),
}

/// What happens to it. That the write is answered ends it.
#[derive(Clone, Debug)]
enum Event {
    /// The pod has something else to tell.
    Overtaken,
    /// A claim is to give its devices back once no node is selected.
    AskBack(InTheWay),
}

fn step(stage: TellingStage, event: Event) -> Option<TellingStage> {
    match (stage, event) {
        (TellingStage::Telling | TellingStage::Outdated, Event::Overtaken) => Some(TellingStage::Outdated),
        (stage @ TellingStage::Withdrawing(_), Event::Overtaken) => Some(stage),
        (TellingStage::Telling, Event::AskBack(one)) => Some(TellingStage::Withdrawing(vec![one])),
        (TellingStage::Withdrawing(mut all), Event::AskBack(one)) => {
            all.push(one);
            Some(TellingStage::Withdrawing(all))
        }
        (TellingStage::Outdated, Event::AskBack(_)) => None,
    }
}

impl Telling {
    fn step(&mut self, event: Event) {
        let next = step(self.stage.clone(), event);
        debug_assert!(next.is_some(), "what is outdated withdraws nothing");
        if let Some(next) = next {
            self.stage = next;
        }
    }
}

/// All that is being told, by the write.
#[derive(Debug, Default)]
pub(crate) struct Tellings(BTreeMap<WriteId, Telling>);

impl Tellings {
    /// Drivers are told which node is selected for a pod.
    pub fn begin(
        &mut self,
        write: WriteId,
        pod: PodUid,
        selected: Option<NodeName>,
        potential: Vec<NodeName>,
    ) {
        // What was told before may arrive late and never counts again, whatever becomes of this.
        self.0
            .values_mut()
            .filter(|before| before.pod == pod)
            .for_each(|before| before.step(Event::Overtaken));
        self.0.insert(write, Telling { pod, selected, potential, stage: TellingStage::Telling });
    }

    /// Whether this is what is being told about a pod last, if anything is.
    pub fn tells(&self, pod: &str, selected: Option<&NodeName>, potential: &[NodeName]) -> Option<bool> {
        let last = self.0.values().rfind(|telling| *telling.pod == *pod)?;
        let counts = !matches!(last.stage, TellingStage::Outdated);
        Some(counts && last.selected.as_ref() == selected && last.potential == potential)
    }

    /// Whether something is being told about a pod, which has something else to tell now.
    pub fn overtakes(&mut self, pod: &str) -> bool {
        let open = self.0.values_mut().find(|telling| *telling.pod == *pod);
        open.map(|telling| telling.step(Event::Overtaken)).is_some()
    }

    /// The write that takes the selected node of a pod away so that claims can be asked for, if one is under way.
    pub fn withdrawing(&self, pod: &str) -> Option<WriteId> {
        let is_it =
            |telling: &Telling| *telling.pod == *pod && matches!(telling.stage, TellingStage::Withdrawing(_));
        self.0.iter().find(|(_, telling)| is_it(telling)).map(|(write, _)| *write)
    }

    /// A claim is asked to give its devices back once this write is done.
    pub fn ask_back(&mut self, write: WriteId, one: InTheWay) {
        if let Some(telling) = self.0.get_mut(&write) {
            debug_assert!(telling.selected.is_none(), "no node is selected when a claim is asked for");
            telling.step(Event::AskBack(one));
        }
    }

    /// The node that is being selected for a pod, by what is told last; none if nothing is.
    pub fn selects(&self, pod: &str) -> Option<Option<&NodeName>> {
        let last = self.0.values().rfind(|telling| *telling.pod == *pod);
        last.map(|telling| telling.selected.as_ref())
    }

    /// A write is answered: what was told by it, and why.
    pub fn answered(&mut self, write: WriteId) -> Option<(PodUid, TellingStage)> {
        self.0.remove(&write).map(|telling| (telling.pod, telling.stage))
    }
}

#[cfg(test)]
mod tests {
    use decisions::in_the_way::Remedy;
    use model::claim::ClaimId;

    use super::*;
    use crate::life_cycles::table;

    fn claim(name: &str) -> InTheWay {
        let claim = ClaimId { namespace: "default".into(), name: name.into() };
        InTheWay { claim, uid: "u".into(), remedy: Remedy::Deallocate }
    }

    fn name(stage: &TellingStage) -> String {
        match stage {
            TellingStage::Telling => "Telling",
            TellingStage::Outdated => "Outdated",
            TellingStage::Withdrawing(_) => "Withdrawing",
        }
        .to_owned()
    }

    #[test]
    fn the_table_in_the_header_is_what_the_code_does() {
        let stages =
            [TellingStage::Telling, TellingStage::Outdated, TellingStage::Withdrawing(vec![claim("a")])];
        let rows = stages.map(|stage| {
            let after = |event| step(stage.clone(), event).map_or("-".to_owned(), |next| name(&next));
            let cells = vec![after(Event::Overtaken), after(Event::AskBack(claim("b"))), "over".to_owned()];
            (name(&stage), cells)
        });
        table::assert_is_so(include_str!("telling.rs"), &["Overtaken", "AskBack", "Answered"], &rows);
    }

    #[test]
    fn what_is_told_last_counts_and_one_write_withdraws_for_all_claims() {
        let mut all = Tellings::default();
        assert_eq!(all.tells("pod", None, &[]), None);
        let a = NodeName::from("a");
        all.begin(WriteId(1), "pod".into(), Some(a.clone()), vec![a.clone()]);
        assert_eq!(all.tells("pod", Some(&a), std::slice::from_ref(&a)), Some(true));
        assert_eq!(all.tells("pod", Some(&a), &[]), Some(false));
        assert!(all.overtakes("pod") && !all.overtakes("other"));
        all.begin(WriteId(2), "pod".into(), None, Vec::new());
        assert_eq!(all.tells("pod", None, &[]), Some(true), "the last counts");
        let mut late = Tellings::default();
        late.begin(WriteId(3), "pod".into(), Some(a.clone()), Vec::new());
        late.begin(WriteId(4), "pod".into(), None, Vec::new());
        late.answered(WriteId(4));
        assert_eq!(late.tells("pod", Some(&a), &[]), Some(false), "what is answered late does not");
        for name in ["c", "d"] {
            all.ask_back(WriteId(2), claim(name));
        }
        assert_eq!((all.withdrawing("pod"), all.selects("pod")), (Some(WriteId(2)), Some(None)));
        assert!(matches!(all.answered(WriteId(1)), Some((_, TellingStage::Outdated))));
        let Some((_, TellingStage::Withdrawing(claims))) = all.answered(WriteId(2)) else {
            panic!("{all:?}")
        };
        assert_eq!(claims, [claim("c"), claim("d")]);
        assert_eq!(all.selects("pod"), None);
    }
}
