//! What the server says of itself.

use serde_json::{Value, json};

/// The version of Kubernetes whose API is served.
const KUBERNETES: (&str, &str) = ("1", "37");
/// The oldest version with which what is served is compatible.
const COMPATIBLE: (&str, &str) = ("1", "36");

/// How this program was built.
#[derive(Clone, Copy, Debug)]
pub struct Build<'a> {
    /// The version of the program, such as `0.1.0`.
    pub version: &'a str,
    /// The commit from which it was built; may be empty.
    pub commit: &'a str,
    /// When it was built, in RFC 3339.
    pub date: &'a str,
    /// The compiler and its version, such as `rustc 1.95.0`.
    pub compiler: &'a str,
    /// Operating system and architecture, such as `linux/amd64`.
    pub platform: &'a str,
}

/// The version of Kubernetes whose API is served, such as `v1.37.0`.
pub fn kubernetes_version() -> String {
    let (major, minor) = KUBERNETES;
    format!("v{major}.{minor}.0")
}

/// `/version`. Clients read the version of Kubernetes from it; ours follows after a plus sign.
pub fn version(build: &Build<'_>) -> Value {
    let (major, minor) = KUBERNETES;
    json!({
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": COMPATIBLE.0,
        "minCompatibilityMinor": COMPATIBLE.1,
        "gitVersion": format!("{}+supercargo-{}", kubernetes_version(), build.version),
        "gitCommit": build.commit,
        "gitTreeState": "clean",
        "buildDate": build.date,
        // Clients want these two fields filled; that they are named after another language does not matter to them.
        "goVersion": build.compiler,
        "compiler": build.compiler.split(' ').next().unwrap_or_default(),
        "platform": build.platform,
    })
}

#[cfg(test)]
mod tests {
    use super::{Build, version};

    #[test]
    fn clients_find_the_version_of_kubernetes_that_is_served() {
        let build = Build {
            version: "0.1.0",
            commit: "",
            date: "2026-01-01T00:00:00Z",
            compiler: "rustc 1.95.0",
            platform: "linux/amd64",
        };
        let version = version(&build);
        assert_eq!(version["gitVersion"], "v1.37.0+supercargo-0.1.0");
        assert_eq!(version["minor"], "37");
        assert_eq!(version["compiler"], "rustc");
        assert!(version.as_object().expect("an object").values().all(serde_json::Value::is_string));
    }
}
