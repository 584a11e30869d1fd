//! Requests that change objects by a patch.

use std::sync::Arc;

use admission::{Rejection, from_stored};
use schema::{Document, Kind};
use serde_json::{Value, json};
use store::patch::{PatchError, json_patch, merge_patch, strategic_merge_patch};

use crate::objects::{Done, Options, Site};
use crate::registry::Registry;
use crate::route::Target;
use crate::status::Failure;

/// A patch that was read.
pub(crate) enum Patch {
    Json(Value),
    Merge(Value),
    Strategic(Value),
}

impl Registry {
    /// Changes an object by a patch.
    pub(crate) async fn patch(
        self: &Arc<Self>,
        site: &Site,
        target: &Target,
        patch: &Patch,
        options: &Options,
    ) -> Result<Done, Failure> {
        let name = target.name.as_deref().unwrap_or_default();
        let status = target.subresource.is_some();
        self.change(site, name, status, options, refused, &mut |old| patch.apply(site, old)).await
    }
}

/// What a patch makes of an object is judged as an object, whatever form the fault has: what cannot be read as the kind
/// is a field with a wrong value. Only an object that would leave its namespace is a wrong request.
fn refused(rejection: Rejection, kind: &Kind, name: &str) -> Failure {
    match rejection {
        Rejection::BadRequest(message) => bad_outcome(message),
        other => Failure::rejected(other, kind, name),
    }
}

fn bad_outcome(message: String) -> Failure {
    let cause = json!({"reason": "FieldValueInvalid", "field": "patch", "message": &message});
    let mut failure = Failure::invalid("", "", "", message, &[]);
    failure.details = json!({"causes": [cause]});
    failure
}

impl Patch {
    /// Reads a patch of a media type; `None` for server-side apply, which is another thing.
    pub(crate) fn read(media_type: &str, body: &[u8]) -> Result<Option<Self>, Failure> {
        let value = || crate::body::json(body).map(|document| document.value);
        let object = || {
            let value = value()?;
            if value.is_object() {
                Ok(value)
            } else {
                Err(Failure::bad_request("the patch must be an object"))
            }
        };
        match media_type {
            "application/json-patch+json" => Ok(Some(Self::Json(value()?))),
            "application/merge-patch+json" => Ok(Some(Self::Merge(object()?))),
            "application/strategic-merge-patch+json" => Ok(Some(Self::Strategic(object()?))),
            "application/apply-patch+yaml" => Ok(None),
            other => {
                let supported = "application/json-patch+json, application/merge-patch+json, \
                                 application/strategic-merge-patch+json, application/apply-patch+yaml";
                Err(crate::body::unsupported(other, supported))
            }
        }
    }

    fn apply(&self, site: &Site, old: &Value) -> Result<Document, Failure> {
        let mut object = from_stored(site.kind, old.clone());
        match self {
            Self::Json(patch) => json_patch(&mut object, patch).map_err(|error| match error {
                // Operations that make no sense are the object's fault to Kubernetes.
                PatchError::Malformed(what) if patch.is_array() => Failure::from(PatchError::Unfit(what)),
                other => Failure::from(other),
            })?,
            Self::Merge(patch) => merge_patch(&mut object, patch.clone()),
            Self::Strategic(patch) => {
                strategic_merge_patch(schema::table(), site.kind.object, &mut object, patch.clone())
                    .map_err(|error| match error {
                        PatchError::Malformed(_) => bad_outcome(error.to_string()),
                        other => Failure::from(other),
                    })?;
            }
        }
        Ok(Document { value: object, duplicates: Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use gates::Gates;
    use schema::Document;
    use serde_json::{Value, json};
    use store::Store;

    use super::Patch;
    use crate::objects::{Options, Site};
    use crate::registry::{NoLog, Registry};
    use crate::route::{Query, Target};
    use crate::seed;

    /// The status and reason with which a merge patch of a config map is answered.
    async fn patched(patch: Value) -> Result<u16, (u16, &'static str)> {
        let registry = Registry::new(Store::default(), Box::new(NoLog), Gates::default());
        seed::seed(&registry).await.expect("nothing is in the way of the first objects");
        let target = Target::read("/api/v1/namespaces/default/configmaps/settings").expect("a path");
        let site = Site::of(&target).expect("config maps are stored");
        let options = Options::read(&Query::default(), "PatchOptions").expect("no options are fine");
        let object = json!({"metadata": {"name": "settings"}, "data": {"a": "b"}});
        let document = Document { value: object, duplicates: Vec::new() };
        Arc::clone(&registry).create(&site, document, &options).await.expect("the object is fine");
        let done = registry.patch(&site, &target, &Patch::Merge(patch), &options).await;
        done.map(|done| done.code).map_err(|failure| (failure.code, failure.reason))
    }

    #[tokio::test]
    async fn only_a_patch_to_another_namespace_is_a_bad_request() {
        let invalid = Err((422, "Invalid"));
        assert_eq!(patched(json!({"data": {"namespace": "x"}})).await, Ok(200));
        assert_eq!(patched(json!({"metadata": {"namespace": "elsewhere"}})).await, Err((400, "BadRequest")));
        // Both faults mention a field of that name, and neither is about the namespace of the request.
        assert_eq!(patched(json!({"data": {"namespace": {"x": 1}}})).await, invalid);
        assert_eq!(patched(json!({"metadata": {"namespace": {"x": 1}}})).await, invalid);
    }
}
