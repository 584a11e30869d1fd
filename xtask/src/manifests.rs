//! The plain manifests in `deploy/`, which are what helm makes of the chart. Someone who edits them edits the chart in their stead.
//!
//! Invariant: the files say nothing about helm, so that `kubectl apply` is all they need.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The release of Kubernetes that the chart is rendered for.
const KUBERNETES: &str = "1.37.0";

/// A file and what it is made of.
struct Manifest {
    path: &'static str,
    about: &'static str,
    arguments: &'static [&'static str],
}

const PERMISSIONS: &str = "deploy/chart/ci/permissions.yaml";

const MANIFESTS: [Manifest; 6] = [
    Manifest {
        path: "deploy/supercargo.yaml",
        about: "Everything that the chart installs by default: CustomResourceDefinitions, a scheduler beside kube-scheduler, and controllers.",
        arguments: &["--set", "crds.keep=false"],
    },
    Manifest {
        path: "deploy/scheduler.yaml",
        about: "What `supercargo scheduler` may do.",
        arguments: &["-f", PERMISSIONS, "-s", "templates/scheduler.yaml"],
    },
    Manifest {
        path: "deploy/controllers.yaml",
        about: "What `supercargo controllers` may do, with all controllers.",
        arguments: &["-f", PERMISSIONS, "-s", "templates/controllers.yaml"],
    },
    Manifest {
        path: "deploy/fabric.yaml",
        about: "What `supercargo fabric` may do. Replace gpu.example.com by the driver of the devices.",
        arguments: &["-f", PERMISSIONS, "-s", "templates/fabric.yaml"],
    },
    Manifest {
        path: "deploy/node.yaml",
        about: "What `supercargo node` may do.",
        arguments: &["-f", PERMISSIONS, "-s", "templates/node.yaml"],
    },
    Manifest {
        path: "deploy/driver-controller.yaml",
        about: "What the controller of a driver may do that allocates devices to claims itself. Replace lender.example.com by the driver; \
                it is the name of the Lease by which one of several processes is elected.",
        arguments: &["-f", PERMISSIONS, "-s", "templates/negotiation.yaml"],
    },
];

/// Lines that only helm has a use for, by their beginnings.
const OF_HELM: [&str; 3] = ["# Source: ", "helm.sh/chart: ", "app.kubernetes.io/managed-by: Helm"];

/// Why the manifests could not be made.
#[derive(Debug)]
pub(crate) enum ManifestError {
    /// Helm is not there.
    NoHelm,
    /// Helm does not like the chart.
    Refused(String),
    /// A file cannot be read or written.
    File(PathBuf, io::Error),
}

impl std::fmt::Display for ManifestError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoHelm => write!(out, "helm is not installed\nhint: install helm 3, or name it in $HELM"),
            Self::Refused(why) => write!(out, "helm refuses the chart: {}", why.trim()),
            Self::File(path, error) => write!(out, "cannot read or write {}: {error}", path.display()),
        }
    }
}

/// Writes the manifests, or only looks; gives those that were not up to date.
pub(crate) fn bring_up_to_date(only_check: bool) -> Result<Vec<&'static str>, ManifestError> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the workspace");
    let mut outdated = Vec::new();
    for manifest in &MANIFESTS {
        let path = root.join(manifest.path);
        let wanted = render(root, manifest)?;
        if fs::read_to_string(&path).is_ok_and(|found| found == wanted) {
            continue;
        }
        outdated.push(manifest.path);
        if !only_check {
            fs::write(&path, wanted).map_err(|error| ManifestError::File(path, error))?;
        }
    }
    Ok(outdated)
}

fn render(root: &Path, manifest: &Manifest) -> Result<String, ManifestError> {
    let helm = std::env::var_os("HELM").unwrap_or_else(|| "helm".into());
    let mut command = Command::new(helm);
    command.current_dir(root).args(["template", "supercargo", "deploy/chart", "-n", "kube-system"]);
    let output = command.args(["--kube-version", KUBERNETES]).args(manifest.arguments).output();
    let output = output.map_err(|_| ManifestError::NoHelm)?;
    if !output.status.success() {
        return Err(ManifestError::Refused(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(plain(manifest.about, &String::from_utf8_lossy(&output.stdout)))
}

/// What helm made, without its own words.
fn plain(about: &str, text: &str) -> String {
    let mut out =
        format!("# {about}\n# `cargo xtask manifests` writes this file from the chart in deploy/chart.\n");
    for line in text.lines() {
        if !OF_HELM.iter().any(|word| line.trim_start().starts_with(word)) {
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn plain_manifests_say_nothing_of_helm() {
        let text = "---\n# Source: supercargo/templates/a.yaml\nmetadata:\n  labels:\n    helm.sh/chart: s-1\n    a: b\n";
        let expected = "# Roles.\n# `cargo xtask manifests` writes this file from the chart in deploy/chart.\n---\nmetadata:\n  labels:\n    a: b\n";
        assert_eq!(plain("Roles.", text), expected);
    }
}
