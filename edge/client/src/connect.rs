//! Ways to a server: a kubeconfig, the pod we run in, or an address with a token.
//!
//! Files, certificates and login plugins are read by kube. What is added here is that an error names the file or the
//! server and what to do next, and that nothing is retried behind the caller's back.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hyper::header::{HeaderValue, USER_AGENT};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ClientBuilder, ConfigExt};
use kube::config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::json;
use thiserror::Error;
use tower::BoxError;
use tower::util::MapErrLayer;

use crate::connection::{Connection, Options};

/// A connection that cannot be made, because of what we were told about the server.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The file cannot be read or is not a kubeconfig.
    #[error("cannot use the kubeconfig {}: {source}; hint: choose another file, or check it with `kubectl config \
        view --kubeconfig {}`", path.display(), path.display())]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: Box<KubeconfigError>,
    },
    /// The file names no such context.
    #[error("the kubeconfig {} has no context {context:?}; hint: {advice}", path.display())]
    NoContext {
        /// The file.
        path: PathBuf,
        /// The context that was asked for.
        context: String,
        /// What to do about it.
        advice: String,
    },
    /// We do not run in a pod, or the pod has no service account.
    #[error(
        "cannot use the service account of the pod: {0}; hint: run in a pod with a service account, or set --kubeconfig"
    )]
    InCluster(#[source] Box<InClusterError>),
    /// The address is none.
    #[error("{server:?} is not the URL of an API server: {why}; hint: write it as https://host:port")]
    Address {
        /// What was given.
        server: String,
        /// What is wrong with it.
        why: String,
    },
    /// The certificate of the authority cannot be used.
    #[error("cannot use the certificate authority for {server}: {why}; hint: give its certificate as PEM")]
    Authority {
        /// The server.
        server: String,
        /// What is wrong with it.
        why: String,
    },
    /// The credentials cannot be used.
    #[error("cannot use the credentials for {server}: {source}; hint: check the user in the kubeconfig")]
    Credentials {
        /// The server.
        server: String,
        /// What is wrong with them.
        #[source]
        source: Box<kube::Error>,
    },
    /// The name of the program is no header.
    #[error("{0:?} cannot be sent as the name of this program; hint: use letters, digits, / and - only")]
    UserAgent(String),
}

/// Connections that are not used are kept for less than the time after which servers close them.
const POOL_IDLE: Duration = Duration::from_secs(20);
const KEEPALIVE: Duration = Duration::from_secs(30);

impl Connection {
    /// The server of a kubeconfig's context, or of its current one.
    ///
    /// # Errors
    /// When the file cannot be read, names no such context, or its certificates cannot be used.
    pub async fn from_kubeconfig(
        path: &Path,
        context: Option<&str>,
        options: &Options,
    ) -> Result<Self, ConnectError> {
        let unusable = |source| ConnectError::Kubeconfig { path: path.to_owned(), source: Box::new(source) };
        let kubeconfig = Kubeconfig::read_from(path).map_err(unusable)?;
        let wanted = context.map(str::to_owned).or_else(|| kubeconfig.current_context.clone());
        let names: Vec<&str> = kubeconfig.contexts.iter().map(|named| &*named.name).collect();
        if let Some(context) = wanted.filter(|wanted| !wanted.is_empty() && !names.contains(&&**wanted)) {
            let advice = match &names[..] {
                [] => "the file has no contexts; choose another file".to_owned(),
                [only] => format!("use the context {only}"),
                names => format!("choose one of {}", names.join(", ")),
            };
            return Err(ConnectError::NoContext { path: path.to_owned(), context, advice });
        }
        let chosen =
            KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
        let config = Config::from_custom_kubeconfig(kubeconfig, &chosen).await.map_err(unusable)?;
        Self::from_config(config, options)
    }

    /// The server of the cluster whose pod we run in, as its service account.
    ///
    /// # Errors
    /// When we run elsewhere, or the service account's files are not there.
    pub fn in_cluster(options: &Options) -> Result<Self, ConnectError> {
        let config = Config::incluster().map_err(|source| ConnectError::InCluster(Box::new(source)))?;
        Self::from_config(config, options)
    }

    /// The server at an address, with a bearer token and its authority's certificate as PEM.
    ///
    /// # Errors
    /// When the address or the certificate is malformed.
    pub fn from_parts(
        server: &str,
        token: Option<&str>,
        authority_pem: Option<&[u8]>,
        options: &Options,
    ) -> Result<Self, ConnectError> {
        let address = |why: String| ConnectError::Address { server: server.to_owned(), why };
        let uri: hyper::Uri = server.parse().map_err(|error| address(format!("{error}")))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(address("it must begin with https:// or http://".to_owned()));
        }
        let mut config = Config::new(uri);
        if let Some(pem) = authority_pem {
            let authority = |why: String| ConnectError::Authority { server: server.to_owned(), why };
            let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
            let certificates = read.map_err(|error| authority(error.to_string()))?;
            if certificates.is_empty() {
                return Err(authority("there is no certificate in it".to_owned()));
            }
            config.root_cert = Some(certificates.iter().map(|certificate| certificate.to_vec()).collect());
        }
        if let Some(token) = token {
            config.auth_info =
                serde_json::from_value(json!({"token": token})).expect("a token is all that a user needs");
        }
        Self::from_config(config, options)
    }

    fn from_config(mut config: Config, options: &Options) -> Result<Self, ConnectError> {
        let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let agent = HeaderValue::from_str(&options.user_agent)
            .map_err(|_| ConnectError::UserAgent(options.user_agent.clone()))?;
        config.headers.push((USER_AGENT, agent));
        let namespace = config.default_namespace.clone();
        let client = pool(&config).map_err(|source| ConnectError::Credentials {
            server: server.clone(),
            source: Box::new(source),
        })?;
        Ok(Self::new(client, server, namespace, !config.accept_invalid_certs, options))
    }
}

/// Connections over HTTP/1.1, as kube would make them, but without Nagle's delay and without silent retries.
fn pool(config: &Config) -> kube::Result<Client> {
    let mut sockets = HttpConnector::new();
    sockets.enforce_http(false);
    sockets.set_nodelay(true);
    sockets.set_keepalive(Some(KEEPALIVE));
    sockets.set_connect_timeout(config.connect_timeout);
    let tls = config.rustls_https_connector_with_connector(sockets)?;
    let pool: legacy::Client<_, Body> = legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(POOL_IDLE)
        .build(tls);
    let plain = ClientBuilder::new(pool, config.default_namespace.clone())
        .with_layer(&MapErrLayer::new(BoxError::from as fn(legacy::Error) -> BoxError))
        .with_layer(&config.base_uri_layer())
        .with_layer(&config.extra_headers_layer()?);
    Ok(match config.auth_layer()? {
        Some(auth) => plain.with_layer(&auth).build(),
        None => plain.build(),
    })
}
