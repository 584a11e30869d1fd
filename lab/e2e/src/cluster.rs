//! A cluster: an API server, ours or a real one, and the few things that tests do with it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use caller::Caller;
use client::{Answer, Connection, Event as Watched, Options, Patch, Requests, Selectors, WatchOptions};
use futures_util::StreamExt;
use gates::Gates;
use hyper::Method;
use objects::Object;
use objects::coordination::Lease;
use objects::core::kinds::{PersistentVolume, PersistentVolumeClaim};
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::events::Event;
use objects::meta::DeleteOptions;
use objects::policy::PodDisruptionBudget;
use objects::resource::claim::{ResourceClaim, ResourceClaimTemplate};
use objects::resource::class::{DeviceClass, DeviceTaintRule};
use objects::resource::slice::ResourceSlice;
use objects::scheduling::composite_pod_group::CompositePodGroup;
use objects::scheduling::pod_group::PodGroup;
use objects::storage::{CSINode, StorageClass};
use objects::supercargo::device_attachment::DeviceAttachment;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use serde_json::{Value, json};
use store::Store;
use tokio::time::{Instant, sleep};

use crate::account::Account;
use crate::embedded::{Embedded, Kept};
use crate::hold::Hold;
use crate::kind::Kind;
use crate::permissions::Offences;
use crate::real::{Real, Served};

/// The administrator's token.
pub(crate) const TOKEN: &str = "a-secret-of-the-tests";

/// How long anything may take before it counts as not happening. Machines that run tests have other things to do.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How often is looked.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A cluster.
pub struct Cluster {
    served: Served,
    connection: Connection,
    place: Place,
    kept: Option<Kept>,
    offences: Offences,
    _server: Option<Embedded>,
}

/// Where a server is, and how it is recognised.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) address: String,
    pub(crate) authority: String,
    /// Where tests may leave files.
    pub(crate) dir: PathBuf,
}

impl Place {
    pub(crate) fn connect(&self, options: &Options) -> Result<Connection> {
        self.connect_with(TOKEN, options)
    }

    pub(crate) fn connect_with(&self, token: &str, options: &Options) -> Result<Connection> {
        let server = format!("https://{}", self.address);
        Ok(Connection::from_parts(&server, Some(token), Some(self.authority.as_bytes()), options)?)
    }

    fn for_calls(&self) -> Result<caller::Place> {
        Ok(caller::Place::new(self.address.parse()?, self.authority.as_bytes(), TOKEN)?)
    }
}

impl Cluster {
    /// A new cluster on our own server, in memory and in this process; files of tests go to the folder.
    ///
    /// # Errors
    /// When it does not start.
    pub fn embedded(dir: &Path) -> Result<Self> {
        Self::embedded_with(dir, Served::Usual)
    }

    /// The same on a server that serves what is wanted.
    ///
    /// # Errors
    /// When it does not start.
    pub fn embedded_with(dir: &Path, served: Served) -> Result<Self> {
        Self::on(Embedded::start(served.gates(), None)?, served, dir, None)
    }

    /// A new cluster on our own server that can be held at a change.
    ///
    /// # Errors
    /// When it does not start.
    pub fn held(dir: &Path) -> Result<(Self, Hold)> {
        let (served, hold) = (Served::Usual, Hold::default());
        let server = Embedded::start_with(served.gates(), Store::default(), Box::new(hold.clone()))?;
        Ok((Self::on(server, served, dir, None)?, hold))
    }

    /// A cluster on our own server whose changes are kept, so that another can go on from there.
    ///
    /// # Errors
    /// When it does not start.
    pub fn kept(dir: &Path) -> Result<Self> {
        let kept = Kept::default();
        Self::on(Embedded::start(Gates::default(), Some(&kept))?, Served::Usual, dir, Some(kept))
    }

    /// The same cluster on a server that begins anew with other features, with all that the last one had.
    ///
    /// # Errors
    /// When it does not start, or nothing was kept.
    pub fn begun_anew(self, gates: Gates) -> Result<Self> {
        let kept = self.kept.clone().context("what the last one had was not kept")?;
        let (served, dir) = (self.served, self.place.dir.clone());
        drop(self);
        Self::on(Embedded::start(gates, Some(&kept))?, served, &dir, Some(kept))
    }

    fn on(server: Embedded, served: Served, dir: &Path, kept: Option<Kept>) -> Result<Self> {
        let (address, authority) = (server.address.to_string(), server.authority.clone());
        let place = Place { address, authority, dir: dir.to_owned() };
        let connection = place.connect(&Options::default())?;
        Ok(Self { served, connection, place, kept, offences: Offences::default(), _server: Some(server) })
    }

    /// The cluster on a real server, which all tests of this process share, emptied of what the last one left; or why there
    /// is none.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn real_with(dir: &Path, served: Served) -> Result<Result<Self, String>> {
        let place = match Real::shared(dir, served)? {
            Ok(place) => place.clone(),
            Err(why) => return Ok(Err(why.clone())),
        };
        let connection = place.connect(&Options::default())?;
        let offences = Offences::default();
        let cluster = Self { served, connection, place, kept: None, offences, _server: None };
        cluster.ready().await?;
        for account in Account::ALL {
            account.allow(&cluster.place.for_calls()?).await?;
            cluster.allowed(account).await?;
        }
        cluster.empty().await?;
        Ok(Ok(cluster))
    }

    /// A connection that everybody may use.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// A connection for a part of the product. On a real server it may do what the part's manifest allows; on ours it is looked at
    /// after the fact by [`Cluster::check_permissions`].
    ///
    /// # Errors
    /// When the server's certificate is no good.
    pub fn connect_as(&self, account: Account) -> Result<Connection> {
        let requests = if self.is_ours() { self.offences.watch(account)? } else { Requests::default() };
        self.place.connect_with(&self.token_of(account), &Options { requests, ..Options::default() })
    }

    /// Whether all that parts of the product asked for is allowed by their manifests.
    ///
    /// # Errors
    /// When a request is not; it says which.
    pub fn check_permissions(&self) -> Result<()> {
        self.offences.none()
    }

    /// A connection of one's own.
    ///
    /// # Errors
    /// When the server's certificate is no good.
    pub fn connect(&self) -> Result<Connection> {
        self.place.connect(&Options::default())
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Writes a kubeconfig for programs, and says where.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn kubeconfig(&self) -> Result<PathBuf> {
        let Place { address, authority, dir } = &self.place;
        let pem = dir.join(format!("{}.crt", address.replace(':', "-")));
        std::fs::create_dir_all(dir)?;
        whole(&pem, authority)?;
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{ "name": "test", "cluster": {
                "server": format!("https://{address}"), "certificate-authority": pem,
            } }],
            "users": [{ "name": "test", "user": { "token": TOKEN } }],
            "contexts": [{ "name": "test", "context": { "cluster": "test", "user": "test" } }],
        });
        let path = dir.join(format!("{}.kubeconfig", address.replace(':', "-")));
        whole(&path, &config.to_string())?;
        Ok(path)
    }

    /// A connection for calls whose answers are looked at byte by byte.
    ///
    /// # Errors
    /// When the server cannot be reached.
    pub async fn caller(&self) -> Result<Caller> {
        Ok(Caller::connect(&self.place.for_calls()?).await?)
    }

    /// Where the server is.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://{}", self.place.address)
    }

    /// Writes what a pod with this account finds in `/var/run/secrets/kubernetes.io/serviceaccount`, and says where.
    ///
    /// # Errors
    /// When the files cannot be written.
    pub fn account_folder(&self, account: Account) -> Result<PathBuf> {
        let Place { address, authority, dir } = &self.place;
        let folder = dir.join(format!("{}.{}", address.replace(':', "-"), account.name()));
        std::fs::create_dir_all(&folder)?;
        whole(&folder.join("ca.crt"), authority)?;
        whole(&folder.join("token"), &self.token_of(account))?;
        Ok(folder)
    }

    /// On a real server an account has a token of its own.
    fn token_of(&self, account: Account) -> String {
        if self.is_ours() { TOKEN.to_owned() } else { format!("{TOKEN}-{}", account.name()) }
    }

    /// Teaches a server that is not ours our own kinds.
    ///
    /// # Errors
    /// When it does not learn them.
    pub async fn teach_our_kinds(&self) -> Result<()> {
        if self._server.is_some() {
            return Ok(());
        }
        let mut caller = self.caller().await?;
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        for definition in schema::openapi::crds() {
            let answer = caller.call(Method::POST, path, definition.to_string()).await?;
            // It may have been told before.
            ensure!(matches!(answer.code, 201 | 409), "{}", String::from_utf8_lossy(&answer.body));
        }
        until("our kinds are served", async || {
            let mut served = true;
            for plural in ["deviceattachments", "podschedulingcontexts"] {
                let answer = self.connection.serves(DeviceAttachment::API_VERSION, plural).await;
                served &= answer.done().unwrap_or(false);
            }
            Ok(served.then_some(()))
        })
        .await?;
        self.delete_all::<PodSchedulingContext>().await?;
        self.delete_all::<DeviceAttachment>().await
    }

    /// Whether the server is ours, and knows our fields.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self._server.is_some()
    }

    /// Makes an object.
    ///
    /// # Errors
    /// When the server does not want it.
    pub async fn create<K: Kind>(&self, new: &K) -> Result<K> {
        let name = &new.metadata().name;
        done(self.connection.create(&K::resource(), new).await).with_context(|| named::<K>("make", name))
    }

    /// Makes a node that is ready. Servers taint new nodes until somebody finds them so, and here nobody else does.
    ///
    /// # Errors
    /// When the server does not want it.
    pub async fn create_node(&self, new: &Node) -> Result<Node> {
        self.create(new).await?;
        self.patch(&new.metadata.name, json!({ "spec": { "taints": new.spec.taints } })).await
    }

    /// An object, if it is there.
    ///
    /// # Errors
    /// When the server does not say.
    pub async fn get<K: Kind>(&self, name: &str) -> Result<Option<K>> {
        match self.connection.get(&K::resource(), name).await {
            Answer::NotFound(_) => Ok(None),
            answer => done(answer).map(Some).with_context(|| named::<K>("get", name)),
        }
    }

    /// An object that must be there.
    ///
    /// # Errors
    /// When it is not.
    pub async fn read<K: Kind>(&self, name: &str) -> Result<K> {
        self.get(name).await?.ok_or_else(|| anyhow!("there is no {} {name}", K::KIND))
    }

    /// Changes an object, by a merge patch.
    ///
    /// # Errors
    /// When the server does not want it.
    pub async fn patch<K: Kind>(&self, name: &str, body: Value) -> Result<K> {
        let answer = self.connection.patch(&K::resource(), name, &Patch::Merge, &body).await;
        done(answer).with_context(|| named::<K>("patch", name))
    }

    /// Changes the status of an object, by a merge patch.
    ///
    /// # Errors
    /// When the server does not want it.
    pub async fn patch_status<K: Kind>(&self, name: &str, body: Value) -> Result<K> {
        let answer = self.connection.patch_status(&K::resource(), name, &Patch::Merge, &body).await;
        done(answer).with_context(|| named::<K>("patch", name))
    }

    /// Deletes an object at once; one that is gone already is as good.
    ///
    /// # Errors
    /// When the server does not want it.
    pub async fn delete<K: Kind>(&self, name: &str) -> Result<()> {
        let at_once = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
        match self.connection.delete(&K::resource(), name, &at_once).await {
            Answer::NotFound(_) => Ok(()),
            answer => done(answer).with_context(|| named::<K>("delete", name)),
        }
    }

    /// All objects of a kind.
    ///
    /// # Errors
    /// When the server does not say.
    pub async fn list<K: Kind>(&self) -> Result<Vec<K>> {
        Self::list_by(&self.connection).await
    }

    async fn list_by<K: Kind>(connection: &Connection) -> Result<Vec<K>> {
        let pages = WatchOptions { streamed: false, ..WatchOptions::default() };
        let stream = connection.list_and_watch(&K::resource(), &Selectors::default(), &pages);
        let mut stream = Box::pin(stream);
        let mut found = Vec::new();
        loop {
            match stream.next().await {
                Some(Watched::Applied(object)) => found.push(object),
                Some(Watched::Synced { .. }) => return Ok(found),
                Some(Watched::Interrupted { why, .. }) | Some(Watched::Unreadable { why, .. }) => {
                    bail!("cannot list {}: {why}", K::PLURAL)
                }
                Some(_) => {}
                None => bail!("the list of {} has no end", K::PLURAL),
            }
        }
    }

    /// Waits until a pod is bound, and gives it.
    ///
    /// # Errors
    /// When it is not bound in time; what the pod says about that is part of the error.
    pub async fn bound(&self, name: &str) -> Result<Pod> {
        self.pod_when(name, "is bound", |pod| !pod.spec.node_name.is_empty()).await
    }

    /// Waits until something is so about a pod, and gives it.
    ///
    /// # Errors
    /// When it is not so in time; how the pod is then is part of the error.
    pub async fn pod_when(&self, name: &str, what: &str, is_so: impl Fn(&Pod) -> bool) -> Result<Pod> {
        let mut last = None;
        let look = async || {
            last = self.get::<Pod>(name).await?;
            Ok(last.clone().filter(&is_so))
        };
        let met = until(&format!("pod {name} {what}"), look).await;
        met.with_context(|| {
            format!("it is {:?}", last.map(|pod| (pod.spec.node_name, pod.status.conditions)))
        })
    }

    /// Waits for an event about a pod, and gives it.
    ///
    /// # Errors
    /// When there is none in time.
    pub async fn event(&self, pod: &str, reason: &str) -> Result<Event> {
        until(&format!("event {reason} about {pod}"), async || {
            let mut events = self.list::<Event>().await?.into_iter();
            Ok(events.find(|event| event.regarding.name == pod && event.reason == reason))
        })
        .await
    }

    async fn ready(&self) -> Result<()> {
        until("the server is ready", async || {
            let leases = client::Resource::<objects::core::kinds::Namespace>::named("namespaces");
            let mut ready = true;
            for name in ["default", "kube-system"] {
                ready &= self.connection.get(&leases, name).await.done().is_some();
            }
            Ok(ready.then_some(()))
        })
        .await
    }

    /// Waits until a server knows what an account may do; one that has just begun takes its time.
    async fn allowed(&self, account: Account) -> Result<()> {
        let connection = self.connect_as(account)?;
        until(&format!("{account:?} may see claims"), async || {
            let served = connection.serves(ResourceClaim::API_VERSION, "resourceclaims").await.done();
            let seen = Self::list_by::<ResourceClaim>(&connection).await;
            Ok((served == Some(true) && seen.is_ok()).then_some(()))
        })
        .await
    }

    /// Deletes what tests make.
    async fn empty(&self) -> Result<()> {
        self.delete_all::<Pod>().await?;
        for claim in self.list::<ResourceClaim>().await? {
            let name = &claim.metadata.name;
            // Nobody is left who would do it.
            self.patch::<ResourceClaim>(name, json!({"metadata": {"finalizers": null}})).await?;
        }
        self.delete_all::<ResourceClaim>().await?;
        if self.served == Served::Groups {
            for group in self.list::<PodGroup>().await? {
                let name = &group.metadata.name;
                self.patch::<PodGroup>(name, json!({"metadata": {"finalizers": null}})).await?;
            }
            self.delete_all::<PodGroup>().await?;
            self.delete_all::<CompositePodGroup>().await?;
        }
        self.delete_unkept::<PersistentVolumeClaim>().await?;
        self.delete_unkept::<PersistentVolume>().await?;
        self.delete_all::<StorageClass>().await?;
        self.delete_all::<CSINode>().await?;
        self.delete_all::<ResourceClaimTemplate>().await?;
        self.delete_all::<PodDisruptionBudget>().await?;
        self.delete_all::<ResourceSlice>().await?;
        self.delete_all::<DeviceClass>().await?;
        self.delete_all::<DeviceTaintRule>().await?;
        self.delete_all::<Node>().await?;
        self.delete_all::<Event>().await?;
        self.delete_all::<Lease>().await
    }

    /// Deletes objects that finalizers would keep, as nobody is left who would take these away.
    async fn delete_unkept<K: Kind>(&self) -> Result<()> {
        for object in self.list::<K>().await? {
            let name = &object.metadata().name;
            self.delete::<K>(name).await?;
            if self.get::<K>(name).await?.is_some() {
                self.patch::<K>(name, json!({"metadata": {"finalizers": null}})).await?;
            }
        }
        Ok(())
    }

    async fn delete_all<K: Kind>(&self) -> Result<()> {
        for object in self.list::<K>().await? {
            self.delete::<K>(&object.metadata().name).await?;
        }
        Ok(())
    }
}

/// Looks again and again until there is something to see.
///
/// # Errors
/// When there is nothing after [`PATIENCE`], or looking goes wrong.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Result<Option<T>>) -> Result<T> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look().await? {
            return Ok(seen);
        }
        if Instant::now() > deadline {
            bail!("waited {PATIENCE:?} in vain until {what}");
        }
        sleep(LOOK_EVERY).await;
    }
}

/// Writes a file that others may be reading.
pub(crate) fn whole(path: &Path, text: &str) -> Result<()> {
    let new = path.with_extension("new");
    std::fs::write(&new, text)?;
    Ok(std::fs::rename(&new, path)?)
}

fn done<T>(answer: Answer<T>) -> Result<T> {
    let trouble = answer.trouble();
    answer.done().ok_or_else(|| anyhow!(trouble.unwrap_or_default()))
}

fn named<K: Kind>(verb: &str, name: &str) -> String {
    format!("cannot {verb} {} {name}", K::KIND)
}
