//! Answers that say no, as Kubernetes clients know them.

use admission::{Cause, Rejection};
use schema::Kind;
use serde_json::{Value, json};
use store::patch::PatchError;
use store::{BadSelector, TooOld};

/// Why a request was not done.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub code: u16,
    pub reason: &'static str,
    pub message: String,
    /// Name, group and kind of the object, and what is wrong with it.
    pub details: Value,
    /// When to try again.
    pub retry_after_seconds: Option<u32>,
}

impl Failure {
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: Value::Null, retry_after_seconds: None }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "InternalError", message)
    }

    /// An error of the kind that Kubernetes gives no reason for.
    pub(crate) fn unexplained(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    pub(crate) fn no_such_path() -> Self {
        Self {
            details: json!({}),
            ..Self::new(404, "NotFound", "the server could not find the requested resource")
        }
    }

    pub(crate) fn not_found(kind: &Kind, name: &str) -> Self {
        let message = format!("{} {name:?} not found", resource_name(kind));
        Self { details: object_details(kind, name), ..Self::new(404, "NotFound", message) }
    }

    pub(crate) fn exists(kind: &Kind, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", resource_name(kind));
        Self { details: object_details(kind, name), ..Self::new(409, "AlreadyExists", message) }
    }

    pub(crate) fn conflict(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} {name:?}: {why}", resource_name(kind));
        Self { details: object_details(kind, name), ..Self::new(409, "Conflict", message) }
    }

    pub(crate) fn forbidden(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!("{} {name:?} is forbidden: {why}", resource_name(kind));
        Self { details: object_details(kind, name), ..Self::new(403, "Forbidden", message) }
    }

    /// The object is invalid as a whole, or some of its fields are.
    pub(crate) fn invalid(group: &str, kind: &str, name: &str, message: String, causes: &[Cause]) -> Self {
        let causes: Vec<Value> = causes
            .iter()
            .map(|cause| json!({"reason": cause.reason.as_str(), "message": cause.message, "field": cause.field}))
            .collect();
        let mut details = json!({});
        for (key, value) in [("name", name), ("group", group), ("kind", kind)] {
            if !value.is_empty() {
                details[key] = json!(value);
            }
        }
        if !causes.is_empty() {
            details["causes"] = Value::Array(causes);
        }
        Self { details, ..Self::new(422, "Invalid", message) }
    }

    /// An option of a request is wrong.
    pub(crate) fn bad_option(options: &str, reason: &str, field: &str, message: &str) -> Self {
        let details = json!({"group": "meta.k8s.io", "kind": options,
            "causes": [{"reason": reason, "message": message, "field": field}]});
        Self { details, ..Self::new(422, "Invalid", format!("{options} is invalid: {field}: {message}")) }
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self { details: json!({}), ..Self::new(405, "MethodNotAllowed", message) }
    }

    pub(crate) fn too_busy(message: &str) -> Self {
        let details = json!({"retryAfterSeconds": 1});
        Self { details, retry_after_seconds: Some(1), ..Self::new(429, "TooManyRequests", message) }
    }

    /// What admission says, for an object of a kind.
    pub(crate) fn rejected(rejection: Rejection, kind: &Kind, name: &str) -> Self {
        match rejection {
            Rejection::BadRequest(message) | Rejection::WrongNamespace(message) => Self::bad_request(message),
            Rejection::Forbidden(message) => Self::forbidden(kind, name, &message),
            Rejection::Invalid(causes) => {
                let list = causes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                let full = if kind.group().is_empty() {
                    kind.kind.clone()
                } else {
                    format!("{}.{}", kind.kind, kind.group())
                };
                let message = format!("{full} {name:?} is invalid: {list}");
                // An update without a revision is refused by the store, which knows resources and no kinds.
                let by_store =
                    matches!(causes.as_slice(), [only] if only.field == "metadata.resourceVersion");
                let shown = if by_store { &kind.plural } else { &kind.kind };
                // Events have one set of rules for both of their groups.
                let group = if kind.kind == "Event" { "" } else { kind.group() };
                Self::invalid(group, shown, name, message, &causes)
            }
        }
    }

    /// The `Status` object.
    pub(crate) fn status(&self) -> Value {
        let mut status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code});
        if !self.reason.is_empty() {
            status["reason"] = json!(self.reason);
        }
        if !self.details.is_null() {
            status["details"] = self.details.clone();
        }
        status
    }
}

/// `pods`, or `resourceclaims.resource.k8s.io`.
fn resource_name(kind: &Kind) -> String {
    if kind.group().is_empty() { kind.plural.clone() } else { format!("{}.{}", kind.plural, kind.group()) }
}

pub(crate) fn object_details(kind: &Kind, name: &str) -> Value {
    let mut details = json!({"name": name, "kind": kind.plural});
    if !kind.group().is_empty() {
        details["group"] = json!(kind.group());
    }
    details
}

impl From<BadSelector> for Failure {
    fn from(error: BadSelector) -> Self {
        Self::bad_request(error.to_string())
    }
}

impl From<TooOld> for Failure {
    fn from(error: TooOld) -> Self {
        Self::new(410, "Expired", error.to_string())
    }
}

impl From<PatchError> for Failure {
    fn from(error: PatchError) -> Self {
        match error {
            PatchError::Malformed(_) => Self::bad_request(error.to_string()),
            PatchError::Unfit(_) => Self::invalid("", "", "", error.to_string(), &[]),
            PatchError::TooManyOperations { .. } => {
                Self::new(413, "RequestEntityTooLarge", error.to_string())
            }
        }
    }
}
