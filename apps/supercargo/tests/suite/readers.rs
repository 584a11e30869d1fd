//! Explanations and plans for people who may read only their namespace of a real cluster: nothing of others is named, and what could
//! not be read is. Without a kube-apiserver it says that it was skipped. Our own server lets every user read everything; a stub of a
//! server that does not is in `devices.rs`.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use e2e::shapes::{claim, class, node, pod_with_claims, slice};
use e2e::{Cluster, Served, Terms, Worker, until};
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use serde_json::{Value, json};

/// What ann may read of the whole cluster. The other reader may read nothing of it.
const OF_CLUSTER: [(&str, &str); 3] =
    [("", "nodes"), ("resource.k8s.io", "resourceslices"), ("resource.k8s.io", "deviceclasses")];

/// A pod like the one that waits, for plans.
const PLANNED: &str = "\
{apiVersion: v1, kind: Pod, metadata: {name: planned}, spec: {containers: [{name: c, image: i}], resourceClaims: [{name: d, resourceClaimName: planned}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: planned}, spec: {devices: {requests: [{name: d, exactly: {deviceClassName: gpu}}]}}}
";

/// What a command says to a reader: what it answers, its notes, and its exit code.
struct Said {
    answer: String,
    notes: String,
    code: Option<i32>,
}

impl Said {
    /// Fails if an object in the other namespace is named anywhere.
    fn names_nothing_of_others(&self) {
        let all = format!("{}{}", self.answer, self.notes);
        for word in ["rivals", "secret"] {
            assert!(!all.contains(word), "it names {word}:\n{all}");
        }
    }

    /// Fails unless the kinds are told that could not be read, with where they were.
    fn tells_what_was_not_read(&self, everywhere: &[&str], own: &[&str]) {
        let is_listed = |line: &str, plural: &str| {
            let kinds = line.split(';').next().unwrap_or_default().rsplit(": ").next().unwrap_or_default();
            kinds.split(", ").any(|kind| kind == plural)
        };
        for (plurals, then) in
            [(everywhere, "; they are ignored"), (own, "; only those in namespace default")]
        {
            let line =
                self.notes.lines().find(|line| line.starts_with("note: not all") && line.contains(then));
            assert!(line.is_some(), "{then}: {}", self.notes);
            let line = line.unwrap_or_default();
            for plural in plurals {
                assert!(is_listed(line, plural), "{plural}: {line}");
            }
        }
    }
}

fn run(kubeconfig: &Path, arguments: &[&str], stdin: &str) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_supercargo"));
    command.args(arguments).arg("--kubeconfig").arg(kubeconfig).env_remove("KUBECONFIG");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary was built for this test");
    // A command that does not read its stdin may be gone by now.
    let _ = child.stdin.take().expect("it is piped").write_all(stdin.as_bytes());
    let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it is text");
    Said { answer: text(stdout), notes: text(stderr), code: status.code() }
}

/// A node whose only device a pod of another namespace has, and a pod of the namespace `default` that waits for it. Gives the
/// message of its condition.
async fn a_pod_waits_for_a_device_of_others(cluster: &Cluster) -> Result<String, Box<dyn Error>> {
    cluster.create(&class()?).await?;
    cluster.create_node(&node("n-1", 16)?).await?;
    cluster.create(&slice("n-1", 1)?).await?;
    let _worker = Worker::start(&cluster.connect()?, &Terms::default())?;
    let namespace = json!({ "metadata": { "name": "rivals" } });
    cluster.connection().create_untyped("v1", "namespaces", "", &namespace).await;
    let (mut theirs, mut user) =
        (claim("secret-gpus", 1)?, pod_with_claims("secret-train", &["secret-gpus"])?);
    theirs.metadata.namespace = "rivals".to_owned();
    user.metadata.namespace = "rivals".to_owned();
    let claims = client::Resource::<ResourceClaim>::named("resourceclaims").within("rivals");
    let pods = client::Resource::<Pod>::named("pods").within("rivals");
    cluster.connection().create(&claims, &theirs).await;
    cluster.connection().create(&pods, &user).await;
    until("the pod of others is bound", async || {
        let pod = cluster.connection().get(&pods, "secret-train").await.done();
        Ok(pod.filter(|pod| !pod.spec.node_name.is_empty()))
    })
    .await?;
    cluster.create(&claim("mine", 1)?).await?;
    cluster.create(&pod_with_claims("mine", &["mine"])?).await?;
    let is_refused = |pod: &Pod| pod.status.conditions.iter().any(|one| one.reason == "Unschedulable");
    let waits = cluster.pod_when("mine", "is refused", is_refused).await?;
    let condition = waits.status.conditions.into_iter().find(|one| one.type_ == "PodScheduled");
    Ok(condition.map(|condition| condition.message).unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn explanations_and_plans_name_nothing_of_others() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readers");
    let cluster = match Cluster::real_with(&folder, Served::Usual).await? {
        Ok(cluster) => cluster,
        Err(why) => {
            eprintln!("skipped: {why}");
            return Ok(());
        }
    };
    let message = a_pod_waits_for_a_device_of_others(&cluster).await?;
    let everything = cluster.kubeconfig()?;
    let told = run(&everything, &["explain", "mine", "-n", "default"], "");
    assert_eq!(told.answer.lines().next(), Some(&*message));
    assert!(told.answer.contains("rivals/secret-gpus"), "who may read everything is told: {}", told.answer);
    let plan = run(&everything, &["plan", "-n", "default", "-f", "-"], PLANNED);
    assert_eq!(plan.code, Some(3), "{}{}", plan.answer, plan.notes);

    let ann = cluster.reader("ann", &OF_CLUSTER).await?;
    let bob = cluster.reader("bob", &[]).await?;
    let kinds = ["persistentvolumes", "devicetaintrules"];
    let (everywhere, own) =
        (&[&kinds[..], &["nodes", "resourceslices"]].concat(), ["pods", "resourceclaims"]);

    // What may be read has room for the pod, so the scheduler's own words come first.
    let told = run(&ann, &["explain", "mine"], "");
    assert_eq!(told.answer.lines().next(), Some(&*message), "{}", told.notes);
    assert!(
        told.answer.ends_with(
            "only by the objects that can be listed:\n\
        pod default/mine fits on node n-1; it is queued to be scheduled\n"
        ),
        "{}",
        told.answer
    );
    told.names_nothing_of_others();
    told.tells_what_was_not_read(&kinds, &own);
    assert!(!told.notes.contains(" nodes,") && !told.notes.contains("podgroups"), "{}", told.notes);
    let document = run(&ann, &["explain", "mine", "-o", "json"], "");
    document.names_nothing_of_others();
    let document: Value = serde_json::from_str(&document.answer)?;
    assert_eq!((&document["condition"], &document["text"]), (&json!(message), &json!(told.answer)));

    let told = run(&bob, &["explain", "mine"], "");
    assert_eq!(told.answer.lines().next(), Some(&*message), "{}", told.notes);
    assert!(told.answer.contains("nodes cannot be listed, so there is no more to say"), "{}", told.answer);
    told.names_nothing_of_others();
    told.tells_what_was_not_read(everywhere, &own);

    let plan = run(&ann, &["plan", "-f", "-", "-o", "json"], PLANNED);
    plan.names_nothing_of_others();
    plan.tells_what_was_not_read(&kinds, &own);
    assert!(
        plan.notes.contains("warning: pods and claims that cannot be listed are left out"),
        "{}",
        plan.notes
    );
    assert_eq!(serde_json::from_str::<Value>(&plan.answer)?["waitingPods"][0]["name"], "mine");
    let plan = run(&bob, &["plan", "-f", "-"], PLANNED);
    plan.names_nothing_of_others();
    assert_eq!(plan.code, Some(1));
    assert!(plan.notes.contains("error: cannot plan without nodes: nodes is forbidden"), "{}", plan.notes);

    // Whether an object of others is there is not told either.
    for kubeconfig in [&ann, &bob] {
        for name in ["secret-train", "no-such-pod"] {
            let told = run(kubeconfig, &["explain", name, "-n", "rivals"], "");
            let last = format!("error: cannot read pod rivals/{name}: pods \"{name}\" is forbidden: ");
            assert!(told.notes.lines().any(|line| line.starts_with(&last)), "{}", told.notes);
            assert_eq!((told.code, &*told.answer), (Some(1), ""));
        }
        for command in
            [&["plan", "capacity", "-f", "-"][..], &["plan", "defragment", "-f", "-"], &["devices"]]
        {
            run(kubeconfig, command, PLANNED).names_nothing_of_others();
        }
    }
    Ok(())
}
