//! How far Linux lets its receive window grow. Where the application reads all that comes, the whole window is offered from
//! the beginning: Linux's grows ahead of what a sender can use, so it limits nothing. What shows is that Linux acknowledges at
//! once whatever opens the window further, so that a sender in slow start hears of nearly every segment. A slow reader's
//! window is this one, less what waits.

use units::{Duration, Instant};

/// What the window begins at: 45 segments of 1448 bytes, since no SYN can tell more than 65,535 bytes
/// (`tcp_select_initial_window`).
const FIRST: u32 = 65_160;
/// What it may grow to at first: of a buffer of 131,072 bytes (`tcp_rmem`) less one packet, the share that is payload where
/// 1448 bytes occupy 2304 (`tcp_win_from_space`), as they do in a TUN device and with most drivers' copies.
const FIRST_MOST: u32 = (131_072 - 2_304) * 5 / 8;
/// What is supposed to have been read in the round trip before the first (`TCP_INIT_CWND` segments of 1448 bytes).
const FIRST_READ: u64 = 14_480;
/// Shorter segments open nothing (`tcp_event_data_recv`).
const SHORT: u32 = 128;

/// Linux's receive window while it opens (`rcv_ssthresh`, `window_clamp`, `rcvq_space`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Autotuning {
    window: u32,
    most: u32,
    /// What was read in the last round trip that read more than any before it.
    read: u64,
    /// Where this round trip began, the position after the SYN at first, and when it ends.
    from: u64,
    ends: Instant,
}

impl Autotuning {
    pub fn new(buffer: u32) -> Self {
        Autotuning {
            window: FIRST.min(buffer),
            most: FIRST_MOST.min(buffer),
            read: FIRST_READ,
            from: 1,
            ends: Instant::ZERO,
        }
    }

    /// A segment opens the window by two full ones of `mss` bytes, while what is `unread` leaves more room than it offers
    /// (`tcp_grow_window`). True if it did.
    pub fn opens(&mut self, len: u32, mss: u32, unread: u32) -> bool {
        let opens = self.window < self.most.saturating_sub(unread) && len >= SHORT;
        if opens {
            self.window = (self.window + 2 * mss).min(self.most);
        }
        opens
    }

    /// What the buffer holds by now, and what may be offered of it.
    pub fn space(&self) -> (u32, u32) {
        (self.most, self.window)
    }

    /// Is there more to open it to?
    pub fn may_open(&self) -> bool {
        self.window < self.most
    }

    /// When this round trip is over.
    pub fn ends(&self) -> Instant {
        self.ends
    }

    /// Ends a round trip in which the application read up to `nxt`. If it read more than in the best round before, by a
    /// share x, the window may grow to 2 (1 + 2x) times what it read (`tcp_rcv_space_adjust`, `tcp_rcvbuf_grow`). The
    /// next round lasts `told`, the RTT by the echoed stamp; or `srtt`, the handshake's, where nothing is told or this
    /// segment is so late that the echo predates a pause, of which Linux takes no sample. Without either there are no
    /// rounds.
    pub fn end_round(&mut self, now: Instant, nxt: u64, told: Option<Duration>, srtt: Duration, buffer: u32) {
        let begins = self.ends == Instant::ZERO;
        let late = if begins { Duration::ZERO } else { now.since(self.ends) };
        let rtt = told.filter(|told| late * 2 <= *told).unwrap_or(srtt);
        if rtt.is_zero() {
            return;
        }
        if begins {
            self.ends = now + rtt;
            return;
        }
        let read = nxt - self.from;
        if read > self.read {
            let twice = 2 * read;
            let wanted = twice + 2 * (twice as u128 * (read - self.read) as u128 / self.read as u128) as u64;
            self.most = self.most.max(wanted.min(buffer.into()) as u32);
            self.read = read;
        }
        (self.from, self.ends) = (nxt, now + rtt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{AT, MS};

    #[test]
    fn the_window_grows_ahead_of_a_sender_that_doubles() {
        // What Linux 6.18 does with ten, twenty and thirty segments of 1448 bytes in rounds of 41 ms, and 44 in the next:
        // `ss -tmi` gives a buffer of 131,072 bytes until then, and 1,427,148 after 63,712 bytes were read at once, of which
        // five eighths are window.
        let mut a = Autotuning::new(6 << 20);
        let mut nxt = 1;
        let mut round = |a: &mut Autotuning, n: u64, bytes: u64| {
            nxt += bytes;
            assert!(a.ends() <= AT(41 * n));
            a.end_round(AT(41 * n), nxt, Some(MS(41)), MS(40), 6 << 20);
            (a.read, a.most)
        };
        let mut opened = 0;
        while a.opens(1448, 1448, 0) {
            opened += 1;
        }
        assert_eq!((opened, a.window), (6, 80_480));
        assert_eq!(round(&mut a, 0, 1448), (14_480, 80_480));
        assert_eq!(round(&mut a, 1, 13_032), (14_480, 80_480));
        assert_eq!(round(&mut a, 2, 15_928), (15_928, 80_480));
        assert_eq!(round(&mut a, 3, 14_480), (15_928, 80_480), "less than before");
        assert_eq!(round(&mut a, 4, 63_712), (63_712, 891_968));
        assert_eq!(891_968 * 8 / 5, 1_427_148);
        assert!(a.opens(1448, 1448, 0) && !a.opens(127, 1448, 0));
        assert_eq!(Autotuning::new(20_000).most, 20_000, "no more than the buffer");
        let room_beyond = |unread| Autotuning::new(6 << 20).opens(1448, 1448, unread);
        assert_eq!([15_319, 15_320].map(room_beyond), [true, false]);
    }

    #[test]
    fn a_round_trip_takes_what_an_echo_tells_but_for_one_of_before_a_pause() {
        // (told with the segment that ends the round of 41 to 82 ms, when it comes, end of the next)
        for (told, at, ends) in [(Some(60), 83, 143), (Some(5000), 5082, 5122), (None, 83, 123)] {
            let mut a = Autotuning::new(6 << 20);
            a.end_round(AT(41), 1000, Some(MS(41)), MS(40), 6 << 20);
            a.end_round(AT(at), 2000, told.map(MS), MS(40), 6 << 20);
            assert_eq!(a.ends(), AT(ends), "{told:?}");
        }
        let mut a = Autotuning::new(6 << 20);
        a.end_round(AT(41), 1000, None, Duration::ZERO, 6 << 20);
        a.end_round(AT(42), 100_000, None, Duration::ZERO, 6 << 20);
        assert_eq!(a.most, FIRST_MOST, "no round trip is known");
    }
}
