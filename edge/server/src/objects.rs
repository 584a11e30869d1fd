//! Requests that make and replace objects, and what all changes share.

use std::sync::Arc;

use admission::{
    Admitted, FieldValidation, Identity, Operation, Owners, Rejection, Submission, admit, from_stored,
    stored_kind,
};
use schema::{Document, Kind, Scope, fill};
use serde_json::{Value, json};
use store::managed::{Manager, keep_times, reset_fields, tracked};
use store::{Body, Committed, Expected, Key, Resource, StoredObject, WriteError, deletion, selectable};

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
    Stored(Arc<StoredObject>),
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

    pub(crate) fn value(&self, stored: &StoredObject) -> Value {
        stored.value(&self.stored.api_version, &self.stored.kind)
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
    ) -> Result<Admitted, Rejection> {
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
            let reset = reset_fields(site.kind, options.subresource);
            tracked(schema::table(), site.kind, old.as_ref(), shown, &manager, reset)
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
                let stored = Arc::clone(&committed.event.object);
                Ok(Done { code: 201, result: Outcome::Stored(stored), warnings: admitted.warnings })
            }
            Err(_) => Err(Failure::exists(site.kind, &name)),
        }
    }

    /// A namespace that is not there or is being deleted takes no new objects.
    fn namespace_takes_objects(&self, site: &Site, name: &str) -> Result<(), Failure> {
        if site.kind.scope == Scope::Cluster {
            return Ok(());
        }
        let kind = schema::table().kind("v1", "Namespace").ok_or_else(Failure::no_such_path)?;
        let resource = Resource::of(kind).ok_or_else(Failure::no_such_path)?;
        let Some(namespace) = self.get(resource, &Key::new("", &site.namespace)) else {
            return Err(Failure::not_found(kind, &site.namespace));
        };
        // Nearly every namespace is neither owned nor being deleted, and need not be read.
        let deleting = || namespace.value("v1", "Namespace")["metadata"].get("deletionTimestamp").is_some();
        if !namespace.has_ties() || !deleting() {
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
            && site.kind.made_by_replacing
            && self.get(site.resource, &site.key(name)).is_none()
        {
            return self.create(site, document, options).await;
        }
        let status = target.subresource.is_some();
        let refused = Failure::rejected;
        self.change(site, name, status, options, refused, &mut |_| Ok(document.clone_document())).await
    }

    /// Reads, changes and writes an object; again if somebody else was faster and the change does not mind.
    pub(crate) async fn change(
        self: &Arc<Self>,
        site: &Site,
        name: &str,
        status: bool,
        options: &Options,
        refused: fn(Rejection, &Kind, &str) -> Failure,
        make: &mut (dyn FnMut(&Value) -> Result<Document, Failure> + Send),
    ) -> Result<Done, Failure> {
        let key = site.key(name);
        for _ in 0..TRIES_MAX {
            let Some(stored) = self.get(site.resource, &key) else {
                return Err(Failure::not_found(site.kind, name));
            };
            let old = site.value(&stored);
            let document = make(&old)?;
            let wanted = expected_revision(&document.value, &old).map_err(|why| match why {
                Unmet::NoNumber => Failure::unexplained("metadata.resourceVersion must be a number"),
                Unmet::Other => Failure::conflict(site.kind, name, "the object has been modified; please apply your changes to the latest version and try again"),
            })?;
            let operation = if status { Operation::UpdateStatus(&old) } else { Operation::Update(&old) };
            let admitted = self
                .judge(site, document, operation, options)
                .map_err(|rejection| refused(rejection, site.kind, name))?;
            if admitted.object == old {
                return Ok(Done { code: 200, result: Outcome::Stored(stored), warnings: admitted.warnings });
            }
            if options.dry_run {
                return Ok(Done {
                    code: 200,
                    result: Outcome::Shown(admitted.object),
                    warnings: admitted.warnings,
                });
            }
            match self.store_change(site, &key, &admitted.object, stored.revision()).await? {
                Ok(result) => return Ok(Done { code: 200, result, warnings: admitted.warnings }),
                Err(WriteError::Changed { .. }) if !wanted => {}
                Err(WriteError::Missing) => return Err(Failure::not_found(site.kind, name)),
                Err(_) => {
                    return Err(Failure::conflict(site.kind, name, "the object has been modified"));
                }
            }
        }
        Err(Failure::conflict(site.kind, name, "the object is changed concurrently; please try again"))
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
        Ok(written.map(|committed: Committed| Outcome::Stored(Arc::clone(&committed.event.object))))
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
            let Some(stored) = self.get(site.resource, &key) else {
                return Err(Failure::not_found(site.kind, name));
            };
            let mut object = site.value(&stored);
            make(&mut object)?;
            fill(schema::table(), site.stored.object, &mut object);
            match self.store_change(site, &key, &object, stored.revision()).await? {
                Ok(outcome) => return Ok(outcome),
                Err(WriteError::Missing) => return Err(Failure::not_found(site.kind, name)),
                Err(_) => {}
            }
        }
        Err(Failure::conflict(site.kind, name, "the object is changed concurrently; please try again"))
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
