//! Crates from outside enter a room only by the list in `xtask/allowed-dependencies.toml`, with a reason.
//!
//! A room may also use what the rooms beneath it may use. The table `dev` is for tests of every room. An entry that
//! nothing uses is a violation too, so the list always says what is in the tree and not what once was.

use std::collections::BTreeMap;

use super::rooms::Room;
use super::tree::Tree;
use super::violation::Violation;
use super::workspace::{Dependency, Kind, Package, Workspace};

const LIST: &str = "xtask/allowed-dependencies.toml";

/// The table for dev-dependencies of any room.
const DEV: &str = "dev";

/// Reasons by table and crate name.
type Allowed = BTreeMap<String, BTreeMap<String, String>>;

pub(crate) fn check(tree: &Tree, workspace: &Workspace) -> Vec<Violation> {
    let allowed = match read_list(tree.text(LIST).unwrap_or_default()) {
        Ok(allowed) => allowed,
        Err(wrong) => {
            return vec![Violation::new(LIST, 1, wrong, "write `crate = \"reason\"` below `[room]`")];
        }
    };
    let mut violations = check_list(tree, workspace, &allowed);
    for package in &workspace.packages {
        for dependency in package.dependencies.iter().filter(|dependency| dependency.folder.is_none()) {
            violations.extend(check_dependency(tree, package, dependency, &allowed));
        }
    }
    violations
}

fn read_list(text: &str) -> Result<Allowed, String> {
    let tables: toml::Table = text.parse().map_err(|error| format!("not readable: {error}"))?;
    let mut allowed = Allowed::new();
    for (table, entries) in tables {
        if table != DEV && !Room::ALL.iter().any(|room| room.name() == table) {
            return Err(format!("`{table}` is not a room"));
        }
        let entries = entries.as_table().ok_or_else(|| format!("`{table}` is not a table"))?;
        for (name, reason) in entries {
            let reason = reason.as_str().unwrap_or_default().trim();
            if reason.is_empty() {
                return Err(format!("`{name}` in [{table}] has no reason"));
            }
            allowed.entry(table.clone()).or_default().insert(name.clone(), reason.to_owned());
        }
    }
    Ok(allowed)
}

fn check_list(tree: &Tree, workspace: &Workspace, allowed: &Allowed) -> Vec<Violation> {
    let used = |table: &str, name: &str| {
        workspace.packages.iter().any(|package| {
            package.dependencies.iter().any(|dependency| {
                dependency.name == name && tables_for(package, dependency).contains(&table.to_owned())
            })
        })
    };
    let entries = allowed.iter().flat_map(|(table, names)| names.keys().map(move |name| (table, name)));
    let stale = entries.filter(|(table, name)| !used(table, name));
    stale
        .map(|(table, name)| {
            let wrong = format!("`{name}` is allowed in [{table}] but nothing there uses it");
            Violation::new(LIST, tree.line_of(LIST, name), wrong, "remove the entry")
        })
        .collect()
}

fn check_dependency(
    tree: &Tree,
    package: &Package,
    dependency: &Dependency,
    allowed: &Allowed,
) -> Option<Violation> {
    let tables = tables_for(package, dependency);
    let fits = |table: &String| allowed.get(table).is_some_and(|names| names.contains_key(&dependency.name));
    if tables.iter().any(fits) {
        return None;
    }
    let line = tree.line_of(&package.manifest, &dependency.name);
    let wrong = format!("`{}` is not allowed in {}", dependency.name, tables.last()?);
    let hint = format!("do without it, or add it to [{}] in {LIST} with the reason", tables.last()?);
    Some(Violation::new(&package.manifest, line, wrong, hint))
}

/// The tables that allow a dependency of this package; the last one is where a new entry belongs.
fn tables_for(package: &Package, dependency: &Dependency) -> Vec<String> {
    let rooms = Room::of(package.folder()).map(Room::may_use).unwrap_or_default();
    let mut tables: Vec<String> = rooms.iter().map(|room| room.name().to_owned()).collect();
    if dependency.kind == Kind::Dev {
        tables.push(DEV.to_owned());
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::super::workspace::Kind::{Dev, Shipped};
    use super::*;

    fn wrongs(list: &str, packages: &[(&str, &[(&str, Kind)])]) -> Vec<String> {
        let violations = check(&Tree::of(&[(LIST, list)]), &Workspace::of(packages));
        violations.into_iter().map(|violation| violation.wrong).collect()
    }

    #[test]
    fn tokio_is_not_allowed_in_core() {
        let found = wrongs("[edge]\ntokio = 'runs it'", &[("edge/server", &[("tokio", Shipped)])]);
        assert!(found.is_empty(), "{found:?}");
        let both: &[(&str, &[(&str, Kind)])] =
            &[("edge/server", &[("tokio", Shipped)]), ("core/queue", &[("tokio", Shipped)])];
        assert_eq!(wrongs("[edge]\ntokio = 'runs it'", both), ["`tokio` is not allowed in core"]);
    }

    #[test]
    fn a_room_may_use_what_the_rooms_beneath_it_may_use() {
        let packages: &[(&str, &[(&str, Kind)])] =
            &[("core/model", &[("thiserror", Shipped)]), ("apps/supercargo", &[("thiserror", Shipped)])];
        assert!(wrongs("[core]\nthiserror = 'errors'", packages).is_empty());
    }

    #[test]
    fn what_only_tests_may_use_does_not_ship() {
        let list = "[dev]\nproptest = 'properties'";
        assert!(wrongs(list, &[("core/model", &[("proptest", Dev)])]).is_empty());
        let found = wrongs(list, &[("core/model", &[("proptest", Shipped)])]);
        assert!(found.contains(&"`proptest` is not allowed in core".to_owned()), "{found:?}");
    }

    #[test]
    fn an_entry_that_nothing_uses_is_stale() {
        let found = wrongs("[core]\nregex = 'selectors'", &[("core/model", &[])]);
        assert_eq!(found, ["`regex` is allowed in [core] but nothing there uses it"]);
    }

    #[test]
    fn an_entry_needs_a_reason_and_a_room() {
        assert_eq!(wrongs("[core]\nregex = ''", &[]), ["`regex` in [core] has no reason"]);
        assert_eq!(wrongs("[kitchen]\nregex = 'x'", &[]), ["`kitchen` is not a room"]);
        assert!(wrongs("[core", &[])[0].starts_with("not readable"));
    }
}
