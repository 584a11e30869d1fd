//! What a container is made of besides its image and resources: mounts, probes and hooks.

use std::collections::BTreeSet;

use objects::IntOrString;
use objects::core::container::{
    Container, ExecAction, HTTPGetAction, LifecycleHandler, Probe, SleepAction, TCPSocketAction,
};
use schema::Path;

use crate::cause::Causes;
use crate::kinds::container::{Surrounding, one_of, port_name, port_number};
use crate::kinds::volume::KnownVolumes;

/// Mounts and devices name volumes of the pod, each at a place of its own.
pub(crate) fn validate_mounts(
    container: &Container,
    volumes: &KnownVolumes<'_>,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    let device_paths: BTreeSet<&str> =
        container.volume_devices.iter().map(|device| device.device_path.as_str()).collect();
    let device_names: BTreeSet<&str> =
        container.volume_devices.iter().map(|device| device.name.as_str()).collect();
    let list = path.field("volumeMounts");
    let mut places = BTreeSet::new();
    for (index, mount) in container.volume_mounts.iter().enumerate() {
        let path = list.index(index);
        let (name, place) = (path.field("name"), path.field("mountPath"));
        if mount.name.is_empty() {
            causes.required(&name, "must be set");
        }
        if !volumes.contains(&mount.name) {
            causes.not_found(&name, &mount.name);
        }
        if mount.mount_path.is_empty() {
            causes.required(&place, "must be set");
        }
        if !places.insert(mount.mount_path.as_str()) {
            causes.invalid(&place, "another volume is mounted there");
        }
        if device_names.contains(mount.name.as_str()) {
            causes.invalid(&name, "the volume is used as a device already");
        }
        if device_paths.contains(mount.mount_path.as_str()) {
            causes.invalid(&place, "a device is there already");
        }
        for (field, value) in [("subPath", &mount.sub_path), ("subPathExpr", &mount.sub_path_expr)] {
            validate_descent(value, &list.field(field), causes);
        }
        if !mount.sub_path.is_empty() && !mount.sub_path_expr.is_empty() {
            causes.invalid(&path.field("subPathExpr"), "cannot be set together with subPath");
        }
    }
    validate_devices(container, volumes, path, causes);
}

/// A path that does not leave its volume.
fn validate_descent(value: &str, path: &Path<'_>, causes: &mut Causes) {
    if value.starts_with('/') {
        causes.invalid(path, "must be a relative path");
    }
    if value.split('/').any(|part| part == "..") {
        causes.invalid(path, "must not contain '..'");
    }
}

fn validate_devices(container: &Container, volumes: &KnownVolumes<'_>, path: &Path<'_>, causes: &mut Causes) {
    let mounts = || container.volume_mounts.iter();
    let mounted: BTreeSet<&str> =
        mounts().map(|mount| mount.name.as_str()).filter(|name| !name.is_empty()).collect();
    let occupied: BTreeSet<&str> = mounts().map(|mount| mount.mount_path.as_str()).collect();
    let list = path.field("volumeDevices");
    let (mut names, mut places) = (BTreeSet::new(), BTreeSet::new());
    for (index, device) in container.volume_devices.iter().enumerate() {
        let path = list.index(index);
        let (name, place) = (path.field("name"), path.field("devicePath"));
        if device.name.is_empty() {
            causes.required(&name, "must be set");
        } else if !names.insert(device.name.as_str()) {
            causes.invalid(&name, "the volume is used twice");
        }
        match volumes.is_claim(&device.name) {
            None => causes.not_found(&name, &device.name),
            Some(false) => causes.invalid(&name, "only a volume from a claim can be a device"),
            Some(true) => {}
        }
        if device.device_path.is_empty() {
            causes.required(&place, "must be set");
        }
        if !places.insert(device.device_path.as_str()) {
            causes.invalid(&place, "another device is there");
        }
        if device.device_path.split('/').any(|part| part == "..") {
            causes.invalid(&place, "must not contain '..'");
        }
        if mounted.contains(device.name.as_str()) {
            causes.invalid(&name, "the volume is mounted already");
        }
        if occupied.contains(device.device_path.as_str()) {
            causes.invalid(&place, "a volume is mounted there");
        }
    }
}

/// What only a container that keeps running can have.
pub(crate) fn validate_running(
    container: &Container,
    pod: &Surrounding<'_>,
    path: &Path<'_>,
    causes: &mut Causes,
) {
    let grace = pod.grace_period_seconds;
    if let Some(lifecycle) = &container.lifecycle {
        let path = path.field("lifecycle");
        for (name, hook) in [("postStart", &lifecycle.post_start), ("preStop", &lifecycle.pre_stop)] {
            if let Some(hook) = hook {
                validate_handler(&Handler::of_hook(hook), grace, &path.field(name), causes);
            }
        }
    }
    for (name, probe) in [
        ("livenessProbe", &container.liveness_probe),
        ("readinessProbe", &container.readiness_probe),
        ("startupProbe", &container.startup_probe),
    ] {
        if let Some(probe) = probe {
            validate_probe(probe, name == "readinessProbe", &path.field(name), causes);
        }
    }
}

/// An init container that ends has none of these.
pub(crate) fn forbid_running(container: &Container, path: &Path<'_>, causes: &mut Causes) {
    for (name, set) in [
        ("lifecycle", container.lifecycle.is_some()),
        ("livenessProbe", container.liveness_probe.is_some()),
        ("readinessProbe", container.readiness_probe.is_some()),
        ("startupProbe", container.startup_probe.is_some()),
    ] {
        if set {
            causes.forbidden(&path.field(name), "needs restartPolicy Always on an init container");
        }
    }
}

/// What a probe or a hook does.
struct Handler<'a> {
    exec: Option<&'a ExecAction>,
    http_get: Option<&'a HTTPGetAction>,
    tcp_socket: Option<&'a TCPSocketAction>,
    grpc: bool,
    sleep: Option<&'a SleepAction>,
}

impl<'a> Handler<'a> {
    fn of_probe(probe: &'a Probe) -> Self {
        Self {
            exec: probe.exec.as_ref(),
            http_get: probe.http_get.as_ref(),
            tcp_socket: probe.tcp_socket.as_ref(),
            grpc: probe.grpc.is_some(),
            sleep: None,
        }
    }

    fn of_hook(hook: &'a LifecycleHandler) -> Self {
        Self {
            exec: hook.exec.as_ref(),
            http_get: hook.http_get.as_ref(),
            tcp_socket: hook.tcp_socket.as_ref(),
            grpc: false,
            sleep: hook.sleep.as_ref(),
        }
    }
}

/// Exactly one thing is done; of several, the first counts and the others are refused.
fn validate_handler(handler: &Handler<'_>, grace: Option<i64>, path: &Path<'_>, causes: &mut Causes) {
    let set = [
        ("exec", handler.exec.is_some()),
        ("httpGet", handler.http_get.is_some()),
        ("tcpSocket", handler.tcp_socket.is_some()),
        ("grpc", handler.grpc),
        ("sleep", handler.sleep.is_some()),
    ];
    let mut set = set.iter().filter(|(_, set)| *set);
    let Some((first, _)) = set.next() else {
        causes.required(path, "must say what to do");
        return;
    };
    for (other, _) in set {
        causes.forbidden(&path.field(other), "only one thing can be done");
    }
    let path = path.field(first);
    match (*first, handler) {
        ("exec", Handler { exec: Some(exec), .. }) if exec.command.is_empty() => {
            causes.required(&path.field("command"), "must be set");
        }
        ("httpGet", Handler { http_get: Some(get), .. }) => {
            if get.path.is_empty() {
                causes.required(&path.field("path"), "must be set");
            }
            validate_port(get.port.as_ref(), &path.field("port"), causes);
            one_of(&get.scheme, &["HTTP", "HTTPS"], &path.field("scheme"), causes);
        }
        ("tcpSocket", Handler { tcp_socket: Some(socket), .. }) => {
            validate_port(socket.port.as_ref(), &path.field("port"), causes);
        }
        ("sleep", Handler { sleep: Some(sleep), .. })
            if grace.is_some_and(|grace| !(0..=grace).contains(&sleep.seconds)) =>
        {
            causes.invalid(&path, "must be within the time that the pod has to stop");
        }
        _ => {}
    }
}

fn validate_port(port: Option<&IntOrString>, path: &Path<'_>, causes: &mut Causes) {
    match port {
        None => port_number(0, path, causes),
        Some(IntOrString::Int(port)) => port_number(*port, path, causes),
        Some(IntOrString::String(name)) => causes.malformed(path, name, port_name(name)),
    }
}

fn validate_probe(probe: &Probe, readiness: bool, path: &Path<'_>, causes: &mut Causes) {
    validate_handler(&Handler::of_probe(probe), None, path, causes);
    for (name, value) in [
        ("initialDelaySeconds", probe.initial_delay_seconds),
        ("timeoutSeconds", probe.timeout_seconds),
        ("periodSeconds", probe.period_seconds),
        ("successThreshold", probe.success_threshold),
        ("failureThreshold", probe.failure_threshold),
    ] {
        if value < 0 {
            causes.invalid(&path.field(name), "must not be negative");
        }
    }
    let grace = path.field("terminationGracePeriodSeconds");
    if probe.termination_grace_period_seconds.is_some_and(|seconds| seconds <= 0) {
        causes.invalid(&grace, "must be greater than zero");
    }
    if readiness {
        if probe.termination_grace_period_seconds.is_some() {
            causes.invalid(&grace, "a readiness probe stops nothing");
        }
    } else if probe.success_threshold != 1 {
        causes.invalid(&path.field("successThreshold"), "must be 1");
    }
}
