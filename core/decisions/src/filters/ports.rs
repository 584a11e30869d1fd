//! Ports of the node that a pod takes and that must be free.

use cluster::nodes::NodeState;
use model::pod::{HostPort, Shape};

use crate::values::node_refusal::NodeRefusal;

/// All addresses of the node.
const ALL: &str = "0.0.0.0";

pub(crate) fn check(shape: &Shape, state: &NodeState) -> Result<(), NodeRefusal> {
    if state.ports.is_empty() {
        return Ok(());
    }
    match shape.ports.iter().find(|port| state.ports.keys().any(|taken| collide(port, taken))) {
        Some(port) => Err(NodeRefusal::Port(port.clone())),
        None => Ok(()),
    }
}

fn collide(left: &HostPort, right: &HostPort) -> bool {
    let met = left.address == right.address || &*left.address == ALL || &*right.address == ALL;
    met && left.port == right.port && left.protocol == right.protocol
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{node, nodes, pod, shape, state};

    fn port(text: &str) -> HostPort {
        let [protocol, address, port] = text.split('/').collect::<Vec<_>>()[..] else {
            panic!("three parts")
        };
        let port = port.parse().expect("a number");
        HostPort { address: address.into(), protocol: protocol.into(), port }
    }

    #[test]
    fn the_same_port_is_taken_once_for_each_address_and_protocol() {
        let table = [
            ("TCP/127.0.0.1/80", "TCP/127.0.0.1/80", false),
            ("TCP/127.0.0.1/80", "TCP/127.0.0.1/81", true),
            ("TCP/127.0.0.1/80", "UDP/127.0.0.1/80", true),
            ("TCP/127.0.0.1/80", "TCP/127.0.0.2/80", true),
            ("TCP/127.0.0.1/80", "TCP/0.0.0.0/80", false),
            ("TCP/0.0.0.0/80", "TCP/127.0.0.1/80", false),
        ];
        for (taken, wanted, free) in table {
            let mut other = shape("");
            other.ports.push(port(taken));
            let nodes = nodes([node("a", "")], [pod("p", "a", other)]);
            let mut shape = shape("");
            shape.ports.push(port(wanted));
            let expected = if free { Ok(()) } else { Err(NodeRefusal::Port(port(wanted))) };
            assert_eq!(check(&shape, state(&nodes, "a")), expected, "{taken} {wanted}");
        }
    }
}
