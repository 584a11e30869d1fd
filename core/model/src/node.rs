//! Nodes as far as placement cares, and expressions that pick them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::identity::NodeName;
use crate::pod::Resources;

/// A node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Node {
    /// Its name.
    pub name: NodeName,
    /// Its labels.
    pub labels: BTreeMap<Arc<str>, Arc<str>>,
    /// Features that its agent declared.
    pub declared_features: Vec<Arc<str>>,
    /// No new pod may come.
    pub unschedulable: bool,
    /// Reasons to keep off.
    pub taints: Vec<NodeTaint>,
    /// What it has for pods.
    pub allocatable: Resources,
    /// How many pods it may have.
    pub pods_max: i64,
    /// Images that it has, with their sizes in bytes.
    pub images: BTreeMap<Arc<str>, i64>,
}

/// A reason to keep off a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeTaint {
    /// What is wrong.
    pub key: Arc<str>,
    /// More about it.
    pub value: Arc<str>,
    /// What it means for pods.
    pub effect: NodeTaintEffect,
}

/// What a node taint means for pods.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NodeTaintEffect {
    /// No new pod may come.
    NoSchedule,
    /// No new pod should come if there is another node.
    PreferNoSchedule,
    /// No new pod may come, and pods that are there must go.
    NoExecute,
    /// Something that we do not know, which keeps no pod off.
    Unknown(Arc<str>),
}

impl NodeTaintEffect {
    /// The effect of a name.
    #[must_use]
    pub fn named(name: &str) -> NodeTaintEffect {
        match name {
            "NoSchedule" => NodeTaintEffect::NoSchedule,
            "PreferNoSchedule" => NodeTaintEffect::PreferNoSchedule,
            "NoExecute" => NodeTaintEffect::NoExecute,
            other => NodeTaintEffect::Unknown(other.into()),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            NodeTaintEffect::NoSchedule => "NoSchedule",
            NodeTaintEffect::PreferNoSchedule => "PreferNoSchedule",
            NodeTaintEffect::NoExecute => "NoExecute",
            NodeTaintEffect::Unknown(name) => name,
        }
    }
}

/// Picks nodes: those that one of the terms picks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeSelector {
    /// The terms.
    pub terms: Vec<NodeTerm>,
}

/// Picks nodes that meet all requirements; without any, none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeTerm {
    /// Requirements on fields, of which there is one: `metadata.name`.
    pub fields: Vec<Requirement>,
    /// Requirements on labels.
    pub labels: Vec<Requirement>,
}

/// What a label or field must be like.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Requirement {
    /// The label or field.
    pub key: Arc<str>,
    /// How it is compared.
    pub operator: Operator,
    /// What with.
    pub values: Vec<Arc<str>>,
}

/// How a label is compared.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Operator {
    /// It is there with one of the values.
    In,
    /// It is not there, or with another value.
    NotIn,
    /// It is there.
    Exists,
    /// It is not there.
    DoesNotExist,
    /// It is a whole number above the value.
    Gt,
    /// It is a whole number below the value.
    Lt,
    /// Something that we do not know.
    Unknown(Arc<str>),
}

impl Operator {
    /// The operator of a name.
    #[must_use]
    pub fn named(name: &str) -> Operator {
        match name {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            "Gt" => Operator::Gt,
            "Lt" => Operator::Lt,
            other => Operator::Unknown(other.into()),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Operator::In => "In",
            Operator::NotIn => "NotIn",
            Operator::Exists => "Exists",
            Operator::DoesNotExist => "DoesNotExist",
            Operator::Gt => "Gt",
            Operator::Lt => "Lt",
            Operator::Unknown(name) => name,
        }
    }
}

/// A requirement that cannot be judged.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, thiserror::Error)]
#[error("the requirement on {key} is invalid: {reason}")]
pub struct BadRequirement {
    /// The label or field.
    pub key: Arc<str>,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// The one field of a node that can be asked for.
pub const NAME_FIELD: &str = "metadata.name";

impl NodeSelector {
    /// Picks a single node by name.
    #[must_use]
    pub fn only(node: &NodeName) -> NodeSelector {
        let name =
            Requirement { key: NAME_FIELD.into(), operator: Operator::In, values: vec![(**node).into()] };
        NodeSelector { terms: vec![NodeTerm { fields: vec![name], labels: Vec::new() }] }
    }

    /// Whether it picks a node.
    ///
    /// # Errors
    /// One of the requirements cannot be judged, whether or not it would matter for this node.
    pub fn picks(&self, node: &Node) -> Result<bool, BadRequirement> {
        let mut picked = false;
        for term in &self.terms {
            picked |= term.picks(node)?;
        }
        Ok(picked)
    }
}

impl NodeTerm {
    /// Whether it picks a node.
    ///
    /// # Errors
    /// One of the requirements cannot be judged, whether or not it would matter for this node.
    pub fn picks(&self, node: &Node) -> Result<bool, BadRequirement> {
        let mut all = !(self.fields.is_empty() && self.labels.is_empty());
        for requirement in &self.labels {
            all &= requirement.holds(node.labels.get(&requirement.key))?;
        }
        for requirement in &self.fields {
            all &= requirement.holds_for_field(&node.name)?;
        }
        Ok(all)
    }
}

impl Requirement {
    fn bad(&self, reason: &'static str) -> BadRequirement {
        BadRequirement { key: self.key.clone(), reason }
    }

    /// Whether a value, or its absence, is as required.
    ///
    /// # Errors
    /// It cannot be judged.
    pub fn holds(&self, value: Option<&Arc<str>>) -> Result<bool, BadRequirement> {
        let listed = || value.is_some_and(|value| self.values.contains(value));
        match self.operator {
            Operator::In | Operator::NotIn if self.values.is_empty() => Err(self.bad("it lists no value")),
            Operator::In => Ok(listed()),
            Operator::NotIn => Ok(!listed()),
            Operator::Exists | Operator::DoesNotExist if !self.values.is_empty() => {
                Err(self.bad("it takes no value"))
            }
            Operator::Exists => Ok(value.is_some()),
            Operator::DoesNotExist => Ok(value.is_none()),
            Operator::Gt | Operator::Lt => {
                let [bound] = &*self.values else { return Err(self.bad("it takes exactly one value")) };
                let bound: i64 = bound.parse().map_err(|_| self.bad("its value is not a whole number"))?;
                let Some(actual) = value.and_then(|value| value.parse::<i64>().ok()) else {
                    return Ok(false);
                };
                Ok(if self.operator == Operator::Gt { actual > bound } else { actual < bound })
            }
            Operator::Unknown(_) => Err(self.bad("its operator is not known")),
        }
    }

    fn holds_for_field(&self, name: &NodeName) -> Result<bool, BadRequirement> {
        let [wanted] = &*self.values else { return Err(self.bad("a field takes exactly one value")) };
        let equal = &*self.key == NAME_FIELD && **wanted == **name;
        match self.operator {
            Operator::In => Ok(equal),
            Operator::NotIn => Ok(!equal),
            _ => Err(self.bad("a field takes the operators In and NotIn")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node() -> Node {
        let labels = [("rack", "r1"), ("slots", "8")];
        let labels = labels.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        Node { name: "a".into(), labels, ..Node::default() }
    }

    fn picks(key: &str, operator: &str, values: &[&str]) -> Result<bool, &'static str> {
        let values = values.iter().map(|value| Arc::from(*value)).collect();
        let requirement = Requirement { key: key.into(), operator: Operator::named(operator), values };
        let term = NodeTerm { fields: Vec::new(), labels: vec![requirement] };
        NodeSelector { terms: vec![term] }.picks(&node()).map_err(|bad| bad.reason)
    }

    #[test]
    fn labels_are_compared_as_the_operator_says() {
        assert_eq!(picks("rack", "In", &["r0", "r1"]), Ok(true));
        assert_eq!(picks("rack", "NotIn", &["r1"]), Ok(false));
        assert_eq!(picks("row", "NotIn", &["r1"]), Ok(true));
        assert_eq!(picks("row", "Exists", &[]), Ok(false));
        assert_eq!(picks("row", "DoesNotExist", &[]), Ok(true));
        assert_eq!(picks("slots", "Gt", &["7"]), Ok(true));
        assert_eq!(picks("slots", "Lt", &["8"]), Ok(false));
        assert_eq!(picks("rack", "Gt", &["7"]), Ok(false));
    }

    #[test]
    fn what_cannot_be_judged_is_an_error() {
        assert_eq!(picks("rack", "Like", &["r*"]), Err("its operator is not known"));
        assert_eq!(picks("slots", "Gt", &["many"]), Err("its value is not a whole number"));
        assert_eq!(picks("rack", "In", &[]), Err("it lists no value"));
    }

    #[test]
    fn a_term_without_requirements_picks_nothing() {
        assert_eq!(NodeSelector { terms: vec![NodeTerm::default()] }.picks(&node()), Ok(false));
        assert_eq!(NodeSelector::only(&"a".into()).picks(&node()), Ok(true));
        assert_eq!(NodeSelector::only(&"b".into()).picks(&node()), Ok(false));
    }
}
