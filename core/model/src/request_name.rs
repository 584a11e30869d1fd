//! What requests of a claim are called where their alternatives count: the request, or one of its alternatives.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// A request, or one of its alternatives. Names are in the order of their texts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RequestName {
    /// The name of the request.
    pub request: Arc<str>,
    /// The name of the alternative, which the API calls a subrequest; nothing means all of the request.
    pub subrequest: Option<Arc<str>>,
}

impl RequestName {
    /// Whether it means the other as well: the same, or all of the request.
    #[must_use]
    pub fn covers(&self, other: &RequestName) -> bool {
        self.request == other.request && (self.subrequest.is_none() || self.subrequest == other.subrequest)
    }

    /// The bytes of its text.
    fn bytes(&self) -> impl Iterator<Item = u8> {
        let subrequest = self.subrequest.iter();
        self.request.bytes().chain(subrequest.flat_map(|name| std::iter::once(b'/').chain(name.bytes())))
    }
}

impl From<Arc<str>> for RequestName {
    /// All of a request.
    fn from(request: Arc<str>) -> RequestName {
        RequestName { request, subrequest: None }
    }
}

impl From<&str> for RequestName {
    /// All of a request.
    fn from(request: &str) -> RequestName {
        RequestName { request: request.into(), subrequest: None }
    }
}

impl fmt::Display for RequestName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.subrequest {
            None => out.write_str(&self.request),
            Some(subrequest) => write!(out, "{}/{subrequest}", self.request),
        }
    }
}

impl Ord for RequestName {
    fn cmp(&self, other: &RequestName) -> Ordering {
        // A slash comes behind some of what names are made of, so that the order of the parts is not that of the texts.
        let parts = || (&self.request, &self.subrequest).cmp(&(&other.request, &other.subrequest));
        self.bytes().cmp(other.bytes()).then_with(parts)
    }
}

impl PartialOrd for RequestName {
    fn partial_cmp(&self, other: &RequestName) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_their_texts() {
        let requests = ["r", "r-a", "r0", "ra"].map(RequestName::from);
        let mut names: Vec<RequestName> = requests.to_vec();
        for whole in requests {
            names.extend(
                ["a", "b", "b-a"]
                    .map(|subrequest| RequestName { subrequest: Some(subrequest.into()), ..whole.clone() }),
            );
        }
        for one in &names {
            for other in &names {
                assert_eq!(one.cmp(other), one.to_string().cmp(&other.to_string()), "{one} and {other}");
            }
        }
    }

    #[test]
    fn a_request_covers_its_alternatives_and_an_alternative_itself_only() {
        let whole = RequestName::from("r");
        let part = |subrequest: &str| RequestName { subrequest: Some(subrequest.into()), ..whole.clone() };
        assert!(whole.covers(&whole) && whole.covers(&part("a")) && part("a").covers(&part("a")));
        assert!(!part("a").covers(&part("b")) && !part("a").covers(&whole));
        assert!(!whole.covers(&RequestName::from("s")));
    }
}
