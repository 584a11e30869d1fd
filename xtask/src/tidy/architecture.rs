//! The map names every crate, so that it cannot fall behind the territory.

use super::tree::Tree;
use super::violation::Violation;
use super::workspace::Workspace;

const MAP: &str = "ARCHITECTURE.md";

pub(crate) fn check(tree: &Tree, workspace: &Workspace) -> Vec<Violation> {
    let map = tree.text(MAP).unwrap_or_default();
    let missing =
        workspace.packages.iter().filter(|package| !map.contains(&format!("`{}`", package.folder())));
    missing
        .map(|package| {
            let wrong = format!("the map does not name the crate `{}`", package.folder());
            Violation::new(MAP, 1, wrong, format!("add it to the table of rooms, as `{}`", package.folder()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_that_the_map_does_not_name_is_found() {
        let workspace = Workspace::of(&[("core/model", &[]), ("xtask", &[])]);
        let found = check(&Tree::of(&[(MAP, "| `core/model` | nouns |")]), &workspace);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].wrong, "the map does not name the crate `xtask`");
    }
}
