//! An experiment's flows over the kernel's TCP and UDP: a thread that sends, a thread that receives, each in its
//! namespace. They do as little as can be done: on two CPUs the hosts share one with each other.

use crate::addresses::{RECEIVERS, SENDERS, host};
use crate::asked;
use crate::namespace::Namespace;
use crate::player::Player;
use crate::sending::{Plan, send};
use crate::{Failure, sys};
use experiment::tmix::Replay;
use experiment::{FlowSpec, Traffic};
use sim::World;
use sim::backoffs::Reductions;
use sim::histogram::Histogram;
use sim::node::Seen;
use sim::outside::Told;
use sim::probe::Probe;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Where receivers listen; iperf's port.
pub const PORT: u16 = 5001;
/// A receiver that has emptied its sockets lets them fill for this long: windows are large enough, and waking for every
/// packet would cost more than everything else it does.
const NAP: Duration = Duration::from_micros(500);

/// Priority of the hosts' threads, where real-time scheduling is allowed: behind the links, which have 10.
pub const HOSTS_PRIORITY: i32 = 5;

/// How one flow is to be run.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The kernel's name of its congestion control; nothing for datagrams.
    pub cc: Option<String>,
    /// Its window is cut for delay by way of the kernel's CWR state, which otherwise tells of ECN.
    pub delay_based: bool,
    /// The kernel's pacing rate is in force.
    pub paced: bool,
    /// The window is the algorithm's own business: the kernel's CWR state does not tell of reductions.
    pub own_window: bool,
    /// It tells of its reductions itself ([`Listener`](crate::listener::Listener)): they are not guessed from samples.
    pub tells: bool,
}

/// What a thread has to tell of a flow.
#[derive(Debug, Default)]
pub struct News {
    /// The kernel's view.
    pub told: Told,
    /// Reductions since they were last taken.
    pub made: Reductions,
    /// Threshold in bytes with which slow start ended, until it is taken.
    pub slow_start: Option<u64>,
    /// What became of connections, until it is taken.
    pub heard: Vec<Heard>,
}

/// What became of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Heard {
    /// It was opened.
    Opened,
    /// It has ended.
    Closed {
        /// How long after it was opened.
        lasted: units::Duration,
    },
    /// A transfer of a flow that is one connection has come to its end.
    Transfer {
        /// Its size.
        bytes: u64,
        /// How long it took.
        took: units::Duration,
    },
    /// A reply has come.
    Exchange {
        /// Its size.
        bytes: u64,
        /// How long it took.
        took: units::Duration,
    },
}

/// What the threads and the driver share of a flow.
#[derive(Debug, Default)]
pub struct Cell {
    /// Payload received.
    pub received: AtomicU64,
    /// Payload with which the transfer under way is complete; zero if none is.
    pub goal: AtomicU64,
    /// When it was complete, in nanoseconds from the beginning; zero before.
    pub done_at: AtomicU64,
    /// The rest.
    pub news: Mutex<News>,
}

impl Cell {
    /// Of a flow that is run like this, before it begins.
    pub(crate) fn new(wanted: &Wanted) -> Self {
        let told = Told { tells: wanted.tells, ..Told::default() };
        Cell { news: Mutex::new(News { told, ..News::default() }), ..Cell::default() }
    }
}

/// What the threads share.
#[derive(Debug)]
pub struct Common {
    /// Ends them.
    pub stop: AtomicBool,
    /// Per flow.
    pub cells: Vec<Cell>,
    /// How late hosts did what was due: woke, opened a connection, wrote a unit.
    pub late: Mutex<Histogram>,
}

impl Common {
    /// Writes down that something came so much later than it was due.
    pub fn was_late(&self, by: units::Duration) {
        if let Ok(mut late) = self.late.lock() {
            late.add(by);
        }
    }

    /// Writes down what is new of a flow.
    pub fn tell(&self, f: usize, write: impl FnOnce(&mut News)) {
        if let Ok(mut news) = self.cells[f].news.lock() {
            write(&mut news);
        }
    }
}

/// When it all begins, when each flow starts, and the connections of those that have some.
#[derive(Clone, Debug)]
pub struct Begin {
    /// The time of the machine that is zero in the run.
    pub at: Instant,
    /// Per flow.
    pub starts: Vec<units::Instant>,
    /// Per flow.
    pub replays: Vec<Option<Replay>>,
    /// Ask for real-time scheduling.
    pub realtime: bool,
}

/// All threads.
#[derive(Debug)]
pub struct Hosts {
    common: Arc<Common>,
    flows: Vec<FlowSpec>,
    starts: Vec<units::Instant>,
    begin: Vec<Sender<Begin>>,
    threads: Vec<JoinHandle<Result<(), Failure>>>,
    completed: Vec<bool>,
}

/// The address of a flow's sender or receiver.
pub fn address(first: u32, flow: usize, port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(host(first, flow), port)
}

impl Hosts {
    /// Opens what listens, and waits for the beginning.
    pub fn new(
        [near, far]: [&Namespace; 2],
        flows: &[FlowSpec],
        wanted: &[Wanted],
        lowat: u32,
        seed: u64,
    ) -> Result<Self, Failure> {
        let cells = wanted.iter().map(Cell::new).collect();
        let common = Arc::new(Common { stop: AtomicBool::new(false), cells, late: Mutex::default() });
        let player = Player::new(near, flows, wanted)?;
        let opened = far.within(|| Ok((asked::listeners(flows)?, UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT))?)));
        let (listeners, datagrams) = opened.map_err(|e| Failure::at(format!("listening on port {PORT}"), e))?;
        let mut begin = Vec::new();
        let mut threads = Vec::new();
        let mut spawn = |work: Box<dyn FnOnce(Receiver<Begin>) -> Result<(), Failure> + Send>| {
            let (to, from) = channel();
            begin.push(to);
            threads.push(std::thread::spawn(move || {
                sys::no_signals();
                work(from)
            }));
        };
        let (shared, specs) = (common.clone(), flows.to_vec());
        spawn(Box::new(move |begin| receive(&shared, &specs, &listeners, datagrams, &begin)));
        let (shared, home) = (common.clone(), near.clone());
        let plans: Vec<Plan> = flows.iter().zip(wanted).map(|(f, w)| Plan::new(f, w, lowat)).collect();
        spawn(Box::new(move |begin| {
            home.enter().map_err(|e| Failure::at("entering the senders' namespace", e))?;
            send(&shared, plans, seed, &begin)
        }));
        if let Some(player) = player {
            let (shared, home) = (common.clone(), far.clone());
            spawn(Box::new(move |begin| player.play(&shared, &home, &begin)));
        }
        let (flows, completed) = (flows.to_vec(), vec![false; flows.len()]);
        Ok(Hosts { common, flows, starts: Vec::new(), begin, threads, completed })
    }

    /// Starts all threads; `at` is the run's time zero. An error if one has ended before.
    pub fn begin<P: Probe>(&mut self, at: Instant, world: &World<P>, realtime: bool) -> Result<(), Failure> {
        let flows = 0..self.flows.len() as u32;
        self.starts = flows.clone().map(|f| world.start_of(f)).collect();
        let replays = flows.map(|f| world.replay_of(f).cloned()).collect();
        let begin = Begin { at, starts: self.starts.clone(), replays, realtime };
        for to in &self.begin {
            to.send(begin.clone()).map_err(|_| Failure::new("a host ended before the beginning"))?;
        }
        Ok(())
    }

    /// Tells the world what is new; an error if a thread has given up.
    pub fn news<P: Probe>(&mut self, world: &mut World<P>) -> Result<(), Failure> {
        if let Some(i) = self.threads.iter().position(JoinHandle::is_finished)
            && !self.common.stop.load(Ordering::Relaxed)
        {
            let ended = self.threads.remove(i).join();
            return Err(ended
                .unwrap_or_else(|_| Err(Failure::new("a host panicked")))
                .err()
                .unwrap_or_else(|| Failure::new("a host ended before the run")));
        }
        for (f, cell) in self.common.cells.iter().enumerate() {
            let received = cell.received.load(Ordering::Relaxed);
            // The sender may hold it for a moment; the next time will do.
            if let Ok(mut news) = cell.news.try_lock() {
                news.told.goodput = received;
                world.tell(f as u32, news.told);
                world.backed_off(f as u32, std::mem::take(&mut news.made));
                if let Some(ssthresh) = news.slow_start.take() {
                    world.slow_start_over(f as u32, ssthresh);
                }
                for heard in news.heard.drain(..) {
                    match heard {
                        Heard::Opened => world.connection_opened(f as u32),
                        Heard::Closed { lasted } => world.connection_closed(f as u32, lasted),
                        Heard::Transfer { bytes, took } => world.completed(f as u32, bytes, took),
                        Heard::Exchange { bytes, took } => world.exchanged(f as u32, bytes, took),
                    }
                }
            }
            let done = cell.done_at.load(Ordering::Relaxed);
            if let Traffic::Bytes(size) = self.flows[f].traffic
                && done > 0
                && !std::mem::replace(&mut self.completed[f], true)
            {
                let took = units::Instant::from_nanos(done).since(self.starts[f]);
                world.completed(f as u32, size.get(), took);
            }
        }
        Ok(())
    }

    /// How late hosts did what was due.
    pub fn late(&self) -> Histogram {
        self.common.late.lock().map(|late| late.clone()).unwrap_or_default()
    }

    /// Ends the threads; the error of one that has failed.
    pub fn end(self) -> Result<(), Failure> {
        self.common.stop.store(true, Ordering::Relaxed);
        drop(self.begin);
        for thread in self.threads {
            thread.join().unwrap_or_else(|_| Err(Failure::new("a host panicked")))?;
        }
        Ok(())
    }
}

/// A connection at its receiver.
struct Connection {
    socket: OwnedFd,
    flow: usize,
    /// What it may offer at most, where that was asked for.
    window: Option<u64>,
    open: bool,
    /// When a slow reader may read again.
    reads_at: Instant,
}

fn receive(
    common: &Common,
    flows: &[FlowSpec],
    listeners: &[OwnedFd],
    datagrams: UdpSocket,
    begin: &Receiver<Begin>,
) -> Result<(), Failure> {
    let plain = |e| Failure::at("receiving", e);
    let Ok(Begin { at: began, realtime, .. }) = begin.recv() else { return Ok(()) };
    let _ = realtime && sys::go_first(HOSTS_PRIORITY).is_ok();
    let mut connections: Vec<Connection> = Vec::new();
    let mut seen: Vec<Seen> = flows.iter().map(|_| Seen::default()).collect();
    while !common.stop.load(Ordering::Relaxed) {
        let mut files = vec![sys::waiting(&datagrams, sys::POLLIN)];
        files.extend(connections.iter().map(|c| &c.socket).chain(listeners).map(|s| sys::waiting(s, sys::POLLIN)));
        if !sys::poll(&mut files, Duration::from_millis(50)).map_err(plain)? {
            continue;
        }
        let mut number = [0; 8];
        while let Ok((bytes, peer)) = sys::receive(&datagrams, &mut number) {
            let flow = u32::from(*peer.ip()).wrapping_sub(SENDERS) as usize;
            let Some(seen) = seen.get_mut(flow) else { continue };
            // One too short for a number counts whenever it comes.
            if bytes < number.len() || seen.first(u64::from_be_bytes(number)) {
                common.cells[flow].received.fetch_add(bytes as u64, Ordering::Relaxed);
            }
        }
        for (connection, file) in connections.iter_mut().zip(&files[1..]) {
            if file.revents != 0 {
                drain(connection, common, flows, began);
            }
        }
        let calling = files[1 + connections.len()..].iter().zip(listeners).filter(|(file, _)| file.revents != 0);
        connections.retain(|c| c.open);
        for (_, listener) in calling {
            while let Ok(Some((socket, peer))) = sys::accept(listener) {
                let flow = u32::from(*peer.ip()).wrapping_sub(SENDERS) as usize;
                let Some(spec) = flows.get(flow) else { continue };
                let window = asked::window(spec);
                if let Some(most) = window {
                    let set = sys::limit_window(&socket, most);
                    set.map_err(|e| Failure::at(format!("flow {}: receive_window", spec.name), e))?;
                }
                connections.push(Connection { socket, flow, window, open: true, reads_at: Instant::now() });
            }
        }
        let dozed = Instant::now();
        std::thread::sleep(NAP);
        common.was_late(units::Duration::from_nanos(dozed.elapsed().saturating_sub(NAP).as_nanos() as u64));
    }
    Ok(())
}

fn drain(connection: &mut Connection, common: &Common, flows: &[FlowSpec], began: Instant) {
    let cell = &common.cells[connection.flow];
    let FlowSpec { read_rate, mss, traffic, .. } = &flows[connection.flow];
    let now = Instant::now();
    // A slow reader takes a segment's worth at a time; it makes up for what it waked late, and not for what it waited for.
    let most = if read_rate.is_some() { mss.get() as usize } else { 1 << 20 };
    while read_rate.is_none() || connection.reads_at <= now {
        match sys::discard(&connection.socket, most) {
            Ok(0) => connection.open = false,
            Ok(n) => {
                if let Some(most) = connection.window {
                    let _ = sys::limit_window_again(&connection.socket, most);
                }
                if let Some(rate) = read_rate {
                    let takes = units::Bytes::new(n as u64) / *rate;
                    connection.reads_at += Duration::from_nanos(takes.as_nanos());
                }
                let received = cell.received.fetch_add(n as u64, Ordering::Relaxed) + n as u64;
                let goal = match traffic {
                    Traffic::Bytes(size) => size.get(),
                    _ => cell.goal.load(Ordering::Acquire),
                };
                if goal > 0 && received >= goal && cell.done_at.load(Ordering::Relaxed) == 0 {
                    cell.done_at.store(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
                }
                continue;
            }
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => connection.reads_at = connection.reads_at.max(now),
            Err(_) => connection.open = false,
        }
        return;
    }
}

/// Where a flow's receiver listens.
pub fn receiver(flow: usize) -> SocketAddrV4 {
    address(RECEIVERS, flow, PORT)
}
