//! How a plugin presents itself to the kubelet, and where its sockets are.
//!
//! Invariant: a path of a socket has at most 107 bytes, because the kernel takes no longer one.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plugin::dra::v1::NodePrepareResourcesResponse;
use plugin::registration::PluginInfo;
use thiserror::Error;

/// The longest path of a socket, without the zero at its end.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// How to run a plugin.
#[derive(Clone)]
pub struct PluginOptions {
    /// The driver's name, a DNS name of at most 63 characters.
    pub driver: String,
    /// The node that this runs on.
    pub node: String,
    /// Where the kubelet looks for plugins.
    pub registry_dir: PathBuf,
    /// Where the driver's own socket is, and other files of its own. Made if it is not there.
    pub data_dir: PathBuf,
    /// The uid of the pod that this runs in, if two instances are to run side by side while the driver is updated: their
    /// sockets then have different names, and their calls wait for each other by a lock file. Without it, use
    /// `maxSurge: 0` in the DaemonSet.
    pub rolling_update: Option<String>,
    /// One call at a time. Turn this off if the driver does its own locking.
    pub one_at_a_time: bool,
    /// For tests of nodes and drivers: falsifies what goes over the wire.
    pub forger: Option<Arc<dyn Forger>>,
}

/// Falsifies messages, so that one can see what a node does with them.
pub trait Forger: Send + Sync {
    /// What the plugin says of itself.
    fn registration(&self, _plugin: &mut PluginInfo) {}

    /// The answer to a call to prepare claims.
    fn prepared(&self, _answer: &mut NodePrepareResourcesResponse) {}
}

impl fmt::Debug for PluginOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("PluginOptions")
            .field("driver", &self.driver)
            .field("node", &self.node)
            .field("registry_dir", &self.registry_dir)
            .field("data_dir", &self.data_dir)
            .field("rolling_update", &self.rolling_update)
            .field("one_at_a_time", &self.one_at_a_time)
            .finish_non_exhaustive()
    }
}

impl PluginOptions {
    /// The usual places below `/var/lib/kubelet`.
    pub fn new(driver: impl Into<String>, node: impl Into<String>) -> Self {
        Self::below(Path::new("/var/lib/kubelet"), driver, node)
    }

    /// The usual places below another root, as tests and `supercargo node` have it.
    pub fn below(kubelet_dir: &Path, driver: impl Into<String>, node: impl Into<String>) -> Self {
        let driver = driver.into();
        Self {
            registry_dir: kubelet_dir.join("plugins_registry"),
            data_dir: kubelet_dir.join("plugins").join(&driver),
            node: node.into(),
            rolling_update: None,
            one_at_a_time: true,
            forger: None,
            driver,
        }
    }

    /// The socket on which the kubelet prepares claims.
    pub(crate) fn claims_socket(&self) -> Result<PathBuf, SocketPathTooLong> {
        let name = match &self.rolling_update {
            None => "dra.sock".to_owned(),
            Some(uid) => format!("dra-{uid}.sock"),
        };
        first_that_fits(&self.data_dir, [name])
    }

    /// The socket by which the kubelet finds the plugin.
    pub(crate) fn registration_socket(&self) -> Result<PathBuf, SocketPathTooLong> {
        let driver = &self.driver;
        match &self.rolling_update {
            None => first_that_fits(&self.registry_dir, [format!("{driver}-reg.sock")]),
            Some(uid) => {
                let names = [
                    format!("{driver}-{uid}-reg.sock"),
                    format!("{driver}-{:016x}-reg.sock", hash(&[uid])),
                    format!("dra-{:016x}-reg.sock", hash(&[driver, uid])),
                ];
                first_that_fits(&self.registry_dir, names)
            }
        }
    }
}

/// The path of a socket is too long for the kernel.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the path of socket {} has more than {SOCKET_PATH_BYTES_MAX} bytes; hint: choose a shorter directory", .0.display())]
pub struct SocketPathTooLong(PathBuf);

fn first_that_fits<const N: usize>(folder: &Path, names: [String; N]) -> Result<PathBuf, SocketPathTooLong> {
    let mut longest = PathBuf::new();
    for name in names {
        let path = folder.join(name);
        if path.as_os_str().len() <= SOCKET_PATH_BYTES_MAX {
            return Ok(path);
        }
        longest = path;
    }
    Err(SocketPathTooLong(longest))
}

/// FNV-1a: names that differ get different sockets, and nobody has a reason to look for two that do not.
fn hash(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::PluginOptions;

    #[test]
    fn sockets_have_the_names_that_drivers_have() {
        let options = PluginOptions::new("gpu.example.com", "n1");
        let shown = |options: &PluginOptions| {
            let path = |path: std::path::PathBuf| path.display().to_string();
            (options.claims_socket().map(path), options.registration_socket().map(path))
        };
        let (claims, registration) = shown(&options);
        assert_eq!(claims.as_deref(), Ok("/var/lib/kubelet/plugins/gpu.example.com/dra.sock"));
        assert_eq!(registration.as_deref(), Ok("/var/lib/kubelet/plugins_registry/gpu.example.com-reg.sock"));
        let uid = "3f0c1c34-8b7b-4c1e-9d55-0a6f0f1d2e3c";
        let rolling = PluginOptions { rolling_update: Some(uid.to_owned()), ..options };
        let (claims, registration) = shown(&rolling);
        assert_eq!(claims, Ok(format!("/var/lib/kubelet/plugins/gpu.example.com/dra-{uid}.sock")));
        assert_eq!(
            registration,
            Ok(format!("/var/lib/kubelet/plugins_registry/gpu.example.com-{uid}-reg.sock"))
        );
    }

    #[test]
    fn long_names_are_shortened_as_long_as_that_helps() {
        let uid = "3f0c1c34-8b7b-4c1e-9d55-0a6f0f1d2e3c".to_owned();
        for (length, begins) in [(40, "d"), (50, "dra-")] {
            let options = PluginOptions {
                rolling_update: Some(uid.clone()),
                ..PluginOptions::new("d".repeat(length), "n1")
            };
            let socket = options.registration_socket().expect("it fits");
            assert!(socket.as_os_str().len() <= 107);
            let name = socket.file_name().expect("a name").display().to_string();
            assert!(name.starts_with(begins) && !name.contains(&uid), "{name}");
        }
        let far = PluginOptions::below(std::path::Path::new(&"/x".repeat(60)), "d", "n1");
        assert!(far.claims_socket().is_err());
    }
}
