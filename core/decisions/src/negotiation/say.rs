//! What a pod's scheduling context is to say to drivers' controllers, by what it said, what they answered, and which nodes fit.

use std::collections::BTreeSet;

use cluster::contexts::PodContext;
use cluster::groups::Key;
use model::identity::NodeName;
use model::pod::Pod;
use rustc_hash::FxHashSet;

use crate::cycle::Cycle;
use crate::values::driver_wait::{Await, Wait};
use crate::values::lot::mix;
use crate::values::openings::{NODES_MAX, Openings};
use crate::values::pending::Pending;

/// What is to be said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Say {
    /// The node that is chosen.
    pub selected: Option<NodeName>,
    /// The nodes that would do otherwise.
    pub potential: Vec<NodeName>,
}

/// What there is to know of nodes.
pub(crate) struct Surroundings<'s> {
    /// Whether a node is there.
    is_there: &'s dyn Fn(&NodeName) -> bool,
    /// Whether a node is chosen for other pods.
    is_chosen: &'s dyn Fn(&NodeName) -> bool,
}

/// The claims without an answer, if nothing can be chosen before there is one.
pub fn unanswered<'p>(known: Option<&PodContext>, pending: &'p [Pending]) -> Vec<&'p Pending> {
    // With a single claim nothing can be given in vain, so the choice is the driver's first question.
    if pending.len() < 2 {
        return Vec::new();
    }
    let has_answer = |one: &&Pending| known.is_some_and(|known| known.answers.contains_key(&one.entry));
    pending.iter().filter(|one| !has_answer(one)).collect()
}

/// What a pod waits for of drivers, once a node is selected for it or while none is.
#[must_use]
pub fn awaited(known: Option<&PodContext>, pending: &[Pending], selected: Option<NodeName>) -> Wait {
    let claims = if selected.is_some() { pending.iter().collect() } else { unanswered(known, pending) };
    Wait {
        what: if selected.is_some() { Await::Allocation } else { Await::Information },
        node: selected,
        claims: claims.into_iter().map(|one| (one.entry.clone(), one.driver.clone())).collect(),
    }
}

/// What is to be said, given the node that is chosen so far, those that were chosen before it, and the nodes that fit, the best
/// first; at least one does.
pub(crate) fn say(
    known: Option<&PodContext>,
    (chosen, tried): (Option<&NodeName>, Option<&BTreeSet<NodeName>>),
    fits: &[NodeName],
    pending: &[Pending],
    around: &Surroundings<'_>,
) -> Say {
    let places: FxHashSet<&NodeName> = fits.iter().collect();
    let chosen = chosen.filter(|node| places.contains(node)).cloned();
    let may_choose = unanswered(known, pending).is_empty();
    let asked: FxHashSet<&NodeName> = known.into_iter().flat_map(|known| &known.potential).collect();
    let is_new = |node: &NodeName| tried.is_none_or(|tried| !tried.contains(node));
    // Of a node that was asked about the driver has said by now if it will not do.
    let first = |will_do: &dyn Fn(&NodeName) -> bool| {
        let mut known = fits.iter().filter(|node| asked.contains(node));
        known.find(|node| will_do(node)).or_else(|| fits.iter().find(|node| will_do(node)))
    };
    // Where others are to go already, one that ranks higher is better though it was not asked about: a node is asked about by
    // choosing it, too, and of hundreds of pods not all find theirs among the nodes that a context may name.
    let new = || {
        let asked = first(&is_new)?;
        let ranked = || fits.iter().find(|node| is_new(node));
        if (around.is_chosen)(asked) { ranked() } else { Some(asked) }
    };
    let best = || new().or_else(|| first(&|_| true)).cloned();
    let selected = chosen.or_else(|| best().filter(|_| may_choose));
    let mut kept = known.into_iter().flat_map(|known| &known.potential).filter(|node| places.contains(node));
    if let Some(known) = known
        && selected == known.selected
        && kept.clone().next().is_some()
    {
        // Drivers judge anew whatever is asked anew. Others are asked about when that can change what is chosen: when all have answered,
        // when the chosen node will not do, or when none is left that they were asked about.
        return Say { selected, potential: still_there(known, around) };
    }
    let mut potential: BTreeSet<NodeName> = selected.iter().cloned().collect();
    fill(&mut potential, &mut kept);
    match known.filter(|_| fits.len() > NODES_MAX) {
        None => fill(&mut potential, fits),
        Some(known) if potential.len() < NODES_MAX => {
            // Drivers can name no more than so many nodes, and forget the first when they name the last. By an order that is
            // another each time every node is asked about in the end.
            let mut others: Vec<&NodeName> = fits.iter().collect();
            others.sort_by_cached_key(|node| mix(&[node, &known.version]));
            fill(&mut potential, others);
        }
        Some(_) => {}
    }
    if let Some(known) = known
        && potential.iter().all(|node| asked.contains(node))
    {
        // A list that is longer than it has to be does no harm; to write it does.
        return Say { selected, potential: still_there(known, around) };
    }
    Say { selected, potential: potential.into_iter().collect() }
}

/// What was asked about, but for nodes that are gone, of which drivers can say nothing.
fn still_there(known: &PodContext, around: &Surroundings<'_>) -> Vec<NodeName> {
    known.potential.iter().filter(|node| (around.is_there)(node)).cloned().collect()
}

/// Adds nodes, as many as may be named.
fn fill<'n>(potential: &mut BTreeSet<NodeName>, nodes: impl IntoIterator<Item = &'n NodeName>) {
    for node in nodes {
        if potential.len() >= NODES_MAX {
            break;
        }
        potential.insert(node.clone());
    }
}

impl Cycle<'_> {
    /// What is to be said to drivers about a pod.
    pub fn wanted(&self, pod: &Pod, openings: &Openings) -> Say {
        let plans = self.plans;
        let chosen = plans.selections.of(&pod.uid);
        let tried = plans.rounds.tried(&Key::from(pod));
        let around = Surroundings {
            is_there: &|node| self.facts.has_node(node),
            is_chosen: &|node| plans.selections.others_at(node, &pod.uid).next().is_some(),
        };
        say(self.facts.context(pod), (chosen, tried), &openings.nodes, &openings.pending, &around)
    }
}
