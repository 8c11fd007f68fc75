//! Tmix connections over the kernel's TCP: one thread that has both ends of every connection, the servers' in the senders'
//! namespace and the clients' in the receivers', so that it knows when a unit has come without a message of its own.
//!
//! What the applications do is the simulator's ([`sim::sessions::talk`]); here are sockets under it, readiness from
//! epoll, and what became of each connection for the driver.

mod ends;

use crate::addresses::{RECEIVERS, SENDERS};
use crate::hosts::{Begin, Common, HOSTS_PRIORITY, Heard, PORT, Wanted, address};
use crate::namespace::Namespace;
use crate::watched::Watched;
use crate::{Failure, asked, sys};
pub use ends::Line;
use ends::Sockets;
use experiment::tmix::{Adu, Replay, Side, Vectors};
use experiment::{FlowSpec, Traffic};
use sim::sessions::talk::Talk;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use units::{Duration, Instant};

/// Connections asked for their state at a time: what more are open has its turn ten milliseconds later.
const ASKED: usize = 64;
/// An epoll entry that is a listener and no connection.
const LISTENER: u64 = 1 << 63;

/// One flow of connections.
#[derive(Debug)]
struct Source {
    spec: FlowSpec,
    wanted: Wanted,
    listener: OwnedFd,
    vectors: Arc<Vectors>,
    order: Vec<(Duration, u32, u32)>,
    next: usize,
    begins: Instant,
    whole: bool,
    /// Segments sent again by connections that are gone.
    again: u64,
    received: u64,
}

/// A connection that is open.
#[derive(Debug)]
struct Open {
    source: usize,
    /// Units: the first, and how many.
    units: (u32, u32),
    windows: [Option<u64>; 2],
    port: u16,
    talk: Talk,
    lines: [Line; 2],
    opened: Instant,
    watched: Watched,
}

/// When, which place, which connection of that place, whose turn.
type Timer = Reverse<(Instant, u32, u32, bool)>;

/// All of them.
#[derive(Debug)]
pub struct Player {
    sources: Vec<(usize, Source)>,
    places: Vec<(u32, Option<Box<Open>>)>,
    free: Vec<u32>,
    ports: HashMap<(usize, u16), u32>,
    timers: BinaryHeap<Timer>,
    epoll: sys::Epoll,
    zeros: Vec<u8>,
    cursor: usize,
}

impl Player {
    /// Opens what listens in the namespace of the senders of data: the servers. `None` if no flow is of connections.
    pub fn new(near: &Namespace, flows: &[FlowSpec], wanted: &[Wanted]) -> Result<Option<Player>, Failure> {
        let mut sources = Vec::new();
        let epoll = sys::Epoll::new().map_err(|e| Failure::at("epoll", e))?;
        for (f, spec) in flows.iter().enumerate() {
            let Traffic::Tmix(tmix) = &spec.traffic else { continue };
            let listener = near
                .within(|| Ok(listener(f, spec, wanted[f].cc.as_deref())))
                .map_err(|e| Failure::at("entering the senders' namespace", e))??;
            let added = epoll.add(&listener, LISTENER | sources.len() as u64, false);
            added.map_err(|e| Failure::at("epoll", e))?;
            let whole = tmix.params.whole;
            let source = Source {
                spec: spec.clone(),
                wanted: wanted[f].clone(),
                listener,
                vectors: Arc::new(Vectors::default()),
                order: Vec::new(),
                next: 0,
                begins: Instant::MAX,
                whole,
                again: 0,
                received: 0,
            };
            sources.push((f, source));
        }
        let (places, free, ports, timers) = (Vec::new(), Vec::new(), HashMap::new(), BinaryHeap::new());
        let zeros = vec![0; 1 << 16];
        let player = Player { sources, places, free, ports, timers, epoll, zeros, cursor: 0 };
        Ok((!player.sources.is_empty()).then_some(player))
    }

    /// Plays until the end, in the namespace of the receivers of data: the clients.
    pub fn play(mut self, common: &Common, far: &Namespace, begin: &Receiver<Begin>) -> Result<(), Failure> {
        far.enter().map_err(|e| Failure::at("entering the receivers' namespace", e))?;
        let Ok(begin) = begin.recv() else { return Ok(()) };
        sys::no_slack();
        // Hosts have a CPU of their own in a testbed. Here they come before what else the machine does, after the links.
        let _ = begin.realtime && sys::go_first(HOSTS_PRIORITY).is_ok();
        for (f, source) in &mut self.sources {
            source.begins = begin.starts[*f];
            if let Some(Replay { vectors, order }) = begin.replays[*f].clone() {
                (source.vectors, source.order) = (vectors, order);
            }
        }
        let mut sample_at = Instant::ZERO + crate::sending::SAMPLE;
        let mut ready = Vec::new();
        let now = || Instant::from_nanos(begin.at.elapsed().as_nanos() as u64);
        while !common.stop.load(Ordering::Relaxed) {
            let mut next = sample_at.min(self.arrive(now(), common)?);
            while let Some(&Reverse((at, place, number, acceptor))) = self.timers.peek() {
                let present = now();
                if at > present {
                    next = next.min(at);
                    break;
                }
                self.timers.pop();
                common.was_late(present.since(at));
                let lane = if acceptor { Side::Acceptor } else { Side::Initiator };
                self.with(place, number, present, common, |talk, ends| talk.woken(lane, ends))?;
            }
            if now() >= sample_at {
                self.sample(common);
                while sample_at <= now() {
                    sample_at += crate::sending::SAMPLE;
                }
                next = next.min(sample_at);
            }
            let present = now();
            let wait = std::time::Duration::from_nanos(next.since(present.min(next)).as_nanos());
            self.epoll.wait(&mut ready, wait).map_err(|e| Failure::at("waiting", e))?;
            for &token in &ready {
                if token & LISTENER == 0 {
                    self.stir(token, now(), common)?;
                } else {
                    self.accept((token & !LISTENER) as usize, now(), common)?;
                }
            }
        }
        for open in self.places.into_iter().filter_map(|(_, open)| open) {
            open.lines.into_iter().for_each(Line::abort);
        }
        Ok(())
    }

    /// Opens the connections that are due; when the next is.
    fn arrive(&mut self, now: Instant, common: &Common) -> Result<Instant, Failure> {
        let mut next = Instant::MAX;
        for s in 0..self.sources.len() {
            loop {
                let (_, source) = &mut self.sources[s];
                let Some(&(start, number, mss)) = source.order.get(source.next) else { break };
                let at = source.begins + start;
                if source.spec.stops(source.begins).is_some_and(|stop| at >= stop) {
                    break;
                }
                if at > now {
                    next = next.min(at);
                    break;
                }
                source.next += 1;
                common.was_late(now.since(at));
                self.open(s, number, mss, now, common)?;
            }
        }
        Ok(next)
    }

    fn open(&mut self, s: usize, number: u32, mss: u32, now: Instant, common: &Common) -> Result<(), Failure> {
        let (f, source) = &self.sources[s];
        let (f, failed) = (*f, |e| Failure::at(format!("flow {}: opening a connection", source.spec.name), e));
        let connection = source.vectors.connections[number as usize];
        let windows = asked::windows(&source.spec, &connection, mss);
        let socket = asked::socket(&source.spec, source.wanted.cc.as_deref())?;
        asked::limit_segments(&socket, &source.spec, mss.into()).map_err(failed)?;
        let [window, _] = windows;
        if let Some(most) = window {
            sys::limit_window(&socket, most).map_err(failed)?;
        }
        // The port is chosen in `connect`, when the other end is known: so each server can have as many connections as
        // there are ports.
        sys::set(&socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1).map_err(failed)?;
        sys::bind(&socket, address(RECEIVERS, f, 0)).map_err(failed)?;
        sys::connect(&socket, address(SENDERS, f, PORT)).map_err(failed)?;
        let port = sys::local_port(&socket).map_err(failed)?;
        let talk = Talk::new(connection.concurrent, if source.whole { u64::from(mss) } else { 1 }, now);
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push((0, None));
            self.places.len() as u32 - 1
        });
        let added = self.epoll.add(&socket, token(place, self.places[place as usize].0, Side::Initiator), true);
        added.map_err(|e| Failure::at("epoll", e))?;
        let open = Open {
            source: s,
            units: (connection.first, connection.count),
            windows,
            port,
            talk,
            lines: [Line::connecting(socket, window), Line::default()],
            opened: now,
            watched: Watched::default(),
        };
        self.places[place as usize].1 = Some(Box::new(open));
        self.ports.insert((s, port), place);
        common.tell(f, |news| news.heard.push(Heard::Opened));
        Ok(())
    }

    /// Takes what has come to a server.
    fn accept(&mut self, s: usize, now: Instant, common: &Common) -> Result<(), Failure> {
        while let Some((socket, peer)) =
            sys::accept(&self.sources[s].1.listener).map_err(|e| Failure::at("accepting a connection", e))?
        {
            // One whose client has given up.
            let Some(&place) = self.ports.get(&(s, peer.port())) else { continue };
            let (number, open) = &mut self.places[place as usize];
            let Some(open) = open else { continue };
            let [_, window] = open.windows;
            if let Some(most) = window {
                sys::limit_window(&socket, most).map_err(|e| Failure::at("a receive window", e))?;
            }
            let number = *number;
            let added = self.epoll.add(&socket, token(place, number, Side::Acceptor), true);
            added.map_err(|e| Failure::at("epoll", e))?;
            open.lines[Side::Acceptor as usize] = Line::open(socket, window);
            self.with(place, number, now, common, |talk, ends| talk.go_on(ends))?;
        }
        Ok(())
    }

    /// Something happened to a socket.
    fn stir(&mut self, token: u64, now: Instant, common: &Common) -> Result<(), Failure> {
        let (place, number, side) = ((token >> 32) as u32 >> 1, token as u32, (token >> 32) as usize & 1);
        let (present, Some(open)) = &mut self.places[place as usize] else { return Ok(()) };
        if *present != number {
            return Ok(());
        }
        let (f, source) = &mut self.sources[open.source];
        let came = open.lines[side].stir(&self.zeros).map_err(|e| {
            let (name, lasted) = (&source.spec.name, now.since(open.opened));
            let who = if side == 0 { "client" } else { "server" };
            Failure::at(
                format!("flow {name}: a {who}'s connection of {:.0} ms with {:?}", lasted.as_millis_f64(), open.lines),
                e,
            )
        })?;
        if side == Side::Initiator as usize && came > 0 {
            source.received += came;
            common.cells[*f].received.store(source.received, Ordering::Relaxed);
        }
        self.with(place, number, now, common, |talk, ends| talk.go_on(ends))
    }

    /// Lets the applications of a connection act; ends it if they are through.
    fn with(
        &mut self,
        place: u32,
        number: u32,
        now: Instant,
        common: &Common,
        act: impl FnOnce(&mut Talk, &mut Sockets<'_>),
    ) -> Result<(), Failure> {
        let (present, Some(open)) = &mut self.places[place as usize] else { return Ok(()) };
        if *present != number {
            return Ok(());
        }
        let (f, source) = &mut self.sources[open.source];
        let (first, count) = open.units;
        let units: &[Adu] = &source.vectors.adus[first as usize..][..count as usize];
        let mut wakes = Vec::new();
        let mut exchanges = Vec::new();
        let mut talk = open.talk;
        act(
            &mut talk,
            &mut Sockets {
                now,
                units,
                lines: &mut open.lines,
                zeros: &self.zeros,
                wakes: &mut wakes,
                exchanges: &mut exchanges,
            },
        );
        open.talk = talk;
        for (at, acceptor) in wakes {
            self.timers.push(Reverse((at, place, number, acceptor)));
        }
        for (bytes, took) in exchanges {
            common.tell(*f, |news| news.heard.push(Heard::Exchange { bytes, took }));
        }
        if open.lines.iter().all(Line::is_over) {
            source.again += open.watched.retransmits_now(&open.lines[Side::Acceptor as usize]);
            let lasted = now.since(open.opened);
            common.tell(*f, |news| news.heard.push(Heard::Closed { lasted }));
            self.ports.remove(&(open.source, open.port));
            self.places[place as usize] = (number.wrapping_add(1), None);
            self.free.push(place);
        }
        Ok(())
    }

    /// Asks the kernel how some connections stand; a flow's figures are means over those that are open.
    fn sample(&mut self, common: &Common) {
        let count = self.places.len();
        for _ in 0..count.min(ASKED) {
            self.cursor = (self.cursor + 1) % count;
            let Some(open) = &mut self.places[self.cursor].1 else { continue };
            let (f, source) = &self.sources[open.source];
            if let Some(info) = open.lines[Side::Acceptor as usize].info() {
                common.tell(*f, |news| open.watched.look(&source.wanted, &info, news));
            }
        }
        let mut sums = vec![Sum::default(); self.sources.len()];
        for open in self.places.iter().filter_map(|(_, open)| open.as_ref()) {
            sums[open.source].add(&open.watched);
        }
        for ((f, source), sum) in self.sources.iter().zip(sums) {
            common.tell(*f, |news| {
                news.told.retransmits = source.again + sum.again;
                let mean = |total: f64| if sum.count > 0.0 { total / sum.count } else { f64::NAN };
                let sample = &mut news.told.sample;
                (sample.cwnd_bytes, sample.srtt_ms) = (mean(sum.cwnd), mean(sum.srtt));
                (sample.rtt_ms, sample.in_flight_bytes) = (sample.srtt_ms, sum.flying);
            });
        }
    }
}

#[derive(Clone, Default)]
struct Sum {
    count: f64,
    cwnd: f64,
    srtt: f64,
    flying: f64,
    again: u64,
}

impl Sum {
    fn add(&mut self, w: &Watched) {
        self.again += w.retransmits;
        if w.cwnd_bytes > 0.0 {
            self.count += 1.0;
            self.cwnd += w.cwnd_bytes;
            self.srtt += w.srtt_ms;
            self.flying += w.in_flight_bytes;
        }
    }
}

/// Where a flow's servers are called.
fn listener(f: usize, spec: &FlowSpec, cc: Option<&str>) -> Result<OwnedFd, Failure> {
    let failed = |e| Failure::at(format!("flow {}: listening", spec.name), e);
    let socket = asked::socket(spec, cc)?;
    if let Some(most) = asked::window(spec) {
        sys::limit_window(&socket, most).map_err(failed)?;
    }
    sys::bind(&socket, address(SENDERS, f, PORT)).map_err(failed)?;
    sys::listen(&socket).map_err(failed)?;
    Ok(socket)
}

/// What epoll says of a connection's end: place and side above, the connection of that place below.
fn token(place: u32, number: u32, side: Side) -> u64 {
    u64::from(place << 1 | side as u32) << 32 | u64::from(number)
}
