//! Devices that must have a value in common, pair by pair or three by three, on boards that have too few of one kind or another.

use serde_json::json;

use super::dice::Dice;
use super::node::{self, claim, constraint, device, request, wanted};
use crate::instances::Instance;

pub(super) fn instance(dice: &mut Dice, requests: usize) -> Instance {
    let kinds = if requests >= 6 && dice.one_in(3) { 3 } else { 2 };
    let bundles = requests / kinds;
    let on_board = dice.within(1, 3);
    // Boards are made until they would hold as many bundles as are wanted, or one less, if nothing joined boards.
    let most = bundles + dice.below(3);
    let mut devices = Vec::new();
    let (mut held, mut board) = (0, 0);
    let joined = dice.one_in(3);
    while held + 1 < most && devices.len() < 500 {
        let counts: Vec<usize> = (0..kinds).map(|_| dice.within(0, on_board + 1)).collect();
        held += counts.iter().copied().min().unwrap_or_default();
        for (kind, count) in counts.iter().enumerate() {
            for _ in 0..*count {
                let mut made = device(devices.len(), &[("kind", kind), ("board", board)]);
                if joined && dice.one_in(4) {
                    made["attributes"]["board"] = json!({"ints": [board, board + 1]});
                }
                devices.push(made);
            }
        }
        board += 1;
    }
    let asked = (0..bundles * kinds).map(|at| request(at, &wanted(1, "kind", &[at % kinds])));
    let tied = (0..bundles)
        .map(|bundle| constraint("matchAttribute", "board", bundle * kinds..(bundle + 1) * kinds));
    node::instance(&devices, &[], vec![claim(0, &asked.collect::<Vec<_>>(), &tied.collect::<Vec<_>>())])
}
