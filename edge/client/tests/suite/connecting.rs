//! What people are told when a connection cannot be made.

use std::fs;
use std::path::{Path, PathBuf};

use client::{ConnectError, Connection, Options};

use crate::served::{Served, TOKEN, settings};

fn file(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("client-{name}.yaml"));
    fs::write(&path, text).expect("a file");
    path
}

async fn told(path: &Path, context: Option<&str>) -> String {
    let connected = Connection::from_kubeconfig(path, context, &Options::default()).await;
    connected.err().map(|error| error.to_string()).unwrap_or_default()
}

fn kubeconfig(server: &str, user: &str, cluster: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: here\nclusters:\n- name: here\n  cluster:\n    server: {server}\n{cluster}\
         users:\n- name: me\n  user: {user}\ncontexts:\n- name: here\n  context: {{cluster: here, user: me, namespace: mine}}\n\
         - name: there\n  context: {{cluster: there, user: me}}\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kubeconfig_leads_to_its_server() {
    let served = Served::start();
    let authority = file("authority", &served.credentials.authority.certificate);
    let server = format!("https://{}", served.address);
    let cluster = format!("    certificate-authority: {}\n", authority.display());
    let path = file("good", &kubeconfig(&server, &format!("{{token: {TOKEN}}}"), &cluster));
    let connection =
        Connection::from_kubeconfig(&path, Some("here"), &Options::default()).await.expect("connects");
    assert_eq!(connection.default_namespace(), "mine");
    assert_eq!(connection.server(), server);
    let trouble = connection.get(&settings(), "none").await.trouble().unwrap_or_default();
    assert!(trouble.contains("not found"), "the server knows us: {trouble}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_plugin_gives_the_token() {
    let served = Served::start();
    let authority = file("plugin-authority", &served.credentials.authority.certificate);
    let server = format!("https://{}", served.address);
    let credential = format!(
        r#"{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{{"token":"{TOKEN}"}}}}"#
    );
    let user = format!(
        "{{exec: {{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: echo, args: ['{credential}']}}}}"
    );
    let cluster = format!("    certificate-authority: {}\n", authority.display());
    let path = file("plugin", &kubeconfig(&server, &user, &cluster));
    let connection = Connection::from_kubeconfig(&path, None, &Options::default()).await.expect("connects");
    let trouble = connection.get(&settings(), "none").await.trouble().unwrap_or_default();
    assert!(trouble.contains("not found"), "the server knows us: {trouble}");
}

#[tokio::test]
async fn an_error_names_the_file_and_the_next_step() {
    let missing = Path::new("/nowhere/config");
    let error = told(missing, None).await;
    assert!(error.contains("/nowhere/config") && error.contains("hint:"), "{error}");

    let broken = file("broken", "clusters: [}");
    let error = told(&broken, None).await;
    assert!(error.contains("client-broken.yaml") && error.contains("hint:"), "{error}");

    let good = file("contexts", &kubeconfig("https://127.0.0.1:1", "{}", ""));
    let error = told(&good, Some("elsewhere")).await;
    assert!(
        error.contains(r#"no context "elsewhere""#) && error.contains("choose one of here, there"),
        "{error}"
    );

    let error = told(&good, Some("there")).await;
    assert!(error.contains("client-contexts.yaml") && error.contains("there"), "{error}");

    let empty = file("empty", "apiVersion: v1\nkind: Config\n");
    let error = told(&empty, None).await;
    assert!(error.contains("client-empty.yaml") && error.contains("current context"), "{error}");

    let lost = file(
        "lost",
        &kubeconfig("https://127.0.0.1:1", "{}", "    certificate-authority: /nowhere/ca.crt\n"),
    );
    let error = told(&lost, None).await;
    assert!(error.contains("client-lost.yaml") && error.contains("/nowhere/ca.crt"), "{error}");
}

#[test]
fn parts_that_are_malformed_are_named() {
    let parts = |server: &str, authority: Option<&[u8]>, agent: &str| {
        let options = Options { user_agent: agent.to_owned(), ..Options::default() };
        Connection::from_parts(server, None, authority, &options).err().expect("is refused")
    };
    let error = parts("not an address", None, "a");
    assert!(error.to_string().contains("not an address") && error.to_string().contains("https://host:port"));
    assert!(matches!(parts("host:6443", None, "a"), ConnectError::Address { .. }));
    let error = parts("https://127.0.0.1:1", Some(b"no certificate"), "a");
    assert!(error.to_string().contains("https://127.0.0.1:1"), "{error}");
}

#[tokio::test]
async fn the_name_of_the_program_must_be_a_header() {
    let options = Options { user_agent: "line\nbreak".to_owned(), ..Options::default() };
    let refused = Connection::from_parts("https://127.0.0.1:1", None, None, &options).err();
    assert!(matches!(refused, Some(ConnectError::UserAgent(_))), "{refused:?}");
}

#[tokio::test]
async fn outside_of_a_pod_there_is_no_service_account() {
    if std::env::var_os("KUBERNETES_SERVICE_HOST").is_none() {
        let error = Connection::in_cluster(&Options::default()).err().expect("is refused").to_string();
        assert!(error.contains("hint: run in a pod with a service account, or set --kubeconfig"), "{error}");
    }
}
