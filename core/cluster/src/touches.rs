//! Which nodes something changed for, in order, so that answers about nodes can be kept until they may be wrong.

use std::collections::VecDeque;

use crate::nodes::NodeIdx;

/// How many touches are remembered. A reader that has not looked for longer than that has to look at everything.
const TOUCHES_MAX: usize = 65_536;

/// The nodes that something changed for, in order.
#[derive(Clone, Debug, Default)]
pub struct Touches {
    log: VecDeque<NodeIdx>,
    /// How many touches are no longer remembered.
    forgotten: u64,
}

impl Touches {
    /// Something changed for a node.
    pub fn touch(&mut self, node: NodeIdx) {
        if self.log.len() == TOUCHES_MAX {
            self.log.pop_front();
            self.forgotten += 1;
        }
        self.log.push_back(node);
    }

    /// Something changed for all nodes.
    pub fn touch_all(&mut self) {
        // One more than there were, so that no reader has seen it.
        self.forgotten += self.log.len() as u64 + 1;
        self.log.clear();
    }

    /// The moment that is now.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.forgotten + self.log.len() as u64
    }

    /// The nodes that were touched since a moment, each once; `None` if that may be all of them.
    #[must_use]
    pub fn since(&self, moment: u64) -> Option<Vec<NodeIdx>> {
        let skip = moment.checked_sub(self.forgotten)? as usize;
        let mut nodes: Vec<NodeIdx> = self.log.iter().skip(skip).copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        Some(nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: u32) -> NodeIdx {
        NodeIdx(number)
    }

    #[test]
    fn each_node_is_told_once_since_a_moment() {
        let mut touches = Touches::default();
        [3, 1, 3].into_iter().for_each(|number| touches.touch(node(number)));
        assert_eq!(touches.since(0), Some(vec![node(1), node(3)]));
        let moment = touches.now();
        assert_eq!(touches.since(moment), Some(Vec::new()));
        touches.touch(node(7));
        assert_eq!(touches.since(moment), Some(vec![node(7)]));
    }

    #[test]
    fn what_touches_all_nodes_ends_everything_before_it() {
        let mut touches = Touches::default();
        let start = touches.now();
        touches.touch_all();
        assert_eq!(touches.since(start), None);
        let moment = touches.now();
        assert_eq!(touches.since(moment), Some(Vec::new()));
    }

    #[test]
    fn what_is_too_long_ago_may_be_everything() {
        let mut touches = Touches::default();
        let start = touches.now();
        (0..=TOUCHES_MAX).for_each(|_| touches.touch(node(0)));
        assert_eq!(touches.since(start), None);
        assert_eq!(touches.since(start + 1), Some(vec![node(0)]));
    }
}
