//! What a plugin says of itself, and what we make of it.

use std::path::{Path, PathBuf};

use plugin::registration::PluginInfo;
use plugin::{DRA_PLUGIN, DraVersion, HealthVersion};
use thiserror::Error;

/// The longest name of a driver, in bytes; it is part of names that the API bounds.
const NAME_BYTES_MAX: usize = 63;

/// What a driver offers on this node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Offer {
    pub(crate) driver: String,
    /// The socket at which it serves.
    pub(crate) endpoint: PathBuf,
    pub(crate) version: DraVersion,
    pub(crate) health: Option<HealthVersion>,
}

/// Why a plugin is not registered.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub(crate) enum Rejection {
    #[error("the plugin at {} did not answer GetInfo: {why}; hint: check that its process runs, and remove the \
        socket if it is stale", socket.display())]
    Silent { socket: PathBuf, why: String },
    #[error("plugin {name} at {} is of type {kind:?}, and only {DRA_PLUGIN} is supported; hint: run it on nodes \
        with a kubelet", socket.display())]
    OtherKind { socket: PathBuf, name: String, kind: String },
    #[error("{name:?} at {} cannot be the name of a DRA driver: it {why}; hint: register the driver with the name \
        in its ResourceSlices", socket.display())]
    BadName { socket: PathBuf, name: String, why: String },
    #[error("DRA driver {driver} at {} supports none of the services {known}, and offers {offered}; hint: use a version of the driver for Kubernetes 1.32 or newer", socket.display(), known = known_services())]
    NoService { socket: PathBuf, driver: String, offered: String },
    #[error("endpoint {} is already registered for DRA driver {driver}; hint: stop one of the two plugins", endpoint.display())]
    EndpointTaken { endpoint: PathBuf, driver: String },
}

/// Judges what a plugin said at a socket. The driver's order decides which version is used.
///
/// # Errors
/// It is no driver, or none that we can call.
pub(crate) fn judge(said: PluginInfo, socket: &Path) -> Result<Offer, Rejection> {
    let socket = socket.to_owned();
    if said.r#type != DRA_PLUGIN {
        return Err(Rejection::OtherKind { socket, name: shown(&said.name), kind: shown(&said.r#type) });
    }
    if let Some(why) = fault_of_name(&said.name) {
        return Err(Rejection::BadName { socket, name: shown(&said.name), why });
    }
    let services = &said.supported_versions;
    let Some(version) = services.iter().find_map(|service| DraVersion::named(service)) else {
        let offered = if services.is_empty() { "nothing".to_owned() } else { shown(&services.join(", ")) };
        return Err(Rejection::NoService { socket, driver: said.name, offered });
    };
    let is_offered = |version: &HealthVersion| services.iter().any(|service| service == version.name());
    let health = HealthVersion::ALL.into_iter().find(is_offered);
    let endpoint = if said.endpoint.is_empty() { socket } else { PathBuf::from(said.endpoint) };
    Ok(Offer { driver: said.name, endpoint, version, health })
}

fn fault_of_name(name: &str) -> Option<String> {
    if name.len() > NAME_BYTES_MAX {
        return Some(format!("may have at most {NAME_BYTES_MAX} characters"));
    }
    schema::names::dns_subdomain(name).first().map(|fault| (*fault).to_owned())
}

/// What a stranger said, short enough to be repeated.
fn shown(text: &str) -> String {
    const CHARS_MAX: usize = 100;
    if text.chars().count() <= CHARS_MAX {
        return text.to_owned();
    }
    text.chars().take(CHARS_MAX).chain("…".chars()).collect()
}

fn known_services() -> String {
    DraVersion::ALL.map(DraVersion::name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(kind: &str, name: &str, endpoint: &str, services: &[&str]) -> Result<Offer, Rejection> {
        let said = PluginInfo {
            r#type: kind.to_owned(),
            name: name.to_owned(),
            endpoint: endpoint.to_owned(),
            supported_versions: services.iter().map(|&service| service.to_owned()).collect(),
        };
        judge(said, Path::new("/reg/a.sock"))
    }

    #[test]
    fn the_driver_decides_which_version_is_used_and_the_node_which_health() {
        let v1 =
            judged("DRAPlugin", "gpu.example.com", "/p/dra.sock", &["v1.DRAPlugin", "v1beta1.DRAPlugin"]);
        let v1 = v1.expect("a good driver");
        assert_eq!((v1.version, v1.health, &*v1.endpoint), (DraVersion::V1, None, Path::new("/p/dra.sock")));
        let services = [
            "v1alpha4.Node",
            "v1beta1.DRAPlugin",
            "v1.DRAPlugin",
            "v1alpha1.DRAResourceHealth",
            "v1.DRAResourceHealth",
        ];
        let older = judged("DRAPlugin", "gpu.example.com", "", &services).expect("a good driver");
        assert_eq!((older.version, older.health), (DraVersion::V1Beta1, Some(HealthVersion::V1)));
        assert_eq!(&*older.endpoint, Path::new("/reg/a.sock"));
    }

    #[test]
    fn others_are_told_why_they_are_not_wanted() {
        let services = ["v1.DRAPlugin"];
        let long = format!("{}.example.com", "a".repeat(60));
        let cases = [
            (judged("CSIPlugin", "disk", "", &services), "of type \"CSIPlugin\""),
            (
                judged("DRAPlugin", "Bad_Name", "", &services),
                "\"Bad_Name\" at /reg/a.sock cannot be the name",
            ),
            (judged("DRAPlugin", "", "", &services), "must be lower case letters"),
            (judged("DRAPlugin", &long, "", &services), "may have at most 63 characters"),
            (judged("DRAPlugin", "gpu", "", &[]), "and offers nothing"),
            (judged("DRAPlugin", "gpu", "", &["v1alpha3.Node"]), "and offers v1alpha3.Node"),
        ];
        for (judged, expected) in cases {
            let said = judged.expect_err(expected).to_string();
            assert!(said.contains(expected) && said.contains("; hint: "), "{said}");
        }
        let huge = judged("x".repeat(1 << 20).as_str(), "n", "", &services).expect_err("no kind");
        assert!(huge.to_string().len() < 1000);
    }
}
