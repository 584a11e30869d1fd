//! An API server that goes and comes back, as the logs of those tell it that work on it.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{self, Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A folder and the processes that log into it; all go when the test does.
struct Site {
    dir: PathBuf,
    running: Vec<Child>,
}

impl Drop for Site {
    fn drop(&mut self) {
        for child in &mut self.running {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.dir);
    }
}

impl Site {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("supercargo-outages-{name}-{}", process::id()));
        fs::create_dir_all(&dir).expect("a folder can be made");
        Self { dir, running: Vec::new() }
    }

    fn path(&self, name: &str) -> String {
        self.dir.join(name).display().to_string()
    }

    /// Starts a command that logs into the file of this name.
    fn start(&mut self, log: &str, arguments: &[&str]) {
        let log = File::options().append(true).create(true).open(self.path(log)).expect("a file can be made");
        let mut command = Command::new(env!("CARGO_BIN_EXE_supercargo"));
        let child = command.args(arguments).stdout(Stdio::null()).stderr(log).spawn();
        self.running.push(child.expect("the binary was built for this test"));
    }

    fn log(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// How many lines of a log have this in them.
    fn count(&self, log: &str, text: &str) -> usize {
        self.log(log).lines().filter(|line| line.contains(text)).count()
    }

    fn until_logged(&self, log: &str, text: &str) {
        let began = Instant::now();
        while self.count(log, text) == 0 {
            assert!(began.elapsed() < Duration::from_secs(60), "never: {text} in\n{}", self.log(log));
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Starts the server, always at the same address with the same storage.
    fn serve(&mut self, address: &str) {
        let (data, kubeconfig) = (self.path("data"), self.path("kubeconfig"));
        self.start(
            "server",
            &["apiserver", "--listen", address, "--data-dir", &data, "--write-kubeconfig", &kubeconfig],
        );
        let began = Instant::now();
        while !self.dir.join("kubeconfig").exists() {
            assert!(began.elapsed() < Duration::from_secs(60), "it does not listen:\n{}", self.log("server"));
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// An address that nobody listens on at this moment.
fn address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    listener.local_addr().expect("it has an address").to_string()
}

const BEGINS: &str = "the API server is unavailable";
const ENDS: &str = "the API server is available again";
const UNVERIFIED: &str = "the certificate of the API server is not verified";

#[test]
fn an_outage_is_logged_once_when_it_begins_and_once_when_it_is_over() {
    let (mut site, address) = (Site::new("once"), address());
    site.serve(&address);
    // Whoever trusts any server is told so once, and not with each connection.
    let kubeconfig = fs::read_to_string(site.path("kubeconfig")).expect("it was written");
    let unverified: Vec<String> = kubeconfig
        .lines()
        .map(|line| match line.split_once("certificate-authority-data:") {
            Some((before, _)) => format!("{before}insecure-skip-tls-verify: true"),
            None => line.to_owned(),
        })
        .collect();
    assert!(kubeconfig.contains("certificate-authority-data:"), "{kubeconfig}");
    let trusting = site.path("trusting");
    fs::write(&trusting, unverified.join("\n")).expect("it can be written");
    for command in ["scheduler", "controllers"] {
        site.start(command, &[command, "--secure-port", "0", "--kubeconfig", &trusting]);
    }
    site.until_logged("scheduler", "scheduling");
    site.until_logged("controllers", "leading");
    site.running[0].kill().expect("it runs");
    site.running[0].wait().expect("it is ours");
    fs::remove_file(site.path("kubeconfig")).expect("it was written");
    for command in ["scheduler", "controllers"] {
        site.until_logged(command, BEGINS);
    }
    // There is time for every kind to be tried again.
    std::thread::sleep(Duration::from_secs(2));
    site.serve(&address);
    for command in ["scheduler", "controllers"] {
        site.until_logged(command, ENDS);
        let log = site.log(command);
        assert_eq!((site.count(command, BEGINS), site.count(command, ENDS)), (1, 1), "{log}");
        assert_eq!(site.count(command, "watch failed"), 0, "{log}");
        assert_eq!(site.count(command, "election"), 0, "{log}");
        assert_eq!(site.count(command, UNVERIFIED), 1, "{log}");
        assert_eq!(site.count(command, "bypassed"), 0, "{log}");
    }
}
