//! People who may read a part of a real cluster: a service account for each, with a Role and a ClusterRole of its own.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use caller::Caller;
use client::{Answer, ListRequest, Selectors};
use hyper::Method;
use serde_json::{Value, json};

use crate::cluster::{Cluster, until, whole};

/// The only namespace that readers may read.
const NAMESPACE: &str = "default";

impl Cluster {
    /// The kubeconfig of a person of this name who may read everything in the namespace `default` and, of the whole cluster, these
    /// resources, each with its group. Our own server knows no such people: there, every user may read everything.
    ///
    /// # Errors
    /// When the server does not learn who that is.
    pub async fn reader(&self, name: &str, everywhere: &[(&str, &str)]) -> Result<PathBuf> {
        ensure!(!self.is_ours(), "our own server allows everything to everybody whom it knows");
        let mut caller = self.caller().await?;
        let accounts = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts");
        make(&mut caller, &accounts, &json!({ "metadata": { "name": name } })).await?;
        let all = json!([{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"] }]);
        let some = everywhere.iter().map(|(group, resource)| {
            json!({ "apiGroups": [group], "resources": [resource], "verbs": ["get", "list", "watch"] })
        });
        let rbac = "/apis/rbac.authorization.k8s.io/v1";
        let within = format!("{rbac}/namespaces/{NAMESPACE}");
        for (at, kind, rules) in [(within, "Role", all), (rbac.to_owned(), "ClusterRole", some.collect())] {
            let metadata = json!({ "name": name });
            let plural = kind.to_lowercase();
            make(&mut caller, &format!("{at}/{plural}s"), &json!({ "metadata": metadata, "rules": rules }))
                .await?;
            let subject = json!({ "kind": "ServiceAccount", "namespace": NAMESPACE, "name": name });
            let role = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name });
            let binding = json!({ "metadata": metadata, "subjects": [subject], "roleRef": role });
            make(&mut caller, &format!("{at}/{plural}bindings"), &binding).await?;
        }
        let asked = make(&mut caller, &format!("{accounts}/{name}/token"), &json!({ "spec": {} })).await?;
        let token = asked["status"]["token"].as_str().context("the server gives no token")?;
        let kubeconfig = self.kubeconfig_of(name, token)?;
        self.may_read(token, everywhere).await?;
        Ok(kubeconfig)
    }

    /// Waits until the server knows what the person may read.
    async fn may_read(&self, token: &str, everywhere: &[(&str, &str)]) -> Result<()> {
        let connection = self.place().connect_with(token, &client::Options::default())?;
        let own = [("v1", "pods", NAMESPACE)];
        let versions = everywhere.iter().map(|(group, plural)| match *group {
            "" => ("v1".to_owned(), *plural),
            group => (format!("{group}/v1"), *plural),
        });
        let versions: Vec<(String, &str)> = versions.collect();
        let of_cluster = versions.iter().map(|(version, plural)| (&**version, *plural, ""));
        for (api_version, plural, namespace) in own.into_iter().chain(of_cluster) {
            until(&format!("{plural} may be read"), async || {
                let selectors = Selectors::default();
                let wanted = ListRequest { api_version, plural, namespace, selectors, page_size: 1 };
                Ok(matches!(connection.list_page(&wanted, None).await, Answer::Done(_)).then_some(()))
            })
            .await?;
        }
        Ok(())
    }

    /// Writes the kubeconfig of a person, and says where.
    fn kubeconfig_of(&self, name: &str, token: &str) -> Result<PathBuf> {
        let usual = self.kubeconfig()?;
        let mut config: Value = serde_json::from_slice(&std::fs::read(&usual)?)?;
        config["users"][0]["user"] = json!({ "token": token });
        config["contexts"][0]["context"]["namespace"] = NAMESPACE.into();
        let path = usual.with_file_name(format!("{name}.kubeconfig"));
        whole(&path, &config.to_string())?;
        Ok(path)
    }
}

/// Makes an object that may be there already, and gives it.
async fn make(caller: &mut Caller, path: &str, object: &Value) -> Result<Value> {
    let answer = caller.call(Method::POST, path, object.to_string()).await?;
    ensure!(matches!(answer.code, 201 | 409), "{path}: {}", String::from_utf8_lossy(&answer.body));
    Ok(serde_json::from_slice(&answer.body)?)
}
