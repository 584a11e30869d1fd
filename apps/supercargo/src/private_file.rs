//! Files with credentials: readable by their owner only, whatever was there before, and never half written.
//!
//! A kubeconfig belongs to a server for as long as that runs. The server holds a lock on the file, which ends with the process
//! however that ends, so a file that nobody holds is free to be replaced, if a server wrote it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A file that belongs to this process until it is dropped.
pub(crate) struct Held {
    pub(crate) path: PathBuf,
    _locks: Vec<File>,
}

/// Why a file was not written.
pub(crate) enum NotHeld {
    /// It belongs to another process, which runs.
    Taken,
    /// It is not one that may be replaced.
    Foreign,
    /// The system refused.
    Failed(io::Error),
}

impl From<io::Error> for NotHeld {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// Replaces a file by one that only its owner can read.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    let (file, temporary) = temporary(path)?;
    finish(file, &temporary, text, |temporary| fs::rename(temporary, path)).map(drop)
}

/// Makes a file accessible to its owner only.
pub(crate) fn restrict(path: &Path) -> io::Result<()> {
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & 0o077 == 0 {
        Ok(())
    } else {
        fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o700))
    }
}

/// Like `write`, and holds the file, unless another process holds it, or what it says is neither nothing nor ours.
pub(crate) fn hold(path: &Path, text: &str, is_ours: fn(&[u8]) -> bool) -> Result<Held, NotHeld> {
    // A link leads to the file that is meant.
    let meant = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match meant.metadata() {
        // A terminal or a pipe is written to and belongs to nobody.
        Ok(there) if !there.is_file() => {
            OpenOptions::new().write(true).open(&meant)?.write_all(text.as_bytes())?;
            Ok(Held { path: path.to_owned(), _locks: Vec::new() })
        }
        _ => Ok(Held { path: path.to_owned(), _locks: replace(&meant, text, is_ours)? }),
    }
}

fn replace(path: &Path, text: &str, is_ours: fn(&[u8]) -> bool) -> Result<Vec<File>, NotHeld> {
    let (file, temporary) = temporary(path)?;
    lock(&file)?;
    // Whoever looks at the old file while it is replaced finds it held as well.
    let mut before = None;
    let file = finish(file, &temporary, text, |temporary| {
        loop {
            match File::open(path) {
                Ok(mut old) => {
                    lock(&old)?;
                    let mut said = Vec::new();
                    old.read_to_end(&mut said)?;
                    if is_at(&old, path)? {
                        if !said.is_empty() && !is_ours(&said) {
                            return Err(NotHeld::Foreign);
                        }
                        before = Some(old);
                        return Ok(fs::rename(temporary, path)?);
                    }
                }
                // A link is made only where nothing is, so of two servers that start at once one makes it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::hard_link(temporary, path)
                {
                    Ok(()) => return Ok(fs::remove_file(temporary)?),
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    // Some file systems have no links.
                    Err(_) => return Ok(fs::rename(temporary, path)?),
                },
                Err(error) => return Err(NotHeld::Failed(error)),
            }
        }
    })?;
    Ok([Some(file), before].into_iter().flatten().collect())
}

/// Some file systems have no locks; files on them count as not locked.
fn lock(file: &File) -> Result<(), NotHeld> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(NotHeld::Taken),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// Whether the file is still the one of that name.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let file = file.metadata()?;
    Ok(path.metadata().is_ok_and(|there| (there.dev(), there.ino()) == (file.dev(), file.ino())))
}

/// An empty file in the same directory, with a unique name.
fn temporary(path: &Path) -> io::Result<(File, PathBuf)> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", uuid::Uuid::new_v4().simple()));
    let temporary = path.with_file_name(name);
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    Ok((file, temporary))
}

/// Writes the text, and gives the file its name; what is not complete is removed.
fn finish<E: From<io::Error>>(
    mut file: File,
    temporary: &Path,
    text: &str,
    name: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<File, E> {
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(E::from);
    match written.and_then(|()| name(temporary)) {
        Ok(()) => Ok(file),
        Err(error) => {
            let _ = fs::remove_file(temporary);
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::{NotHeld, hold, restrict, write};

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("supercargo-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the folder is ours");
        folder
    }

    fn mode(path: &PathBuf) -> u32 {
        fs::metadata(path).expect("it is there").permissions().mode() & 0o777
    }

    #[test]
    fn a_file_that_all_could_read_is_private_after_it_was_written() {
        let folder = folder("private");
        let path = folder.join("file");
        for again in ["one", "two"] {
            fs::write(&path, "old").expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("ours");
            if again == "one" {
                write(&path, again).expect("written")
            } else {
                drop(hold(&path, again, |_| true))
            }
            assert_eq!((mode(&path), fs::read_to_string(&path).expect("text").as_str()), (0o600, again));
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("ours");
        restrict(&path).expect("ours");
        assert_eq!(mode(&path), 0o600);
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1, "nothing is left beside it");
        fs::remove_dir_all(&folder).expect("the folder is ours");
    }

    #[test]
    fn a_file_belongs_to_the_one_who_holds_it() {
        let folder = folder("held");
        let (path, link) = (folder.join("file"), folder.join("link"));
        std::os::unix::fs::symlink(&path, &link).expect("ours");
        for holder in ["first", "second"] {
            let held = hold(&path, holder, |_| true).ok().expect("nobody holds it");
            assert!(matches!(hold(&path, "other", |_| true), Err(NotHeld::Taken)));
            assert!(matches!(hold(&link, "other", |_| true), Err(NotHeld::Taken)));
            assert_eq!(fs::read_to_string(&path).expect("text"), holder);
            drop(held);
        }
        drop(hold(&link, "by the link", |_| true));
        assert_eq!(fs::read_to_string(&path).expect("text"), "by the link");
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 2, "nothing is left beside it");
        fs::remove_dir_all(&folder).expect("the folder is ours");
    }

    #[test]
    fn a_file_that_is_not_ours_is_left_as_it_is() {
        let folder = folder("foreign");
        let path = folder.join("file");
        let hold = |text| hold(&path, text, |said| said.starts_with(b"ours"));
        for (before, replaced) in [("", true), ("ours: 1", true), ("theirs: 1", false)] {
            fs::write(&path, before).expect("written");
            assert_eq!(hold("ours: 2").is_ok(), replaced, "{before}");
            let after = if replaced { "ours: 2" } else { before };
            assert_eq!(fs::read_to_string(&path).expect("text"), after);
        }
        assert!(matches!(hold("ours: 3"), Err(NotHeld::Foreign)));
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1, "nothing is left beside it");
        fs::remove_dir_all(&folder).expect("the folder is ours");
    }
}
