//! Requests about single objects: reading one, and every way to change one.

use bytes::Bytes;
use hyper::Method;
use objects::core::kinds::Binding;
use objects::events::Event;
use objects::meta::DeleteOptions;
use objects::{Object, decode};
use serde::Serialize;

use crate::answer::{Answer, Unavailable};
use crate::connection::{Ask, Connection};
use crate::resource::{Resource, untyped_path};
use crate::watch::Selectors;

/// How a patch is to be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Patch {
    /// Fields replace fields, null removes, lists are replaced whole.
    Merge,
    /// Like a merge, but lists of objects are merged by their keys.
    Strategic,
    /// The fields that this manager wants, and no others of its own.
    Apply {
        /// Who wants them.
        manager: String,
        /// Take fields away from other managers.
        force: bool,
    },
}

/// What a request does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Makes an object, or something at an object.
    Create,
    /// Replaces an object.
    Update,
    /// Changes parts of an object.
    Patch(Patch),
    /// Deletes an object; the body says how.
    Delete,
}

/// A request about an object whose kind is known only to the caller.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// What it does.
    pub verb: Verb,
    /// The object's name.
    pub name: &'a str,
    /// The part of it, if not the whole.
    pub subresource: Option<&'a str>,
}

const JSON: &str = "application/json";

impl Connection {
    /// Reads one object.
    pub async fn get<K: Object>(&self, resource: &Resource<K>, name: &str) -> Answer<K> {
        object(self.call(Ask::get(resource.path_of(name))).await)
    }

    /// Whether the server serves a resource, such as `pods` of `v1`.
    pub async fn serves(&self, api_version: &str, plural: &str) -> Answer<bool> {
        #[derive(serde::Deserialize)]
        struct Served {
            #[serde(default)]
            resources: Vec<Named>,
        }
        #[derive(serde::Deserialize)]
        struct Named {
            name: String,
        }
        let group = if api_version.contains('/') { "apis" } else { "api" };
        let answer = self.call(Ask::get(format!("/{group}/{api_version}"))).await;
        if let Answer::NotFound(_) = answer {
            return Answer::Done(false);
        }
        answer.and_then(|body| match serde_json::from_slice::<Served>(&body) {
            Ok(served) => Answer::Done(served.resources.iter().any(|one| one.name == plural)),
            Err(error) => Answer::Unavailable(Unavailable::Unreadable(error.to_string())),
        })
    }

    /// Makes an object.
    pub async fn create<K: Object>(&self, resource: &Resource<K>, new: &K) -> Answer<K> {
        let path = resource.home_of(new).path();
        object(self.write(Method::POST, path, JSON, new.write()).await)
    }

    /// Makes an object whose kind only the caller knows, by the names that paths have for it: `v1` and `pods`. The
    /// namespace is empty if the kind has none.
    pub async fn create_untyped(
        &self,
        api_version: &str,
        plural: &str,
        namespace: &str,
        new: &impl Serialize,
    ) -> Answer<Bytes> {
        let path = untyped_path(api_version, plural, namespace);
        self.write_body(Method::POST, path, JSON, new).await
    }

    /// Replaces an object. If it has a resource version, only that version is replaced.
    pub async fn update<K: Object>(&self, resource: &Resource<K>, changed: &K) -> Answer<K> {
        let path = resource.home_of(changed).path_of(&changed.metadata().name);
        object(self.write(Method::PUT, path, JSON, changed.write()).await)
    }

    /// Replaces the status of an object.
    pub async fn update_status<K: Object>(&self, resource: &Resource<K>, changed: &K) -> Answer<K> {
        let path = resource.home_of(changed).path_of(&changed.metadata().name) + "/status";
        object(self.write(Method::PUT, path, JSON, changed.write()).await)
    }

    /// Changes parts of an object.
    pub async fn patch<K: Object>(
        &self,
        resource: &Resource<K>,
        name: &str,
        patch: &Patch,
        body: &impl Serialize,
    ) -> Answer<K> {
        let path = resource.path_of(name) + &patch.query();
        object(self.write_body(Method::PATCH, path, patch.content_type(), body).await)
    }

    /// Changes parts of the status of an object.
    pub async fn patch_status<K: Object>(
        &self,
        resource: &Resource<K>,
        name: &str,
        patch: &Patch,
        body: &impl Serialize,
    ) -> Answer<K> {
        let path = resource.path_of(name) + "/status" + &patch.query();
        object(self.write_body(Method::PATCH, path, patch.content_type(), body).await)
    }

    /// Deletes an object, or asks for it where finalizers or a grace period come first.
    pub async fn delete<K: Object>(
        &self,
        resource: &Resource<K>,
        name: &str,
        options: &DeleteOptions,
    ) -> Answer<()> {
        // The answer is the object or a status, and nobody needs either.
        self.write_body(Method::DELETE, resource.path_of(name), JSON, options).await.map(drop)
    }

    /// Deletes all objects that are selected, or asks for it where finalizers come first.
    pub async fn delete_all<K: Object>(
        &self,
        resource: &Resource<K>,
        selectors: &Selectors,
        options: &DeleteOptions,
    ) -> Answer<()> {
        let path = resource.path() + &selectors.query();
        self.write_body(Method::DELETE, path, JSON, options).await.map(drop)
    }

    /// Assigns a pod to a node. With a uid in its metadata, the binding is for that pod only and not for its successor.
    pub async fn bind(&self, binding: &Binding) -> Answer<()> {
        let pods = Resource::<Binding>::named("pods").within(&binding.metadata.namespace);
        let path = pods.path_of(&binding.metadata.name) + "/binding";
        self.write(Method::POST, path, JSON, binding.write()).await.map(drop)
    }

    /// Reports something that happened to an object.
    pub async fn announce(&self, event: &Event) -> Answer<()> {
        let events = Resource::<Event>::named("events").within(&event.metadata.namespace);
        self.write(Method::POST, events.path(), JSON, event.write()).await.map(drop)
    }

    /// Does what a request says, and gives the answer as it came.
    pub async fn request<K: Object>(
        &self,
        resource: &Resource<K>,
        request: &Request<'_>,
        body: &impl Serialize,
    ) -> Answer<Bytes> {
        let mut path = match request.verb {
            Verb::Create if request.subresource.is_none() => resource.path(),
            _ => resource.path_of(request.name),
        };
        if let Some(subresource) = request.subresource {
            path.push('/');
            path.push_str(subresource);
        }
        let (method, content_type) = match &request.verb {
            Verb::Create => (Method::POST, JSON),
            Verb::Update => (Method::PUT, JSON),
            Verb::Delete => (Method::DELETE, JSON),
            Verb::Patch(patch) => {
                path.push_str(&patch.query());
                (Method::PATCH, patch.content_type())
            }
        };
        self.write_body(method, path, content_type, body).await
    }

    async fn write_body(
        &self,
        method: Method,
        path: String,
        content_type: &'static str,
        body: &impl Serialize,
    ) -> Answer<Bytes> {
        match serde_json::to_vec(body) {
            Ok(body) => self.write(method, path, content_type, body).await,
            Err(error) => Answer::Invalid(format!("cannot be written as JSON: {error}")),
        }
    }

    async fn write(
        &self,
        method: Method,
        path: String,
        content_type: &'static str,
        body: Vec<u8>,
    ) -> Answer<Bytes> {
        self.call(Ask { method, path, content_type, body: body.into() }).await
    }
}

impl Selectors {
    fn query(&self) -> String {
        let mut query = form_urlencoded::Serializer::for_suffix(String::from("?"), 1);
        let selectors = [("labelSelector", &self.labels), ("fieldSelector", &self.fields)];
        query.extend_pairs(selectors.into_iter().filter(|(_, selector)| !selector.is_empty()));
        query.finish()
    }
}

impl Patch {
    fn content_type(&self) -> &'static str {
        match self {
            Self::Merge => "application/merge-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
            // JSON is YAML, and this is the only name that every server knows.
            Self::Apply { .. } => "application/apply-patch+yaml",
        }
    }

    fn query(&self) -> String {
        match self {
            Self::Merge | Self::Strategic => String::new(),
            Self::Apply { manager, force } => {
                let mut query = form_urlencoded::Serializer::for_suffix(String::from("?"), 1);
                query.append_pair("fieldManager", manager).append_pair("force", &force.to_string());
                query.finish()
            }
        }
    }
}

fn object<K: Object>(answer: Answer<Bytes>) -> Answer<K> {
    answer.and_then(|body| match decode(&body) {
        Ok(object) => Answer::Done(object),
        Err(error) => Answer::Unavailable(Unavailable::Unreadable(error.to_string())),
    })
}
