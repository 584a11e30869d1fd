//! Control of claims by drivers' own controllers: what classes and claims say about it, whichever way it travels.
//!
//! Our own server has fields for it. A real one would drop them, and there they are annotations. Which of the two it is, is
//! said by the class: a claim is written in the way in which its class names the controller.
//!
//! Invariant: nobody else reads or writes either form. With annotations, who asks for devices back says so before the last
//! user lets go, and what a controller gives is described before it is given: so that whoever stops in between leaves
//! nothing that nobody would take up.

use crate::core::affinity::NodeSelector;
use crate::meta::ObjectMeta;
use crate::resource::allocation::ResourceHandle;
use crate::resource::claim::ResourceClaim;
use crate::resource::class::DeviceClass;
use crate::supercargo::annotations::{
    ALLOCATION_MODE, CONTROLLER_NAME, DEALLOCATION_REQUESTED, RESOURCE_HANDLES, SHAREABLE, SUITABLE_NODES,
};

/// The way in which it travels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// As fields.
    Fields,
    /// As annotations.
    Annotations,
}

/// What a class says.
#[derive(Clone, PartialEq, Debug)]
pub struct ClassControl {
    /// Whose controller gives devices.
    pub controller: String,
    /// The nodes that can be thought of at all; every node if absent.
    pub suitable_nodes: Option<NodeSelector>,
    /// How it is said.
    pub form: Form,
}

fn noted<'m>(metadata: &'m ObjectMeta, key: &str) -> &'m str {
    metadata.annotations.get(key).map_or("", String::as_str)
}

/// What a class says of the controller that gives devices to its claims; nothing, if the scheduler does.
///
/// # Errors
/// An annotation means nothing: its name, and why.
pub fn of_class(class: &DeviceClass) -> Result<Option<ClassControl>, (&'static str, String)> {
    let spec = &class.spec;
    if !spec.controller_name.is_empty() {
        let (controller, suitable_nodes) = (spec.controller_name.clone(), spec.suitable_nodes.clone());
        return Ok(Some(ClassControl { controller, suitable_nodes, form: Form::Fields }));
    }
    let controller = noted(&class.metadata, CONTROLLER_NAME);
    if controller.is_empty() {
        return Ok(None);
    }
    let suitable_nodes = match noted(&class.metadata, SUITABLE_NODES) {
        "" => None,
        text => Some(serde_json::from_str(text).map_err(|error| (SUITABLE_NODES, error.to_string()))?),
    };
    let controller = controller.to_owned();
    Ok(Some(ClassControl { controller, suitable_nodes, form: Form::Annotations }))
}

/// Whether a class leaves devices to a controller.
#[must_use]
pub fn is_controlled(class: &DeviceClass) -> bool {
    !class.spec.controller_name.is_empty() || !noted(&class.metadata, CONTROLLER_NAME).is_empty()
}

/// How a claim is written that a controller has given devices.
#[must_use]
pub fn form(claim: &ResourceClaim) -> Form {
    let is_noted =
        claim.status.controller_name.is_empty() && !noted(&claim.metadata, CONTROLLER_NAME).is_empty();
    if is_noted { Form::Annotations } else { Form::Fields }
}

/// Who gave a claim its devices; empty if nobody did or the scheduler.
#[must_use]
pub fn controller(claim: &ResourceClaim) -> &str {
    if claim.status.allocation.is_none() {
        return "";
    }
    match claim.status.controller_name.as_str() {
        "" => noted(&claim.metadata, CONTROLLER_NAME),
        name => name,
    }
}

/// Whether a claim is to have devices at once and for good.
#[must_use]
pub fn is_immediate(claim: &ResourceClaim) -> bool {
    let mode = match claim.spec.allocation_mode.as_str() {
        "" => noted(&claim.metadata, ALLOCATION_MODE),
        mode => mode,
    };
    mode == "Immediate"
}

/// Whether the devices of a claim are asked back.
#[must_use]
pub fn is_leaving(claim: &ResourceClaim) -> bool {
    claim.status.deallocation_requested || noted(&claim.metadata, DEALLOCATION_REQUESTED) == "true"
}

/// Whether more than one may use what a claim has.
#[must_use]
pub fn is_shareable(claim: &ResourceClaim) -> bool {
    let is_said = claim.status.allocation.as_ref().is_some_and(|allocation| allocation.shareable);
    is_said || noted(&claim.metadata, SHAREABLE) == "true"
}

/// Whether a driver's controller gave the claim devices that only one may use. What a scheduler gives, all may share.
#[must_use]
pub fn is_for_one(claim: &ResourceClaim) -> bool {
    claim.status.allocation.is_some() && !controller(claim).is_empty() && !is_shareable(claim)
}

/// What a controller left for those who prepare the devices of a claim.
///
/// # Errors
/// The annotation means nothing.
pub fn handles(claim: &ResourceClaim) -> Result<Vec<ResourceHandle>, String> {
    let fields = claim.status.allocation.as_ref().map(|allocation| allocation.resource_handles.clone());
    match (fields.unwrap_or_default(), noted(&claim.metadata, RESOURCE_HANDLES)) {
        (handles, "") => Ok(handles),
        (handles, _) if !handles.is_empty() => Ok(handles),
        (_, text) => serde_json::from_str(text).map_err(|error| error.to_string()),
    }
}

/// Notes on a claim, before it gets devices, what its status cannot say.
pub fn describe(claim: &mut ResourceClaim, controller: &str, shareable: bool, handles: &[ResourceHandle]) {
    let notes = &mut claim.metadata.annotations;
    notes.insert(CONTROLLER_NAME.to_owned(), controller.to_owned());
    if shareable {
        notes.insert(SHAREABLE.to_owned(), "true".to_owned());
    } else {
        notes.remove(SHAREABLE);
    }
    if handles.is_empty() {
        notes.remove(RESOURCE_HANDLES);
    } else {
        let text = serde_json::to_string(handles).expect("the keys of our wire types are texts");
        notes.insert(RESOURCE_HANDLES.to_owned(), text);
    }
}

/// Takes away what was noted on a claim that has no devices any more, and says whether something was.
pub fn undescribe(claim: &mut ResourceClaim) -> bool {
    let notes = &mut claim.metadata.annotations;
    let before = notes.len();
    for key in [CONTROLLER_NAME, SHAREABLE, RESOURCE_HANDLES, DEALLOCATION_REQUESTED] {
        notes.remove(key);
    }
    notes.len() < before
}

/// Notes on a claim that its devices are asked back.
pub fn note_leaving(claim: &mut ResourceClaim) {
    claim.metadata.annotations.insert(DEALLOCATION_REQUESTED.to_owned(), "true".to_owned());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claim(value: serde_json::Value) -> ResourceClaim {
        serde_json::from_value(value).expect("a claim")
    }

    #[test]
    fn a_class_names_its_controller_in_either_form() {
        let nodes = json!({ "nodeSelectorTerms": [{ "matchExpressions": [
            { "key": "a", "operator": "Exists" },
        ] }] });
        let fields = json!({ "spec": { "controllerName": "d.example.com", "suitableNodes": nodes } });
        let notes = json!({ "metadata": { "annotations": {
            CONTROLLER_NAME: "d.example.com", SUITABLE_NODES: nodes.to_string(),
        } } });
        let read = |value| of_class(&serde_json::from_value(value).expect("a class"));
        let (fields, notes) = (read(fields).expect("good"), read(notes).expect("good"));
        let (fields, notes) = (fields.expect("controlled"), notes.expect("controlled"));
        assert_eq!((fields.form, notes.form), (Form::Fields, Form::Annotations));
        assert_eq!((&fields.controller, &fields.suitable_nodes), (&notes.controller, &notes.suitable_nodes));
        assert_eq!(read(json!({})), Ok(None));
        let bad = json!({ "metadata": { "annotations": { CONTROLLER_NAME: "d", SUITABLE_NODES: "a" } } });
        assert_eq!(read(bad).expect_err("no selector").0, SUITABLE_NODES);
    }

    #[test]
    fn a_claim_says_the_same_in_either_form() {
        let allocation = json!({ "devices": {}, "shareable": true, "resourceHandles": [
            { "driverName": "d.example.com", "data": "x" },
        ] });
        let fields = claim(json!({
            "spec": { "allocationMode": "Immediate" },
            "status": { "controllerName": "d.example.com", "allocation": allocation },
        }));
        let mut notes = claim(json!({
            "metadata": { "annotations": { ALLOCATION_MODE: "Immediate" } },
            "status": { "allocation": { "devices": {} } },
        }));
        describe(&mut notes, "d.example.com", true, &handles(&fields).expect("good"));
        for claim in [&fields, &notes] {
            assert_eq!(controller(claim), "d.example.com");
            assert!(is_immediate(claim) && is_shareable(claim) && !is_leaving(claim));
            assert_eq!(handles(claim).expect("good")[0].data, "x");
        }
        assert_eq!((form(&fields), form(&notes)), (Form::Fields, Form::Annotations));
        note_leaving(&mut notes);
        assert!(is_leaving(&notes));
        notes.status.allocation = None;
        assert_eq!(controller(&notes), "", "a note alone gives nothing");
        assert!(undescribe(&mut notes) && !undescribe(&mut notes));
        assert!(!is_leaving(&notes) && is_immediate(&notes));
    }
}
