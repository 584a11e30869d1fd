//! Which module depends on which, and why.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Modules by path, with those that each depends on and the first reason for it.
#[derive(Debug, Default)]
pub(super) struct Graph {
    edges: BTreeMap<String, BTreeMap<String, String>>,
}

impl Graph {
    /// A module depends on another for a reason; on itself it may.
    pub(super) fn add(&mut self, from: &str, to: &str, reason: impl FnOnce() -> String) {
        if from != to {
            let known = self.edges.entry(from.to_owned()).or_default();
            known.entry(to.to_owned()).or_insert_with(reason);
        }
    }

    /// Why a module depends on another.
    pub(super) fn reason(&self, from: &str, to: &str) -> &str {
        self.edges.get(from).and_then(|known| known.get(to)).map_or("something", String::as_str)
    }

    /// Circles, each a shortest one through its first module, so that every module that is in one is told of once.
    pub(super) fn circles(&self) -> Vec<Vec<String>> {
        let mut told: BTreeSet<&str> = BTreeSet::new();
        let mut circles = Vec::new();
        for start in self.edges.keys() {
            if told.contains(start.as_str()) {
                continue;
            }
            if let Some(circle) = self.circle_through(start) {
                told.extend(circle.iter().copied());
                circles.push(circle.into_iter().map(str::to_owned).collect());
            }
        }
        circles
    }

    fn circle_through<'g>(&'g self, start: &'g str) -> Option<Vec<&'g str>> {
        let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
        let mut ahead = VecDeque::from([start]);
        while let Some(at) = ahead.pop_front() {
            for next in self.edges.get(at).into_iter().flat_map(BTreeMap::keys) {
                if next == start {
                    let mut circle = vec![at];
                    while let Some(before) = came_from.get(circle[circle.len() - 1]) {
                        circle.push(before);
                    }
                    circle.reverse();
                    return Some(circle);
                }
                if !came_from.contains_key(next.as_str()) {
                    came_from.insert(next, at);
                    ahead.push_back(next);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Graph;

    #[test]
    fn the_shortest_circle_is_told_and_a_line_is_none() {
        let mut graph = Graph::default();
        for (from, to) in [("a", "b"), ("b", "c"), ("c", "a"), ("b", "a"), ("c", "d"), ("d", "d")] {
            graph.add(from, to, String::new);
        }
        assert_eq!(graph.circles(), [vec!["a", "b"], vec!["c", "a", "b"]]);
    }
}
