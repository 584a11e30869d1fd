//! The way to an API server that commands have in common: what was named, or `$KUBECONFIG`, or the pod that we run in.

use std::env;
use std::path::{Path, PathBuf};

use client::{Connection, Options};

use crate::failure::Failure;

/// Connects to the server of a kubeconfig or, if none is named anywhere, as the service account of our pod.
pub(crate) async fn connect(
    kubeconfig: Option<&Path>,
    context: Option<&str>,
    options: &Options,
) -> Result<Connection, Failure> {
    let environment = || env::var_os("KUBECONFIG").filter(|path| !path.is_empty()).map(PathBuf::from);
    let connected = match kubeconfig.map(Path::to_owned).or_else(environment) {
        Some(path) => Connection::from_kubeconfig(&path, context, options).await,
        None => Connection::in_cluster(options),
    };
    connected.map_err(|error| Failure::hinted(&error.to_string()))
}
