//! What an algorithm was told and what it answered, call by call; and playing it to an algorithm again.
//!
//! A tape made in the simulator can be replayed into another build of the same algorithm (the C of `bpf/`, a new
//! version): with equal inputs and equal dice every window must be equal.

use crate::record::{Column, Table};
use cc::{Ack, Congestion, CongestionControl, Event, Flow, Lost, Reaction, Sent};
use std::sync::{Arc, Mutex};
use units::{Bytes, Duration, Instant, Rate};

/// One call of the host.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Call {
    Ack(Box<Ack>),
    Congestion(Congestion),
    Sent(Sent),
    Lost(Lost),
    Undo,
    Event(Event),
}

/// Window, threshold and pacing after a call, and the reaction it gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Answer {
    pub cwnd: Bytes,
    pub ssthresh: Bytes,
    pub pacing: Option<Rate>,
    pub reaction: Option<Reaction>,
}

impl Answer {
    fn of(flow: &Flow, reaction: Option<Reaction>) -> Self {
        Answer { cwnd: flow.cwnd, ssthresh: flow.ssthresh, pacing: flow.pacing, reaction }
    }
}

/// A call with the flow as it stood before, and the answer.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The flow's number.
    pub flow: u32,
    /// What the one-way delays that it is told have beyond the delay.
    pub one_way_offset: Duration,
    /// The flow as the host filled it in.
    pub before: Flow,
    /// What was called.
    pub call: Call,
    /// What came of it.
    pub answer: Answer,
}

/// A recording, shared by the algorithms of a run.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    entries: Arc<Mutex<Vec<Entry>>>,
    window: Option<(Instant, Instant)>,
}

impl Tape {
    /// An empty tape.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty tape for what happens between two times: enough to look at, not to replay.
    pub fn between(window: Option<(Instant, Instant)>) -> Self {
        Tape { window, ..Self::default() }
    }

    fn hears(&self, now: Instant) -> bool {
        self.window.is_none_or(|(from, to)| (from..=to).contains(&now))
    }

    /// Puts a recorder in front of an algorithm whose host adds so much to one-way delays.
    pub fn record(
        &self,
        flow: u32,
        one_way_offset: Duration,
        cc: Box<dyn CongestionControl>,
    ) -> Box<dyn CongestionControl> {
        Box::new(Taped { flow, one_way_offset, cc, tape: self.clone() })
    }

    /// Everything recorded, in order.
    pub fn entries(&self) -> Vec<Entry> {
        self.entries.lock().expect("no thread panics while it holds the lock").clone()
    }

    /// The ACKs as a table.
    pub fn table(&self) -> Table {
        let ms = |d: Option<Duration>| d.map_or(f64::NAN, |d| d.as_millis_f64());
        let row = |e: &Entry, a: &Ack| AckRow {
            time_s: e.before.now.as_secs_f64(),
            flow: e.flow,
            acked: a.cumulative.as_f64(),
            delivered: a.delivered.as_f64(),
            lost: a.newly_lost.as_f64(),
            ce: a.ce.as_f64(),
            rtt_ms: ms(a.rtt),
            // In whole nanoseconds: a millisecond is lost in a float that counts four hours.
            one_way_ms: a.one_way.map_or(f64::NAN, |d| d.diff_millis(e.one_way_offset)),
            round_min_rtt_ms: ms(a.round.map(|r| r.min_rtt)),
            round_max_rtt_ms: ms(a.round.map(|r| r.max_rtt)),
            cwnd_before: e.before.cwnd.as_f64(),
            cwnd_after: e.answer.cwnd.as_f64(),
            in_flight: e.before.in_flight.as_f64(),
            ssthresh_after: if e.answer.ssthresh == Bytes::MAX { f64::NAN } else { e.answer.ssthresh.as_f64() },
            srtt_ms: e.before.srtt.as_millis_f64(),
            min_rtt_ms: ms(Some(e.before.min_rtt).filter(|d| !d.is_zero())),
            pacing_mbps: e.answer.pacing.map_or(f64::NAN, |r| r.as_bps() as f64 * 1e-6),
            phase: e.before.phase as u16,
        };
        let entries = self.entries();
        let rows: Vec<AckRow> =
            entries.iter().filter_map(|e| if let Call::Ack(a) = &e.call { Some(row(e, a)) } else { None }).collect();
        acks_table(&rows)
    }
}

macro_rules! rows {
    ($($field:ident : $ty:ty => $variant:ident),* $(,)?) => {
        /// One ACK as an algorithm saw it, and what it answered: a row of the table `acks`. NaN is what is not known.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[allow(missing_docs)]
        pub struct AckRow { $(pub $field: $ty),* }

        /// The table of ACKs.
        pub fn acks_table(rows: &[AckRow]) -> Table {
            vec![$((stringify!($field), Column::$variant(rows.iter().map(|r| r.$field).collect()))),*]
        }
    };
}

rows! {
    time_s: f64 => F64, flow: u32 => U32, acked: f64 => F64, delivered: f64 => F64, lost: f64 => F64, ce: f64 => F64,
    rtt_ms: f64 => F64, one_way_ms: f64 => F64, round_min_rtt_ms: f64 => F64, round_max_rtt_ms: f64 => F64,
    cwnd_before: f64 => F64, cwnd_after: f64 => F64, in_flight: f64 => F64, ssthresh_after: f64 => F64,
    srtt_ms: f64 => F64, min_rtt_ms: f64 => F64, pacing_mbps: f64 => F64, phase: u16 => U16,
}

#[derive(Debug)]
struct Taped {
    flow: u32,
    one_way_offset: Duration,
    cc: Box<dyn CongestionControl>,
    tape: Tape,
}

impl Taped {
    fn call(&mut self, flow: &mut Flow, call: Call) -> Option<Reaction> {
        if !self.tape.hears(flow.now) {
            return make(&mut *self.cc, flow, &call);
        }
        let before = flow.clone();
        let reaction = make(&mut *self.cc, flow, &call);
        let answer = Answer::of(flow, reaction);
        let entry = Entry { flow: self.flow, one_way_offset: self.one_way_offset, before, call, answer };
        self.tape.entries.lock().expect("no thread panics while it holds the lock").push(entry);
        reaction
    }
}

fn make(cc: &mut dyn CongestionControl, flow: &mut Flow, call: &Call) -> Option<Reaction> {
    match call {
        Call::Ack(ack) => cc.on_ack(flow, ack),
        Call::Congestion(c) => return Some(cc.on_congestion(flow, c)),
        Call::Sent(sent) => cc.on_sent(flow, sent),
        Call::Lost(lost) => cc.on_lost(flow, lost),
        Call::Undo => cc.on_undo(flow),
        Call::Event(event) => cc.on_event(flow, *event),
    }
    None
}

impl CongestionControl for Taped {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.call(flow, Call::Ack(Box::new(ack.clone())));
    }
    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        self.call(flow, Call::Congestion(*congestion)).expect("a congestion call has a reaction")
    }
    fn on_sent(&mut self, flow: &mut Flow, sent: &Sent) {
        self.call(flow, Call::Sent(*sent));
    }
    fn on_lost(&mut self, flow: &mut Flow, lost: &Lost) {
        self.call(flow, Call::Lost(*lost));
    }
    fn on_undo(&mut self, flow: &mut Flow) {
        self.call(flow, Call::Undo);
    }
    fn on_event(&mut self, flow: &mut Flow, event: Event) {
        self.call(flow, Call::Event(event));
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
        self.cc.vars(see);
    }
}

/// Where a replay parted from the tape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Index of the entry.
    pub entry: usize,
    /// What the tape says.
    pub taped: Answer,
    /// What the algorithm answered now.
    pub replayed: Answer,
}

/// Plays one flow's entries to an algorithm and returns the first difference. Before each call the flow is what the
/// host made it, so a difference shows where it arises.
pub fn replay(entries: &[Entry], cc: &mut dyn CongestionControl) -> Option<Divergence> {
    for (i, entry) in entries.iter().enumerate() {
        let mut flow = entry.before.clone();
        let reaction = make(cc, &mut flow, &entry.call);
        let replayed = Answer::of(&flow, reaction);
        if replayed != entry.answer {
            return Some(Divergence { entry: i, taped: entry.answer, replayed });
        }
    }
    None
}
