//! Real servers: each started once for all tests of this process, and on a leash so that it ends with it.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::Result;
use caller::Leashed;
use caller::real::{Files, assets};
use gates::{Gate, Gates};

use crate::account::Account;
use crate::cluster::{Place, TOKEN};

/// A real server that runs.
pub(crate) struct Real {
    place: Place,
    _programs: [Leashed; 2],
}

type Found = Result<Real, String>;

/// What a server serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Served {
    /// What it serves by itself.
    Usual,
    /// Groups of pods besides, with all that belongs to them, and compatibility groups of devices.
    Groups,
}

impl Served {
    /// What belongs to groups of pods and of devices.
    pub const GROUPS: [Gate; 6] = [
        Gate::GenericWorkload,
        Gate::TopologyAwareWorkloadScheduling,
        Gate::CompositePodGroup,
        Gate::PodGroupPreemptionPolicy,
        Gate::DRAWorkloadResourceClaims,
        Gate::DRADeviceCompatibilityGroups,
    ];

    /// The features of a server, or of a scheduler that uses all of them.
    #[must_use]
    pub fn gates(self) -> Gates {
        match self {
            Served::Usual => Gates::default(),
            Served::Groups => {
                Self::GROUPS.iter().fold(Gates::default(), |gates, gate| gates.with(*gate, true))
            }
        }
    }

    /// How a real server is told.
    pub(crate) fn options(self) -> Vec<String> {
        if self == Served::Usual {
            return Vec::new();
        }
        let gates: Vec<String> = Self::GROUPS.iter().map(|gate| format!("{}=true", gate.name())).collect();
        let versions = "scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true";
        vec![format!("--feature-gates={}", gates.join(",")), format!("--runtime-config={versions}")]
    }

    fn folder(self) -> &'static str {
        match self {
            Served::Usual => "real",
            Served::Groups => "real-groups",
        }
    }
}

impl Real {
    /// The server of this process, or why there is none; whether it is ready is for the caller to find out.
    pub(crate) fn shared(dir: &Path, served: Served) -> Result<Result<&'static Place, &'static String>> {
        static SHARED: [OnceLock<Result<Found>>; 2] = [OnceLock::new(), OnceLock::new()];
        let shared = SHARED[usize::from(served == Served::Groups)].get_or_init(|| match assets() {
            Ok(folder) => Self::start(&folder, dir, served).map(Ok),
            Err(why) => Ok(Err(why)),
        });
        match shared {
            Ok(found) => Ok(found.as_ref().map(|real| &real.place)),
            Err(error) => Err(anyhow::anyhow!("{error:#}")),
        }
    }

    fn start(folder: &Path, dir: &Path, served: Served) -> Result<Self> {
        let dir = dir.join(served.folder());
        // What an earlier run left is of no use to anybody.
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir)?;
        let files = Files::make(&dir, TOKEN, &Account::ALL.map(Account::name))?;
        let mut real = files.programs(folder)?;
        // Tests that end with their machine have nothing to lose.
        real.etcd.arg("--unsafe-no-fsync");
        real.server.args(served.options());
        let etcd = Leashed::start(&real.etcd, files.log("etcd")?)?;
        let server = Leashed::start(&real.server, files.log("kube-apiserver")?)?;
        let place = Place { address: real.address.to_string(), authority: real.authority, dir };
        Ok(Self { place, _programs: [server, etcd] })
    }
}
