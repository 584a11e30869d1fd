//! Requests that change objects: create, replace, patch, delete.

use std::sync::Arc;

use admission::{
    Admitted, FieldValidation, Identity, Operation, Owners, Submission, admit, from_stored, stored_kind,
};
use schema::{Document, Kind, Scope, fill};
use serde_json::{Value, json};
use store::managed::{Manager, keep_times, reset_fields, track};
use store::patch::{PatchError, json_patch, merge_patch, strategic_merge_patch};
use store::{Body, Committed, Entry, Expected, Key, Resource, WriteError, deletion, selectable};

use crate::registry::Registry;
use crate::route::{Query, Target};
use crate::status::Failure;

/// How often a change that names no revision is tried again when others change the object meanwhile.
const TRIES_MAX: usize = 10;

/// An object after a request.
pub(crate) struct Done {
    pub code: u16,
    pub result: Outcome,
    pub warnings: Vec<String>,
}

/// What became of the object.
pub(crate) enum Outcome {
    /// It is stored.
    Stored(Arc<Entry>),
    /// It would look like this, in its stored version.
    Shown(Value),
    /// It is gone, and was this.
    Gone(Value),
}

/// The options that all changes share.
pub(crate) struct Options {
    pub dry_run: bool,
    /// Who owns the fields that the request sets.
    pub manager: String,
    /// The part of the object that the request goes to.
    pub subresource: &'static str,
    /// Server-side apply has noted the owners already.
    pub applied: bool,
    pub field_validation: FieldValidation,
}

impl Options {
    pub(crate) fn read(query: &Query, of: &str) -> Result<Self, Failure> {
        if query.all("dryRun").iter().any(|value| value != "All") {
            return Err(Failure::bad_option(of, "FieldValueNotSupported", "dryRun", "must be All"));
        }
        let field_validation = match query.get("fieldValidation") {
            "" | "Warn" => FieldValidation::Warn,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            _ => {
                let message = "must be Ignore, Warn or Strict";
                return Err(Failure::bad_option(of, "FieldValueNotSupported", "fieldValidation", message));
            }
        };
        let manager = query.get("fieldManager");
        if manager.len() > 128 {
            return Err(Failure::bad_option(
                of,
                "FieldValueTooLong",
                "fieldManager",
                "may have at most 128 bytes",
            ));
        }
        if manager.chars().any(char::is_control) {
            return Err(Failure::bad_option(of, "FieldValueInvalid", "fieldManager", "must be printable"));
        }
        Ok(Self {
            dry_run: query.has("dryRun"),
            manager: manager.to_owned(),
            subresource: "",
            applied: false,
            field_validation,
        })
    }
}

/// A resource and where its objects are stored.
pub(crate) struct Site {
    pub kind: &'static Kind,
    pub stored: &'static Kind,
    pub resource: Resource,
    pub namespace: String,
}

impl Site {
    pub(crate) fn of(target: &Target) -> Result<Self, Failure> {
        let stored = stored_kind(target.kind);
        let resource = Resource::of(stored).ok_or_else(Failure::no_such_path)?;
        Ok(Self { kind: target.kind, stored, resource, namespace: target.namespace.clone() })
    }

    pub(crate) fn key(&self, name: &str) -> Key {
        Key::new(&self.namespace, name)
    }

    fn body(&self, object: &Value) -> Body {
        Body::new(object, selectable(self.stored, object))
    }

    pub(crate) fn value(&self, entry: &Entry) -> Value {
        entry.value(&self.stored.api_version, &self.stored.kind)
    }
}

fn fresh_suffix() -> String {
    // Without vowels, so that no word comes out.
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut random = [0_u8; 5];
    if getrandom::fill(&mut random).is_err() {
        random = *b"00000";
    }
    random.iter().map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()])).collect()
}

impl Registry {
    fn judge(
        &self,
        site: &Site,
        document: Document,
        operation: Operation<'_>,
        options: &Options,
    ) -> Result<Admitted, admission::Rejection> {
        let uid = uuid::Uuid::new_v4().to_string();
        let suffix = fresh_suffix();
        let old = match operation {
            Operation::Create => None,
            Operation::Update(old) | Operation::UpdateStatus(old) => {
                Some(from_stored(site.kind, old.clone()))
            }
        };
        let time = Self::now().to_string();
        let manager = Manager { name: &options.manager, subresource: options.subresource, time: &time };
        let owners = |shown: &Value| {
            let mut shown = shown.clone();
            let reset = reset_fields(site.kind, options.subresource);
            track(schema::table(), site.kind, old.as_ref(), &mut shown, &manager, reset);
            shown["metadata"].get("managedFields").cloned()
        };
        let submission = Submission {
            kind: site.kind,
            namespace: &site.namespace,
            object: document.value,
            owners: (!options.applied).then_some(&owners as Owners<'_>),
            duplicates: document.duplicates,
            field_validation: options.field_validation,
        };
        let mut admitted =
            admit(submission, operation, Identity { uid: &uid, suffix: &suffix }, &self.context())?;
        if let Operation::Update(old) | Operation::UpdateStatus(old) = operation {
            keep_times(old, &mut admitted.object);
        }
        Ok(admitted)
    }

    /// Makes an object.
    pub(crate) async fn create(
        self: &Arc<Self>,
        site: &Site,
        document: Document,
        options: &Options,
    ) -> Result<Done, Failure> {
        let meta = &document.value["metadata"];
        let sent_name = match (meta["name"].as_str(), meta["generateName"].as_str()) {
            (None | Some(""), Some(prefix)) if !prefix.is_empty() => format!("{prefix}{}", fresh_suffix()),
            (name, _) => name.unwrap_or_default().to_owned(),
        };
        if meta["resourceVersion"].as_str().is_some_and(|text| !text.is_empty()) && !options.dry_run {
            return Err(Failure::unexplained("resourceVersion should not be set on objects to be created"));
        }
        let admitted = self
            .judge(site, document, Operation::Create, options)
            .map_err(|rejection| Failure::rejected(rejection, site.kind, &sent_name))?;
        let name = admitted.object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        self.namespace_takes_objects(site, &name)?;
        let key = site.key(&name);
        if options.dry_run {
            if self.get(site.resource, &key).is_some() {
                return Err(Failure::exists(site.kind, &name));
            }
            return Ok(Done {
                code: 201,
                result: Outcome::Shown(admitted.object),
                warnings: admitted.warnings,
            });
        }
        let body = site.body(&admitted.object);
        match self.commit(|store| store.put(site.resource, key, body, Expected::Absent)).await? {
            Ok(committed) => {
                let entry = Arc::clone(&committed.event.entry);
                Ok(Done { code: 201, result: Outcome::Stored(entry), warnings: admitted.warnings })
            }
            Err(_) => Err(Failure::exists(site.kind, &name)),
        }
    }

    /// A namespace that is not there or is being deleted takes no new objects.
    fn namespace_takes_objects(&self, site: &Site, name: &str) -> Result<(), Failure> {
        if site.kind.scope == Scope::Cluster {
            return Ok(());
        }
        let Some(namespace) = self.namespace(&site.namespace) else {
            let kind = schema::table().kind("v1", "Namespace").ok_or_else(Failure::no_such_path)?;
            return Err(Failure::not_found(kind, &site.namespace));
        };
        if namespace["metadata"].get("deletionTimestamp").is_none() {
            return Ok(());
        }
        let why = format!(
            "unable to create new content in namespace {} because it is being terminated",
            site.namespace
        );
        let mut failure = Failure::forbidden(site.kind, name, &why);
        failure.details["causes"] = json!([{"reason": "NamespaceTerminating", "field": "metadata.namespace",
            "message": format!("namespace {} is being terminated", site.namespace)}]);
        Err(failure)
    }

    /// Replaces an object, or makes it where the kind allows that.
    pub(crate) async fn replace(
        self: &Arc<Self>,
        site: &Site,
        target: &Target,
        document: Document,
        options: &Options,
    ) -> Result<Done, Failure> {
        let name = target.name.as_deref().unwrap_or_default();
        let meta = &document.value["metadata"];
        match meta["name"].as_str() {
            Some(sent) if !sent.is_empty() && sent != name => {
                return Err(Failure::bad_request(format!(
                    "the name of the object ({sent}) does not match the name on the URL ({name})"
                )));
            }
            Some(sent) if !sent.is_empty() => {}
            _ => return Err(Failure::bad_request("the object's metadata.name must be set")),
        }
        if target.subresource.is_none()
            && matches!(site.stored.kind.as_str(), "Lease" | "Event")
            && self.get(site.resource, &site.key(name)).is_none()
        {
            return self.create(site, document, options).await;
        }
        let status = target.subresource.is_some();
        self.change(site, name, status, options, &mut |_| Ok(document.clone_document())).await
    }

    /// Changes an object by a patch.
    pub(crate) async fn patch(
        self: &Arc<Self>,
        site: &Site,
        target: &Target,
        patch: &Patch,
        options: &Options,
    ) -> Result<Done, Failure> {
        let name = target.name.as_deref().unwrap_or_default();
        let status = target.subresource.is_some();
        let result = self.change(site, name, status, options, &mut |old| patch.apply(site, old)).await;
        // What a patch makes of an object is judged as an object, whatever form the fault has.
        result.map_err(|failure| match failure.code {
            400 if failure.reason == "BadRequest"
                && patch.is_wellformed()
                && !failure.message.contains("namespace") =>
            {
                let cause = json!({"reason": "FieldValueInvalid", "field": "patch", "message": failure.message.clone()});
                let mut invalid = Failure::invalid("", "", "", failure.message, &[]);
                invalid.details = json!({"causes": [cause]});
                invalid
            }
            _ => failure,
        })
    }

    /// Reads, changes and writes an object; again if somebody else was faster and the change does not mind.
    pub(crate) async fn change(
        self: &Arc<Self>,
        site: &Site,
        name: &str,
        status: bool,
        options: &Options,
        make: &mut (dyn FnMut(&Value) -> Result<Document, Failure> + Send),
    ) -> Result<Done, Failure> {
        let key = site.key(name);
        for _ in 0..TRIES_MAX {
            let Some(entry) = self.get(site.resource, &key) else {
                return Err(Failure::not_found(site.kind, name));
            };
            let old = site.value(&entry);
            let document = make(&old)?;
            let wanted = expected_revision(&document.value, &old).map_err(|why| match why {
                Unmet::NoNumber => Failure::unexplained("metadata.resourceVersion must be a number"),
                Unmet::Other => Failure::conflict(site.kind, name, "the object has been modified; please apply your changes to the latest version and try again"),
            })?;
            let operation = if status { Operation::UpdateStatus(&old) } else { Operation::Update(&old) };
            let admitted = self
                .judge(site, document, operation, options)
                .map_err(|rejection| Failure::rejected(rejection, site.kind, name))?;
            if admitted.object == old {
                return Ok(Done { code: 200, result: Outcome::Stored(entry), warnings: admitted.warnings });
            }
            if options.dry_run {
                return Ok(Done {
                    code: 200,
                    result: Outcome::Shown(admitted.object),
                    warnings: admitted.warnings,
                });
            }
            match self.store_change(site, &key, &admitted.object, entry.revision()).await? {
                Ok(result) => return Ok(Done { code: 200, result, warnings: admitted.warnings }),
                Err(WriteError::Changed { .. }) if !wanted => {}
                Err(WriteError::Missing) => return Err(Failure::not_found(site.kind, name)),
                Err(_) => {
                    return Err(Failure::conflict(site.kind, name, "the object has been modified meanwhile"));
                }
            }
        }
        Err(Failure::conflict(site.kind, name, "others keep changing the object; please try again"))
    }

    /// Writes a changed object, or removes it if it was only waiting for this change.
    async fn store_change(
        self: &Arc<Self>,
        site: &Site,
        key: &Key,
        object: &Value,
        revision: u64,
    ) -> Result<Result<Outcome, WriteError>, Failure> {
        let expected = Expected::Revision(revision);
        if deletion::is_done(object) {
            let removed = self.commit(|store| store.remove(site.resource, key.clone(), expected)).await?;
            return Ok(removed.map(|_| Outcome::Gone(object.clone())));
        }
        let body = site.body(object);
        let written = self.commit(|store| store.put(site.resource, key.clone(), body, expected)).await?;
        Ok(written.map(|committed: Committed| Outcome::Stored(Arc::clone(&committed.event.entry))))
    }

    /// Changes an object without admission, as the server itself does.
    pub(crate) async fn adjust(
        self: &Arc<Self>,
        site: &Site,
        name: &str,
        make: &mut (dyn FnMut(&mut Value) -> Result<(), Failure> + Send),
    ) -> Result<Outcome, Failure> {
        let key = site.key(name);
        for _ in 0..TRIES_MAX {
            let Some(entry) = self.get(site.resource, &key) else {
                return Err(Failure::not_found(site.kind, name));
            };
            let mut object = site.value(&entry);
            make(&mut object)?;
            fill(schema::table(), site.stored.object, &mut object);
            match self.store_change(site, &key, &object, entry.revision()).await? {
                Ok(outcome) => return Ok(outcome),
                Err(WriteError::Missing) => return Err(Failure::not_found(site.kind, name)),
                Err(_) => {}
            }
        }
        Err(Failure::conflict(site.kind, name, "others keep changing the object; please try again"))
    }
}

enum Unmet {
    NoNumber,
    Other,
}

/// The sender insists on a revision; an error if the object has another.
fn expected_revision(new: &Value, old: &Value) -> Result<bool, Unmet> {
    let sent = new["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    match sent {
        "" | "0" => Ok(false),
        text if text.parse::<u64>().is_err() => Err(Unmet::NoNumber),
        text if Some(text) == old["metadata"]["resourceVersion"].as_str() => Ok(true),
        _ => Err(Unmet::Other),
    }
}

/// A document can be sent again when somebody else was faster.
trait CloneDocument {
    fn clone_document(&self) -> Document;
}

impl CloneDocument for Document {
    fn clone_document(&self) -> Document {
        Document { value: self.value.clone(), duplicates: self.duplicates.clone() }
    }
}

/// A patch that was read.
pub(crate) enum Patch {
    Json(Value),
    Merge(Value),
    Strategic(Value),
}

impl Patch {
    /// Reads a patch of a media type; `None` for server-side apply, which is another thing.
    pub(crate) fn read(media_type: &str, body: &[u8]) -> Result<Option<Self>, Failure> {
        let value = || crate::body::json(body).map(|document| document.value);
        let object = || {
            let value = value()?;
            if value.is_object() {
                Ok(value)
            } else {
                Err(Failure::bad_request("the patch must be an object"))
            }
        };
        match media_type {
            "application/json-patch+json" => Ok(Some(Self::Json(value()?))),
            "application/merge-patch+json" => Ok(Some(Self::Merge(object()?))),
            "application/strategic-merge-patch+json" => Ok(Some(Self::Strategic(object()?))),
            "application/apply-patch+yaml" => Ok(None),
            other => {
                let supported = "application/json-patch+json, application/merge-patch+json, \
                                 application/strategic-merge-patch+json, application/apply-patch+yaml";
                Err(crate::body::unsupported(other, supported))
            }
        }
    }

    fn is_wellformed(&self) -> bool {
        !matches!(self, Self::Json(value) if !value.is_array())
    }

    fn apply(&self, site: &Site, old: &Value) -> Result<Document, Failure> {
        let mut object = from_stored(site.kind, old.clone());
        match self {
            Self::Json(patch) => json_patch(&mut object, patch).map_err(|error| match error {
                // Operations that make no sense are the object's fault to Kubernetes.
                PatchError::Malformed(what) if patch.is_array() => Failure::from(PatchError::Unfit(what)),
                other => Failure::from(other),
            })?,
            Self::Merge(patch) => merge_patch(&mut object, patch.clone()),
            Self::Strategic(patch) => {
                strategic_merge_patch(schema::table(), site.kind.object, &mut object, patch.clone())?;
            }
        }
        Ok(Document { value: object, duplicates: Vec::new() })
    }
}
