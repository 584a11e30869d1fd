//! The server of the page as a browser and as an attacker meet it: signing in, headers, bounds, and the description of its API.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use config::SchedulerSettings;
use gates::Gates;
use inventory::observed::Namespaces;
use page::{Options, Page, PageError, Refused, Source};
use serde_json::{Value, json};
use shared_network_features as _;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use views::observer::Observer;
use views::openapi::{BASE, ROUTES};

/// A page that is served.
struct Served {
    address: SocketAddr,
    link: String,
    _stop: oneshot::Sender<()>,
}

/// An answer.
struct Heard {
    status: u16,
    head: String,
    body: String,
}

impl Heard {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| unreachable!("{error}: {}", self.body))
    }
}

fn options(listen: &str) -> Options {
    let gates = Gates::default();
    let settings = scheduling::settings(&SchedulerSettings::defaults(gates), gates);
    let observer = Observer::new(settings, Namespaces::All);
    Options {
        listen: listen.parse().expect("an address"),
        source: Source::Still(Box::new(observer)),
        named: Namespaces::All,
        title: "a test".to_owned(),
        planner: Some(Arc::new(|request| match request.with.is_empty() {
            true => Err(Refused { message: "nothing to plan".to_owned(), hint: "add a change".to_owned() }),
            false => Ok(json!({ "with": request.with })),
        })),
        sessions: None,
    }
}

async fn serve() -> Served {
    let page = Page::bind(options("127.0.0.1:0")).await.expect("it listens");
    let (address, link) = (page.address(), page.link());
    let (stop, stopped) = oneshot::channel::<()>();
    tokio::spawn(page.serve(async {
        let _ = stopped.await;
    }));
    Served { address, link, _stop: stop }
}

impl Served {
    /// Sends a request with these header lines, and reads the whole answer.
    async fn ask(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Heard {
        let mut socket = TcpStream::connect(self.address).await.expect("it listens");
        let host = format!("Host: {}", self.address);
        let mut lines: Vec<&str> = vec![&host];
        if headers.iter().any(|line| line.starts_with("Host:")) {
            lines.clear();
        }
        lines.extend(headers);
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {length}\r\n{}\r\n\r\n",
            lines.join("\r\n")
        );
        socket.write_all(head.as_bytes()).await.expect("it reads");
        // A server that refuses a body does not read it to its end.
        let _ = socket.write_all(body.as_bytes()).await;
        let mut bytes = Vec::new();
        let _ = socket.read_to_end(&mut bytes).await;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").expect("an answer");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Heard { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    /// Opens the link, and gives the header with the cookie.
    async fn sign_in(&self) -> String {
        let path = self.link.split_once(&self.address.to_string()).expect("the address").1;
        let heard = self.ask("GET", path, &[], "").await;
        assert_eq!(heard.status, 303, "{}", heard.body);
        assert!(heard.head.contains("httponly; samesite=strict"), "{}", heard.head);
        let cookie = heard.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
        format!("Cookie: {}", cookie.split(';').next().expect("a pair"))
    }
}

/// A path of a route, with names for its parameters.
fn path_of(route: &str) -> String {
    let part = |part: &str| match part {
        "{kind}" => "pod".to_owned(),
        other if other.starts_with('{') => "name".to_owned(),
        other => other.to_owned(),
    };
    format!("{BASE}{}", route.split('/').map(part).collect::<Vec<_>>().join("/"))
}

#[tokio::test]
async fn every_route_is_described_and_every_description_has_a_route() {
    let served = serve().await;
    let cookie = served.sign_in().await;
    let described = served.ask("GET", &format!("{BASE}/openapi.json"), &[&cookie], "").await.json();
    for route in ROUTES.iter().filter(|route| route.path != "/watch") {
        let operation = &described["paths"][format!("{BASE}{}", route.path)][route.method];
        assert_eq!(operation["summary"], route.summary, "{}", route.path);
        let body = if route.method == "post" { "{\"with\": [\"drain=a\"]}" } else { "" };
        let heard = served.ask(&route.method.to_uppercase(), &path_of(route.path), &[&cookie], body).await;
        let message = heard.json()["message"].as_str().unwrap_or_default().to_owned();
        assert!(message != "there is no such path", "{} is described and not there", route.path);
    }
    let paths = described["paths"].as_object().expect("paths").len();
    assert_eq!(paths, ROUTES.len(), "each route has a path of its own");
    let unknown = served.ask("GET", &format!("{BASE}/other"), &[&cookie], "").await;
    assert_eq!((unknown.status, unknown.json()["message"].as_str()), (404, Some("there is no such path")));
}

#[tokio::test]
async fn without_a_session_nothing_is_told_and_a_link_works_once() {
    let served = serve().await;
    for route in ROUTES {
        let heard = served.ask(&route.method.to_uppercase(), &path_of(route.path), &[], "").await;
        assert_eq!(heard.status, 401, "{}", route.path);
    }
    let page = served.ask("GET", "/", &[], "").await;
    assert!(page.status == 401 && page.body.contains("not signed in"), "{}", page.body);
    let cookie = served.sign_in().await;
    let path = served.link.split_once(&served.address.to_string()).expect("the address").1;
    assert_eq!(served.ask("GET", path, &[], "").await.status, 401, "the link was used");
    assert_eq!(served.ask("GET", path, &[&cookie], "").await.status, 303, "who is signed in stays so");
    let page = served.ask("GET", "/", &[&cookie], "").await;
    assert!(page.status == 200 && page.body.contains("/main.js"), "{}", page.body);
    // A page that is signed in makes a link for another browser.
    let made = served.ask("POST", &format!("{BASE}/links"), &[&cookie], "").await.json();
    let link = made["link"].as_str().expect("a link").to_owned();
    assert!(link.starts_with(&format!("http://{}/?token=", served.address)) && link != served.link, "{link}");
}

#[tokio::test]
async fn requests_of_other_sites_and_for_other_hosts_are_refused() {
    let served = serve().await;
    let cookie = served.sign_in().await;
    let status = format!("{BASE}/status");
    let own = format!("Origin: http://{}", served.address);
    for (headers, expected) in [
        (vec![&*cookie], 200),
        (vec![&*cookie, &*own], 200),
        (vec![&*cookie, "Host: evil.example"], 403),
        (vec![&*cookie, "Origin: http://evil.example"], 403),
        (vec![&*cookie, "Sec-Fetch-Site: cross-site"], 403),
    ] {
        assert_eq!(served.ask("GET", &status, &headers, "").await.status, expected, "{headers:?}");
    }
    assert_eq!(served.ask("GET", "/", &["Host: evil.example"], "").await.status, 403);
}

#[tokio::test]
async fn every_answer_has_the_policy_and_nothing_may_be_written() {
    let served = serve().await;
    let cookie = served.sign_in().await;
    for path in ["/", "/style.css", "/main.js", "/nothing", &format!("{BASE}/cluster"), &format!("{BASE}/x")]
    {
        let heard = served.ask("GET", path, &[&cookie], "").await;
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:",
            "x-content-type-options: nosniff",
            "x-frame-options: deny",
            "cache-control: no-store",
        ] {
            assert!(heard.head.contains(header), "{path}: {}", heard.head);
        }
    }
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        assert_eq!(
            served.ask(method, &format!("{BASE}/cluster"), &[&cookie], "").await.status,
            405,
            "{method}"
        );
        assert_eq!(served.ask(method, "/", &[&cookie], "").await.status, 405, "{method}");
    }
    assert_eq!(served.ask("GET", &format!("{BASE}/plan"), &[&cookie], "").await.status, 405);
}

#[tokio::test]
async fn plans_have_bounded_bodies_and_say_what_is_wrong() {
    let served = serve().await;
    let cookie = served.sign_in().await;
    let plan = format!("{BASE}/plan");
    let good = served.ask("POST", &plan, &[&cookie], "{\"with\": [\"drain=a\"]}").await;
    assert_eq!((good.status, good.json()), (200, json!({ "with": ["drain=a"] })));
    let empty = served.ask("POST", &plan, &[&cookie], "{}").await;
    assert_eq!((empty.status, empty.json()["hint"].as_str()), (422, Some("add a change")));
    for bad in ["", "{", "{\"with\": [1]}"] {
        assert_eq!(served.ask("POST", &plan, &[&cookie], bad).await.status, 400, "{bad}");
    }
    let large = format!("{{\"manifests\": \"{}\"}}", "x".repeat(2 << 20));
    assert_eq!(served.ask("POST", &plan, &[&cookie], &large).await.status, 413);
}

#[tokio::test]
async fn a_stream_says_hello_and_there_is_a_bound_of_streams() {
    let served = serve().await;
    let cookie = served.sign_in().await;
    let mut open = Vec::new();
    let mut last = String::new();
    // One more than there may be.
    for _ in 0..65 {
        let mut socket = TcpStream::connect(served.address).await.expect("it listens");
        let head = format!("GET {BASE}/watch HTTP/1.1\r\nHost: {}\r\n{cookie}\r\n\r\n", served.address);
        socket.write_all(head.as_bytes()).await.expect("it reads");
        last.clear();
        let mut bytes = [0; 4096];
        while !last.contains("title") && !last.contains("too many") {
            let read = tokio::time::timeout(Duration::from_secs(20), socket.read(&mut bytes)).await;
            let read = read.expect("it answers").expect("it is open");
            last.push_str(&String::from_utf8_lossy(&bytes[..read]));
            if read == 0 {
                break;
            }
        }
        if open.is_empty() {
            assert!(last.contains("text/event-stream") && last.contains("event: hello"), "{last}");
        }
        open.push(socket);
    }
    assert!(last.contains("503") && last.contains("too many pages are open"), "{last}");
}

#[tokio::test]
async fn a_page_is_for_this_machine_only() {
    let refused = Page::bind(options("0.0.0.0:0")).await.err().expect("it is refused");
    assert!(matches!(refused, PageError::NotPrivate(_)), "{refused}");
    assert!(refused.to_string().contains("hint: use 127.0.0.1"), "{refused}");
}
