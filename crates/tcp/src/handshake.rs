//! Opening: SYN, SYN-ACK, ACK, with retransmission and what is negotiated on the way.

use crate::endpoint::Endpoint;
use crate::sender::Sender;
use crate::{Flags, Heard, Segment, Stack};
use cc::host::SLOP;
use cc::{Event, quick_start};
use units::{Bytes, Duration, Instant};

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Passive: waiting for a SYN.
    Listen,
    /// Active: a SYN is to be sent or on its way.
    SynSent,
    /// Passive: a SYN-ACK is to be sent or on its way.
    SynReceived,
    /// Open; closing is a matter of the two FINs.
    Established,
}

/// Timeout after a lost SYN (RFC 6298, section 5.7); FreeBSD's before any sample (`TCPTV_RTOBASE`).
pub(crate) const CAUTIOUS_RTO: Duration = Duration::from_secs(3);
/// FreeBSD sends so many SYNs at one distance before it doubles it (`tcp_syn_backoff`).
const FREEBSD_EVEN_SYNS: u32 = 5;
/// So many SYNs ask for ECN on FreeBSD (`tcp_ecn_maxretries`). Linux' second asks no more (`tcp_ecn_clear_syn`): the path may
/// drop those that do (RFC 3168, section 6.1.1.1).
const FREEBSD_ECN_SYNS: u32 = 2;

/// What only the opening needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    pub due: bool,
    pub tries: u32,
    pub sent_at: Instant,
    /// Quick-Start: what the routers left of the peer's request.
    pub request: u8,
}

impl Endpoint {
    /// A segment before the connection is up. True if it is up now and the segment is to be worked through as usual.
    #[cold]
    pub(crate) fn on_opening_segment(&mut self, now: Instant, s: &Segment, heard: &mut Heard) -> bool {
        let (syn, ack) = (s.flags.has(Flags::SYN), s.flags.has(Flags::ACK));
        match self.state {
            State::Listen if syn && !ack => {
                self.receive_syn(s, Flags::ECE.with(Flags::CWR));
                self.state = State::SynReceived;
                self.opening.due = true;
                false
            }
            State::SynSent if syn && ack && s.ack == 1 => {
                self.receive_syn(s, Flags::ECE);
                self.open(now, s, heard);
                self.receiver.ack_now = true;
                false
            }
            State::SynReceived if syn && !ack => {
                // Our answer was lost, or the SYN came twice. FreeBSD's answers this one (`syncache_add`), Linux' the first.
                if self.sender.ways.freebsd {
                    self.receiver.ts_recent = s.ts_val;
                }
                self.opening.due = true;
                false
            }
            State::SynReceived if ack && !syn && s.ack >= 1 => {
                self.open(now, s, heard);
                true
            }
            _ => false,
        }
    }

    fn receive_syn(&mut self, s: &Segment, ecn: Flags) {
        self.receiver.establish();
        self.receiver.ts_recent = s.ts_val;
        self.opening.request = s.ce_bytes as u8;
        self.sender.stamped &= s.flags.has(Flags::TIMESTAMP);
        self.agree_on_ecn(self.sender.config.ecn && s.flags.has(ecn));
    }

    /// Both directions use it, or neither.
    pub(crate) fn agree_on_ecn(&mut self, agreed: bool) {
        self.sender.ecn.on = agreed;
        self.receiver.ecn.on = agreed;
    }

    fn open(&mut self, now: Instant, s: &Segment, heard: &mut Heard) {
        self.state = State::Established;
        let sender = &mut self.sender;
        sender.establish(now, s.ack + s.window as u64);
        // A timestamp tells which SYN was answered (`tcp_ack_update_rtt`, `tcp_synack_rtt_meas`; FreeBSD's `tcp_do_segment`).
        let once = self.opening.tries == 1;
        heard.rtt = once.then(|| now.since(self.opening.sent_at));
        if let Some(rtt) = heard.rtt.or_else(|| sender.stamped.then(|| sender.echoed_rtt(now, s.ts_ecr))) {
            sender.take_rtt(rtt, 1);
            if sender.ertt.is_none() {
                sender.note_rtt(rtt);
            }
        }
        if once {
            if let (true, Some(rate)) = (s.flags.has(Flags::SYN), quick_start::rate(s.ce_bytes as u8)) {
                sender.cc.on_event(&mut sender.flow, Event::Granted(rate));
                sender.after_algorithm();
            }
        } else {
            sender.rtt.set_initial(CAUTIOUS_RTO);
            // RFC 5681, section 3.1, has one segment. Linux, whose first timeout is a short one, takes one loss for
            // its mistake (`tcp_init_transfer`); FreeBSD does not (`cc_conn_init`).
            let forgiven = if sender.config.stack == Stack::Linux { 2 } else { 1 };
            if self.opening.tries > forgiven {
                sender.flow.cwnd = Bytes::new(sender.mss);
            }
        }
    }

    /// The next segment of the opening.
    #[cold]
    pub(crate) fn poll_opening(&mut self, now: Instant) -> Option<Segment> {
        if !self.opening.due {
            return None;
        }
        self.opening.due = false;
        self.opening.tries += 1;
        self.opening.sent_at = now;
        let passive = self.state == State::SynReceived;
        let wait = self.opening_wait(passive);
        let sender = &mut self.sender;
        sender.nxt = 1;
        sender.rto_at = sender.timer(now, wait);
        let mut flags = Flags::SYN;
        if passive {
            flags = flags.with(Flags::ACK);
        }
        let most = if sender.ways.freebsd { FREEBSD_ECN_SYNS } else { 1 };
        if sender.config.ecn && if passive { sender.ecn.on } else { self.opening.tries <= most } {
            flags = flags.with(if passive { Flags::ECE } else { Flags::ECE.with(Flags::CWR) });
        }
        if sender.stamped {
            flags = flags.with(Flags::TIMESTAMP);
        }
        // What came back cannot be used after a second SYN: the first may have taken the grant (RFC 4782, section 4.3).
        let asks = sender.config.quick_start && self.opening.tries == 1;
        let own = if asks { sender.flow.request } else { 0 };
        let request = if passive { self.opening.request } else { own };
        Some(Segment {
            seq: 0,
            ack: self.receiver.nxt,
            window: self.receiver.unscaled_window(),
            ts_val: if sender.stamped { sender.clock.read(now) } else { 0 },
            ts_ecr: self.receiver.ts_recent,
            ce_bytes: request as u32,
            flags,
            ..Segment::default()
        })
    }

    /// How long the answer to this try is waited for. FreeBSD's `tcp_timer_rexmt` adds its slop, which the first SYN's timer
    /// goes without (`tcp_newtcpcb`); SYN-ACKs double at once and have none (`syncache_timeout`).
    fn opening_wait(&self, passive: bool) -> Duration {
        let Sender { ways, rtt, config, .. } = &self.sender;
        if !ways.freebsd {
            return rtt.rto();
        }
        let tries = self.opening.tries;
        let doublings = tries.saturating_sub(if passive { 1 } else { FREEBSD_EVEN_SYNS }).min(16);
        let slop = if passive || tries == 1 { Duration::ZERO } else { SLOP };
        (CAUTIOUS_RTO * (1 << doublings) + slop).min(config.max_rto)
    }

    /// The SYN timer.
    #[cold]
    pub(crate) fn on_opening_timer(&mut self, now: Instant) {
        if self.sender.rto_at <= now {
            self.sender.rtt.back_off();
            self.sender.rto_at = Instant::MAX;
            self.opening.due = true;
            self.sender.stats.timeouts += 1;
        }
    }
}
