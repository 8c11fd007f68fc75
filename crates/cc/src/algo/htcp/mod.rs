//! H-TCP: the longer since the last congestion, the faster the window grows; and it falls no further than the queue needs.
//!
//! ```text
//! α(Δ) = 1 + 10(Δ − 1) + ((Δ − 1)/2)²,  Δ seconds since congestion;   1 up to a second
//! RTT scaling:  α·RTT_min/100 ms, the ratio within 0.1 and 2
//! avoidance:    cwnd += 2(1 − β)·α per round
//! congestion:   cwnd = β·cwnd;   β = RTT_min/RTT_max within 0.5 and 0.8
//!               β = 0.5 where the throughput before it and before the last one differ by more than a fifth
//! ```
//! Source: Leith and Shorten, PFLDnet 2004, and draft-leith-tcp-htcp-06; Linux 6.1 (`linux`: `linux.rs`) and FreeBSD 11
//! (`freebsd`: `freebsd.rs`), each in its integers. FreeBSD's has neither the bandwidth switch nor, unless they are set,
//! RTT scaling and the adaptive β.

mod freebsd;
mod linux;

use crate::{About, Ack, Algorithm, Congestion, CongestionControl, Event, Evidence, Family, Flow, Reaction, Setup};
use params::Switch;

params::choice! {
    /// Whose rules.
    pub enum Reference {
        /// Linux 6.1.
        Linux = "linux",
        /// FreeBSD 11.
        FreeBsd = "freebsd",
    }
}

params::params! {
    /// What the kernels let one set: module parameters of Linux, sysctls of FreeBSD.
    pub struct Params {
        /// Whose rules.
        reference: Reference = Reference::Linux;
        /// Growth in proportion to the RTT, so that it is the same per second. auto: true, with freebsd false (kernels' defaults).
        rtt_scaling: Switch = Switch::Auto;
        /// linux: half of the window stays where the throughput before congestion has changed by more than a fifth.
        bandwidth_switch: bool = true;
        /// freebsd: β from RTTs and growth by 2(1 − β), which Linux always has.
        adaptive_backoff: bool = false;
    }
    check |p| {
        let freebsd = p.reference == Reference::FreeBsd;
        p.need(&Params::default(), &["bandwidth_switch"], !freebsd, "reference=linux")?;
        p.need(&Params::default(), &["adaptive_backoff"], freebsd, "reference=freebsd")
    }
}

impl Params {
    fn rtt_scaling(&self) -> bool {
        self.rtt_scaling.or(self.reference == Reference::Linux)
    }
}

/// State: a kernel's.
#[allow(missing_docs)]
#[derive(Debug)]
pub enum Htcp {
    Linux(linux::State),
    FreeBsd(freebsd::State),
}

impl Algorithm for Htcp {
    const ABOUT: About = About {
        name: "htcp",
        title: "H-TCP",
        paper: "Leith and Shorten, H-TCP: TCP for high-speed and long-distance networks, PFLDnet 2004; \
                draft-leith-tcp-htcp-06",
        family: Family::Loss,
        signal: "loss; time since the last; RTT and throughput at it",
        evidence: Evidence::Equations,
        departures: &[
            "linux: jiffies are 1 ms, so that the squared term wraps after 132 s, as it does in kernels with that tick",
            "linux: the first throughput counts from the flow's start, in the kernel from boot: next to nothing",
            "linux: RTTs between a first duplicate ACK and what comes of it count as others; the kernel takes none for RTT_max",
            "freebsd: a loss while a mark is answered leaves what that left; the kernel takes β of it once more",
        ],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        match p.reference {
            Reference::Linux => Htcp::Linux(linux::State::new(p, setup.flow)),
            Reference::FreeBsd => Htcp::FreeBsd(freebsd::State::new(p, setup.flow)),
        }
    }
}

impl CongestionControl for Htcp {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        match self {
            Htcp::Linux(state) => state.on_ack(flow, ack),
            Htcp::FreeBsd(state) => state.on_ack(flow, ack),
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        Reaction::Reduce(match self {
            Htcp::Linux(state) => state.reduce(flow, congestion.signal),
            Htcp::FreeBsd(state) => state.reduce(flow, congestion.signal),
        })
    }

    fn on_undo(&mut self, _: &mut Flow) {
        if let Htcp::Linux(state) = self {
            state.undo();
        }
    }

    fn on_event(&mut self, flow: &mut Flow, event: Event) {
        match (self, event) {
            (Htcp::Linux(state), Event::RecoveryEnd) => state.recovered(flow),
            (Htcp::Linux(state), Event::Timeout) => state.congested(flow),
            (Htcp::FreeBsd(state), Event::RecoveryEnd) => state.recovered(flow),
            _ => {}
        }
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        match self {
            Htcp::Linux(state) => state.vars(see),
            Htcp::FreeBsd(state) => state.vars(see),
        }
    }
}

#[cfg(test)]
mod tests;
