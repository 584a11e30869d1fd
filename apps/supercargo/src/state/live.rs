//! The objects of a cluster from its API server: a list for each kind, and where that is forbidden, one for each namespace that
//! the caller may read.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Arc;

use client::{Answer, Connection, ListRequest, Selectors};
use cluster::change::Change;
use convert::followed::{FOLLOWED, FollowedKind};
use inventory::observed::Namespaces;
use model::pod::{Pod, PodId};
use objects::Object;
use objects::resource::claim::ResourceClaim;
use schema::{Scope, table};
use serde_json::{Value, json};
use simulation::{Manifest, Observation, Place};

use super::{Gathered, Unread, Wanted};
use crate::failure::Failure;

/// How many objects come in one answer.
const PAGE_SIZE: u32 = 500;

/// How many objects of a kind are read at the most.
const OBJECTS_MAX: usize = 1_000_000;

/// In how many namespaces objects are looked for, one namespace after the other, if not all may be listed at once.
const NAMESPACES_MAX: usize = 1_000;

/// How often a list is restarted because a page expired.
const ATTEMPTS_MAX: u32 = 3;

/// The result of a list.
enum Listed {
    Done(Observation),
    /// The server does not serve the kind.
    NotServed,
    /// The caller may not.
    Forbidden(String),
}

/// The kinds of which all objects are forbidden, by the namespaces in which they were read, with why the first of them is.
type Gaps = BTreeMap<BTreeSet<String>, (Vec<&'static str>, String)>;

/// A kind that is listed.
#[derive(Clone, Copy)]
struct ListedKind {
    kind: &'static str,
    api_version: &'static str,
    plural: &'static str,
    fields: &'static str,
    comes_and_goes: bool,
}

impl From<&FollowedKind> for ListedKind {
    fn from(followed: &FollowedKind) -> ListedKind {
        let FollowedKind { kind, api_version, plural, fields, comes_and_goes, .. } = *followed;
        ListedKind { kind, api_version, plural, fields, comes_and_goes }
    }
}

/// Kinds that no scheduler follows, and that decide what a cluster makes of manifests.
const FOR_MANIFESTS: [ListedKind; 2] = [
    ListedKind {
        kind: "PriorityClass",
        api_version: "scheduling.k8s.io/v1",
        plural: "priorityclasses",
        fields: "",
        comes_and_goes: false,
    },
    ListedKind {
        kind: "ResourceClaimTemplate",
        api_version: "resource.k8s.io/v1",
        plural: "resourceclaimtemplates",
        fields: "",
        comes_and_goes: false,
    },
];

/// Reads every kind that a scheduler follows, and those that decide what becomes of manifests if that is wanted. What cannot be read
/// is reported to `complaints`.
pub(super) async fn gather(
    connection: &Connection,
    namespace: Option<&str>,
    wanted: Wanted,
    complaints: &mut dyn Write,
) -> Result<Gathered, Failure> {
    let mut gatherer = Gatherer {
        connection,
        observation: Observation::default(),
        namespaces: [namespace, Some(connection.default_namespace())]
            .into_iter()
            .flatten()
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect(),
        unread: Unread::default(),
        complaints,
    };
    let mut claims = Namespaces::All;
    if !connection.verifies_server() {
        gatherer.say("the certificate of the API server is not verified, because the kubeconfig sets insecure-skip-tls-verify");
    }
    let (mut refused, mut is_any_read) = (Vec::<String>::new(), false);
    let mut gaps = Gaps::new();
    let for_manifests = FOR_MANIFESTS.iter().copied().filter(|_| wanted == Wanted::ForManifests);
    for kind in FOLLOWED.iter().map(ListedKind::from).chain(for_manifests) {
        match gatherer.read(&kind).await? {
            Reading::All => is_any_read = true,
            Reading::NotServed => {}
            Reading::Only(names, why) => {
                if kind.kind == ResourceClaim::KIND {
                    claims = Namespaces::Only(names.iter().map(|name| Arc::from(name.as_str())).collect());
                }
                is_any_read |= !names.is_empty();
                refused.push(why.clone());
                gatherer.unread.add(kind.plural, &why);
                gaps.entry(names).or_insert_with(|| (Vec::new(), why)).0.push(kind.plural);
            }
        }
    }
    if let Some(why) = refused.first().filter(|_| !is_any_read) {
        return Err(Failure::hinted(why));
    }
    gatherer.tell(&gaps);
    let namespace = namespace.unwrap_or(connection.default_namespace()).to_owned();
    Ok(Gathered { observation: gatherer.observation, claims, namespace, unread: gatherer.unread })
}

/// A pod, if it is there, finished ones too.
pub(super) async fn pod(connection: &Connection, id: &PodId) -> Result<Option<Arc<Pod>>, Failure> {
    let selectors = Selectors { fields: format!("metadata.name={}", id.name), ..Selectors::default() };
    let namespace = &*id.namespace;
    let wanted = ListRequest { api_version: "v1", plural: "pods", namespace, selectors, page_size: 1 };
    let page = match connection.list_page(&wanted, None).await {
        Answer::Done(page) => page,
        other => {
            let why = other.trouble().unwrap_or_default();
            return Err(Failure::hinted(&format!("cannot read pod {id}: {why}")));
        }
    };
    let mut observation = Observation::default();
    for mut item in page.items {
        item["apiVersion"] = json!("v1");
        item["kind"] = json!("Pod");
        let place = Place { file: format!("pods/{}", id.name), line: 1 };
        observation.take(Manifest::made(place, item)).map_err(|bad| Failure::hinted(&bad.what))?;
    }
    Ok(observation.changes.into_iter().find_map(|change| match change {
        Change::PodApplied(pod) => Some(pod),
        _ => None,
    }))
}

/// Of which namespaces the objects of a kind were read.
enum Reading {
    All,
    /// Of none, since the server does not know the kind.
    NotServed,
    /// Of these, since all are forbidden.
    Only(BTreeSet<String>, String),
}

struct Gatherer<'g> {
    connection: &'g Connection,
    observation: Observation,
    /// The namespaces to look in where all are forbidden.
    namespaces: BTreeSet<String>,
    unread: Unread,
    complaints: &'g mut dyn Write,
}

impl Gatherer<'_> {
    /// Reads a kind, of all namespaces or of those that may be read.
    async fn read(&mut self, kind: &ListedKind) -> Result<Reading, Failure> {
        let why = match self.list(kind, "").await? {
            Listed::Done(part) => {
                if kind.kind == "Namespace" {
                    let names = part.changes.iter().filter_map(|change| match change {
                        Change::NamespaceApplied(name, _) => Some(name.to_string()),
                        _ => None,
                    });
                    self.namespaces.extend(names);
                }
                self.observation.join(part);
                return Ok(Reading::All);
            }
            Listed::NotServed => {
                if !kind.comes_and_goes {
                    self.say(&format!(
                        "the API server does not serve {} of {}",
                        kind.plural, kind.api_version
                    ));
                }
                return Ok(Reading::NotServed);
            }
            Listed::Forbidden(why) => {
                // Of a kind that there is not, a server says only that it is forbidden.
                if self.connection.serves(kind.api_version, kind.plural).await.done() == Some(false) {
                    return Ok(Reading::NotServed);
                }
                why
            }
        };
        let scope = table().kind(kind.api_version, kind.kind).map(|known| known.scope);
        let mut readable = BTreeSet::new();
        if scope == Some(Scope::Namespaced) {
            let candidates: Vec<String> = self.namespaces.iter().take(NAMESPACES_MAX).cloned().collect();
            for name in candidates {
                if let Listed::Done(part) = self.list(kind, &name).await? {
                    self.observation.join(part);
                    readable.insert(name);
                }
            }
        }
        Ok(Reading::Only(readable, why))
    }

    /// Lists a kind in a namespace, or in all if that is empty.
    async fn list(&mut self, kind: &ListedKind, namespace: &str) -> Result<Listed, Failure> {
        let selectors = Selectors { fields: kind.fields.to_owned(), ..Selectors::default() };
        let (api_version, plural) = (kind.api_version, kind.plural);
        let mut wanted = ListRequest { api_version, plural, namespace, selectors, page_size: PAGE_SIZE };
        for attempt in 1..=ATTEMPTS_MAX {
            if attempt == ATTEMPTS_MAX {
                // An answer that has all of them cannot come too late.
                wanted.page_size = 0;
            }
            if let Some(listed) = self.pages(kind, &wanted).await? {
                return Ok(listed);
            }
        }
        Err(Failure::hinted(&format!("the list of {plural} ended before it was complete; hint: try again")))
    }

    /// All pages of a list; nothing if one came too late.
    async fn pages(
        &mut self,
        kind: &ListedKind,
        wanted: &ListRequest<'_>,
    ) -> Result<Option<Listed>, Failure> {
        let mut part = self.observation.part();
        let (mut after, mut count): (Option<String>, usize) = (None, 0);
        loop {
            let page = match self.connection.list_page(wanted, after.as_deref()).await {
                Answer::Done(page) => page,
                Answer::Gone(_) => return Ok(None),
                Answer::NotFound(_) => return Ok(Some(Listed::NotServed)),
                Answer::Forbidden(why) => return Ok(Some(Listed::Forbidden(why))),
                other => {
                    let why = other.trouble().unwrap_or_default();
                    return Err(Failure::hinted(&format!("cannot list {}: {why}", kind.plural)));
                }
            };
            count += page.items.len();
            if count > OBJECTS_MAX {
                return Err(Failure::hinted(&format!(
                    "the cluster has more than {OBJECTS_MAX} {}",
                    kind.plural
                )));
            }
            for item in page.items {
                self.take(&mut part, kind, item);
            }
            after = page.next;
            if after.is_none() {
                return Ok(Some(Listed::Done(part)));
            }
        }
    }

    fn take(&mut self, part: &mut Observation, kind: &ListedKind, mut item: Value) {
        item["apiVersion"] = json!(kind.api_version);
        item["kind"] = json!(kind.kind);
        let name = item["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if kind.kind == objects::core::pod::Pod::KIND {
            self.unread.note_condition(&item);
        }
        let place = Place { file: format!("{}/{name}", kind.plural), line: 1 };
        // An object that a scheduler cannot read either is as good as not there, and is told of.
        if let Err(bad) = part.take(Manifest::made(place, item)) {
            self.say(&format!("ignored {} {name}: {}", kind.kind, bad.what));
        }
    }

    /// Tells which objects could not be read.
    fn tell(&mut self, gaps: &Gaps) {
        for (namespaces, (plurals, why)) in gaps {
            let names: Vec<&str> = namespaces.iter().map(String::as_str).collect();
            let read = match names.as_slice() {
                [] => "they are ignored".to_owned(),
                [one] => format!("only those in namespace {one} are used"),
                several => format!("only those in namespaces {} are used", several.join(", ")),
            };
            let what = plurals.join(", ");
            self.say(&format!("not all objects of these kinds can be listed: {what}; {read} ({why})"));
        }
    }

    fn say(&mut self, what: &str) {
        // A caller that closed stderr reads no notes.
        let _ = writeln!(self.complaints, "note: {what}");
    }
}
