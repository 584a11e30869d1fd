//! No circle of modules within facts, decisions and life cycles.
//!
//! A module depends on another if it uses an item of it, or calls a method that the other defines on a type which both extend. What
//! depends on each other can only be read, tested and changed together, however many files it is in.
//!
//! A file that only names other files is a table of contents: what is used through it is used where it is defined.

mod calls;
mod graph;
mod imports;
mod sources;

use super::tree::Tree;
use super::violation::Violation;
use graph::Graph;
use sources::Sources;

/// The crates that are looked at.
const CRATES: [&str; 3] = ["core/cluster/src/", "core/decisions/src/", "core/scheduler/src/"];

/// The engine routes between life cycles, and knows all of them.
const ENGINE: &str = "core/scheduler/src/engine";

const HINT: &str =
    "move what both need into a module below them, or the function to the module that it is about";

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    CRATES.into_iter().flat_map(|root| check_crate(tree, root)).collect()
}

fn check_crate(tree: &Tree, root: &str) -> Vec<Violation> {
    let files = tree.rust().filter(|(path, text)| path.starts_with(root) && !is_engine(path, text));
    let sources = Sources::new(root, files);
    let elsewhere = tree.rust().filter(|(path, _)| path.starts_with("core/") && !path.starts_with(root));
    let mut graph = Graph::default();
    imports::add_edges(&sources, &mut graph);
    calls::add_edges(&sources, &calls::defined_elsewhere(elsewhere), &mut graph);
    let told = |circle: Vec<String>| {
        let steps = circle.iter().zip(circle.iter().cycle().skip(1));
        let steps: Vec<String> = steps
            .map(|(from, to)| {
                format!("{} uses {} of {}", name(root, from), graph.reason(from, to), name(root, to))
            })
            .collect();
        let wrong = format!("{} modules are in a circle: {}", circle.len(), steps.join(", "));
        Violation::new(&circle[0], 1, wrong, HINT)
    };
    graph.circles().into_iter().map(told).collect()
}

fn name<'p>(root: &str, path: &'p str) -> &'p str {
    path.strip_prefix(root).unwrap_or(path)
}

fn is_engine(path: &str, text: &str) -> bool {
    path.starts_with(ENGINE) || text.lines().any(|line| line.starts_with("impl Engine"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrongs(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> =
            files.iter().map(|(path, text)| (format!("core/decisions/src/{path}"), *text)).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        check(&Tree::of(&files)).into_iter().map(|violation| violation.wrong).collect()
    }

    #[test]
    fn modules_that_use_items_of_each_other_are_refused() {
        let found = wrongs(&[
            ("a.rs", "use crate::b::{B, C};\npub struct A(B);"),
            ("b.rs", "use super::a::A;\npub struct B;\npub struct C(A);"),
        ]);
        assert_eq!(found, ["2 modules are in a circle: a.rs uses `B` of b.rs, b.rs uses `A` of a.rs"]);
    }

    #[test]
    fn a_method_of_a_shared_type_counts_as_much_as_an_item() {
        let cycle = ("cycle.rs", "pub struct Cycle<'c>(&'c ());");
        let pod = "use crate::cycle::Cycle;\nimpl Cycle<'_> {\n    fn choose(&self) {\n        self.devices_on();\n    }\n}";
        let gang = "use crate::cycle::Cycle;\nimpl Cycle<'_> {\n    fn devices_on(&self) {\n        look(self.inner.choose())\n    }\n}";
        let expected = "2 modules are in a circle: gang.rs uses `choose()` of pod.rs, pod.rs uses `devices_on()` of gang.rs";
        assert_eq!(wrongs(&[cycle, ("pod.rs", pod), ("gang.rs", gang)]), [expected]);
        let below = gang.replace("choose", "get");
        assert!(
            wrongs(&[cycle, ("pod.rs", &pod.replace("fn choose", "fn get")), ("gang.rs", &below)]).is_empty()
        );
    }

    #[test]
    fn a_method_that_a_type_of_another_crate_has_too_is_called_of_either() {
        let at = |file: &str| format!("core/decisions/src/{file}");
        let pod = "use crate::cycle::Cycle;\nimpl Cycle<'_> {\n    fn choose(&self) {\n        self.facts.rewind();\n    }\n}";
        let gang = "use crate::cycle::Cycle;\nimpl Cycle<'_> {\n    fn rewind(&self) {\n        self.choose();\n    }\n}";
        let files =
            [(at("cycle.rs"), "pub struct Cycle<'c>(&'c ());"), (at("pod.rs"), pod), (at("gang.rs"), gang)];
        let mut files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        assert_eq!(check(&Tree::of(&files)).len(), 1);
        files.push(("core/cluster/src/trial.rs", "impl Trial {\n    fn rewind(&mut self) {}\n}"));
        assert!(check(&Tree::of(&files)).is_empty());
    }

    #[test]
    fn an_associated_function_and_a_path_in_the_code_count() {
        let a = "use crate::t::T;\nimpl T {\n    pub fn one() {\n        crate::b::two();\n    }\n}";
        let b = "use crate::t::T;\nimpl T {\n    fn three() {}\n}\npub fn two() {\n    T::one();\n}";
        let found = wrongs(&[("t.rs", "pub struct T;"), ("a.rs", a), ("b.rs", b)]);
        assert_eq!(found, ["2 modules are in a circle: a.rs uses `two` of b.rs, b.rs uses `T::one` of a.rs"]);
    }

    #[test]
    fn a_table_of_contents_is_looked_through() {
        let contents = "mod a;\nmod b;\npub use self::a::A;\npub use self::b::{B as C, D};";
        let files = [
            ("f/mod.rs", contents),
            ("f/a.rs", "use crate::f::C;\npub struct A(C);"),
            ("f/b.rs", "pub struct B;\npub struct D;"),
        ];
        assert!(wrongs(&files).is_empty());
        let back = ("f/b.rs", "use crate::f;\npub struct B(f::A);\npub struct D;");
        let found = wrongs(&[files[0], files[1], back]);
        assert_eq!(
            found,
            ["2 modules are in a circle: f/a.rs uses `B` of f/b.rs, f/b.rs uses `A` of f/a.rs"]
        );
    }

    #[test]
    fn an_item_beside_what_uses_it_is_no_contents() {
        let found = wrongs(&[
            ("f/mod.rs", "mod a;\npub struct Settings;\npub fn all() {\n    a::check();\n}"),
            ("f/a.rs", "use super::Settings;\npub fn check(settings: Settings) {}"),
        ]);
        assert_eq!(
            found,
            [
                "2 modules are in a circle: f/a.rs uses `Settings` of f/mod.rs, f/mod.rs uses `check` of f/a.rs"
            ]
        );
    }

    #[test]
    fn tests_comments_and_the_engine_may_use_anything() {
        let a = "// use crate::b::B;\npub struct A;\n#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}";
        assert!(wrongs(&[("a.rs", a), ("b.rs", "use crate::a::A;\npub struct B(A);")]).is_empty());
        let engine = "use crate::queue::Queue;\npub struct Engine(Queue);\npub struct Turn;";
        let files = [
            ("core/scheduler/src/engine.rs", engine),
            ("core/scheduler/src/queue.rs", "use crate::engine::Turn;\npub struct Queue(Turn);"),
        ];
        assert!(check(&Tree::of(&files)).is_empty());
    }
}
