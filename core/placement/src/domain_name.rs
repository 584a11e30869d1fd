//! What people call a domain.

use std::fmt;
use std::sync::Arc;

/// What people call a domain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DomainName {
    /// It is the whole cluster.
    Cluster,
    /// It is a part of the cluster, and has this name.
    Part(Arc<str>),
}

impl DomainName {
    /// The name, if it is a part of the cluster.
    #[must_use]
    pub fn part(&self) -> Option<&str> {
        match self {
            DomainName::Cluster => None,
            DomainName::Part(name) => Some(name),
        }
    }

    /// The name of a part of it, by the values that labels of nodes have there. A label without a value adds nothing to it.
    pub(crate) fn at(&self, path: &[Arc<str>]) -> DomainName {
        let values = path.iter().map(|value| &**value).filter(|value| !value.is_empty());
        let names: Vec<&str> = self.part().into_iter().chain(values).collect();
        if names.is_empty() { DomainName::Cluster } else { DomainName::Part(names.join("/").into()) }
    }

    /// The name of a part of it that devices reach.
    pub(crate) fn with(&self, devices: &str) -> DomainName {
        DomainName::Part(match self {
            DomainName::Cluster => devices.into(),
            DomainName::Part(name) => format!("{name} with {devices}").into(),
        })
    }
}

impl fmt::Display for DomainName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.part().unwrap_or("cluster"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_cluster_is_named_by_what_it_is_in() {
        let rack = DomainName::Cluster.at(&["b0".into(), "r1".into()]);
        assert_eq!(
            (rack.to_string(), rack.with("pool a").to_string()),
            ("b0/r1".into(), "b0/r1 with pool a".into())
        );
        assert_eq!(DomainName::Cluster.with("pool a").part(), Some("pool a"));
        assert_eq!(rack.at(&["".into()]), rack);
        assert_eq!(DomainName::Cluster.at(&[]).to_string(), "cluster");
    }
}
