//! A request without its body.

use hyper::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderName, USER_AGENT};
use hyper::{HeaderMap, Method};

use crate::compress;
use crate::negotiate;
use crate::objects::Options;
use crate::route::{Query, Target};
use crate::status::Failure;

/// What was asked, and how.
pub(crate) struct Call {
    pub method: Method,
    pub path: String,
    pub query: Query,
    /// The query as it was sent.
    pub options: Option<String>,
    pub headers: HeaderMap,
}

impl Call {
    pub(crate) fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The options of a change, with the program's name where no manager is named.
    pub(crate) fn options(&self, of: &str, target: &Target) -> Result<Options, Failure> {
        let mut options = Options::read(&self.query, of)?;
        if options.manager.is_empty() {
            options.manager =
                store::managed::name_from_user_agent(self.header(&USER_AGENT).unwrap_or_default());
        }
        if target.subresource.as_deref() == Some("status") {
            options.subresource = "status";
        }
        Ok(options)
    }

    pub(crate) fn accepts_gzip(&self) -> bool {
        compress::accepts_gzip(self.header(&ACCEPT_ENCODING))
    }

    pub(crate) fn media_type(&self) -> &str {
        negotiate::media_type(self.header(&CONTENT_TYPE))
    }
}
