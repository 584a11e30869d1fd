//! Every room with a crate has a clippy.toml, and the two pure rooms share theirs word for word.
//!
//! Clippy takes the nearest clippy.toml above a crate and merges nothing, so a room without one has no limits at all.

use super::rooms::Room;
use super::tree::Tree;
use super::violation::Violation;
use super::workspace::Workspace;

/// The setting that keeps functions short.
const FUNCTION_LIMIT: &str = "too-many-lines-threshold = 80";

pub(crate) fn check(tree: &Tree, workspace: &Workspace) -> Vec<Violation> {
    let mut violations = Vec::new();
    for room in Room::ALL {
        let path = format!("{room}/clippy.toml");
        let in_room = |folder: &str| Room::of(folder) == Some(room);
        let has_crate = workspace.packages.iter().any(|package| in_room(package.folder()));
        match tree.text(&path) {
            None if has_crate => violations.push(Violation::new(
                &path,
                1,
                format!("{room} has crates but no clippy.toml"),
                "copy the one of the room that is most like it",
            )),
            Some(text) if !text.lines().any(|line| line.trim() == FUNCTION_LIMIT) => {
                violations.push(Violation::new(
                    &path,
                    1,
                    "the length of functions is not limited to 80 lines",
                    format!("add `{FUNCTION_LIMIT}`"),
                ));
            }
            _ => {}
        }
    }
    let (core, api) = (tree.text("core/clippy.toml"), tree.text("api/clippy.toml"));
    if let (Some(core), Some(api)) = (core, api)
        && core != api
    {
        let line = core.lines().zip(api.lines()).take_while(|(core, api)| core == api).count() + 1;
        let wrong = "differs from core/clippy.toml, but both rooms are pure in the same way";
        violations.push(Violation::new("api/clippy.toml", line, wrong, "copy one file over the other"));
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrongs(files: &[(&str, &str)]) -> Vec<(String, usize)> {
        let violations = check(&Tree::of(files), &Workspace::of(&[("core/model", &[])]));
        violations.into_iter().map(|violation| (violation.wrong, violation.line)).collect()
    }

    #[test]
    fn a_room_with_a_crate_needs_its_clippy_file() {
        assert_eq!(wrongs(&[]), [("core has crates but no clippy.toml".to_owned(), 1)]);
        assert!(wrongs(&[("core/clippy.toml", FUNCTION_LIMIT)]).is_empty());
    }

    #[test]
    fn functions_are_limited_everywhere() {
        let found = wrongs(&[("core/clippy.toml", "too-many-lines-threshold = 200")]);
        assert_eq!(found, [("the length of functions is not limited to 80 lines".to_owned(), 1)]);
    }

    #[test]
    fn the_pure_rooms_share_one_list() {
        let longer = format!("{FUNCTION_LIMIT}\ndisallowed-types = []");
        let found = wrongs(&[("core/clippy.toml", FUNCTION_LIMIT), ("api/clippy.toml", &longer)]);
        let expected = "differs from core/clippy.toml, but both rooms are pure in the same way";
        assert_eq!(found, [(expected.to_owned(), 2)]);
    }
}
