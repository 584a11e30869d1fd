//! A file system in memory that forgets what was not synced, and fails when told to.
//!
//! What a process sees and what the disk would still have after a power loss are kept apart. Until a sync, a write lies
//! in between: after a power loss any of its sectors may be there or not, whatever was written before or after it. The
//! same holds for names until their directory is synced. Given the same calls and seeds, everything repeats.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crate::disk::{Disk, DiskFile, Lock};

const SECTOR: usize = 512;

/// What goes wrong at one operation. A fault that does not fit the operation is an input/output error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A write takes half of the bytes and says so.
    ShortWrite,
    /// A write takes half of the bytes and fails.
    TornWrite,
    /// A write takes half of the bytes and fails because the disk is full.
    NoSpace,
    /// A sync fails. As on Linux, what it should have written may be lost, still can be read, and is not tried again.
    SyncFails,
    /// A sync does nothing and says that all is well.
    SyncLost,
    /// The machine stops, in the middle of the operation if it is a write. Everything fails from then on.
    Crash,
}

/// A file system in memory; clones are the same one.
#[derive(Clone, Default)]
pub struct SimulatedDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Clone, Default)]
struct State {
    files: Vec<Content>,
    seen: BTreeMap<PathBuf, usize>,
    durable: BTreeMap<PathBuf, usize>,
    renamings: Vec<Renaming>,
    locks: BTreeSet<PathBuf>,
    operations: u64,
    faults: BTreeMap<u64, Fault>,
    crashed: bool,
    capacity: Option<usize>,
    sync_time: Duration,
}

/// A file's bytes as they are read, as the disk has them, and what lies in between.
#[derive(Clone, Default)]
struct Content {
    seen: Vec<u8>,
    durable: Vec<u8>,
    unsynced: Vec<Unsynced>,
}

#[derive(Clone)]
enum Unsynced {
    Wrote { offset: usize, bytes: Vec<u8> },
    Sized(usize),
}

/// A change of names that is there as a whole or not at all.
#[derive(Clone, Default)]
struct Renaming {
    removed: Option<PathBuf>,
    given: Option<(PathBuf, usize)>,
}

impl SimulatedDisk {
    /// An empty disk.
    pub fn new() -> SimulatedDisk {
        SimulatedDisk::default()
    }

    /// Lets the operation that comes after so many others fail. Reads and locks do not count.
    pub fn fail_after(&self, operations: u64, fault: Fault) {
        let mut state = self.lock();
        let at = state.operations + operations + 1;
        state.faults.insert(at, fault);
    }

    /// Takes back all faults that have not happened.
    pub fn heal(&self) {
        self.lock().faults.clear();
    }

    /// Limits the bytes of all files together.
    pub fn set_capacity(&self, bytes: Option<usize>) {
        self.lock().capacity = bytes;
    }

    /// Lets every sync of a file take this long.
    pub fn set_sync_time(&self, time: Duration) {
        self.lock().sync_time = time;
    }

    /// How many operations there were.
    pub fn operations(&self) -> u64 {
        self.lock().operations
    }

    /// Whether a crash happened.
    pub fn crashed(&self) -> bool {
        self.lock().crashed
    }

    /// Every name with the bytes that are read under it.
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let state = self.lock();
        state.seen.iter().map(|(path, id)| (path.clone(), state.files[*id].seen.clone())).collect()
    }

    /// Replaces a file's bytes, durably: the work of bad hardware or of a curious person.
    pub fn overwrite(&self, path: &Path, bytes: &[u8]) {
        let mut state = self.lock();
        let id = state.files.len();
        state.files.push(Content { seen: bytes.to_vec(), durable: bytes.to_vec(), unsynced: Vec::new() });
        state.seen.insert(path.to_owned(), id);
        state.durable.insert(path.to_owned(), id);
    }

    /// Removes a file durably, like `overwrite`.
    pub fn lose(&self, path: &Path) {
        let mut state = self.lock();
        state.seen.remove(path);
        state.durable.remove(path);
    }

    /// The disk as the next process sees it after this one was killed.
    pub fn after_kill(&self) -> SimulatedDisk {
        let mut state = self.lock().clone();
        state.locks.clear();
        state.faults.clear();
        state.crashed = false;
        SimulatedDisk { state: Arc::new(Mutex::new(state)) }
    }

    /// The disk after a power loss; the seed decides what of the unsynced is there.
    pub fn after_power_loss(&self, seed: u64) -> SimulatedDisk {
        let mut dice = Dice::new(seed);
        let mut state = self.after_kill().lock().clone();
        for renaming in std::mem::take(&mut state.renamings) {
            if dice.lands() {
                renaming.apply(&mut state.durable);
            }
        }
        for file in &mut state.files {
            file.write_back(&mut dice);
            file.seen.clone_from(&file.durable);
        }
        state.seen.clone_from(&state.durable);
        SimulatedDisk { state: Arc::new(Mutex::new(state)) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds the disk")
    }
}

impl State {
    /// Counts an operation and gives the fault that is due, if there is one.
    fn begin(&mut self) -> io::Result<Option<Fault>> {
        self.check_running()?;
        self.operations += 1;
        let fault = self.faults.remove(&self.operations);
        self.crashed = fault == Some(Fault::Crash);
        Ok(fault)
    }

    /// Like `begin`, for operations that cannot fail by halves.
    fn begin_whole(&mut self) -> io::Result<()> {
        match self.begin()? {
            None | Some(Fault::ShortWrite | Fault::SyncLost) => Ok(()),
            Some(Fault::NoSpace) => Err(io::ErrorKind::StorageFull.into()),
            Some(Fault::TornWrite | Fault::SyncFails | Fault::Crash) => Err(broken()),
        }
    }

    fn check_running(&self) -> io::Result<()> {
        if self.crashed { Err(broken()) } else { Ok(()) }
    }

    fn id(&self, path: &Path) -> io::Result<usize> {
        self.check_running()?;
        self.seen.get(path).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn rename(&mut self, renaming: Renaming) {
        renaming.apply(&mut self.seen);
        self.renamings.push(renaming);
    }

    /// How many bytes a file may have, given what the others have.
    fn room(&self, id: usize) -> usize {
        let used: usize =
            self.seen.values().filter(|other| **other != id).map(|id| self.files[*id].seen.len()).sum();
        self.capacity.map_or(usize::MAX, |capacity| capacity.saturating_sub(used))
    }
}

impl Renaming {
    fn apply(&self, names: &mut BTreeMap<PathBuf, usize>) {
        if let Some(path) = &self.removed {
            names.remove(path);
        }
        if let Some((path, id)) = &self.given {
            names.insert(path.clone(), *id);
        }
    }
}

impl Content {
    fn change(&mut self, change: Unsynced) {
        apply(&mut self.seen, &change);
        self.unsynced.push(change);
    }

    fn sync(&mut self) {
        for change in self.unsynced.drain(..) {
            apply(&mut self.durable, &change);
        }
    }

    /// Lets some of the unsynced sectors reach the disk, and forgets the rest.
    fn write_back(&mut self, dice: &mut Dice) {
        for change in self.unsynced.drain(..) {
            let Unsynced::Wrote { offset, bytes } = &change else {
                if dice.lands() {
                    apply(&mut self.durable, &change);
                }
                continue;
            };
            let mut start = 0;
            while start < bytes.len() {
                let end = (start + SECTOR - (offset + start) % SECTOR).min(bytes.len());
                if dice.lands() {
                    let sector =
                        Unsynced::Wrote { offset: offset + start, bytes: bytes[start..end].to_vec() };
                    apply(&mut self.durable, &sector);
                }
                start = end;
            }
        }
    }
}

fn apply(content: &mut Vec<u8>, change: &Unsynced) {
    match change {
        Unsynced::Sized(size) => content.resize(*size, 0),
        Unsynced::Wrote { offset, bytes } => {
            let end = offset + bytes.len();
            if content.len() < end {
                content.resize(end, 0);
            }
            content[*offset..end].copy_from_slice(bytes);
        }
    }
}

fn broken() -> io::Error {
    io::Error::other("simulated input/output error")
}

/// Chance by seed. How often it lands differs from seed to seed, so that all, some or nothing of a group survives.
struct Dice {
    state: u64,
    threshold: u64,
}

impl Dice {
    fn new(seed: u64) -> Dice {
        let mut dice = Dice { state: seed, threshold: 0 };
        dice.threshold = [0, 16, 128, 240, 256][(dice.roll() % 5) as usize];
        dice
    }

    fn lands(&mut self) -> bool {
        self.roll() % 256 < self.threshold
    }

    /// SplitMix64.
    fn roll(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

struct SimulatedFile {
    disk: SimulatedDisk,
    id: usize,
}

struct SimulatedLock {
    disk: SimulatedDisk,
    path: PathBuf,
}

impl Lock for SimulatedLock {}

impl Drop for SimulatedLock {
    fn drop(&mut self) {
        self.disk.lock().locks.remove(&self.path);
    }
}

impl Disk for SimulatedDisk {
    fn create_dir(&self, _: &Path) -> io::Result<()> {
        self.lock().check_running()
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Lock>>> {
        let mut state = self.lock();
        state.check_running()?;
        let is_free = state.locks.insert(path.to_owned());
        Ok(is_free
            .then(|| Box::new(SimulatedLock { disk: self.clone(), path: path.to_owned() }) as Box<dyn Lock>))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let state = self.lock();
        state.check_running()?;
        let inside = state.seen.keys().filter(|path| path.parent() == Some(dir));
        Ok(inside.filter_map(|path| path.file_name()?.to_str().map(str::to_owned)).collect())
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.lock();
        state.begin_whole()?;
        let id = state.files.len();
        state.files.push(Content::default());
        state.rename(Renaming { removed: None, given: Some((path.to_owned(), id)) });
        Ok(Box::new(SimulatedFile { disk: self.clone(), id }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let id = self.lock().id(path)?;
        Ok(Box::new(SimulatedFile { disk: self.clone(), id }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.begin_whole()?;
        let id = state.id(from)?;
        state.rename(Renaming { removed: Some(from.to_owned()), given: Some((to.to_owned(), id)) });
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.begin_whole()?;
        state.id(path)?;
        state.rename(Renaming { removed: Some(path.to_owned()), given: None });
        Ok(())
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        let mut state = self.lock();
        match state.begin()? {
            // Names are kept in the file system's own journal: they are late after an error, and not forgotten.
            Some(Fault::TornWrite | Fault::NoSpace | Fault::SyncFails | Fault::Crash) => return Err(broken()),
            Some(Fault::SyncLost) => return Ok(()),
            Some(Fault::ShortWrite) | None => {}
        }
        for renaming in std::mem::take(&mut state.renamings) {
            renaming.apply(&mut state.durable);
        }
        Ok(())
    }
}

impl DiskFile for SimulatedFile {
    fn size(&self) -> io::Result<u64> {
        let state = self.disk.lock();
        state.check_running()?;
        Ok(state.files[self.id].seen.len() as u64)
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.disk.lock();
        state.check_running()?;
        let rest = state.files[self.id].seen.get(offset as usize..).unwrap_or_default();
        let length = rest.len().min(into.len());
        into[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut state = self.disk.lock();
        let fault = state.begin()?;
        let room = state.room(self.id).saturating_sub(offset as usize);
        let taken = if fault.is_some() { bytes.len().div_ceil(2) } else { bytes.len() }.min(room);
        let change = Unsynced::Wrote { offset: offset as usize, bytes: bytes[..taken].to_vec() };
        state.files[self.id].change(change);
        match fault {
            None | Some(Fault::ShortWrite | Fault::SyncLost) if taken > 0 => Ok(taken),
            None | Some(Fault::ShortWrite | Fault::SyncLost | Fault::NoSpace) => {
                Err(io::ErrorKind::StorageFull.into())
            }
            Some(Fault::TornWrite | Fault::SyncFails | Fault::Crash) => Err(broken()),
        }
    }

    fn set_size(&mut self, size: u64) -> io::Result<()> {
        let mut state = self.disk.lock();
        state.begin_whole()?;
        state.files[self.id].change(Unsynced::Sized(size as usize));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let time = self.disk.lock().sync_time;
        if !time.is_zero() {
            std::thread::sleep(time);
        }
        let mut state = self.disk.lock();
        let fault = state.begin()?;
        let seed = state.operations;
        let file = &mut state.files[self.id];
        match fault {
            None | Some(Fault::ShortWrite) => file.sync(),
            Some(Fault::SyncLost) => {}
            Some(Fault::SyncFails | Fault::TornWrite | Fault::NoSpace) => {
                file.write_back(&mut Dice::new(seed));
                return Err(broken());
            }
            Some(Fault::Crash) => return Err(broken()),
        }
        Ok(())
    }
}
