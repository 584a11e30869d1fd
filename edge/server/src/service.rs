//! One request from its arrival to its answer.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::ACCEPT;
use hyper::{Method, Request};
use telemetry::surface::Checks;

use crate::authenticate::{User, Users};
use crate::body;
use crate::call::Call;
use crate::change;
use crate::compress;
use crate::impersonate;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::negotiate::{self, Accepted};
use crate::paths;
use crate::read;
use crate::registry::Registry;
use crate::respond::{self, HttpResponse};
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
    pub checks: Checks,
}

impl Service {
    /// Answers a request; every failure is an answer too.
    pub(crate) async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        certificate: Option<User>,
    ) -> HttpResponse {
        let (parts, incoming) = request.into_parts();
        let call = Call {
            method: parts.method,
            path: parts.uri.path().to_owned(),
            query: Query::read(parts.uri.query()),
            options: parts.uri.query().map(str::to_owned),
            headers: parts.headers,
        };
        let answered = self.dispatch(&call, incoming, certificate.as_ref()).await;
        let answer = answered.unwrap_or_else(|failure| {
            let accepted = negotiate::accepted(call.header(&ACCEPT), true).unwrap_or(Accepted::PLAIN);
            respond::failure(&failure, accepted.media)
        });
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
    ) -> Result<HttpResponse, Failure> {
        if let Some(answer) = paths::open_to_all(self, &call.path, call.options.as_deref()) {
            return impersonate::refuse(&call.headers).and(answer);
        }
        let user = self.users.identify(&call.headers, certificate);
        let user = user.ok_or_else(|| Failure::new(401, "Unauthorized", "Unauthorized"))?;
        impersonate::refuse(&call.headers)?;
        // An authorizer decides here, between who asks and what is asked, once there is one.
        if let Some(answer) = paths::general(self, call) {
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
        change::change(&self.registry, call, &body).await
    }

    fn review(&self, call: &Call, body: &[u8], user: &User) -> Result<Option<HttpResponse>, Failure> {
        if !call.path.contains("subject") {
            return Ok(None);
        }
        let sent = body::document(call.media_type(), body)?.value;
        let Some(review) = reviews::review(&call.path, &sent, user) else { return Ok(None) };
        let accepted = negotiate::accepted(call.header(&ACCEPT), false)?;
        Ok(Some(respond::value(201, &review?, accepted.media, false)))
    }

    async fn read(&self, call: &Call, user: &User) -> Result<HttpResponse, Failure> {
        let target = Target::read(&call.path)?;
        let is_part = target.subresource.as_deref().is_some_and(|name| name != "status");
        if is_part || target.kind.sent_only {
            return Err(Failure::method_not_allowed());
        }
        let accepted = negotiate::accepted(call.header(&ACCEPT), target.kind.protobuf)?;
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
}
