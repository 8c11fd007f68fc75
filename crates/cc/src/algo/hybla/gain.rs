//! What an ACK gains by ρ: in 128ths of a packet, the sum of their fractions kept, of ρ in eighths.
//!
//! A gain is cut to whole 128ths: of 1.99 one is left, from 65·ρ² packets on, so that a round there adds half of ρ² at first and
//! all of it at 128·ρ². From there on nothing is left, and an ACK for every packet of the window adds one.

/// 2^(i/8) in 128ths, rounded down.
const POWERS: [u64; 8] = [128, 139, 152, 165, 181, 197, 215, 234];
/// A packet in the units of gains.
const PACKET: u64 = 128;
/// In slow start ρ is no more.
const MOST: u64 = 16;

/// State: ρ, and growth not yet made.
#[derive(Debug)]
pub(super) struct Gain {
    /// In eighths, and at least one (`rho_3ls`).
    pub rho: u64,
    /// ACKs since the window grew, as far as they gained less than a packet (`snd_cwnd_cnt`).
    pub idle: u64,
    /// `snd_cwnd_cents`.
    parts: u64,
}

impl Default for Gain {
    fn default() -> Self {
        Gain { rho: 8, idle: 0, parts: 0 }
    }
}

impl Gain {
    pub(super) fn set_rho(&mut self, eighths: u64) {
        self.rho = eighths.max(8);
    }

    /// Packets that an ACK adds to so many: 2^ρ − 1.
    pub(super) fn slow_start(&mut self, cwnd: u64) -> u64 {
        let power = POWERS[(self.rho % 8) as usize] << (self.rho / 8).min(MOST);
        self.whole(power - PACKET, cwnd)
    }

    /// ρ² over the window.
    pub(super) fn avoidance(&mut self, cwnd: u64) -> u64 {
        let gain = 2 * self.rho * self.rho / cwnd.max(1);
        self.idle += u64::from(gain < PACKET);
        self.whole(gain, cwnd)
    }

    fn whole(&mut self, gain: u64, cwnd: u64) -> u64 {
        self.parts += gain % PACKET;
        let mut whole = gain / PACKET;
        if self.parts >= PACKET {
            whole += 1;
            (self.parts, self.idle) = (self.parts - PACKET, 0);
        }
        if gain == 0 && self.idle >= cwnd {
            whole += 1;
            self.idle = 0;
        }
        whole
    }
}
