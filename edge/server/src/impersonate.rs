//! Requests on behalf of others, which `kubectl --as` sends: refused, because nothing says yet who may act as whom.
//!
//! To ignore the headers would do with all rights what was asked to be done with fewer.

use hyper::HeaderMap;
use serde_json::json;

use crate::status::Failure;

/// Refuses a request that names somebody to act as.
pub(crate) fn refuse(headers: &HeaderMap) -> Result<(), Failure> {
    let mut asked = headers.keys().map(hyper::header::HeaderName::as_str);
    if !asked.any(|name| name.starts_with("impersonate-")) {
        return Ok(());
    }
    let user = headers.get("impersonate-user").and_then(|user| user.to_str().ok()).unwrap_or_default();
    let message = format!(
        "users {user:?} is forbidden: this API server does not support impersonation; hint: send the request without \
         --as, --as-group, --as-uid and Impersonate headers"
    );
    Err(Failure {
        details: json!({"name": user, "kind": "users"}),
        ..Failure::new(403, "Forbidden", message)
    })
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;
    use hyper::header::{HeaderName, HeaderValue};

    use super::refuse;

    #[test]
    fn every_header_that_names_somebody_else_is_refused() {
        for name in ["Impersonate-User", "Impersonate-Group", "Impersonate-Uid", "Impersonate-Extra-scopes"] {
            let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
            let headers: HeaderMap = [(name, HeaderValue::from_static("bob"))].into_iter().collect();
            let failure = refuse(&headers).expect_err("nobody may act as others");
            assert_eq!((failure.code, failure.reason), (403, "Forbidden"));
            assert!(failure.message.contains("does not support impersonation"), "{}", failure.message);
        }
        refuse(&HeaderMap::new()).expect("a request in one's own name");
    }
}
