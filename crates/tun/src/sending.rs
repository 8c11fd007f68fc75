//! The senders of an experiment's flows: when to open, what to write, what the kernel tells of each connection.

use crate::flows::SENDERS;
use crate::hosts::{Begin, Common, HOSTS_PRIORITY, Heard, News, Wanted, address, receiver};
use crate::player::Line;
use crate::sys::TcpInfo;
use crate::{Failure, sys};
use experiment::{FlowSpec, Traffic};
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use units::{Duration, Instant, Rng, streams};

/// How often the kernel is asked for a connection's state: what `ss` and web10g's loggers use.
pub const SAMPLE: Duration = Duration::from_millis(10);
/// How often a sender asks whether its page has arrived.
const LOOK: Duration = Duration::from_millis(1);
const CHUNK: usize = 1 << 16;
/// `TCP_NOTSENT_LOWAT`: a socket is writable while less than this waits in it unsent.
const TCP_NOTSENT_LOWAT: i32 = 25;
/// Where every sender sends from, as in captures: their addresses differ.
const SENDING_PORT: u16 = 40_000;
/// The kernel's threshold before there is one.
const NO_THRESHOLD: u32 = 0x7fff_ffff;
/// States of `tcpi_ca_state` (include/uapi/linux/tcp.h).
const CWR: u8 = 2;
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;

/// One flow's sender.
#[derive(Debug)]
pub struct Plan {
    spec: FlowSpec,
    wanted: Wanted,
    lowat: u32,
    state: State,
    left: u64,
    pages: Pages,
    watched: Watched,
}

/// Where a flow of pages or chunks stands.
#[derive(Clone, Copy, Debug, Default)]
struct Pages {
    /// Under way; zero if none is.
    bytes: u64,
    asked: Instant,
    due: Instant,
    /// In all.
    written: u64,
}

/// What the kernel said of a connection last.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct Watched {
    ca_state: u8,
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
                LOSS => news.made.timeout += 1,
                _ => {}
            }
        }
        // An algorithm in BPF cuts its window without the kernel's states: a smaller one while nothing is wrong is its doing.
        if wanted.delay_based && self.ca_state.max(i.ca_state) < CWR && i.snd_cwnd < self.cwnd {
            news.made.delay += 1;
        }
        (self.ca_state, self.cwnd) = (i.ca_state, i.snd_cwnd);
    }

    /// Segments that the kernel sent again until now.
    pub fn retransmits_now(&self, line: &Line) -> u64 {
        line.info().map_or(self.retransmits, |i| i.total_retrans as u64)
    }
}

#[derive(Debug)]
enum State {
    Waiting,
    Connecting(OwnedFd),
    Open(OwnedFd),
    Datagrams { socket: UdpSocket, next: Instant, until: Instant, payload: Vec<u8>, number: u64 },
    Closing(OwnedFd),
    Over,
}

impl Plan {
    /// Not started. `lowat` bytes may wait unsent in a socket.
    pub fn new(spec: &FlowSpec, wanted: &Wanted, lowat: u32) -> Self {
        let left = match spec.traffic {
            Traffic::Bytes(size) => size.get(),
            Traffic::Web { .. } | Traffic::Dash { .. } => 0,
            _ => u64::MAX,
        };
        // Connections are the player's.
        let state = if matches!(spec.traffic, Traffic::Tmix(_)) { State::Over } else { State::Waiting };
        let (spec, wanted) = (spec.clone(), wanted.clone());
        Plan { spec, wanted, lowat, state, left, pages: Pages::default(), watched: Watched::default() }
    }

    fn failed(&self, what: &str, error: std::io::Error) -> Failure {
        Failure::at(format!("flow {}: {what}", self.spec.name), error)
    }

    fn open(&self, f: usize) -> Result<OwnedFd, Failure> {
        let failed = |what: &'static str| move |e| self.failed(what, e);
        let socket = sys::socket(true).map_err(failed("a socket"))?;
        let set = |option, value| sys::set(&socket, libc::IPPROTO_TCP, option, value);
        if let Some(name) = &self.wanted.cc {
            sys::choose_congestion_control(&socket, name)
                .map_err(|e| self.failed(&format!("the kernel's congestion control {name}"), e))?;
        }
        set(TCP_NOTSENT_LOWAT, self.lowat as i32).map_err(failed("TCP_NOTSENT_LOWAT"))?;
        let usual = tcp::Config::of(self.spec.stack).mss;
        if self.spec.mss != usual {
            // The option counts timestamps' 12 bytes as payload; an experiment does not.
            set(libc::TCP_MAXSEG, self.spec.mss.get() as i32 + 12).map_err(failed("mss"))?;
        }
        if self.spec.pacing {
            // Any limit but none switches pacing on, at the rate that TCP itself finds right.
            sys::pace(&socket, u64::MAX - 1).map_err(failed("pacing"))?;
        }
        sys::bind(&socket, address(SENDERS, f, SENDING_PORT)).map_err(failed("its address"))?;
        sys::connect(&socket, receiver(f)).map_err(failed("connecting"))?;
        Ok(socket)
    }

    fn start(&mut self, f: usize, now: Instant) -> Result<(), Failure> {
        self.state = match self.spec.traffic {
            Traffic::Cbr { size, .. } => {
                let bound = UdpSocket::bind(address(SENDERS, f, 0));
                let socket = bound.map_err(|e| self.failed("its address", e))?;
                socket.connect(receiver(f)).map_err(|e| self.failed("connecting", e))?;
                socket.set_nonblocking(true).map_err(|e| self.failed("its socket", e))?;
                let payload = vec![0; (size.get() as usize).saturating_sub(28)];
                State::Datagrams { socket, next: now, until: Instant::ZERO, payload, number: 0 }
            }
            _ => State::Connecting(self.open(f)?),
        };
        Ok(())
    }

    /// It has been told to stop, or has written all.
    fn close(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Over) {
            State::Open(socket) | State::Connecting(socket) => {
                sys::no_more(&socket);
                State::Closing(socket)
            }
            _ => State::Over,
        };
    }

    /// Writes what fits.
    fn write(&mut self, zeros: &[u8]) -> Result<(), Failure> {
        use std::io::Write;
        let State::Open(socket) = &self.state else { return Ok(()) };
        let copy = socket.try_clone().map_err(|e| self.failed("its socket", e))?;
        let mut stream = std::net::TcpStream::from(copy);
        for _ in 0..8 {
            if self.left == 0 {
                return Ok(());
            }
            let most = (self.left.min(zeros.len() as u64)) as usize;
            match stream.write(&zeros[..most]) {
                Ok(n) => self.left -= n as u64,
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) => return Err(self.failed("sending", e)),
            }
            if self.left == 0 {
                if !self.in_pages() {
                    self.close();
                }
                return Ok(());
            }
        }
        Ok(())
    }

    /// Its bytes come in pages or chunks.
    fn in_pages(&self) -> bool {
        matches!(self.spec.traffic, Traffic::Web { .. } | Traffic::Dash { .. })
    }

    /// Sees whether a page has arrived, begins the next if it is due; when to look again.
    fn page(
        &mut self,
        common: &Common,
        f: usize,
        now: Instant,
        zeros: &[u8],
        rng: &mut Rng,
    ) -> Result<Instant, Failure> {
        if !self.in_pages() || !matches!(self.state, State::Open(_)) {
            return Ok(Instant::MAX);
        }
        let cell = &common.cells[f];
        let done_at = Instant::from_nanos(cell.done_at.load(Ordering::Acquire));
        let pages = &mut self.pages;
        if pages.bytes > 0 {
            if done_at == Instant::ZERO {
                return Ok(now + LOOK);
            }
            let heard = Heard::Transfer { bytes: std::mem::take(&mut pages.bytes), took: done_at.since(pages.asked) };
            common.tell(f, |news| news.heard.push(heard));
            pages.due = match self.spec.traffic {
                Traffic::Web { think, .. } => done_at + draw(rng, think),
                Traffic::Dash { cycle, .. } => (pages.asked + cycle).max(done_at),
                _ => Instant::MAX,
            };
        }
        if pages.due > now {
            return Ok(pages.due);
        }
        pages.bytes = match self.spec.traffic {
            Traffic::Web { size, sigma, .. } => rng.lognormal(size.as_f64(), sigma).max(1.0) as u64,
            Traffic::Dash { chunk, .. } => chunk.get(),
            _ => 0,
        };
        (pages.asked, pages.written) = (now, pages.written + pages.bytes);
        // In this order: the receiver takes the time when it finds a goal, and nothing of this page is under way yet.
        cell.done_at.store(0, Ordering::Release);
        cell.goal.store(pages.written, Ordering::Release);
        self.left = self.pages.bytes;
        self.write(zeros)?;
        Ok(now + LOOK)
    }

    /// Sends the datagrams that are due; when the next is.
    fn datagrams(&mut self, now: Instant, rng: &mut Rng) -> Option<Instant> {
        let Traffic::Cbr { rate, size, on, off } = self.spec.traffic else { return None };
        let State::Datagrams { socket, next, until, payload, number } = &mut self.state else { return None };
        let gap = (size / rate).max(Duration::from_nanos(1));
        while *next <= now {
            if !on.is_zero() && *next >= *until {
                let first = *until == Instant::ZERO;
                let silence = if first { Duration::ZERO } else { draw(rng, off) };
                *next += silence;
                *until = *next + draw(rng, on);
                continue;
            }
            // Numbered, so that the receiver tells a copy from the next.
            *number += 1;
            if let Some(begin) = payload.first_chunk_mut() {
                *begin = number.to_be_bytes();
            }
            // A full buffer loses it, as a host's would.
            let _ = socket.send(payload);
            *next += gap;
        }
        Some(*next)
    }

    /// Asks the kernel how the connection stands.
    fn sample(&mut self, common: &Common, f: usize) {
        let (State::Open(socket) | State::Closing(socket)) = &self.state else { return };
        let Ok(i) = sys::tcp_info(socket) else { return };
        let Ok(mut news) = common.cells[f].news.lock() else { return };
        let watched = &mut self.watched;
        watched.look(&self.wanted, &i, &mut news);
        news.told.retransmits = watched.retransmits;
        let sample = &mut news.told.sample;
        (sample.cwnd_bytes, sample.srtt_ms) = (watched.cwnd_bytes, watched.srtt_ms);
        sample.in_flight_bytes = watched.in_flight_bytes;
        let known = i.snd_ssthresh < NO_THRESHOLD;
        sample.ssthresh_bytes = if known { i.snd_ssthresh as f64 * i.snd_mss as f64 } else { f64::NAN };
        if self.wanted.paced && i.pacing_rate != u64::MAX {
            sample.pacing_mbps = i.pacing_rate as f64 * 8e-6;
        }
    }
}

fn draw(rng: &mut Rng, mean: Duration) -> Duration {
    Duration::from_secs_f64(rng.exponential(mean.as_secs_f64()))
}

/// Runs all senders until the end.
pub fn send(common: &Common, mut plans: Vec<Plan>, seed: u64, begin: &Receiver<Begin>) -> Result<(), Failure> {
    let Ok(Begin { at: began, starts, realtime, .. }) = begin.recv() else { return Ok(()) };
    sys::no_slack();
    let _ = realtime && sys::go_first(HOSTS_PRIORITY).is_ok();
    let zeros = vec![0; CHUNK];
    let mut dice: Vec<Rng> = (0..plans.len()).map(|f| Rng::new(seed, f as u64, streams::TRAFFIC)).collect();
    let mut sample_at = Instant::ZERO + SAMPLE;
    while !common.stop.load(Ordering::Relaxed) {
        let now = Instant::from_nanos(began.elapsed().as_nanos() as u64);
        let mut next = sample_at;
        for (f, plan) in plans.iter_mut().enumerate() {
            match (&plan.state, plan.spec.stop) {
                (State::Waiting, _) if now >= starts[f] => plan.start(f, now)?,
                (State::Waiting, _) => next = next.min(starts[f]),
                (State::Over | State::Closing(_), _) => {}
                (_, Some(stop)) if now >= stop => plan.close(),
                _ => {}
            }
            if let Some(at) = plan.datagrams(now, &mut dice[f]) {
                next = next.min(at);
            }
            next = next.min(plan.page(common, f, now, &zeros, &mut dice[f])?);
        }
        if now >= sample_at {
            for (f, plan) in plans.iter_mut().enumerate() {
                plan.sample(common, f);
            }
            while sample_at <= now {
                sample_at += SAMPLE;
            }
            next = next.min(sample_at);
        }
        let (mut files, mut whose) = (Vec::new(), Vec::new());
        for (f, plan) in plans.iter().enumerate() {
            // A socket with nothing to send is always ready.
            let idle = plan.left == 0 && matches!(plan.state, State::Open(_));
            if let State::Connecting(socket) | State::Open(socket) = &plan.state
                && !idle
            {
                files.push(sys::waiting(socket, sys::POLLOUT));
                whose.push(f);
            }
        }
        let wait = std::time::Duration::from_nanos(next.since(now.min(next)).as_nanos());
        if !sys::poll(&mut files, wait).map_err(|e| Failure::at("waiting", e))? {
            let woken = Instant::from_nanos(began.elapsed().as_nanos() as u64);
            common.was_late(woken.since(next.min(woken)));
        }
        for (file, &f) in files.iter().zip(&whose) {
            if file.revents == 0 {
                continue;
            }
            let plan = &mut plans[f];
            if let State::Connecting(socket) = &plan.state
                && let Some(error) = sys::pending_error(socket)
            {
                return Err(plan.failed("connecting", error));
            }
            plan.state = match std::mem::replace(&mut plan.state, State::Over) {
                State::Connecting(socket) => State::Open(socket),
                other => other,
            };
            plan.write(&zeros)?;
        }
    }
    for plan in plans {
        if let State::Connecting(socket) | State::Open(socket) | State::Closing(socket) = plan.state {
            sys::abort(socket);
        }
    }
    Ok(())
}
