//! Requests that read: one object, or a list.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use store::{FieldSelector, Key, LabelSelector, ListAt, Page, Selection};
use tables::{MetaVersion, TableOptions};

use crate::negotiate::{Accepted, Form};
use crate::objects::Site;
use crate::present;
use crate::registry::Registry;
use crate::respond::{self, HttpResponse};
use crate::route::{Query, Target};
use crate::status::Failure;

/// What the selectors of a query pick.
pub(crate) fn selection(site: &Site, target: &Target, query: &Query) -> Result<Selection, Failure> {
    let labels = LabelSelector::parse(query.get("labelSelector"))?;
    let mut text = query.get("fieldSelector").to_owned();
    if let Some(name) = &target.name {
        text = if text.is_empty() {
            format!("metadata.name={name}")
        } else {
            format!("{text},metadata.name={name}")
        };
    }
    Ok(Selection { labels, fields: FieldSelector::parse(site.kind, &text)? })
}

/// One object.
pub(crate) async fn get(
    registry: &Registry,
    target: &Target,
    accepted: Accepted,
    query: &Query,
) -> Result<HttpResponse, Failure> {
    let site = Site::of(target)?;
    let name = target.name.as_deref().unwrap_or_default();
    if !matches!(query.get("resourceVersion"), "") && query.get("resourceVersion").parse::<u64>().is_err() {
        return Err(Failure::unexplained("resourceVersion must be a number"));
    }
    let key = site.key(name);
    let stored = registry.read(|store| store.get(site.resource, &key)).await?;
    let stored = stored.ok_or_else(|| Failure::not_found(site.kind, name))?;
    present::object(200, site.kind, &stored, accepted, query)
}

/// At which revision a list is to be shown, and where it goes on.
struct Place {
    at: ListAt,
    after: Option<Key>,
    limit: Option<usize>,
}

fn place(query: &Query) -> Result<Place, Failure> {
    let limit =
        query.integer("limit")?.and_then(|limit| usize::try_from(limit).ok()).filter(|limit| *limit > 0);
    let matching = query.get("resourceVersionMatch");
    let text = query.get("resourceVersion");
    let forbidden = |field: &str, message: &str| {
        Failure::bad_option("ListOptions", "FieldValueForbidden", field, message)
    };
    if query.has("sendInitialEvents") {
        return Err(forbidden("sendInitialEvents", "is for watches only"));
    }
    if !matching.is_empty() {
        if text.is_empty() {
            return Err(forbidden("resourceVersionMatch", "needs a resourceVersion"));
        }
        if query.has("continue") && !query.get("continue").is_empty() {
            return Err(forbidden("resourceVersionMatch", "cannot be combined with continue"));
        }
        match matching {
            "Exact" if text == "0" => {
                return Err(forbidden(
                    "resourceVersionMatch",
                    "Exact cannot be combined with resourceVersion 0",
                ));
            }
            "Exact" | "NotOlderThan" => {}
            _ => {
                let message = "must be Exact or NotOlderThan";
                return Err(Failure::bad_option(
                    "ListOptions",
                    "FieldValueNotSupported",
                    "resourceVersionMatch",
                    message,
                ));
            }
        }
    }
    let revision = match text {
        "" => None,
        text => {
            Some(text.parse::<u64>().map_err(|_| Failure::bad_request("resourceVersion must be a number"))?)
        }
    };
    if let Some(token) = Some(query.get("continue")).filter(|token| !token.is_empty()) {
        if revision.is_some_and(|revision| revision != 0) {
            return Err(Failure::bad_request("resourceVersion cannot be combined with continue"));
        }
        let (revision_then, after) =
            read_token(token).ok_or_else(|| Failure::bad_request("the continue key is not valid"))?;
        // From the cache a list is not limited, and neither are we then.
        let limit = if revision == Some(0) { None } else { limit };
        return Ok(Place { at: ListAt::Revision(revision_then), after: Some(after), limit });
    }
    let at = match (matching, revision) {
        ("Exact", Some(revision)) => ListAt::Revision(revision),
        _ => ListAt::Latest,
    };
    // A list from the cache ignores its limit in Kubernetes; clients page only without a revision.
    let limit = if revision == Some(0) { None } else { limit };
    Ok(Place { at, after: None, limit })
}

fn write_token(revision: u64, after: &Key) -> String {
    URL_SAFE_NO_PAD.encode(
        json!({"v": "supercargo/1", "rv": revision, "ns": *after.namespace, "name": *after.name}).to_string(),
    )
}

fn read_token(token: &str) -> Option<(u64, Key)> {
    let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
    let value: Value = serde_json::from_slice(&bytes).ok()?;
    let text = |name: &str| value[name].as_str();
    (text("v")? == "supercargo/1")
        .then(|| Some((value["rv"].as_u64()?, Key::new(text("ns")?, text("name")?))))
        .flatten()
}

/// A list.
pub(crate) async fn list(
    registry: &Arc<Registry>,
    target: &Target,
    accepted: Accepted,
    query: &Query,
) -> Result<HttpResponse, Failure> {
    let site = Site::of(target)?;
    let selection = selection(&site, target, query)?;
    let place = place(query)?;
    let namespace = (!site.namespace.is_empty()).then_some(site.namespace.as_str());
    let seen = registry
        .read(|store| {
            let page =
                store.list(site.resource, namespace, &selection, place.at, place.after.as_ref(), place.limit);
            (store.revision(), page)
        })
        .await?;
    let (now, page) = seen;
    if let ListAt::Revision(wanted) = place.at
        && wanted > now
    {
        let message = format!("Too large resource version: {wanted}, current: {now}");
        let mut failure = Failure::new(504, "Timeout", message);
        failure.details = json!({"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}], "retryAfterSeconds": 1});
        return Err(failure);
    }
    show(&site, &page?, accepted, query)
}

fn list_meta(page: &Page) -> Value {
    let mut meta = json!({"resourceVersion": page.revision.to_string()});
    if let Some(after) = &page.more_after {
        meta["continue"] = json!(write_token(page.revision, after));
        if let Some(remaining) = page.remaining {
            meta["remainingItemCount"] = json!(remaining);
        }
    }
    meta
}

fn show(site: &Site, page: &Page, accepted: Accepted, query: &Query) -> Result<HttpResponse, Failure> {
    let kind = site.kind;
    let meta = list_meta(page);
    if accepted == Accepted::PLAIN && present::is_stored(kind) && !query.flag("pretty") {
        return Ok(respond::plain(200, respond::JSON, fast_list(site, page, &meta)));
    }
    let objects: Vec<Value> = page.items.iter().map(|(_, stored)| present::value_of(kind, stored)).collect();
    show_values(site, &objects, meta, accepted, query)
}

/// Objects as a list in the form that was asked for.
pub(crate) fn show_values(
    site: &Site,
    objects: &[Value],
    meta: Value,
    accepted: Accepted,
    query: &Query,
) -> Result<HttpResponse, Failure> {
    let kind = site.kind;
    let body = match accepted.form {
        Form::Object => {
            let items: Vec<Value> = objects.iter().map(bare).collect();
            json!({"kind": format!("{}List", kind.kind), "apiVersion": kind.api_version, "metadata": meta, "items": items})
        }
        Form::Table(version) => {
            let version = version.rsplit('/').next().and_then(MetaVersion::parse).unwrap_or_default();
            let options = TableOptions { version, include: present::include(query)?, headers: true };
            tables::table_of_list(kind, objects, meta, Registry::now(), options)
        }
        Form::PartialList => tables::partial_list(objects, meta, MetaVersion::V1),
        Form::Partial => return Err(present::not_acceptable()),
    };
    Ok(respond::value(200, &body, accepted.media, query.flag("pretty")))
}

/// An element of a list has no kind of its own.
fn bare(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    object
}

/// A list of stored objects, put together from their bytes.
fn fast_list(site: &Site, page: &Page, meta: &Value) -> Vec<u8> {
    let bytes: usize = page.items.iter().map(|(_, stored)| stored.bytes() + 64).sum();
    let mut text = Vec::with_capacity(bytes + 256);
    let head = format!(
        "{{\"kind\":\"{}List\",\"apiVersion\":\"{}\",\"metadata\":{meta},\"items\":[",
        site.kind.kind, site.kind.api_version
    );
    text.extend_from_slice(head.as_bytes());
    for (at, (_, stored)) in page.items.iter().enumerate() {
        if at > 0 {
            text.push(b',');
        }
        stored.write_item(&mut text);
    }
    text.extend_from_slice(b"]}\n");
    text
}
