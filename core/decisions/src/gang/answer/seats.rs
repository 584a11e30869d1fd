//! Seats of members: nodes, with what their claims need.

use std::sync::Arc;

use model::pod::Pod;

use crate::values::choice::Choice;

/// Members with their seats, and the place where they are.
pub type Seated = Vec<(Arc<Pod>, Choice)>;

/// Members in the order in which they are seated.
pub fn sort(members: &mut [Arc<Pod>]) {
    members.sort_by(|one, other| {
        let rank = |pod: &Arc<Pod>| (-i64::from(pod.priority), pod.created, pod.id.name.clone());
        rank(one).cmp(&rank(other))
    });
}
