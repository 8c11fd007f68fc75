//! The Rust algorithm, called as a tape says.

use super::words::{ACK, CONGESTION, INIT, NOTICE, WAKE, Words};
use cc::{Congestion, CongestionControl, Event, EventRecord, Flow, Reaction, Signal};
use units::{Bytes, Rng, streams};

/// What came of a call.
#[derive(Debug)]
pub struct Step {
    pub cwnd: u64,
    pub ssthresh: u64,
    pub credit: u64,
    pub reaction: u64,
    pub events: Vec<EventRecord>,
    /// A number was drawn.
    pub drew: bool,
}

/// A flow under replay. The dice are known here, too, so that the C can be given the numbers the Rust draws.
pub struct Replay {
    spec: params::Spec,
    cc: Option<Box<dyn CongestionControl>>,
    pub flow: Flow,
    dice: Rng,
}

impl Replay {
    pub fn new(spec: &str) -> Replay {
        let flow = Flow::new(Bytes::new(1448), Bytes::new(14480));
        Replay { spec: spec.parse().unwrap(), cc: None, flow, dice: Rng::new(1, 0, streams::CC) }
    }

    /// Makes the call and notes in it what was drawn.
    pub fn call(&mut self, words: &mut Words) -> Step {
        words.measure(&mut self.flow, self.cc.is_none());
        let mut ahead = self.dice.clone();
        // The upper half: what the kernel would draw of the same fraction.
        words.set("draw", ahead.bits() >> 32);
        let mut reaction = 0;
        if words.get("call") == INIT {
            self.cc = Some(cc::build(&self.spec, &mut self.flow, self.dice.clone()).unwrap());
        }
        let (cc, flow) = (self.cc.as_mut().expect("the first call is INIT"), &mut self.flow);
        match words.get("call") {
            ACK => cc.on_ack(flow, &words.ack()),
            WAKE => cc.on_event(flow, Event::Wake),
            NOTICE => match words.get("detail") {
                0 => cc.on_event(flow, Event::Restart),
                1 => {
                    cc.on_event(flow, Event::RecoveryEnd);
                    flow.reset_credit();
                }
                _ => cc.on_undo(flow),
            },
            CONGESTION => {
                let signal = [Signal::Loss, Signal::Ecn, Signal::Timeout][words.get("detail") as usize];
                let (lost, cwnd_before) = (Bytes::new(words.get("lost")), flow.cwnd);
                let c = Congestion { signal, during: flow.phase, lost, cwnd_before, restart: flow.mss };
                reaction = match cc.on_congestion(flow, &c) {
                    Reaction::Reduce(to) | Reaction::ResendAll(to) => to.get(),
                    Reaction::Own | Reaction::Repeat => u64::MAX,
                };
                flow.reset_credit();
            }
            _ => {}
        }
        // An algorithm shows its dice among its state. Only HD tosses within a round.
        let may = words.get("call") == ACK && (words.get("closed") == 1 || self.spec.name == "hd");
        let drew = may && format!("{cc:?}").contains(&format!("{ahead:?}"));
        if drew {
            self.dice = ahead;
        }
        let events = flow.drain_events().collect();
        let (cwnd, ssthresh, credit) = (flow.cwnd.get(), flow.ssthresh.get(), flow.credit().get());
        Step { cwnd, ssthresh, credit, reaction, events, drew }
    }
}
