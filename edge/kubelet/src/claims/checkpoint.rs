//! Held claims as a file, in the form that a kubelet writes and reads: `dra_manager_state`.
//!
//! Invariant: the file is replaced as a whole or not at all, and a file that is damaged is never taken for an empty one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

use super::held::{ClaimKey, DriverPart, Held, HeldClaim, HeldClaimStage, HeldDevice};

/// The name of the file below the root directory.
pub(crate) const FILE: &str = "dra_manager_state";

const KIND: &str = "DRACheckpoint";
const API_VERSION: &str = "checkpoint.dra.kubelet.k8s.io/v1";

/// Why prepared claims cannot be read or kept.
#[derive(Debug, Error)]
pub enum CheckpointError {
    /// The file is there and cannot be read.
    #[error("cannot read the prepared claims from {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write the prepared claims to {}: {source}; hint: check that the disk has space and the \
        directory is writable", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// The file is not what was written.
    #[error("{} is damaged: {why}; hint: drain the node and restart its drivers, and then remove the file", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// The file: what it says, as text, and the checksum of that text.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Sealed {
    data: String,
    checksum: u32,
}

#[derive(Serialize, Deserialize)]
struct Content {
    #[serde(default)]
    kind: String,
    #[serde(rename = "apiVersion", default)]
    api_version: String,
    #[serde(rename = "ClaimInfoStateList", default, deserialize_with = "null_is_empty")]
    claims: Vec<Claim>,
}

#[derive(Serialize, Deserialize)]
struct Claim {
    #[serde(rename = "ClaimUID")]
    uid: String,
    #[serde(rename = "ClaimName")]
    name: String,
    #[serde(rename = "Namespace")]
    namespace: String,
    /// A set is a map to nothing.
    #[serde(rename = "PodUIDs", default, deserialize_with = "null_is_empty")]
    pods: BTreeMap<String, Nothing>,
    #[serde(rename = "DriverState", default, deserialize_with = "null_is_empty")]
    drivers: BTreeMap<String, Driver>,
}

#[derive(Serialize, Deserialize, Default)]
struct Nothing {}

#[derive(Serialize, Deserialize)]
struct Driver {
    #[serde(rename = "Devices", default, deserialize_with = "null_is_empty")]
    devices: Vec<Device>,
    #[serde(rename = "skipNodeOperations", default, skip_serializing_if = "Vec::is_empty")]
    skips: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Device {
    #[serde(rename = "PoolName")]
    pool: String,
    #[serde(rename = "DeviceName")]
    device: String,
    #[serde(rename = "ShareID", default)]
    share: Option<String>,
    #[serde(rename = "RequestNames", default, deserialize_with = "null_is_empty")]
    requests: Vec<String>,
    #[serde(rename = "CDIDeviceIDs", default, deserialize_with = "null_is_empty")]
    cdi_ids: Vec<String>,
}

/// A kubelet writes lists and maps that were never used as null.
fn null_is_empty<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// Reads what is held; nothing if there is no file.
///
/// # Errors
/// The file cannot be read, or is not what was written.
pub(crate) fn load(path: &Path) -> Result<Held, CheckpointError> {
    match fs::read(path) {
        Ok(bytes) => decode(&bytes).map_err(|why| CheckpointError::Damaged { path: path.to_owned(), why }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Held::default()),
        Err(source) => Err(CheckpointError::Read { path: path.to_owned(), source }),
    }
}

/// Writes what is held, so that it is there after a crash.
///
/// # Errors
/// The file system does not take it; what was there before still is.
pub(crate) fn save(path: &Path, held: &Held) -> Result<(), CheckpointError> {
    let failed = |source| CheckpointError::Write { path: path.to_owned(), source };
    replace(path, &encode(held)).map_err(failed)
}

fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut file = File::create(&beside)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    // The new name is durable when its directory is.
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

fn encode(held: &Held) -> Vec<u8> {
    let claims = held.0.iter().map(|(key, claim)| Claim {
        uid: claim.uid.clone(),
        name: key.name.clone(),
        namespace: key.namespace.clone(),
        pods: claim.pods.iter().map(|pod| (pod.clone(), Nothing {})).collect(),
        drivers: claim.drivers.iter().map(|(driver, part)| (driver.clone(), driver_to_file(part))).collect(),
    });
    let content =
        Content { kind: KIND.to_owned(), api_version: API_VERSION.to_owned(), claims: claims.collect() };
    let data = serde_json::to_string(&content).expect("text and lists can be written");
    let checksum = crc32fast::hash(data.as_bytes());
    serde_json::to_vec(&Sealed { data, checksum }).expect("text and a number can be written")
}

fn driver_to_file(part: &DriverPart) -> Driver {
    let device = |device: &HeldDevice| Device {
        pool: device.pool.clone(),
        device: device.device.clone(),
        share: device.share.clone(),
        requests: device.requests.clone(),
        cdi_ids: device.cdi_ids.clone(),
    };
    Driver { devices: part.devices.iter().map(device).collect(), skips: part.skips.clone() }
}

fn decode(bytes: &[u8]) -> Result<Held, String> {
    let sealed: Sealed = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let found = crc32fast::hash(sealed.data.as_bytes());
    if found != sealed.checksum {
        return Err(format!("its checksum is {found} and should be {}", sealed.checksum));
    }
    let content: Content = serde_json::from_str(&sealed.data).map_err(|error| error.to_string())?;
    if (&*content.kind, &*content.api_version) != (KIND, API_VERSION) {
        return Err(format!("it holds a {} of {}", content.kind, content.api_version));
    }
    Ok(Held(content.claims.into_iter().map(claim_from_file).collect()))
}

fn claim_from_file(claim: Claim) -> (ClaimKey, HeldClaim) {
    let device = |device: Device| HeldDevice {
        pool: device.pool,
        device: device.device,
        share: device.share,
        requests: device.requests,
        cdi_ids: device.cdi_ids,
    };
    let part = |(name, driver): (String, Driver)| {
        let devices = driver.devices.into_iter().map(device).collect();
        (name, DriverPart { devices, skips: driver.skips })
    };
    let held = HeldClaim {
        uid: claim.uid,
        pods: claim.pods.into_keys().collect::<BTreeSet<_>>(),
        drivers: claim.drivers.into_iter().map(part).collect(),
        stage: HeldClaimStage::Unsure,
    };
    (ClaimKey { namespace: claim.namespace, name: claim.name }, held)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a kubelet wrote, with lists that it never used.
    const OF_A_KUBELET: &str = concat!(
        r#"{"kind":"DRACheckpoint","apiVersion":"checkpoint.dra.kubelet.k8s.io/v1","ClaimInfoStateList":["#,
        r#"{"ClaimUID":"u","ClaimName":"c","Namespace":"ns","PodUIDs":{"p1":{},"p2":{}},"DriverState":{"#,
        r#""gpu":{"Devices":[{"PoolName":"p","DeviceName":"d","ShareID":null,"RequestNames":["r"],"#,
        r#""CDIDeviceIDs":["v/c=d"]}]},"nic":{"Devices":null,"skipNodeOperations":["*"]}}}]}"#,
    );

    fn sealed(data: &str) -> Vec<u8> {
        let checksum = crc32fast::hash(data.as_bytes());
        serde_json::to_vec(&Sealed { data: data.to_owned(), checksum }).expect("it can be written")
    }

    #[test]
    fn what_a_kubelet_wrote_is_read_and_what_we_write_says_the_same() {
        let held = decode(&sealed(OF_A_KUBELET)).expect("a good file");
        let (key, claim) = held.0.first_key_value().expect("a claim");
        assert_eq!((&*key.namespace, &*key.name, &*claim.uid), ("ns", "c", "u"));
        assert_eq!(claim.pods.len(), 2);
        assert_eq!(claim.drivers["gpu"].devices[0].cdi_ids, ["v/c=d"]);
        assert!(claim.drivers["nic"].skips("NodePrepareResources"));
        assert_eq!(claim.stage, HeldClaimStage::Unsure);
        let again: Sealed = serde_json::from_slice(&encode(&held)).expect("a good file");
        assert_eq!(again.data, OF_A_KUBELET.replace("\"Devices\":null", "\"Devices\":[]"));
        assert_eq!(decode(&encode(&held)), Ok(held));
    }

    #[test]
    fn a_node_that_never_held_anything_has_an_empty_list() {
        let empty = OF_A_KUBELET.split_once('[').expect("a list").0.to_owned() + "null}";
        assert_eq!(decode(&sealed(&empty)), Ok(Held::default()));
        assert_eq!(decode(&encode(&Held::default())), Ok(Held::default()));
    }

    #[test]
    fn damage_is_noticed() {
        let good = sealed(OF_A_KUBELET);
        let torn = &good[..good.len() / 2];
        assert!(decode(torn).is_err());
        let changed = String::from_utf8(good).expect("text").replace("p1", "p3");
        assert!(decode(changed.as_bytes()).expect_err("it was changed").contains("checksum"));
        let other = sealed(&OF_A_KUBELET.replace("/v1\"", "/v9\""));
        assert!(decode(&other).expect_err("it is of another time").contains("/v9"));
        assert!(decode(b"").is_err());
    }

    #[test]
    fn what_was_saved_is_loaded_and_a_missing_file_is_empty() {
        let folder = std::env::temp_dir().join(format!("supercargo-checkpoint-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join(FILE);
        assert_eq!(load(&path).expect("nothing yet"), Held::default());
        let held = decode(&sealed(OF_A_KUBELET)).expect("a good file");
        save(&path, &held).expect("it can be written");
        assert_eq!(load(&path).expect("it is there"), held);
        fs::write(&path, "{").expect("it can be written");
        let error = load(&path).expect_err("it is damaged").to_string();
        assert!(error.contains("dra_manager_state is damaged") && error.contains("hint: drain"), "{error}");
        fs::remove_dir_all(&folder).expect("it is there");
    }
}
