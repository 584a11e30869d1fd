//! Which devices are equal after what was chosen, so that what is refuted for one is refuted for all.
//!
//! It is judged by what was chosen alone, and not by what the search closed: what it closed, it has refuted, and exchanging equal
//! devices keeps that true.

use super::board::Board;
use super::model::Model;

/// Whether exchanging two devices changes nothing for what is still wanted.
pub(super) fn are_equal(model: &Model, board: &Board, left: usize, right: usize) -> bool {
    if left == right {
        return true;
    }
    let kinds = &model.kinds;
    if kinds.base[left] != kinds.base[right] || board.held[left] != board.held[right] {
        return false;
    }
    if board.held[left] > 0 {
        let whole = board.capacity_left[left] == board.capacity_left[right];
        if !model.devices[left].shareable || !whole || is_begun_with(model, board, left, right) {
            return false;
        }
    }
    match (kinds.set[left], kinds.set[right]) {
        (Some(left), Some(right)) => {
            left == right || sets_are_equal(model, board, left as usize, right as usize)
        }
        // The kind holds the sets of a device that draws on several or on none.
        _ => true,
    }
}

/// Whether a request that is not done has one of the devices, which it cannot have twice.
fn is_begun_with(model: &Model, board: &Board, left: usize, right: usize) -> bool {
    (0..model.requests.len()).any(|request| {
        let has = board.picks[request].iter().any(|device| [left, right].contains(&(*device as usize)));
        has && !board.is_done(model, request)
    })
}

fn sets_are_equal(model: &Model, board: &Board, left: usize, right: usize) -> bool {
    let (one, other) = (&model.counters.sets[left], &model.counters.sets[right]);
    let alike = model.kinds.of_set[left] == model.kinds.of_set[right];
    alike
        && model.exchangeable[left]
        && model.exchangeable[right]
        && board.left[one.slots.clone()] == board.left[other.slots.clone()]
        && board.members[left] == board.members[right]
        && gone(model, board, left) == gone(model, board, right)
}

/// The kinds of the devices of a set that were chosen.
fn gone(model: &Model, board: &Board, set: usize) -> Vec<u32> {
    let held = model.on_set[set].iter().filter(|device| board.held[**device as usize] > 0);
    let mut kinds: Vec<u32> = held.map(|device| model.kinds.base[*device as usize]).collect();
    kinds.sort_unstable();
    kinds
}
