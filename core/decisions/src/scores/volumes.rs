//! Nodes where more of the storage stays free that a pod's volumes come from.

use crate::scores::resources::on_curve;
use crate::scores::scale::BEST;

/// The score of a node, by how much is asked for of how much there is, for each class of storage; a curve tells what use is worth.
#[must_use]
pub(crate) fn score(uses: &[(i64, i64)], curve: &[(i64, i64)]) -> i64 {
    if uses.is_empty() {
        return 0;
    }
    let worth = |(requested, capacity): &(i64, i64)| match *capacity {
        0 => on_curve(curve, BEST),
        capacity if *requested > capacity => on_curve(curve, BEST),
        capacity => on_curve(curve, requested.saturating_mul(BEST) / capacity),
    };
    let sum: i64 = uses.iter().map(worth).sum();
    (sum as f64 / uses.len() as f64).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_better_the_less_of_its_storage_is_taken() {
        let falling = [(0, 100), (100, 0)];
        let table: [(&[(i64, i64)], i64); 5] =
            [(&[], 0), (&[(1, 4)], 75), (&[(1, 4), (1, 2)], 63), (&[(5, 4)], 0), (&[(0, 0)], 0)];
        for (uses, expected) in table {
            assert_eq!(score(uses, &falling), expected, "{uses:?}");
        }
        assert_eq!(score(&[(1, 4)], &[(0, 0), (100, 100)]), 25);
    }
}
