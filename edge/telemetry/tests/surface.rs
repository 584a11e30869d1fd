//! The surface over real sockets of this machine: paths, codes, TLS, readers, and how it stops.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use telemetry::metrics::Metrics;
use telemetry::surface::{
    Check, Checks, Component, Judge, Judgement, Options, Readers, Surface, SurfaceError, Transport,
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

fn options() -> Options {
    Options {
        listen: ANY_PORT,
        transport: Transport::Plain,
        checks: Checks::default(),
        configuration: json!({"kind": "KubeSchedulerConfiguration", "parallelism": 16}),
        component: Component { name: "supercargo-scheduler".to_owned(), ..Component::default() },
        metrics: Arc::new(Metrics::default()),
        readers: Readers::Everyone,
    }
}

struct Started {
    address: SocketAddr,
    certificate: Option<String>,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

async fn start(options: Options) -> Started {
    let surface = Surface::bind(options).await.expect("the surface starts");
    let address = surface.address().expect("it has an address");
    let certificate = surface.certificate().map(str::to_owned);
    let (stop, stopped) = oneshot::channel::<()>();
    let served = tokio::spawn(surface.serve(async move {
        // Who only wants the address never tells it to stop.
        if stopped.await.is_err() {
            std::future::pending::<()>().await;
        }
    }));
    Started { address, certificate, stop, served }
}

/// Asks once and reads until the connection ends: the code, all headers, and the body.
async fn ask<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, request: &str) -> (u16, String, String) {
    let request = format!("{request} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("the request is sent");
    read(stream).await
}

async fn read<S: AsyncRead + Unpin>(mut stream: S) -> (u16, String, String) {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("the answer arrives");
    let answer = String::from_utf8(answer).expect("it is text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("there are headers");
    let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("there is a code");
    (code, head.to_lowercase(), body.to_owned())
}

async fn get(address: SocketAddr, path: &str) -> (u16, String, String) {
    let stream = TcpStream::connect(address).await.expect("it listens");
    ask(stream, &format!("GET {path}")).await
}

#[tokio::test]
async fn health_metrics_and_configuration_are_where_kubernetes_has_them() {
    let metrics = Arc::new(Metrics::default());
    metrics.attempts.bound_after_flush();
    let (synced, flag) = Check::flag("sched-handler-sync", "handlers are not synchronized");
    let checks = Checks { readyz: vec![synced], ..Checks::default() };
    let started = start(Options { metrics, checks, ..options() }).await;
    let at = started.address;

    let (code, head, body) = get(at, "/healthz").await;
    assert_eq!((code, &*body), (200, "ok"));
    assert!(head.contains("content-type: text/plain; charset=utf-8"), "{head}");
    assert!(head.contains("x-content-type-options: nosniff"), "{head}");
    assert_eq!(get(at, "/livez?verbose").await.2, "[+]ping ok\nlivez check passed\n");
    let (code, _, body) = get(at, "/readyz").await;
    assert_eq!((code, &*body), (500, "[-]sched-handler-sync failed: reason withheld\nreadyz check failed\n"));
    flag.raise();
    assert_eq!(get(at, "/readyz?verbose").await.2, "[+]sched-handler-sync ok\nreadyz check passed\n");
    assert_eq!(get(at, "/readyz/sched-handler-sync").await.2, "ok");

    let (code, head, body) = get(at, "/metrics").await;
    assert_eq!(code, 200);
    assert!(head.contains("content-type: text/plain; version=0.0.4; charset=utf-8"), "{head}");
    assert!(body.contains("\nscheduler_pod_scheduled_after_flush_total 1\n"));

    let (code, head, body) = get(at, "/configz").await;
    assert_eq!(code, 200);
    assert!(head.contains("content-type: application/json"), "{head}");
    let shown: Value = serde_json::from_str(&body).expect("it is JSON");
    assert_eq!(shown, json!({"componentconfig": {"kind": "KubeSchedulerConfiguration", "parallelism": 16}}));
}

#[tokio::test]
async fn what_runs_and_with_which_flags_is_text() {
    let at = start(options()).await.address;
    for (path, words) in
        [("/statusz", "supercargo-scheduler statusz"), ("/flagz", "supercargo-scheduler flagz")]
    {
        let (code, head, body) = get(at, path).await;
        assert_eq!(code, 200, "{path}");
        assert!(head.contains("content-type: text/plain") && body.contains(words), "{head}{body}");
    }
}

#[tokio::test]
async fn the_root_lists_the_paths_and_others_are_not_there() {
    let at = start(options()).await.address;
    let shown: Value = serde_json::from_str(&get(at, "/").await.2).expect("it is JSON");
    let paths = json!([
        "/configz",
        "/flagz",
        "/healthz",
        "/healthz/ping",
        "/livez",
        "/livez/ping",
        "/metrics",
        "/readyz",
        "/readyz/ping",
        "/statusz"
    ]);
    assert_eq!(shown, json!({ "paths": paths }));
    for path in ["/metric", "/metrics/", "/healthz/", "/healthz/x", "/debug/pprof", "//"] {
        let (code, _, body) = get(at, path).await;
        assert_eq!((code, &*body), (404, "404 page not found\n"), "{path}");
    }
}

#[tokio::test]
async fn nothing_can_be_changed() {
    let at = start(options()).await.address;
    for method in ["POST", "PUT", "DELETE", "PATCH"] {
        let stream = TcpStream::connect(at).await.expect("it listens");
        let (code, head, _) = ask(stream, &format!("{method} /configz")).await;
        assert_eq!(code, 405, "{method}");
        assert!(head.contains("allow: get, head"), "{head}");
    }
    let stream = TcpStream::connect(at).await.expect("it listens");
    let (code, _, body) = ask(stream, "HEAD /healthz").await;
    assert_eq!((code, &*body), (200, ""));
}

#[tokio::test]
async fn a_certificate_is_made_that_clients_can_verify() {
    let started = start(Options { transport: Transport::SelfSigned, ..options() }).await;
    let pem = started.certificate.expect("a certificate was made");
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).expect("it is PEM");
    roots.add(certificate).expect("it can be trusted");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider knows them")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(config));
    for name in ["localhost", "127.0.0.1"] {
        let socket = TcpStream::connect(started.address).await.expect("it listens");
        let name = ServerName::try_from(name).expect("it is a name");
        let stream = connector.connect(name, socket).await.expect("the certificate is accepted");
        let (code, _, body) = ask(stream, "GET /readyz").await;
        assert_eq!((code, &*body), (200, "ok"));
    }
}

#[tokio::test]
async fn answers_may_be_larger_than_requests() {
    let metrics = Arc::new(Metrics::default());
    for event in 0..500 {
        metrics.queue.handled(&format!("event-{event}"), Duration::from_millis(1));
    }
    let at = start(Options { metrics: metrics.clone(), ..options() }).await.address;
    let (code, _, body) = get(at, "/metrics").await;
    assert_eq!(code, 200);
    assert!(body.len() > 300_000, "{}", body.len());
    assert!(body.contains("event=\"event-499\""));
    let (code, ..) = get(at, &format!("/healthz?{}", "x".repeat(100_000))).await;
    assert!((400..500).contains(&code), "{code}");
}

struct Tokens;

impl Judge for Tokens {
    fn judge<'a>(
        &'a self,
        token: Option<&'a str>,
        path: &'a str,
    ) -> Pin<Box<dyn Future<Output = Judgement> + Send + 'a>> {
        Box::pin(async move {
            match token {
                None => Judgement::Unknown,
                Some("scraper") if path == "/metrics" => Judgement::Allowed,
                Some(_) => Judgement::Forbidden,
            }
        })
    }
}

#[tokio::test]
async fn with_a_judge_only_the_short_answers_about_health_are_open_to_all() {
    let at = start(Options { readers: Readers::Judged(Arc::new(Tokens)), ..options() }).await.address;
    for path in ["/healthz", "/livez?verbose", "/readyz"] {
        assert_eq!(get(at, path).await.0, 200, "{path}");
    }
    for path in ["/", "/metrics", "/configz", "/readyz/ping", "/nowhere"] {
        assert_eq!(get(at, path).await.0, 401, "{path}");
    }
    let with_token = |path: &'static str| async move {
        let mut stream = TcpStream::connect(at).await.expect("it listens");
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer scraper\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.expect("the request is sent");
        read(stream).await.0
    };
    assert_eq!(with_token("/metrics").await, 200);
    assert_eq!(with_token("/configz").await, 403);
}

#[tokio::test]
async fn tokens_are_not_taken_without_tls_from_other_machines() {
    let listen = SocketAddr::from(([0, 0, 0, 0], 0));
    let open = Options { listen, readers: Readers::Judged(Arc::new(Tokens)), ..options() };
    let refused = Surface::bind(open).await.err().expect("it is refused");
    assert!(matches!(refused, SurfaceError::NotPrivate(_)), "{refused}");
}

#[tokio::test]
async fn a_key_that_is_none_is_told_with_the_flags_that_named_it() {
    let transport = Transport::Certificate { chain: b"no".to_vec(), key: b"no".to_vec() };
    let refused = Surface::bind(Options { transport, ..options() }).await.err().expect("it is refused");
    assert!(refused.to_string().contains("hint: see --tls-cert-file"), "{refused}");
}

#[tokio::test]
async fn an_address_that_is_taken_is_told() {
    let first = start(options()).await;
    let refused = Surface::bind(Options { listen: first.address, ..options() }).await;
    let refused = refused.err().expect("the address is taken").to_string();
    assert!(refused.starts_with(&format!("cannot listen on {}: ", first.address)), "{refused}");
}

#[tokio::test]
async fn it_stops_at_once_although_clients_keep_their_connections() {
    let started = start(options()).await;
    let mut idle = TcpStream::connect(started.address).await.expect("it listens");
    idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await.expect("the request is sent");
    let mut first = [0; 15];
    idle.read_exact(&mut first).await.expect("the answer begins");
    assert_eq!(&first, b"HTTP/1.1 200 OK");
    let silent = TcpStream::connect(started.address).await.expect("it listens");
    let before = Instant::now();
    started.stop.send(()).expect("it waits to be told");
    started.served.await.expect("it ends well");
    assert!(before.elapsed() < Duration::from_secs(5), "{:?}", before.elapsed());
    let refused = TcpStream::connect(started.address).await;
    assert!(refused.is_err());
    drop(silent);
}

#[tokio::test]
async fn more_clients_than_are_served_at_once_wait_for_room() {
    let started = start(options()).await;
    // As many as are served at once; when one goes, there is room.
    let mut silent = Vec::new();
    for _ in 0..64 {
        silent.push(TcpStream::connect(started.address).await.expect("it listens"));
    }
    let waiting = tokio::spawn(get(started.address, "/healthz"));
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!waiting.is_finished(), "there is a bound");
    silent.pop();
    let answered = tokio::time::timeout(Duration::from_secs(10), waiting).await;
    assert_eq!(answered.expect("it is served").expect("it is answered").0, 200);
}
