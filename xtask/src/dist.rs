//! What is handed out: the program with its manual and completions as an archive, the chart, a list of what it is made of, and checksums.
//!
//! Invariant: of the same commit, the same compiler and the same target the same bytes are made, wherever and whenever that is done.

mod image;
mod program;
mod sbom;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::archive::{Packed, archive, gzip, hex};
use program::{Program, TARGET};

/// Why there is nothing to hand out.
#[derive(Debug)]
pub(crate) enum DistError {
    /// The command line means nothing.
    Usage(String),
    /// A command that is needed failed.
    Command(String),
    /// A file cannot be read or written.
    File(PathBuf, io::Error),
}

impl std::fmt::Display for DistError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Usage(why) => write!(
                out,
                "{why}\nhint: --out DIR says where to write, --binary FILE takes a program that is built already"
            ),
            Self::Command(why) => write!(out, "{why}"),
            Self::File(path, error) => write!(out, "cannot read or write {}: {error}", path.display()),
        }
    }
}

/// What the command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    out: Option<PathBuf>,
    binary: Option<PathBuf>,
}

impl Options {
    fn parse(words: &[&str]) -> Result<Self, DistError> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let slot = match *word {
                "--out" => &mut options.out,
                "--binary" => &mut options.binary,
                other => return Err(DistError::Usage(format!("`{other}` is not expected here"))),
            };
            let value = words.next().ok_or_else(|| DistError::Usage(format!("{word} needs a value")))?;
            *slot = Some(PathBuf::from(value));
        }
        Ok(options)
    }

    fn out(&self) -> PathBuf {
        self.out.clone().unwrap_or_else(|| root().join("target/archives"))
    }
}

/// The folder of the workspace.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the workspace")
}

/// Writes the archives and their checksums, and gives their paths.
pub(crate) fn archives(words: &[&str]) -> Result<Vec<PathBuf>, DistError> {
    let options = Options::parse(words)?;
    let program = Program::at(options.binary.as_deref())?;
    let sbom = sbom::list(&program)?;
    let name = format!("supercargo-{}-{TARGET}", program.version);
    let mut files = program.manual_and_completions()?;
    files.insert("supercargo".to_owned(), Packed::Program(program.bytes.clone()));
    files.insert("sbom.cdx.json".to_owned(), Packed::File(sbom.clone()));
    for document in ["LICENSE", "README.md", "CHANGELOG.md", "deploy/supercargo.yaml"] {
        let short = document.rsplit('/').next().unwrap_or(document);
        files.insert(short.to_owned(), Packed::File(read(&root().join(document))?));
    }
    let packed = |folder: &str, files: BTreeMap<String, Packed>| {
        let files = files.into_iter().map(|(path, entry)| (format!("{folder}/{path}"), entry)).collect();
        gzip(&archive(&files, program.time)).map_err(|error| DistError::File(options.out(), error))
    };
    let outputs = [
        (format!("{name}.tar.gz"), packed(&name, files)?),
        (format!("supercargo-chart-{}.tgz", program.version), packed("supercargo", chart()?)?),
        (format!("{name}.cdx.json"), sbom),
    ];
    let sums: String = outputs.iter().map(|(file, bytes)| format!("{}  {file}\n", hex(bytes))).collect();
    let outputs = outputs.into_iter().chain([("SHA256SUMS".to_owned(), sums.into_bytes())]);
    outputs.map(|(file, bytes)| write(&options.out().join(file), &bytes)).collect()
}

/// Writes an image as a folder in the layout of the Open Container Initiative and as an archive of that, and gives their paths.
pub(crate) fn image(words: &[&str]) -> Result<Vec<PathBuf>, DistError> {
    let options = Options::parse(words)?;
    let program = Program::at(options.binary.as_deref())?;
    let files = image::layout(&program).map_err(|error| DistError::File(options.out(), error))?;
    let folder = options.out().join(format!("supercargo-{}-image", program.version));
    for (path, bytes) in &files {
        write(&folder.join(path), bytes)?;
    }
    let entries = files.into_iter().map(|(path, bytes)| (path, Packed::File(bytes))).collect();
    let archived =
        folder.with_extension("").with_file_name(format!("supercargo-{}-image.tar", program.version));
    Ok(vec![folder, write(&archived, &archive(&entries, program.time))?])
}

/// The files of the chart, but for those that only our checks need.
fn chart() -> Result<BTreeMap<String, Packed>, DistError> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![String::new()]);
    while let Some(folder) = folders.pop() {
        let path = root().join("deploy/chart").join(&folder);
        let failed = |error| DistError::File(path.clone(), error);
        for found in fs::read_dir(&path).map_err(failed)? {
            let found = found.map_err(failed)?;
            let name = format!("{folder}{}", found.file_name().to_string_lossy());
            match found.path().is_dir() {
                true if name == "ci" => {}
                true => folders.push(format!("{name}/")),
                false => drop(files.insert(name, Packed::File(read(&found.path())?))),
            }
        }
    }
    Ok(files)
}

fn read(path: &Path) -> Result<Vec<u8>, DistError> {
    fs::read(path).map_err(|error| DistError::File(path.to_owned(), error))
}

fn write(path: &Path, bytes: &[u8]) -> Result<PathBuf, DistError> {
    let failed = |error| DistError::File(path.to_owned(), error);
    fs::create_dir_all(path.parent().unwrap_or(path)).map_err(failed)?;
    fs::write(path, bytes).map_err(failed)?;
    Ok(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_mistakes_are_named() {
        let read = Options::parse(&["--out", "o", "--binary", "b"]).expect("they are right");
        assert_eq!(read, Options { out: Some("o".into()), binary: Some("b".into()) });
        for (words, told) in [(&["--ou"][..], "`--ou`"), (&["--out"][..], "--out needs")] {
            let error = Options::parse(words).expect_err("it is wrong").to_string();
            assert!(error.contains(told) && error.contains("hint:"), "{error}");
        }
    }

    #[test]
    fn the_chart_is_packed_without_the_values_of_our_checks() {
        let chart = chart().expect("it can be read");
        assert!(chart.contains_key("Chart.yaml") && chart.contains_key("files/roles/scheduler.yaml"));
        assert!(chart.keys().all(|path| !path.starts_with("ci")), "{:?}", chart.keys());
    }
}
