//! One end of a connection.

mod arriving;
mod leaving;

use crate::handshake::{Opening, State};
use crate::receiver::Receiver;
use crate::sender::{Fin, Sender};
use crate::{Config, Stack, Stats};
use alloc::boxed::Box;
use cc::{CongestionControl, Flow};
use core::mem::offset_of;
use core::ops::Range;
use units::{Bytes, Duration, Instant, Rate};

/// Builds the congestion control once the flow exists.
pub type Build<'a> = &'a mut dyn FnMut(&mut Flow) -> Box<dyn CongestionControl>;

/// More bytes than any run can send, and few enough that no sum of positions overflows.
pub const ENDLESS: u64 = 1 << 60;

/// What a segment told its receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Fresh RTT of the newest segment it acknowledged, exact and by Karn's rule; what the summary counts.
    pub rtt: Option<Duration>,
    /// Payload bytes of ours it newly acknowledged in order.
    pub acked: u64,
    /// Payload bytes of theirs it brought, or released, in order.
    pub delivered: u64,
}

/// Two estimates of the bandwidth from one round, in payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BandwidthEstimates {
    /// Bytes acknowledged over the length of the round (HLDG thesis, Eq 5.5).
    pub ack_rate: Rate,
    /// The window over the smoothed RTT, as Vegas has it.
    pub window_rate: Rate,
}

/// One end of a connection and both directions of its data. Positions in a stream are 64-bit: the SYN takes 0, data
/// begins at 1, the FIN follows the last byte.
///
/// After every call with a time, call [`poll_send`](Self::poll_send) until it returns `None`, then wait until
/// [`next_timer`](Self::next_timer).
#[derive(Debug)]
#[repr(C)]
pub struct Endpoint {
    pub(crate) opening: Opening,
    // The two halves meet at the fields that every segment looks at.
    pub(crate) receiver: Receiver,
    pub(crate) state: State,
    /// Idleness counts from what was last received (FreeBSD). It lies here since every segment asks.
    hears: bool,
    pub(crate) sender: Sender,
}

impl Endpoint {
    fn new(config: Config, build: Build<'_>, state: State) -> Endpoint {
        Endpoint {
            receiver: Receiver::new(&config),
            state,
            hears: config.stack == Stack::FreeBsd11,
            opening: Opening { due: state == State::SynSent, tries: 0, sent_at: Instant::ZERO, request: 0 },
            sender: Sender::new(config, build),
        }
    }

    /// An active open: the SYN leaves with the first poll. Without `config.handshake`, established at once.
    pub fn connect(config: Config, build: Build<'_>) -> Endpoint {
        if !config.handshake {
            return Endpoint::established(config, build);
        }
        Endpoint::new(config, build, State::SynSent)
    }

    /// A passive open. Without `config.handshake`, established at once.
    pub fn listen(config: Config, build: Build<'_>) -> Endpoint {
        if !config.handshake {
            return Endpoint::established(config, build);
        }
        Endpoint::new(config, build, State::Listen)
    }

    /// One end of a connection that was opened before the run began, with what both ends' `config` would negotiate.
    pub fn established(config: Config, build: Build<'_>) -> Endpoint {
        let mut endpoint = Endpoint::new(config, build, State::Established);
        endpoint.receiver.establish();
        let window = endpoint.receiver.window();
        endpoint.agree_on_ecn(endpoint.sender.config.ecn);
        // Until the two meet, or the peer tells of a larger one, its window is taken to be like ours.
        endpoint.sender.establish(Instant::ZERO, 1 + window as u64);
        endpoint
    }

    /// Two ends that were established without a handshake learn each other's receive windows, as SYNs would have told them.
    pub fn meet(&mut self, peer: &mut Endpoint) {
        let windows = [peer.receiver.window(), self.receiver.window()];
        for (end, window) in [self, peer].into_iter().zip(windows) {
            end.sender.edge = 1 + u64::from(window);
            end.sender.aside.widest = window.into();
            end.sender.flow.receive_window = Bytes::new(window.into());
        }
    }

    /// The application hands over so many bytes; [`ENDLESS`] is for ever.
    pub fn write(&mut self, now: Instant, bytes: u64) {
        self.sender.flow.now = now;
        if !self.sender.config.handshake {
            self.sender.begin(now);
        }
        if self.sender.fin == Fin::Open {
            match &mut self.sender.aside.behind {
                Some(behind) => *behind = behind.saturating_add(bytes),
                None => self.sender.written = self.sender.written.saturating_add(bytes).min(u64::MAX / 2),
            }
            self.sender.asleep = false;
        }
    }

    /// What is written from here on shares no segment with what is not sent yet, as if the host had sent the first
    /// before it got the rest. Only the first border stands: further pushes before it is reached do nothing.
    pub fn push(&mut self) {
        if self.sender.written > self.sender.nxt {
            self.sender.aside.behind.get_or_insert(0);
        }
    }

    /// Nothing more will be written: the FIN follows the last byte. What still waits behind a [`push`](Self::push) waits no longer.
    pub fn close(&mut self, now: Instant) {
        self.sender.flow.now = now;
        if self.sender.fin == Fin::Open {
            self.sender.take_behind();
            self.sender.fin = Fin::Queued;
            self.sender.asleep = false;
        }
    }

    /// Drops what was written and not yet sent (a bulk flow that stops).
    pub fn truncate(&mut self, now: Instant) {
        self.sender.flow.now = now;
        if self.sender.fin != Fin::Sent {
            self.sender.aside.behind = None;
            self.sender.written = self.sender.nxt.max(1);
            self.sender.asleep = false;
        }
    }

    /// The application takes up to so many bytes of what waits for it; returns how many there were. Nothing waits without
    /// `config.slow_reader`. An ACK may be due: poll.
    pub fn read(&mut self, most: Bytes) -> Bytes {
        Bytes::new(self.receiver.read(most.get().min(u32::MAX.into()) as u32).into())
    }

    /// Does anything wait for the application to read it?
    #[inline]
    pub fn has_unread(&self) -> bool {
        self.receiver.unread() > 0
    }

    /// The bytes of an endpoint that a segment of data looks at: a host of many fetches them before it arrives.
    pub const RECEIVING: Range<usize> = offset_of!(Endpoint, receiver) + Receiver::HOT
        ..offset_of!(Endpoint, sender) + offset_of!(Sender, stats) + size_of::<u64>();

    /// Where in an endpoint the fields begin that a timer which was put off looks at.
    pub const TIMERS: usize = offset_of!(Endpoint, receiver) + offset_of!(Receiver, ack_at);

    /// The bytes of an endpoint that an acknowledgement looks at.
    pub const SENDING: Range<usize> = Self::RECEIVING.start..offset_of!(Endpoint, sender) + offset_of!(Sender, recover);

    /// What lies outside the endpoint and the next acknowledgement will look at.
    #[inline]
    pub fn outlying(&self) -> [*const u8; 4] {
        let [front, back] = self.sender.board.ring.ends();
        let aside = core::ptr::from_ref(&*self.sender.aside);
        [front.cast(), back.cast(), core::ptr::from_ref(&*self.sender.cc).cast(), aside.cast()]
    }

    /// Some time has come: call at (or after) [`next_timer`](Self::next_timer).
    pub fn on_timer(&mut self, now: Instant) {
        self.sender.flow.now = now;
        self.sender.asleep = false;
        if self.state != State::Established {
            return self.on_opening_timer(now);
        }
        if self.receiver.ack_at <= now {
            self.receiver.ack_at = Instant::MAX;
            self.receiver.ack_now = true;
            self.receiver.miss_delay(self.sender.rtt.rto());
        }
        self.sender.on_timer(now);
    }

    /// The earliest time [`on_timer`](Self::on_timer) is wanted; [`Instant::MAX`] for never.
    #[inline]
    pub fn next_timer(&self) -> Instant {
        let s = &self.sender;
        s.rto_at.min(s.probe_at).min(s.pace_at).min(s.wake_at).min(self.receiver.ack_at)
    }

    /// The flow as the algorithm sees it.
    #[inline]
    pub fn flow(&self) -> &Flow {
        &self.sender.flow
    }

    /// The same, to collect its events.
    #[inline]
    pub fn flow_mut(&mut self) -> &mut Flow {
        &mut self.sender.flow
    }

    /// What the last round says of the bandwidth, once; nothing without `config.estimates`.
    #[inline]
    pub fn take_estimates(&mut self) -> Option<BandwidthEstimates> {
        self.sender.aside.estimates.take()
    }

    /// The algorithm.
    pub fn cc(&self) -> &dyn CongestionControl {
        &*self.sender.cc
    }

    /// Payload bytes delivered in order to this side's application.
    #[inline]
    pub fn received(&self) -> u64 {
        self.receiver.received()
    }

    /// Payload bytes of ours acknowledged in order.
    #[inline]
    pub fn acked(&self) -> u64 {
        self.sender.flow.acked_to.min(self.sender.written).saturating_sub(1)
    }

    /// Bytes written and not yet sent for the first time.
    #[inline]
    pub fn unsent(&self) -> u64 {
        self.sender.written.saturating_sub(self.sender.nxt.max(1))
    }

    /// Is the opening over? It stays so, since the model has no resets.
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Everything written, FIN included, is acknowledged.
    pub fn is_finished(&self) -> bool {
        self.sender.fin == Fin::Sent && self.sender.flow.acked_to == self.sender.nxt
    }

    /// When it was, if it is.
    pub fn finished_at(&self) -> Option<Instant> {
        self.is_finished().then_some(self.sender.aside.ended)
    }

    /// Both directions are finished.
    pub fn is_closed(&self) -> bool {
        self.is_finished() && self.receiver.fin
    }

    /// The peer's FIN has come, after all that it sent.
    pub fn peer_has_closed(&self) -> bool {
        self.receiver.fin
    }

    /// Time that repairs of losses took until `now`, from the signal to the ACK that ends them.
    pub fn repairing(&self, now: Instant) -> Duration {
        self.sender.repairing(now)
    }

    /// Counters.
    pub fn stats(&self) -> &Stats {
        &self.sender.stats
    }

    /// The retransmission timeout in force.
    #[cfg(test)]
    pub(crate) fn rto(&self) -> Duration {
        self.sender.rtt.rto()
    }
}
