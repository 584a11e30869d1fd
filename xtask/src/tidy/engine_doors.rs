//! The engine is reached by two doors: `api/scheduling` in api, and `edge/runtime` in edge. The page explains and plans, so its crates
//! `api/views` and `edge/page` may reach it too.
//!
//! Drivers, nodes and API servers schedule nothing. If they were built with the engine, each of them would be built anew
//! with every change of it, and could come to depend on how it decides.

use std::collections::BTreeSet;

use super::rooms::Room;
use super::tree::Tree;
use super::violation::Violation;
use super::workspace::{Dependency, Kind, Workspace};

/// What decides where pods and devices go.
const ENGINE: [&str; 5] =
    ["core/allocation", "core/decisions", "core/explain", "core/placement", "core/scheduler"];

/// Who may use it, in the rooms that hold more than scheduling.
const DOORS: [&str; 4] = ["api/scheduling", "edge/runtime", "api/views", "edge/page"];

pub(crate) fn check(tree: &Tree, workspace: &Workspace) -> Vec<Violation> {
    let mut violations = Vec::new();
    for package in &workspace.packages {
        let is_guarded = matches!(Room::of(package.folder()), Some(Room::Api | Room::Edge));
        if !is_guarded || DOORS.contains(&package.folder()) {
            continue;
        }
        for dependency in package.dependencies.iter().filter(|one| one.kind != Kind::Dev) {
            let Some(reached) = reached(workspace, dependency) else { continue };
            violations.push(Violation::new(
                &package.manifest,
                tree.line_of(&package.manifest, &dependency.name),
                format!("`{}` reaches `{reached}` through `{}`", package.name, dependency.name),
                format!("only {} may: move what needs it there", DOORS.join(", ")),
            ));
        }
    }
    violations
}

/// The crate of the engine that a dependency brings along, if it does.
fn reached<'w>(workspace: &'w Workspace, dependency: &'w Dependency) -> Option<&'w str> {
    let mut seen = BTreeSet::new();
    let mut ahead: Vec<&str> = dependency.folder.as_deref().into_iter().collect();
    while let Some(folder) = ahead.pop() {
        if ENGINE.contains(&folder) {
            return Some(folder);
        }
        if !seen.insert(folder) {
            continue;
        }
        let package = workspace.packages.iter().find(|package| package.folder() == folder);
        let shipped =
            package.iter().flat_map(|package| &package.dependencies).filter(|one| one.kind != Kind::Dev);
        ahead.extend(shipped.filter_map(|one| one.folder.as_deref()));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::workspace::Kind::{Dev, Shipped};
    use super::*;

    fn wrongs(packages: &[(&str, &[(&str, Kind)])]) -> Vec<String> {
        let found = check(&Tree::default(), &Workspace::of(packages));
        found.into_iter().map(|violation| violation.wrong).collect()
    }

    #[test]
    fn a_crate_of_drivers_may_not_bring_the_engine_along_by_whatever_way() {
        let convert: (&str, &[_]) = ("api/convert", &[("core/scheduler", Shipped)]);
        let kit: (&str, &[_]) = ("edge/driver-kit", &[("api/convert", Shipped)]);
        let expected = [
            "`convert` reaches `core/scheduler` through `scheduler`",
            "`driver-kit` reaches `core/scheduler` through `convert`",
        ];
        assert_eq!(wrongs(&[convert, kit]), expected);
    }

    #[test]
    fn the_doors_may_and_so_may_tests_and_those_who_schedule() {
        let door: (&str, &[_]) = ("api/scheduling", &[("core/scheduler", Shipped)]);
        let runtime: (&str, &[_]) = ("edge/runtime", &[("api/scheduling", Shipped)]);
        let tests: (&str, &[_]) = ("edge/kubelet", &[("edge/runtime", Dev)]);
        let lab: (&str, &[_]) = ("lab/simulator", &[("core/scheduler", Shipped)]);
        assert!(wrongs(&[door, runtime, tests, lab]).is_empty());
    }
}
