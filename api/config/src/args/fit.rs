//! How well a node fits: `NodeResourcesFitArgs`, and the lists of resources and points that others share.

use std::ops::RangeInclusive;

use crate::fault::{Faults, Problem};
use crate::fields::Item;

/// Which resources are looked at, and which nodes are better.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeResourcesFit {
    /// Resources that a node need not have.
    pub ignored_resources: Vec<String>,
    /// The same by the part of their names before `/`.
    pub ignored_resource_groups: Vec<String>,
    /// Which nodes are better.
    pub strategy: ScoringStrategy,
    /// The resources by which nodes are compared.
    pub resources: Vec<ResourceWeight>,
}

/// Which nodes are better.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScoringStrategy {
    /// Those with more left.
    LeastAllocated,
    /// Those with less left.
    MostAllocated,
    /// As these points say, by how much is used.
    RequestedToCapacityRatio(Vec<ShapePoint>),
}

/// A resource, and how much it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceWeight {
    /// Its name.
    pub name: String,
    /// Its weight, from 1 to 100.
    pub weight: i64,
}

/// How good it is that so much is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapePoint {
    /// What is used, in percent.
    pub utilization: i32,
    /// How good that is, from 0 to 10.
    pub score: i32,
}

impl Default for NodeResourcesFit {
    fn default() -> Self {
        Self {
            ignored_resources: Vec::new(),
            ignored_resource_groups: Vec::new(),
            strategy: ScoringStrategy::LeastAllocated,
            resources: ["cpu", "memory"]
                .map(|name| ResourceWeight { name: name.to_owned(), weight: 1 })
                .to_vec(),
        }
    }
}

pub(super) fn read(item: Item<'_>, args: &mut NodeResourcesFit, faults: &mut Faults) {
    const IGNORED: &str = "ignoredResources";
    const GROUPS: &str = "ignoredResourceGroups";
    let known = [IGNORED, GROUPS, "scoringStrategy"];
    let Some(fields) = super::fields(item, "NodeResourcesFitArgs", &known, faults) else { return };
    args.ignored_resources =
        fields.list(IGNORED, faults, |item, faults| item.label_key(faults).map(|key| key.to_string()));
    args.ignored_resource_groups = fields.list(GROUPS, faults, |item, faults| {
        let group = item.label_key(faults)?;
        if group.contains('/') {
            item.fault(Problem::Rule("must be the part of a resource's name before '/'"), faults);
        }
        Some(group.to_string())
    });
    if let Some(strategy) = fields.get("scoringStrategy") {
        scoring_strategy(strategy, args, faults);
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Type {
    LeastAllocated,
    MostAllocated,
    RequestedToCapacityRatio,
}

fn scoring_strategy(item: Item<'_>, args: &mut NodeResourcesFit, faults: &mut Faults) {
    const RATIO: &str = "requestedToCapacityRatio";
    let Some(fields) = item.fields(&["type", "resources", RATIO], faults) else { return };
    let resources = fields.list("resources", faults, |item, faults| resource(item, 1..=100, faults));
    if !resources.is_empty() {
        args.resources = resources;
    }
    let types = [
        ("LeastAllocated", Type::LeastAllocated),
        ("MostAllocated", Type::MostAllocated),
        ("RequestedToCapacityRatio", Type::RequestedToCapacityRatio),
    ];
    let Some(chosen) = fields.get("type") else {
        let hint = "write LeastAllocated, MostAllocated or RequestedToCapacityRatio";
        fields.fault("type", Problem::Required { hint }, faults);
        return;
    };
    let Some(chosen) = chosen.choice(&types, faults) else { return };
    let ratio = fields.get(RATIO);
    if chosen != Type::RequestedToCapacityRatio
        && let Some(ratio) = ratio
    {
        ratio.fault(Problem::Rule("may be set only with type RequestedToCapacityRatio"), faults);
    }
    args.strategy = match chosen {
        Type::LeastAllocated => ScoringStrategy::LeastAllocated,
        Type::MostAllocated => ScoringStrategy::MostAllocated,
        Type::RequestedToCapacityRatio => {
            let ratio = ratio.and_then(|ratio| ratio.fields(&["shape"], faults));
            let shape = ratio.as_ref().and_then(|ratio| ratio.get("shape"));
            let points = shape.map(|item| self::shape(&item, faults)).unwrap_or_default();
            if points.is_empty() {
                let hint = "type RequestedToCapacityRatio needs a shape with at least one point";
                fields.fault(RATIO, Problem::Required { hint }, faults);
            }
            ScoringStrategy::RequestedToCapacityRatio(points)
        }
    };
}

/// A resource; its weight is one if none or zero is given.
pub(super) fn resource(
    item: &Item<'_>,
    weights: RangeInclusive<i64>,
    faults: &mut Faults,
) -> Option<ResourceWeight> {
    let fields = item.fields(&["name", "weight"], faults)?;
    let weight = fields.whole("weight", i64::MIN..=i64::MAX, faults).filter(|weight| *weight != 0);
    let weight = weight.unwrap_or(1);
    if !weights.contains(&weight) {
        let (least, most) = weights.into_inner();
        fields.fault("weight", Problem::OutOfRange { found: weight.to_string(), least, most }, faults);
    }
    let Some(name) = fields.filled_text("name", faults) else {
        fields.fault("name", Problem::Required { hint: "write the name of a resource" }, faults);
        return None;
    };
    Some(ResourceWeight { name, weight })
}

/// Points, each with more used than the one before.
pub(super) fn shape(item: &Item<'_>, faults: &mut Faults) -> Vec<ShapePoint> {
    let mut last = None;
    item.list(faults, |item, faults| {
        let fields = item.fields(&["utilization", "score"], faults)?;
        let before = faults.count();
        let utilization = fields.small("utilization", 0..=100, faults).unwrap_or(0);
        if faults.count() == before {
            if last.is_some_and(|last| last >= utilization) {
                let problem = Problem::Rule("must be more than that of the point before");
                fields.fault("utilization", problem, faults);
            }
            last = Some(utilization);
        }
        Some(ShapePoint { utilization, score: fields.small("score", 0..=10, faults).unwrap_or(0) })
    })
}
