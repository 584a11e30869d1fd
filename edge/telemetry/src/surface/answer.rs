//! One request and its answer. What is shown is taken when it is asked for; only the configuration and the flags never change.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::json;

use super::Options;
use super::checks::{Checks, Health};
use super::readers::{Judgement, Readers};
use super::zpages::{Page, Running};
use crate::metrics::{Exposition, MEDIA_TYPE};

type PageResponse = Response<Full<Bytes>>;

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// All that can be asked for.
pub(super) struct Pages {
    checks: Checks,
    configuration: Bytes,
    index: Bytes,
    running: Running,
    metrics: Arc<dyn Exposition>,
    readers: Readers,
}

impl Pages {
    pub(super) fn new(options: Options) -> Self {
        let Options { checks, configuration, component, metrics, readers, .. } = options;
        let own = ["/configz", "/flagz", "/metrics", "/statusz"].map(str::to_owned);
        let mut paths = checks.paths();
        paths.extend(own.clone());
        paths.sort();
        let mut starting_points = own.to_vec();
        starting_points.extend(["/healthz", "/livez", "/readyz"].map(str::to_owned));
        starting_points.sort();
        Self {
            checks,
            // The name under which every component of Kubernetes shows what its configuration file says.
            configuration: json!({ "componentconfig": configuration }).to_string().into(),
            index: json!({ "paths": paths }).to_string().into(),
            running: Running::new(component, starting_points),
            metrics,
            readers,
        }
    }

    pub(super) async fn answer(&self, request: &Request<Incoming>) -> PageResponse {
        let path = request.uri().path();
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut answer = answer(StatusCode::METHOD_NOT_ALLOWED, TEXT, "only GET is allowed\n");
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return answer;
        }
        if !matches!(path, "/healthz" | "/livez" | "/readyz") {
            let refused = match self.readers.judge(request.headers(), path).await {
                Judgement::Allowed => None,
                Judgement::Unknown => Some((StatusCode::UNAUTHORIZED, "Unauthorized\n")),
                Judgement::Forbidden => Some((StatusCode::FORBIDDEN, "Forbidden\n")),
                Judgement::Unavailable => {
                    Some((StatusCode::SERVICE_UNAVAILABLE, "the authorization check failed\n"))
                }
            };
            if let Some((status, words)) = refused {
                return answer(status, TEXT, words);
            }
        }
        self.page(path, request.uri().query(), request.headers())
    }

    fn page(&self, path: &str, query: Option<&str>, headers: &HeaderMap) -> PageResponse {
        match path {
            "/" => return answer(StatusCode::OK, JSON, self.index.clone()),
            "/metrics" => return answer(StatusCode::OK, MEDIA_TYPE, self.metrics.text()),
            "/configz" => return answer(StatusCode::OK, JSON, self.configuration.clone()),
            "/statusz" => return zpage(self.running.statusz(headers)),
            "/flagz" => return zpage(self.running.flagz(headers)),
            _ => {}
        }
        match path.strip_prefix('/').and_then(|path| self.checks.answer(path, query)) {
            Some(Health::Well(text)) => answer(StatusCode::OK, TEXT, text),
            Some(Health::Unwell(text)) => answer(StatusCode::INTERNAL_SERVER_ERROR, TEXT, text),
            Some(Health::Unknown) | None => answer(StatusCode::NOT_FOUND, TEXT, "404 page not found\n"),
        }
    }
}

fn zpage(page: Page) -> PageResponse {
    match page {
        Page::Text(text) => answer(StatusCode::OK, TEXT, text),
        Page::Json(text) => answer(StatusCode::OK, JSON, text),
        Page::NotAcceptable(why) => answer(StatusCode::NOT_ACCEPTABLE, TEXT, why),
    }
}

fn answer(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> PageResponse {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}
