//! The engine stays small enough to be seen: few fields, and methods only in its own folder.
//!
//! What is under way belongs to a life cycle, what is known to the facts, and what is found out to a decision. A field or a method
//! that is put onto the engine instead is reached by everything.

use super::tree::Tree;
use super::violation::Violation;

const FILE: &str = "core/scheduler/src/engine.rs";
const FOLDER: &str = "core/scheduler/src/engine/";
const CRATE: &str = "core/scheduler/src/";
const FIELDS_MAX: usize = 10;

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in tree.rust().filter(|(path, _)| path.starts_with(CRATE)) {
        if path == FILE {
            violations.extend(too_many_fields(text));
        } else if !path.starts_with(FOLDER) {
            violations.extend(methods_elsewhere(path, text));
        }
    }
    violations
}

fn too_many_fields(text: &str) -> Option<Violation> {
    let lines: Vec<(usize, &str)> = text.lines().enumerate().collect();
    let begins = lines.iter().position(|(_, line)| line.starts_with("pub struct Engine {"))?;
    let body = lines[begins + 1..].iter().take_while(|(_, line)| *line != "}");
    let is_field = |line: &str| {
        let line = line.trim_start();
        !line.starts_with("//") && !line.starts_with('#') && line.contains(": ")
    };
    let fields = body.filter(|(_, line)| is_field(line)).count();
    let wrong = format!("`Engine` has {fields} fields, and {FIELDS_MAX} are the most");
    let hint = "give the field to the facts, the plans, the caches or the life cycle that it belongs to";
    (fields > FIELDS_MAX).then(|| Violation::new(FILE, begins + 1, wrong, hint))
}

fn methods_elsewhere(path: &str, text: &str) -> Vec<Violation> {
    let is_impl = |line: &str| {
        let line = line.trim_start();
        line.starts_with("impl Engine") || (line.starts_with("impl") && line.contains(" for Engine"))
    };
    let found = text.lines().enumerate().filter(|(_, line)| is_impl(line));
    let told = |(at, _): (usize, &str)| {
        let hint = format!("move it below `{FOLDER}`, or make it a function of what it needs");
        Violation::new(path, at + 1, "methods of `Engine` outside of its folder", hint)
    };
    found.map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrongs(files: &[(&str, &str)]) -> Vec<String> {
        let found = check(&Tree::of(files));
        found.into_iter().map(|violation| format!("{}: {}", violation.path, violation.wrong)).collect()
    }

    #[test]
    fn eleven_fields_are_one_too_many_and_comments_are_none() {
        let field = |at: usize| format!("    /// Says: this.\n    #[allow(x: y)]\n    pub field{at}: u8,\n");
        let engine =
            |count: usize| format!("pub struct Engine {{\n{}}}\n", (0..count).map(field).collect::<String>());
        assert!(wrongs(&[(FILE, &engine(10))]).is_empty());
        let expected = format!("{FILE}: `Engine` has 11 fields, and 10 are the most");
        assert_eq!(wrongs(&[(FILE, &engine(11))]), [expected]);
    }

    #[test]
    fn methods_are_in_its_folder_only() {
        let method = "impl Engine {\n    fn act(&mut self) {}\n}\n";
        assert!(wrongs(&[("core/scheduler/src/engine/act.rs", method)]).is_empty());
        let told = "core/scheduler/src/queue.rs: methods of `Engine` outside of its folder";
        assert_eq!(wrongs(&[("core/scheduler/src/queue.rs", method)]), [told]);
        assert_eq!(wrongs(&[("core/scheduler/src/queue.rs", "impl Underway for Engine {}\n")]), [told]);
        assert!(wrongs(&[("core/decisions/src/cycle.rs", "impl Cycle {}\n")]).is_empty());
    }
}
