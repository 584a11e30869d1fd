//! The part on a node of the driver that gives itself: it prepares what the controller left in a claim's handle. There is nothing to
//! bring into containers, so that it only reads it.

use driver_kit::api::ResourceClaim;
use driver_kit::controller::handles;
use driver_kit::{ClaimReference, Driver, Failure, PreparedDevice, Trouble};
use tokio::time::sleep;

use crate::stock::Given;
use crate::switches::{Flags, LOOK_EVERY, Prepare, Unprepare};

/// The part on a node.
pub(crate) struct Porter {
    pub(crate) name: String,
    pub(crate) flags: Flags,
}

impl Driver for Porter {
    async fn prepare(&self, claim: &ResourceClaim) -> Result<Vec<PreparedDevice>, Failure> {
        sleep(self.flags.now()?.delay).await;
        while self.flags.now()?.prepare == Prepare::Hang {
            sleep(LOOK_EVERY).await;
        }
        if self.flags.now()?.prepare == Prepare::Fail {
            return Err("configured to fail: prepare".into());
        }
        for handle in handles(claim)?.iter().filter(|handle| handle.driver_name == self.name) {
            let given: Given = serde_json::from_str(&handle.data)?;
            println!("prepared {} with {given}", ClaimReference::of(claim));
        }
        Ok(Vec::new())
    }

    async fn unprepare(&self, claim: &ClaimReference) -> Result<(), Failure> {
        sleep(self.flags.now()?.delay).await;
        if self.flags.now()?.unprepare == Unprepare::Fail {
            return Err("configured to fail: unprepare".into());
        }
        println!("unprepared {claim}");
        Ok(())
    }

    fn trouble(&self, trouble: &Trouble) {
        eprintln!("warning: {trouble}");
    }
}
