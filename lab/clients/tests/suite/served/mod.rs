//! A server in this process, on loopback and in memory, that ends with the test.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gates::Gates;
use server::{Credentials, NoLog, Options, Server, Users};
use store::Store;
use tokio::sync::oneshot;

/// The administrator's token.
pub const TOKEN: &str = "a-secret-of-the-tests";

/// A server that serves until it is dropped.
pub struct Served {
    /// Where it listens.
    pub address: SocketAddr,
    credentials: Option<Credentials>,
    _stop: oneshot::Sender<()>,
}

impl Served {
    /// A server that speaks TLS.
    pub async fn start() -> Self {
        let credentials =
            Credentials::make(&[IpAddr::V4(Ipv4Addr::LOCALHOST)]).expect("certificates are made");
        Self::with(Some(credentials)).await
    }

    /// A server that speaks plain HTTP, for requests that are written byte by byte.
    pub async fn start_plain() -> Self {
        Self::with(None).await
    }

    async fn with(credentials: Option<Credentials>) -> Self {
        let options = Options {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            credentials: credentials.clone(),
            users: Users::default().with_admin_token(TOKEN),
            gates: Gates::default(),
            store: Store::default(),
            log: Box::new(NoLog),
        };
        let server = Server::bind(options).await.expect("a port is free");
        let address = server.address().expect("it listens");
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(server.serve(async {
            let _ = stopped.await;
        }));
        Self { address, credentials, _stop: stop }
    }

    /// What a client needs, as YAML.
    pub fn kubeconfig(&self) -> String {
        let authority = self.credentials.as_ref().map_or("", |made| &made.authority.certificate);
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: test\nclusters:\n- name: test\n  cluster:\n    \
             server: https://{}\n    certificate-authority-data: {}\nusers:\n- name: admin\n  user:\n    \
             token: {TOKEN}\ncontexts:\n- name: test\n  context:\n    cluster: test\n    user: admin\n",
            self.address,
            STANDARD.encode(authority),
        )
    }
}
