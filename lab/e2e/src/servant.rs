//! A scheduler, or a driver's controllers, in a process of its own, which can be killed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;
use caller::Launched;
use gates::Gate;

use crate::cluster::Cluster;
use crate::real::Served;
use crate::worker::Terms;

/// What of kube-controller-manager has to do with pods, claims and volumes. Nodes here have no kubelet, so that others would take them for lost.
const KUBE_CONTROLLERS: [&str; 7] = [
    "garbage-collector-controller",
    "resourceclaim-controller",
    "ephemeral-volume-controller",
    "persistentvolume-binder-controller",
    "persistentvolume-protection-controller",
    "persistentvolumeclaim-protection-controller",
    "podgroup-protection-controller",
];

/// A program that schedules pods.
#[derive(Clone, Debug)]
pub enum Program {
    /// This crate's own, which is `supercargo scheduler` without its command line.
    Own(PathBuf),
    /// `supercargo`, which schedules pods that ask for nobody in particular.
    Supercargo(PathBuf),
    /// kube-scheduler, which does the same.
    Kube(PathBuf),
}

impl Program {
    /// The kube-scheduler that is beside the real server, if there is one.
    #[must_use]
    pub fn kube_scheduler() -> Option<Self> {
        let path = caller::real::assets().ok()?.join("kube-scheduler");
        path.is_file().then_some(Self::Kube(path))
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Own(_) => "own",
            Self::Supercargo(_) => "supercargo",
            Self::Kube(_) => "kube-scheduler",
        }
    }

    fn command(&self, kubeconfig: &Path, terms: &Terms) -> Command {
        let mut command = match self {
            Self::Own(path) => {
                let mut command = Command::new(path);
                command.args(["scheduler", "--name", &terms.name]);
                if let Some(candidate) = &terms.candidate {
                    command.args(["--candidate", candidate]);
                }
                if terms.gates.enabled(Gate::DRAControlPlaneController) {
                    command.arg("--negotiating");
                }
                if terms.gates.enabled(Gate::DRADeviceCompatibilityGroups) {
                    command.arg("--groups");
                }
                command
            }
            Self::Supercargo(path) => {
                let mut command = Command::new(path);
                command.args(["scheduler", "--leader-elect=false"]);
                command
            }
            Self::Kube(path) => {
                let mut command = Command::new(path);
                // It would serve its health to anybody, on a port of its own.
                command.args(["--leader-elect=false", "--secure-port=0"]);
                command
            }
        };
        command.arg("--kubeconfig").arg(kubeconfig).stdout(Stdio::null());
        command
    }
}

/// A process of its own. Dropped, it is killed.
pub struct Servant {
    process: Launched,
}

impl Servant {
    /// Starts a scheduler, and waits for nothing. What it says is kept beside the kubeconfig.
    ///
    /// # Errors
    /// When the program cannot be run.
    pub fn start(program: &Program, cluster: &Cluster, terms: &Terms) -> Result<Self> {
        let kubeconfig = cluster.kubeconfig()?;
        let log = File::create(kubeconfig.with_extension(format!("{}.log", program.name())))?;
        Ok(Self { process: Launched::start(program.command(&kubeconfig, terms).stderr(log))? })
    }

    /// Starts the controllers of drivers (see [`crate::givers`]) of this crate's own program, and waits for nothing.
    ///
    /// # Errors
    /// When the program cannot be run.
    pub fn givers(program: &Path, cluster: &Cluster) -> Result<Self> {
        let kubeconfig = cluster.kubeconfig()?;
        let log = File::create(kubeconfig.with_extension("givers.log"))?;
        let mut command = Command::new(program);
        command.arg("givers").arg("--kubeconfig").arg(&kubeconfig).stdout(Stdio::null()).stderr(log);
        Ok(Self { process: Launched::start(&mut command)? })
    }

    /// Starts the kube-controller-manager that is beside the real server, with the controllers that have to do with pods, claims and volumes;
    /// none, where there is none.
    ///
    /// # Errors
    /// When the program cannot be run.
    pub fn kube_controllers(cluster: &Cluster, served: Served) -> Result<Option<Self>> {
        let path = caller::real::assets().ok().map(|folder| folder.join("kube-controller-manager"));
        let Some(path) = path.filter(|path| path.is_file()) else { return Ok(None) };
        let kubeconfig = cluster.kubeconfig()?;
        let log = File::create(kubeconfig.with_extension("kube-controllers.log"))?;
        let mut command = Command::new(path);
        command.args([
            "--leader-elect=false",
            "--secure-port=0",
            "--kube-api-qps=1000",
            "--kube-api-burst=2000",
        ]);
        command.arg(format!("--controllers={}", KUBE_CONTROLLERS.join(",")));
        // They take the same features as the server; which versions it serves is found out.
        command.args(served.options().into_iter().filter(|option| option.starts_with("--feature-gates")));
        command.arg("--kubeconfig").arg(&kubeconfig).stdout(Stdio::null()).stderr(log);
        Ok(Some(Self { process: Launched::start(&mut command)? }))
    }

    /// Whether it still runs.
    ///
    /// # Errors
    /// When the operating system does not say.
    pub fn runs(&mut self) -> Result<bool> {
        Ok(self.process.runs()?)
    }

    /// Kills it with SIGKILL, and waits until it is gone.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn kill(mut self) -> Result<()> {
        Ok(self.process.kill()?)
    }
}
