//! Addresses and networks.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::value::{Fault, Outcome, Value};

/// An address with the length of its prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Network {
    pub(crate) address: IpAddr,
    pub(crate) bits: u8,
}

impl fmt::Display for Network {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.address, self.bits)
    }
}

fn mapped(address: &IpAddr) -> bool {
    matches!(address, IpAddr::V6(six) if six.to_ipv4_mapped().is_some())
}

/// An address; zones and mapped IPv4 addresses are refused.
pub(crate) fn parse_address(text: &str) -> Result<IpAddr, String> {
    let address: IpAddr = text.parse().map_err(|_| format!("{text:?} is not an IP address"))?;
    if mapped(&address) {
        Err(format!("IPv4-mapped IPv6 address {text:?} is not allowed"))
    } else {
        Ok(address)
    }
}

/// A network such as `10.0.0.0/8`.
pub(crate) fn parse_network(text: &str) -> Result<Network, String> {
    let bad = || format!("{text:?} is not a network");
    let (address, bits) = text.rsplit_once('/').ok_or_else(bad)?;
    let address = parse_address(address)?;
    let leading = bits.len() > 1 && !(b'1'..=b'9').contains(&bits.as_bytes()[0]);
    let most = if address.is_ipv4() { 32 } else { 128 };
    match bits.parse::<u8>() {
        Ok(bits) if !leading && bits <= most => Ok(Network { address, bits }),
        _ => Err(bad()),
    }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(four) => four.octets().to_vec(),
        IpAddr::V6(six) => six.octets().to_vec(),
    }
}

/// The address with everything behind the prefix cleared.
fn masked(network: Network) -> IpAddr {
    match network.address {
        IpAddr::V4(four) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(network.bits)).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(four.to_bits() & mask))
        }
        IpAddr::V6(six) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(network.bits)).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(six.to_bits() & mask))
        }
    }
}

fn contains(network: Network, address: IpAddr) -> bool {
    network.address.is_ipv4() == address.is_ipv4()
        && masked(network) == masked(Network { address, bits: network.bits })
}

fn address_of<'a>(value: &Value<'a>) -> Result<IpAddr, Fault<'a>> {
    match value {
        Value::Ip(address) => Ok(*address),
        Value::String(text) => parse_address(text).map_err(Fault::invalid),
        _ => Err(Fault::no_such_overload()),
    }
}

fn network_of<'a>(value: &Value<'a>) -> Result<Network, Fault<'a>> {
    match value {
        Value::Cidr(network) => Ok(*network),
        Value::String(text) => parse_network(text).map_err(Fault::invalid),
        _ => Err(Fault::no_such_overload()),
    }
}

/// The functions on addresses.
pub(crate) fn address_function<'a>(overload: &str, args: &[Value<'a>]) -> Outcome<'a> {
    let Value::Ip(address) = args[0] else { return Err(Fault::no_such_overload()) };
    let bytes = octets(address);
    Ok(match overload {
        "ip_family" => Value::Int(if address.is_ipv4() { 4 } else { 6 }),
        "ip_is_unspecified" => Value::Bool(address.is_unspecified()),
        "ip_is_loopback" => Value::Bool(address.is_loopback()),
        "ip_is_link_local_multicast" => Value::Bool(is_link_local_multicast(&bytes)),
        "ip_is_link_local_unicast" => Value::Bool(is_link_local_unicast(&bytes)),
        "ip_is_global_unicast" => Value::Bool(is_global_unicast(address, &bytes)),
        _ => Value::text(address.to_string()),
    })
}

fn is_link_local_multicast(bytes: &[u8]) -> bool {
    match bytes {
        [224, 0, 0, _] => true,
        [0xff, second, ..] if bytes.len() == 16 => second & 0x0f == 0x02,
        _ => false,
    }
}

fn is_link_local_unicast(bytes: &[u8]) -> bool {
    match bytes {
        [169, 254, _, _] => true,
        [0xfe, second, ..] if bytes.len() == 16 => second & 0xc0 == 0x80,
        _ => false,
    }
}

fn is_global_unicast(address: IpAddr, bytes: &[u8]) -> bool {
    let broadcast = address == IpAddr::V4(Ipv4Addr::BROADCAST);
    !broadcast
        && !address.is_unspecified()
        && !address.is_loopback()
        && !address.is_multicast()
        && !is_link_local_unicast(bytes)
}

/// The functions on networks.
pub(crate) fn network_function<'a>(overload: &str, args: &[Value<'a>]) -> Outcome<'a> {
    let Value::Cidr(network) = args[0] else { return Err(Fault::no_such_overload()) };
    Ok(match overload {
        "cidr_contains_ip_string" | "cidr_contains_ip_ip" => {
            // A text that is no address is an argument of the wrong type, unlike one that is no network.
            let address = address_of(&args[1]).map_err(|_| Fault::no_such_overload())?;
            Value::Bool(contains(network, address))
        }
        "cidr_contains_cidr_string" | "cidr_contains_cidr" => {
            let other = network_of(&args[1])?;
            Value::Bool(network.bits <= other.bits && contains(network, other.address))
        }
        "cidr_ip" => Value::Ip(network.address),
        "cidr_prefix_length" => Value::Int(i64::from(network.bits)),
        "cidr_masked" => Value::Cidr(Network { address: masked(network), bits: network.bits }),
        _ => Value::text(network.to_string()),
    })
}

/// The functions that parse texts.
pub(crate) fn parsing_function<'a>(overload: &str, args: &[Value<'a>]) -> Outcome<'a> {
    let Value::String(text) = &args[0] else { return Err(Fault::no_such_overload()) };
    Ok(match overload {
        "string_to_ip" => Value::Ip(parse_address(text).map_err(Fault::invalid)?),
        "is_ip" => Value::Bool(parse_address(text).is_ok()),
        "ip_is_canonical" => {
            let address = parse_address(text).map_err(Fault::invalid)?;
            Value::Bool(address.to_string() == **text)
        }
        "string_to_cidr" => Value::Cidr(parse_network(text).map_err(Fault::invalid)?),
        _ => Value::Bool(parse_network(text).is_ok()),
    })
}
