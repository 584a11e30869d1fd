//! Dependencies between our crates point one way.
//!
//! Tests have one exception: any room but xtask may use `lab/testkit` as a dev-dependency, since fixtures that build a
//! cluster are worth sharing and a dev-dependency ships nowhere. Such tests belong in a crate's `tests` folder: inside
//! `src` they would meet two copies of their own crate's types. The same holds for crates without code, which see to it that
//! crates from outside have the same features in all tests.

use super::rooms::Room;
use super::tree::Tree;
use super::violation::Violation;
use super::workspace::{Dependency, Kind, Package, Workspace};

/// The crates of lab that tests below it may use.
const FOR_TESTS: [&str; 3] = ["lab/testkit", "lab/shared-features", "lab/shared-network-features"];

pub(crate) fn check(tree: &Tree, workspace: &Workspace) -> Vec<Violation> {
    let mut violations = Vec::new();
    for package in &workspace.packages {
        for dependency in &package.dependencies {
            violations.extend(check_dependency(tree, package, dependency));
        }
    }
    violations
}

fn check_dependency(tree: &Tree, package: &Package, dependency: &Dependency) -> Option<Violation> {
    let from = Room::of(package.folder())?;
    let folder = dependency.folder.as_deref()?;
    let to = Room::of(folder)?;
    if from.may_use().contains(&to) {
        return None;
    }
    if dependency.kind == Kind::Dev && FOR_TESTS.contains(&folder) && from != Room::Xtask {
        return None;
    }
    let line = tree.line_of(&package.manifest, &dependency.name);
    let wrong = format!("{from} must not depend on {to}: `{}` uses `{}`", package.name, dependency.name);
    let hint = match from {
        Room::Xtask => "xtask uses none of our crates: move the code to lab or apps".to_owned(),
        _ => {
            format!("{from} may use {}: move the code up, or the part it needs down", listed(from.may_use()))
        }
    };
    Some(Violation::new(&package.manifest, line, wrong, hint))
}

fn listed(rooms: &[Room]) -> String {
    rooms.iter().map(|room| room.name()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::workspace::Kind::{Dev, Shipped};
    use super::*;

    fn wrongs(folder: &str, uses: &str, kind: Kind) -> Vec<String> {
        let workspace = Workspace::of(&[(folder, &[(uses, kind)])]);
        check(&Tree::default(), &workspace).into_iter().map(|violation| violation.wrong).collect()
    }

    #[test]
    fn core_may_not_depend_on_api() {
        let expected = "core must not depend on api: `selector` uses `objects`";
        assert_eq!(wrongs("core/selector", "api/objects", Shipped), [expected]);
    }

    #[test]
    fn the_order_of_the_rooms_holds_for_every_pair() {
        let allowed = ["api core", "edge core", "edge api", "lab core", "lab api", "lab edge", "apps core"];
        let allowed = [&allowed[..], &["apps api", "apps edge", "apps lab"]].concat();
        for from in Room::ALL {
            for to in Room::ALL {
                let pair = format!("{from} {to}");
                let fine = from == to || allowed.contains(&pair.as_str());
                let found = wrongs(&format!("{from}/one"), &format!("{to}/two"), Shipped);
                assert_eq!(found.is_empty(), fine, "{pair}");
            }
        }
    }

    #[test]
    fn tests_below_lab_may_use_what_is_made_for_tests_and_nothing_else_of_lab() {
        for folder in FOR_TESTS {
            assert!(wrongs("core/selector", folder, Dev).is_empty());
            assert_eq!(wrongs("core/selector", folder, Shipped).len(), 1);
        }
        assert_eq!(wrongs("core/selector", "lab/simulator", Dev).len(), 1);
        assert_eq!(wrongs("xtask", "lab/testkit", Dev).len(), 1);
    }

    #[test]
    fn the_violation_names_the_line_of_the_manifest() {
        let tree = Tree::of(&[("core/selector/Cargo.toml", "[dependencies]\n\nobjects.workspace = true\n")]);
        let workspace = Workspace::of(&[("core/selector", &[("api/objects", Shipped)])]);
        assert_eq!(check(&tree, &workspace)[0].line, 3);
    }
}
