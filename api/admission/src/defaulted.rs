//! Objects as a server would complete them, for those who take in manifests and what servers hold alike.
//!
//! Invariant: an object that a server has stored stays as it is, but for fields that nothing here knows.

use gates::Gates;
use model::timestamp::Timestamp;
use schema::{Kind, Mismatch, apply_defaults, conform, table};
use serde_json::Value;

use crate::kind::{Admit, Context};
use crate::used::Heard;
use crate::{kinds, versions};

/// An object in the version in which its kind is stored, with the defaults of everything that it leaves out. Nothing is validated.
///
/// # Errors
/// The first value that has another type than its field.
pub fn defaulted(kind: &Kind, object: Value) -> Result<Value, Mismatch> {
    let mut object = conform(table(), kind.object, object, &mut Vec::new())?;
    apply_defaults(table(), kind.object, &mut object);
    let stored = versions::stored_kind(kind);
    Ok(kinds::with_defaults(stored, versions::to_stored(kind, object)))
}

/// The defaults of a kind that depend on other fields.
pub(crate) fn with_defaults<T: Admit>(object: Value) -> Value {
    let Ok(mut read) = T::read_value(&object) else { return object };
    let (gates, alone) = (Gates::default(), Heard::default());
    read.set_defaults(&Context { now: Timestamp::default(), gates: &gates, surroundings: &alone });
    read.write_value()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_manifest_gets_the_defaults_of_its_kind_in_the_version_in_which_it_is_stored() {
        let kind = table().kind("resource.k8s.io/v1beta1", "ResourceClaim").expect("a kind");
        let request = json!({ "name": "r", "deviceClassName": "gpu" });
        let claim = json!({
            "apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim", "metadata": { "name": "c" },
            "spec": { "devices": { "requests": [request] } },
        });
        let object = defaulted(kind, claim).expect("a claim");
        assert_eq!(object["apiVersion"], "resource.k8s.io/v1");
        let exactly = &object["spec"]["devices"]["requests"][0]["exactly"];
        assert_eq!((&exactly["allocationMode"], &exactly["count"]), (&json!("ExactCount"), &json!(1)));
        let stored = table().kind("resource.k8s.io/v1", "ResourceClaim").expect("a kind");
        assert_eq!(
            defaulted(stored, object.clone()).expect("a claim"),
            object,
            "what is complete stays as it is"
        );
        let wrong = json!({ "spec": { "devices": 7 } });
        assert!(defaulted(stored, wrong).is_err());
    }
}
