//! Reviews: questions about the sender, answered and not stored.

use serde_json::{Value, json};

use crate::authenticate::User;
use crate::status::Failure;

/// Answers a review, if the path is one.
pub(crate) fn review(path: &str, sent: &Value, user: &User) -> Option<Result<Value, Failure>> {
    let mut answer = sent.clone();
    if !answer.is_object() {
        answer = json!({});
    }
    match path.trim_end_matches('/') {
        "/apis/authentication.k8s.io/v1/selfsubjectreviews" => {
            answer["apiVersion"] = json!("authentication.k8s.io/v1");
            answer["kind"] = json!("SelfSubjectReview");
            answer["status"] = json!({"userInfo": {"username": user.name, "groups": user.groups}});
        }
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" => {
            answer["apiVersion"] = json!("authorization.k8s.io/v1");
            answer["kind"] = json!("SelfSubjectAccessReview");
            answer["status"] = json!({"allowed": true, "reason": "every authenticated user has full access"});
        }
        _ => return None,
    }
    if answer.get("metadata").is_none() {
        answer["metadata"] = json!({});
    }
    Some(Ok(answer))
}
