//! What the emulator answers: the resources of a small Redfish service, and what a person may do to the machine room.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::Emulator;
use super::floor::{Floor, Slot, State};
use crate::resources::{Order, ROOT};

/// Orders are short.
const BODY_BYTES_MAX: usize = 64 << 10;

type JsonResponse = (StatusCode, Value);

/// Serves without end.
pub(super) async fn serve(listener: TcpListener, emulator: Emulator) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let emulator = emulator.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let emulator = emulator.clone();
                async move { Ok::<_, Infallible>(respond(&emulator, request).await) }
            });
            // Whoever goes away in the middle has seen enough.
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn respond(emulator: &Emulator, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    let body =
        Limited::new(body, BODY_BYTES_MAX).collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let path = head.uri.path().trim_end_matches('/').to_owned();
    let (status, value) = match (&head.method, path.strip_prefix(ROOT)) {
        (&Method::GET, Some(rest)) => read(&emulator.floor.lock(), rest),
        (&Method::POST, Some(rest)) => act(emulator, rest, &body),
        _ => missing(&path),
    };
    let mut response = Response::new(Full::new(Bytes::from(value.to_string())));
    *response.status_mut() = status;
    let json = "application/json".parse().expect("a header");
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, json);
    response
}

fn missing(path: &str) -> JsonResponse {
    complaint(StatusCode::NOT_FOUND, &format!("there is nothing at {path}"))
}

fn complaint(status: StatusCode, message: &str) -> JsonResponse {
    (status, json!({ "error": { "message": message } }))
}

fn read(floor: &Floor, path: &str) -> JsonResponse {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let found = match &parts[..] {
        [] => Some(json!({ "Name": "emulated fabric", "Systems": link("/Systems"), "Chassis": link("/Chassis"), "Fabrics": link("/Fabrics") })),
        ["Systems"] => Some(collection(floor.setup.systems.iter().map(|system| json!({
            "@odata.id": at(&format!("/Systems/{}", system.id)), "Id": system.id, "HostName": system.host_name,
            "Oem": { "MaxDevices": system.max_devices },
        })))),
        ["Chassis"] => Some(collection(floor.setup.chassis.iter().map(|chassis| json!({
            "@odata.id": at(&format!("/Chassis/{}", chassis.id)), "Id": chassis.id,
            "PCIeDevices": link(&format!("/Chassis/{}/PCIeDevices", chassis.id)),
        })))),
        ["Chassis", chassis, "PCIeDevices"] => Some(collection(
            floor.devices.iter().filter(|(_, slot)| slot.chassis == *chassis).map(|(name, slot)| device(name, slot)),
        )),
        ["Chassis", _, "PCIeDevices", name] => floor.devices.get(*name).map(|slot| device(name, slot)),
        ["Fabrics"] => Some(collection(std::iter::once(json!({
            "@odata.id": at("/Fabrics/PCIe"), "Id": "PCIe", "FabricType": "PCIe", "Switches": link("/Fabrics/PCIe/Switches"),
        })))),
        ["Fabrics", "PCIe", "Switches"] => Some(collection(floor.setup.switches.iter().map(|switch| json!({
            "@odata.id": at(&format!("/Fabrics/PCIe/Switches/{}", switch.id)), "Id": switch.id,
            "Ports": link(&format!("/Fabrics/PCIe/Switches/{}/Ports", switch.id)),
        })))),
        ["Fabrics", "PCIe", "Switches", switch, "Ports"] => ports(floor, switch),
        ["TaskService", "Tasks", number] => {
            let task = number.parse().ok().and_then(|number| floor.task_of(number));
            task.map(|task| serde_json::to_value(task).expect("a task is plain JSON"))
        }
        _ => None,
    };
    found.map_or_else(|| missing(path), |value| (StatusCode::OK, value))
}

fn ports(floor: &Floor, switch: &str) -> Option<Value> {
    let switch = floor.setup.switches.iter().find(|one| one.id == switch)?;
    Some(collection(switch.ports.iter().map(|port| json!({
        "@odata.id": at(&format!("/Fabrics/PCIe/Switches/{}/Ports/{}", switch.id, port.id)), "Id": port.id,
        "Links": { "ConnectedSystem": link(&format!("/Systems/{}", port.system)) },
        "Oem": { "MaxDevices": port.max_devices },
    }))))
}

fn device(name: &str, slot: &Slot) -> Value {
    let mut links = json!({ "Switch": link(&format!("/Fabrics/PCIe/Switches/{}", slot.switch)) });
    if let State::Coming(system, port) | State::There(system, port) | State::Going(system, port) = &slot.state
        && !matches!(slot.state, State::Coming(..))
    {
        links["System"] = link(&format!("/Systems/{system}"));
        links["Port"] = link(&format!("/Fabrics/PCIe/Switches/{}/Ports/{port}", slot.switch));
    }
    json!({
        "@odata.id": at(&format!("/Chassis/{}/PCIeDevices/{name}", slot.chassis)), "Id": name,
        "Model": slot.kind.model, "SerialNumber": name,
        "Status": { "Health": if slot.is_healthy { "OK" } else { "Critical" }, "State": "Enabled" },
        "Links": links,
        "Oem": { "Attributes": slot.kind.attributes, "Capacity": slot.kind.capacity },
    })
}

fn act(emulator: &Emulator, path: &str, body: &[u8]) -> JsonResponse {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    if let ["Oem", "Actions", action] = &parts[..] {
        return meddle(emulator, action, body);
    }
    let ["Chassis", _, "PCIeDevices", device, "Actions", action] = &parts[..] else { return missing(path) };
    let Ok(order) = serde_json::from_slice::<Order>(body) else {
        return complaint(StatusCode::BAD_REQUEST, "an order names a System and, to attach, a Port");
    };
    let ordered = match *action {
        "PCIeDevice.Attach" => emulator.floor.lock().attach(device, &order.system, &order.port),
        "PCIeDevice.Detach" => emulator.floor.lock().detach(device, &order.system),
        _ => return missing(path),
    };
    match ordered {
        Err(why) => complaint(StatusCode::CONFLICT, &why),
        Ok(ordered) => match emulator.carry_out(device, ordered) {
            None => (StatusCode::OK, json!({})),
            Some(number) => {
                let task = emulator.floor.lock().task_of(number).expect("it was begun just now");
                (StatusCode::ACCEPTED, serde_json::to_value(task).expect("a task is plain JSON"))
            }
        },
    }
}

/// What a person may do to the machine room: `Plug`, `Unplug`, `Seize`, `Fail`.
fn meddle(emulator: &Emulator, action: &str, body: &[u8]) -> JsonResponse {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    match action {
        "Plug" => match emulator.plug(&text("Model")) {
            Some(device) => (StatusCode::OK, json!({ "Id": device })),
            None => complaint(StatusCode::BAD_REQUEST, "there is no such Model"),
        },
        "Unplug" => {
            emulator.unplug(&text("Id"));
            (StatusCode::OK, json!({}))
        }
        "Seize" if emulator.seize(&text("Id")) => (StatusCode::OK, json!({})),
        "Seize" => complaint(StatusCode::CONFLICT, "no free device has this Id"),
        "Fail" => {
            emulator
                .fail(u32::try_from(body["Orders"].as_u64().unwrap_or(1)).unwrap_or(1), "configured to fail");
            (StatusCode::OK, json!({}))
        }
        _ => missing(action),
    }
}

fn at(path: &str) -> String {
    format!("{ROOT}{path}")
}

fn link(path: &str) -> Value {
    json!({ "@odata.id": at(path) })
}

fn collection(members: impl Iterator<Item = Value>) -> Value {
    let members: Vec<Value> = members.collect();
    json!({ "Members@odata.count": members.len(), "Members": members })
}
