//! The scale of scores: 0 to 100.

/// The best score.
pub const BEST: i64 = 100;

/// Stretches scores so that the highest becomes the best, or turned round the worst.
#[must_use]
pub fn normalised(mut scores: Vec<i64>, turned: bool) -> Vec<i64> {
    let most = scores.iter().copied().max().unwrap_or(0).max(0);
    for score in &mut scores {
        let share = if most == 0 { 0 } else { score.saturating_mul(BEST) / most };
        *score = if turned { BEST - share } else { share };
    }
    scores
}
