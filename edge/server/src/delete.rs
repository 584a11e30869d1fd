//! Requests that delete: one object, or all that are selected.

use std::sync::Arc;

use serde_json::{Value, json};
use store::deletion::{self, Deletion, Propagation, Wish};
use store::{Expected, ListAt, WriteError};

use crate::objects::{Done, Outcome, Site};
use crate::registry::Registry;
use crate::route::Query;
use crate::status::{Failure, object_details};

/// How to delete, from the query and the body.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    wish: Wish,
    uid: Option<String>,
    revision: Option<String>,
    pub dry_run: bool,
}

impl DeleteOptions {
    /// The body's options; where there is no body, the query's.
    pub(crate) fn read(query: &Query, body: &Value) -> Result<Self, Failure> {
        let text = |name: &str| match body {
            Value::Null => Some(query.get(name)).filter(|text| !text.is_empty()).map(str::to_owned),
            body => body[name].as_str().map(str::to_owned),
        };
        let bad = |field: &str, reason: &str, message: &str| {
            Failure::bad_option("DeleteOptions", reason, field, message)
        };
        let dry_runs: Vec<String> = match body {
            Value::Null => query.all("dryRun").to_vec(),
            body => body["dryRun"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|v| v.as_str().map(str::to_owned))
                .collect(),
        };
        if dry_runs.iter().any(|value| value != "All") {
            return Err(bad("dryRun", "FieldValueNotSupported", "must be All"));
        }
        let orphan = body["orphanDependents"].as_bool().or_else(|| {
            (body.is_null() && query.has("orphanDependents")).then(|| query.flag("orphanDependents"))
        });
        let policy = text("propagationPolicy");
        if orphan.is_some() && policy.is_some() {
            return Err(bad(
                "propagationPolicy",
                "FieldValueInvalid",
                "orphanDependents and propagationPolicy exclude each other",
            ));
        }
        let propagation = match (policy.as_deref(), orphan) {
            (None, None) => None,
            (Some("Background"), _) | (None, Some(false)) => Some(Propagation::Background),
            (Some("Foreground"), _) => Some(Propagation::Foreground),
            (Some("Orphan"), _) | (None, Some(true)) => Some(Propagation::Orphan),
            (Some(_), _) => {
                return Err(bad(
                    "propagationPolicy",
                    "FieldValueNotSupported",
                    "must be Background, Foreground or Orphan",
                ));
            }
        };
        let grace_seconds = match body {
            Value::Null => query.integer("gracePeriodSeconds")?,
            body => body["gracePeriodSeconds"].as_i64(),
        };
        let precondition = |name: &str| body["preconditions"][name].as_str().map(str::to_owned);
        Ok(Self {
            wish: Wish { grace_seconds, propagation },
            uid: precondition("uid"),
            revision: precondition("resourceVersion"),
            dry_run: !dry_runs.is_empty(),
        })
    }

    /// Follows an object that was changed in order to be deleted, if a version of it was asked for.
    pub(crate) fn follow(&mut self, revision: u64) {
        self.revision = self.revision.take().map(|_| revision.to_string());
    }

    /// Whether the object is the one that is to be deleted.
    pub(crate) fn check(&self, site: &Site, object: &Value) -> Result<(), Failure> {
        let meta = &object["metadata"];
        let name = meta["name"].as_str().unwrap_or_default();
        for (what, wanted, have) in
            [("uid", &self.uid, &meta["uid"]), ("resourceVersion", &self.revision, &meta["resourceVersion"])]
        {
            if wanted.as_deref().is_some_and(|wanted| Some(wanted) != have.as_str()) {
                let mut failure =
                    Failure::conflict(site.kind, name, &format!("the precondition on {what} does not hold"));
                failure.details["kind"] = json!(site.kind.kind);
                return Err(failure);
            }
        }
        Ok(())
    }
}

impl Registry {
    /// Deletes an object, or marks it.
    pub(crate) async fn delete(
        self: &Arc<Self>,
        site: &Site,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<Done, Failure> {
        let key = site.key(name);
        loop {
            let Some(stored) = self.get(site.resource, &key) else {
                return Err(Failure::not_found(site.kind, name));
            };
            let object = site.value(&stored);
            options.check(site, &object)?;
            let done = |result: Outcome| Done { code: 200, result, warnings: Vec::new() };
            let expected = Expected::Revision(stored.revision());
            let decided = deletion::delete(&site.stored.kind, &object, options.wish, Self::now())
                .map_err(|protected| Failure::forbidden(site.kind, name, &protected.to_string()))?;
            if options.dry_run {
                return Ok(done(match decided {
                    Deletion::Mark(object) => Outcome::Shown(object),
                    Deletion::MarkAndRemove(object) => Outcome::Gone(object),
                    Deletion::Pending => Outcome::Stored(stored),
                    Deletion::Remove => Outcome::Gone(object),
                }));
            }
            let (marked, then_remove) = match decided {
                Deletion::Pending => return Ok(done(Outcome::Stored(stored))),
                Deletion::Mark(object) => (Some(object), false),
                Deletion::MarkAndRemove(object) => (Some(object), true),
                Deletion::Remove => (None, true),
            };
            let mut expected = expected;
            if let Some(object) = marked {
                let body = store::Body::new(&object, store::selectable(site.stored, &object));
                match self.commit(|store| store.put(site.resource, key.clone(), body, expected)).await? {
                    Ok(committed) if !then_remove => {
                        return Ok(done(Outcome::Stored(Arc::clone(&committed.event.object))));
                    }
                    Ok(committed) => expected = Expected::Revision(committed.event.revision()),
                    Err(_) => continue,
                }
            }
            match self.commit(|store| store.remove(site.resource, key.clone(), expected)).await? {
                Ok(committed) => return Ok(done(Outcome::Gone(site.value(&committed.event.object)))),
                Err(WriteError::Missing) => return Err(Failure::not_found(site.kind, name)),
                Err(_) => {}
            }
        }
    }

    /// Deletes what is selected, one object after the other, and returns what was there.
    pub(crate) async fn delete_all(
        self: &Arc<Self>,
        site: &Site,
        selection: &store::Selection,
        limit: Option<usize>,
        options: &DeleteOptions,
    ) -> Result<(u64, Vec<Value>), Failure> {
        let namespace = (!site.namespace.is_empty()).then_some(site.namespace.as_str());
        let page = self
            .read(|store| store.list(site.resource, namespace, selection, ListAt::Latest, None, limit))
            .await??;
        let mut shown = Vec::new();
        for (key, stored) in &page.items {
            match self.delete(site, &key.name, options).await {
                Ok(_) => shown.push(site.value(stored)),
                // Somebody else deleted it first, which is as good.
                Err(failure) if failure.code == 404 => shown.push(site.value(stored)),
                Err(failure) => return Err(failure),
            }
        }
        Ok((page.revision, shown))
    }
}

/// The `Status` of a deletion that is done.
pub(crate) fn success(site: &Site, object: &Value) -> Value {
    let mut details = object_details(site.kind, object["metadata"]["name"].as_str().unwrap_or_default());
    details["uid"] = object["metadata"]["uid"].clone();
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}
