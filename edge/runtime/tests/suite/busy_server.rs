//! A server that cannot answer at first: it has too much to do, fails, or hangs up. The scheduler waits for it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use client::Connection;
use decisions::profile::Profile;
use decisions::settings::{Patience, Settings};
use gates::Gates;
use runtime::{Ended, Listener, Notice, StartError, State};
use server::{NoLog, Server, Users};
use store::Store;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Takes down what went wrong, how long is waited then, and when all was read.
#[derive(Default)]
struct Ears(Mutex<Vec<(String, Duration)>>);

impl Listener for Ears {
    fn hear(&self, notice: &Notice<'_>) {
        let heard = match notice {
            Notice::Interrupted { why, retry_in, .. } => ((*why).to_owned(), *retry_in),
            Notice::State(State::Working) => ("working".to_owned(), Duration::ZERO),
            _ => return,
        };
        self.0.lock().expect("nobody panicked").push(heard);
    }
}

/// Our own server on a port of its own.
async fn serve() -> SocketAddr {
    let options = server::Options {
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        credentials: None,
        users: Users::default().with_admin_token("t"),
        gates: Gates::default(),
        store: Store::default(),
        log: Box::new(NoLog),
    };
    let server = Server::bind(options).await.expect("a port is free");
    let address = server.address().expect("it listens");
    tokio::spawn(server.serve(std::future::pending()));
    address
}

/// A way to a server on which the first requests have these answers, each on a connection of its own; an empty one hangs up.
async fn before(server: SocketAddr, answers: &'static [&'static str]) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port is free");
    let address = listener.local_addr().expect("it listens");
    tokio::spawn(async move {
        let mut answers = answers.iter();
        while let Ok((mut socket, _)) = listener.accept().await {
            let Some(answer) = answers.next() else {
                tokio::spawn(async move {
                    let mut to = TcpStream::connect(server).await.expect("the server listens");
                    let _ = copy_bidirectional(&mut socket, &mut to).await;
                });
                continue;
            };
            let mut head = [0; 4096];
            let _ = socket.read(&mut head).await;
            let _ = socket.write_all(answer.as_bytes()).await;
        }
    });
    address
}

async fn run(
    address: SocketAddr,
    ears: &Arc<Ears>,
    stop: impl Future<Output = ()> + Send,
) -> Result<Ended, StartError> {
    let options = client::Options::default();
    let connection = Connection::from_parts(&format!("http://{address}"), Some("t"), None, &options);
    let settings = Settings {
        profiles: vec![Arc::new(Profile::named("supercargo"))],
        gates: Gates::default(),
        patience: Patience::default(),
        search_steps_max: 10_000,
    };
    let options = runtime::Options {
        settings,
        parallelism: 2,
        candidacy: None,
        aside: None,
        shadow: false,
        writes_max: 10,
        stop_within: Duration::from_secs(5),
        listener: ears.clone(),
        recording: None,
    };
    timeout(PATIENCE, runtime::run(connection.expect("the parts are whole"), options, stop))
        .await
        .expect("it ends")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scheduler_waits_for_a_server_that_cannot_answer_at_first() {
    let answers = &[
        "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        "",
    ];
    let ears = Arc::new(Ears::default());
    let works = async {
        while !ears.0.lock().expect("nobody panicked").iter().any(|(heard, _)| heard == "working") {
            sleep(Duration::from_millis(50)).await;
        }
    };
    let ended = run(before(serve().await, answers).await, &ears, works).await;
    assert!(matches!(ended, Ok(Ended::Stopped)), "{ended:?}");
    let heard = ears.0.lock().expect("nobody panicked");
    let (troubles, waits): (Vec<&str>, Vec<Duration>) =
        heard.iter().take(answers.len()).map(|(why, wait)| (why.as_str(), *wait)).unzip();
    for (trouble, said) in
        troubles.iter().zip(["too many requests", "answered 503", "lost the connection to the API server"])
    {
        assert!(trouble.starts_with("cannot ask http://") && trouble.contains(said), "{said}: {trouble}");
    }
    assert!(waits[0] >= Duration::from_secs(3), "the server asked for it: {waits:?}");
    assert!(waits[1..].is_sorted() && waits.iter().all(|wait| *wait <= Duration::from_secs(30)), "{waits:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scheduler_that_may_not_ask_says_so_and_ends() {
    let answers = &["HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"];
    let ears = Arc::new(Ears::default());
    let ended = run(before(serve().await, answers).await, &ears, std::future::pending()).await;
    let error = ended.expect_err("it may not").to_string();
    assert!(error.contains("what it serves: the API server answered 403"), "{error}");
}
