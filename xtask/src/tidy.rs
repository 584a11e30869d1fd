//! `cargo xtask tidy`: the rules of the workspace that no compiler checks, made law.
//!
//! A check is a pure function from the files and cargo's description of the crates to violations, so every check is
//! tested on a few lines of text. Only this file and the three loaders touch the disk. Violations are never fixed here,
//! only reported: all of them, in path order, each with a hint.

mod allowances;
mod architecture;
mod circles;
mod clippy_files;
mod commands;
mod dependencies;
mod engine_doors;
mod engine_shape;
mod features;
mod file_docs;
mod glossary;
mod leftovers;
mod length;
mod links;
mod manifests;
mod markdown;
mod names;
mod one_meaning;
mod phrases;
mod room_order;
mod rooms;
mod rust_text;
mod tree;
mod violation;
mod workspace;

use std::path::Path;

use features::Builds;
use tree::Tree;
use violation::Violation;
use workspace::Workspace;

/// Why tidy could not look at all.
#[derive(Debug)]
pub(crate) struct CannotLook(String);

impl std::fmt::Display for CannotLook {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

/// The folder of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace root")
}

/// Checks the workspace that this crate belongs to.
pub(crate) fn check_workspace() -> Result<Vec<Violation>, CannotLook> {
    let root = root();
    let tree = Tree::load(root)?;
    let workspace = Workspace::load(root)?;
    let builds = Builds::load(root, &workspace)?;
    Ok(check(&tree, &workspace, &builds))
}

fn check(tree: &Tree, workspace: &Workspace, builds: &[Builds]) -> Vec<Violation> {
    let mut violations = Vec::new();
    violations.extend(room_order::check(tree, workspace));
    violations.extend(engine_doors::check(tree, workspace));
    violations.extend(engine_shape::check(tree));
    violations.extend(circles::check(tree));
    violations.extend(dependencies::check(tree, workspace));
    violations.extend(features::check(builds));
    violations.extend(manifests::check(tree, workspace));
    violations.extend(clippy_files::check(tree, workspace));
    violations.extend(allowances::check(tree));
    violations.extend(length::check(tree));
    violations.extend(names::check(tree));
    violations.extend(one_meaning::check(tree));
    violations.extend(glossary::check(tree));
    violations.extend(file_docs::check(tree));
    violations.extend(leftovers::check(tree));
    violations.extend(links::check(tree));
    violations.extend(phrases::check(tree));
    violations.extend(commands::check(tree, workspace));
    violations.extend(architecture::check(tree, workspace));
    violations.sort();
    violations
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_workspace_is_tidy() {
        let violations = super::check_workspace().expect("the workspace can be read");
        let listed: String = violations.iter().map(|violation| format!("{violation}\n")).collect();
        assert!(violations.is_empty(), "cargo xtask tidy found:\n{listed}");
    }
}
