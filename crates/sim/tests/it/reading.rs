//! Applications that read more slowly than data comes: flow control limits the sender, and neither queue nor window grows.

use crate::common::{dumbbell, run, watch};
use cc::CauseKind;
use experiment::{Scenario, Traffic};
use sim::Summary;
use sim::packet::Way;
use sim::probe::{Probe, Trace};
use tcp::{Flags, Stack};
use units::{Bytes, Duration, Instant, Rate};

const STACKS: [Stack; 2] = [Stack::Linux, Stack::FreeBsd11];

/// 12 Mbit/s and 40 ms, whose receiver reads `kbps` out of a buffer of so many bytes.
fn slow(stack: Stack, kbps: u64, buffer: u64, cc: &str) -> Scenario {
    let mut s = dumbbell(12.0, 40.0, 40, "fifo", &[cc], 60);
    s.flows[0].stack = stack;
    s.flows[0].read_rate = Some(Rate::from_bps(kbps * 1000));
    s.flows[0].receive_window = Bytes::new(buffer);
    s.run.measure.0 = Instant::from_millis(20_000);
    s
}

/// What the sender knows of the receiver's window.
#[derive(Default)]
struct Control {
    /// Right edge and window that it was told of last.
    edge: u64,
    window: u32,
    /// Times that the window closed, probes, times that the persist timer was set.
    closed: u32,
    probes: u32,
    persists: u32,
    /// The largest of each, in bytes.
    offered: u32,
    in_flight: f64,
    cwnd: f64,
}

impl Probe for Control {
    fn see(&mut self, _: Instant, trace: Trace<'_>) {
        match trace {
            Trace::Deliver { packet } if packet.way == Way::Back => {
                let s = &packet.segment;
                self.edge = self.edge.max(s.ack + u64::from(s.window));
                self.offered = self.offered.max(s.window);
                self.closed += u32::from(s.window == 0 && self.window > 0);
                self.window = s.window;
            }
            Trace::Send { packet } if packet.way == Way::Out && !packet.segment.flags.has(Flags::SYN) => {
                let s = &packet.segment;
                assert!(s.seq + u64::from(s.len) <= self.edge, "{s:?} lies beyond {}", self.edge);
                // The ACK that opens the connection is none.
                self.probes += u32::from(s.len == 0 && s.seq > 1);
            }
            Trace::Event(e) => self.persists += u32::from(e.cause() == Some(CauseKind::Persist)),
            Trace::FlowSample { sample, .. } => {
                self.in_flight = self.in_flight.max(sample.in_flight_bytes);
                self.cwnd = self.cwnd.max(sample.cwnd_bytes);
            }
            _ => {}
        }
    }
    fn step(&self) -> Option<Duration> {
        Some(Duration::from_millis(10))
    }
}

fn watched(s: &Scenario) -> (Summary, Control) {
    watch(s, Control::default())
}

#[test]
fn goodput_is_what_is_read_and_the_sender_stays_in_the_receivers_window() {
    // (kbit/s read, bytes of buffer: does the window close, and do probes ask)
    for stack in STACKS {
        for (kbps, buffer, closes, asks) in [
            (4000, 64 << 10, false, false),
            (1000, 64 << 10, false, false),
            (100, 64 << 10, true, false),
            (4, 64 << 10, true, true),
            (4000, 1 << 20, false, false),
        ] {
            for cc in ["newreno", "cubic", "vegas"] {
                let s = slow(stack, kbps, buffer, cc);
                let (summary, seen) = watched(&s);
                let (flow, told) = (&summary.flows[0], format!("{stack:?} {kbps} {buffer} {cc}"));
                // A segment more or less at either end.
                let near = (flow.goodput_mbps * 1e3 - kbps as f64).abs() * 40.0 / 8.0 < 1.5 * 1.448;
                assert!(near, "{told}: {}", flow.goodput_mbps);
                assert_eq!((flow.lost, flow.retransmits), (0, 0), "{told}");
                // FreeBSD's persist timer of five seconds leaves the reader time for a segment and more, so that what is less
                // than a segment stays free.
                let bsd_waits = stack == Stack::FreeBsd11 && kbps > 4;
                let seen_both = (seen.closed > 0, seen.persists > 0);
                assert_eq!(seen_both, (closes && !bsd_waits, closes), "{told}: {}", seen.closed);
                assert!(if asks { seen.probes > 0 } else { !bsd_waits || seen.probes == 0 }, "{told}: {}", seen.probes);
                assert!(u64::from(seen.offered) <= buffer && seen.in_flight <= f64::from(seen.offered), "{told}");
                // Linux: no more than twice what was out (`tcp_cwnd_validate`). FreeBSD: a step beyond the receiver's window.
                let most = if stack == Stack::Linux { 2.0 * seen.in_flight } else { f64::from(seen.offered) };
                assert!(seen.cwnd <= most + 10.0 * 1460.0, "{told}: {} over {most}", seen.cwnd);
                assert_eq!(summary.digest, run(&s).digest, "{told}");
            }
        }
    }
}

#[test]
fn a_reader_that_keeps_up_leaves_the_link_full() {
    for stack in STACKS {
        let (summary, seen) = watched(&slow(stack, 40_000, 1 << 20, "cubic"));
        assert_eq!(seen.closed, 0);
        assert!(summary.links[0].utilisation.unwrap() > 0.99, "{stack:?}: {:?}", summary.links[0].utilisation);
    }
}

#[test]
fn linux_grows_the_buffer_by_what_is_read_and_freebsd_offers_all_of_it() {
    // 20 kB are read in an RTT: 64 MiB are never asked for. (`tcp_rcv_space_adjust`)
    let offered = |stack| watched(&slow(stack, 4000, 64 << 20, "cubic")).1.offered;
    assert!((65_160..100_000).contains(&offered(Stack::Linux)), "{}", offered(Stack::Linux));
    assert_eq!(offered(Stack::FreeBsd11) >> 20, 63);
}

#[test]
fn a_transfer_is_over_when_it_is_read() {
    for stack in STACKS {
        let mut s = slow(stack, 4000, 64 << 10, "newreno");
        s.flows[0].traffic = Traffic::Bytes(Bytes::new(500_000));
        let took = run(&s).flows[0].completion_s.unwrap();
        // A second, after an opening of one and a half round trips.
        assert!((1.05..1.08).contains(&took), "{stack:?}: {took}");
        s.flows[0].traffic = Traffic::Dash { chunk: Bytes::new(100_000), cycle: Duration::from_millis(500) };
        let took = run(&s).flows[0].completion_s.unwrap();
        assert!((0.2..0.29).contains(&took), "{stack:?}: {took}");
    }
}
