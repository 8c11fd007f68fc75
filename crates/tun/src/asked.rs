//! What flows ask of their sockets before anything is sent.

use crate::hosts::{PORT, receiver};
use crate::{Failure, sys};
use experiment::tmix::Connection;
use experiment::{FlowSpec, Traffic};
use std::io::Result;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;

/// The window that a flow's ends may offer at most, where another than the stack's was asked for.
pub fn window(spec: &FlowSpec) -> Option<u64> {
    let usual = tcp::Config::of(spec.stack).receive_window;
    Some(spec.receive_window).filter(|&w| w != usual).map(units::Bytes::get)
}

/// The same of the client and the server of one of a flow's connections, which may have its own.
pub fn windows(spec: &FlowSpec, connection: &Connection, mss: u32) -> [Option<u64>; 2] {
    let own = connection.windows.filter(|_| matches!(&spec.traffic, Traffic::Tmix(tmix) if tmix.params.windows));
    own.map_or([window(spec); 2], |both| both.map(|w| Some(w.max(mss).into())))
}

/// A socket that a flow's connection begins at, or that its servers listen with, which hands on what it has.
pub fn socket(spec: &FlowSpec, cc: Option<&str>) -> std::result::Result<OwnedFd, Failure> {
    let failed = |what: &str, e| Failure::at(format!("flow {}: {what}", spec.name), e);
    let socket = sys::socket(true).map_err(|e| failed("a socket", e))?;
    if let Some(name) = cc {
        sys::choose_congestion_control(&socket, name)
            .map_err(|e| failed(&format!("the kernel's congestion control {name}"), e))?;
    }
    if matches!(spec.traffic, Traffic::Web { .. } | Traffic::Dash { .. } | Traffic::Tmix(_)) {
        // The end of a piece would wait for what is under way to be acknowledged (Nagle), and the next piece for it.
        sys::set(&socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1).map_err(|e| failed("TCP_NODELAY", e))?;
    }
    if spec.pacing {
        // Any limit but none switches pacing on, at the rate that TCP itself finds right.
        sys::pace(&socket, u64::MAX - 1).map_err(|e| failed("pacing", e))?;
    }
    Ok(socket)
}

/// Limits a connection's segments, if they are to be others than usual; what one end announces binds both.
pub fn limit_segments(socket: &OwnedFd, spec: &FlowSpec, mss: u64) -> Result<()> {
    if mss == tcp::Config::of(spec.stack).mss.get() {
        return Ok(());
    }
    // The option counts timestamps' 12 bytes as payload; an experiment does not.
    sys::set(socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, mss as i32 + 12)
}

/// What listens for all flows' receivers, and then for each that has a window of its own: a SYN-ACK offers what the listening
/// socket would, and what was once offered cannot be taken back.
pub fn listeners(flows: &[FlowSpec]) -> Result<Vec<OwnedFd>> {
    let streams = |spec: &FlowSpec| !matches!(spec.traffic, Traffic::Tmix(_) | Traffic::Cbr { .. });
    let own = flows.iter().enumerate().filter(|(_, spec)| streams(spec));
    let own = own.filter_map(|(f, spec)| Some((receiver(f), Some(window(spec)?))));
    let all = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, PORT);
    std::iter::once((all, None)).chain(own).map(|(at, window)| listen(at, window)).collect()
}

fn listen(at: SocketAddrV4, window: Option<u64>) -> Result<OwnedFd> {
    let socket = sys::socket(true)?;
    if let Some(most) = window {
        sys::limit_window(&socket, most)?;
    }
    // The one for all has the same port, too; who connects gets the one of the address.
    sys::set(&socket, libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)?;
    sys::bind(&socket, at)?;
    sys::listen(&socket)?;
    Ok(socket)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// One over 40 ms, with what else is said of it.
    pub fn flow(text: &str) -> FlowSpec {
        let text =
            format!("format = 1\n[path]\nrate = \"10 Mbit/s\"\nrtt = \"40 ms\"\n[[flow]]\ncc = \"newreno\"\n{text}\n");
        experiment::parse(&text, "").unwrap().cases().unwrap()[0].scenario.flows[0].clone()
    }

    #[test]
    fn connections_have_the_flows_window_where_they_have_none_of_their_own() {
        let own = Connection {
            start: units::Duration::ZERO,
            concurrent: false,
            mss: None,
            windows: None,
            first: 0,
            count: 0,
        };
        let other = Connection { windows: Some([1000, 9000]), ..own };
        let both = |text: &str| [own, other].map(|c| windows(&flow(text), &c, 1448));
        assert_eq!(both("traffic = \"tmix\""), [[None; 2], [Some(1448), Some(9000)]]);
        let limited = "receive_window = \"16 kB\"\ntraffic = ";
        assert_eq!(both(&format!("{limited}\"tmix\"")), [[Some(16_000); 2], [Some(1448), Some(9000)]]);
        assert_eq!(both(&format!("{limited}\"tmix(windows=false)\"")), [[Some(16_000); 2]; 2]);
    }

    #[test]
    fn what_comes_in_pieces_does_not_wait_for_the_acknowledgement_of_the_last() {
        let waits = |text: &str| {
            let socket = socket(&flow(text), None).unwrap();
            sys::get(&socket, libc::IPPROTO_TCP, libc::TCP_NODELAY).unwrap() == 0
        };
        assert!(waits(""));
        for traffic in ["web", "dash", "tmix"] {
            assert!(!waits(&format!("traffic = \"{traffic}\"")), "{traffic}");
        }
    }

    #[test]
    fn whoever_asks_for_it_is_paced() {
        let paced = |text: &str| {
            let socket = socket(&flow(text), None).unwrap();
            sys::get(&socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE).unwrap()
        };
        assert_eq!(paced(""), u64::MAX);
        for text in ["pacing = true", "pacing = true\ntraffic = \"tmix\""] {
            assert_eq!(paced(text), u64::MAX - 1, "{text}");
        }
    }
}
