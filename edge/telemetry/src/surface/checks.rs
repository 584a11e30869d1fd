//! Named checks, and the answers of `/healthz`, `/livez` and `/readyz` as Kubernetes writes them.
//!
//! A check is a question that is answered at once: it looks at a value that others keep. Why it fails is told only on
//! the path of that check, because the short answers are open to everybody; unless all reasons are fit for everybody.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

type Question = dyn Fn() -> Result<(), String> + Send + Sync;

/// A named question whether something is well.
#[derive(Clone)]
pub struct Check {
    name: Arc<str>,
    question: Arc<Question>,
}

impl Check {
    /// A check that fails with the reason that `question` gives. It must not wait for anything.
    pub fn new(name: &str, question: impl Fn() -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self { name: name.into(), question: Arc::new(question) }
    }

    /// A check that fails with this reason until its flag is raised, and whenever it is lowered.
    #[must_use]
    pub fn flag(name: &str, reason: &'static str) -> (Self, Flag) {
        let raised = Arc::new(AtomicBool::new(false));
        let flag = Flag(Arc::clone(&raised));
        let question = move || if raised.load(Ordering::Acquire) { Ok(()) } else { Err(reason.to_owned()) };
        (Self::new(name, question), flag)
    }

    /// A check that fails when something that beats has not done so for this long. Before the first beat, and while
    /// the pulse rests, all is well.
    #[must_use]
    pub fn pulse(name: &str, silence_max: Duration) -> (Self, Pulse) {
        let last = Arc::new(Mutex::new(None::<Instant>));
        let pulse = Pulse(Arc::clone(&last));
        let question = move || match last.lock().map(|beat| beat.elapsed()) {
            Some(silence) if silence > silence_max => {
                Err(format!("no heartbeat for {} s", silence.as_secs()))
            }
            _ => Ok(()),
        };
        (Self::new(name, question), pulse)
    }
}

/// Raised when something is there, such as the first whole view of the cluster.
#[derive(Clone)]
pub struct Flag(Arc<AtomicBool>);

impl Flag {
    /// It is there.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// It is there no more.
    pub fn lower(&self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Shows that something is still at work, such as the renewing of a lease.
#[derive(Clone)]
pub struct Pulse(Arc<Mutex<Option<Instant>>>);

impl Pulse {
    /// It is at work.
    pub fn beat(&self) {
        *self.0.lock() = Some(Instant::now());
    }

    /// It has nothing to do, and may be silent.
    pub fn rest(&self) {
        *self.0.lock() = None;
    }
}

/// What each of the three paths looks at. One that looks at nothing says that it was reached.
#[derive(Clone, Default)]
pub struct Checks {
    /// Is the process well? The old path, for those who still ask it.
    pub healthz: Vec<Check>,
    /// Should it live on?
    pub livez: Vec<Check>,
    /// Is it ready for work?
    pub readyz: Vec<Check>,
}

/// The answer of one of the three paths, or of one check.
#[derive(Debug, PartialEq, Eq)]
pub enum Health {
    /// All is well.
    Well(String),
    /// A check failed.
    Unwell(String),
    /// There is no check of that name.
    Unknown,
}

impl Checks {
    /// All paths, and those of the single checks.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        for (root, checks) in self.roots() {
            paths.push(format!("/{root}"));
            paths.extend(or_ping(checks).iter().map(|check| format!("/{root}/{}", check.name)));
        }
        paths
    }

    fn roots(&self) -> [(&'static str, &[Check]); 3] {
        [("healthz", &self.healthz), ("livez", &self.livez), ("readyz", &self.readyz)]
    }

    /// Answers a path without its first slash, such as `readyz` or `readyz/ping`, or says that it is none of these.
    pub(super) fn answer(&self, path: &str, query: Option<&str>) -> Option<Health> {
        self.answer_with(path, query, Reasons::Withheld)
    }

    /// Like Kubernetes, but with the reason of each check that fails, which must be fit for everybody.
    #[must_use]
    pub fn answer_with_reasons(&self, path: &str, query: Option<&str>) -> Option<Health> {
        self.answer_with(path, query, Reasons::Told)
    }

    fn answer_with(&self, path: &str, query: Option<&str>, reasons: Reasons) -> Option<Health> {
        let (root, single) = path.split_once('/').map_or((path, None), |(root, name)| (root, Some(name)));
        let (root, checks) = self.roots().into_iter().find(|(name, _)| *name == root)?;
        let checks = or_ping(checks);
        Some(match single {
            None => all(root, &checks, query.unwrap_or_default(), reasons),
            Some(name) => one(&checks, name),
        })
    }
}

fn or_ping(checks: &[Check]) -> Vec<Check> {
    if checks.is_empty() { vec![Check::new("ping", || Ok(()))] } else { checks.to_vec() }
}

fn one(checks: &[Check], name: &str) -> Health {
    let Some(check) = checks.iter().find(|check| &*check.name == name) else { return Health::Unknown };
    match (check.question)() {
        Ok(()) => Health::Well("ok".to_owned()),
        Err(reason) => Health::Unwell(format!("internal server error: {reason}\n")),
    }
}

/// Whether the short answers say why a check failed.
#[derive(Clone, Copy)]
enum Reasons {
    Told,
    Withheld,
}

fn all(root: &str, checks: &[Check], query: &str, reasons: Reasons) -> Health {
    let verbose = form_urlencoded::parse(query.as_bytes()).any(|(key, _)| key == "verbose");
    let mut excluded: BTreeSet<String> = form_urlencoded::parse(query.as_bytes())
        .filter(|(key, _)| key == "exclude")
        .map(|(_, value)| value.into_owned())
        .collect();
    let mut lines = String::new();
    let mut failed = false;
    for check in checks {
        let name = &check.name;
        let _ = if excluded.remove(&**name) {
            writeln!(lines, "[+]{name} excluded: ok")
        } else if let Err(reason) = (check.question)() {
            failed = true;
            // Whoever asks may not know the reason; whoever reads the logs may.
            tracing::debug!(path = root, check = &**name, reason, "a check failed");
            match reasons {
                Reasons::Told => writeln!(lines, "[-]{name} failed: {reason}"),
                Reasons::Withheld => writeln!(lines, "[-]{name} failed: reason withheld"),
            }
        } else {
            writeln!(lines, "[+]{name} ok")
        };
    }
    if !excluded.is_empty() {
        let names: Vec<String> = excluded.iter().map(|name| format!("{name:?}")).collect();
        let names = names.join(",");
        let _ = writeln!(lines, "warn: some health checks cannot be excluded: no matches for {names}");
    }
    match (failed, verbose) {
        (true, _) => Health::Unwell(format!("{lines}{root} check failed\n")),
        (false, true) => Health::Well(format!("{lines}{root} check passed\n")),
        (false, false) => Health::Well("ok".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Check, Checks, Health};

    fn well(text: &str) -> Option<Health> {
        Some(Health::Well(text.to_owned()))
    }

    fn unwell(text: &str) -> Option<Health> {
        Some(Health::Unwell(text.to_owned()))
    }

    #[test]
    fn a_path_without_checks_says_that_it_was_reached() {
        let checks = Checks::default();
        assert_eq!(checks.answer("livez", None), well("ok"));
        assert_eq!(checks.answer("livez", Some("verbose")), well("[+]ping ok\nlivez check passed\n"));
        assert_eq!(checks.answer("livez/ping", None), well("ok"));
        assert_eq!(checks.answer("livez/pong", None), Some(Health::Unknown));
        assert_eq!(checks.answer("livezz", None), None);
    }

    #[test]
    fn a_failure_is_told_with_all_checks_and_its_reason_on_the_path_of_the_check_alone() {
        let (synced, flag) = Check::flag("informer-sync", "3 lists are not read yet");
        let leads = Check::new("leaderElection", || Ok(()));
        let checks = Checks { readyz: vec![leads, synced], ..Checks::default() };
        let told = "[+]leaderElection ok\n[-]informer-sync failed: reason withheld\nreadyz check failed\n";
        assert_eq!(checks.answer("readyz", None), unwell(told));
        let reason = "internal server error: 3 lists are not read yet\n";
        assert_eq!(checks.answer("readyz/informer-sync", None), unwell(reason));
        flag.raise();
        assert_eq!(checks.answer("readyz", None), well("ok"));
        flag.lower();
        assert_eq!(checks.answer("readyz", None), unwell(told));
    }

    #[test]
    fn checks_can_be_excluded_by_name_and_a_wrong_name_is_told() {
        let failing = Check::new("shutdown", || Err("stopping".to_owned()));
        let checks = Checks { readyz: vec![failing], ..Checks::default() };
        assert_eq!(checks.answer("readyz", Some("exclude=shutdown")), well("ok"));
        let told = "[+]shutdown excluded: ok\nwarn: some health checks cannot be excluded: no matches for \"x\"\n\
                    readyz check passed\n";
        assert_eq!(checks.answer("readyz", Some("verbose&exclude=shutdown&exclude=x")), well(told));
    }

    #[test]
    fn a_pulse_may_rest_but_not_fall_silent() {
        let (check, pulse) = Check::pulse("leaderElection", Duration::ZERO);
        let checks = Checks { healthz: vec![check], ..Checks::default() };
        assert_eq!(checks.answer("healthz", None), well("ok"));
        pulse.beat();
        std::thread::sleep(Duration::from_millis(2));
        let told = unwell("[-]leaderElection failed: reason withheld\nhealthz check failed\n");
        assert_eq!(checks.answer("healthz", None), told);
        pulse.rest();
        assert_eq!(checks.answer("healthz", None), well("ok"));
    }
}
