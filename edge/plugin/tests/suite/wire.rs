//! Names and numbers on the wire are those that drivers of Kubernetes use.

use std::collections::BTreeMap;

use plugin::{DraVersion, HealthVersion, dra, health, registration};
use prost::Message;

#[test]
fn services_are_named_as_drivers_call_them() {
    use dra::{v1, v1beta1};
    assert_eq!(v1::dra_plugin_server::SERVICE_NAME, "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin");
    assert_eq!(v1beta1::dra_plugin_server::SERVICE_NAME, "k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin");
    use health::{v1 as health_v1, v1alpha1};
    assert_eq!(health_v1::dra_resource_health_server::SERVICE_NAME, "v1.DRAResourceHealth");
    assert_eq!(v1alpha1::dra_resource_health_server::SERVICE_NAME, "v1alpha1.DRAResourceHealth");
    assert_eq!(registration::registration_server::SERVICE_NAME, "pluginregistration.Registration");
}

#[test]
fn versions_are_known_by_the_words_of_a_registration() {
    for version in DraVersion::ALL {
        assert_eq!(DraVersion::named(version.name()), Some(version));
    }
    for version in HealthVersion::ALL {
        assert_eq!(HealthVersion::named(version.name()), Some(version));
    }
    assert_eq!(DraVersion::named("v1alpha4.DRAPlugin"), None);
    assert_eq!(HealthVersion::named("v1.DRAPlugin"), None);
}

/// One field: its number, that it has a length, and what is in it.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).expect("short");
    [&[number << 3 | 2, length], content].concat()
}

#[test]
fn fields_have_the_numbers_that_drivers_write() {
    let claim = dra::v1::Claim { namespace: "n".into(), uid: "u".into(), name: "c".into() };
    assert_eq!(claim.encode_to_vec(), [field(1, b"n"), field(2, b"u"), field(3, b"c")].concat());

    let device = dra::v1::Device {
        request_names: vec!["r".into()],
        pool_name: "p".into(),
        device_name: "d".into(),
        cdi_device_ids: vec!["x".into(), "y".into()],
        share_id: Some("s".into()),
    };
    let bytes =
        [field(1, b"r"), field(2, b"p"), field(3, b"d"), field(4, b"x"), field(4, b"y"), field(5, b"s")]
            .concat();
    assert_eq!(device.encode_to_vec(), bytes);
    let older = dra::v1beta1::Device::decode(bytes.as_slice()).expect("a field more does not matter");
    assert_eq!(older.cdi_device_ids, ["x", "y"]);

    let ready = dra::v1::NodePrepareResourceResponse { devices: vec![device], error: "e".into() };
    let expected = [field(1, &bytes), field(2, b"e")].concat();
    assert_eq!(ready.encode_to_vec(), expected);
    let all = dra::v1::NodePrepareResourcesResponse { claims: BTreeMap::from([("u".into(), ready)]) };
    let entry = [field(1, b"u"), field(2, &expected)].concat();
    assert_eq!(all.encode_to_vec(), field(1, &entry));

    let plugin = registration::PluginInfo {
        r#type: "t".into(),
        name: "n".into(),
        endpoint: "e".into(),
        supported_versions: vec!["v".into()],
    };
    let expected = [field(1, b"t"), field(2, b"n"), field(3, b"e"), field(4, b"v")].concat();
    assert_eq!(plugin.encode_to_vec(), expected);
    let refused = registration::RegistrationStatus { plugin_registered: true, error: "e".into() };
    assert_eq!(refused.encode_to_vec(), [vec![1 << 3, 1], field(2, b"e")].concat());

    let device = health::v1::DeviceIdentifier { pool_name: "p".into(), device_name: "d".into() };
    let unwell = health::v1::DeviceHealth {
        device: Some(device),
        health: health::v1::HealthStatus::Unhealthy.into(),
        last_updated_time: 7,
        health_check_timeout_seconds: 9,
        message: "m".into(),
    };
    let identifier = [field(1, b"p"), field(2, b"d")].concat();
    let expected = [field(1, &identifier), vec![2 << 3, 2, 3 << 3, 7, 4 << 3, 9], field(5, b"m")].concat();
    assert_eq!(unwell.encode_to_vec(), expected);
}
