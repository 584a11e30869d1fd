//! For how many members there is room, as far as construction finds it.

use cluster::nodes::NodeIdx;

use crate::inquiry::Inquiry;
use crate::load::Load;
use crate::pack::alike::Stock;
use crate::pack::best_fit::{PASSES, best_fit, order};
use crate::state::PlacementState;

/// How many passes are made.
const MADE: usize = 3;

/// Loads for as many members as can be seated at once on these nodes by quick construction. If not all fit, small members fill more seats
/// than large ones, so they come first in a last pass.
pub(crate) fn most_seated<S: PlacementState + ?Sized>(
    nodes: &[NodeIdx],
    inquiry: &mut Inquiry<'_, S>,
) -> Vec<(NodeIdx, Load)> {
    let mut stock = Stock::new(nodes, inquiry);
    let mut best: (u32, Vec<(usize, Load)>) = (0, Vec::new());
    for (number, (first, next)) in PASSES.iter().take(MADE + 1).enumerate() {
        let mut kinds = order(&stock, *first, &[]);
        if number == MADE {
            kinds.reverse();
        }
        let loads = best_fit(&mut stock, &kinds, *next, inquiry);
        let seated = loads.iter().map(|(_, load)| load.total()).sum();
        if seated > best.0 {
            best = (seated, loads);
        }
    }
    stock.name(best.1)
}
