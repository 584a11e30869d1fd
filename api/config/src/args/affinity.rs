//! What every pod asks of nodes on top of what it says itself: `NodeAffinityArgs`.

use std::sync::Arc;

use model::node::{BadRequirement, Node, NodeSelector, NodeTerm, Operator, Requirement};

use crate::fault::{Faults, Problem};
use crate::fields::Item;

/// What every pod asks of nodes on top of what it says itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddedAffinity {
    /// Nodes that will do.
    pub required: Option<NodeSelector>,
    /// Nodes that would be better, by how much.
    pub preferred: Vec<(i32, NodeTerm)>,
}

pub(super) fn read(item: Item<'_>, faults: &mut Faults) -> Option<AddedAffinity> {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
    let args = super::fields(item, "NodeAffinityArgs", &["addedAffinity"], faults)?;
    let fields = args.get("addedAffinity")?.fields(&[REQUIRED, PREFERRED], faults)?;
    Some(AddedAffinity {
        required: fields.get(REQUIRED).and_then(|item| {
            let fields = item.fields(&["nodeSelectorTerms"], faults)?;
            Some(NodeSelector {
                terms: fields.list("nodeSelectorTerms", faults, |item, faults| term(*item, faults)),
            })
        }),
        preferred: fields.list(PREFERRED, faults, |item, faults| {
            let fields = item.fields(&["weight", "preference"], faults)?;
            let weight = fields.small("weight", i32::MIN..=i32::MAX, faults).unwrap_or(0);
            Some((weight, fields.get("preference").and_then(|item| term(item, faults)).unwrap_or_default()))
        }),
    })
}

fn term(item: Item<'_>, faults: &mut Faults) -> Option<NodeTerm> {
    let fields = item.fields(&["matchExpressions", "matchFields"], faults)?;
    let on_labels = |item: &Item<'_>, faults: &mut Faults| requirement(item, Subject::Label, faults);
    let on_fields = |item: &Item<'_>, faults: &mut Faults| requirement(item, Subject::Field, faults);
    Some(NodeTerm {
        labels: fields.list("matchExpressions", faults, on_labels),
        fields: fields.list("matchFields", faults, on_fields),
    })
}

/// What a requirement is about.
#[derive(Clone, Copy)]
enum Subject {
    Label,
    Field,
}

/// Reads a requirement, and asks the model whether it can be judged at all, so that this is not first noticed when a pod
/// is to be placed.
fn requirement(item: &Item<'_>, subject: Subject, faults: &mut Faults) -> Option<Requirement> {
    let fields = item.fields(&["key", "operator", "values"], faults)?;
    for (name, hint) in [("key", "write what is compared"), ("operator", "write how it is compared")] {
        if fields.get(name).is_none() {
            fields.fault(name, Problem::Required { hint }, faults);
        }
    }
    let before = faults.count();
    let text = |item: &Item<'_>, faults: &mut Faults| item.text(faults).map(Arc::from);
    let operator = fields.get("operator").and_then(|item| {
        let names = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"].map(|name| (name, name));
        item.choice(&names, faults)
    });
    let key = fields.get("key").and_then(|item| match subject {
        Subject::Label => item.label_key(faults),
        Subject::Field => text(&item, faults),
    });
    let values = fields.list("values", faults, |item, faults| match subject {
        Subject::Label => item.label_value(faults),
        Subject::Field => text(item, faults),
    });
    let requirement = Requirement { key: key?, operator: Operator::named(operator?), values };
    if faults.count() == before
        && let Err(bad) = judge(&requirement, subject)
    {
        item.fault(Problem::Rule(bad.reason), faults);
    }
    Some(requirement)
}

fn judge(requirement: &Requirement, subject: Subject) -> Result<bool, BadRequirement> {
    let requirements = vec![requirement.clone()];
    let term = match subject {
        Subject::Label => NodeTerm { labels: requirements, fields: Vec::new() },
        Subject::Field => NodeTerm { labels: Vec::new(), fields: requirements },
    };
    NodeSelector { terms: vec![term] }.picks(&Node::default())
}
