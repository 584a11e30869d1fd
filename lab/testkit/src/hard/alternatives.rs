//! Requests with up to eight alternatives, on about as many devices as they need at least.

use super::dice::Dice;
use super::node::{self, claim, device, first_available, wanted};
use crate::instances::Instance;

pub(super) fn instance(dice: &mut Dice, requests: usize) -> Instance {
    let alternatives = dice.within(2, 8);
    let models = dice.within(3, 12);
    let several = dice.one_in(3);
    let mut asked = Vec::new();
    let mut least = 0;
    for at in 0..requests {
        let mut fewest = usize::MAX;
        let options = (0..alternatives).map(|_| {
            // A claim holds 32 devices at most, and the first alternatives of all requests together no more than that.
            let count = if several && requests <= 12 { 1 + dice.below(3) } else { 1 };
            fewest = fewest.min(count);
            let first = dice.below(models);
            let values = if dice.one_in(3) { vec![first, (first + 1) % models] } else { vec![first] };
            wanted(count, "model", &values)
        });
        asked.push(first_available(at, options.collect()));
        least += fewest;
    }
    let count = (least + dice.below(4)).saturating_sub(1).max(1);
    // Few devices of some models, many of others.
    let skewed = dice.one_in(2);
    let devices = (0..count).map(|at| {
        let model = dice.below(models);
        device(at, &[("model", if skewed { model * model / models } else { model })])
    });
    node::instance(&devices.collect::<Vec<_>>(), &[], vec![claim(0, &asked, &[])])
}
