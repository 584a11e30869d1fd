//! A real server: started once for all tests of this process, and on a leash so that it ends with it.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::Result;
use caller::Leashed;
use caller::real::{Files, assets};

use crate::account::Account;
use crate::cluster::{Place, TOKEN};

/// A real server that runs.
pub(crate) struct Real {
    place: Place,
    _programs: [Leashed; 2],
}

type Found = Result<Real, String>;

impl Real {
    /// The server of this process, or why there is none; whether it is ready is for the caller to find out.
    pub(crate) fn shared(dir: &Path) -> Result<Result<&'static Place, &'static String>> {
        static SHARED: OnceLock<Result<Found>> = OnceLock::new();
        let shared = SHARED.get_or_init(|| match assets() {
            Ok(folder) => Self::start(&folder, dir).map(Ok),
            Err(why) => Ok(Err(why)),
        });
        match shared {
            Ok(found) => Ok(found.as_ref().map(|real| &real.place)),
            Err(error) => Err(anyhow::anyhow!("{error:#}")),
        }
    }

    fn start(folder: &Path, dir: &Path) -> Result<Self> {
        let dir = dir.join("real");
        // What an earlier run left is of no use to anybody.
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir)?;
        let files = Files::make(&dir, TOKEN, &Account::ALL.map(Account::name))?;
        let mut real = files.programs(folder)?;
        // Tests that end with their machine have nothing to lose.
        real.etcd.arg("--unsafe-no-fsync");
        let etcd = Leashed::start(&real.etcd, files.log("etcd")?)?;
        let server = Leashed::start(&real.server, files.log("kube-apiserver")?)?;
        let place = Place { address: real.address.to_string(), authority: real.authority, dir };
        Ok(Self { place, _programs: [server, etcd] })
    }
}
