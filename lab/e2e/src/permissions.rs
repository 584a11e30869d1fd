//! What a part of the product asks for, held against what its role in `deploy/` allows, as the RBAC of a real server would.
//!
//! Our own server allows everything to everybody whom it knows. So a case on it looks after the fact: every request that a part sent
//! as its account is one that the account may send.

use std::sync::Arc;

use anyhow::{Result, ensure};
use client::{Hearer, Requests, Sent};
use parking_lot::Mutex;
use serde_json::Value;

use crate::account::Account;

/// Requests that no rule allows, in words, as they came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offences(Arc<Mutex<Vec<String>>>);

/// A rule of a role.
#[derive(Debug)]
struct Rule {
    groups: Vec<String>,
    resources: Vec<String>,
    verbs: Vec<String>,
    /// The only objects that it is about; all if there are none.
    names: Vec<String>,
    /// The only namespace that it is about.
    namespace: Option<String>,
}

/// A request, as a rule looks at it.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    verb: &'static str,
    group: String,
    /// With the part of it, such as `pods/status`.
    resource: String,
    name: Option<String>,
    namespace: Option<String>,
}

struct Auditor {
    account: Account,
    rules: Vec<Rule>,
    offences: Offences,
}

impl Offences {
    /// Looks at the requests of an account.
    pub(crate) fn watch(&self, account: Account) -> Result<Requests> {
        let (mut rules, offences) = (Vec::new(), self.clone());
        for object in account.objects()? {
            rules.extend(rules_of(&object));
        }
        ensure!(!rules.is_empty(), "{account:?} may do nothing");
        Ok(Requests::heard_by(Arc::new(Auditor { account, rules, offences })))
    }

    /// Fails if an account asked for something that it may not.
    pub(crate) fn none(&self) -> Result<()> {
        let offences = self.0.lock();
        ensure!(offences.is_empty(), "no rule in deploy/ allows this:\n{}", offences.join("\n"));
        Ok(())
    }
}

impl Hearer for Auditor {
    fn sent(&self, request: &Sent<'_>) {
        let Some(asked) = Asked::read(request.method, request.path) else { return };
        if !self.rules.iter().any(|rule| rule.allows(&asked)) {
            let offence = format!("{}: {} {}", self.account.name(), request.method, request.path);
            self.offences.0.lock().push(offence);
        }
    }
}

impl Rule {
    fn allows(&self, asked: &Asked) -> bool {
        let has = |list: &[String], word: &str| list.iter().any(|one| one == word);
        let name = asked.name.as_ref();
        has(&self.groups, &asked.group)
            && has(&self.resources, &asked.resource)
            && has(&self.verbs, asked.verb)
            && (self.names.is_empty() || name.is_some_and(|name| has(&self.names, name)))
            && (self.namespace.is_none() || self.namespace == asked.namespace)
    }
}

impl Asked {
    /// What is asked for; nothing for documents about the API itself, which every account may read.
    fn read(method: &str, path: &str) -> Option<Self> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let mut parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let group = match *parts.first()? {
            "api" => {
                parts.drain(..parts.len().min(2));
                ""
            }
            "apis" if parts.len() >= 3 => {
                let group = parts[1];
                parts.drain(..3);
                group
            }
            _ => return None,
        };
        let mut namespace = None;
        if let ["namespaces", name, _, ..] = parts[..] {
            namespace = Some(name.to_owned());
            parts.drain(..2);
        }
        let (plural, name) = (*parts.first()?, parts.get(1).map(|name| (*name).to_owned()));
        let resource = parts.get(2).map_or(plural.to_owned(), |part| format!("{plural}/{part}"));
        let verb = match (method, &name) {
            ("GET", Some(_)) => "get",
            ("GET", None) if query.split('&').any(|one| one.starts_with("watch=")) => "watch",
            ("GET", None) => "list",
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            ("DELETE", Some(_)) => "delete",
            _ => "deletecollection",
        };
        Some(Self { verb, group: group.to_owned(), resource, name, namespace })
    }
}

/// The rules of a role; none of another object.
fn rules_of(object: &Value) -> Vec<Rule> {
    let namespace = match object["kind"].as_str() {
        Some("ClusterRole") => None,
        Some("Role") => object["metadata"]["namespace"].as_str().map(str::to_owned),
        _ => return Vec::new(),
    };
    let words = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned)).collect()
    };
    let rules = object["rules"].as_array().into_iter().flatten();
    let rule = |rule: &Value| Rule {
        groups: words(&rule["apiGroups"]),
        resources: words(&rule["resources"]),
        verbs: words(&rule["verbs"]),
        names: words(&rule["resourceNames"]),
        namespace: namespace.clone(),
    };
    rules.map(rule).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_a_server_reads_them() {
        let read = |method, path| Asked::read(method, path).map(|asked| (asked.verb, asked.resource));
        let table = [
            ("GET", "/api/v1/pods?limit=500", "list", "pods"),
            ("GET", "/api/v1/pods?resourceVersion=7&watch=true", "watch", "pods"),
            ("GET", "/api/v1/namespaces/a/pods/b", "get", "pods"),
            ("GET", "/api/v1/namespaces/a", "get", "namespaces"),
            ("POST", "/api/v1/namespaces/a/pods/b/binding", "create", "pods/binding"),
            ("DELETE", "/apis/resource.k8s.io/v1/resourceslices?x=y", "deletecollection", "resourceslices"),
            (
                "PUT",
                "/apis/resource.k8s.io/v1/namespaces/a/resourceclaims/c/status",
                "update",
                "resourceclaims/status",
            ),
        ];
        for (method, path, verb, resource) in table {
            assert_eq!(read(method, path), Some((verb, resource.to_owned())), "{method} {path}");
        }
        assert_eq!(read("GET", "/apis/resource.k8s.io/v1"), None);
        assert_eq!(read("GET", "/version"), None);
    }

    #[test]
    fn what_no_rule_allows_is_told() -> Result<()> {
        let (offences, path) = (Offences::default(), "/api/v1/namespaces/a/secrets/b");
        let auditor = Auditor {
            account: Account::Scheduler,
            rules: Account::Scheduler.objects()?.iter().flat_map(rules_of).collect(),
            offences: offences.clone(),
        };
        let (server, code, zero) = ("https://s", 200, std::time::Duration::ZERO);
        let sent = |method, path| Sent { method, server, path, code, took: zero, held_back: zero };
        auditor.sent(&sent("GET", "/api/v1/namespaces/a/pods/b"));
        auditor.sent(&sent(
            "PUT",
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/supercargo-scheduler",
        ));
        offences.none()?;
        auditor.sent(&sent("GET", path));
        auditor
            .sent(&sent("PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"));
        let told = offences.none().expect_err("two requests are not allowed").to_string();
        assert!(told.contains(path) && told.contains("leases/kube-scheduler"), "{told}");
        Ok(())
    }
}
