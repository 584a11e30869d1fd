//! Requests that no good client sends: each gets the right refusal, and the server goes on.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::served::{Served, TOKEN};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const JSON: &str = "application/json";

/// Sends bytes and reads the answer to its end; the status, or nothing if the server only hung up.
async fn send(served: &Served, request: &[u8]) -> (Option<u16>, String) {
    let mut stream = TcpStream::connect(served.address).await.expect("it listens");
    // The server may refuse, and hang up, before all is sent.
    let _ = stream.write_all(request).await;
    let mut answer = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut answer)).await;
    assert!(read.is_ok(), "no end of an answer after 20 s: {:?}", String::from_utf8_lossy(&answer));
    let text = String::from_utf8_lossy(&answer).into_owned();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status, text)
}

fn request(method: &str, path: &str, media_type: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\
         Content-Type: {media_type}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

fn config_map(name: &str) -> String {
    format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{"a":"b"}}}}"#)
}

/// The server still makes, shows and deletes things.
async fn goes_on(served: &Served) {
    let made = send(served, &request("POST", CONFIG_MAPS, JSON, config_map("alive").as_bytes())).await;
    assert_eq!(made.0, Some(201), "{}", made.1);
    let path = format!("{CONFIG_MAPS}/alive");
    assert_eq!(send(served, &request("GET", &path, JSON, b"")).await.0, Some(200));
    assert_eq!(send(served, &request("DELETE", &path, JSON, b"")).await.0, Some(200));
}

async fn check(served: &Served, method: &str, path: &str, media_type: &str, body: &[u8], expected: u16) {
    let (status, text) = send(served, &request(method, path, media_type, body)).await;
    let shown: String = String::from_utf8_lossy(body).chars().take(60).collect();
    assert_eq!(status, Some(expected), "{method} {path} {media_type} {shown}\n{text}");
    // Paths of no group are answered in plain text, as Kubernetes does.
    let told = text.contains("\"kind\":\"Status\"") || text.contains("404 page not found");
    assert!(told, "no Status: {method} {path}\n{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_cannot_be_read_are_refused() {
    let served = Served::start_plain().await;
    let whole = config_map("a");
    let truncated = &whole.as_bytes()[..whole.len() - 3];
    check(&served, "POST", CONFIG_MAPS, JSON, truncated, 400).await;
    check(&served, "POST", CONFIG_MAPS, JSON, b"", 400).await;
    check(&served, "POST", CONFIG_MAPS, JSON, b"[]", 400).await;
    check(&served, "POST", CONFIG_MAPS, JSON, b"null", 400).await;
    check(&served, "POST", CONFIG_MAPS, JSON, b"\"text\"", 400).await;
    // JSON that is no UTF-8 is read with marks in place of what is broken, as Kubernetes does; those are in no name.
    check(&served, "POST", CONFIG_MAPS, JSON, b"{\"metadata\":{\"name\":\"\xff\xfe\"}}", 422).await;
    check(&served, "POST", CONFIG_MAPS, "application/yaml", b"a: [", 400).await;
    check(&served, "POST", CONFIG_MAPS, "application/yaml", b"metadata:\n  name: \xff\n", 400).await;
    check(&served, "POST", CONFIG_MAPS, "application/vnd.kubernetes.protobuf", b"k8s\0\xff\xff", 400).await;
    let deep = [b"[".repeat(200_000), b"]".repeat(200_000)].concat();
    check(&served, "POST", CONFIG_MAPS, JSON, &deep, 400).await;
    check(&served, "POST", CONFIG_MAPS, "application/yaml", &deep, 400).await;
    goes_on(&served).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn media_types_that_nobody_reads_are_refused() {
    let served = Served::start_plain().await;
    let body = config_map("a");
    for media_type in ["text/plain", "application/cbor", "multipart/form-data", "application/json-patch+json"]
    {
        check(&served, "POST", CONFIG_MAPS, media_type, body.as_bytes(), 415).await;
    }
    let path = format!("{CONFIG_MAPS}/a");
    check(&served, "PATCH", &path, JSON, body.as_bytes(), 415).await;
    goes_on(&served).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_and_verbs_that_are_not_served_are_refused() {
    let served = Served::start_plain().await;
    check(&served, "GET", "/apis/nothing.example.com/v1/things", JSON, b"", 404).await;
    check(&served, "GET", "/api/v1/nothings", JSON, b"", 404).await;
    check(&served, "POST", "/api/v2/pods", JSON, b"{}", 404).await;
    check(&served, "POST", "/api/v1/configmaps", JSON, config_map("a").as_bytes(), 405).await;
    check(&served, "TRACE", CONFIG_MAPS, JSON, b"", 405).await;
    let other_kind = br#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}"#;
    check(&served, "POST", CONFIG_MAPS, JSON, other_kind, 400).await;
    goes_on(&served).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_never_paths() {
    let served = Served::start_plain().await;
    for name in ["..", ".", "../../etc/passwd", "a/b", "a%2fb", "a\\u0000b", "a b", "A"] {
        check(&served, "POST", CONFIG_MAPS, JSON, config_map(name).as_bytes(), 422).await;
    }
    for path in [
        "/api/v1/namespaces/default/configmaps/..",
        "/api/v1/namespaces/default/configmaps/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/api/v1/namespaces/../configmaps/a",
        "/api/v1/namespaces/%2e%2e/configmaps/a",
        "/api/v1/namespaces/default/configmaps/a%00b",
        "/../../etc/passwd",
    ] {
        check(&served, "GET", path, JSON, b"", 404).await;
    }
    goes_on(&served).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_is_refused() {
    let served = Served::start_plain().await;
    let large = format!(r#"{{"data":{{"a":"{}"}}}}"#, "x".repeat(10 * 1024 * 1024));
    let (status, _) = send(&served, &request("POST", CONFIG_MAPS, JSON, large.as_bytes())).await;
    // Who is still sending may lose the answer to the reset of the connection.
    assert!(matches!(status, Some(413) | None), "{status:?}");
    let announced = format!(
        "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\
         Content-Type: {JSON}\r\nContent-Length: 10485760\r\n\r\n"
    );
    let part = [announced.as_bytes(), &b" ".repeat(3 * 1024 * 1024 + 1)].concat();
    assert_eq!(send(&served, &part).await.0, Some(413));
    let headers =
        format!("GET /api HTTP/1.1\r\nHost: localhost\r\nX-Large: {}\r\n\r\n", "x".repeat(1024 * 1024));
    let (status, _) = send(&served, headers.as_bytes()).await;
    assert!(matches!(status, Some(431) | None), "{status:?}");
    let many = format!("GET /api HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X-Many: x\r\n".repeat(1000));
    let (status, _) = send(&served, many.as_bytes()).await;
    assert!(matches!(status, Some(431)), "{status:?}");
    goes_on(&served).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn patches_of_a_hundred_thousand_elements_are_refused() {
    let served = Served::start_plain().await;
    send(&served, &request("POST", CONFIG_MAPS, JSON, config_map("patched").as_bytes())).await;
    let path = format!("{CONFIG_MAPS}/patched");
    let operation = r#"{"op":"test","path":"/kind"}"#;
    let patch = format!("[{}]", vec![operation; 100_000].join(","));
    check(&served, "PATCH", &path, "application/json-patch+json", patch.as_bytes(), 413).await;
    let cases: [(&str, &[u8], u16); 5] = [
        ("application/json-patch+json", b"{}", 400),
        ("application/json-patch+json", br#"[{"op":"nothing","path":"/a"}]"#, 422),
        ("application/json-patch+json", br#"[{"op":"remove","path":"/nothing"}]"#, 422),
        ("application/merge-patch+json", b"[]", 400),
        ("application/strategic-merge-patch+json", b"7", 400),
    ];
    for (media_type, patch, expected) in cases {
        check(&served, "PATCH", &path, media_type, patch, expected).await;
    }
    goes_on(&served).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_stop_half_way_hold_up_nobody() {
    let served = Served::start_plain().await;
    let mut idle = Vec::new();
    for part in ["", "GET /api HT", "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\n"] {
        for _ in 0..50 {
            let mut stream = TcpStream::connect(served.address).await.expect("it listens");
            stream.write_all(part.as_bytes()).await.expect("it reads");
            idle.push(stream);
        }
    }
    goes_on(&served).await;
    // A body that ends before its announced length is no object.
    let whole = request("POST", CONFIG_MAPS, JSON, config_map("half").as_bytes());
    let mut stream = TcpStream::connect(served.address).await.expect("it listens");
    stream.write_all(&whole[..whole.len() - 5]).await.expect("it reads");
    drop(stream);
    let path = format!("{CONFIG_MAPS}/half");
    check(&served, "GET", &path, JSON, b"", 404).await;
    drop(idle);
    goes_on(&served).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_see_health_and_version_alone() {
    let served = Served::start_plain().await;
    let ask = |path: &str, authorization: &str| {
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{authorization}Connection: close\r\n\r\n")
            .into_bytes()
    };
    for path in ["/healthz", "/livez", "/readyz", "/version"] {
        assert_eq!(send(&served, &ask(path, "")).await.0, Some(200), "{path}");
    }
    let hidden = [
        "/",
        "/api",
        "/apis",
        "/api/v1/pods",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/versions",
        "/healthzz",
        "//api/v1/pods",
        "/healthz/../api/v1/pods",
        "/version/../api",
    ];
    for path in hidden {
        assert_eq!(send(&served, &ask(path, "")).await.0, Some(401), "{path}");
    }
    for authorization in [
        "Authorization: Bearer wrong\r\n",
        "Authorization: Bearer \r\n",
        "Authorization: Bearer\r\n",
        "Authorization: Basic YWRtaW46YWRtaW4=\r\n",
        "Authorization: a-secret-of-the-tests\r\n",
        "Authorization: Bearer a-secret-of-the-tests2\r\n",
    ] {
        assert_eq!(send(&served, &ask("/api/v1/pods", authorization)).await.0, Some(401), "{authorization}");
    }
    goes_on(&served).await;
}

/// A request of the administrator with these headers.
fn with_headers(method: &str, path: &str, headers: &str) -> Vec<u8> {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n{headers}Connection: close\r\n\r\n"
    )
    .into_bytes()
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_acts_as_others() {
    let served = Served::start_plain().await;
    for header in [
        "Impersonate-User: bob",
        "impersonate-group: dev",
        "Impersonate-Uid: 7",
        "Impersonate-Extra-scopes: a",
    ] {
        for (method, path) in [
            ("GET", "/api/v1/pods"),
            ("DELETE", CONFIG_MAPS),
            ("GET", "/version"),
            ("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews"),
        ] {
            let (status, text) = send(&served, &with_headers(method, path, &format!("{header}\r\n"))).await;
            assert_eq!(status, Some(403), "{method} {path} {header}\n{text}");
            assert!(
                text.contains("\"reason\":\"Forbidden\"") && text.contains("does not support impersonation"),
                "{text}"
            );
        }
    }
    let stranger =
        b"GET /api/v1/pods HTTP/1.1\r\nHost: x\r\nImpersonate-User: bob\r\nConnection: close\r\n\r\n";
    assert_eq!(send(&served, stranger).await.0, Some(401), "who is nobody is asked who they are first");
    goes_on(&served).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn schemas_come_in_the_form_that_is_asked_for() {
    let served = Served::start_plain().await;
    let old = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let new = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    for (path, accept, expected) in [
        ("/openapi/v2", "*/*", Ok(JSON)),
        ("/openapi/v2", JSON, Ok(JSON)),
        ("/openapi/v2", old, Ok(new)),
        ("/openapi/v2", new, Ok(new)),
        ("/openapi/v2", "text/html", Err(406)),
        ("/openapi/v3/api/v1", JSON, Ok(JSON)),
        ("/openapi/v3/api/v1", "application/com.github.proto-openapi.spec.v3.v1.0+protobuf", Err(406)),
    ] {
        let (status, text) =
            send(&served, &with_headers("GET", path, &format!("Accept: {accept}\r\n"))).await;
        let found = match status {
            Some(200) => {
                let head = text.split("\r\n\r\n").next().unwrap_or_default().to_lowercase();
                assert!(
                    head.contains(&format!("content-type: {}", expected.unwrap_or_default())),
                    "{path} {accept}: {head}"
                );
                Ok(expected.unwrap_or_default())
            }
            other => Err(other.unwrap_or_default()),
        };
        assert_eq!(found, expected, "{path} {accept}");
    }
    goes_on(&served).await;
}
