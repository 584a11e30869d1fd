//! Features that the agent of a pod's node must have declared, as what the pod says tells.

use std::sync::Arc;

use objects::core::container::Container;
use objects::core::pod::PodSpec;

/// The features, in the order of their names.
pub(crate) fn required_features(spec: &PodSpec) -> Vec<Arc<str>> {
    let any = |holds: fn(&Container) -> bool| spec.containers.iter().chain(&spec.init_containers).any(holds);
    let own_users = spec.host_users == Some(false);
    let features = [
        ("RestartAllContainersOnContainerExits", any(restarts_all)),
        ("UserNamespacesHostNetworkSupport", spec.host_network && own_users),
        ("VolumeBindMountOptions", any(has_bind_options)),
    ];
    features.into_iter().filter(|(_, needed)| *needed).map(|(name, _)| name.into()).collect()
}

fn restarts_all(container: &Container) -> bool {
    container.restart_policy_rules.iter().any(|rule| rule.action == "RestartAllContainers")
}

fn has_bind_options(container: &Container) -> bool {
    let mut options = container.volume_mounts.iter().filter_map(|mount| mount.rest.get("bindMountOptions"));
    options.any(|options| !matches!(options.text(), "null" | "[]"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_pod_says_tells_which_features_it_needs() {
        let spec = json!({
            "hostNetwork": true,
            "hostUsers": false,
            "containers": [
                { "restartPolicyRules": [{ "action": "RestartAllContainers" }] },
                { "volumeMounts": [{ "name": "v", "bindMountOptions": ["noexec"] }] },
            ],
        });
        let expected = [
            "RestartAllContainersOnContainerExits",
            "UserNamespacesHostNetworkSupport",
            "VolumeBindMountOptions",
        ];
        let features = required_features(&serde_json::from_value(spec).expect("a spec"));
        assert_eq!(features.iter().map(|name| &**name).collect::<Vec<_>>(), expected);
        let plain = json!({ "hostUsers": false, "containers": [{ "volumeMounts": [{ "name": "v" }] }] });
        assert!(required_features(&serde_json::from_value(plain).expect("a spec")).is_empty());
    }
}
