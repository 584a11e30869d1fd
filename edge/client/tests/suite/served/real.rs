//! A kube-apiserver with its etcd, where `KUBEBUILDER_ASSETS` or the usual folder has them.

use std::env;
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use client::{Connection, Options};
use objects::core::kinds::Namespace;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, SanType};

use super::TOKEN;

/// Both programs; dropped, they are killed.
pub struct Real {
    children: [Child; 2],
    dir: PathBuf,
    pub connection: Connection,
}

impl Drop for Real {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        // Of a test that fails the logs are kept; etcd's files are large.
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

impl Real {
    /// Starts them, or says that they are not there.
    pub async fn start(name: &str) -> Option<Self> {
        let folder =
            env::var("KUBEBUILDER_ASSETS").unwrap_or_else(|_| "/usr/local/kubebuilder/bin".to_owned());
        let folder = PathBuf::from(folder);
        if !folder.join("kube-apiserver").exists() || !folder.join("etcd").exists() {
            eprintln!(
                "skipped: there is no kube-apiserver in {}; hint: set KUBEBUILDER_ASSETS",
                folder.display()
            );
            return None;
        }
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("real-{name}"));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).expect("a folder");
        let authority = certificates(&dir);
        let (children, port) = launch(&folder, &dir);
        let server = format!("https://127.0.0.1:{port}");
        let connection =
            Connection::from_parts(&server, Some(TOKEN), Some(authority.as_bytes()), &Options::default())
                .expect("the parts are whole");
        let real = Self { children, dir, connection };
        let namespaces = client::Resource::<Namespace>::named("namespaces");
        for _ in 0..600 {
            if real.connection.get(&namespaces, "default").await.done().is_some() {
                return Some(real);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        unreachable!("kube-apiserver did not become ready; see {}", real.dir.display());
    }
}

fn certificates(dir: &Path) -> String {
    let write = |name: &str, text: &str| fs::write(dir.join(name), text).expect("a file");
    let key = || KeyPair::generate().expect("a key");
    let authority_key = key();
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let pem = authority.self_signed(&authority_key).expect("a certificate").pem();
    let issuer = Issuer::new(authority, &authority_key);
    let mut server = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    server.subject_alt_names.push(SanType::IpAddress(Ipv4Addr::LOCALHOST.into()));
    let server_key = key();
    write("server.crt", &server.signed_by(&server_key, &issuer).expect("a certificate").pem());
    write("server.key", &server_key.serialize_pem());
    let accounts = key();
    write("accounts.key", &accounts.serialize_pem());
    write("accounts.pub", &accounts.public_key_pem());
    write("tokens.csv", &format!("{TOKEN},test,test,system:masters\n"));
    pem
}

fn launch(folder: &Path, dir: &Path) -> ([Child; 2], u16) {
    let ports: Vec<u16> = {
        let held: Vec<_> =
            (0..3).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port")).collect();
        held.iter().map(|held| held.local_addr().expect("an address").port()).collect()
    };
    let (etcd_url, peer_url) =
        (format!("http://127.0.0.1:{}", ports[0]), format!("http://127.0.0.1:{}", ports[1]));
    let log = |name: &str| File::create(dir.join(name)).expect("a file");
    let option = |option: &str, name: &str| format!("--{option}={}", dir.join(name).display());
    let etcd = Command::new(folder.join("etcd"))
        .args(["--name=test", "--log-level=warn", "--unsafe-no-fsync"])
        .arg(option("data-dir", "etcd"))
        .arg(format!("--listen-client-urls={etcd_url}"))
        .arg(format!("--advertise-client-urls={etcd_url}"))
        .arg(format!("--listen-peer-urls={peer_url}"))
        .arg(format!("--initial-advertise-peer-urls={peer_url}"))
        .arg(format!("--initial-cluster=test={peer_url}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log("etcd.log"))
        .spawn()
        .expect("etcd runs");
    let server = Command::new(folder.join("kube-apiserver"))
        .arg(format!("--etcd-servers={etcd_url}"))
        .arg(format!("--secure-port={}", ports[2]))
        .args([
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
        ])
        .arg(option("tls-cert-file", "server.crt"))
        .arg(option("tls-private-key-file", "server.key"))
        .arg("--service-account-issuer=https://kubernetes.default.svc")
        .arg(option("service-account-key-file", "accounts.pub"))
        .arg(option("service-account-signing-key-file", "accounts.key"))
        .arg("--service-cluster-ip-range=10.96.0.0/16")
        .args(["--authorization-mode=AlwaysAllow", "--disable-admission-plugins=ServiceAccount"])
        .arg(option("token-auth-file", "tokens.csv"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log("kube-apiserver.log"))
        .spawn()
        .expect("kube-apiserver runs");
    ([server, etcd], ports[2])
}
