//! `/statusz` and `/flagz`, as components of Kubernetes 1.37 have them: text for people, and JSON for whoever asks for it by its kind.

use std::collections::BTreeMap;
use std::time::{Instant, SystemTime};

use bytes::Bytes;
use hyper::header::{ACCEPT, HeaderMap};
use jiff::Timestamp;
use serde_json::json;

/// What a program is.
#[derive(Clone, Debug, Default)]
pub struct Component {
    /// Its name, such as `supercargo-scheduler`.
    pub name: String,
    /// The version of the program.
    pub version: String,
    /// The version of Kubernetes whose API it speaks, such as `1.37`.
    pub kubernetes: String,
    /// The flags that it was started with, and those that have a default, with their values.
    pub flags: BTreeMap<String, String>,
}

/// The kinds of both pages are of this version.
const API_VERSION: &str = "config.k8s.io/v1beta1";

/// A page in one of its forms.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Page {
    Text(Bytes),
    Json(Bytes),
    /// It was asked for in a form that it does not have.
    NotAcceptable(Bytes),
}

/// A component that runs.
pub(super) struct Running {
    component: Component,
    started: SystemTime,
    since: Instant,
    paths: Vec<String>,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Json,
}

impl Running {
    pub(super) fn new(component: Component, paths: Vec<String>) -> Self {
        Self { component, started: SystemTime::now(), since: Instant::now(), paths }
    }

    pub(super) fn statusz(&self, headers: &HeaderMap) -> Page {
        self.page("Statusz", headers, || self.status_text(), || self.status())
    }

    pub(super) fn flagz(&self, headers: &HeaderMap) -> Page {
        let Component { name, flags, .. } = &self.component;
        let text = || flags.iter().map(|(flag, value)| format!("{flag}={value}\n")).collect();
        let kind = || json!({ "metadata": { "name": name }, "flags": flags });
        self.page("Flagz", headers, text, kind)
    }

    fn page(
        &self,
        kind: &str,
        headers: &HeaderMap,
        text: impl FnOnce() -> String,
        object: impl FnOnce() -> serde_json::Value,
    ) -> Page {
        let (name, path) = (&self.component.name, kind.to_lowercase());
        match form(headers, kind) {
            Some(Form::Text) => Page::Text(
                format!(
                    "\n{name} {path}\nWarning: This endpoint is not meant to be machine parseable, has no formatting \
                     compatibility guarantees and is for debugging purposes only.\n{}",
                    text()
                )
                .into(),
            ),
            Some(Form::Json) => {
                let mut object = object();
                object["apiVersion"] = API_VERSION.into();
                object["kind"] = kind.into();
                Page::Json(object.to_string().into())
            }
            None => Page::NotAcceptable(
                format!(
                    "/{path} is served as text/plain and as application/json;as={kind};v=v1beta1;g=config.k8s.io\n"
                )
                .into(),
            ),
        }
    }

    fn status_text(&self) -> String {
        let Component { version, kubernetes, .. } = &self.component;
        let started = self.started_at().strftime("%a %b %e %H:%M:%S UTC %Y");
        let (seconds, paths) = (self.since.elapsed().as_secs(), self.paths.join(" "));
        let up = format!("{} hr {:02} min {:02} sec", seconds / 3600, seconds / 60 % 60, seconds % 60);
        format!(
            "\nStarted: {started}\nUp: {up}\nBinary version: {version}\nEmulation version: {kubernetes}\nPaths: {paths}\n"
        )
    }

    fn status(&self) -> serde_json::Value {
        let Component { name, version, kubernetes, .. } = &self.component;
        json!({
            "metadata": { "name": name },
            "startTime": self.started_at().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            "uptimeSeconds": self.since.elapsed().as_secs(),
            "goVersion": "",
            "binaryVersion": version,
            "emulationVersion": kubernetes,
            "paths": self.paths,
        })
    }

    fn started_at(&self) -> Timestamp {
        Timestamp::try_from(self.started).unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

/// The first form of those that are asked for that there is.
fn form(headers: &HeaderMap, kind: &str) -> Option<Form> {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if accept.trim().is_empty() {
        return Some(Form::Text);
    }
    accept.split(',').find_map(|range| {
        let mut parts = range.split(';').map(str::trim);
        match parts.next()? {
            "text/plain" | "text/*" | "*/*" => Some(Form::Text),
            "application/json" => {
                let wanted: Vec<&str> = parts.filter(|part| !part.starts_with("q=")).collect();
                let kind = format!("as={kind}");
                let is_known =
                    ["v=v1beta1", "g=config.k8s.io", &kind].iter().all(|part| wanted.contains(part));
                is_known.then_some(Form::Json)
            }
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running() -> Running {
        let flags = BTreeMap::from([("secure-port".to_owned(), "10259".to_owned())]);
        let (name, version, kubernetes) = ("s".to_owned(), "1.2.3".to_owned(), "1.37".to_owned());
        Running::new(Component { name, version, kubernetes, flags }, vec!["/livez".to_owned()])
    }

    fn accepting(accept: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(ACCEPT, accept.parse().expect("it is a header"))])
    }

    #[test]
    fn people_read_text_and_programs_ask_for_the_kind() {
        let running = running();
        for accept in ["*/*", "text/plain", "application/xml, text/*;q=0.5"] {
            let Page::Text(text) = running.statusz(&accepting(accept)) else { panic!("{accept}") };
            let text = String::from_utf8_lossy(&text).into_owned();
            assert!(text.starts_with("\ns statusz\nWarning: "), "{text}");
            assert!(text.contains("\nUp: 0 hr 00 min 0") && text.contains("\nPaths: /livez\n"), "{text}");
        }
        let json = "application/json;as=Flagz;v=v1beta1;g=config.k8s.io";
        let Page::Json(text) = running.flagz(&accepting(json)) else { panic!("{json}") };
        let flags: serde_json::Value = serde_json::from_slice(&text).expect("it is JSON");
        assert_eq!(flags["apiVersion"], "config.k8s.io/v1beta1");
        assert_eq!((&flags["kind"], &flags["flags"]["secure-port"]), (&json!("Flagz"), &json!("10259")));
        for accept in
            ["application/json", "application/json;as=Statusz;v=v1beta1;g=config.k8s.io", "image/png"]
        {
            assert!(matches!(running.flagz(&accepting(accept)), Page::NotAcceptable(_)), "{accept}");
        }
        assert!(matches!(running.flagz(&HeaderMap::new()), Page::Text(_)));
    }
}
