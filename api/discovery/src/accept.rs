//! Which form of a discovery document a client accepts.

use crate::answer::{Form, Media};

/// The parameters that ask for another kind of document.
const CONVERSION: [&str; 3] = ["g", "v", "as"];

/// The first form and media type that `accept` allows, the aggregated form first where there is one.
///
/// Kubernetes prefers the aggregated form whatever the order and the weights of the header, so that a client which
/// knows it never gets the older one.
pub(crate) fn choose(accept: &str, has_aggregated: bool) -> Option<(Form, Media)> {
    if accept.trim().is_empty() {
        return Some((Form::Plain, Media::Json));
    }
    let clauses: Vec<Clause<'_>> = accept.split(',').map(Clause::read).collect();
    let aggregated = clauses.iter().filter(|clause| has_aggregated && clause.asks_for_aggregated());
    let plain = clauses.iter().filter(|clause| clause.asks_for_plain());
    let in_form = |form: Form| move |clause: &Clause<'_>| clause.media().map(|media| (form, media));
    aggregated.map(in_form(Form::Aggregated)).chain(plain.map(in_form(Form::Plain))).flatten().next()
}

/// One part of an `Accept` header.
struct Clause<'a> {
    media_type: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Clause<'a> {
    fn read(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default();
        let parameters = parts.filter_map(|part| part.split_once('=')).collect();
        Self { media_type, parameters }
    }

    fn media(&self) -> Option<Media> {
        match self.media_type {
            "application/json" | "application/*" | "*/*" => Some(Media::Json),
            "application/yaml" => Some(Media::Yaml),
            _ => None,
        }
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().rev().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    fn asks_for_aggregated(&self) -> bool {
        self.parameter("g") == Some("apidiscovery.k8s.io")
            && self.parameter("v") == Some("v2")
            && self.parameter("as") == Some("APIGroupDiscoveryList")
    }

    fn asks_for_plain(&self) -> bool {
        CONVERSION.iter().all(|name| self.parameter(name).is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::choose;
    use crate::answer::Form::{Aggregated, Plain};
    use crate::answer::Media::{Json, Yaml};

    const V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    const V2BETA1: &str = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

    #[test]
    fn the_aggregated_form_is_preferred_whatever_the_order() {
        for accept in [
            V2.to_owned(),
            format!("{V2},{V2BETA1},application/json"),
            format!("application/json,{V2};q=0.5"),
            format!("text/html, {V2}"),
            format!("{V2};profile=nopeer"),
            "*/*; as=APIGroupDiscoveryList; g=apidiscovery.k8s.io; v=v2".to_owned(),
        ] {
            assert_eq!(choose(&accept, true), Some((Aggregated, Json)), "{accept}");
        }
        assert_eq!(choose(&V2.replace("json", "yaml"), true), Some((Aggregated, Yaml)));
    }

    #[test]
    fn clients_that_do_not_know_it_get_the_older_form() {
        for accept in ["", "*/*", "application/json", "application/json;q=0.1;pretty=1"] {
            assert_eq!(choose(accept, true), Some((Plain, Json)), "{accept}");
        }
        assert_eq!(choose(&format!("{V2BETA1},application/json"), true), Some((Plain, Json)));
        assert_eq!(choose(&format!("{V2},application/json"), false), Some((Plain, Json)));
        assert_eq!(choose("application/vnd.kubernetes.protobuf,application/json", true), Some((Plain, Json)));
        assert_eq!(choose("application/yaml", true), Some((Plain, Yaml)));
    }

    #[test]
    fn what_is_not_there_is_refused() {
        for accept in
            ["text/html", V2BETA1, "application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;g=x"]
        {
            assert_eq!(choose(accept, true), None, "{accept}");
        }
        assert_eq!(choose(V2, false), None);
    }
}
