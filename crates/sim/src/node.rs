//! A flow's two hosts and the application that feeds them.

use crate::count::FlowCount;
use crate::outside::Told;
use crate::packet::Way;
use crate::prefetch;
use core::mem::offset_of;
use experiment::FlowSpec;
use tcp::Endpoint;
use units::{Bytes, Duration, Instant, Rate, Rng};

/// A TCP connection: the data sender and the receiver.
#[derive(Debug)]
#[repr(C)]
pub struct Tcp {
    /// In-order payload at which the present transfer is done; `MAX` if there is none.
    pub goal: u64,
    /// Packets the data sender has handed over in the window.
    pub sent: u64,
    /// Window at the last look, for the digest.
    pub cwnd: Bytes,
    /// When the timers of the two go off next (`MAX`: none is set), and their orders.
    pub timers: [(Instant, u64); 2],
    /// Receives the data.
    pub receiver: Endpoint,
    /// Sends it.
    pub sender: Endpoint,
}

impl Tcp {
    /// The receiver of the data, or its sender.
    #[inline(always)]
    pub fn end(&mut self, receiver: bool) -> &mut Endpoint {
        if receiver { &mut self.receiver } else { &mut self.sender }
    }
}

/// A source of datagrams.
#[derive(Debug)]
pub struct Datagrams {
    /// Bytes at the IP layer.
    pub size: u32,
    /// From one to the next.
    pub gap: Gap,
    /// Mean talk spurt; zero: always on.
    pub on: Duration,
    /// Mean silence.
    pub off: Duration,
    /// End of the present spurt.
    pub until: Instant,
    /// Number of the next one.
    pub number: u64,
    /// Those that arrived.
    pub seen: Seen,
    /// Bytes of payload that arrived, each datagram's once.
    pub received_bytes: u64,
}

/// From one datagram to the next: what whole nanoseconds leave of it is carried on, so that the rate is exact.
#[derive(Debug)]
pub struct Gap {
    whole: Duration,
    /// What is left of each, and what was carried on so far, in 1/rate of a nanosecond.
    rest: u64,
    carried: u64,
    rate: u64,
}

impl Gap {
    /// Of datagrams of this size at this rate.
    pub fn new(size: Bytes, rate: Rate) -> Self {
        let (bits, rate) = (u128::from(size.get()) * 8 * 1_000_000_000, rate.as_bps());
        let whole = Duration::from_nanos((bits / u128::from(rate)) as u64);
        Gap { whole, rest: (bits % u128::from(rate)) as u64, carried: 0, rate }
    }

    /// The next one.
    pub fn pass(&mut self) -> Duration {
        self.carried += self.rest;
        if self.carried < self.rate {
            return self.whole;
        }
        self.carried -= self.rate;
        self.whole + Duration::from_nanos(1)
    }
}

/// Numbers of datagrams that have come: a receiver hands each on once, as one that reads RTP's sequence numbers does.
#[derive(Debug, Default)]
pub struct Seen(Vec<u64>);

impl Seen {
    /// Is it the first of this number?
    pub fn first(&mut self, number: u64) -> bool {
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let fresh = self.0[word] & bit == 0;
        self.0[word] |= bit;
        fresh
    }
}

/// What carries a flow's data. Not boxed: a flow's state lies in one piece whose address is known without reading it,
/// so that it can be fetched before its packet arrives.
#[derive(Debug)]
#[repr(C)]
#[allow(clippy::large_enum_variant)]
pub enum Transport {
    /// A connection.
    Tcp(Tcp),
    /// Datagrams without congestion control.
    Datagrams(Datagrams),
    /// Programs outside the simulator, and what they say of themselves.
    Outside(Told),
}

/// A flow at work: first what packets need, in the order in which they do.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Node {
    /// What carries its data.
    pub transport: Transport,
    /// Its counters.
    pub count: FlowCount,
    /// What the experiment says of it.
    pub spec: Box<FlowSpec>,
    /// When it starts, `vary` included.
    pub start: Instant,
    /// It has been told to stop.
    pub stopped: bool,
    /// It has started.
    pub started: bool,
    /// The application's dice.
    pub rng: Rng,
    /// End of the present on period of on/off traffic.
    pub spurt_until: Instant,
    /// When a slow reader may read again.
    pub reads_at: Instant,
    /// The bottleneck's rate × the base RTT in bytes, both as they are by now.
    pub bdp: f64,
    /// Payload of the present transfer, and when it was asked for.
    pub transfer: Option<(u64, Instant)>,
}

impl Node {
    /// In a C enum the contents follow the tag.
    const TCP: usize = offset_of!(Node, transport) + align_of::<Transport>();
    const RECEIVER: usize = Self::TCP + offset_of!(Tcp, receiver);
    const SENDER: usize = Self::TCP + offset_of!(Tcp, sender);

    /// Fetches what an arriving packet will touch in here. With a thousand flows their state lies in the third-level
    /// cache, and waiting for it takes longer than working on a packet. By address alone: to read here which transport
    /// it is would be to wait.
    #[inline(always)]
    pub fn prefetch(&self, way: Way) {
        prefetch::line(self);
        match way {
            Way::Out => prefetch::lines::<
                { Node::RECEIVER + Endpoint::RECEIVING.start },
                { Node::RECEIVER + Endpoint::RECEIVING.end },
                Node,
            >(self),
            Way::Back => prefetch::lines::<
                { Node::SENDER + Endpoint::SENDING.start },
                { Node::SENDER + Endpoint::SENDING.end },
                Node,
            >(self),
        }
    }

    /// Fetches what a timer that goes off and was put off meanwhile looks at.
    #[inline]
    pub fn prefetch_timer(&self, receiver: bool) {
        prefetch::line(self);
        let host = if receiver { Node::RECEIVER } else { Node::SENDER };
        let timers = core::ptr::from_ref(self).cast::<u8>().wrapping_add(host + Endpoint::TIMERS);
        prefetch::line(timers);
        prefetch::line(timers.wrapping_add(prefetch::LINE));
    }

    const ONE_WAY: usize = offset_of!(Node, count) + offset_of!(FlowCount, total_bytes);
    const RTT: usize = offset_of!(Node, count) + offset_of!(FlowCount, rtt);

    /// Fetches what is counted of a data packet.
    #[inline]
    pub fn prefetch_one_way(&self) {
        prefetch::lines::<{ Node::ONE_WAY }, { offset_of!(Node, count) + size_of::<FlowCount>() }, Node>(self);
    }

    /// Fetches what is counted of an RTT sample.
    #[inline]
    pub fn prefetch_rtt(&self) {
        prefetch::lines::<{ Node::RTT }, { Node::ONE_WAY }, Node>(self);
    }

    /// One step later: fetches what an acknowledgement will touch elsewhere, whose addresses are in here.
    #[inline]
    pub fn prefetch_outlying(&self) {
        if let Transport::Tcp(tcp) = &self.transport {
            tcp.sender.outlying().into_iter().for_each(prefetch::line);
        }
    }

    /// In-order payload received.
    pub fn goodput(&self) -> u64 {
        match &self.transport {
            Transport::Tcp(t) => t.receiver.received(),
            Transport::Datagrams(d) => d.received_bytes,
            Transport::Outside(told) => told.goodput,
        }
    }

    /// Packets handed over in the window by the sender of the data.
    pub fn sent_packets(&self) -> u64 {
        match &self.transport {
            Transport::Tcp(t) => self.count.sent_packets + t.sent,
            _ => self.count.sent_packets,
        }
    }

    /// Segments sent again.
    pub fn retransmits(&self) -> u64 {
        match &self.transport {
            Transport::Tcp(t) => t.sender.stats().retransmissions,
            Transport::Datagrams(_) => 0,
            Transport::Outside(told) => told.retransmits,
        }
    }
}
