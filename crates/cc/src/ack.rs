//! What a host tells an algorithm.

use crate::Phase;
use units::{Bytes, Duration, Instant, Rate};

/// One acknowledgement, as measured by the host.
#[derive(Clone, Debug, Default)]
pub struct Ack {
    /// Bytes that may grow a window: those newly acknowledged in order, save that data SACKed before, or now beyond a
    /// hole, counts as in the host's stack.
    pub cumulative: Bytes,
    /// Newly acknowledged in all, cumulatively or selectively.
    pub delivered: Bytes,
    /// Declared lost on this ACK.
    pub newly_lost: Bytes,
    /// Acknowledges nothing new in order.
    pub duplicate: bool,
    /// Of `delivered`, how much arrived marked CE.
    pub ce: Bytes,
    /// A fresh RTT sample, by Karn's rule never from a retransmission.
    pub rtt: Option<Duration>,
    /// One-way delay of the segment that advanced the window, if one did, plus an unknown constant: the host adds what keeps
    /// it from being negative. An ACK that the receiver may have delayed has none.
    /// Clocks drift, too; an algorithm that looks at minima must let them age.
    pub one_way: Option<Duration>,
    /// When the newest segment acknowledged was sent: tells trains apart.
    pub sent_at: Instant,
    /// When the receiver says it arrived, on its own clock.
    pub received_at: Option<Instant>,
    /// A delivery rate sample.
    pub rate: Option<RateSample>,
    /// The round this ACK closed.
    pub round: Option<Round>,
}

impl Ack {
    /// Bytes both newly acknowledged in order and newly delivered. The ACK that ends a recovery covers much that was
    /// selectively acknowledged before and has let new data go already.
    pub fn advance(&self) -> Bytes {
        self.cumulative.min(self.delivered)
    }

    /// Bytes that slow start grows by on this ACK: one segment of `mss` with `ack_counting`, as in any slow start of
    /// FreeBSD's CDG; else [`advance`](Self::advance).
    pub fn growth(&self, mss: Bytes, ack_counting: bool) -> Bytes {
        if ack_counting { mss } else { self.advance() }
    }
}

/// Delivery rate over about one RTT (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateSample {
    /// Delivered over the interval.
    pub delivered: Bytes,
    /// `flow.delivered` when the newest segment acknowledged was sent.
    pub prior_delivered: Bytes,
    /// The longer of the send and the ACK interval.
    pub interval: Duration,
    /// In flight when that segment was sent, itself included.
    pub tx_in_flight: Bytes,
    /// Lost since that segment was sent.
    pub lost: Bytes,
    /// The sender lacked data when it was sent.
    pub app_limited: bool,
}

/// A round trip of data that ended with this ACK. What a round is depends on the host's stack
/// (marked packet on FreeBSD, a window of sequence numbers on Linux): see [`host::round`](crate::host).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Round {
    /// Rounds completed so far, this one included.
    pub number: u64,
    /// When it began.
    pub start: Instant,
    /// When it ended: now.
    pub end: Instant,
    /// Smallest fresh RTT; zero if there was no sample.
    pub min_rtt: Duration,
    /// Largest fresh RTT; zero if there was no sample.
    pub max_rtt: Duration,
    /// As `min_rtt`, with the last sample counted again on every ACK that brought none (FreeBSD's h_ertt).
    pub min_rtt_reused: Duration,
    /// As `max_rtt`, with reuse.
    pub max_rtt_reused: Duration,
    /// Fresh samples.
    pub samples: u32,
    /// Delivered during the round.
    pub delivered: Bytes,
    /// Sent while the marked segment was under way (h_ertt; equals `delivered` on other stacks).
    pub sent: Bytes,
    /// RTT of the segment that timed the round.
    pub marked_rtt: Duration,
    /// `cwnd` when the round began.
    pub cwnd: Bytes,
}

/// The kind of sign that the path is congested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Loss found by acknowledgements.
    Loss,
    /// An ECN mark.
    Ecn,
    /// The retransmission timer fired.
    Timeout,
}

/// Congestion, told once per window of data.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// What showed it.
    pub signal: Signal,
    /// The phase the flow was in just before.
    pub during: Phase,
    /// Lost so far in this episode.
    pub lost: Bytes,
    /// The window just before.
    pub cwnd_before: Bytes,
    /// The window that a timeout leaves: what is still thought in flight, and a segment.
    pub restart: Bytes,
}

/// What the algorithm wants done about congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// Bring the window down to this (by PRR or as the stack does); it becomes `ssthresh` too.
    /// After a timeout it becomes `ssthresh` and the window restarts from one segment.
    Reduce(Bytes),
    /// The algorithm set `cwnd` and `ssthresh` itself; the host only repairs the losses.
    Own,
    /// The window stays, everything outstanding is sent again, and a timeout does not make the next one longer (bulk repeat).
    Repeat,
    /// As `Reduce`, with the window at one segment and everything outstanding sent again (Tahoe).
    ResendAll(Bytes),
}

/// A segment that left the host.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Payload.
    pub size: Bytes,
    /// In flight with it.
    pub in_flight: Bytes,
    /// Not its first time.
    pub retransmission: bool,
}

/// A segment declared lost.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// Payload.
    pub size: Bytes,
    /// When it was sent.
    pub sent_at: Instant,
    /// In flight when it was sent, itself included.
    pub tx_in_flight: Bytes,
    /// Lost in all since it was sent, itself included.
    pub lost: Bytes,
    /// The sender lacked data when it was sent.
    pub app_limited: bool,
}

/// Other things an algorithm may want to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Sending again after more than one RTO of silence.
    Restart,
    /// Recovery (or the reduction) is over; the window is what PRR left.
    RecoveryEnd,
    /// A timeout that asks for no further reduction: losses of the same window were being repaired (Linux). What was known
    /// of the path is out of date nevertheless.
    Timeout,
    /// `flow.mss` changed.
    MssChanged,
    /// The time given by `wake` has come.
    Wake,
    /// The connection is up, and the routers on the way granted this rate (Quick-Start).
    Granted(Rate),
}
