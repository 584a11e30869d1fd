//! Every crate is a member, is named after its folder, takes the workspace's lints and takes versions from one place.
//!
//! That place is `[workspace.dependencies]` in the root manifest, and it holds nothing that no crate uses.

use super::rooms::Room;
use super::tree::Tree;
use super::violation::Violation;
use super::workspace::Workspace;

/// The manifest that holds all versions.
const ROOT: &str = "Cargo.toml";

/// Tables of a manifest that hold dependencies.
const DEPENDENCY_TABLES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

pub(crate) fn check(tree: &Tree, workspace: &Workspace) -> Vec<Violation> {
    let manifests = tree.texts().filter(|(path, _)| path.ends_with("/Cargo.toml"));
    let found = manifests.flat_map(|(path, text)| check_manifest(tree, workspace, path, text));
    found.chain(check_unused_versions(tree, workspace)).collect()
}

fn check_unused_versions(tree: &Tree, workspace: &Workspace) -> Vec<Violation> {
    let root: toml::Table = tree.text(ROOT).unwrap_or_default().parse().unwrap_or_default();
    let versions =
        root.get("workspace").and_then(|table| table.get("dependencies")).and_then(toml::Value::as_table);
    let used: Vec<&str> = workspace
        .packages
        .iter()
        .flat_map(|package| &package.dependencies)
        .map(|used| used.key.as_str())
        .collect();
    let mut violations = Vec::new();
    for (name, _) in versions.into_iter().flatten().filter(|(_, version)| version.get("path").is_none()) {
        if !used.contains(&name.as_str()) {
            let wrong = format!("`{name}` has a version but no crate uses it");
            violations.push(Violation::new(ROOT, tree.line_of(ROOT, name), wrong, "remove the line"));
        }
    }
    violations
}

fn check_manifest(tree: &Tree, workspace: &Workspace, path: &str, text: &str) -> Vec<Violation> {
    let folder = path.strip_suffix("/Cargo.toml").unwrap_or(path);
    let Some(room) = Room::of(path) else {
        let hint = "move the crate into a room, or xtask";
        return vec![Violation::new(path, 1, "a crate outside the rooms", hint)];
    };
    let mut violations = Vec::new();
    let depth_wanted = if room == Room::Xtask { 1 } else { 2 };
    if folder.split('/').count() != depth_wanted {
        violations.push(Violation::new(
            path,
            1,
            format!("a crate of {room} must lie directly in it"),
            format!("move it to `{room}/<name>`"),
        ));
    }
    match workspace.packages.iter().find(|package| package.manifest == path) {
        None => violations.push(Violation::new(
            path,
            1,
            format!("`{folder}` is not a member of the workspace"),
            format!("add \"{room}/*\" to `members` in Cargo.toml"),
        )),
        Some(package) if !folder.ends_with(&format!("/{}", package.name)) && folder != package.name => {
            let wrong = format!("the crate in `{folder}` is named `{}`", package.name);
            let line = tree.line_of(path, "name =");
            violations.push(Violation::new(path, line, wrong, "name a crate after its folder"));
        }
        Some(_) => {}
    }
    match text.parse::<toml::Table>() {
        Ok(manifest) => {
            violations.extend(check_lints(path, &manifest));
            violations.extend(check_versions(tree, path, &manifest));
        }
        Err(error) => violations.push(Violation::new(
            path,
            1,
            format!("not readable: {}", error.message()),
            "write the manifest as TOML",
        )),
    }
    violations
}

fn check_lints(path: &str, manifest: &toml::Table) -> Option<Violation> {
    let workspace = manifest.get("lints").and_then(|lints| lints.get("workspace"));
    if workspace.and_then(toml::Value::as_bool) == Some(true) {
        return None;
    }
    let hint = "add `[lints]` with `workspace = true`";
    Some(Violation::new(path, 1, "the crate does not take the workspace's lints", hint))
}

fn check_versions(tree: &Tree, path: &str, manifest: &toml::Table) -> Vec<Violation> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let targets = targets.into_iter().flat_map(|targets| targets.values().filter_map(toml::Value::as_table));
    let mut violations = Vec::new();
    for table in std::iter::once(manifest).chain(targets) {
        for section in DEPENDENCY_TABLES {
            for (name, dependency) in table.get(section).and_then(toml::Value::as_table).into_iter().flatten()
            {
                if dependency.get("workspace").and_then(toml::Value::as_bool) != Some(true) {
                    let wrong = format!("`{name}` names its own version");
                    let hint =
                        "put the version in [workspace.dependencies] and write `workspace = true` here";
                    violations.push(Violation::new(path, tree.line_of(path, name), wrong, hint));
                }
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::workspace::Kind;
    use super::*;

    fn wrongs(path: &str, text: &str, members: &[&str]) -> Vec<String> {
        let packages: Vec<_> = members.iter().map(|folder| (*folder, &[][..])).collect();
        let violations = check(&Tree::of(&[(path, text)]), &Workspace::of(&packages));
        violations.into_iter().map(|violation| violation.wrong).collect()
    }

    const LINTS: &str = "[lints]\nworkspace = true\n";

    #[test]
    fn a_crate_that_keeps_the_rules_passes() {
        let text = format!("[dependencies]\nclap.workspace = true\nmodel = {{ workspace = true }}\n{LINTS}");
        assert!(wrongs("apps/supercargo/Cargo.toml", &text, &["apps/supercargo"]).is_empty());
        assert!(wrongs("xtask/Cargo.toml", LINTS, &["xtask"]).is_empty());
    }

    #[test]
    fn a_crate_that_no_glob_reaches_is_found() {
        let found = wrongs("lab/bench/Cargo.toml", LINTS, &["core/model"]);
        assert_eq!(found, ["`lab/bench` is not a member of the workspace"]);
    }

    #[test]
    fn a_crate_outside_the_rooms_is_found() {
        assert_eq!(wrongs("tools/gen/Cargo.toml", LINTS, &[]), ["a crate outside the rooms"]);
        let found = wrongs("core/deep/model/Cargo.toml", LINTS, &["core/deep/model"]);
        assert_eq!(found, ["a crate of core must lie directly in it"]);
    }

    #[test]
    fn a_crate_is_named_after_its_folder() {
        let mut workspace = Workspace::of(&[("core/model", &[])]);
        workspace.packages[0].name = "sc-model".into();
        let found = check(&Tree::of(&[("core/model/Cargo.toml", LINTS)]), &workspace);
        assert_eq!(found[0].wrong, "the crate in `core/model` is named `sc-model`");
    }

    #[test]
    fn a_crate_without_the_lints_is_found() {
        let expected = "the crate does not take the workspace's lints";
        assert_eq!(wrongs("core/model/Cargo.toml", "", &["core/model"]), [expected]);
        assert_eq!(wrongs("core/model/Cargo.toml", "[lints]\nrust = {}", &["core/model"]), [expected]);
    }

    #[test]
    fn versions_live_in_the_workspace() {
        let own = format!("[dev-dependencies]\nproptest = \"1\"\n{LINTS}");
        assert_eq!(
            wrongs("core/model/Cargo.toml", &own, &["core/model"]),
            ["`proptest` names its own version"]
        );
        let target = format!("[target.'cfg(unix)'.dependencies]\nrustix = {{ version = \"1\" }}\n{LINTS}");
        assert_eq!(
            wrongs("core/model/Cargo.toml", &target, &["core/model"]),
            ["`rustix` names its own version"]
        );
    }

    #[test]
    fn a_version_that_no_crate_uses_is_found() {
        let root =
            "[workspace.dependencies]\nmodel = { path = \"core/model\" }\nclap = \"4\"\nregex = \"1\"\n";
        let uses: &[(&str, Kind)] = &[("clap", Kind::Shipped)];
        let found = check(&Tree::of(&[(ROOT, root)]), &Workspace::of(&[("apps/supercargo", uses)]));
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].line, found[0].wrong.as_str()),
            (4, "`regex` has a version but no crate uses it")
        );
    }
}
