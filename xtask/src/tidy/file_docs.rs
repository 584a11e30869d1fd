//! Every Rust file begins by saying what it is.

use super::tree::Tree;
use super::violation::Violation;

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let undocumented = tree.rust().filter(|(_, text)| !begins_with_docs(text));
    undocumented
        .map(|(path, _)| {
            let hint = "say what the file is and which invariant it keeps";
            Violation::new(path, 1, "the file does not begin with `//!` and a sentence", hint)
        })
        .collect()
}

fn begins_with_docs(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    first.strip_prefix("//!").is_some_and(|sentence| !sentence.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        check(&Tree::of(&[("core/model/src/lib.rs", text)])).len()
    }

    #[test]
    fn the_first_line_says_what_the_file_is() {
        assert_eq!(found("//! What it is.\n"), 0);
        assert_eq!(found("use std::fmt;\n//! Too late."), 1);
        assert_eq!(found("//!\n"), 1);
        assert_eq!(found("// Only a comment.\n"), 1);
        assert_eq!(found(""), 1);
    }
}
