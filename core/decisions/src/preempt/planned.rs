//! The devices that are planned for a nominee.

use cluster::claims::Held;
use cluster::ledger::{Holder, PodRef, ShareId};
use model::allocation::Allocation;
use model::pod::Pod;

use crate::devices::holding::held;

/// The devices of these allocations, held by a nominee.
pub fn planned<'a>(pod: &Pod, allocations: impl IntoIterator<Item = &'a Allocation>) -> Vec<Held> {
    let holder = Holder::Nominee(PodRef::from(pod));
    let all = allocations.into_iter().flat_map(|allocation| held(&holder, &pod.uid, allocation).0.held);
    let numbered = |(number, one): (usize, Held)| {
        // Shares of two claims may have the same place in theirs.
        let share = one.share.map(|_| ShareId(number.to_string().into()));
        Held { share, ..one }
    };
    all.enumerate().map(numbered).collect()
}
