//! What the kernel tells of a connection from look to look, and what can be read off that.

use crate::hosts::{News, Wanted};
use crate::player::Line;
use crate::sys::TcpInfo;
use sim::outside::Told;
use sim::probe::FlowSample;
use units::Instant;

/// The kernel's threshold before there is one.
const NO_THRESHOLD: u32 = 0x7fff_ffff;
/// States of `tcpi_ca_state` (include/uapi/linux/tcp.h).
const CWR: u8 = 2;
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;
/// States of `tcpi_state` (include/net/tcp_states.h).
const FIN_WAIT2: u8 = 5;
const TIME_WAIT: u8 = 6;
const CLOSE: u8 = 7;

/// Where a connection's sender stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    /// It has things to send, or waits to hear that they have come.
    Working,
    /// All has come, the FIN, too. To close its socket now might reset the receiver's with data in it unread.
    Done,
    /// It is over at both ends.
    Gone,
}

impl Stands {
    fn of(state: u8) -> Self {
        match state {
            FIN_WAIT2 => Stands::Done,
            TIME_WAIT | CLOSE => Stands::Gone,
            _ => Stands::Working,
        }
    }
}

/// What the kernel said of a connection last.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct Watched {
    ca_state: u8,
    backoff: u8,
    cwnd: u32,
    threshold: bool,
    pub cwnd_bytes: f64,
    pub srtt_ms: f64,
    pub in_flight_bytes: f64,
    pub retransmits: u64,
}

impl Watched {
    /// Takes a new answer, and tells of the reductions since the last.
    pub fn look(&mut self, wanted: &Wanted, i: &TcpInfo, news: &mut News) {
        let mss = i.snd_mss as f64;
        self.retransmits = i.total_retrans as u64;
        self.cwnd_bytes = i.snd_cwnd as f64 * mss;
        self.srtt_ms = i.rtt_us as f64 * 1e-3;
        self.in_flight_bytes = (i.unacked + i.retrans).saturating_sub(i.sacked + i.lost) as f64 * mss;
        if wanted.tells {
            return;
        }
        let known = i.snd_ssthresh < NO_THRESHOLD;
        if known && !std::mem::replace(&mut self.threshold, true) {
            news.slow_start = Some(i.snd_ssthresh as u64 * i.snd_mss as u64);
        }
        if i.ca_state != self.ca_state {
            match i.ca_state {
                // The kernel's answer to a mark, which changes no window of such an algorithm's (BBR). A recovery does:
                // it begins with what is in flight.
                CWR if wanted.own_window => {}
                CWR if wanted.delay_based => news.made.delay += 1,
                CWR => news.made.ecn += 1,
                RECOVERY => news.made.loss += 1,
                // A look may come after the second timeout already.
                LOSS => news.made.timeout += u64::from(i.backoff.max(1)),
                _ => {}
            }
        } else if i.ca_state == LOSS {
            // Each further timeout doubles the timer; what is acknowledged sets that back.
            news.made.timeout += u64::from(i.backoff.saturating_sub(self.backoff));
        }
        // An algorithm in BPF cuts its window without the kernel's states: a smaller one while nothing is wrong is its doing.
        if wanted.delay_based && self.ca_state.max(i.ca_state) < CWR && i.snd_cwnd < self.cwnd {
            news.made.delay += 1;
        }
        (self.ca_state, self.backoff, self.cwnd) = (i.ca_state, i.backoff, i.snd_cwnd);
    }

    /// Tells how the connection stands.
    pub fn tell(&self, wanted: &Wanted, i: &TcpInfo, now: Instant, told: &mut Told) -> Stands {
        told.retransmits = self.retransmits;
        let stands = Stands::of(i.state);
        // The kernel keeps the last window of a connection that has ended, which is nobody's any more.
        told.sample = FlowSample::default();
        if stands != Stands::Working {
            told.ended.get_or_insert(now);
            return stands;
        }
        let sample = &mut told.sample;
        (sample.cwnd_bytes, sample.srtt_ms) = (self.cwnd_bytes, self.srtt_ms);
        sample.in_flight_bytes = self.in_flight_bytes;
        if i.snd_ssthresh < NO_THRESHOLD {
            sample.ssthresh_bytes = i.snd_ssthresh as f64 * i.snd_mss as f64;
        }
        if wanted.paced && i.pacing_rate != u64::MAX {
            sample.pacing_mbps = i.pacing_rate as f64 * 8e-6;
        }
        stands
    }

    /// Segments that the kernel sent again until now.
    pub fn retransmits_now(&self, line: &Line) -> u64 {
        line.info().map_or(self.retransmits, |i| i.total_retrans as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUBIC: Wanted = Wanted { cc: None, delay_based: false, paced: true, own_window: false, tells: false };

    fn info(state: u8, ca_state: u8, backoff: u8) -> TcpInfo {
        let pacing_rate = 1_250_000;
        TcpInfo {
            state,
            ca_state,
            backoff,
            snd_mss: 1448,
            snd_cwnd: 10,
            rtt_us: 40_000,
            unacked: 2,
            pacing_rate,
            ..TcpInfo::default()
        }
    }

    /// Timeouts counted over looks, each of a `ca_state` and a `backoff`.
    fn timeouts(looks: &[(u8, u8)]) -> u64 {
        let (mut watched, mut news) = (Watched::default(), News::default());
        for &(ca_state, backoff) in looks {
            watched.look(&CUBIC, &info(1, ca_state, backoff), &mut news);
        }
        news.made.timeout
    }

    #[test]
    fn every_timeout_counts_not_only_the_first_of_a_row() {
        assert_eq!(timeouts(&[(0, 0), (LOSS, 1), (LOSS, 1), (0, 0)]), 1);
        assert_eq!(timeouts(&[(0, 0), (LOSS, 1), (LOSS, 2), (LOSS, 2), (LOSS, 3), (0, 0)]), 3);
        // Two between two looks; one whose timer is set back when it is looked at; another after progress.
        assert_eq!(timeouts(&[(0, 0), (LOSS, 2)]), 2);
        assert_eq!(timeouts(&[(0, 0), (LOSS, 0)]), 1);
        assert_eq!(timeouts(&[(0, 0), (LOSS, 2), (LOSS, 0), (LOSS, 1)]), 3);
        // Probes of a closed window double the timer, too.
        assert_eq!(timeouts(&[(0, 1), (0, 2), (0, 3)]), 0);
    }

    #[test]
    fn a_connection_that_has_ended_has_no_window() {
        let watched = Watched { cwnd_bytes: 14_480.0, srtt_ms: 40.0, retransmits: 3, ..Watched::default() };
        let (mut told, second) = (Told::default(), Instant::from_secs_f64);
        assert_eq!(watched.tell(&CUBIC, &info(1, 0, 0), second(1.0), &mut told), Stands::Working);
        assert_eq!((told.sample.cwnd_bytes, told.sample.pacing_mbps, told.ended), (14_480.0, 10.0, None));
        for (state, at, stands) in [(FIN_WAIT2, 2.0, Stands::Done), (CLOSE, 3.0, Stands::Gone)] {
            assert_eq!(watched.tell(&CUBIC, &info(state, 0, 0), second(at), &mut told), stands);
            let s = &told.sample;
            let all = [s.cwnd_bytes, s.ssthresh_bytes, s.srtt_ms, s.in_flight_bytes, s.pacing_mbps];
            assert!(all.iter().all(|x| x.is_nan()), "{s:?}");
            assert_eq!((told.retransmits, told.ended), (3, Some(second(2.0))));
        }
    }
}
