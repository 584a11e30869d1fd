//! A kube-apiserver with its etcd: on loopback, with certificates of its own, and with every write synced to disk.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use caller::{Launched, Place};
use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    SanType,
};

use super::contestant::TOKEN;

/// What both programs read, in one folder.
pub(crate) struct Files {
    dir: PathBuf,
}

impl Files {
    /// Makes what is not there yet.
    pub(crate) fn make(dir: &Path) -> anyhow::Result<Self> {
        let files = Self { dir: dir.to_owned() };
        if files.path("tokens.csv").exists() {
            return Ok(files);
        }
        let authority_key = KeyPair::generate()?;
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        fs::write(files.path("authority.crt"), authority.self_signed(&authority_key)?.pem())?;
        let issuer = Issuer::new(authority, &authority_key);
        let mut server = CertificateParams::new(vec!["localhost".to_owned(), "kubernetes".to_owned()])?;
        server.subject_alt_names.push(SanType::IpAddress(Ipv4Addr::LOCALHOST.into()));
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let server_key = KeyPair::generate()?;
        fs::write(files.path("server.crt"), server.signed_by(&server_key, &issuer)?.pem())?;
        fs::write(files.path("server.key"), server_key.serialize_pem())?;
        // The tokens of service accounts are signed with this, and nobody asks for one.
        let accounts = KeyPair::generate()?;
        fs::write(files.path("accounts.key"), accounts.serialize_pem())?;
        fs::write(files.path("accounts.pub"), accounts.public_key_pem())?;
        fs::write(files.path("tokens.csv"), format!("{TOKEN},bench,bench,system:masters\n"))?;
        Ok(files)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn option(&self, option: &str, name: &str) -> String {
        format!("--{option}={}", self.path(name).display())
    }
}

/// Starts both; whether they are ready is for the caller to find out.
pub(crate) fn start(folder: &Path, files: &Files) -> anyhow::Result<(Vec<Launched>, Place)> {
    let [etcd_port, peer_port, port] = free_ports()?;
    let etcd_url = format!("http://127.0.0.1:{etcd_port}");
    let peer_url = format!("http://127.0.0.1:{peer_port}");
    let etcd = Launched::start(
        Command::new(folder.join("etcd"))
            .args(["--name=bench", "--log-level=warn"])
            .arg(files.option("data-dir", "etcd"))
            .arg(format!("--listen-client-urls={etcd_url}"))
            .arg(format!("--advertise-client-urls={etcd_url}"))
            .arg(format!("--listen-peer-urls={peer_url}"))
            .arg(format!("--initial-advertise-peer-urls={peer_url}"))
            .arg(format!("--initial-cluster=bench={peer_url}"))
            .stdout(File::create(files.path("etcd.out"))?)
            .stderr(File::create(files.path("etcd.log"))?),
    )?;
    let server = Launched::start(
        Command::new(folder.join("kube-apiserver"))
            .arg(format!("--etcd-servers={etcd_url}"))
            .arg(format!("--secure-port={port}"))
            .args(["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"])
            .args(["--external-hostname=127.0.0.1", "--endpoint-reconciler-type=none"])
            .arg(files.option("tls-cert-file", "server.crt"))
            .arg(files.option("tls-private-key-file", "server.key"))
            .arg(files.option("client-ca-file", "authority.crt"))
            .arg("--service-account-issuer=https://kubernetes.default.svc")
            .arg(files.option("service-account-key-file", "accounts.pub"))
            .arg(files.option("service-account-signing-key-file", "accounts.key"))
            .arg("--service-cluster-ip-range=10.96.0.0/16")
            .args(["--authorization-mode=AlwaysAllow", "--disable-admission-plugins=ServiceAccount"])
            .arg(files.option("token-auth-file", "tokens.csv"))
            .stdout(File::create(files.path("kube-apiserver.out"))?)
            .stderr(File::create(files.path("kube-apiserver.log"))?),
    )?;
    let authority = fs::read(files.path("authority.crt"))?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    Ok((vec![server, etcd], Place::new(address, &authority, TOKEN)?))
}

/// Ports that nobody listens on at the moment.
fn free_ports() -> anyhow::Result<[u16; 3]> {
    let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let held = [listen()?, listen()?, listen()?];
    let mut ports = [0; 3];
    for (port, listener) in ports.iter_mut().zip(&held) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}
