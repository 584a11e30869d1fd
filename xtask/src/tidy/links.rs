//! What documents point at exists: links, their anchors, and paths in code spans.
//!
//! A code span counts as a path when its first part is a top-level folder of ours, or when it is a file name with an
//! ending that our files have. Patterns (`core/*`, `<name>`) are not paths, and neither are the names of Kubernetes API
//! versions, which look like rooms: `core/v1`, `apps/v1`.

use super::markdown::{Place, anchors, code_spans, lines, link_targets};
use super::rooms::Room;
use super::tree::Tree;
use super::violation::Violation;

/// Top-level folders besides the rooms.
const FOLDERS: [&str; 4] = ["docs", "scenarios", ".ci", ".cargo"];

/// Endings that make a code span without a slash the name of a file of ours.
const ENDINGS: [&str; 4] = [".md", ".rs", ".toml", ".lock"];

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in tree.markdown() {
        for line in lines(text).into_iter().filter(|line| line.place == Place::Prose) {
            for target in link_targets(line.text) {
                if let Some(wrong) = wrong_link(tree, path, &target) {
                    violations.push(Violation::new(
                        path,
                        line.number,
                        wrong,
                        "correct the link, or write what it points at",
                    ));
                }
            }
            for span in code_spans(line.text) {
                if is_path(span) && !path_exists(tree, path, span) {
                    let wrong = format!("`{span}` does not exist");
                    let hint = "correct the path; write of what is to come without naming a path";
                    violations.push(Violation::new(path, line.number, wrong, hint));
                }
            }
        }
    }
    violations
}

fn wrong_link(tree: &Tree, document: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = if file.is_empty() { Some(document.to_owned()) } else { resolve(document, file) };
    let Some(file) = file.filter(|file| tree.exists(file)) else {
        return Some(format!("the link to `{target}` leads nowhere"));
    };
    let known = tree.text(&file).map(anchors).unwrap_or_default();
    let lost = !anchor.is_empty() && !known.iter().any(|heading| heading == anchor);
    lost.then(|| format!("`{file}` has no heading for `#{anchor}`"))
}

/// `target` as seen from `document`, as a path from the workspace root; none when it leaves the workspace.
fn resolve(document: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn is_path(span: &str) -> bool {
    if span.contains(|char: char| char.is_whitespace() || "*<>{}$…=:(".contains(char))
        || span.contains("YYYY")
    {
        return false;
    }
    match span.split_once('/') {
        Some((first, rest)) => {
            let ours = Room::of(first).is_some() || FOLDERS.contains(&first);
            ours && !is_api_version(rest)
        }
        None => ENDINGS.iter().any(|ending| span.ends_with(ending) && span.len() > ending.len()),
    }
}

fn is_api_version(part: &str) -> bool {
    part.strip_prefix('v').is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_digit()))
}

fn path_exists(tree: &Tree, document: &str, span: &str) -> bool {
    if !span.contains('/') {
        return tree.paths().any(|path| path.rsplit('/').next() == Some(span));
    }
    tree.exists(span) || resolve(document, span).is_some_and(|path| tree.exists(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrongs(text: &str) -> Vec<String> {
        let glossary = ("docs/glossary.md", "# Words\n");
        let tree =
            Tree::of(&[("docs/page.md", text), glossary, ("core/model/src/lib.rs", ""), ("README.md", "")]);
        check(&tree).into_iter().map(|violation| format!("{}: {}", violation.line, violation.wrong)).collect()
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        assert!(wrongs("# A\n[a](glossary.md) [b](../README.md) [c](glossary.md#words) [d](#a)").is_empty());
        assert!(wrongs("[a](https://example.org/x) [b](../core/model)").is_empty());
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        assert_eq!(wrongs("\n[a](lost.md)"), ["2: the link to `lost.md` leads nowhere"]);
        assert_eq!(wrongs("[a](../../x.md)"), ["1: the link to `../../x.md` leads nowhere"]);
        assert_eq!(wrongs("[a](glossary.md#verbs)"), ["1: `docs/glossary.md` has no heading for `#verbs`"]);
    }

    #[test]
    fn paths_in_code_spans_exist() {
        assert!(wrongs("`core/model` `core/model/src/lib.rs` `lib.rs` `docs/glossary.md`").is_empty());
        assert_eq!(wrongs("`core/lost`"), ["1: `core/lost` does not exist"]);
        assert_eq!(wrongs("`lost.rs`"), ["1: `lost.rs` does not exist"]);
    }

    #[test]
    fn patterns_api_versions_and_fenced_lines_are_not_paths() {
        assert!(
            wrongs("`core/*` `docs/decisions/YYYY-MM-DD-slug.md` `core/<name>` `core/v1` `apps/v1`")
                .is_empty()
        );
        assert!(
            wrongs("`scheduling.k8s.io/v1beta1` `.rs` `a/b`\n```\n[a](lost.md) `core/lost`\n```").is_empty()
        );
    }
}
