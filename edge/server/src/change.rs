//! One request that changes something, from its path to its answer.

use std::sync::Arc;

use hyper::header::ACCEPT;
use schema::{Document, Scope};
use serde_json::{Value, json};

use crate::apply;
use crate::body;
use crate::call::Call;
use crate::delete::{self, DeleteOptions};
use crate::negotiate::{self, Accepted};
use crate::objects::{Done, Options, Outcome, Site};
use crate::patch::Patch;
use crate::pods;
use crate::present;
use crate::read;
use crate::registry::Registry;
use crate::respond::{self, HttpResponse};
use crate::route::Target;
use crate::status::Failure;

/// What is needed to make any change.
struct Change<'a> {
    registry: &'a Arc<Registry>,
    call: &'a Call,
    target: &'a Target,
    site: Site,
    body: &'a [u8],
    accepted: Accepted,
}

/// Does what a request asks for.
pub(crate) async fn change(
    registry: &Arc<Registry>,
    call: &Call,
    body: &[u8],
) -> Result<HttpResponse, Failure> {
    let target = &Target::read(&call.path)?;
    let accepted = negotiate::accepted(call.header(&ACCEPT), target.kind.protobuf)?;
    let change = Change { registry, call, target, site: Site::of(target)?, body, accepted };
    match (call.method.as_str(), target.name.as_deref(), target.subresource.as_deref()) {
        ("POST", Some(name), Some("binding")) => change.bind(Some(name)).await,
        ("POST", Some(name), Some("eviction")) => change.evict(name).await,
        ("POST", None, None) if target.kind.sent_only => change.bind(None).await,
        ("POST", None, None) => change.create().await,
        ("PUT", Some(name), Some("finalize")) => change.finalize(name).await,
        ("PUT", Some(_), None | Some("status")) => change.replace().await,
        ("PATCH", Some(_), None | Some("status")) => change.patch().await,
        ("DELETE", Some(name), None) => change.delete(name).await,
        ("DELETE", None, None) => change.delete_collection().await,
        _ => Err(Failure::method_not_allowed()),
    }
}

impl Change<'_> {
    fn options(&self, of: &str) -> Result<Options, Failure> {
        self.call.options(of, self.target)
    }

    fn document(&self) -> Result<Document, Failure> {
        body::document(self.call.media_type(), self.body)
    }

    fn delete_options(&self) -> Result<DeleteOptions, Failure> {
        let sent = body::optional(self.call.media_type(), self.body)?;
        DeleteOptions::read(&self.call.query, &sent)
    }

    /// The request is to all namespaces at once.
    fn is_everywhere(&self) -> bool {
        self.site.kind.scope == Scope::Namespaced && self.site.namespace.is_empty()
    }

    /// The answer to a change, in the form that was asked for.
    fn done(&self, done: &Done) -> Result<HttpResponse, Failure> {
        let (kind, query) = (self.site.kind, &self.call.query);
        let answer = match &done.result {
            Outcome::Stored(stored) => present::object(done.code, kind, stored, self.accepted, query)?,
            Outcome::Shown(object) | Outcome::Gone(object) => {
                let object = admission::from_stored(kind, object.clone());
                present::form(done.code, kind, &object, self.accepted, query)?
            }
        };
        Ok(respond::with_warnings(answer, &done.warnings))
    }

    async fn create(&self) -> Result<HttpResponse, Failure> {
        if self.is_everywhere() {
            return Err(Failure::method_not_allowed());
        }
        let options = self.options("CreateOptions")?;
        self.done(&self.registry.create(&self.site, self.document()?, &options).await?)
    }

    async fn replace(&self) -> Result<HttpResponse, Failure> {
        let options = self.options("UpdateOptions")?;
        self.done(&self.registry.replace(&self.site, self.target, self.document()?, &options).await?)
    }

    async fn patch(&self) -> Result<HttpResponse, Failure> {
        let options = self.options("PatchOptions")?;
        let query = &self.call.query;
        let done = match Patch::read(self.call.media_type(), self.body)? {
            Some(_) if query.has("force") => {
                let message = "is for server-side apply only";
                return Err(Failure::bad_option("PatchOptions", "FieldValueForbidden", "force", message));
            }
            Some(patch) => self.registry.patch(&self.site, self.target, &patch, &options).await?,
            None => apply::apply(self.registry, &self.site, self.target, self.body, query, options).await?,
        };
        self.done(&done)
    }

    async fn delete(&self, name: &str) -> Result<HttpResponse, Failure> {
        let options = self.delete_options()?;
        let done = self.registry.delete(&self.site, name, &options).await?;
        match &done.result {
            Outcome::Gone(object) if !self.site.kind.returns_deleted => {
                let status = delete::success(&self.site, object);
                Ok(respond::value(200, &status, self.accepted.media, false))
            }
            _ => self.done(&done),
        }
    }

    async fn delete_collection(&self) -> Result<HttpResponse, Failure> {
        let (site, query) = (&self.site, &self.call.query);
        if self.is_everywhere() || site.kind.deleted_singly {
            return Err(Failure::method_not_allowed());
        }
        let options = self.delete_options()?;
        let selection = read::selection(site, self.target, query)?;
        let limit = query.integer("limit")?.and_then(|limit| usize::try_from(limit).ok());
        let limit = limit.filter(|limit| *limit > 0);
        let (revision, objects) = self.registry.delete_all(site, &selection, limit, &options).await?;
        let shown: Vec<Value> =
            objects.into_iter().map(|object| admission::from_stored(site.kind, object)).collect();
        let meta = json!({"resourceVersion": revision.to_string()});
        read::show_values(site, &shown, meta, self.accepted, query)
    }

    async fn bind(&self, pod: Option<&str>) -> Result<HttpResponse, Failure> {
        let options = self.options("CreateOptions")?;
        let sent = self.document()?.value;
        let status = pods::bind(self.registry, &self.target.namespace, pod, &sent, &options).await?;
        Ok(respond::value(201, &status, self.accepted.media, false))
    }

    async fn evict(&self, pod: &str) -> Result<HttpResponse, Failure> {
        let options = self.options("CreateOptions")?;
        let sent = self.document()?.value;
        let status = pods::evict(self.registry, &self.target.namespace, pod, &sent, &options).await?;
        Ok(respond::value(201, &status, self.accepted.media, false))
    }

    async fn finalize(&self, name: &str) -> Result<HttpResponse, Failure> {
        let sent = self.document()?.value;
        let object = pods::finalize(self.registry, &self.site, name, &sent).await?;
        present::form(200, self.site.kind, &object, self.accepted, &self.call.query)
    }
}
