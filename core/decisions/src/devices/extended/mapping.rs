//! Which container gets the devices of which request.

use std::sync::Arc;

/// A container that gets the devices of a request in place of a resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestMapping {
    /// The container.
    pub container: Arc<str>,
    /// The resource that it asks for.
    pub resource: Arc<str>,
    /// The request.
    pub request: Arc<str>,
}
