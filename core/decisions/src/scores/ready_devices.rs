//! Devices that may be used at once are better than those for which a pod would wait: it waits minutes while a device is attached.
//!
//! What a node is worth by this depends on the devices that were found there, so it can be told only after they were.

use model::allocation::Allocation;

use crate::scores::scale::BEST;

/// The score of a node by the devices that were found there. Without any there is nothing to wait for.
#[must_use]
pub fn score(found: &[Allocation]) -> i64 {
    let grants = || found.iter().flat_map(|allocation| &allocation.grants);
    let ready = grants().filter(|grant| grant.binding.conditions.is_empty()).count() as i64;
    match grants().count() as i64 {
        0 => BEST,
        all => BEST * ready / all,
    }
}

#[cfg(test)]
mod tests {
    use model::allocation::Grant;
    use model::device::{Binding, DeviceId};

    use super::*;

    #[test]
    fn a_node_is_as_good_as_the_share_of_its_devices_that_are_ready() {
        let grant = |conditions: &[&str]| Grant {
            request: "gpu".into(),
            device: DeviceId { driver: "d".into(), pool: "p".into(), device: "a".into() },
            admin_access: false,
            share: None,
            tolerations: Vec::new(),
            binding: Binding {
                conditions: conditions.iter().map(|one| (*one).into()).collect(),
                ..Binding::default()
            },
            skip_node_operations: Vec::new(),
            groups: [].into(),
        };
        let given = |grants: Vec<Grant>| Allocation { grants, configs: Vec::new(), nodes: None };
        let (ready, waits) = (|| grant(&[]), || grant(&["Attached"]));
        assert_eq!(score(&[]), 100);
        assert_eq!(score(&[given(vec![ready()]), given(vec![ready()])]), 100);
        assert_eq!(score(&[given(vec![ready(), waits()]), given(vec![waits()])]), 33);
        assert_eq!(score(&[given(vec![waits()])]), 0);
    }
}
