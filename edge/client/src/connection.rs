//! One server, and requests to it as they go over the wire.
//!
//! Every request that ends passes the same gates: the pace, the bound on requests under way, and a time limit.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::header::{ACCEPT, CONTENT_TYPE};
use hyper::{Method, Request, Response};
use hyper_util::client::legacy;
use kube::Client;
use kube::client::Body;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use crate::answer::{Answer, Unavailable, refusal};
use crate::pace::Pace;
use crate::reach::Reach;
use crate::requests::{Requests, Sent};

/// How to behave towards a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// Who we say we are.
    pub user_agent: String,
    /// Requests per second in the long run; zero is no limit.
    pub qps: f32,
    /// Requests at once after a pause.
    pub burst: u32,
    /// Requests under way at the same time, watches aside.
    pub in_flight_max: usize,
    /// How long an answer may take, and the first byte of a watch.
    pub answer_timeout: Duration,
    /// Whether the server answers; what requests find out is noted here.
    pub reach: Reach,
    /// Who hears of each request.
    pub requests: Requests,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            user_agent: concat!("supercargo/", env!("CARGO_PKG_VERSION")).to_owned(),
            qps: 0.0,
            burst: 0,
            in_flight_max: 32,
            answer_timeout: Duration::from_secs(60),
            reach: Reach::default(),
            requests: Requests::default(),
        }
    }
}

/// A server and how to reach it. Clones share connections and limits.
#[derive(Clone)]
pub struct Connection {
    shared: Arc<Shared>,
}

struct Shared {
    client: Client,
    server: String,
    namespace: String,
    verified: bool,
    pace: Pace,
    in_flight: Semaphore,
    answer_timeout: Duration,
    reach: Reach,
    requests: Requests,
}

/// A request before it is sent.
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) content_type: &'static str,
    pub(crate) body: Bytes,
}

/// An answer that is larger than this is none: a page of a list has at most a few MiB.
const BODY_BYTES_MAX: usize = 1 << 30;

/// What is to be told of a request when it is over.
struct Telling {
    method: Method,
    path: String,
    begun: Instant,
    held_back: Duration,
}

impl Telling {
    fn tell(&self, shared: &Shared, code: u16) {
        let (method, path, held_back) = (self.method.as_str(), &*self.path, self.held_back);
        let (server, took) = (&*shared.server, self.begun.elapsed());
        shared.requests.tell(&Sent { method, server, path, code, took, held_back });
    }
}

impl Ask {
    /// Asks without a body.
    pub(crate) fn get(path: String) -> Self {
        Self { method: Method::GET, path, content_type: "application/json", body: Bytes::new() }
    }
}

impl Connection {
    pub(crate) fn new(
        client: Client,
        server: String,
        namespace: String,
        verified: bool,
        options: &Options,
    ) -> Self {
        let shared = Shared {
            client,
            server,
            namespace,
            verified,
            pace: Pace::new(options.qps, options.burst),
            in_flight: Semaphore::new(options.in_flight_max.clamp(1, Semaphore::MAX_PERMITS)),
            answer_timeout: options.answer_timeout,
            reach: options.reach.clone(),
            requests: options.requests.clone(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The address of the server.
    pub fn server(&self) -> &str {
        &self.shared.server
    }

    /// Whether the server has to prove that it is the one that is meant. Otherwise anyone on the way can pose as it.
    pub fn verifies_server(&self) -> bool {
        self.shared.verified
    }

    /// The namespace to use where none is named.
    pub fn default_namespace(&self) -> &str {
        &self.shared.namespace
    }

    /// Asks, and reads the whole answer.
    pub(crate) async fn call(&self, ask: Ask) -> Answer<Bytes> {
        let _permit = self.shared.in_flight.acquire().await.expect("the semaphore is never closed");
        let telling = self.telling(&ask).await;
        let whole = async {
            let response = self.send(ask).await?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, BODY_BYTES_MAX).collect().await;
            let body = body.map_err(|error| self.broken(&*error))?.to_bytes();
            Ok((head, body))
        };
        let (code, answer) = match timeout(self.shared.answer_timeout, whole).await {
            Err(_) => (0, Answer::Unavailable(self.timed_out())),
            Ok(Err(unavailable)) => (0, Answer::Unavailable(unavailable)),
            Ok(Ok((head, body))) if head.status.is_success() => (head.status.as_u16(), Answer::Done(body)),
            Ok(Ok((head, body))) => {
                (head.status.as_u16(), refusal(head.status.as_u16(), &head.headers, &body))
            }
        };
        telling.tell(&self.shared, code);
        self.shared.reach.hear(&answer);
        answer
    }

    /// Asks for an answer that comes bit by bit and has no end.
    pub(crate) async fn open(&self, path: String) -> Answer<Body> {
        let ask = Ask::get(path);
        let telling = self.telling(&ask).await;
        let begun = async {
            let response = self.send(ask).await?;
            let (head, body) = response.into_parts();
            let code = head.status.as_u16();
            if head.status.is_success() {
                return Ok((code, Answer::Done(body)));
            }
            let body = Limited::new(body, BODY_BYTES_MAX).collect().await;
            let body = body.map_err(|error| self.broken(&*error))?.to_bytes();
            Ok((code, refusal(code, &head.headers, &body)))
        };
        let (code, answer) = match timeout(self.shared.answer_timeout, begun).await {
            Err(_) => (0, Answer::Unavailable(self.timed_out())),
            Ok(Err(unavailable)) => (0, Answer::Unavailable(unavailable)),
            Ok(Ok(answer)) => answer,
        };
        telling.tell(&self.shared, code);
        self.shared.reach.hear(&answer);
        answer
    }

    /// Waits for the turn of a request, and remembers what is to be told of it.
    async fn telling(&self, ask: &Ask) -> Telling {
        let asked = Instant::now();
        self.shared.pace.wait().await;
        let begun = Instant::now();
        Telling { method: ask.method.clone(), path: ask.path.clone(), begun, held_back: begun - asked }
    }

    async fn send(&self, ask: Ask) -> Result<Response<Body>, Unavailable> {
        let request = Request::builder()
            .method(ask.method)
            .uri(ask.path)
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, ask.content_type)
            .body(Body::from(ask.body))
            .expect("paths are escaped");
        self.shared.client.send(request).await.map_err(|error| self.no_answer(&error))
    }

    fn no_answer(&self, error: &kube::Error) -> Unavailable {
        let server = self.shared.server.clone();
        let why = root_of(error);
        let unsent = match error {
            kube::Error::Service(source) => {
                source.downcast_ref::<legacy::Error>().is_some_and(legacy::Error::is_connect)
            }
            // The login failed before anything was sent.
            kube::Error::Auth(_) => true,
            _ => false,
        };
        if unsent { Unavailable::Unreachable { server, why } } else { Unavailable::Broken { server, why } }
    }

    fn broken(&self, error: &(dyn std::error::Error + 'static)) -> Unavailable {
        Unavailable::Broken { server: self.shared.server.clone(), why: root_of(error) }
    }

    fn timed_out(&self) -> Unavailable {
        Unavailable::TimedOut { server: self.shared.server.clone(), after: self.shared.answer_timeout }
    }
}

/// What went wrong at the bottom; the layers above say only that something did.
fn root_of(error: &(dyn std::error::Error + 'static)) -> String {
    let mut root = error;
    while let Some(source) = root.source() {
        root = source;
    }
    root.to_string()
}
