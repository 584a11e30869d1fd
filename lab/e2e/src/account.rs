//! Who parts of the product are to a real server: service accounts that may do what `deploy/` says and nothing else.

use anyhow::{Result, ensure};
use caller::{Caller, Place};
use hyper::Method;
use serde_json::Value;

/// The Lease by which schedulers of tests are elected.
pub(crate) const ELECTION: &str = "e2e";

/// A service account of a part of the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account {
    /// Schedulers.
    Scheduler,
    /// Controllers.
    Controllers,
    /// The controller of a fabric.
    Fabric,
    /// The controller of a driver that gives devices to claims itself.
    DriverController,
}

impl Account {
    pub(crate) const ALL: [Self; 4] =
        [Self::Scheduler, Self::Controllers, Self::Fabric, Self::DriverController];

    /// Its name in `kube-system`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Scheduler => "supercargo-scheduler",
            Self::Controllers => "supercargo-controllers",
            Self::Fabric => "supercargo-fabric",
            Self::DriverController => "driver-controller",
        }
    }

    /// The objects that say what it may do, as a user applies them.
    const fn manifests(self) -> &'static str {
        match self {
            Self::Scheduler => include_str!("../../../deploy/scheduler.yaml"),
            Self::Controllers => include_str!("../../../deploy/controllers.yaml"),
            Self::Fabric => include_str!("../../../deploy/fabric.yaml"),
            Self::DriverController => include_str!("../../../deploy/driver-controller.yaml"),
        }
    }

    /// The same objects. Schedulers of tests are elected by a Lease of their own.
    pub(crate) fn objects(self) -> Result<Vec<Value>> {
        let mut objects = serde_saphyr::from_multiple::<Value>(self.manifests())?;
        let roles = objects.iter_mut().filter(|object| object["kind"] == "Role");
        for rule in roles.filter_map(|role| role["rules"].as_array_mut()).flatten() {
            if let Some(names) = rule["resourceNames"].as_array_mut() {
                names.push(ELECTION.into());
            }
        }
        Ok(objects)
    }

    /// Lets the account do what it may.
    pub(crate) async fn allow(self, place: &Place) -> Result<()> {
        let mut caller = Caller::connect(place).await?;
        for object in self.objects()? {
            let group = object["apiVersion"].as_str().unwrap_or_default();
            let plural = format!("{}s", object["kind"].as_str().unwrap_or_default().to_lowercase());
            let version = if group == "v1" { "/api/v1".to_owned() } else { format!("/apis/{group}") };
            let path = match object["metadata"]["namespace"].as_str() {
                Some(namespace) => format!("{version}/namespaces/{namespace}/{plural}"),
                None => format!("{version}/{plural}"),
            };
            let answer = caller.call(Method::POST, &path, object.to_string()).await?;
            // It may have been told before.
            ensure!(matches!(answer.code, 201 | 409), "{}", String::from_utf8_lossy(&answer.body));
        }
        Ok(())
    }
}
