//! One request from its arrival to its answer.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, USER_AGENT};
use hyper::{HeaderMap, Method, Request};
use serde_json::{Value, json};

use crate::authenticate::{User, Users};
use crate::body;
use crate::compress;
use crate::delete::{self, DeleteOptions};
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::negotiate::{self, Accepted, Form};
use crate::objects::{Done, Options, Outcome, Site};
use crate::patch::Patch;
use crate::paths;
use crate::pods;
use crate::present;
use crate::read;
use crate::registry::Registry;
use crate::respond::{self, Answer};
use crate::reviews;
use crate::route::{Query, Target};
use crate::status::Failure;
use crate::watch;

/// What all requests share.
pub(crate) struct Service {
    /// Where clients reach the server.
    pub address: String,
    pub registry: Arc<Registry>,
    pub users: Users,
    pub limits: Limits,
    pub metrics: Metrics,
}

/// A request without its body.
struct Call {
    method: Method,
    path: String,
    query: Query,
    headers: HeaderMap,
}

impl Call {
    fn header(&self, name: &hyper::header::HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The options of a change, with the program's name where no manager is named.
    fn options(&self, of: &str, target: &Target) -> Result<Options, Failure> {
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

    fn accepts_gzip(&self) -> bool {
        compress::accepts_gzip(self.header(&ACCEPT_ENCODING))
    }

    fn media_type(&self) -> &str {
        negotiate::media_type(self.header(&CONTENT_TYPE))
    }
}

impl Service {
    /// Answers a request; every failure is an answer too.
    pub(crate) async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        certificate: Option<User>,
    ) -> Answer {
        let (parts, incoming) = request.into_parts();
        let call = Call {
            method: parts.method,
            path: parts.uri.path().to_owned(),
            query: Query::read(parts.uri.query()),
            headers: parts.headers,
        };
        let answered = self.dispatch(&call, incoming, certificate.as_ref()).await;
        let answer = answered.unwrap_or_else(|failure| respond::failure(&failure));
        self.count(&call, answer.status().as_u16());
        compress::compress(answer, call.accepts_gzip()).await
    }

    fn count(&self, call: &Call, code: u16) {
        let target = Target::read(&call.path).ok();
        let resource = target.as_ref().map_or("", |target| target.kind.plural.as_str());
        let named = target.as_ref().is_some_and(|target| target.name.is_some());
        let verb = match call.method.as_str() {
            "GET" if call.query.flag("watch") => "WATCH",
            "GET" if named => "GET",
            "GET" => "LIST",
            "POST" => "CREATE",
            "PUT" => "UPDATE",
            "PATCH" => "PATCH",
            "DELETE" if named => "DELETE",
            "DELETE" => "DELETECOLLECTION",
            _ => "OTHER",
        };
        self.metrics.count(verb, resource, code);
    }

    async fn dispatch(
        &self,
        call: &Call,
        incoming: Incoming,
        certificate: Option<&User>,
    ) -> Result<Answer, Failure> {
        if let Some(answer) = paths::open_to_all(&call.path, &call.query) {
            return answer;
        }
        let user = self.users.identify(&call.headers, certificate);
        let user = user.ok_or_else(|| Failure::new(401, "Unauthorized", "Unauthorized"))?;
        // An authorizer decides here, between who asks and what is asked, once there is one.
        if let Some(answer) = paths::general(self, &call.path, call.header(&ACCEPT)) {
            return answer;
        }
        if call.method == Method::GET {
            return self.read(call, &user).await;
        }
        let _place = self.limits.request()?;
        let body = body::collect(incoming).await?;
        if call.method == Method::POST
            && let Some(review) = self.review(call, &body, &user)?
        {
            return Ok(review);
        }
        self.change(call, &body).await
    }

    fn review(&self, call: &Call, body: &[u8], user: &User) -> Result<Option<Answer>, Failure> {
        if !call.path.contains("subject") {
            return Ok(None);
        }
        let sent = body::document(call.media_type(), body)?.value;
        let Some(review) = reviews::review(&call.path, &sent, user) else { return Ok(None) };
        let accepted = negotiate::accepted(call.header(&ACCEPT))?;
        Ok(Some(respond::value(201, &review?, accepted, false)))
    }

    async fn read(&self, call: &Call, user: &User) -> Result<Answer, Failure> {
        let target = Target::read(&call.path)?;
        let is_part = target.subresource.as_deref().is_some_and(|name| name != "status");
        if is_part || target.kind.sent_only {
            return Err(Failure::method_not_allowed());
        }
        let accepted = negotiate::accepted(call.header(&ACCEPT))?;
        if target.name.is_none() && call.query.flag("watch") {
            let place = self.limits.watch(&user.name)?;
            let gzip = call.accepts_gzip();
            return watch::watch(&self.registry, &target, accepted, &call.query, gzip, Some(place)).await;
        }
        let _place = self.limits.request()?;
        if target.name.is_some() {
            read::get(&self.registry, &target, accepted, &call.query).await
        } else {
            read::list(&self.registry, &target, accepted, &call.query).await
        }
    }

    async fn change(&self, call: &Call, body: &[u8]) -> Result<Answer, Failure> {
        let target = Target::read(&call.path)?;
        let accepted = negotiate::accepted(call.header(&ACCEPT))?;
        match (call.method.as_str(), target.name.is_some(), target.subresource.as_deref()) {
            ("POST", true, Some("binding" | "eviction")) => self.post_to_pod(call, &target, body).await,
            ("POST", false, None) if target.kind.sent_only => self.post_binding(call, &target, body).await,
            ("POST", false, None) => self.create(call, &target, body, accepted).await,
            ("PUT", true, Some("finalize")) => self.finalize(call, &target, body, accepted).await,
            ("PUT", true, None | Some("status")) => self.replace(call, &target, body, accepted).await,
            ("PATCH", true, None | Some("status")) => self.patch(call, &target, body, accepted).await,
            ("DELETE", true, None) => self.delete(call, &target, body, accepted).await,
            ("DELETE", false, None) => self.delete_collection(call, &target, body, accepted).await,
            _ => Err(Failure::method_not_allowed()),
        }
    }

    /// The answer to a change, in the form that was asked for.
    fn done(&self, site: &Site, done: &Done, accepted: Accepted, query: &Query) -> Result<Answer, Failure> {
        let answer = match &done.result {
            Outcome::Stored(entry) => present::object(done.code, site.kind, entry, accepted, query)?,
            Outcome::Shown(object) | Outcome::Gone(object) => {
                let object = admission::from_stored(site.kind, object.clone());
                present::form(done.code, site.kind, &object, accepted, query)?
            }
        };
        Ok(respond::with_warnings(answer, &done.warnings))
    }

    async fn create(
        &self,
        call: &Call,
        target: &Target,
        body: &[u8],
        accepted: Accepted,
    ) -> Result<Answer, Failure> {
        let site = Site::of(target)?;
        if site.kind.scope == schema::Scope::Namespaced && site.namespace.is_empty() {
            return Err(Failure::method_not_allowed());
        }
        let options = call.options("CreateOptions", target)?;
        let document = body::document(call.media_type(), body)?;
        let done = self.registry.create(&site, document, &options).await?;
        self.done(&site, &done, accepted, &call.query)
    }

    async fn replace(
        &self,
        call: &Call,
        target: &Target,
        body: &[u8],
        accepted: Accepted,
    ) -> Result<Answer, Failure> {
        let site = Site::of(target)?;
        let options = call.options("UpdateOptions", target)?;
        let document = body::document(call.media_type(), body)?;
        let done = self.registry.replace(&site, target, document, &options).await?;
        self.done(&site, &done, accepted, &call.query)
    }

    async fn patch(
        &self,
        call: &Call,
        target: &Target,
        body: &[u8],
        accepted: Accepted,
    ) -> Result<Answer, Failure> {
        let site = Site::of(target)?;
        let options = call.options("PatchOptions", target)?;
        match Patch::read(call.media_type(), body)? {
            Some(patch) => {
                if call.query.has("force") {
                    let message = "is for server-side apply only";
                    return Err(Failure::bad_option("PatchOptions", "FieldValueForbidden", "force", message));
                }
                let done = self.registry.patch(&site, target, &patch, &options).await?;
                self.done(&site, &done, accepted, &call.query)
            }
            None => {
                let done =
                    crate::apply::apply(&self.registry, &site, target, body, &call.query, options).await?;
                self.done(&site, &done, accepted, &call.query)
            }
        }
    }

    async fn delete(
        &self,
        call: &Call,
        target: &Target,
        body: &[u8],
        accepted: Accepted,
    ) -> Result<Answer, Failure> {
        let site = Site::of(target)?;
        let sent = body::optional(call.media_type(), body)?;
        let options = DeleteOptions::read(&call.query, &sent)?;
        let done = self.registry.delete(&site, target.name.as_deref().unwrap_or_default(), &options).await?;
        match &done.result {
            Outcome::Gone(object) if !site.kind.returns_deleted => {
                Ok(respond::value(200, &delete::success(&site, object), plain(accepted), false))
            }
            _ => self.done(&site, &done, accepted, &call.query),
        }
    }

    async fn delete_collection(
        &self,
        call: &Call,
        target: &Target,
        body: &[u8],
        accepted: Accepted,
    ) -> Result<Answer, Failure> {
        let site = Site::of(target)?;
        let everywhere = site.kind.scope == schema::Scope::Namespaced && site.namespace.is_empty();
        if everywhere || site.kind.deleted_singly {
            return Err(Failure::method_not_allowed());
        }
        let sent = body::optional(call.media_type(), body)?;
        let options = DeleteOptions::read(&call.query, &sent)?;
        let selection = read::selection(&site, target, &call.query)?;
        let limit = call
            .query
            .integer("limit")?
            .and_then(|limit| usize::try_from(limit).ok())
            .filter(|limit| *limit > 0);
        let (revision, objects) = self.registry.delete_all(&site, &selection, limit, &options).await?;
        let shown: Vec<Value> =
            objects.into_iter().map(|object| admission::from_stored(site.kind, object)).collect();
        let meta = json!({"resourceVersion": revision.to_string()});
        read::show_values(&site, &shown, meta, accepted, &call.query)
    }

    async fn post_to_pod(&self, call: &Call, target: &Target, body: &[u8]) -> Result<Answer, Failure> {
        let options = call.options("CreateOptions", target)?;
        let sent = body::document(call.media_type(), body)?.value;
        let name = target.name.as_deref().unwrap_or_default();
        let status = if target.subresource.as_deref() == Some("binding") {
            pods::bind(&self.registry, &target.namespace, Some(name), &sent, &options).await?
        } else {
            pods::evict(&self.registry, &target.namespace, name, &sent, &options).await?
        };
        Ok(respond::plain(201, respond::JSON, status.to_string()))
    }

    async fn post_binding(&self, call: &Call, target: &Target, body: &[u8]) -> Result<Answer, Failure> {
        let options = call.options("CreateOptions", target)?;
        let sent = body::document(call.media_type(), body)?.value;
        let status = pods::bind(&self.registry, &target.namespace, None, &sent, &options).await?;
        Ok(respond::plain(201, respond::JSON, status.to_string()))
    }

    async fn finalize(
        &self,
        call: &Call,
        target: &Target,
        body: &[u8],
        accepted: Accepted,
    ) -> Result<Answer, Failure> {
        let site = Site::of(target)?;
        let sent = body::document(call.media_type(), body)?.value;
        let object =
            pods::finalize(&self.registry, &site, target.name.as_deref().unwrap_or_default(), &sent).await?;
        present::form(200, site.kind, &object, accepted, &call.query)
    }
}

fn plain(accepted: Accepted) -> Accepted {
    Accepted { form: Form::Object, ..accepted }
}
