//! A kube-apiserver with its etcd: on loopback, on ports that are free, and with certificates of its own.

use std::env;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use thiserror::Error;

/// A real server that cannot be prepared.
#[derive(Debug, Error)]
pub enum RealError {
    /// A file could not be written, or no port is free.
    #[error("cannot prepare a real API server: {0}")]
    Prepare(#[from] io::Error),
    /// A certificate could not be made.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
}

/// The folder that `KUBEBUILDER_ASSETS` names, or the usual one, if it has both programs; else a sentence that says so.
///
/// # Errors
/// When a program is not there.
pub fn assets() -> Result<PathBuf, String> {
    let folder = env::var("KUBEBUILDER_ASSETS").unwrap_or_else(|_| "/usr/local/kubebuilder/bin".to_owned());
    let folder = PathBuf::from(folder);
    if ["kube-apiserver", "etcd"].iter().all(|name| folder.join(name).is_file()) {
        Ok(folder)
    } else {
        let folder = folder.display();
        Err(format!("there is no kube-apiserver with etcd in {folder}; hint: set KUBEBUILDER_ASSETS"))
    }
}

/// What both programs read, in one folder.
#[derive(Debug)]
pub struct Files {
    dir: PathBuf,
}

/// Both programs, ready to be started.
#[derive(Debug)]
pub struct Real {
    /// The store; it goes first, though the server waits for it.
    pub etcd: Command,
    /// The API server.
    pub server: Command,
    /// Where the API server will listen.
    pub address: SocketAddr,
    /// The certificate of its authority, as PEM.
    pub authority: String,
}

impl Files {
    /// Makes what is not there yet; the token is that of an administrator. Service accounts of `kube-system` have tokens too,
    /// each the administrator's with the account's name behind it.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn make(dir: &Path, token: &str, accounts: &[&str]) -> Result<Self, RealError> {
        let files = Self { dir: dir.to_owned() };
        if files.path("tokens.csv").exists() {
            return Ok(files);
        }
        let authority_key = KeyPair::generate()?;
        let mut authority = CertificateParams::default();
        // Clients with OpenSSL take a certificate for self-signed whose issuer has the same name as its subject.
        authority.distinguished_name.push(DnType::CommonName, "authority");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        fs::write(files.path("authority.crt"), authority.self_signed(&authority_key)?.pem())?;
        let issuer = Issuer::new(authority, &authority_key);
        let mut server = CertificateParams::new(vec!["localhost".to_owned(), "kubernetes".to_owned()])?;
        server.subject_alt_names.push(SanType::IpAddress(Ipv4Addr::LOCALHOST.into()));
        server.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        server.use_authority_key_identifier_extension = true;
        server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let server_key = KeyPair::generate()?;
        fs::write(files.path("server.crt"), server.signed_by(&server_key, &issuer)?.pem())?;
        fs::write(files.path("server.key"), server_key.serialize_pem())?;
        // The tokens of service accounts are signed with this, and nobody asks for one.
        let signer = KeyPair::generate()?;
        fs::write(files.path("accounts.key"), signer.serialize_pem())?;
        fs::write(files.path("accounts.pub"), signer.public_key_pem())?;
        let mut tokens = format!("{token},test,test,system:masters\n");
        for name in accounts {
            tokens += &format!("{token}-{name},system:serviceaccount:kube-system:{name},{name}\n");
        }
        fs::write(files.path("tokens.csv"), tokens)?;
        Ok(files)
    }

    /// Both programs on free ports; whether they are ready is for the caller to find out.
    ///
    /// # Errors
    /// When no port is free.
    pub fn programs(&self, folder: &Path) -> Result<Real, RealError> {
        let [etcd_port, peer_port, port] = free_ports()?;
        let etcd_url = format!("http://127.0.0.1:{etcd_port}");
        let peer_url = format!("http://127.0.0.1:{peer_port}");
        let mut etcd = Command::new(folder.join("etcd"));
        etcd.args(["--name=test", "--log-level=warn"])
            .arg(self.option("data-dir", "etcd"))
            .arg(format!("--listen-client-urls={etcd_url}"))
            .arg(format!("--advertise-client-urls={etcd_url}"))
            .arg(format!("--listen-peer-urls={peer_url}"))
            .arg(format!("--initial-advertise-peer-urls={peer_url}"))
            .arg(format!("--initial-cluster=test={peer_url}"));
        let mut server = Command::new(folder.join("kube-apiserver"));
        server
            .arg(format!("--etcd-servers={etcd_url}"))
            .arg(format!("--secure-port={port}"))
            .args(["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"])
            .args(["--external-hostname=127.0.0.1", "--endpoint-reconciler-type=none"])
            .arg(self.option("tls-cert-file", "server.crt"))
            .arg(self.option("tls-private-key-file", "server.key"))
            .arg(self.option("client-ca-file", "authority.crt"))
            .arg("--service-account-issuer=https://kubernetes.default.svc")
            .arg(self.option("service-account-key-file", "accounts.pub"))
            .arg(self.option("service-account-signing-key-file", "accounts.key"))
            .arg("--service-cluster-ip-range=10.96.0.0/16")
            .args(["--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount"])
            .arg(self.option("token-auth-file", "tokens.csv"));
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let authority = fs::read_to_string(self.path("authority.crt"))?;
        Ok(Real { etcd, server, address, authority })
    }

    /// Where a program may write what it has to say.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn log(&self, program: &str) -> Result<File, RealError> {
        Ok(File::create(self.path(&format!("{program}.log")))?)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn option(&self, option: &str, name: &str) -> String {
        format!("--{option}={}", self.path(name).display())
    }
}

/// Ports that nobody listens on at the moment.
fn free_ports() -> io::Result<[u16; 3]> {
    let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let held = [listen()?, listen()?, listen()?];
    let mut ports = [0; 3];
    for (port, listener) in ports.iter_mut().zip(&held) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}
