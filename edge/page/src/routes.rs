//! Which request gets which answer.
//!
//! Invariant: requests that only read are GET; the two that are POST change nothing in the cluster and have bounded bodies.

use std::sync::Arc;
use std::time::Duration;

use client::{Connection, Reach};
use explain::{Audience, Effort, Explanation, GroupExplanation, PodExplanation, Subject, explain};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{ALLOW, HOST, HeaderValue};
use hyper::{Method, Request, StatusCode};
use inventory::observed::Namespaces;
use model::claim::ClaimId;
use model::device::DeviceId;
use model::group::GroupId;
use model::pod::PodId;
use model::workload::WorkloadId;
use scheduling::explanation::to_json;
use serde_json::{Value, json};
use tokio::sync::{OnceCell, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use views::observer::DECISIONS_MAX;
use views::openapi::{self, BASE};

use crate::access::{Access, Denied, is_from_here};
use crate::answer::{HTML, JSON, PageResponse, answer, document, refused, signed_in, wrong};
use crate::assets::{SIGN_IN, asset};
use crate::live::{Ended, Handle};
use crate::object::{fabric, kind_of, object};
use crate::stream::{Message, updates};
use crate::{Connect, Options, PlanRequest, Planner, Refused, Source};

/// How many pages are open at once.
const STREAMS_MAX: usize = 64;
/// How many explanations are made at once, and plans; others wait.
const EXPLANATIONS_MAX: usize = 2;
const PLANS_MAX: usize = 1;
/// How long they may wait and take.
const WAIT: Duration = Duration::from_secs(60);
/// What a body may have.
const BODY_BYTES_MAX: usize = 1024 * 1024;

/// What answers.
pub(crate) struct Routes {
    access: Arc<Access>,
    live: Handle,
    /// The namespaces of which objects are named.
    named: Namespaces,
    planner: Option<Planner>,
    connect: Option<Arc<Connect>>,
    connection: OnceCell<Connection>,
    streams: Arc<Semaphore>,
    explaining: Semaphore,
    planning: Semaphore,
}

impl From<Ended> for Refused {
    fn from(_: Ended) -> Refused {
        Refused { message: "the server is stopping".to_owned(), hint: "start it again".to_owned() }
    }
}

type Answered = Result<PageResponse, Refused>;

impl Routes {
    pub(crate) fn new(options: Options, access: Arc<Access>) -> Routes {
        let Options { source, named, title, planner, .. } = options;
        let (source, connect) = match source {
            Source::Still(observer) => (Source::Still(observer), None),
            Source::Live { connect, settings, namespaces } => {
                let connect = Arc::new(connect);
                let shared = connect.clone();
                let connect_live: Connect = Box::new(move |reach| (*shared)(reach));
                (Source::Live { connect: connect_live, settings, namespaces }, Some(connect))
            }
        };
        Routes {
            access,
            live: Handle::new(source, named.clone(), title),
            named,
            planner,
            connect,
            connection: OnceCell::new(),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            explaining: Semaphore::new(EXPLANATIONS_MAX),
            planning: Semaphore::new(PLANS_MAX),
        }
    }

    /// Ends all streams.
    pub(crate) fn end(&self) {
        self.live.end();
    }

    pub(crate) async fn answer(&self, request: Request<Incoming>) -> PageResponse {
        if !is_from_here(request.headers()) {
            return elsewhere();
        }
        let path = request.uri().path().to_owned();
        let is_api = path.strip_prefix(BASE).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        if !is_api {
            if !is_read {
                return not_allowed("GET, HEAD");
            }
            return self.file(&path, &request);
        }
        match self.access.judge(request.headers()) {
            Ok(()) => {}
            Err(Denied::Elsewhere) => return elsewhere(),
            Err(Denied::NoSession) => {
                let hint = "open the link that the command printed";
                return wrong(StatusCode::UNAUTHORIZED, "this browser is not signed in", hint);
            }
        }
        let rest = path[BASE.len()..].to_owned();
        let is_write = matches!(&*rest, "/plan" | "/links");
        if is_write && *request.method() != Method::POST {
            return not_allowed("POST");
        }
        if !is_write && !is_read {
            return not_allowed("GET, HEAD");
        }
        let answered = self.api(&rest, request).await;
        answered.unwrap_or_else(|why| refused(StatusCode::SERVICE_UNAVAILABLE, &why))
    }

    /// A file of the page. The page itself needs a session, and gets one by the token of a link.
    fn file(&self, path: &str, request: &Request<Incoming>) -> PageResponse {
        if path == "/" {
            let query = request.uri().query().unwrap_or_default();
            let mut pairs = form_urlencoded::parse(query.as_bytes());
            let token = pairs.find(|(name, _)| name == "token").map(|(_, token)| token.into_owned());
            let is_known = self.access.judge(request.headers()).is_ok();
            match token {
                Some(token) => match self.access.redeem(&token) {
                    Some(cookie) => return signed_in(&cookie),
                    None if is_known => return signed_in_already(),
                    None => return answer(StatusCode::UNAUTHORIZED, HTML, SIGN_IN),
                },
                None if !is_known => return answer(StatusCode::UNAUTHORIZED, HTML, SIGN_IN),
                None => {}
            }
        }
        let missing = || wrong(StatusCode::NOT_FOUND, "there is no such page", "open /");
        asset(path).unwrap_or_else(missing)
    }

    async fn api(&self, path: &str, request: Request<Incoming>) -> Answered {
        let parts: Vec<String> = path.split('/').skip(1).map(decoded).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        match *parts {
            ["cluster"] => {
                let parts = self.live.ask(|live| {
                    live.refresh();
                    live.observer.cluster()
                });
                self.text(parts.await?.text())
            }
            ["waiting"] => {
                let parts = self.live.ask(|live| {
                    live.refresh();
                    live.observer.waiting()
                });
                self.text(parts.await?.text())
            }
            ["decisions"] => {
                let decisions = self.live.ask(|live| live.observer.decisions().since(0, DECISIONS_MAX));
                Ok(document(&json!({ "decisions": decisions.await? })))
            }
            ["history"] => Ok(document(&self.live.ask(|live| live.observer.figures()).await?)),
            ["topology"] => {
                let topology = self.live.ask(|live| {
                    live.refresh();
                    live.observer.domains()
                });
                let (levels, root) = topology.await?;
                Ok(document(&views::domains::document(&levels, &root)))
            }
            ["status"] => Ok(document(&self.status().await?)),
            ["openapi.json"] => Ok(document(&openapi::document(env!("CARGO_PKG_VERSION")))),
            ["watch"] => self.watch().await,
            ["explain", kind, namespace, name] => self.explain(kind, namespace, name).await,
            ["objects", kind, namespace, name] => self.object(kind, namespace, name).await,
            ["devices", driver, pool, device] => self.device(driver, pool, device).await,
            ["fabric"] => Ok(document(&fabric(self.connection().await).await)),
            ["plan"] => self.plan(request).await,
            ["links"] => {
                let host =
                    request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
                Ok(document(&json!({ "link": self.access.link(host) })))
            }
            _ => Ok(wrong(
                StatusCode::NOT_FOUND,
                "there is no such path",
                "see /supercargo/v1alpha1/openapi.json",
            )),
        }
    }

    fn text(&self, text: String) -> Answered {
        Ok(answer(StatusCode::OK, JSON, text))
    }

    async fn status(&self) -> Result<Value, Refused> {
        let mut status = self.live.ask(|live| live.status()).await?;
        status["canPlan"] = json!(self.planner.is_some());
        Ok(status)
    }

    /// The connection for single objects; nothing if the page shows a moment only, or if there is none now.
    async fn connection(&self) -> Option<&Connection> {
        let connect = self.connect.as_ref()?;
        self.connection.get_or_try_init(|| (*connect)(Reach::default())).await.ok()
    }

    async fn watch(&self) -> Answered {
        let Ok(place) = self.streams.clone().try_acquire_owned() else {
            let hint = "close a page that is open elsewhere";
            return Ok(wrong(StatusCode::SERVICE_UNAVAILABLE, "too many pages are open", hint));
        };
        // Nothing that happens after the status is missed.
        let receiver = self.live.updates();
        let status = self.status().await?;
        Ok(updates(Message::event("hello", &status.to_string()), receiver, self.live.stopped(), place))
    }

    async fn explain(&self, kind: &str, namespace: &str, name: &str) -> Answered {
        let Some(subject) = subject(kind, namespace, name) else { return Ok(no_kind(kind)) };
        let Ok(Ok(_place)) = timeout(WAIT, self.explaining.acquire()).await else { return Ok(busy()) };
        let snapshot = self.live.ask(|live| live.observer.snapshot()).await?;
        let asked = subject.clone();
        // What may not be read is not among the facts anyway.
        let audience = match &self.named {
            Namespaces::All => Audience::AllNamespaces,
            Namespaces::Only(names) => Audience::Namespaces(names.clone()),
        };
        let explained = spawn_blocking(move || explain(&snapshot, &asked, &audience, Effort::default()));
        let Ok(told) = explained.await else {
            return Ok(wrong(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the explanation failed",
                "report this as a bug",
            ));
        };
        if is_missing(&told) {
            let message = told.to_string();
            return Ok(wrong(
                StatusCode::NOT_FOUND,
                message.trim_end(),
                "it may be gone; go back and try another",
            ));
        }
        let told = match &subject {
            Subject::Claim(id) => {
                let id = id.clone();
                self.live.ask(move |live| live.with_time(&id, told)).await?
            }
            _ => told,
        };
        let mut document = to_json(&told);
        document["text"] = told.to_string().into();
        Ok(crate::answer::document(&document))
    }

    async fn object(&self, kind: &str, namespace: &str, name: &str) -> Answered {
        let Some(kind) = kind_of(kind) else { return Ok(no_kind(kind)) };
        if !self.named.contains(namespace) {
            let message = format!("namespace {namespace} is not shown by this page");
            return Ok(wrong(StatusCode::FORBIDDEN, &message, "start `supercargo page` without -n"));
        }
        let (of_namespace, of_name) = (namespace.to_owned(), name.to_owned());
        let decisions =
            self.live.ask(move |live| live.observer.decisions().about(kind, &of_namespace, &of_name)).await?;
        let connection = self.connection().await;
        Ok(document(&object(connection, kind, (namespace, name), decisions).await))
    }

    async fn device(&self, driver: &str, pool: &str, device: &str) -> Answered {
        let id = DeviceId { driver: driver.into(), pool: pool.into(), device: device.into() };
        let found = self.live.ask(move |live| live.observer.device(&id)).await?;
        Ok(match found {
            Some(found) => document(&found),
            None => {
                let message = format!("device {driver}/{pool}/{device} does not exist");
                wrong(StatusCode::NOT_FOUND, &message, "it may be gone; choose another on the map")
            }
        })
    }

    async fn plan(&self, request: Request<Incoming>) -> Answered {
        let Some(planner) = self.planner.clone() else {
            let hint = "use `supercargo plan`";
            return Ok(wrong(StatusCode::NOT_FOUND, "plans cannot be made for this page", hint));
        };
        let body = Limited::new(request.into_body(), BODY_BYTES_MAX).collect();
        let Ok(Ok(body)) = timeout(WAIT, body).await else {
            let hint = "send manifests of at most 1 MiB";
            return Ok(wrong(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large or incomplete", hint));
        };
        let asked = match plan_request(&body.to_bytes()) {
            Ok(asked) => asked,
            Err(why) => {
                return Ok(wrong(StatusCode::BAD_REQUEST, &why, "see /supercargo/v1alpha1/openapi.json"));
            }
        };
        let Ok(Ok(_place)) = timeout(WAIT, self.planning.acquire()).await else { return Ok(busy()) };
        Ok(match spawn_blocking(move || planner(asked)).await {
            Ok(Ok(plan)) => document(&plan),
            Ok(Err(why)) => refused(StatusCode::UNPROCESSABLE_ENTITY, &why),
            Err(_) => wrong(StatusCode::INTERNAL_SERVER_ERROR, "the plan failed", "report this as a bug"),
        })
    }
}

/// Reads the body of a question.
fn plan_request(body: &[u8]) -> Result<PlanRequest, String> {
    let value: Value =
        serde_json::from_slice(body).map_err(|error| format!("the body is not JSON: {error}"))?;
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    let with = value["with"].as_array().into_iter().flatten();
    let with: Option<Vec<String>> = with.map(|one| one.as_str().map(str::to_owned)).collect();
    Ok(PlanRequest {
        manifests: text("manifests").unwrap_or_default(),
        with: with.ok_or("the entries of \"with\" must be strings")?,
        namespace: text("namespace").filter(|name| !name.is_empty()),
    })
}

fn subject(kind: &str, namespace: &str, name: &str) -> Option<Subject> {
    let (namespace, name) = (namespace.into(), name);
    Some(match kind {
        "pod" => Subject::Pod(PodId { namespace, name: name.into() }),
        "claim" => Subject::Claim(ClaimId { namespace, name: name.into() }),
        "podgroup" | "compositepodgroup" => Subject::Group(GroupId { namespace, name: name.into() }),
        "workload" => Subject::Workload(WorkloadId { namespace, name: name.into() }),
        _ => return None,
    })
}

fn is_missing(told: &Explanation) -> bool {
    match told {
        Explanation::Pod(pod) => matches!(**pod, PodExplanation::NotFound(_)),
        Explanation::Claim(claim) => matches!(claim, explain::ClaimExplanation::NotFound(_)),
        Explanation::Group(group) => matches!(group, GroupExplanation::NotFound(_)),
        Explanation::Workload(_, groups) => groups.is_empty(),
    }
}

/// A part of a path as it was meant.
fn decoded(part: &str) -> String {
    // A plus is a plus in paths, and a blank only in forms.
    let text = part.replace('+', "%2B");
    let mut pairs = form_urlencoded::parse(text.as_bytes());
    pairs.next().map(|(name, _)| name.into_owned()).unwrap_or_default()
}

fn elsewhere() -> PageResponse {
    let hint = "use http://127.0.0.1 or http://localhost";
    wrong(StatusCode::FORBIDDEN, "the request names another host or comes from another site", hint)
}

fn signed_in_already() -> PageResponse {
    let mut answer = answer(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", "");
    answer.headers_mut().insert(hyper::header::LOCATION, HeaderValue::from_static("/"));
    answer
}

fn not_allowed(allowed: &'static str) -> PageResponse {
    let mut answer =
        wrong(StatusCode::METHOD_NOT_ALLOWED, "the method is not allowed", "the page is read-only");
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    answer
}

fn no_kind(kind: &str) -> PageResponse {
    let hint = "use pod, claim, podgroup, compositepodgroup or workload";
    wrong(StatusCode::NOT_FOUND, &format!("{kind:?} is not a kind that the page shows"), hint)
}

fn busy() -> PageResponse {
    wrong(StatusCode::SERVICE_UNAVAILABLE, "the server is busy with other requests", "try again in a minute")
}
