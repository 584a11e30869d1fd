//! What came and went in the registration directory.
//!
//! The directory is looked at a few times a second, and not watched. A look cannot miss anything, be reordered or overflow,
//! works on every file system and on every Unix, and costs a few microseconds; what notifications would save is a moment
//! when a driver starts.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// How deep below the directory sockets are looked for.
const DEPTH_MAX: usize = 3;

/// What tells a socket from another that took its place. The inode alone may be used again at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SocketId {
    device: u64,
    inode: u64,
    made_s: i64,
    made_ns: i64,
}

#[cfg(test)]
impl SocketId {
    /// One that differs from those of other numbers.
    pub(crate) fn numbered(inode: u64) -> Self {
        Self { device: 1, inode, made_s: 0, made_ns: 0 }
    }
}

/// The sockets of a directory.
pub(crate) type Sockets = BTreeMap<PathBuf, SocketId>;

/// Something that happened to a socket.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SocketChange {
    Went(PathBuf),
    Came(PathBuf, SocketId),
}

/// What happened between two looks. A socket that was replaced went and came.
pub(crate) fn changes(before: &Sockets, now: &Sockets) -> Vec<SocketChange> {
    let went = before.iter().filter(|(path, id)| now.get(*path) != Some(*id));
    let came = now.iter().filter(|(path, id)| before.get(*path) != Some(*id));
    let went = went.map(|(path, _)| SocketChange::Went(path.clone()));
    went.chain(came.map(|(path, id)| SocketChange::Came(path.clone(), *id))).collect()
}

/// The sockets that are in a directory or below it, but for those whose name begins with a dot.
///
/// # Errors
/// The directory itself cannot be read.
pub(crate) fn look(directory: &Path) -> io::Result<Sockets> {
    let mut found = Sockets::new();
    let mut folders = vec![(directory.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if depth == 0 => return Err(error),
            // It went a moment ago, or is not for us.
            Err(_) => continue,
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let Ok(about) = fs::symlink_metadata(&path) else { continue };
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            if about.is_dir() && depth < DEPTH_MAX {
                folders.push((path, depth + 1));
            } else if about.file_type().is_socket() {
                found.insert(path, id_of(&about));
            }
        }
    }
    Ok(found)
}

fn id_of(about: &fs::Metadata) -> SocketId {
    // The time of the last change of the content: what is done to its permissions does not make it another.
    SocketId { device: about.dev(), inode: about.ino(), made_s: about.mtime(), made_ns: about.mtime_nsec() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    fn sockets(of: &[(&str, u64)]) -> Sockets {
        of.iter().map(|&(path, inode)| (PathBuf::from(path), SocketId::numbered(inode))).collect()
    }

    #[test]
    fn a_socket_comes_goes_and_is_replaced() {
        let before = sockets(&[("stays", 1), ("goes", 2), ("replaced", 3)]);
        let now = sockets(&[("stays", 1), ("replaced", 4), ("new", 5)]);
        let names: Vec<String> = changes(&before, &now)
            .iter()
            .map(|change| match change {
                SocketChange::Went(path) => format!("-{}", path.display()),
                SocketChange::Came(path, _) => format!("+{}", path.display()),
            })
            .collect();
        assert_eq!(names, ["-goes", "-replaced", "+new", "+replaced"]);
        assert!(changes(&now, &now).is_empty());
    }

    #[test]
    fn only_sockets_without_a_dot_are_found() {
        let folder = std::env::temp_dir().join(format!("supercargo-sockets-{}", std::process::id()));
        fs::create_dir_all(folder.join("sub")).expect("a folder");
        let _listeners: Vec<UnixListener> = ["a.sock", ".hidden.sock", "sub/b.sock"]
            .map(|name| UnixListener::bind(folder.join(name)).expect("a socket"))
            .into();
        fs::write(folder.join("file"), "").expect("a file");
        let found = look(&folder).expect("it is there");
        let names: Vec<&Path> =
            found.keys().map(|path| path.strip_prefix(&folder).expect("below it")).collect();
        assert_eq!(names, [Path::new("a.sock"), Path::new("sub/b.sock")]);
        assert!(look(&folder.join("nowhere")).is_err());
        fs::remove_dir_all(&folder).expect("it is there");
    }
}
