//! Gives seats of a tree, which say how many members of which group and kind are on which node, to members.

use placement::{DomainName, Load, Placement, Seats};

use crate::gang::answer::seats::Seated;
use crate::gang::members::member::Bundle;
use crate::gang::tree::ground::Ground;
use crate::gang::tree::loads::SeatRun;
use crate::gang::tree::outline::{Content, Outline};
use crate::values::gang_reason::GangReason;

/// How many members of each kind are on each node that has some, in the order of nodes.
pub(crate) fn seats_by_node(ground: &Ground<'_, '_>, runs: &[SeatRun]) -> Vec<Seats> {
    let mut seats: Vec<Seats> = Vec::new();
    let mut runs: Vec<&SeatRun> = runs.iter().collect();
    runs.sort_by_key(|run| run.node);
    for SeatRun { node, kind, count, .. } in runs {
        let node = ground.nodes[*node];
        if seats.last().is_none_or(|last| last.node != node) {
            seats.push(Seats { node, load: Load::none(ground.kinds()) });
        }
        let load = &mut seats.last_mut().expect("a node was added").load;
        load.set(*kind, load.get(*kind) + count);
    }
    seats
}

/// The members that have these seats, with their devices.
pub(crate) fn hand_out(
    ground: &mut Ground<'_, '_>,
    outline: &Outline,
    runs: &[SeatRun],
) -> Result<Seated, GangReason> {
    let cast = ground.view.cast;
    // Seats are given to the members of a kind in the order in which they stand there.
    let mut kinds: Vec<Vec<Bundle>> = vec![Vec::new(); cast.kinds.len()];
    let mut given: Vec<Vec<usize>> = outline.parts.iter().map(|_| Vec::new()).collect();
    let mut sorted: Vec<&SeatRun> = runs.iter().collect();
    sorted.sort_by_key(|run| run.node);
    for SeatRun { part, kind, count, .. } in sorted {
        let Content::Group(group) = &outline.get(*part).content else {
            unreachable!("only groups have seats")
        };
        let place =
            group.members.iter().position(|(known, _)| known == kind).expect("the group has the kind");
        let given = &mut given[part.0];
        given.resize(group.members.len(), 0);
        let members = group.members[place].1.iter().skip(given[place]).take(*count as usize);
        kinds[*kind].extend(members.map(|at| cast.kinds[*kind][*at].clone()));
        given[place] += *count as usize;
    }
    let used: Vec<usize> = (0..kinds.len()).filter(|kind| !kinds[*kind].is_empty()).collect();
    let seats = seats_by_node(ground, runs).into_iter().map(|seats| {
        let load = Load::new(used.iter().map(|kind| seats.load.get(*kind)));
        Seats { load, ..seats }
    });
    let seats = seats.collect();
    let kinds = used.iter().map(|kind| std::mem::take(&mut kinds[*kind])).collect();
    let cast = cast.with_kinds(kinds);
    let placement = Placement { domain: DomainName::Cluster, rank: 0, seats, score: 0.0 };
    if ground.view.assumed.needs_joint_devices() {
        ground.view.cycle.hand_out_apart(&cast, &placement)
    } else {
        ground.view.cycle.hand_out(&cast, &placement)
    }
}
