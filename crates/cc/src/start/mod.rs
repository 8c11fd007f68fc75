//! Ways out of slow start. Each can do three things: set the growth per ACK, set `ssthresh`, cut `cwnd`.

pub(crate) mod adaptive;
mod capstart;
mod cdg;
mod hldg;
mod hoe;
mod hystart;
mod hystart_pp;
mod limited;
mod paced;
pub mod quick_start;
mod vegas;

use crate::{Ack, Congestion, CongestionControl, Event, Flow, Growth, Lost, Reaction, Sent, causes, exits};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt::Debug;
use params::{Field, ParamError, Params, Spec};
use units::{Bytes, Duration, Instant, Rate, Rng, streams};

/// Headers of a segment, which a rate counts and a window does not.
const HEADERS: Bytes = Bytes::new(40);

/// A slow start, composed with an algorithm that allows it. Its methods come before the algorithm's, and only in
/// slow start.
pub trait SlowStart: Debug + Send {
    /// An ACK in slow start: set `flow.growth`, `flow.ssthresh` or `flow.cwnd`.
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack);
    /// A segment left.
    fn on_sent(&mut self, _flow: &mut Flow, _sent: &Sent) {}
    /// Does it want ACKs in congestion avoidance too, since it may begin slow start anew?
    fn watches(&self) -> bool {
        false
    }
    /// Something happened, in slow start or not.
    fn on_event(&mut self, _flow: &mut Flow, _event: Event) {}
    /// A segment was declared lost, in slow start or not.
    fn on_lost(&mut self, _flow: &mut Flow, _lost: &Lost) {}
    /// What becomes of the algorithm's answer to congestion. After [`on_reset`](Self::on_reset).
    fn answer(&mut self, _flow: &mut Flow, _congestion: &Congestion, reaction: Reaction) -> Reaction {
        reaction
    }
    /// The rate to send at until slow start is over, where the algorithm would pace by this.
    fn pace(&self, algorithm: Option<Rate>) -> Option<Rate> {
        algorithm
    }
    /// An ACK ended slow start, whoever decided it.
    fn on_end(&mut self, _flow: &mut Flow) {}
    /// Congestion ended slow start, or idleness starts it anew.
    fn on_reset(&mut self, _flow: &mut Flow) {}
    /// The last congestion was none: window and threshold are back where they were. After the algorithm's.
    fn on_undo(&mut self, _flow: &mut Flow) {}
    /// Shows inner state by name.
    fn vars(&self, _see: &mut dyn FnMut(&'static str, f64)) {}
}

/// A learnt threshold: what that bandwidth fills in that base RTT.
fn cap(flow: &mut Flow, rate: Rate, base: Duration) {
    let before = flow.windows();
    flow.ssthresh = (rate * base).max(flow.floor);
    flow.cwnd = flow.cwnd.min(flow.ssthresh);
    flow.because(cap_cause(rate, base, flow.ssthresh), before);
}

fn cap_cause(rate: Rate, base: Duration, to: Bytes) -> causes::SlowStartCap {
    causes::SlowStartCap { bandwidth: rate.as_bps() as i64, base_rtt: base.as_nanos() as i64, bdp: to.get() as i64 }
}

/// Notes the end of slow start on the ACK with which the window reaches a threshold learnt from a bandwidth, if that is still
/// the threshold: congestion sets one of its own.
fn note_arrival(flow: &mut Flow, ack: &Ack, rate: Rate, learnt: Bytes) {
    if flow.ssthresh == learnt && flow.may_grow() && flow.cwnd + ack.cumulative >= flow.ssthresh {
        flow.note(causes::SlowStartExit {
            reason: exits::BANDWIDTH,
            rtt: flow.rtt.as_nanos() as i64,
            base_rtt: flow.min_rtt.as_nanos() as i64,
            bandwidth: rate.as_bps() as i64,
            bdp: flow.ssthresh.get() as i64,
            ..Default::default()
        });
    }
}

type Build = fn(&Spec, &mut Flow, Rng) -> Result<Option<Box<dyn SlowStart>>, ParamError>;

/// One line of [`SLOW_STARTS`].
pub struct StartEntry {
    /// The name users write.
    pub name: &'static str,
    /// Where it was published.
    pub paper: &'static str,
    /// What users may set.
    pub fields: fn() -> Vec<Field>,
    paces: bool,
    check: fn(&Spec) -> Result<(), ParamError>,
    build: Build,
}

/// A slow start that can be built from parameters.
pub trait Start: SlowStart + Sized + 'static {
    /// The name users write.
    const NAME: &'static str;
    /// Where it was published.
    const PAPER: &'static str;
    /// Sets `flow.pacing`.
    const PACES: bool = false;
    /// What users may set.
    type Params: Params;
    /// Starts it on a flow, with dice of its own.
    fn new(params: &Self::Params, flow: &mut Flow, rng: Rng) -> Self;
}

impl StartEntry {
    /// The entry of a slow start.
    pub const fn of<S: Start>() -> StartEntry {
        StartEntry {
            name: S::NAME,
            paper: S::PAPER,
            fields: S::Params::fields,
            paces: S::PACES,
            check: |spec| S::Params::from_spec(spec).map(|_| ()),
            build: |spec, flow, rng| Ok(Some(Box::new(S::new(&S::Params::from_spec(spec)?, flow, rng)))),
        }
    }
}

params::params! {
    /// Standard slow start takes no parameters.
    pub struct NoParams {}
}

/// Every slow start that may be chosen with `slow_start=`. `standard` adds nothing to the algorithm.
pub static SLOW_STARTS: &[StartEntry] = &[
    StartEntry {
        name: "standard",
        paper: "RFC 5681",
        fields: NoParams::fields,
        paces: false,
        check: |spec| NoParams::from_spec(spec).map(|_| ()),
        build: |_, _, _| Ok(None),
    },
    StartEntry::of::<hystart::HyStart>(),
    StartEntry::of::<hystart_pp::HyStartPp>(),
    StartEntry::of::<limited::Limited>(),
    StartEntry::of::<vegas::VegasStart>(),
    StartEntry::of::<hoe::Hoe>(),
    StartEntry::of::<quick_start::QuickStart>(),
    StartEntry::of::<adaptive::Adaptive>(),
    StartEntry::of::<paced::Paced>(),
    StartEntry::of::<capstart::CapStart>(),
    StartEntry::of::<cdg::CdgStart>(),
    StartEntry::of::<hldg::HldgStart>(),
];

fn find(spec: &Spec) -> Result<&'static StartEntry, ParamError> {
    SLOW_STARTS.iter().find(|e| e.name == spec.name).ok_or_else(|| ParamError::NoSuch {
        kind: "slow start",
        name: spec.name.clone(),
        allowed: SLOW_STARTS.iter().map(|e| e.name).collect(),
    })
}

pub(crate) fn check(spec: &Spec) -> Result<(), ParamError> {
    (find(spec)?.check)(spec)
}

pub(crate) fn paces(spec: &Spec) -> bool {
    find(spec).is_ok_and(|entry| entry.paces)
}

/// `rng` is the algorithm's, of which the slow start gets a branch of its own: dice of both fall independently, and those
/// of the algorithm as they would with another slow start.
pub(crate) fn build(spec: &Spec, flow: &mut Flow, rng: &Rng) -> Result<Option<Box<dyn SlowStart>>, ParamError> {
    (find(spec)?.build)(spec, flow, Rng::new(rng.clone().bits(), 0, streams::SLOW_START))
}

/// An algorithm with a slow start in front of it. Forwards every method: a new one in the trait must be added here
/// (the test with a spy counts them).
#[derive(Debug)]
pub(crate) struct Composed {
    start: Box<dyn SlowStart>,
    cc: Box<dyn CongestionControl>,
}

/// Is there slow start to look for an end of? FreeBSD's goes on at the threshold, where its windows are in every repair, too.
fn is_below(flow: &Flow) -> bool {
    flow.cwnd < flow.ssthresh
}

impl Composed {
    pub(crate) fn new(start: Box<dyn SlowStart>, cc: Box<dyn CongestionControl>) -> Self {
        Composed { start, cc }
    }
}

impl CongestionControl for Composed {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        let slow_start = is_below(flow);
        if slow_start || self.start.watches() {
            self.start.on_ack(flow, ack);
        }
        self.cc.on_ack(flow, ack);
        if slow_start && is_below(flow) {
            flow.pacing = self.start.pace(flow.pacing);
        }
        if slow_start && !is_below(flow) {
            self.start.on_end(flow);
            if flow.in_slow_start() {
                flow.growth = Growth::STANDARD;
            }
        }
    }
    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        flow.growth = Growth::STANDARD;
        self.start.on_reset(flow);
        let reaction = self.cc.on_congestion(flow, congestion);
        self.start.answer(flow, congestion, reaction)
    }
    fn on_sent(&mut self, flow: &mut Flow, sent: &Sent) {
        if is_below(flow) {
            self.start.on_sent(flow, sent);
        }
        self.cc.on_sent(flow, sent);
    }
    fn on_lost(&mut self, flow: &mut Flow, lost: &Lost) {
        self.start.on_lost(flow, lost);
        self.cc.on_lost(flow, lost);
    }
    fn on_undo(&mut self, flow: &mut Flow) {
        self.cc.on_undo(flow);
        self.start.on_undo(flow);
    }
    fn on_event(&mut self, flow: &mut Flow, event: Event) {
        if event == Event::Restart {
            self.start.on_reset(flow);
        }
        self.start.on_event(flow, event);
        self.cc.on_event(flow, event);
    }
    fn wake(&self) -> Option<Instant> {
        self.cc.wake()
    }
    fn weighed(&self, flow: &Flow) -> [Bytes; 2] {
        self.cc.weighed(flow)
    }
    fn marked(&self) -> f64 {
        self.cc.marked()
    }
    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.start.vars(see);
        self.cc.vars(see);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, closing, congestion, flow};
    use crate::{Signal, find};
    use std::string::ToString;
    use std::sync::{Arc, Mutex};
    use std::vec;

    type Calls = Arc<Mutex<Vec<&'static str>>>;

    /// Notes every call it gets.
    #[derive(Debug)]
    struct Spy(Calls);

    impl Spy {
        fn note(&self, name: &'static str) {
            self.0.lock().unwrap().push(name);
        }
    }

    impl CongestionControl for Spy {
        fn on_ack(&mut self, _: &mut Flow, _: &Ack) {
            self.note("on_ack");
        }
        fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
            self.note("on_congestion");
            Reaction::Reduce(flow.cwnd / 3)
        }
        fn on_sent(&mut self, _: &mut Flow, _: &Sent) {
            self.note("on_sent");
        }
        fn on_lost(&mut self, _: &mut Flow, _: &Lost) {
            self.note("on_lost");
        }
        fn on_undo(&mut self, _: &mut Flow) {
            self.note("on_undo");
        }
        fn on_event(&mut self, _: &mut Flow, _: Event) {
            self.note("on_event");
        }
        fn wake(&self) -> Option<Instant> {
            self.note("wake");
            Some(Instant::from_millis(7))
        }
        fn weighed(&self, _: &Flow) -> [Bytes; 2] {
            self.note("weighed");
            [Bytes::new(7), Bytes::ZERO]
        }
        fn marked(&self) -> f64 {
            self.note("marked");
            0.5
        }
        fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
            self.note("vars");
            see("spy", 1.0);
        }
    }

    #[test]
    fn a_composed_algorithm_hears_every_method_of_the_trait() {
        let calls = Calls::default();
        let mut f = flow(20, 40);
        let start = build(&Spec::named("hystart"), &mut f, &Rng::new(1, 0, 0)).unwrap().unwrap();
        let mut cc = Composed::new(start, Box::new(Spy(calls.clone())));
        let lost = Lost { size: f.mss, sent_at: f.now, tx_in_flight: f.cwnd, lost: f.mss, app_limited: false };
        let c = congestion(Signal::Loss, &f);
        cc.on_sent(&mut f, &Sent { size: c.lost, in_flight: c.lost, retransmission: false });
        cc.on_ack(&mut f, &ack(1, 40));
        cc.on_lost(&mut f, &lost);
        assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(f.cwnd / 3));
        cc.on_undo(&mut f);
        cc.on_event(&mut f, Event::RecoveryEnd);
        assert_eq!(cc.wake(), Some(Instant::from_millis(7)));
        assert_eq!((cc.weighed(&f), cc.marked()), ([Bytes::new(7), Bytes::ZERO], 0.5));
        let mut names = vec![];
        cc.vars(&mut |name, _| names.push(name));
        assert_eq!(names, ["hystart_samples", "spy"]);

        let source = include_str!("../lib.rs");
        let methods: Vec<_> =
            source.lines().filter_map(|line| line.strip_prefix("    fn ")?.split('(').next()).collect();
        let mut heard = calls.lock().unwrap().clone();
        heard.sort_unstable();
        let mut expected = methods;
        expected.sort_unstable();
        assert_eq!(heard, expected, "a method of the trait that Composed does not forward");
    }

    #[test]
    fn slow_starts_slow_only_slow_start_and_forget_after_congestion() {
        let mut f = flow(200, 40);
        let mut cc = find("newreno").unwrap().build(
            &"newreno(slow_start=limited)".parse().unwrap(),
            &mut f,
            units::Rng::new(1, 0, 0),
        );
        let cc = cc.as_mut().unwrap();
        cc.on_ack(&mut f, &closing(1, 40));
        assert_eq!(f.growth.divisor, 4);
        let c = congestion(Signal::Loss, &f);
        cc.on_congestion(&mut f, &c);
        assert_eq!(f.growth, Growth::STANDARD);
    }

    #[test]
    fn a_slow_start_hears_that_congestion_was_none() {
        let mut f = flow(20, 40);
        let spec = "newreno(slow_start=hystart_pp)".parse().unwrap();
        let mut cc = find("newreno").unwrap().build(&spec, &mut f, units::Rng::new(1, 0, 0)).unwrap();
        let c = congestion(Signal::Loss, &f);
        cc.on_congestion(&mut f, &c);
        cc.on_undo(&mut f);
        for rtt in [40, 50] {
            (0..8).for_each(|n| cc.on_ack(&mut f, &if n == 0 { closing(1, rtt) } else { ack(1, rtt) }));
        }
        assert_eq!(f.growth.divisor, 4, "HyStart++ still looks for a rise");
    }

    #[test]
    fn a_slow_start_is_not_asked_at_the_threshold_where_freebsds_goes_on() {
        let mut f = flow(40, 40);
        (f.slow_start_at_ssthresh, f.ssthresh, f.phase) = (true, crate::testing::packets(40), crate::Phase::Recovery);
        let mut cc = find("newreno").unwrap().build(
            &"newreno(slow_start=hldg)".parse().unwrap(),
            &mut f,
            units::Rng::new(1, 0, 0),
        );
        let cc = cc.as_mut().unwrap();
        // Eight ACKs that acknowledge nothing make a train that came at no rate.
        for n in 0..40 {
            f.now = Instant::from_millis(100 + n);
            cc.on_ack(&mut f, &Ack { cumulative: Bytes::ZERO, ..closing(1, 40) });
        }
        assert_eq!((f.cwnd, f.has_events()), (crate::testing::packets(40), false));
        // What a slow start held back is free once it is over.
        (f.cwnd, f.phase, f.growth.divisor) = (crate::testing::packets(39), crate::Phase::Open, 1);
        let mut limited = Composed::new(
            Box::new(Freezes),
            find("newreno").unwrap().build(&"newreno".parse().unwrap(), &mut f, units::Rng::new(1, 0, 0)).unwrap(),
        );
        limited.on_ack(&mut f, &closing(1, 40));
        assert_eq!((f.cwnd, f.growth), (crate::testing::packets(40), Growth::STANDARD));
    }

    /// Slows growth down on the ACK that reaches the threshold.
    #[derive(Debug)]
    struct Freezes;

    impl SlowStart for Freezes {
        fn on_ack(&mut self, flow: &mut Flow, _: &Ack) {
            flow.growth.divisor = 0;
            flow.cwnd = flow.ssthresh;
        }
    }

    #[test]
    fn the_rate_of_a_train_stands_whatever_the_algorithm_paces_by() {
        for name in ["newreno", "prague", "fast", "tcp_ap"] {
            let mut f = flow(10, 100);
            let spec = std::format!("{name}(slow_start=paced)").parse().unwrap();
            let mut cc = find(name).unwrap().build(&spec, &mut f, units::Rng::new(1, 0, 0)).unwrap();
            // Packets of 8000 bits, one in 1 ms, then the next train: nine tenths of 8 Mbit/s.
            let mut last = None;
            for n in 0..12 {
                f.now = Instant::from_millis(500 + n);
                cc.on_ack(&mut f, &if n == 10 { closing(1, 100) } else { ack(1, 100) });
                assert!(n >= 10 || f.pacing.is_none(), "{name}: the first train leaves at once");
                last = f.pacing;
            }
            assert_eq!(last, Some(Rate::from_bps(7_200_000)), "{name}");
            f.ssthresh = f.cwnd + f.mss;
            cc.on_ack(&mut f, &ack(1, 100));
            assert!(!f.in_slow_start());
            assert_ne!(f.pacing, last, "{name}: only in slow start");
        }
    }

    #[test]
    fn unknown_slow_starts_are_refused_with_a_suggestion() {
        let error = check(&Spec::named("hystrt")).unwrap_err().to_string();
        assert!(error.contains("did you mean \"hystart\""), "{error}");
        assert!(check(&"hystart(min_rise=20ms)".parse().unwrap()).is_err(), "above max_rise");
    }
}
