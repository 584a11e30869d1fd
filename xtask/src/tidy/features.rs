//! A crate from outside has the same features whichever of our crates is built, so that it and all above it are compiled once.
//!
//! Cargo gives a crate the features that the crates being built ask for. So each crate of ours is asked about alone, and its
//! answer is held against that of the build in which all are: `cargo test --workspace` for tests, and `cargo build` for the
//! programs of lab and apps. xtask uses none of our crates, and so goes its own way.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::thread;

use super::CannotLook;
use super::rooms::Room;
use super::violation::Violation;
use super::workspace::{Package, Workspace};

/// Name and version of a crate, and whether it is built for macros, which have features of their own.
type Name = (String, bool);

/// The features with which each crate is built.
type Crates = BTreeMap<Name, BTreeSet<String>>;

/// A build of one crate of ours.
#[derive(Debug)]
struct Part {
    command: String,
    manifest: String,
    crates: Crates,
}

/// A build of all that usually is built, and builds of single crates that are to agree with it.
#[derive(Debug)]
pub(crate) struct Builds {
    command: &'static str,
    crates: Crates,
    parts: Vec<Part>,
}

impl Builds {
    /// Asks cargo about the tests of all crates and the programs of lab and apps.
    pub(crate) fn load(root: &Path, workspace: &Workspace) -> Result<[Self; 2], CannotLook> {
        let of_rooms = |rooms: &[Room]| {
            let is_in =
                |package: &&Package| Room::of(package.folder()).is_some_and(|room| rooms.contains(&room));
            workspace.packages.iter().filter(is_in).collect::<Vec<_>>()
        };
        let tests = of_rooms(&[Room::Core, Room::Api, Room::Edge, Room::Lab, Room::Apps]);
        let programs = of_rooms(&[Room::Lab, Room::Apps]);
        Ok([
            Self {
                command: "cargo test --workspace",
                crates: ask(root, "normal,dev", &["--workspace"])?,
                parts: parts(root, "test", "normal,dev", &tests)?,
            },
            Self {
                command: "cargo build",
                crates: ask(root, "normal", &[])?,
                parts: parts(root, "build", "normal", &programs)?,
            },
        ])
    }
}

/// Asks about each package alone, about several at once.
fn parts(root: &Path, verb: &str, edges: &str, packages: &[&Package]) -> Result<Vec<Part>, CannotLook> {
    let part = |package: &Package| {
        let crates = ask(root, edges, &["--package", &package.name])?;
        let command = format!("cargo {verb} -p {}", package.name);
        Ok(Part { command, manifest: package.manifest.clone(), crates })
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let chunk = packages.len().div_ceil(threads).max(1);
    thread::scope(|scope| {
        let ask_all = |packages: &[&Package]| packages.iter().map(|package| part(package)).collect();
        let running: Vec<_> =
            packages.chunks(chunk).map(|packages| scope.spawn(move || ask_all(packages))).collect();
        let answers = running.into_iter().map(|one| one.join().expect("it panics only if we do"));
        answers
            .collect::<Result<Vec<Vec<Part>>, CannotLook>>()
            .map(|parts| parts.into_iter().flatten().collect())
    })
}

fn ask(root: &Path, edges: &str, of: &[&str]) -> Result<Crates, CannotLook> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--locked", "--prefix", "depth", "--format", "{p}|{f}", "--edges", edges])
        .args(of)
        .current_dir(root)
        .output()
        .map_err(|error| CannotLook(format!("cannot run cargo tree: {error}")))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(CannotLook(format!("cargo tree failed: {complaint}")));
    }
    Ok(read(&String::from_utf8_lossy(&output.stdout)))
}

/// Reads lines such as `2memchr v2.8.3|alloc,std (*)`, which begin with a depth. What is below a macro is built for macros.
fn read(answer: &str) -> Crates {
    let mut crates = Crates::new();
    let mut macro_depth = None;
    for line in answer.lines() {
        let Some((package, features)) = line.trim_end_matches(" (*)").split_once('|') else { continue };
        let digits = package.bytes().take_while(u8::is_ascii_digit).count();
        let (depth, package) = package.split_at(digits);
        let depth: usize = depth.parse().unwrap_or(0);
        macro_depth = macro_depth.filter(|top| depth > *top);
        if macro_depth.is_none() && package.ends_with("(proc-macro)") {
            macro_depth = Some(depth);
        }
        let name: Vec<&str> = package.split(' ').take(2).collect();
        let features = features.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        crates.insert((name.join(" "), macro_depth.is_some()), features);
    }
    crates
}

pub(crate) fn check(builds: &[Builds]) -> Vec<Violation> {
    let parts = builds.iter().flat_map(|all| all.parts.iter().map(move |part| (all, part)));
    parts.flat_map(|(all, part)| check_part(all, part)).collect()
}

fn check_part(all: &Builds, part: &Part) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (name, features) in &part.crates {
        let Some(usual) = all.crates.get(name).filter(|usual| *usual != features) else { continue };
        let lacks = usual.difference(features).map(|name| format!(" -{name}"));
        let has = features.difference(usual).map(|name| format!(" +{name}"));
        let (name, is_for_macros) = name;
        let wrong = format!(
            "`{}` builds {name}{} with other features than `{}` does:{}",
            part.command,
            if *is_for_macros { " for macros" } else { "" },
            all.command,
            lacks.chain(has).collect::<String>()
        );
        let hint = "name its features in [workspace.dependencies] in Cargo.toml if a crate of ours uses it, \
            and in lab/shared-features if none does";
        violations.push(Violation::new(&part.manifest, 1, wrong, hint));
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrongs(all: &str, part: &str) -> Vec<String> {
        let part = Part {
            command: "cargo test -p bench".to_owned(),
            manifest: "lab/bench/Cargo.toml".to_owned(),
            crates: read(part),
        };
        let builds = Builds { command: "cargo test --workspace", crates: read(all), parts: vec![part] };
        check(&[builds]).into_iter().map(|violation| violation.wrong).collect()
    }

    #[test]
    fn a_crate_that_is_built_with_fewer_features_alone_is_found() {
        let all = "0bench v0.1.0 (/somewhere/lab/bench)|\n1memchr v2.8.3|alloc,default,std\n2memchr v2.8.3|alloc,default,std (*)\n";
        assert!(wrongs(all, all).is_empty());
        let found = wrongs(all, "0bench v0.1.0 (/somewhere/lab/bench)|\n1memchr v2.8.3|alloc,std\n");
        let expected = "`cargo test -p bench` builds memchr v2.8.3 with other features than `cargo test --workspace` does: -default";
        assert_eq!(found, [expected]);
        assert!(wrongs("0memchr v2.8.3|", "0memchr v2.8.3|std")[0].ends_with(": +std"));
    }

    #[test]
    fn crates_that_only_one_build_has_are_its_own_affair() {
        assert!(wrongs("0memchr v2.8.3|std", "0flate2 v1.1.10|zlib").is_empty());
        assert!(wrongs("0syn v2.0.119|full", "0syn v3.0.9|").is_empty(), "versions are crates of their own");
    }

    #[test]
    fn what_is_built_for_macros_is_held_against_what_is_built_for_macros() {
        let build = |for_macros: &str, plain: &str| {
            format!(
                "0bench v0.1.0|\n1derive v1.0.0 (proc-macro)|\n2syn v3.0.9|{for_macros}\n1syn v3.0.9|{plain}\n"
            )
        };
        let all = build("full,visit", "full");
        assert!(wrongs(&all, &all).is_empty());
        let found = wrongs(&all, &build("full", "full"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("builds syn v3.0.9 for macros with") && found[0].ends_with(": -visit"));
        assert_eq!(wrongs(&all, &build("full,visit", "full,visit")).len(), 1);
    }
}
