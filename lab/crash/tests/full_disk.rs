//! A disk that is full under a running server: writes are refused, reads go on, and writes work again when there is room.
//!
//! A limit on the size of files stands for the full disk, because setting it needs no rights and no disk of its own.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{self, Command};
use std::time::Duration;
use std::{env, fs};

use caller::{Caller, Launched, Place, RawResponse};
use hyper::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

const PATH: &str = "/api/v1/namespaces/default/configmaps";
const TOKEN: &str = "full";

/// Starts a server that a file size limit does not kill, as it would without the trap.
fn start(dir: &Path) -> (Launched, Place) {
    let mut command = Command::new("sh");
    command.args(["-c", r#"trap "" XFSZ; exec "$0" "$@""#, env!("CARGO_BIN_EXE_crash"), "apiserver"]);
    command.args(["--listen", "127.0.0.1:0", "--admin-token", TOKEN, "--data-dir"]).arg(dir);
    let (server, address) = Launched::listening(&mut command).expect("the server starts");
    let authority = fs::read(dir.join("pki").join("authority.crt")).expect("the server wrote it");
    (server, Place::new(address, &authority, TOKEN).expect("the certificate is fine"))
}

fn limit_files(server: &Launched, bytes: &str) {
    let limit = Command::new("prlimit")
        .args(["--pid", &server.id().to_string(), &format!("--fsize={bytes}:unlimited")])
        .status()
        .expect("prlimit is part of every Linux");
    assert!(limit.success(), "the limit of a process of ours can be set");
}

async fn create(caller: &mut Caller, name: &str) -> RawResponse {
    let object = json!({"metadata": {"name": name}, "data": {"filling": "x".repeat(2000)}});
    caller.call(Method::POST, PATH, object.to_string()).await.expect("the server answers")
}

async fn names(caller: &mut Caller) -> BTreeSet<String> {
    let answer = caller.call(Method::GET, PATH, Vec::new()).await.expect("the server answers");
    assert_eq!(answer.code, 200, "reads go on");
    let list: Value = serde_json::from_slice(&answer.body).expect("a list");
    let items = list["items"].as_array().expect("a list has items");
    items.iter().filter_map(|item| item["metadata"]["name"].as_str().map(str::to_owned)).collect()
}

async fn health(caller: &mut Caller) -> (u16, String) {
    let answer = caller.call(Method::GET, "/readyz?verbose", Vec::new()).await.expect("the server answers");
    (answer.code, String::from_utf8(answer.body.to_vec()).expect("text"))
}

/// Makes objects over several connections at once, and says how each was answered.
async fn create_many(place: &Place, prefix: &str) -> Vec<(String, RawResponse)> {
    let mut tasks = JoinSet::new();
    for connection in 0..8 {
        let (place, prefix) = (place.clone(), prefix.to_owned());
        tasks.spawn(async move {
            let mut caller = Caller::connect(&place).await.expect("the server listens");
            let mut answers = Vec::new();
            for number in 0..10 {
                let name = format!("{prefix}-{connection}-{number}");
                let answer = create(&mut caller, &name).await;
                answers.push((name, answer));
            }
            answers
        });
    }
    tasks.join_all().await.into_iter().flatten().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_writes_loses_nothing_and_recovers() {
    let dir = env::temp_dir().join(format!("supercargo-full-disk-{}", process::id()));
    let (mut server, place) = start(&dir);
    let mut caller = Caller::connect(&place).await.expect("the server listens");
    let mut acknowledged = names(&mut caller).await;
    for (name, answer) in create_many(&place, "before").await {
        assert_eq!(answer.code, 201);
        acknowledged.insert(name);
    }

    limit_files(&server, "4096");
    for turn in 0..3 {
        for (name, answer) in create_many(&place, "full").await {
            let status: Value = serde_json::from_slice(&answer.body).expect("a status");
            let message = status["message"].as_str().unwrap_or_default();
            assert_eq!(
                (answer.code, &status["reason"]),
                (500, &json!("InternalError")),
                "{name} in turn {turn}"
            );
            assert!(message.contains("could not be made durable and was taken back"), "{message}");
            assert!(message.contains("hint: free space on the disk"), "{message}");
        }
        assert_eq!(names(&mut caller).await, acknowledged, "what was refused is not there");
    }

    let (code, said) = health(&mut caller).await;
    assert_eq!(code, 500);
    assert!(
        said.starts_with("[+]ping ok\n[-]journal failed: cannot write the journal: File too large"),
        "{said}"
    );
    assert!(said.ends_with("hint: free space on the disk\nreadyz check failed\n"), "{said}");

    limit_files(&server, "unlimited");
    // Nobody writes, and health follows all the same.
    let mut looks = 0;
    while health(&mut caller).await != (200, "[+]ping ok\n[+]journal ok\nreadyz check passed\n".to_owned()) {
        looks += 1;
        assert!(looks < 300, "health never tells that there is room");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for (name, answer) in create_many(&place, "full").await {
        assert_eq!(answer.code, 201, "writes work again: {name}");
        acknowledged.insert(name);
    }
    assert_eq!(names(&mut caller).await, acknowledged);

    server.kill().expect("it can be killed");
    let (_server, place) = start(&dir);
    let mut caller = Caller::connect(&place).await.expect("the server listens");
    assert_eq!(names(&mut caller).await, acknowledged, "and after a restart all of it is there");
    fs::remove_dir_all(&dir).expect("the directory is ours");
}
