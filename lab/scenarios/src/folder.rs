//! Where scenarios are, and which files there are.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// Scenarios cannot be found.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A folder cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The folder.
        path: String,
        /// Why not.
        source: io::Error,
    },
    /// Nothing would be run, which looks like success and is none.
    #[error("{0} has no scenarios; hint: they are files that end in .yaml")]
    Empty(String),
}

/// The scenarios of this workspace.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// All files with scenarios in a folder and below it, in the order of their paths.
///
/// # Errors
/// The folder cannot be read, or has no scenarios.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        let read = |source| FolderError::Read { path: next.display().to_string(), source };
        for entry in fs::read_dir(&next).map_err(read)? {
            let path = entry.map_err(read)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "yaml") {
                found.push(path);
            }
        }
    }
    if found.is_empty() {
        return Err(FolderError::Empty(folder.display().to_string()));
    }
    found.sort();
    Ok(found)
}

/// A file as people know it: from the root of the workspace if it lies in the folder of scenarios.
#[must_use]
pub fn shown(file: &Path) -> String {
    match file.strip_prefix(folder()) {
        Ok(inside) => format!("scenarios/{}", inside.display()),
        Err(_) => file.display().to_string(),
    }
}
