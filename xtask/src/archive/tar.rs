//! Tar archives, as much of the ustar format as files and folders with short names need.

use std::collections::BTreeMap;

/// A file or a folder of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Packed {
    /// A folder.
    Folder,
    /// A file that everybody may read.
    File(Vec<u8>),
    /// A file that everybody may run.
    Program(Vec<u8>),
}

const BLOCK: usize = 512;

/// The longest name that fits the header.
const NAME_MAX: usize = 100;

/// An archive of these entries by path, as of a time in seconds since 1970. Everything belongs to root.
pub(crate) fn archive(entries: &BTreeMap<String, Packed>, time: u64) -> Vec<u8> {
    let mut out = Vec::new();
    for (path, entry) in entries {
        let (name, mode, kind, bytes): (String, u32, u8, &[u8]) = match entry {
            Packed::Folder => (format!("{path}/"), 0o755, b'5', &[]),
            Packed::File(bytes) => (path.clone(), 0o644, b'0', bytes),
            Packed::Program(bytes) => (path.clone(), 0o755, b'0', bytes),
        };
        out.extend(header(&name, mode, kind, bytes.len(), time));
        out.extend_from_slice(bytes);
        out.resize(out.len().next_multiple_of(BLOCK), 0);
    }
    // Two empty blocks end it.
    out.resize(out.len() + 2 * BLOCK, 0);
    out
}

fn header(name: &str, mode: u32, kind: u8, size: usize, time: u64) -> [u8; BLOCK] {
    assert!(name.len() <= NAME_MAX, "names in our archives are short: {name}");
    let mut header = [0; BLOCK];
    let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, &format!("{mode:07o}"));
    put(108, "0000000");
    put(116, "0000000");
    put(124, &format!("{size:011o}"));
    put(136, &format!("{time:011o}"));
    // The sum counts itself as spaces.
    put(148, "        ");
    put(257, "ustar\u{0}00");
    header[156] = kind;
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\u{0} ").as_bytes());
    header
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    #[test]
    fn tar_itself_lists_and_reads_an_archive() {
        let entries = BTreeMap::from([
            ("a".to_owned(), Packed::Folder),
            ("a/note".to_owned(), Packed::File(b"words\n".to_vec())),
            ("a/run".to_owned(), Packed::Program(vec![7; 1000])),
        ]);
        let bytes = archive(&entries, 1_700_000_000);
        assert_eq!(bytes.len() % BLOCK, 0);
        assert_eq!(bytes, archive(&entries, 1_700_000_000));
        let path = std::env::temp_dir().join(format!("xtask-{}.tar", std::process::id()));
        fs::write(&path, bytes).expect("a file can be written");
        let tar = |arguments: &[&str]| {
            Command::new("tar").args(arguments).arg(&path).args(["--utc"]).output().expect("tar is there")
        };
        let listed = tar(&["-tvf"]);
        let words = tar(&["-xO", "a/note", "-f"]).stdout;
        fs::remove_file(&path).expect("it is ours");
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let lines: Vec<Vec<&str>> = listed.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0][0], "drwxr-xr-x", "{listed}");
        assert_eq!(lines[1][..], ["-rw-r--r--", "0/0", "6", "2023-11-14", "22:13", "a/note"], "{listed}");
        assert_eq!(lines[2][0], "-rwxr-xr-x", "{listed}");
        assert_eq!(words, b"words\n");
    }
}
