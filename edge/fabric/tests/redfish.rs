//! The client and the emulator: what is ordered over HTTP is done, once, and refused with a reason.

use std::time::Duration;

use controllers::fabric::inventory::Place;
use fabric::{Address, Emulator, Fabric, Redfish, Setup, Trouble};
use model::timestamp::Timestamp;

const ROOM: &str = "
latencyMillis: 50
systems:
  - {id: host-1, hostName: node-1, maxDevices: 3}
  - {id: host-2, hostName: node-2}
switches:
  - id: sw-1
    ports:
      - {id: p-1, system: host-1, maxDevices: 2}
      - {id: p-2, system: host-2}
chassis:
  - id: box
    switch: sw-1
    devices:
      - {model: A100, count: 4, attributes: {vendor: acme}, capacity: {memory: 80Gi}}
      - {model: FPGA, count: 1}
";

async fn room() -> (Emulator, Redfish) {
    let emulator = Emulator::new(Setup::parse(ROOM).expect("a good room"));
    let (address, serving) =
        emulator.listen("127.0.0.1:0".parse().expect("an address")).await.expect("a free port");
    tokio::spawn(serving);
    let address = Address::parse(&format!("http://{address}"), None, None).expect("an address");
    (emulator, Redfish::at(address))
}

fn place(host: u32) -> Place {
    Place { host: format!("host-{host}"), port: format!("p-{host}") }
}

#[tokio::test]
async fn the_inventory_is_that_of_the_room() {
    let (_emulator, fabric) = room().await;
    let seen = fabric.inventory(Timestamp::from_micros(7)).await.expect("it answers");
    assert_eq!((seen.units.len(), seen.hosts.len(), seen.as_of.micros()), (5, 2, 7));
    let unit = &seen.units["box-A100-1"];
    assert_eq!((unit.model.as_str(), unit.switch.as_deref(), &unit.attached), ("A100", Some("sw-1"), &None));
    assert!(unit.is_healthy && unit.attributes["vendor"] == "acme" && unit.capacity["memory"] == "80Gi");
    let host = &seen.hosts["host-1"];
    assert_eq!((host.name.as_str(), host.units_max, host.ports[0].units_max), ("node-1", Some(3), Some(2)));
}

#[tokio::test]
async fn a_device_is_attached_once_and_detached_once() {
    let (emulator, fabric) = room().await;
    let there = place(1);
    let (first, second) =
        tokio::join!(fabric.attach("box-A100-1", &there), fabric.attach("box-A100-1", &there));
    assert!(first.is_ok() && second.is_ok(), "asking twice is as good as once: {first:?}, {second:?}");
    assert!(fabric.attach("box-A100-1", &place(1)).await.is_ok());
    assert_eq!((emulator.attachments(), emulator.attached().len()), (1, 1));
    let seen = fabric.inventory(Timestamp::default()).await.expect("it answers");
    assert_eq!(seen.units["box-A100-1"].attached, Some(place(1)));
    for _ in 0..2 {
        fabric.detach("box-A100-1", "host-1").await.expect("it can be detached");
    }
    assert!(emulator.attached().is_empty());
}

#[tokio::test]
async fn orders_that_cannot_be_met_are_refused_with_a_reason() {
    let (emulator, fabric) = room().await;
    let refused = async |unit: &str, place: Place| match fabric.attach(unit, &place).await {
        Err(Trouble::Refused(why)) => why,
        other => panic!("{other:?}"),
    };
    fabric.attach("box-A100-1", &place(1)).await.expect("it is free");
    assert_eq!(refused("box-A100-1", place(2)).await, "device box-A100-1 belongs to host-1");
    assert!(emulator.seize("box-A100-2") && !emulator.seize("box-A100-1"));
    assert_eq!(refused("box-A100-2", place(2)).await, "device box-A100-2 belongs to another-cluster");
    fabric.attach("box-A100-3", &place(1)).await.expect("there is room for two");
    assert_eq!(refused("box-A100-4", place(1)).await, "port p-1 has as many devices as it can have");
    assert_eq!(refused("nothing", place(1)).await, "there is no device nothing");
}

#[tokio::test]
async fn a_task_that_fails_says_why_and_the_device_stays_free() {
    let (emulator, fabric) = room().await;
    emulator.fail(1, "the link does not come up");
    let failed = fabric.attach("box-FPGA-1", &place(2)).await.expect_err("configured to fail");
    assert_eq!(failed.to_string(), "the fabric manager failed: the link does not come up");
    assert!(failed.is_final(), "it does not come later");
    fabric.attach("box-FPGA-1", &place(2)).await.expect("once only");
}

#[tokio::test]
async fn nobody_at_home_is_said_with_a_hint() {
    let address = Address::parse("http://127.0.0.1:1", None, None).expect("an address");
    let fabric = Redfish::at(address);
    let trouble = tokio::time::timeout(Duration::from_secs(20), fabric.inventory(Timestamp::default())).await;
    let trouble = trouble.expect("it ends").expect_err("nobody listens there");
    assert!(!trouble.is_final(), "nobody knows what came of it");
    let trouble = trouble.to_string();
    assert!(trouble.starts_with("cannot reach the fabric manager at http://127.0.0.1:1/"), "{trouble}");
    assert!(
        Address::parse("ftp://x", None, None).is_err() && Address::parse("https://x", None, None).is_err()
    );
}

#[test]
fn a_room_that_names_what_is_not_there_is_refused() {
    let wrong = ROOM.replace("system: host-2", "system: host-9");
    let error = Setup::parse(&wrong).expect_err("there is no host-9").to_string();
    assert_eq!(
        error,
        "cannot read the inventory of the fabric: port p-2 is connected to host-9, which is not a system"
    );
}
