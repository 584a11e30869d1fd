//! For how many members there is room, as far as construction finds it.

use cluster::nodes::NodeIdx;

use crate::inquiry::Inquiry;
use crate::load::Load;
use crate::pack::alike::Stock;
use crate::pack::best_fit::{First, Next, best_fit, order};
use crate::state::PlacementState;

/// The passes that are made.
const MADE: [(First, Next); 3] =
    [(First::Smallest, Next::Fullest), (First::Largest, Next::Fullest), (First::Scarcest, Next::Tightest)];

/// Loads for as many members as can be seated at once on these nodes by quick construction.
pub(crate) fn most_seated<S: PlacementState + ?Sized>(
    nodes: &[NodeIdx],
    inquiry: &mut Inquiry<'_, S>,
) -> Vec<(NodeIdx, Load)> {
    let mut stock = Stock::new(nodes, inquiry);
    let mut best: (u32, Vec<(usize, Load)>) = (0, Vec::new());
    for (first, next) in MADE {
        let kinds = order(&stock, first, &[]);
        let loads = best_fit(&mut stock, &kinds, next, inquiry);
        let seated = loads.iter().map(|(_, load)| load.total()).sum();
        if seated > best.0 {
            best = (seated, loads);
        }
    }
    stock.name(best.1)
}
