//! Proofs by pairing: requests with devices of their own, and devices that must differ with values of their own.
//!
//! Units of demand are paired with what is offered along alternating paths. What was paired once is kept and only mended when it
//! is asked again, as little changes from one step to the next. It is a hint and no part of the state: nothing has to be undone.

/// Demands paired with offers.
#[derive(Debug, Default)]
pub(crate) struct Pairing {
    /// The demand that has each offer.
    holder: Vec<Option<usize>>,
    seen: Vec<u32>,
    round: u32,
    /// How many offers were looked at, since the beginning.
    pub looked_at: u64,
}

impl Pairing {
    pub fn new(offers: usize) -> Pairing {
        Pairing { holder: vec![None; offers], seen: vec![0; offers], round: 0, looked_at: 0 }
    }

    /// Gives each demand so many offers out of those that it can use; the first demand that goes short, and how many it gets.
    pub fn shortage<'s>(
        &mut self,
        needs: &[u32],
        usable: &dyn Fn(usize) -> &'s [u64],
    ) -> Option<(usize, u32)> {
        let mut got = vec![0; needs.len()];
        for offer in 0..self.holder.len() {
            let Some(demand) = self.holder[offer] else { continue };
            if demand < needs.len()
                && got[demand] < needs[demand]
                && super::bits::contains(usable(demand), offer)
            {
                got[demand] += 1;
            } else {
                self.holder[offer] = None;
            }
        }
        for demand in 0..needs.len() {
            while got[demand] < needs[demand] {
                self.round += 1;
                if !self.give(demand, usable) {
                    return Some((demand, got[demand]));
                }
                got[demand] += 1;
            }
        }
        None
    }

    /// Gives a demand one more offer, moving other demands to other offers if it must.
    fn give<'s>(&mut self, demand: usize, usable: &dyn Fn(usize) -> &'s [u64]) -> bool {
        let offers = usable(demand);
        self.looked_at += offers.len() as u64;
        if let Some(free) = super::bits::ones(offers).find(|offer| self.holder[*offer].is_none()) {
            self.holder[free] = Some(demand);
            return true;
        }
        for offer in super::bits::ones(offers) {
            self.looked_at += 1;
            if std::mem::replace(&mut self.seen[offer], self.round) == self.round {
                continue;
            }
            let other = self.holder[offer].expect("no offer is free");
            if other != demand && self.give(other, usable) {
                self.holder[offer] = Some(demand);
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demands_make_room_for_one_another() {
        let usable: [&[u64]; 3] = [&[0b0011], &[0b0001], &[0b1110]];
        let mut pairing = Pairing::new(4);
        assert_eq!(pairing.shortage(&[1, 1, 2], &|demand| usable[demand]), None);
        assert_eq!(pairing.shortage(&[1, 1, 3], &|demand| usable[demand]), Some((2, 2)));
        assert_eq!(pairing.shortage(&[1, 2, 0], &|demand| usable[demand]), Some((1, 1)));
        assert_eq!(pairing.shortage(&[1, 1, 2], &|demand| usable[demand]), None);
    }
}
