//! Which features an object uses: those whose fields it has.
//!
//! Invariant: nothing is known here of any field. What belongs to features is said by the rules of each kind, which take it
//! out of an object while they are off. Here these rules are run, and it is noted for which features they take something.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use gates::{Gate, Gates, Preset};
use model::timestamp::Timestamp;
use objects::core::node::Node;
use objects::scheduling::priority_class::PriorityClass;
use schema::{Kind, conform, table};
use serde_json::Value;

use crate::kind::{Admit, Context};
use crate::surroundings::Surroundings;
use crate::{kinds, versions};

/// The features that can be off and whose fields an object of the kind has. One that is no object of the kind has none.
#[must_use]
pub fn used_gates(kind: &Kind, object: &Value) -> BTreeSet<Gate> {
    let Ok(object) = conform(table(), kind.object, object.clone(), &mut Vec::new()) else {
        return BTreeSet::new();
    };
    kinds::used_gates(versions::stored_kind(kind), &versions::to_stored(kind, object))
}

/// The same for a kind that has rules.
pub(crate) fn used<T: Admit + Clone>(object: &Value) -> BTreeSet<Gate> {
    let mut bare = object.clone();
    if let Some(fields) = bare.as_object_mut() {
        fields.remove("status");
    }
    let (Ok(object), Ok(bare)) = (T::read_value(object), T::read_value(&bare)) else {
        return BTreeSet::new();
    };
    let is_locked = |gate: &Gate| gate.spec().preset == Preset::LockedOn;
    let mut gates: Gates = Gate::ALL.iter().copied().filter(is_locked).collect();
    let mut used = BTreeSet::new();
    // A field may be inside another that goes as a whole, so it is looked again with what was found. Each time there is more
    // of it.
    loop {
        let heard = Heard::default();
        let context = Context { now: Timestamp::default(), gates: &gates, surroundings: &heard };
        object.clone().prepare_create(&context);
        object.clone().prepare_status(&bare, &context);
        let heard: Vec<Gate> =
            heard.0.into_inner().into_iter().filter(|gate| !gates.enabled(*gate)).collect();
        if heard.is_empty() {
            return used;
        }
        gates = heard.iter().fold(gates, |gates, gate| gates.with(*gate, true));
        used.extend(heard);
    }
}

/// A cluster without objects, in which is noted what is dropped.
#[derive(Default)]
pub(crate) struct Heard(RefCell<BTreeSet<Gate>>);

impl Surroundings for Heard {
    fn namespace_labels(&self, _: &str) -> Option<BTreeMap<String, String>> {
        None
    }

    fn priority_class(&self, _: &str) -> Option<PriorityClass> {
        None
    }

    fn default_priority_class(&self) -> Option<PriorityClass> {
        None
    }

    fn nodes(&self, _: &dyn Fn(&Node) -> bool) -> Vec<Node> {
        Vec::new()
    }

    fn dropped(&self, needed: &'static [Gate]) {
        self.0.borrow_mut().extend(needed);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(api_version: &str, kind: &str, fields: &Value, expected: &[Gate]) {
        let known = table().kind(api_version, kind).expect("a kind");
        let mut object = json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": "x" } });
        for (name, value) in fields.as_object().expect("fields") {
            object[name] = value.clone();
        }
        let used: Vec<Gate> = used_gates(known, &object).into_iter().collect();
        assert_eq!(used, expected, "{object}");
    }

    #[test]
    fn fields_of_features_that_can_be_off_are_found() {
        let device = |fields: Value| json!({ "spec": { "driver": "d", "devices": [fields] } });
        let v1 = "resource.k8s.io/v1";
        check(v1, "ResourceSlice", &device(json!({ "name": "a" })), &[]);
        let draws = json!({ "name": "a", "consumesCounters": [{ "counterSet": "s" }] });
        check(v1, "ResourceSlice", &device(draws), &[Gate::DRAPartitionableDevices]);
        // The groups are inside what partitionable devices have.
        let grouped = json!({ "name": "a", "consumesCounters": [{ "counterSet": "s", "compatibilityGroups": ["mig"] }] });
        let both = [Gate::DRADeviceCompatibilityGroups, Gate::DRAPartitionableDevices];
        check(v1, "ResourceSlice", &device(grouped), &both);
        let conditions =
            json!({ "name": "a", "bindingConditions": ["c"], "bindingFailureConditions": ["f"] });
        check(v1, "ResourceSlice", &device(conditions), &[Gate::DRADeviceBindingConditions]);
        check(
            v1,
            "DeviceClass",
            &json!({ "spec": { "controllerName": "d" } }),
            &[Gate::DRAControlPlaneController],
        );
        let status = json!({ "status": { "allocation": { "devices": { "results": [
            { "request": "r", "driver": "d", "pool": "p", "device": "a", "compatibilityGroups": { "s": ["mig"] } },
        ] } } } });
        check(v1, "ResourceClaim", &status, &[Gate::DRADeviceCompatibilityGroups]);
    }

    #[test]
    fn fields_of_any_version_and_depth_are_found() {
        let basic = json!({ "name": "a", "basic": { "consumesCounters": [
            { "counterSet": "s", "compatibilityGroups": ["mig"] },
        ] } });
        let slice = json!({ "spec": { "driver": "d", "devices": [basic] } });
        let both = [Gate::DRADeviceCompatibilityGroups, Gate::DRAPartitionableDevices];
        check("resource.k8s.io/v1beta1", "ResourceSlice", &slice, &both);
        let group = json!({ "name": "g", "schedulingConstraints": { "topology": [{ "key": "rack" }] } });
        let trees = json!([{ "name": "t", "podGroupTemplates": [group] }]);
        let workload = json!({ "spec": { "compositePodGroupTemplates": trees } });
        let deep = [Gate::CompositePodGroup, Gate::TopologyAwareWorkloadScheduling];
        check("scheduling.k8s.io/v1alpha3", "Workload", &workload, &deep);
        check(
            "v1",
            "Pod",
            &json!({ "spec": { "schedulingGroup": { "podGroupName": "g" } } }),
            &[Gate::GenericWorkload],
        );
    }

    #[test]
    fn what_is_no_object_of_its_kind_uses_nothing() {
        check("v1", "Pod", &json!({ "spec": "none" }), &[]);
    }
}
