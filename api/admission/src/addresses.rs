//! IP addresses and networks, as objects may have them.

use std::net::IpAddr;

/// An address with the length of its network, as an interface has it: `10.0.0.7/24`, in canonical form.
pub(crate) fn interface(text: &str) -> Result<(), &'static str> {
    let (address, length) = split(text)?;
    if format!("{address}/{length}") == text { Ok(()) } else { Err("must be in canonical form") }
}

/// An address: `10.0.0.7`.
pub(crate) fn address(text: &str) -> Result<IpAddr, &'static str> {
    text.parse().map_err(|_| "must be an IP address")
}

/// A network: `10.0.0.0/24`.
pub(crate) fn network(text: &str) -> Result<IpAddr, &'static str> {
    let (address, length) = split(text)?;
    let host_bits = match address {
        IpAddr::V4(address) => address.to_bits().checked_shl(u32::from(length)).unwrap_or(0) != 0,
        IpAddr::V6(address) if address.to_ipv4_mapped().is_some() => {
            return Err("must not be an IPv4 address written as IPv6");
        }
        IpAddr::V6(address) => address.to_bits().checked_shl(u32::from(length)).unwrap_or(0) != 0,
    };
    if host_bits { Err("must not have bits set beyond its length") } else { Ok(address) }
}

fn split(text: &str) -> Result<(IpAddr, u8), &'static str> {
    let (address, length) =
        text.split_once('/').ok_or("must be an address and a length, as in 10.0.0.7/24")?;
    let address: IpAddr = address.parse().map_err(|_| "must begin with an IP address")?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let digits = !length.is_empty()
        && length.bytes().all(|b| b.is_ascii_digit())
        && (length.len() == 1 || !length.starts_with('0'));
    let length: u8 =
        length.parse().ok().filter(|length| digits && *length <= most).ok_or("the length is out of range")?;
    Ok((address, length))
}

#[cfg(test)]
mod tests {
    use super::{interface, network};

    #[test]
    fn a_network_has_no_host_bits() {
        for good in ["10.0.0.0/24", "0.0.0.0/0", "10.0.0.7/32", "2001:DB8::/64", "::/0"] {
            assert!(network(good).is_ok(), "{good}");
        }
        for bad in ["10.0.0.1/24", "10.0.0.0", "10.0.0.0/024", "::ffff:10.0.0.0/112", "2001:db8::1/64", ""] {
            assert!(network(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_interface_address_is_canonical() {
        for good in ["10.0.0.7/24", "2001:db8::1/64", "::1/128"] {
            assert!(interface(good).is_ok(), "{good}");
        }
        for bad in
            ["10.0.0.7", "010.0.0.7/24", "10.0.0.7/33", "10.0.0.7/024", "2001:DB8::1/64", "x/1", "10.0.0.7/"]
        {
            assert!(interface(bad).is_err(), "{bad}");
        }
    }
}
