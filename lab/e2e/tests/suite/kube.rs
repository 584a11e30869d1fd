//! On a real server beside kube-controller-manager, which does to claims, pods and volumes what it does in every cluster.

use anyhow::{Result, ensure};
use e2e::{Cluster, Servant, Served};

use crate::{compatibility, contention, kills, python, sharing, stage, volumes};

/// Plays a case, if kube-controller-manager is there.
fn beside(case: impl AsyncFnOnce(&Cluster) -> Result<()>) -> Result<()> {
    stage::real_with_groups(async |cluster: &Cluster| {
        let Some(mut controllers) = Servant::kube_controllers(cluster, Served::Groups)? else {
            eprintln!("skipped: there is no kube-controller-manager");
            return Ok(());
        };
        case(cluster).await?;
        ensure!(controllers.runs()?, "kube-controller-manager ended by itself");
        Ok(())
    })
}

mod real {
    #[test]
    fn schedulers_and_drivers_may_die() -> anyhow::Result<()> {
        super::beside(super::kills::mixed)
    }

    #[test]
    fn partitions_go_together_after_a_restart() -> anyhow::Result<()> {
        super::beside(super::compatibility::devices_that_go_together_do_so_after_a_restart)
    }

    #[test]
    fn two_hundred_members_share_a_claim() -> anyhow::Result<()> {
        super::beside(super::sharing::two_hundred_members_share_a_claim_that_is_written_twice)
    }

    #[test]
    fn two_hundred_pods_negotiate_with_one_driver_at_once() -> anyhow::Result<()> {
        super::beside(super::contention::one_driver)
    }

    #[test]
    fn two_hundred_pods_negotiate_with_two_drivers_at_once() -> anyhow::Result<()> {
        super::beside(super::contention::two_drivers)
    }

    #[test]
    fn a_controller_in_python_gives_and_takes_back() -> anyhow::Result<()> {
        super::beside(
            super::python::a_controller_without_the_kit_gives_takes_back_and_says_which_nodes_will_not_do,
        )
    }

    #[test]
    fn a_controller_in_python_allocates_immediate_claims() -> anyhow::Result<()> {
        super::beside(super::python::a_controller_without_the_kit_allocates_immediate_claims_and_all_requests)
    }

    #[test]
    fn volumes_are_provisioned_by_another() -> anyhow::Result<()> {
        super::beside(super::volumes::a_volume_is_provisioned_beside_the_controllers_of_kubernetes)
    }
}
