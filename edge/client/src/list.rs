//! Lists that are read once, page by page, of kinds that only the caller knows.

use objects::ListMeta;
use serde::Deserialize;
use serde_json::Value;

use crate::answer::{Answer, Unavailable};
use crate::connection::{Ask, Connection};
use crate::resource::untyped_path;
use crate::watch::Selectors;

/// Some objects of a list.
#[derive(Debug)]
pub struct Page {
    /// The objects. Servers leave out their kind.
    pub items: Vec<Value>,
    /// What to ask for the next page with; nothing after the last.
    pub next: Option<String>,
}

/// Which objects to list, and how many at once.
#[derive(Clone, Debug, Default)]
pub struct ListRequest<'a> {
    /// The group and version, such as `v1`.
    pub api_version: &'a str,
    /// The name of the kind in addresses, such as `pods`.
    pub plural: &'a str,
    /// Objects of this namespace; empty for all.
    pub namespace: &'a str,
    /// Which of them.
    pub selectors: Selectors,
    /// How many objects a page has at the most; 0 for all.
    pub page_size: u32,
}

impl Connection {
    /// Reads a page of a list: the first, or the one after another. A page that comes too late is [`Answer::Gone`]; then the list
    /// has to be read from its beginning.
    pub async fn list_page(&self, wanted: &ListRequest<'_>, after: Option<&str>) -> Answer<Page> {
        #[derive(Deserialize)]
        struct Read {
            #[serde(default)]
            metadata: ListMeta,
            #[serde(default)]
            items: Vec<Value>,
        }
        let path = path(wanted, after);
        self.call(Ask::get(path)).await.and_then(|body| match serde_json::from_slice::<Read>(&body) {
            Ok(Read { metadata, items }) => {
                Answer::Done(Page { items, next: Some(metadata.continue_).filter(|token| !token.is_empty()) })
            }
            Err(error) => Answer::Unavailable(Unavailable::Unreadable(error.to_string())),
        })
    }
}

/// The path of a page, with what is asked for.
fn path(wanted: &ListRequest<'_>, after: Option<&str>) -> String {
    let mut path = untyped_path(wanted.api_version, wanted.plural, wanted.namespace);
    let size = wanted.page_size.to_string();
    let mut query = form_urlencoded::Serializer::for_suffix(String::from("?"), 1);
    for (name, value) in [
        ("labelSelector", &*wanted.selectors.labels),
        ("fieldSelector", &*wanted.selectors.fields),
        ("limit", if wanted.page_size > 0 { &*size } else { "" }),
        ("continue", after.unwrap_or_default()),
    ] {
        if !value.is_empty() {
            query.append_pair(name, value);
        }
    }
    path.push_str(&query.finish());
    path
}
