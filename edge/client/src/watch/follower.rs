//! The protocol of listing and watching, as a state machine.
//!
//! | from | to |
//! |---|---|
//! | `Unknown` | `Initial` if the server can stream the list, else `Paging` |
//! | `Initial` | `Sweeping` when the server says that this was all; `Unknown` when the stream breaks before |
//! | `Paging` | `Paging` for the next page; `Sweeping` after the last; `Unknown` when a page cannot be had |
//! | `Sweeping` | `Watching` if the stream goes on, else `Known` |
//! | `Known` | `Watching`; `Unknown` when the version is too old; `Doubted` when it is refused otherwise |
//! | `Doubted` | `Known`; `Unknown` when the server has come back with another history |
//! | `Watching` | `Watching` with each line; `Known` when its time is over; `Doubted` when it ends otherwise; `Unknown` when the version is too old |
//!
//! Each state holds exactly what it needs to go on, so a failure can only lead to `Unknown`, `Known` or `Doubted`.

use std::collections::VecDeque;
use std::time::Duration;

use objects::ListMeta;
use serde::Deserialize;
use tokio::time::{Instant, sleep_until, timeout};

use super::any::{Readers, SomeObject};
use super::envelope::{Line, read, read_page};
use super::known::{Known, News};
use super::lines::Lines;
use super::{Event, Gone, Selectors, WatchOptions};
use crate::answer::{Answer, Unavailable};
use crate::backoff::{Backoff, fraction};
use crate::connection::{Ask, Connection};

/// Where a list that stays current stands.
enum State {
    /// What is there is not known as of any version that the server keeps. The next step is to ask for all of it.
    Unknown,
    /// The server sends what is there, and will say when that was all.
    Initial(Lines),
    /// A page of what is there is being said. `next` leads to the page after it.
    Paging { items: std::vec::IntoIter<Line>, next: Option<String>, version: String },
    /// All that is there has been said. What is known and was not named is said to be gone.
    Sweeping { gone: std::vec::IntoIter<Gone>, version: String, stream: Option<Lines> },
    /// Everything up to this version has been said, and nobody listens for more.
    Known(String),
    /// As `Known`, but the server was away. It may come back with another history, whose versions have not reached ours,
    /// and would then have nothing to say about all that is there.
    Doubted(String),
    /// The server says what changes after this version.
    Watching { version: String, lines: Lines, since: Instant },
}

/// How the whole is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Listing {
    /// As the beginning of a watch.
    Streamed,
    /// In pages.
    Paged,
    /// In one answer, because the server forgot where we were between two pages.
    AtOnce,
}

/// A watch that lived so long was a good one, even if nothing happened.
const GOOD_AFTER: Duration = Duration::from_secs(5);

/// Follows the objects at a path.
pub(crate) struct Follower {
    readers: Readers,
    connection: Connection,
    path: String,
    selectors: Selectors,
    options: WatchOptions,
    listing: Listing,
    state: State,
    known: Known,
    backoff: Backoff,
    /// The last thing that went wrong is that our version is too old.
    stale: bool,
    /// Events that come together; at most two.
    said: VecDeque<Event<SomeObject>>,
    rest_until: Option<Instant>,
}

impl Follower {
    pub(crate) fn new(
        readers: Readers,
        connection: Connection,
        path: String,
        selectors: &Selectors,
        options: WatchOptions,
    ) -> Self {
        Self {
            readers,
            connection,
            path,
            selectors: selectors.clone(),
            listing: if options.streamed { Listing::Streamed } else { Listing::Paged },
            state: State::Unknown,
            known: Known::default(),
            backoff: Backoff::new(options.backoff_first, options.backoff_max),
            options,
            stale: false,
            said: VecDeque::new(),
            rest_until: None,
        }
    }

    /// The next event, whenever it comes.
    pub(crate) async fn next(&mut self) -> Event<SomeObject> {
        loop {
            if let Some(event) = self.said.pop_front() {
                return event;
            }
            if let Some(until) = self.rest_until.take() {
                sleep_until(until).await;
            }
            let state = std::mem::replace(&mut self.state, State::Unknown);
            self.state = self.step(state).await;
        }
    }

    async fn step(&mut self, state: State) -> State {
        match state {
            State::Unknown => self.begin().await,
            State::Initial(lines) => self.initial(lines).await,
            State::Paging { mut items, next, version } => match (items.next(), next) {
                (Some(line), next) => {
                    self.hear(line);
                    State::Paging { items, next, version }
                }
                (None, Some(token)) => self.page(Some(&token)).await,
                (None, None) => self.sweep(version, None),
            },
            State::Sweeping { mut gone, version, stream } => match (gone.next(), stream) {
                (Some(object), stream) => {
                    self.said.push_back(Event::Vanished(object));
                    State::Sweeping { gone, version, stream }
                }
                (None, stream) => {
                    self.said.push_back(Event::Synced { resource_version: version.clone() });
                    match stream {
                        Some(lines) => State::Watching { version, lines, since: Instant::now() },
                        None => State::Known(version),
                    }
                }
            },
            State::Known(version) => self.watch(version).await,
            State::Doubted(version) => self.compare(version).await,
            State::Watching { version, lines, since } => self.follow(version, lines, since).await,
        }
    }

    /// Asks for all that is there.
    async fn begin(&mut self) -> State {
        self.known.begin_list();
        if self.listing != Listing::Streamed {
            return self.page(None).await;
        }
        let query = [("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan")];
        match self.connection.open(self.watch_path(&query)).await {
            Answer::Done(body) => State::Initial(Lines::new(body)),
            // Servers that cannot do this refuse the parameters.
            Answer::Invalid(_) => {
                self.listing = Listing::Paged;
                State::Unknown
            }
            refused => self.fail(&refused, State::Unknown),
        }
    }

    async fn initial(&mut self, mut lines: Lines) -> State {
        match self.line(&mut lines).await {
            Ok(Some(Line::Bookmark { version, initial_end: true })) => self.sweep(version, Some(lines)),
            Ok(Some(Line::Bookmark { .. })) => State::Initial(lines),
            Ok(Some(Line::Error(status))) => self.fail(&status.into_answer::<()>(None, None), State::Unknown),
            Ok(Some(line)) => {
                self.hear(line);
                State::Initial(lines)
            }
            Ok(None) => self.rest("the list ended before it was complete".to_owned(), State::Unknown),
            Err(why) => self.rest(why, State::Unknown),
        }
    }

    /// Asks for a page of what is there.
    async fn page(&mut self, token: Option<&str>) -> State {
        let size = self.options.page_size.to_string();
        let mut query = Vec::new();
        if self.listing == Listing::Paged && self.options.page_size > 0 {
            query.push(("limit", &*size));
        }
        query.extend(token.map(|token| ("continue", token)));
        let body = match self.connection.call(Ask::get(self.list_path(&query))).await {
            Answer::Done(body) => body,
            gone @ Answer::Gone(_) if token.is_some() => {
                self.listing = Listing::AtOnce;
                return self.fail(&gone, State::Unknown);
            }
            refused => return self.fail(&refused, State::Unknown),
        };
        let (items, meta): (Vec<Line>, _) = match (self.readers.read_list)(&body) {
            Ok(list) => (list.items.into_iter().map(Line::Applied).collect(), list.metadata),
            Err(_) => match read_page(self.readers, &body) {
                Ok(page) => page,
                Err(why) => {
                    let unreadable = Answer::<()>::Unavailable(Unavailable::Unreadable(why));
                    return self.fail(&unreadable, State::Unknown);
                }
            },
        };
        let next = Some(meta.continue_).filter(|token| !token.is_empty());
        State::Paging { items: items.into_iter(), next, version: meta.resource_version }
    }

    fn sweep(&mut self, version: String, stream: Option<Lines>) -> State {
        if self.listing == Listing::AtOnce {
            self.listing = Listing::Paged;
        }
        State::Sweeping { gone: self.known.end_list().into_iter(), version, stream }
    }

    /// Asks for what changes after a version.
    async fn watch(&mut self, version: String) -> State {
        match self.connection.open(self.watch_path(&[("resourceVersion", &version)])).await {
            Answer::Done(body) => State::Watching { version, lines: Lines::new(body), since: Instant::now() },
            gone @ Answer::Gone(_) => self.fail(&gone, State::Unknown),
            refused => self.fail(&refused, State::Doubted(version)),
        }
    }

    /// Sees whether the server knows our version or a later one.
    async fn compare(&mut self, version: String) -> State {
        #[derive(Deserialize)]
        struct Head {
            metadata: ListMeta,
        }
        let body = match self.connection.call(Ask::get(self.list_path(&[("limit", "1")]))).await {
            Answer::Done(body) => body,
            refused => return self.fail(&refused, State::Doubted(version)),
        };
        let theirs = serde_json::from_slice::<Head>(&body).map(|head| head.metadata.resource_version);
        // Versions are numbers that grow. If they are something else, the server is trusted to know them.
        match (theirs.ok().and_then(|theirs| theirs.parse::<u64>().ok()), version.parse::<u64>()) {
            (Some(theirs), Ok(ours)) if theirs < ours => {
                let why = format!(
                    "{} was replaced by another server or restored from a backup",
                    self.connection.server()
                );
                self.rest(why, State::Unknown)
            }
            _ => State::Known(version),
        }
    }

    async fn follow(&mut self, version: String, mut lines: Lines, since: Instant) -> State {
        let line = match self.line(&mut lines).await {
            Ok(Some(line)) => line,
            Ok(None) if since.elapsed() >= self.options.lifetime => {
                self.backoff.reset();
                return State::Known(version);
            }
            // A server that goes away takes its watches along.
            Ok(None) if since.elapsed() >= GOOD_AFTER => return State::Doubted(version),
            Ok(None) => {
                return self.rest("the watch ended as soon as it began".to_owned(), State::Doubted(version));
            }
            Err(why) => return self.rest(why, State::Doubted(version)),
        };
        let version = match line {
            Line::Error(status) => {
                let answer = status.into_answer::<()>(None, None);
                let next =
                    if matches!(answer, Answer::Gone(_)) { State::Unknown } else { State::Doubted(version) };
                return self.fail(&answer, next);
            }
            Line::Bookmark { version: reached, .. } => {
                self.said.push_back(Event::Progressed { resource_version: reached.clone() });
                reached
            }
            line => self.hear(line),
        };
        self.backoff.reset();
        self.stale = false;
        State::Watching { version, lines, since }
    }

    async fn line(&mut self, lines: &mut Lines) -> Result<Option<Line>, String> {
        let idle = self.options.idle_timeout;
        match timeout(idle, lines.next()).await {
            Err(_) => Err(format!("{} sent nothing for {idle:?}", self.connection.server())),
            Ok(Err(why)) => Err(format!("lost {}: {why}", self.connection.server())),
            Ok(Ok(None)) => Ok(None),
            Ok(Ok(Some(line))) => read(self.readers, &line).map(Some),
        }
    }

    /// Says what is new in a line about an object, and returns the version that it leads to.
    fn hear(&mut self, line: Line) -> String {
        match line {
            Line::Applied(object) => {
                let meta = object.metadata();
                let version = meta.resource_version.clone();
                match self.known.hear(&meta.namespace, &meta.name, &meta.uid, &version) {
                    News::None => return version,
                    News::Applied => {}
                    News::Succeeded(gone) => self.said.push_back(Event::Vanished(gone)),
                }
                self.said.push_back(Event::Applied(object));
                version
            }
            Line::Deleted(object) => {
                let version = object.metadata().resource_version.clone();
                if self.known.forget(object.metadata()) {
                    self.said.push_back(Event::Deleted(object));
                }
                version
            }
            Line::Unreadable { object, version, why } => {
                match self.known.hear(&object.namespace, &object.name, &object.uid, &version) {
                    News::None => return version,
                    News::Applied => {}
                    News::Succeeded(gone) => self.said.push_back(Event::Vanished(gone)),
                }
                self.said.push_back(Event::Unreadable { object, why });
                version
            }
            Line::Bookmark { version, .. } => version,
            Line::Error(_) => unreachable!("errors are no objects"),
        }
    }

    /// Goes on from a state after a while, because of an answer.
    fn fail<T>(&mut self, answer: &Answer<T>, next: State) -> State {
        let why = answer.trouble().unwrap_or_default();
        let pause = match answer {
            // That a version is too old happens to everybody who was away, and then the server is there to be asked.
            Answer::Gone(_) if !self.stale => Duration::ZERO,
            _ => self.backoff.pause_after(answer),
        };
        self.stale = matches!(answer, Answer::Gone(_));
        self.pause(why, pause, next)
    }

    /// Goes on from a state after a while.
    fn rest(&mut self, why: String, next: State) -> State {
        let pause = self.backoff.pause();
        self.stale = false;
        self.pause(why, pause, next)
    }

    fn pause(&mut self, why: String, pause: Duration, next: State) -> State {
        self.said.push_back(Event::Interrupted { why, retry_in: pause });
        self.rest_until = Some(Instant::now() + pause);
        next
    }

    fn watch_path(&self, query: &[(&str, &str)]) -> String {
        let seconds = self.options.lifetime.mul_f64(1.0 + fraction()).as_secs().max(1).to_string();
        let mut all = vec![("watch", "true"), ("allowWatchBookmarks", "true"), ("timeoutSeconds", &*seconds)];
        all.extend_from_slice(query);
        self.list_path(&all)
    }

    fn list_path(&self, query: &[(&str, &str)]) -> String {
        let suffix = self.path.len() + 1;
        let mut path = form_urlencoded::Serializer::for_suffix(format!("{}?", self.path), suffix);
        for (key, value) in
            [("labelSelector", &self.selectors.labels), ("fieldSelector", &self.selectors.fields)]
        {
            if !value.is_empty() {
                path.append_pair(key, value);
            }
        }
        path.extend_pairs(query);
        path.finish()
    }
}
