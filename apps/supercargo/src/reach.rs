//! The way to an API server that commands have in common: what was named, or `$KUBECONFIG`, or the pod that we run in. Commands
//! that a person runs look at the home directory before the last, as kubectl does.

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

/// Connects as a person: to the server of a kubeconfig that is named, of `$KUBECONFIG`, or of the file in the home directory where
/// kubectl looks; and within a pod as its service account.
pub(crate) async fn connect_as_user(
    kubeconfig: Option<&Path>,
    context: Option<&str>,
    options: &Options,
) -> Result<Connection, Failure> {
    let is_named = kubeconfig.is_some() || env::var_os("KUBECONFIG").is_some_and(|path| !path.is_empty());
    let home = env::var_os("HOME").map(|home| PathBuf::from(home).join(".kube").join("config"));
    match home.filter(|path| !is_named && path.is_file()) {
        Some(path) => connect(Some(&path), context, options).await,
        None => connect(kubeconfig, context, options).await,
    }
}
