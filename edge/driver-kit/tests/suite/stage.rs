//! An API server for a test, and a node on it.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use client::{Connection, Resource};
use driver_kit::{Listener, PublishTrouble};
use gates::Gates;
use objects::Object;
use objects::core::node::Node;
use serde_json::{Value, json};
use server::{NoLog, Options, Server, Users};
use store::Store;
use tokio::time::sleep;

/// A server with these features.
pub(crate) async fn served(gates: Gates) -> Connection {
    let options = Options {
        listen: "127.0.0.1:0".parse().expect("an address"),
        credentials: None,
        users: Users::default().with_admin_token("t"),
        gates,
        store: Store::default(),
        log: Box::new(NoLog),
    };
    let server = Server::bind(options).await.expect("a free port");
    let url = format!("http://{}", server.address().expect("it listens"));
    tokio::spawn(server.serve(std::future::pending()));
    Connection::from_parts(&url, Some("t"), None, &client::Options::default()).expect("an address")
}

/// A server with a node `n1`.
pub(crate) async fn with_node(gates: Gates) -> Connection {
    let connection = served(gates).await;
    create(&connection, "nodes", json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n1" } }))
        .await
        .map(|_: Node| ())
        .expect("a good node");
    connection
}

/// Makes an object.
pub(crate) async fn create<K: Object>(
    connection: &Connection,
    plural: &'static str,
    object: Value,
) -> Option<K> {
    let object = K::read_value(&object).expect("the right form");
    connection.create(&Resource::named(plural), &object).await.done()
}

/// Keeps what it hears.
#[derive(Clone, Default)]
pub(crate) struct Ear(Arc<Mutex<Vec<PublishTrouble>>>);

impl Ear {
    pub(crate) fn listener(&self) -> Listener {
        let heard = self.0.clone();
        Arc::new(move |trouble| heard.lock().expect("nobody panicked").push(trouble.clone()))
    }

    pub(crate) fn heard(&self) -> Vec<PublishTrouble> {
        self.0.lock().expect("nobody panicked").clone()
    }
}

/// Waits until something is so.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, is_so: impl Fn() -> F) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < Duration::from_secs(20), "never: {what}");
        sleep(Duration::from_millis(20)).await;
    }
}
