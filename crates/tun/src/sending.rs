//! The senders of an experiment's flows: when to open, what to write, what the kernel tells of each connection.

use crate::addresses::SENDERS;
use crate::hosts::{Begin, Common, HOSTS_PRIORITY, Heard, Wanted, address, receiver};
use crate::watched::{Stands, Watched};
use crate::{Failure, asked, sys};
use experiment::{DATAGRAM_HEADER, FlowSpec, Traffic};
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
    /// The first as the flow begins: its opening takes part of the time.
    asked: Instant,
    due: Instant,
    /// In all.
    written: u64,
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
        let socket = asked::socket(&self.spec, self.wanted.cc.as_deref())?;
        sys::set(&socket, libc::IPPROTO_TCP, TCP_NOTSENT_LOWAT, self.lowat as i32)
            .map_err(|e| self.failed("TCP_NOTSENT_LOWAT", e))?;
        asked::limit_segments(&socket, &self.spec, self.spec.mss.get()).map_err(|e| self.failed("mss", e))?;
        sys::bind(&socket, address(SENDERS, f, SENDING_PORT)).map_err(|e| self.failed("its address", e))?;
        sys::connect(&socket, receiver(f)).map_err(|e| self.failed("connecting", e))?;
        Ok(socket)
    }

    fn start(&mut self, f: usize, now: Instant) -> Result<(), Failure> {
        self.state = match self.spec.traffic {
            Traffic::Cbr { size, .. } => {
                let bound = UdpSocket::bind(address(SENDERS, f, 0));
                let socket = bound.map_err(|e| self.failed("its address", e))?;
                socket.connect(receiver(f)).map_err(|e| self.failed("connecting", e))?;
                socket.set_nonblocking(true).map_err(|e| self.failed("its socket", e))?;
                let payload = vec![0; size.saturating_sub(DATAGRAM_HEADER).get() as usize];
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
        start: Instant,
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
        pages.asked = if pages.written == 0 { start } else { now };
        pages.written += pages.bytes;
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
    fn sample(&mut self, common: &Common, f: usize, now: Instant) {
        let (State::Open(socket) | State::Closing(socket)) = &self.state else { return };
        let Ok(i) = sys::tcp_info(socket) else { return };
        let Ok(mut news) = common.cells[f].news.lock() else { return };
        self.watched.look(&self.wanted, &i, &mut news);
        let stands = self.watched.tell(&self.wanted, &i, now, &mut news.told);
        // One that was reset fails where it is written to.
        if stands == Stands::Gone && matches!(self.state, State::Closing(_)) {
            self.state = State::Over;
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
            match (&plan.state, plan.spec.stops(starts[f])) {
                (State::Waiting, _) if now >= starts[f] => plan.start(f, now)?,
                (State::Waiting, _) => next = next.min(starts[f]),
                (State::Over | State::Closing(_), _) => {}
                (_, Some(stop)) if now >= stop => plan.close(),
                _ => {}
            }
            if let Some(at) = plan.datagrams(now, &mut dice[f]) {
                next = next.min(at);
            }
            next = next.min(plan.page(common, f, starts[f], now, &zeros, &mut dice[f])?);
        }
        if now >= sample_at {
            for (f, plan) in plans.iter_mut().enumerate() {
                plan.sample(common, f, now);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asked::tests::flow;
    use crate::hosts::Cell;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn the_first_chunk_has_taken_the_opening_too_and_the_next_has_not() {
        let spec = flow("traffic = \"dash(cycle=2s)\"");
        let wanted = Wanted { cc: None, delay_based: false, paced: false, own_window: false, tells: false };
        let common = Common { stop: false.into(), cells: vec![Cell::new(&wanted)], late: Default::default() };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let open = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        open.set_nonblocking(true).unwrap();
        let mut plan = Plan { state: State::Open(open.into()), ..Plan::new(&spec, &wanted, 1 << 16) };
        let (at, mut rng) = (|ms| Instant::ZERO + Duration::from_millis(ms), Rng::new(1, 0, streams::TRAFFIC));
        let mut page = |ms| plan.page(&common, 0, at(1000), at(ms), &[0; 1000], &mut rng).unwrap();
        page(1040);
        for (done, looks) in [(1100, 1101), (3060, 3061)] {
            common.cells[0].done_at.store(at(done).as_nanos(), Ordering::Release);
            assert_eq!(page(looks), at(if done == 1100 { 3000 } else { 5000 }));
            page(3000);
        }
        let took = |heard: &Heard| match heard {
            Heard::Transfer { took, .. } => took.as_millis_f64(),
            other => panic!("{other:?}"),
        };
        let news = common.cells[0].news.lock().unwrap();
        assert_eq!(news.heard.iter().map(took).collect::<Vec<_>>(), [100.0, 60.0]);
    }
}
