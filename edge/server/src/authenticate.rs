//! Who sends a request: a bearer token or a client certificate says so.

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use x509_parser::prelude::{FromDer, X509Certificate};

/// Somebody who may use the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub name: String,
    pub groups: Vec<String>,
}

/// Everybody who may use the server.
#[derive(Clone, Debug, Default)]
pub struct Users {
    tokens: Vec<(String, User)>,
}

impl Users {
    /// An administrator who has this token.
    #[must_use]
    pub fn with_admin_token(mut self, token: &str) -> Self {
        let user = User {
            name: "admin".to_owned(),
            groups: vec!["system:masters".to_owned(), "system:authenticated".to_owned()],
        };
        self.tokens.push((token.to_owned(), user));
        self
    }

    /// Who sent the request, if that is known.
    pub(crate) fn identify(&self, headers: &HeaderMap, certificate: Option<&User>) -> Option<User> {
        if let Some(user) = certificate {
            return Some(user.clone());
        }
        let header = headers.get(AUTHORIZATION)?.to_str().ok()?;
        let token = header.strip_prefix("Bearer ").or_else(|| header.strip_prefix("bearer "))?.trim();
        let found = self.tokens.iter().find(|(known, _)| same(known.as_bytes(), token.as_bytes()));
        found.map(|(_, user)| user.clone())
    }
}

/// Compares in a time that does not tell how much was right.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

/// The user that a certificate names: common name, and organisations as groups.
pub(crate) fn user_of(certificate: &[u8]) -> Option<User> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().next()?.as_str().ok()?.to_owned();
    let mut groups: Vec<String> =
        subject.iter_organization().filter_map(|o| o.as_str().ok()).map(str::to_owned).collect();
    groups.push("system:authenticated".to_owned());
    Some(User { name, groups })
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;
    use hyper::header::AUTHORIZATION;

    use super::Users;

    #[test]
    fn a_known_token_is_somebody_and_any_other_is_nobody() {
        let users = Users::default().with_admin_token("secret");
        let ask = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, value.parse().expect("a header"));
            users.identify(&headers, None).map(|user| user.name)
        };
        assert_eq!(ask("Bearer secret").as_deref(), Some("admin"));
        assert_eq!(ask("Bearer secre"), None);
        assert_eq!(ask("Basic secret"), None);
        assert_eq!(users.identify(&HeaderMap::new(), None), None);
    }
}
