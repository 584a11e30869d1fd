//! What is asked of a server: the same of each.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use caller::{Caller, Place};
use hyper::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

const PODS: &str = "/api/v1/namespaces/default/pods";
const LISTS: usize = 3;

/// Makes pods over some connections, each of which waits for one answer before it asks again.
pub(crate) async fn create(
    place: &Place,
    connections: usize,
    count: usize,
    prefix: &str,
) -> anyhow::Result<Duration> {
    let mut callers = Vec::new();
    for _ in 0..connections {
        callers.push(Caller::connect(place).await?);
    }
    let next = Arc::new(AtomicUsize::new(0));
    let template = pod("NAME");
    let mut tasks = JoinSet::new();
    let began = Instant::now();
    for mut caller in callers {
        let (next, template, prefix) = (Arc::clone(&next), template.clone(), prefix.to_owned());
        tasks.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return Ok(());
                }
                let body = template.replace("NAME", &format!("{prefix}-{number:06}"));
                let answer = caller.call(Method::POST, PODS, body).await?;
                ensure!(answer.code == 201, "{}", String::from_utf8_lossy(&answer.body));
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    Ok(began.elapsed())
}

/// Lists all pods a few times: the bytes, and the best time until the last of them came.
pub(crate) async fn list(place: &Place, at_least: usize) -> anyhow::Result<(usize, Duration)> {
    let mut caller = Caller::connect(place).await?;
    let mut times = Vec::new();
    let mut bytes = 0;
    for turn in 0..LISTS {
        let began = Instant::now();
        let answer = caller.call(Method::GET, PODS, Vec::new()).await?;
        times.push(began.elapsed());
        bytes = answer.body.len();
        if turn == 0 {
            let list: Value = serde_json::from_slice(&answer.body)?;
            let count = list["items"].as_array().map_or(0, Vec::len);
            ensure!(count >= at_least, "{count} pods were listed, and {at_least} were made");
        }
    }
    Ok((bytes, times.into_iter().min().context("something was listed")?))
}

/// Makes pods while watches see them: the time from the first request until every watch has told of every pod.
pub(crate) async fn fan_out(
    place: &Place,
    watchers: usize,
    count: usize,
    prefix: &str,
) -> anyhow::Result<Duration> {
    let mut caller = Caller::connect(place).await?;
    let answer = caller.call(Method::GET, &format!("{PODS}?limit=1"), Vec::new()).await?;
    let list: Value = serde_json::from_slice(&answer.body)?;
    let revision = list["metadata"]["resourceVersion"].as_str().context("a list has a revision")?;
    let path = format!("{PODS}?watch=1&resourceVersion={revision}");
    let mut tasks = JoinSet::new();
    for _ in 0..watchers {
        let mut lines = Caller::connect(place).await?.lines(&path).await?;
        ensure!(lines.code() == 200, "a watch was answered with {}", lines.code());
        tasks.spawn(async move {
            let mut seen = 0;
            while seen < count {
                let chunk = lines.chunk().await?.context("a watch ended early")?;
                seen += chunk.iter().filter(|byte| **byte == b'\n').count();
            }
            anyhow::Ok(())
        });
    }
    let began = Instant::now();
    create(place, 16, count, prefix).await?;
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    Ok(began.elapsed())
}

/// A pod of about 1.5 KiB, as it is sent.
fn pod(name: &str) -> String {
    let environment: Vec<Value> = (0..10)
        .map(|number| json!({"name": format!("SETTING_{number}"), "value": format!("value-of-setting-{number}")}))
        .collect();
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"app.kubernetes.io/name": "trainer", "app.kubernetes.io/instance": "trainer-prod",
                "example.com/team": "vision", "pod-template-hash": "5d8f7c9b44"},
            "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "9090",
                "checksum/config": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"},
        },
        "spec": {
            "containers": [{
                "name": "main",
                "image": "registry.example.com/team/trainer:v1.42.0",
                "command": ["/usr/bin/trainer", "--config=/etc/trainer/config.yaml", "--epochs=100"],
                "env": environment,
                "ports": [{"name": "metrics", "containerPort": 9090, "protocol": "TCP"}],
                "resources": {"requests": {"cpu": "2", "memory": "4Gi"}, "limits": {"cpu": "4", "memory": "8Gi"}},
                "readinessProbe": {"httpGet": {"path": "/ready", "port": 9090}, "periodSeconds": 5},
            }],
            "nodeSelector": {"example.com/gpu": "true"},
            "tolerations": [{"key": "example.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
            "terminationGracePeriodSeconds": 60,
            "schedulerName": "supercargo",
        },
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_pod_is_sent_in_about_one_and_a_half_kibibytes() {
        let length = super::pod("many-000001").len();
        assert!((1_400..1_700).contains(&length), "{length} bytes");
    }
}
