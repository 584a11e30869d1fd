//! Cargo's own description of the workspace: its crates, their targets and what they declare to depend on.
//!
//! Asked with `--no-deps`, so it needs no network and no downloaded crate.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::CannotLook;

/// When a dependency is used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// In what ships, or in the script that builds it.
    Shipped,
    /// In tests, examples and benches only.
    Dev,
}

/// One declared dependency of a crate.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// What it is called in the manifest.
    pub(crate) key: String,
    pub(crate) kind: Kind,
    /// The folder, from the workspace root, when the dependency is one of ours.
    pub(crate) folder: Option<String>,
}

/// One crate of ours.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// Path of its manifest from the workspace root.
    pub(crate) manifest: String,
    pub(crate) dependencies: Vec<Dependency>,
    /// (kind, name) of each target: ("bin", "supercargo"), ("test", "documents"), …
    pub(crate) targets: Vec<(String, String)>,
}

impl Package {
    /// The crate's folder from the workspace root.
    pub(crate) fn folder(&self) -> &str {
        self.manifest.strip_suffix("/Cargo.toml").unwrap_or("")
    }
}

/// All crates of ours.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    pub(crate) packages: Vec<Package>,
}

impl Workspace {
    pub(crate) fn load(root: &Path) -> Result<Self, CannotLook> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
            .current_dir(root)
            .output()
            .map_err(|error| CannotLook(format!("cannot run cargo metadata: {error}")))?;
        if !output.status.success() {
            let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(CannotLook(format!("cargo metadata failed: {complaint}")));
        }
        let metadata = serde_json::from_slice(&output.stdout)
            .map_err(|error| CannotLook(format!("cargo metadata is not JSON: {error}")))?;
        Ok(Self::from_metadata(&metadata))
    }

    fn from_metadata(metadata: &Value) -> Self {
        let root = text(&metadata["workspace_root"]);
        Self { packages: list(&metadata["packages"]).map(|package| read_package(package, &root)).collect() }
    }

    #[cfg(test)]
    pub(crate) fn of(packages: &[(&str, &[(&str, Kind)])]) -> Self {
        let read = |(folder, dependencies): &(&str, &[(&str, Kind)])| Package {
            name: last_part(folder),
            manifest: format!("{folder}/Cargo.toml"),
            dependencies: dependencies.iter().map(|(name, kind)| fixture_dependency(name, *kind)).collect(),
            targets: vec![("bin".into(), last_part(folder))],
        };
        Self { packages: packages.iter().map(read).collect() }
    }
}

fn read_package(package: &Value, root: &str) -> Package {
    let dependencies = list(&package["dependencies"]).map(|dependency| Dependency {
        name: text(&dependency["name"]),
        key: dependency["rename"].as_str().map_or_else(|| text(&dependency["name"]), str::to_owned),
        kind: if dependency["kind"] == "dev" { Kind::Dev } else { Kind::Shipped },
        folder: dependency["path"].as_str().map(|path| below(path, root)),
    });
    let targets = list(&package["targets"])
        .flat_map(|target| list(&target["kind"]).map(|kind| (text(kind), text(&target["name"]))));
    Package {
        name: text(&package["name"]),
        manifest: below(&text(&package["manifest_path"]), root),
        dependencies: dependencies.collect(),
        targets: targets.collect(),
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn below(path: &str, root: &str) -> String {
    path.strip_prefix(root).unwrap_or(path).replace('\\', "/").trim_start_matches('/').to_owned()
}

#[cfg(test)]
fn last_part(folder: &str) -> String {
    folder.rsplit('/').next().unwrap_or(folder).to_owned()
}

#[cfg(test)]
fn fixture_dependency(name: &str, kind: Kind) -> Dependency {
    let folder = name.contains('/').then(|| name.to_owned());
    Dependency { name: last_part(name), key: last_part(name), kind, folder }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Kind, Workspace};

    #[test]
    fn crates_dependencies_and_targets_are_read_from_cargos_answer() {
        let metadata = json!({
            "workspace_root": "/somewhere",
            "packages": [{
                "name": "selector",
                "manifest_path": "/somewhere/core/selector/Cargo.toml",
                "targets": [{ "kind": ["lib"], "name": "selector" }],
                "dependencies": [
                    { "name": "model", "kind": null, "path": "/somewhere/core/model" },
                    { "name": "proptest", "kind": "dev" },
                    { "name": "cc", "kind": "build" },
                ],
            }],
        });
        let workspace = Workspace::from_metadata(&metadata);
        let selector = &workspace.packages[0];
        assert_eq!(selector.folder(), "core/selector");
        assert_eq!(selector.targets, [("lib".to_owned(), "selector".to_owned())]);
        assert_eq!(selector.dependencies[0].folder.as_deref(), Some("core/model"));
        assert_eq!(selector.dependencies[1].kind, Kind::Dev);
        assert_eq!(selector.dependencies[2].kind, Kind::Shipped);
    }
}
