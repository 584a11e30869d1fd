//! The API server inside this binary, before it listens: its storage, its certificates, and the kubeconfig that fits.
//!
//! Invariant: keys are readable by their owner only, and nothing starts anew beside keys of an earlier start.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use server::{Credentials, Identity, Log, NoLog};
use store::Store;

use crate::failure::Failure;
use crate::private_file::{self, Held, NotHeld};

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
        let storage = "in memory: all data is lost when this process exits; hint: use --data-dir to keep it";
        let (store, log) = (Store::default(), Box::new(NoLog));
        return Ok(Opened { credentials: make()?, store, log, storage: storage.to_owned() });
    };
    let (journal, pki) = (dir.join("journal"), dir.join("pki"));
    refuse_lost_journal(&journal, &pki)?;
    let (store, log, recovery) =
        server::open(&journal).map_err(|error| Failure::hinted(&error.to_string()))?;
    let credentials = credentials(&pki, make)?;
    let storage = format!("{}, at revision {}", dir.display(), recovery.last_revision);
    Ok(Opened { credentials, store, log: Box::new(log), storage })
}

/// Keys are made after the journal's first segment, so where there are keys and no journal, the journal was lost.
fn refuse_lost_journal(journal: &Path, pki: &Path) -> Result<(), Failure> {
    let has_keys = pki.join("authority.key").exists();
    if has_keys && !server::holds_journal(journal).map_err(|error| Failure::hinted(&error.to_string()))? {
        return Err(Failure::hinted(&format!(
            "{} has the keys of an earlier start, but the journal in {} is missing; hint: restore the journal from a backup, or \
             remove both directories to start with an empty cluster",
            pki.display(),
            journal.display()
        )));
    }
    Ok(())
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
            private_file::restrict(&path(name, "key"))?;
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
        private_file::write(&path(name, "crt"), &identity.certificate)?;
        private_file::write(&path(name, "key"), &identity.key)?;
    }
    Ok(made)
}

/// Writes what kubectl needs: where the server is, how to recognise it, and who the administrator is. The file belongs to
/// this server while what is returned is kept.
pub(crate) fn write_kubeconfig(
    path: &Path,
    address: SocketAddr,
    credentials: &Credentials,
) -> Result<Held, Failure> {
    private_file::hold(path, &kubeconfig(address, credentials), is_kubeconfig_of_ours).map_err(|error| {
        match error {
            NotHeld::Taken => taken(path),
            NotHeld::Foreign => foreign(path),
            NotHeld::Failed(error) => Failure::hinted(&format!("cannot write {}: {error}", path.display())),
        }
    })
}

/// How many servers of one user may run side by side without saying where their kubeconfigs go.
const KUBECONFIGS_MAX: usize = 100;

/// Like `write_kubeconfig`, for a default path: if another server uses it, or it is not ours, a number is appended.
pub(crate) fn write_any_kubeconfig(
    path: &Path,
    address: SocketAddr,
    credentials: &Credentials,
) -> Result<Held, Failure> {
    let text = kubeconfig(address, credentials);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let further = (2..=KUBECONFIGS_MAX).map(|number| path.with_file_name(format!("{name}-{number}")));
    for path in std::iter::once(path.to_owned()).chain(further) {
        match private_file::hold(&path, &text, is_kubeconfig_of_ours) {
            Ok(held) => return Ok(held),
            Err(NotHeld::Taken | NotHeld::Foreign) => {}
            Err(NotHeld::Failed(error)) => {
                return Err(Failure::hinted(&format!("cannot write {}: {error}", path.display())));
            }
        }
    }
    Err(taken(path))
}

fn taken(path: &Path) -> Failure {
    Failure::hinted(&format!(
        "{} is the kubeconfig of another running server; hint: stop that server, or choose another file with --write-kubeconfig",
        path.display()
    ))
}

fn foreign(path: &Path) -> Failure {
    Failure::hinted(&format!(
        "{} exists, and supercargo did not write it; hint: choose another file with --write-kubeconfig, or remove this one",
        path.display()
    ))
}

/// How every kubeconfig of ours begins. One that kubectl has changed begins otherwise, and may have contexts of other clusters.
const KUBECONFIG: &str = "apiVersion: v1\nkind: Config\ncurrent-context: supercargo\nclusters:\n- name: supercargo\n  \
                          cluster:\n    server: https://";

fn is_kubeconfig_of_ours(said: &[u8]) -> bool {
    said.starts_with(KUBECONFIG.as_bytes())
}

fn kubeconfig(address: SocketAddr, credentials: &Credentials) -> String {
    let encode = |text: &str| STANDARD.encode(text);
    format!(
        "{KUBECONFIG}{address}\n    certificate-authority-data: {}\nusers:\n- name: admin\n  user:\n    \
         client-certificate-data: {}\n    client-key-data: {}\ncontexts:\n- name: supercargo\n  context:\n    \
         cluster: supercargo\n    user: admin\n",
        encode(&credentials.authority.certificate),
        encode(&credentials.admin.certificate),
        encode(&credentials.admin.key),
    )
}
