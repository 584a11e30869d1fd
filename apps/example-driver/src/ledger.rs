//! What the controller knows: what there is, as its file and the nodes' objects say, and what claims have.
//!
//! Invariant: nothing is remembered that the API does not say, but for what is being given at this moment. What is left is looked
//! up and given under one lock, so that nothing is given twice.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use client::{Connection, Event, Resource, Selectors, WatchOptions};
use driver_kit::Failure;
use driver_kit::api::{ConfigMap, ResourceClaim};
use driver_kit::controller::{given_by, handles};
use futures_util::StreamExt;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use crate::shelf::{LABEL, Shelf};
use crate::stock::{Given, Kind, Stock};

/// What the controller knows.
pub(crate) struct Ledger {
    driver: String,
    entries: Mutex<Entries>,
    /// Whether all claims and all nodes' objects were read.
    read: watch::Sender<(bool, bool)>,
    /// There is more to give, or less.
    pub(crate) news: Notify,
}

struct Entries {
    stock: Stock,
    /// What nodes report, by the names of the objects.
    reported: BTreeMap<String, (String, Shelf)>,
    /// What claims have, by uid.
    had: BTreeMap<String, Given>,
    /// What claims are being given, by uid.
    giving: BTreeMap<String, Given>,
}

impl Ledger {
    pub(crate) fn new(driver: &str, stock: Stock) -> Arc<Self> {
        let (reported, had, giving) = Default::default();
        let entries = Mutex::new(Entries { stock, reported, had, giving });
        Arc::new(Self {
            driver: driver.to_owned(),
            entries,
            read: watch::Sender::new((false, false)),
            news: Notify::new(),
        })
    }

    /// Follows claims, and the objects of nodes in a namespace, until the tasks are dropped.
    pub(crate) fn follow(self: &Arc<Self>, connection: &Connection, namespace: &str) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        tasks.spawn(self.clone().follow_claims(connection.clone()));
        tasks.spawn(self.clone().follow_shelves(connection.clone(), namespace.to_owned()));
        tasks
    }

    /// Waits until all that is there has been read. Who answers before that gives away what others have.
    pub(crate) async fn ready(&self) {
        // The sender is ours, so that there is always one.
        let _ = self.read.subscribe().wait_for(|(claims, shelves)| *claims && *shelves).await;
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a node has enough of a kind.
    pub(crate) fn has(&self, kind: Kind, node: &str, count: u64) -> bool {
        kind == Kind::Optional || self.entries().left(kind, node) >= count
    }

    /// Gives a claim what it wants, or what it was given before. Without a node, something of a node is given on any that has
    /// enough of it.
    ///
    /// # Errors
    /// There is too little left.
    pub(crate) fn give(
        &self,
        uid: &str,
        kind: Kind,
        count: u64,
        node: Option<&str>,
    ) -> Result<Given, Failure> {
        let mut entries = self.entries();
        if let Some(known) = entries.given(uid) {
            return Ok(known.clone());
        }
        let node = match node {
            None if kind.is_local() => {
                let found = entries.nodes().into_iter().find(|node| entries.left(kind, node) >= count);
                found.cloned().ok_or_else(|| format!("no node has {count} of {kind} left"))?
            }
            node => node.unwrap_or_default().to_owned(),
        };
        let left = entries.left(kind, &node);
        let count = if kind == Kind::Optional { left.min(count) } else { count };
        if count > left {
            let place = if node.is_empty() { String::new() } else { format!(" for node {node}") };
            return Err(format!("{count} of {kind} are wanted and {left} are left{place}").into());
        }
        let given = Given { kind, node, count };
        entries.giving.insert(uid.to_owned(), given.clone());
        Ok(given)
    }

    /// Takes back what a claim has.
    pub(crate) fn take_back(&self, uid: &str) -> Option<Given> {
        let mut entries = self.entries();
        let had = entries.had.remove(uid);
        entries.giving.remove(uid).or(had)
    }

    async fn follow_claims(self: Arc<Self>, connection: Connection) {
        let claims = Resource::<ResourceClaim>::named("resourceclaims");
        let options = WatchOptions::default();
        let mut stream = pin!(connection.list_and_watch(&claims, &Selectors::default(), &options));
        while let Some(event) = stream.next().await {
            match event {
                Event::Applied(claim) => self.hear_claim(&claim),
                Event::Deleted(claim) => self.forget(&claim.metadata.uid),
                Event::Vanished(gone) => self.forget(&gone.uid),
                Event::Synced { .. } => self.read.send_modify(|read| read.0 = true),
                Event::Interrupted { why, .. } => eprintln!("warning: cannot list claims: {why}"),
                Event::Unreadable { object, why } => {
                    eprintln!("warning: claim {}/{}: {why}", object.namespace, object.name);
                }
                Event::Progressed { .. } => {}
            }
        }
    }

    fn hear_claim(&self, claim: &ResourceClaim) {
        let uid = &claim.metadata.uid;
        // What a claim has is written down before it has it.
        let is_ours = claim.status.allocation.is_some() && given_by(claim) == self.driver;
        let handle = handles(claim).map(|handles| handles.first().map(|handle| handle.data.clone()));
        let given = match handle {
            Ok(Some(data)) if is_ours => serde_json::from_str::<Given>(&data).map_err(|why| why.to_string()),
            Ok(_) => {
                self.entries().had.remove(uid);
                return;
            }
            Err(why) => Err(why.to_string()),
        };
        match given {
            Ok(given) => drop(self.entries().had.insert(uid.clone(), given)),
            Err(why) => {
                let (namespace, name) = (&claim.metadata.namespace, &claim.metadata.name);
                eprintln!("warning: claim {namespace}/{name} has an invalid resource handle: {why}");
            }
        }
    }

    fn forget(&self, uid: &str) {
        self.take_back(uid);
        self.news.notify_one();
    }

    async fn follow_shelves(self: Arc<Self>, connection: Connection, namespace: String) {
        let objects = Resource::<ConfigMap>::named("configmaps").within(&namespace);
        let own = Selectors { labels: format!("{LABEL}={}", self.driver), ..Selectors::default() };
        let mut stream = pin!(connection.list_and_watch(&objects, &own, &WatchOptions::default()));
        while let Some(event) = stream.next().await {
            let (name, reported) = match event {
                Event::Applied(object) => {
                    let name = object.metadata.name.clone();
                    match Shelf::reported(&object) {
                        Ok(reported) => (name, Some(reported)),
                        Err(why) => {
                            eprintln!("warning: ConfigMap {name} has an invalid report: {why}");
                            (name, None)
                        }
                    }
                }
                Event::Deleted(object) => (object.metadata.name, None),
                Event::Vanished(gone) => (gone.name, None),
                Event::Synced { .. } => {
                    self.read.send_modify(|read| read.1 = true);
                    continue;
                }
                Event::Interrupted { why, .. } => {
                    eprintln!("warning: cannot list the reports of nodes: {why}");
                    continue;
                }
                Event::Progressed { .. } | Event::Unreadable { .. } => continue,
            };
            self.hear_shelf(name, reported);
        }
    }

    fn hear_shelf(&self, object: String, reported: Option<(String, Shelf)>) {
        let said = match &reported {
            Some((node, shelf)) => format!("node {node} reports {shelf:?}"),
            None => format!("ConfigMap {object} was deleted"),
        };
        let mut entries = self.entries();
        let before = entries.reported.get(&object).cloned();
        let is_news = before != reported;
        match reported {
            Some(reported) => drop(entries.reported.insert(object, reported)),
            None => drop(entries.reported.remove(&object)),
        }
        drop(entries);
        if is_news {
            println!("{said}");
            self.news.notify_one();
        }
    }
}

impl Entries {
    /// What a claim has or is being given.
    fn given(&self, uid: &str) -> Option<&Given> {
        self.giving.get(uid).or_else(|| self.had.get(uid))
    }

    fn left(&self, kind: Kind, node: &str) -> u64 {
        let others = self.had.iter().filter(|(uid, _)| !self.giving.contains_key(*uid));
        let taken = others.map(|(_, given)| given).chain(self.giving.values());
        self.stock.left(kind, (node, self.shelf(node)), taken)
    }

    /// What a node has: what it reports, or what the file says of it.
    fn shelf(&self, node: &str) -> Shelf {
        let reported = self.reported.values().find(|(reporter, _)| reporter == node).map(|(_, shelf)| shelf);
        reported.or_else(|| self.stock.nodes.get(node)).copied().unwrap_or_default()
    }

    fn nodes(&self) -> BTreeSet<&String> {
        self.reported.values().map(|(node, _)| node).chain(self.stock.nodes.keys()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(text: &str) -> Arc<Ledger> {
        Ledger::new("d.example.com", serde_saphyr::from_str(text).expect("a good stock"))
    }

    fn words(given: Result<Given, Failure>) -> String {
        given.map_or_else(|why| why.to_string(), |given| given.to_string())
    }

    #[test]
    fn the_last_one_is_given_once_and_again_to_the_same() {
        let ledger = ledger("accelerators: 1");
        let give = |uid| words(ledger.give(uid, Kind::Accelerator, 1, Some("a")));
        assert_eq!(give("x"), "1 of accelerator for node a");
        assert_eq!(give("y"), "1 of accelerator are wanted and 0 are left for node a");
        assert_eq!(give("x"), "1 of accelerator for node a");
        assert_eq!(words(ledger.take_back("x").ok_or("nothing".into())), "1 of accelerator for node a");
        assert_eq!(ledger.take_back("x"), None);
        assert_eq!(give("y"), "1 of accelerator for node a");
    }

    #[test]
    fn of_what_is_optional_there_may_be_none() {
        let ledger = ledger("optional: 3");
        let give = |uid| words(ledger.give(uid, Kind::Optional, 2, Some("a")));
        assert_eq!(
            [give("x"), give("y"), give("z")].join(", "),
            "2 of optional for node a, 1 of optional for node a, none of optional for node a"
        );
        assert!(ledger.has(Kind::Optional, "a", 2), "it can always be had");
    }

    #[test]
    fn what_a_node_reports_counts_and_what_the_file_says_of_others() {
        let ledger = ledger("nodes: {a: {local: 1}, b: {local: 1}}");
        let shelf = Shelf { local: 3, ..Shelf::default() };
        ledger.hear_shelf("of-a".to_owned(), Some(("a".to_owned(), shelf)));
        let has = |node, count| ledger.has(Kind::Local, node, count);
        assert!(has("a", 3) && has("b", 1) && !has("b", 2) && !has("c", 1));
        // Without a node, any that has it will do.
        assert_eq!(words(ledger.give("x", Kind::Local, 2, None)), "2 of local for node a");
        ledger.hear_shelf("of-a".to_owned(), None);
        assert!(!has("a", 1), "the file says that there is one, and two are given");
        assert_eq!(words(ledger.give("y", Kind::Local, 2, None)), "no node has 2 of local left");
    }
}
