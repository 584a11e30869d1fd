//! A file for each pod that says which devices its containers would be started with.
//!
//! A container runtime would get the same as CDI ids over its own protocol; people and tests find it here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use objects::core::pod::Pod;
use serde_json::json;

/// The file of a pod, by its uid.
pub(crate) fn path(root: &Path, uid: &str) -> PathBuf {
    folder(root, uid).join("devices.json")
}

/// Writes the file, whole or not at all.
///
/// # Errors
/// The file system does not take it.
pub(crate) fn write(root: &Path, pod: &Pod, devices: &BTreeMap<String, Vec<String>>) -> io::Result<()> {
    let containers: BTreeMap<&String, _> =
        devices.iter().map(|(container, ids)| (container, json!({ "cdiDevices": ids }))).collect();
    let about = json!({
        "namespace": pod.metadata.namespace, "name": pod.metadata.name, "uid": pod.metadata.uid,
        "containers": containers,
    });
    let path = path(root, &pod.metadata.uid);
    fs::create_dir_all(folder(root, &pod.metadata.uid))?;
    let beside = path.with_extension("new");
    fs::write(&beside, format!("{about:#}\n"))?;
    fs::rename(beside, path)
}

/// Removes the file, if there is one.
///
/// # Errors
/// The file system does not let go of it.
pub(crate) fn remove(root: &Path, uid: &str) -> io::Result<()> {
    match fs::remove_dir_all(folder(root, uid)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn folder(root: &Path, uid: &str) -> PathBuf {
    // The uid comes from the API server, and is no place to go to.
    let plain: String = uid.chars().filter(|char| char.is_ascii_alphanumeric() || *char == '-').collect();
    root.join("pods").join(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_has_a_file_until_it_is_over_and_its_uid_leads_nowhere_else() {
        let root = std::env::temp_dir().join(format!("supercargo-files-{}", std::process::id()));
        let metadata = json!({ "namespace": "ns", "name": "p", "uid": "../a1-b2" });
        let pod: Pod = serde_json::from_value(json!({ "metadata": metadata })).expect("a pod");
        let devices = BTreeMap::from([("main".to_owned(), vec!["v/g=1".to_owned()])]);
        write(&root, &pod, &devices).expect("it can be written");
        let file = root.join("pods/a1-b2/devices.json");
        let text = fs::read_to_string(&file).expect("it is there");
        let read: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(read["containers"]["main"]["cdiDevices"], json!(["v/g=1"]));
        remove(&root, "../a1-b2").expect("it can be removed");
        remove(&root, "../a1-b2").expect("it is gone already");
        assert!(!file.exists());
        fs::remove_dir_all(&root).expect("it is there");
    }
}
