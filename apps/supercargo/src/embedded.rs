//! The API server inside this binary, before it listens: its storage, its certificates, and the kubeconfig that fits.
//!
//! Invariant: keys are readable by their owner only.

use std::fs;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use server::{Credentials, Identity, Log, NoLog};
use store::Store;

use crate::failure::Failure;

/// What a server needs before it can listen.
pub(crate) struct Opened {
    pub(crate) credentials: Credentials,
    pub(crate) store: Store,
    pub(crate) log: Box<dyn Log>,
    /// Where everything is kept, for people.
    pub(crate) storage: String,
}

/// Opens a data directory, or starts with nothing if there is none.
pub(crate) fn open(listen: IpAddr, data_dir: Option<&Path>) -> Result<Opened, Failure> {
    let make = || Credentials::make(&[listen]).map_err(|error| Failure::hinted(&error.to_string()));
    let Some(dir) = data_dir else {
        let storage = "in memory: everything is gone when this process ends; hint: --data-dir keeps it";
        let (store, log) = (Store::default(), Box::new(NoLog));
        return Ok(Opened { credentials: make()?, store, log, storage: storage.to_owned() });
    };
    let (store, log, recovery) =
        server::open(&dir.join("journal")).map_err(|error| Failure::hinted(&error.to_string()))?;
    let credentials = credentials(&dir.join("pki"), make)?;
    let storage = format!("{}, at revision {}", dir.display(), recovery.last_revision);
    Ok(Opened { credentials, store, log: Box::new(log), storage })
}

/// The certificates of an earlier start, or new ones that are kept for the next.
fn credentials(
    dir: &Path,
    make: impl FnOnce() -> Result<Credentials, Failure>,
) -> Result<Credentials, Failure> {
    let names = ["authority", "server", "admin"];
    let path = |name: &str, ending: &str| dir.join(format!("{name}.{ending}"));
    if names.iter().all(|name| path(name, "crt").exists() && path(name, "key").exists()) {
        let read = |name: &str| -> io::Result<Identity> {
            let certificate = fs::read_to_string(path(name, "crt"))?;
            Ok(Identity { certificate, key: fs::read_to_string(path(name, "key"))? })
        };
        return Ok(Credentials {
            authority: read("authority")?,
            server: read("server")?,
            admin: read("admin")?,
        });
    }
    let made = make()?;
    fs::create_dir_all(dir)?;
    for (name, identity) in names.iter().zip([&made.authority, &made.server, &made.admin]) {
        write_private(&path(name, "crt"), &identity.certificate)?;
        write_private(&path(name, "key"), &identity.key)?;
    }
    Ok(made)
}

/// Writes a file that only its owner can read.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

/// Writes what kubectl needs: where the server is, how to recognise it, and who the administrator is.
pub(crate) fn write_kubeconfig(
    path: &Path,
    address: SocketAddr,
    credentials: &Credentials,
) -> Result<(), Failure> {
    write_private(path, &kubeconfig(address, credentials))
        .map_err(|error| Failure::hinted(&format!("cannot write {}: {error}", path.display())))
}

fn kubeconfig(address: SocketAddr, credentials: &Credentials) -> String {
    let encode = |text: &str| STANDARD.encode(text);
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: supercargo\nclusters:\n- name: supercargo\n  cluster:\n    \
         server: https://{address}\n    certificate-authority-data: {}\nusers:\n- name: admin\n  user:\n    \
         client-certificate-data: {}\n    client-key-data: {}\ncontexts:\n- name: supercargo\n  context:\n    \
         cluster: supercargo\n    user: admin\n",
        encode(&credentials.authority.certificate),
        encode(&credentials.admin.certificate),
        encode(&credentials.admin.key),
    )
}
