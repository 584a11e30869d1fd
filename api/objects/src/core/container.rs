//! Containers: what matters to placement of what runs in a pod.

use std::collections::BTreeMap;

use crate::core::kinds::PersistentVolumeClaimSpec;
use crate::core::pod::LocalObjectReference;
use crate::meta::ObjectMeta;
use crate::value::{IntOrString, Quantity};
use crate::wire::Raw;
use crate::wire::wire;

wire! {
    /// A container; fields that do not matter here are kept as they are.
    pub struct Container {
        name: String = "name",
        env: Vec<EnvVar> = "env",
        env_from: Vec<EnvFromSource> = "envFrom",
        image: String = "image",
        image_pull_policy: String = "imagePullPolicy",
        lifecycle: Option<Lifecycle> = "lifecycle",
        liveness_probe: Option<Probe> = "livenessProbe",
        ports: Vec<ContainerPort> = "ports",
        readiness_probe: Option<Probe> = "readinessProbe",
        resize_policy: Vec<ContainerResizePolicy> = "resizePolicy",
        resources: ResourceRequirements = "resources",
        restart_policy: Option<String> = "restartPolicy",
        restart_policy_rules: Vec<ContainerRestartRule> = "restartPolicyRules",
        startup_probe: Option<Probe> = "startupProbe",
        termination_message_path: String = "terminationMessagePath",
        termination_message_policy: String = "terminationMessagePolicy",
        volume_devices: Vec<VolumeDevice> = "volumeDevices",
        volume_mounts: Vec<VolumeMount> = "volumeMounts",
    }
}

wire! {
    /// A port that a container listens on.
    pub struct ContainerPort {
        container_port: i32 = "containerPort",
        host_ip: String = "hostIP",
        host_port: i32 = "hostPort",
        name: String = "name",
        protocol: String = "protocol",
    }
}

wire! {
    /// What a container or pod needs and may use at most.
    pub struct ResourceRequirements {
        claims: Vec<ContainerClaim> = "claims",
        limits: BTreeMap<String, Quantity> = "limits",
        requests: BTreeMap<String, Quantity> = "requests",
    }
}

wire! {
    /// A claim, or one request of it, that a container uses.
    pub struct ContainerClaim {
        name: String = "name",
        request: String = "request",
    }
}

wire! {
    /// A variable of a container's environment.
    pub struct EnvVar {
        name: String = "name",
        value: String = "value",
        value_from: Option<EnvVarSource> = "valueFrom",
    }
}

wire! {
    /// Where a variable's value comes from.
    pub struct EnvVarSource {
        config_map_key_ref: Option<KeySelector> = "configMapKeyRef",
        field_ref: Option<ObjectFieldSelector> = "fieldRef",
        file_key_ref: Option<FileKeySelector> = "fileKeyRef",
        resource_field_ref: Option<ResourceFieldSelector> = "resourceFieldRef",
        secret_key_ref: Option<KeySelector> = "secretKeyRef",
    }
}

wire! {
    /// A value of a config map or a secret.
    pub struct KeySelector {
        key: String = "key",
        name: String = "name",
    }
}

wire! {
    /// A field of the pod.
    pub struct ObjectFieldSelector {
        api_version: String = "apiVersion",
        field_path: String = "fieldPath",
    }
}

wire! {
    /// A value from a file in a volume.
    pub struct FileKeySelector {
        key: String = "key",
        path: String = "path",
        volume_name: String = "volumeName",
    }
}

wire! {
    /// A request or limit of a container.
    pub struct ResourceFieldSelector {
        container_name: String = "containerName",
        divisor: Option<Quantity> = "divisor",
        resource: String = "resource",
    }
}

wire! {
    /// Variables that come together.
    pub struct EnvFromSource {
        config_map_ref: Option<LocalObjectReference> = "configMapRef",
        prefix: String = "prefix",
        secret_ref: Option<LocalObjectReference> = "secretRef",
    }
}

wire! {
    /// A volume where a container sees it.
    pub struct VolumeMount {
        mount_path: String = "mountPath",
        name: String = "name",
        sub_path: String = "subPath",
        sub_path_expr: String = "subPathExpr",
    }
}

wire! {
    /// A volume that a container uses as a device.
    pub struct VolumeDevice {
        device_path: String = "devicePath",
        name: String = "name",
    }
}

wire! {
    /// A repeated check of a container.
    pub struct Probe {
        exec: Option<ExecAction> = "exec",
        failure_threshold: i32 = "failureThreshold",
        grpc: Option<Raw> = "grpc",
        http_get: Option<HTTPGetAction> = "httpGet",
        initial_delay_seconds: i32 = "initialDelaySeconds",
        period_seconds: i32 = "periodSeconds",
        success_threshold: i32 = "successThreshold",
        tcp_socket: Option<TCPSocketAction> = "tcpSocket",
        termination_grace_period_seconds: Option<i64> = "terminationGracePeriodSeconds",
        timeout_seconds: i32 = "timeoutSeconds",
    }
}

wire! {
    /// What happens at the start and the end of a container.
    pub struct Lifecycle {
        post_start: Option<LifecycleHandler> = "postStart",
        pre_stop: Option<LifecycleHandler> = "preStop",
        stop_signal: Option<String> = "stopSignal",
    }
}

wire! {
    /// What is done at one of these moments.
    pub struct LifecycleHandler {
        exec: Option<ExecAction> = "exec",
        http_get: Option<HTTPGetAction> = "httpGet",
        sleep: Option<SleepAction> = "sleep",
        tcp_socket: Option<TCPSocketAction> = "tcpSocket",
    }
}

wire! {
    /// A command that runs in the container.
    pub struct ExecAction {
        command: Vec<String> = "command",
    }
}

wire! {
    /// A request to the container.
    pub struct HTTPGetAction {
        path: String = "path",
        port: Option<IntOrString> = "port",
        scheme: String = "scheme",
    }
}

wire! {
    /// A connection to the container.
    pub struct TCPSocketAction {
        port: Option<IntOrString> = "port",
    }
}

wire! {
    /// A pause.
    pub struct SleepAction {
        seconds: i64 = "seconds",
    }
}

wire! {
    /// What a change of a resource means for the container.
    pub struct ContainerResizePolicy {
        resource_name: String = "resourceName",
        restart_policy: String = "restartPolicy",
    }
}

wire! {
    /// What an exit code means for the container.
    pub struct ContainerRestartRule {
        action: String = "action",
        exit_codes: Option<ContainerRestartRuleOnExitCodes> = "exitCodes",
    }
}

wire! {
    /// A set of exit codes.
    pub struct ContainerRestartRuleOnExitCodes {
        operator: String = "operator",
        values: Vec<i32> = "values",
    }
}

wire! {
    /// A volume; only sources that matter to placement are looked into, the others are in `rest`.
    pub struct Volume {
        name: String = "name",
        aws_elastic_block_store: Option<AWSElasticBlockStoreVolumeSource> = "awsElasticBlockStore",
        azure_disk: Option<AzureDiskVolumeSource> = "azureDisk",
        cinder: Option<CinderVolumeSource> = "cinder",
        empty_dir: Option<EmptyDirVolumeSource> = "emptyDir",
        ephemeral: Option<EphemeralVolumeSource> = "ephemeral",
        gce_persistent_disk: Option<GCEPersistentDiskVolumeSource> = "gcePersistentDisk",
        image: Option<ImageVolumeSource> = "image",
        iscsi: Option<ISCSIVolumeSource> = "iscsi",
        persistent_volume_claim: Option<PersistentVolumeClaimVolumeSource> = "persistentVolumeClaim",
        portworx_volume: Option<PortworxVolumeSource> = "portworxVolume",
        rbd: Option<RBDVolumeSource> = "rbd",
    }
}

wire! {
    /// A block store of Amazon's cloud.
    pub struct AWSElasticBlockStoreVolumeSource {
        volume_id: String = "volumeID",
    }
}

wire! {
    /// A disk of Microsoft's cloud.
    pub struct AzureDiskVolumeSource {
        disk_uri: String = "diskURI",
    }
}

wire! {
    /// A disk of OpenStack.
    pub struct CinderVolumeSource {
        volume_id: String = "volumeID",
    }
}

wire! {
    /// A volume with a claim that is made for the pod.
    pub struct EphemeralVolumeSource {
        volume_claim_template: Option<PersistentVolumeClaimTemplate> = "volumeClaimTemplate",
    }
}

wire! {
    /// What such a claim is made from.
    pub struct PersistentVolumeClaimTemplate {
        metadata: ObjectMeta = "metadata",
        spec: PersistentVolumeClaimSpec = "spec",
    }
}

wire! {
    /// A disk of Google's cloud.
    pub struct GCEPersistentDiskVolumeSource {
        pd_name: String = "pdName",
        read_only: bool = "readOnly",
    }
}

wire! {
    /// A disk that is reached over the network.
    pub struct ISCSIVolumeSource {
        iqn: String = "iqn",
        read_only: bool = "readOnly",
    }
}

wire! {
    /// A volume of Portworx.
    pub struct PortworxVolumeSource {
        volume_id: String = "volumeID",
    }
}

wire! {
    /// A block device of a Ceph cluster.
    pub struct RBDVolumeSource {
        image: String = "image",
        monitors: Vec<String> = "monitors",
        pool: String = "pool",
        read_only: bool = "readOnly",
    }
}

wire! {
    /// A volume that lives as long as the pod.
    pub struct EmptyDirVolumeSource {
        medium: String = "medium",
        size_limit: Option<Quantity> = "sizeLimit",
    }
}

wire! {
    /// A volume with the contents of an image.
    pub struct ImageVolumeSource {
        pull_policy: String = "pullPolicy",
        reference: String = "reference",
    }
}

wire! {
    /// A volume that an existing claim provides.
    pub struct PersistentVolumeClaimVolumeSource {
        claim_name: String = "claimName",
        read_only: bool = "readOnly",
    }
}
