//! Where an experiment's hosts are between two namespaces: what is no network's of an address is the flow's number.

use std::net::Ipv4Addr;

/// The sender of flow 0; those of the others follow.
pub const SENDERS: u32 = 0x0aca_0001;
/// The receiver of flow 0.
pub const RECEIVERS: u32 = 0x0acb_0001;
/// Bits of an address that are its network's.
const PREFIX: u32 = 16;

/// The address of a flow's sender or receiver.
pub fn host(first: u32, flow: usize) -> Ipv4Addr {
    Ipv4Addr::from(first + flow as u32)
}

/// The network of all senders or receivers, as routes name it.
pub fn network(first: u32) -> String {
    format!("{}/{PREFIX}", Ipv4Addr::from(first & (u32::MAX << (32 - PREFIX))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_is_in_its_network() {
        assert_eq!([SENDERS, RECEIVERS].map(network), ["10.202.0.0/16", "10.203.0.0/16"]);
        for (first, most) in [(SENDERS, crate::able::MOST), (RECEIVERS, crate::able::MOST)] {
            let last = u32::from(host(first, most - 1));
            assert_eq!(network(last), network(first));
        }
        assert_eq!(host(SENDERS, 0).to_string(), "10.202.0.1");
        assert_eq!(host(RECEIVERS, 255).to_string(), "10.203.1.0");
    }
}
