//! IP addresses and networks, as objects may have them.

use std::net::IpAddr;

/// An address with the length of its network, as an interface has it: `10.0.0.7/24`, in canonical form.
pub(crate) fn interface(text: &str) -> Result<(), &'static str> {
    let (address, length) = split(text)?;
    if format!("{address}/{length}") == text { Ok(()) } else { Err("must be in canonical form") }
}

/// A network: `10.0.0.0/24`.
pub(crate) fn network(text: &str) -> Result<IpAddr, &'static str> {
    split(text).map(|(address, _)| address)
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
    use super::interface;

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
