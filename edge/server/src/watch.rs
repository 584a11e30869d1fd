//! Requests that watch: a stream of changes that a client reads at its own pace.
//!
//! A watch is a position in the window of changes and nothing more. It holds no queue: a client that reads slowly falls
//! behind in the window, and is told so when the window has moved on.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::Response;
use hyper::body::Frame;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use schema::{table, watch_frame, write_protobuf};
use serde_json::{Value, json};
use store::{Change, Event, Key, ListAt, Selection, StoredObject};
use tables::{MetaVersion, TableOptions};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant, sleep_until};

use crate::compress;
use crate::negotiate::{Accepted, Form, Media};
use crate::objects::Site;
use crate::present;
use crate::read;
use crate::registry::Registry;
use crate::respond::{self, HttpResponse};
use crate::route::{Query, Target};
use crate::status::Failure;

/// A watch without a time limit ends after a while, so that clients spread over restarts.
const SECONDS_DEFAULT: i64 = 45 * 60;
/// No watch is asked to last longer: a year, which any clock can count to.
const SECONDS_MAX: i64 = 365 * 24 * 60 * 60;
/// How many changes are sent at once.
const BATCH_MAX: usize = 256;
/// A watch is told the revision this often, and once shortly before its end.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);

struct Watch {
    registry: Arc<Registry>,
    durable: watch::Receiver<u64>,
    site: Site,
    namespace: Option<String>,
    selection: Selection,
    accepted: Accepted,
    include: tables::IncludeObject,
    headers_sent: bool,
    bookmarks: bool,
    /// Objects that were there when the watch began, still to be sent.
    initial: Vec<(Key, Arc<StoredObject>)>,
    /// Say when all of them are sent.
    end_initial: bool,
    /// Changes up to here are sent.
    revision: u64,
    deadline: Instant,
    next_bookmark: Instant,
    ended: bool,
    _permit: Option<OwnedSemaphorePermit>,
}

/// Opens a watch.
pub(crate) async fn watch(
    registry: &Arc<Registry>,
    target: &Target,
    accepted: Accepted,
    query: &Query,
    gzip: bool,
    permit: Option<OwnedSemaphorePermit>,
) -> Result<HttpResponse, Failure> {
    let site = Site::of(target)?;
    if accepted.form == Form::PartialList || accepted.media == Media::Yaml {
        return Err(present::not_acceptable());
    }
    let selection = read::selection(&site, target, query)?;
    let seconds = query.integer("timeoutSeconds")?.filter(|seconds| *seconds > 0).unwrap_or(SECONDS_DEFAULT);
    let seconds = seconds.min(SECONDS_MAX);
    let start = start(query)?;
    let namespace = (!site.namespace.is_empty()).then(|| site.namespace.clone());
    let durable = registry.subscribe();
    let bookmarks = query.flag("allowWatchBookmarks");
    let (revision, initial) = match start {
        Start::After(revision) => (revision, Vec::new()),
        Start::Now => {
            let resource = site.resource;
            let page = registry
                .read(|store| {
                    store.list(resource, namespace.as_deref(), &selection, ListAt::Latest, None, None)
                })
                .await??;
            (page.revision, page.items)
        }
    };
    let deadline = Instant::now() + Duration::from_secs(seconds.unsigned_abs());
    let initial_wanted = matches!(start, Start::Now);
    let watch = Watch {
        registry: Arc::clone(registry),
        durable,
        site,
        namespace,
        selection,
        accepted,
        include: present::include(query)?,
        headers_sent: false,
        bookmarks,
        initial: initial.into_iter().rev().collect(),
        end_initial: initial_wanted && bookmarks,
        revision,
        deadline,
        next_bookmark: next_bookmark(Instant::now(), deadline),
        ended: false,
        _permit: permit,
    };
    // Small changes gain little, so only a watch that begins with everything there is is compressed, as upstream's are.
    let gzip = gzip && bookmarks && query.flag("sendInitialEvents");
    let frames = stream::unfold(watch, move |mut watch| async move {
        let chunk = watch.next().await?;
        // Each chunk is a file of its own, so that a client has all of it at once and a quiet watch holds no state.
        let chunk = if gzip { compress::file(&chunk) } else { chunk };
        Some((Ok::<_, Infallible>(Frame::data(Bytes::from(chunk))), watch))
    });
    let mut answer = Response::new(BodyExt::boxed(StreamBody::new(frames)));
    let content_type = match accepted.media {
        Media::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        Media::Json | Media::Yaml => respond::JSON,
    };
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    if gzip {
        compress::declare(answer.headers_mut());
    }
    Ok(answer)
}

/// When a watch that ends then is told the revision next: after a while, and once shortly before its end.
fn next_bookmark(now: Instant, deadline: Instant) -> Instant {
    let before_end = deadline.checked_sub(BOOKMARK_BEFORE_END).filter(|before_end| now < *before_end);
    before_end.map_or(deadline, |before_end| before_end.min(now + BOOKMARK_EVERY))
}

enum Start {
    /// With the objects that are there now.
    Now,
    /// With the changes after a revision.
    After(u64),
}

fn start(query: &Query) -> Result<Start, Failure> {
    let text = query.get("resourceVersion");
    let forbidden = |field: &str, message: &str| {
        Failure::bad_option("ListOptions", "FieldValueForbidden", field, message)
    };
    let matching = query.get("resourceVersionMatch");
    if query.has("sendInitialEvents") {
        if matching.is_empty() {
            return Err(forbidden(
                "resourceVersionMatch",
                "sendInitialEvents needs resourceVersionMatch NotOlderThan",
            ));
        }
        if matching != "NotOlderThan" {
            let message = "must be NotOlderThan with sendInitialEvents";
            let mut failure = forbidden("resourceVersionMatch", message);
            let known = json!({"reason": "FieldValueNotSupported", "field": "resourceVersionMatch", "message": message});
            failure.details["causes"]
                .as_array_mut()
                .into_iter()
                .for_each(|causes| causes.push(known.clone()));
            return Err(failure);
        }
    } else if !matching.is_empty() {
        return Err(forbidden(
            "resourceVersionMatch",
            "is for lists, and for watches with sendInitialEvents",
        ));
    }
    let revision = match text {
        "" => 0,
        text => text.parse::<u64>().map_err(|_| Failure::unexplained("resourceVersion must be a number"))?,
    };
    Ok(if query.flag("sendInitialEvents") || (revision == 0 && !query.has("sendInitialEvents")) {
        Start::Now
    } else {
        Start::After(revision)
    })
}

impl Watch {
    /// The next lines of the stream; `None` ends it.
    async fn next(&mut self) -> Option<Vec<u8>> {
        if self.ended {
            return None;
        }
        if !self.initial.is_empty() || self.end_initial {
            return Some(self.initial_chunk());
        }
        loop {
            let durable = *self.durable.borrow_and_update();
            if durable > self.revision {
                match self.changes(durable) {
                    Ok(chunk) if !chunk.is_empty() => return Some(chunk),
                    Ok(_) => continue,
                    Err(failure) => {
                        self.ended = true;
                        return Some(self.event("ERROR", &failure.status()));
                    }
                }
            }
            let now = Instant::now();
            if now >= self.deadline {
                return None;
            }
            if now >= self.next_bookmark {
                self.next_bookmark = next_bookmark(now, self.deadline);
                // Clients take a watch for dead that says nothing for too long, so the same revision is told again.
                if self.bookmarks {
                    return Some(self.bookmark(false));
                }
            }
            tokio::select! {
                changed = self.durable.changed() => changed.ok()?,
                () = sleep_until(self.deadline.min(self.next_bookmark)) => {}
            }
        }
    }

    fn initial_chunk(&mut self) -> Vec<u8> {
        let mut chunk = Vec::new();
        for _ in 0..BATCH_MAX {
            let Some((_, stored)) = self.initial.pop() else { break };
            self.line("ADDED", &stored, &mut chunk);
        }
        if self.initial.is_empty() && self.end_initial {
            self.end_initial = false;
            // A table has no place for a bookmark's annotation without a row.
            chunk.extend(self.bookmark(true));
        }
        chunk
    }

    /// The lines of changes that are durable and not yet sent.
    fn changes(&mut self, durable: u64) -> Result<Vec<u8>, Failure> {
        let events =
            self.registry.glance(|store| store.events_after(self.site.resource, self.revision, BATCH_MAX))?;
        let mut chunk = Vec::new();
        let full = events.len() == BATCH_MAX;
        for event in events.iter().take_while(|event| event.revision() <= durable) {
            self.revision = event.revision();
            let Some(change) = self.seen_as(event) else { continue };
            match &event.before {
                // Who sees an object leave the selection sees it as it was.
                Some(before) if change == "DELETED" => {
                    self.line(change, &before.moved_to(event.revision()), &mut chunk);
                }
                _ => self.line(change, &event.object, &mut chunk),
            }
        }
        if !full {
            self.revision = self.revision.max(durable);
        }
        Ok(chunk)
    }

    /// What a change is to somebody who sees only what the selection picks.
    fn seen_as(&self, event: &Event) -> Option<&'static str> {
        if self.namespace.as_deref().is_some_and(|namespace| namespace != &*event.key.namespace) {
            return None;
        }
        let now = event.change != Change::Deleted && self.selection.picks(&event.key, &event.object);
        let before = event.before.as_ref().is_some_and(|before| self.selection.picks(&event.key, before));
        match (before, now) {
            (false, true) => Some("ADDED"),
            (true, true) => Some("MODIFIED"),
            (true, false) => Some("DELETED"),
            (false, false) => None,
        }
    }

    fn line(&mut self, change: &str, stored: &StoredObject, out: &mut Vec<u8>) {
        let kind = self.site.kind;
        if self.accepted == Accepted::PLAIN && present::is_stored(kind) {
            out.extend_from_slice(b"{\"type\":\"");
            out.extend_from_slice(change.as_bytes());
            out.extend_from_slice(b"\",\"object\":");
            stored.write_object(&kind.api_version, &kind.kind, out);
            out.extend_from_slice(b"}\n");
            return;
        }
        let object = self.shown(&present::value_of(kind, stored));
        out.extend(self.event(change, &object));
    }

    /// One event of the stream: a line of JSON, or a frame of protobuf.
    fn event(&self, change: &str, object: &Value) -> Vec<u8> {
        if self.accepted.media == Media::Protobuf
            && let Some(object) = write_protobuf(table(), object)
        {
            return watch_frame(change, &object);
        }
        let mut line = json!({"type": change, "object": object}).to_string().into_bytes();
        line.push(b'\n');
        line
    }

    fn shown(&mut self, object: &Value) -> Value {
        match self.accepted.form {
            Form::Object | Form::PartialList => object.clone(),
            Form::Partial => tables::partial(object, MetaVersion::V1),
            Form::Table(version) => {
                let version = version.rsplit('/').next().and_then(MetaVersion::parse).unwrap_or_default();
                let options = TableOptions { version, include: self.include, headers: !self.headers_sent };
                self.headers_sent = true;
                tables::table_of_one(self.site.kind, object, Registry::now(), options)
            }
        }
    }

    /// Tells the revision without a change.
    fn bookmark(&mut self, end_of_initial: bool) -> Vec<u8> {
        let kind = self.site.kind;
        let mut meta = json!({"resourceVersion": self.revision.to_string()});
        if end_of_initial {
            meta["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let mut object = json!({"kind": kind.kind, "apiVersion": kind.api_version, "metadata": meta});
        if self.accepted.form != Form::Object {
            object = self.shown(&object);
        }
        self.event("BOOKMARK", &object)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::sync::Arc;

    use flate2::read::GzDecoder;
    use gates::Gates;
    use http_body_util::BodyExt as _;
    use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};
    use schema::{Document, parse_protobuf, table};
    use serde_json::json;
    use store::Store;

    use crate::negotiate;
    use crate::objects::{Options, Site};
    use crate::registry::{NoLog, Registry};
    use crate::respond::HttpResponse;
    use crate::route::{Query, Target};
    use crate::seed;

    async fn registry() -> Arc<Registry> {
        let registry = Registry::new(Store::default(), Box::new(NoLog), Gates::default());
        seed::seed(&registry).await.expect("nothing is in the way of the first objects");
        registry
    }

    async fn watch(registry: &Arc<Registry>, query: &str, gzip: bool, accept: &str) -> HttpResponse {
        let target = Target::read("/api/v1/namespaces").expect("a path");
        let accepted = negotiate::accepted(Some(accept), true).expect("the form is served");
        let query = Query::read(Some(query));
        super::watch(registry, &target, accepted, &query, gzip, None).await.expect("the watch begins")
    }

    #[tokio::test]
    async fn a_watch_may_be_asked_to_last_for_ever() {
        let registry = registry().await;
        for seconds in ["9223372036854775807", "-9223372036854775808", "0"] {
            let query = format!("timeoutSeconds={seconds}&resourceVersion={}", u64::MAX);
            watch(&registry, &query, false, "application/json").await;
        }
    }

    async fn make(registry: &Arc<Registry>, name: &str) {
        let site = Site::of(&Target::read("/api/v1/namespaces").expect("a path")).expect("stored");
        let options = Options::read(&Query::default(), "CreateOptions").expect("no options are fine");
        let document = Document { value: json!({"metadata": {"name": name}}), duplicates: Vec::new() };
        registry.create(&site, document, &options).await.expect("the namespace is made");
    }

    /// The next chunk of a compressed watch, which must make sense on its own.
    async fn unzipped(answer: &mut HttpResponse) -> String {
        let frame = answer.body_mut().frame().await.expect("the watch goes on").expect("no error");
        let bytes = frame.into_data().expect("a watch has no trailers");
        let mut text = String::new();
        GzDecoder::new(bytes.as_ref()).read_to_string(&mut text).expect("a whole gzip file");
        text
    }

    #[test]
    fn a_watch_is_told_the_revision_each_minute_and_before_its_end() {
        let begin = tokio::time::Instant::now();
        let (minute, before_end) = (super::BOOKMARK_EVERY, super::BOOKMARK_BEFORE_END);
        let (mut now, end) = (begin, begin + minute * 2 + minute / 2);
        let mut told = Vec::new();
        while now < end {
            now = super::next_bookmark(now, end);
            told.push(now);
        }
        assert_eq!(told, [begin + minute, begin + minute * 2, end - before_end, end]);
    }

    const EVERYTHING: &str =
        "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

    #[tokio::test]
    async fn a_compressed_watch_tells_each_change_at_once() {
        let registry = registry().await;
        let mut answer = watch(&registry, EVERYTHING, true, "application/json").await;
        assert_eq!(answer.headers().get(CONTENT_ENCODING).map(HeaderValue::as_bytes), Some(&b"gzip"[..]));
        let first = unzipped(&mut answer).await;
        assert!(first.contains("kube-system") && first.trim_end().ends_with('}'), "{first}");
        assert!(first.contains("k8s.io/initial-events-end"), "{first}");
        for name in ["one", "two"] {
            make(&registry, name).await;
            let next = unzipped(&mut answer).await;
            assert!(next.starts_with("{\"type\":\"ADDED\"") && next.contains(name), "{next}");
        }
    }

    #[tokio::test]
    async fn a_watch_is_plain_unless_it_begins_with_everything_and_gzip_is_accepted() {
        let registry = registry().await;
        for (query, gzip) in
            [(EVERYTHING, false), ("watch=1", true), ("watch=1&allowWatchBookmarks=true", true)]
        {
            let answer = watch(&registry, query, gzip, "application/json").await;
            assert_eq!(answer.headers().get(CONTENT_ENCODING), None, "{query}");
        }
    }

    #[tokio::test]
    async fn a_watch_in_protobuf_has_a_frame_for_each_event() {
        let registry = registry().await;
        let mut answer = watch(&registry, "watch=1", false, "application/vnd.kubernetes.protobuf").await;
        let media = answer.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        assert_eq!(media, Some(&b"application/vnd.kubernetes.protobuf;stream=watch"[..]));
        let frame = answer.body_mut().frame().await.expect("the watch goes on").expect("no error");
        let bytes = frame.into_data().expect("a watch has no trailers");
        let (mut rest, mut names) = (bytes.as_ref(), Vec::new());
        while let Some((length, more)) = rest.split_first_chunk::<4>() {
            let (event, more) = more.split_at(u32::from_be_bytes(*length) as usize);
            assert!(event.starts_with(b"\n\x05ADDED\x12"));
            let at = event.windows(4).position(|four| four == b"k8s\0").expect("an envelope");
            let object = parse_protobuf(table(), &event[at..]).expect("a namespace");
            names.push(object["metadata"]["name"].as_str().unwrap_or_default().to_owned());
            rest = more;
        }
        assert_eq!(names, ["default", "kube-node-lease", "kube-public", "kube-system"]);
    }
}
