//! CDI files: how a container runtime learns what to give a container for a device.
//!
//! The driver writes one file for each claim that it prepares, and hands the ids in it to the kubelet. Invariants: a file
//! is there whole or not at all, and no two claims share a name, so that files can be made and removed independently.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use thiserror::Error;

/// Where runtimes look for files of devices that come and go.
pub const CDI_DIR: &str = "/var/run/cdi";

/// The CDI files of one kind of device.
#[derive(Clone, Debug)]
pub struct CdiDir {
    dir: PathBuf,
    vendor: String,
    class: String,
}

/// What a container gets for a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerEdits {
    /// Variables of the environment: `NAME=value`.
    pub env: Vec<String>,
    /// Files below `/dev`.
    pub device_nodes: Vec<DeviceNode>,
    /// Other files and directories.
    pub mounts: Vec<Mount>,
}

/// A file below `/dev`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceNode {
    /// Its path in the container.
    pub path: String,
    /// Its path on the host, if that is another.
    pub host_path: Option<String>,
}

/// A file or directory of the host in a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mount {
    /// Its path on the host.
    pub host_path: String,
    /// Its path in the container.
    pub container_path: String,
    /// Such as `ro`.
    pub options: Vec<String>,
}

/// What can go wrong with CDI files.
#[derive(Debug, Error)]
pub enum CdiError {
    /// A part of an id has a form that runtimes refuse.
    #[error("{text:?} cannot be the {part} of a CDI device: {rule}")]
    Name {
        /// Vendor, class or name.
        part: &'static str,
        /// The text.
        text: String,
        /// What would be right.
        rule: &'static str,
    },
    /// A file cannot be written, removed or listed.
    #[error("cannot {verb} {}: {source}", path.display())]
    File {
        /// What was tried.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: io::Error,
    },
}

impl CdiDir {
    /// The files of a vendor's class of devices, such as `gpu.example.com` and `gpu`, in a directory.
    ///
    /// # Errors
    /// When the vendor or the class has a form that runtimes refuse.
    pub fn new(dir: impl Into<PathBuf>, vendor: &str, class: &str) -> Result<Self, CdiError> {
        let is_word = |text: &str, more: &str| {
            text.starts_with(|c: char| c.is_ascii_alphabetic())
                && text.ends_with(|c: char| c.is_ascii_alphanumeric())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
        };
        let rule = "begin with a letter, end with a letter or digit, and use nothing else but - _ and, in a vendor, .";
        for (part, text, more) in [("vendor", vendor, "-_."), ("class", class, "-_")] {
            if !is_word(text, more) {
                return Err(CdiError::Name { part, text: text.to_owned(), rule });
            }
        }
        Ok(Self { dir: dir.into(), vendor: vendor.to_owned(), class: class.to_owned() })
    }

    /// Writes the file of a claim, in place of one that it may have, and gives the id of each device in it.
    ///
    /// Devices are named within the claim; ids are made unique with its uid.
    ///
    /// # Errors
    /// When a name has a form that runtimes refuse, or the file cannot be written.
    pub fn write(
        &self,
        claim_uid: &str,
        devices: &[(String, ContainerEdits)],
    ) -> Result<Vec<String>, CdiError> {
        let path = self.path(claim_uid)?;
        let names: Vec<String> = devices.iter().map(|(name, _)| format!("{claim_uid}-{name}")).collect();
        for name in &names {
            check("name", name)?;
        }
        let entries = names.iter().zip(devices).map(|(name, (_, edits))| entry(name, edits));
        let spec = json!({
            // The oldest version in which names may begin with a digit, as uids do.
            "cdiVersion": "0.5.0",
            "kind": format!("{}/{}", self.vendor, self.class),
            "devices": entries.collect::<Vec<Value>>(),
        });
        let text = serde_json::to_vec_pretty(&spec).expect("a JSON value can be written");
        self.put(&path, &text).map_err(|source| CdiError::File { verb: "write", path, source })?;
        Ok(names.iter().map(|name| format!("{}/{}={name}", self.vendor, self.class)).collect())
    }

    /// Removes the file of a claim. That there is none is just as well.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self, claim_uid: &str) -> Result<(), CdiError> {
        let path = self.path(claim_uid)?;
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(CdiError::File { verb: "remove", path, source })
            }
            _ => Ok(()),
        }
    }

    /// Removes the files of all claims but these, and what a crash left of a file that was being written. For the start of
    /// a driver, which knows which claims are prepared.
    ///
    /// # Errors
    /// When the directory cannot be listed or a file cannot be removed.
    pub fn remove_all_but(&self, claim_uids: &BTreeSet<String>) -> Result<(), CdiError> {
        let failed = |verb, path: &Path| {
            let path = path.to_owned();
            move |source| CdiError::File { verb, path, source }
        };
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(failed("list", &self.dir))?,
        };
        for entry in entries {
            let path = entry.map_err(failed("list", &self.dir))?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let is_draft = name.strip_prefix('.').is_some_and(|name| name.starts_with(&self.prefix()));
            let claim = name.strip_prefix(&self.prefix()).and_then(|rest| rest.strip_suffix(".json"));
            if is_draft || claim.is_some_and(|uid| !claim_uids.contains(uid)) {
                fs::remove_file(&path).map_err(failed("remove", &path))?;
            }
        }
        Ok(())
    }

    /// The claims that have a file, by uid: those that are prepared.
    ///
    /// # Errors
    /// When the directory cannot be listed.
    pub fn prepared(&self) -> Result<BTreeSet<String>, CdiError> {
        let failed = |source| CdiError::File { verb: "list", path: self.dir.clone(), source };
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            entries => entries.map_err(failed)?,
        };
        let mut found = BTreeSet::new();
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            let claim =
                name.to_str().and_then(|name| name.strip_prefix(&self.prefix())?.strip_suffix(".json"));
            found.extend(claim.map(str::to_owned));
        }
        Ok(found)
    }

    fn prefix(&self) -> String {
        format!("{}-{}_", self.vendor, self.class)
    }

    fn path(&self, claim_uid: &str) -> Result<PathBuf, CdiError> {
        check("name", claim_uid)?;
        Ok(self.dir.join(format!("{}{claim_uid}.json", self.prefix())))
    }

    /// Runtimes read whenever they like, so that a file takes its name only when it is whole.
    fn put(&self, path: &Path, text: &[u8]) -> io::Result<()> {
        fs::create_dir_all(&self.dir)?;
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let draft = self.dir.join(format!(".{name}.draft"));
        let mut file = File::create(&draft)?;
        file.write_all(text)?;
        file.sync_all()?;
        fs::rename(&draft, path)
    }
}

/// Names must be good for runtimes, and a uid that came over a socket must not become another path.
fn check(part: &'static str, text: &str) -> Result<(), CdiError> {
    let is_end = |c: char| c.is_ascii_alphanumeric();
    let is_good = text.starts_with(is_end)
        && text.ends_with(is_end)
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:".contains(c));
    let rule = "begin and end with a letter or digit, and use nothing else but - _ . and :";
    if is_good { Ok(()) } else { Err(CdiError::Name { part, text: text.to_owned(), rule }) }
}

fn entry(name: &str, edits: &ContainerEdits) -> Value {
    let mut written = json!({});
    if !edits.env.is_empty() {
        written["env"] = json!(edits.env);
    }
    if !edits.device_nodes.is_empty() {
        let node = |node: &DeviceNode| match &node.host_path {
            Some(host_path) => json!({ "path": node.path, "hostPath": host_path }),
            None => json!({ "path": node.path }),
        };
        written["deviceNodes"] = edits.device_nodes.iter().map(node).collect();
    }
    if !edits.mounts.is_empty() {
        let mount = |mount: &Mount| {
            let (host_path, container_path) = (&mount.host_path, &mount.container_path);
            json!({ "hostPath": host_path, "containerPath": container_path, "options": mount.options })
        };
        written["mounts"] = edits.mounts.iter().map(mount).collect();
    }
    json!({ "name": name, "containerEdits": written })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::PathBuf;

    use serde_json::{Value, json};

    use super::{CdiDir, ContainerEdits};

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("driver-kit-{}-{name}", std::process::id()));
        // One that a broken test left is not ours.
        let _ = fs::remove_dir_all(&path);
        path
    }

    fn files(dir: &PathBuf) -> Vec<String> {
        let names = fs::read_dir(dir).expect("a folder").map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_claim_has_one_file_with_all_its_devices() {
        let dir = folder("one");
        let cdi = CdiDir::new(&dir, "gpu.example.com", "gpu").expect("good names");
        let edits = ContainerEdits { env: vec!["GPU=0".to_owned()], ..ContainerEdits::default() };
        let ids = cdi.write("1-a", &[("gpu-0".to_owned(), edits.clone())]).expect("it is written");
        assert_eq!(ids, ["gpu.example.com/gpu=1-a-gpu-0"]);
        assert_eq!(cdi.write("1-a", &[("gpu-0".to_owned(), edits)]).expect("again"), ids);
        assert_eq!(files(&dir), ["gpu.example.com-gpu_1-a.json"]);
        let text = fs::read_to_string(dir.join("gpu.example.com-gpu_1-a.json")).expect("a file");
        let expected = json!({
            "cdiVersion": "0.5.0",
            "kind": "gpu.example.com/gpu",
            "devices": [{ "name": "1-a-gpu-0", "containerEdits": { "env": ["GPU=0"] } }],
        });
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), expected);
        cdi.remove("1-a").expect("it is removed");
        cdi.remove("1-a").expect("that it is gone is just as well");
        assert!(files(&dir).is_empty());
        fs::remove_dir_all(dir).expect("ours");
    }

    #[test]
    fn leftovers_go_and_files_of_others_stay() {
        let dir = folder("leftovers");
        let cdi = CdiDir::new(&dir, "gpu.example.com", "gpu").expect("good names");
        for uid in ["a", "b"] {
            cdi.write(uid, &[]).expect("it is written");
        }
        fs::write(dir.join(".gpu.example.com-gpu_c.json.draft"), "{").expect("a file");
        fs::write(dir.join("gpu.example.com-nic_c.json"), "{}").expect("a file");
        cdi.remove_all_but(&BTreeSet::from(["b".to_owned()])).expect("they are removed");
        assert_eq!(files(&dir), ["gpu.example.com-gpu_b.json", "gpu.example.com-nic_c.json"]);
        fs::remove_dir_all(dir).expect("ours");
    }

    #[test]
    fn a_uid_never_becomes_another_path() {
        let cdi = CdiDir::new("/nowhere", "gpu.example.com", "gpu").expect("good names");
        for uid in ["../x", "a/b", "", "-"] {
            let error = cdi.write(uid, &[]).expect_err("it is refused").to_string();
            assert!(error.contains("cannot be the name"), "{error}");
        }
        assert!(CdiDir::new("/nowhere", "0.example.com", "gpu").is_err());
        assert!(CdiDir::new("/nowhere", "a.com", "g/pu").is_err());
    }
}
