//! Who waits for whom: by default a driver sees one call at a time.
//!
//! With a rolling update the instances of a driver on one node wait for each other, too, by a lock on a file that all of
//! them know.

use std::error::Error;
use std::fs::{File, TryLockError};
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::plugin::driver::Failure;

/// How often a lock that another instance holds is tried.
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Lets work through.
pub(crate) enum Turnstile {
    /// All of it.
    Open,
    /// One piece at a time in this process.
    Single(Mutex<()>),
    /// One piece at a time among all who lock the file.
    Shared(Mutex<()>, PathBuf),
}

impl Turnstile {
    /// Does all pieces of a call, and says what came of each.
    pub(crate) async fn pass<T>(
        &self,
        pieces: Vec<impl Future<Output = Result<T, Failure>>>,
    ) -> Vec<Result<T, String>> {
        let worded = |outcome: Result<T, Failure>| outcome.map_err(|failure| words(&*failure));
        let (mutex, file) = match self {
            Self::Open => return join_all(pieces).await.into_iter().map(worded).collect(),
            Self::Single(mutex) => (mutex, None),
            Self::Shared(mutex, file) => (mutex, Some(file)),
        };
        let _turn = mutex.lock().await;
        let _lock = match file {
            None => None,
            Some(path) => match lock(path).await {
                Ok(file) => Some(file),
                Err(error) => {
                    let why = format!("cannot lock {}: {error}", path.display());
                    return pieces.iter().map(|_| Err(why.clone())).collect();
                }
            },
        };
        let mut outcomes = Vec::with_capacity(pieces.len());
        for piece in pieces {
            outcomes.push(worded(piece.await));
        }
        outcomes
    }
}

/// Locks a file until it is closed.
async fn lock(path: &Path) -> io::Result<File> {
    let file = File::create(path)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => sleep(LOCK_PAUSE).await,
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// What went wrong, and why, and why that.
fn words(failure: &(dyn Error + Send + Sync + 'static)) -> String {
    let mut text = failure.to_string();
    let mut source = failure.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // Many errors repeat their cause in their own words.
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use tokio::sync::Mutex;
    use tokio::task::yield_now;
    use tokio::time::sleep;

    use super::Turnstile;
    use crate::plugin::driver::Failure;

    #[tokio::test]
    async fn instances_of_a_driver_wait_for_each_other() {
        let file = std::env::temp_dir().join(format!("driver-kit-{}.lock", std::process::id()));
        let (at_once, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let piece = || async {
            most.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            sleep(Duration::from_millis(20)).await;
            at_once.fetch_sub(1, Ordering::SeqCst);
            Ok::<(), Failure>(())
        };
        let instance = || Turnstile::Shared(Mutex::new(()), file.clone());
        let (one, other) = (instance(), instance());
        tokio::join!(one.pass(vec![piece(), piece()]), other.pass(vec![piece(), piece()]));
        assert_eq!(most.load(Ordering::SeqCst), 1);
        let open = Turnstile::Open;
        let eager = |_| async {
            most.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            yield_now().await;
            Err::<(), Failure>("no".into())
        };
        assert_eq!(open.pass([1, 2].map(eager).into()).await, [Err("no".to_owned()), Err("no".to_owned())]);
        assert_eq!(most.load(Ordering::SeqCst), 2);
        std::fs::remove_file(file).expect("ours");
    }
}
