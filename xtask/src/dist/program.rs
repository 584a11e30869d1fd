//! The program that is handed out: linked statically, so that it runs on any Linux and in an image that has nothing else.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{DistError, read, root};
use crate::archive::Packed;

/// What it is built for.
pub(crate) const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A program with what is to be known of it.
pub(crate) struct Program {
    pub(crate) bytes: Vec<u8>,
    pub(crate) version: String,
    /// The commit, with `-dirty` if files were changed since; empty outside of a repository.
    pub(crate) commit: String,
    /// The time of the commit, in seconds since 1970, or what `SOURCE_DATE_EPOCH` says.
    pub(crate) time: u64,
    path: PathBuf,
}

impl Program {
    /// The program at a path, or a new build.
    pub(crate) fn at(path: Option<&Path>) -> Result<Self, DistError> {
        let commit = commit();
        let path = match path {
            Some(path) => fs::canonicalize(path).map_err(|error| DistError::File(path.to_owned(), error))?,
            None => build(&commit)?,
        };
        let bytes = read(&path)?;
        let asked = answer(&path, &["--version"])?;
        let version = asked.trim().strip_prefix("supercargo ").map(str::to_owned);
        let version = version.ok_or_else(|| {
            DistError::Command(format!("{} is not supercargo: {}", path.display(), asked.trim()))
        })?;
        let given = env::var("SOURCE_DATE_EPOCH").ok().or_else(|| git(&["log", "-1", "--format=%ct"]));
        let time = given.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        Ok(Self { bytes, version, commit, time, path })
    }

    /// A program of these bytes, for tests.
    #[cfg(test)]
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        let (version, commit) = ("1.2.3".to_owned(), "c0ffee".to_owned());
        Self { bytes, version, commit, time: 1_700_000_000, path: PathBuf::new() }
    }

    /// What the program says of itself, for people and shells.
    pub(crate) fn manual_and_completions(&self) -> Result<BTreeMap<String, Packed>, DistError> {
        let mut files = BTreeMap::new();
        for (shell, name) in
            [("bash", "supercargo.bash"), ("zsh", "_supercargo"), ("fish", "supercargo.fish")]
        {
            let script = answer(&self.path, &["completion", shell])?;
            files.insert(format!("completions/{name}"), Packed::File(script.into_bytes()));
        }
        let folder = env::temp_dir().join(format!("xtask-man-{}", std::process::id()));
        let pages = answer(&self.path, &["man", "--dir", &folder.to_string_lossy()])?;
        for page in pages.lines() {
            files.insert(format!("man/man1/{page}"), Packed::File(read(&folder.join(page))?));
        }
        fs::remove_dir_all(&folder).map_err(|error| DistError::File(folder, error))?;
        Ok(files)
    }
}

/// Builds the program so that nothing in it tells of this machine.
fn build(commit: &str) -> Result<PathBuf, DistError> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo"))).unwrap_or_default();
    let flags = [
        "-C".to_owned(),
        "target-feature=+crt-static".to_owned(),
        format!("--remap-path-prefix={}=.", root().display()),
        format!("--remap-path-prefix={}=cargo", home.display()),
    ];
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root()).args(["build", "--locked", "--profile", "dist", "--package", "supercargo"]);
    // With a target named, flags are not for what runs during the build.
    cargo.args(["--target", TARGET]).env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    if !commit.is_empty() {
        cargo.env("SUPERCARGO_COMMIT", commit);
    }
    let ended = cargo.status().map_err(|error| DistError::Command(format!("cannot run cargo: {error}")))?;
    if !ended.success() {
        return Err(DistError::Command("the program cannot be built".to_owned()));
    }
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(target.join(TARGET).join("dist/supercargo"))
}

fn commit() -> String {
    let Some(commit) = git(&["rev-parse", "HEAD"]) else { return String::new() };
    let is_clean = git(&["status", "--porcelain"]).is_none_or(|changed| changed.is_empty());
    format!("{}{}", commit.trim(), if is_clean { "" } else { "-dirty" })
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").current_dir(root()).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn answer(program: &Path, arguments: &[&str]) -> Result<String, DistError> {
    let name = program.display();
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| DistError::Command(format!("cannot run {name}: {error}")))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(DistError::Command(format!("{name} {}: {why}", arguments.join(" "))));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
