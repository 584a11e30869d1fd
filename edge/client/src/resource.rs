//! Where the objects of a kind are found: paths of the API.

use std::fmt::Write as _;
use std::marker::PhantomData;

use objects::Object;

/// A kind's objects, in one namespace or in all.
#[derive(Debug)]
pub struct Resource<K> {
    plural: &'static str,
    namespace: Option<Box<str>>,
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for Resource<K> {
    fn clone(&self) -> Self {
        Self { plural: self.plural, namespace: self.namespace.clone(), kind: PhantomData }
    }
}

impl<K: Object> Resource<K> {
    /// The kind's objects, by the name that paths have for them: `pods` for `Pod`.
    pub fn named(plural: &'static str) -> Self {
        Self { plural, namespace: None, kind: PhantomData }
    }

    /// Those of one namespace.
    #[must_use]
    pub fn within(&self, namespace: &str) -> Self {
        let namespace = (!namespace.is_empty()).then(|| namespace.into());
        Self { plural: self.plural, namespace, kind: PhantomData }
    }

    /// The path of all of them.
    pub(crate) fn path(&self) -> String {
        untyped_path(K::API_VERSION, self.plural, self.namespace.as_deref().unwrap_or_default())
    }

    /// The path of one of them.
    pub(crate) fn path_of(&self, name: &str) -> String {
        let mut path = self.path();
        path.push('/');
        escape(name, &mut path);
        path
    }

    /// Where this object belongs: its own namespace if it says one.
    pub(crate) fn home_of(&self, object: &K) -> Self {
        let namespace = &object.metadata().namespace;
        if namespace.is_empty() { self.clone() } else { self.within(namespace) }
    }
}

/// The path of all objects of a kind, in one namespace or, if that is empty, in all.
pub(crate) fn untyped_path(api_version: &str, plural: &str, namespace: &str) -> String {
    let group = if api_version.contains('/') { "apis" } else { "api" };
    let mut path = format!("/{group}/{api_version}");
    if !namespace.is_empty() {
        path.push_str("/namespaces/");
        escape(namespace, &mut path);
    }
    path.push('/');
    path.push_str(plural);
    path
}

/// Names are nearly always plain; a name from elsewhere must not become another path.
fn escape(segment: &str, path: &mut String) {
    for byte in segment.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                path.push(char::from(byte))
            }
            other => write!(path, "%{other:02X}").expect("text can be written to"),
        }
    }
}

#[cfg(test)]
mod tests {
    use objects::coordination::Lease;
    use objects::core::node::Node;
    use objects::core::pod::Pod;

    use super::Resource;

    #[test]
    fn paths_name_group_namespace_and_object() {
        let pods = Resource::<Pod>::named("pods");
        assert_eq!(pods.path(), "/api/v1/pods");
        assert_eq!(pods.within("a").path_of("b"), "/api/v1/namespaces/a/pods/b");
        assert_eq!(Resource::<Node>::named("nodes").path_of("n-1"), "/api/v1/nodes/n-1");
        let leases = Resource::<Lease>::named("leases").within("kube-system");
        assert_eq!(leases.path(), "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases");
    }

    #[test]
    fn a_name_never_becomes_another_path() {
        let pods = Resource::<Pod>::named("pods").within("a");
        assert_eq!(pods.path_of("../b?c#d%"), "/api/v1/namespaces/a/pods/..%2Fb%3Fc%23d%25");
    }
}
