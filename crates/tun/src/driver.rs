//! The loop: packets from one device through the world to the other, by the machine's clock.

use crate::check::{self, Lateness, Validity};
use crate::flows::{End, Sorter};
use crate::frame::{Bad, Frame};
use crate::frames::{Frames, MTU, Real};
use crate::glance::{self, Glance, Shared};
use crate::hosts::Hosts;
use crate::listener::Listener;
use crate::namespace::Device;
use crate::rtt::Meters;
use crate::watch::{Chunks, Watch};
use crate::{Failure, sys};
use experiment::{FlowSpec, RateSpec, Scenario};
use sim::capture::{Capture, Wanted};
use sim::histogram::Histogram;
use sim::outside::{Arrival, Fate};
use sim::packet::Way;
use sim::{Keep, Options, Summary, Table, World};
use std::cell::RefCell;
use std::io::{ErrorKind, Read, Write};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use units::{Duration, Instant};

/// Packets taken from one device before the other has its turn.
const TURN: usize = 16;
/// From this rate on packets come more often than a thread can be woken: it sleeps a while and takes several at once.
const FAST_MBPS: f64 = 300.0;
const NAP: Duration = Duration::from_micros(40);
/// A fast link with nothing to do for this long is waited for like any other.
const IDLE: Duration = Duration::from_micros(400);
/// How often hosts are asked for news, at least: the finest step of their series.
const NEWS: Duration = Duration::from_millis(5);
/// The longest sleep: how soon a stop is heard.
const DOZE: Duration = Duration::from_millis(20);

/// What is to be run, and what is to be kept.
#[derive(Debug)]
pub struct Setup {
    /// Links, flows, window.
    pub scenario: Scenario,
    /// Which repetition.
    pub repetition: u32,
    /// Near and far device.
    pub ends: [Device; 2],
    /// Tables to keep.
    pub keep: Keep,
    /// Keep every arrival, for a replay.
    pub arrivals: bool,
    /// Capture packets: the file, the points (empty: all), and a title.
    pub capture: Option<(PathBuf, Vec<String>, String)>,
    /// Ask for real-time scheduling.
    pub realtime: bool,
    /// Rings of algorithms in the kernel, each with the map that counts what it had no room for.
    pub rings: Vec<(u32, Option<u32>)>,
    /// Keep their ACKs.
    pub acks: bool,
}

/// What a run gave.
#[derive(Debug)]
pub struct Outcome {
    /// Its figures.
    pub summary: Summary,
    /// Its tables.
    pub tables: Vec<(&'static str, Table)>,
    /// Names that the table `vars` counts.
    pub names: Vec<&'static str>,
    /// Its doubts.
    pub validity: Validity,
    /// Flows that programs made, from the second on.
    pub flows: Vec<FlowSpec>,
    /// How long it took.
    pub end: Instant,
    /// Why the capture is not whole, if it is not: that costs nothing but the capture.
    pub uncaptured: Option<std::io::Error>,
}

/// Runs until the scenario's end or until it is stopped. An error if a device, the capture's file or a host's thread
/// fails.
pub fn drive(setup: Setup, mut sorter: Sorter, mut hosts: Option<Hosts>, shared: &Shared) -> Result<Outcome, Failure> {
    sys::no_signals();
    let memory_locked = setup.realtime && sys::lock_memory().is_ok();
    let result = Driver::new(&setup)
        .and_then(|mut driver| {
            driver.validity.memory_locked = memory_locked;
            driver.run(&setup, &mut sorter, hosts.as_mut(), shared)?;
            if let Some(hosts) = &hosts {
                driver.validity.hosts_us = Lateness::of(&hosts.late(), check::HOSTS_LATE);
            }
            Ok(driver)
        })
        .and_then(|driver| driver.finish(&setup, &sorter));
    if memory_locked {
        sys::unlock_memory();
    }
    if let Some(hosts) = hosts {
        hosts.end()?;
    }
    result
}

struct Driver {
    world: World<Watch>,
    frames: Rc<RefCell<Frames>>,
    began: std::time::Instant,
    late: Histogram,
    meters: Meters,
    arrivals: Option<Vec<Arrival>>,
    listener: Listener,
    fates: Vec<Fate>,
    validity: Validity,
    glances: Vec<Glance>,
    before: (u64, u64),
    lost_before: u64,
    ended: Instant,
}

impl Driver {
    fn new(setup: &Setup) -> Result<Self, Failure> {
        // Enough for what a gigabit holds in 50 ms; more comes when it is needed.
        let frames = Rc::new(RefCell::new(Frames::new(4096)));
        let capture = match &setup.capture {
            None => None,
            Some((path, points, title)) => {
                let wanted = Wanted { points: points.clone(), flows: Vec::new() };
                let made = Chunks::create(path)
                    .and_then(|out| Capture::with(Real(frames.clone()), &setup.scenario, &wanted, out, title, &[]));
                Some(made.map_err(|e| Failure::at(format!("{}: cannot be written", path.display()), e))?)
            }
        };
        let options = Options { repetition: setup.repetition, outside: true, ..Options::default() };
        let world = World::new(&setup.scenario, Watch::new(setup.keep, capture), options)?;
        let lost_before = setup.ends.iter().map(|d| d.dropped().unwrap_or(0)).sum();
        Ok(Driver {
            glances: setup.scenario.links.iter().map(Glance::new).collect(),
            world,
            frames,
            began: std::time::Instant::now(),
            late: Histogram::default(),
            meters: Meters::new(&setup.scenario.flows),
            arrivals: setup.arrivals.then(Vec::new),
            listener: Listener::new(&setup.rings, setup.scenario.flows.len() as u32, setup.acks)?,
            fates: Vec::with_capacity(1024),
            validity: Validity { cpus: crate::cpus(), load_1min: check::load(), ..Validity::default() },
            before: check::cpu_time(),
            lost_before,
            ended: Instant::ZERO,
        })
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(self.began.elapsed().as_nanos() as u64)
    }

    fn run(
        &mut self,
        setup: &Setup,
        sorter: &mut Sorter,
        mut hosts: Option<&mut Hosts>,
        shared: &Shared,
    ) -> Result<(), Failure> {
        self.validity.realtime = setup.realtime && sys::go_first(10).is_ok();
        sys::no_slack();
        let end = Instant::ZERO + setup.scenario.run.duration;
        let fast = setup.scenario.links.iter().any(|l| match &l.rate {
            Some(RateSpec::Constant(rate)) => rate.as_mbps() >= FAST_MBPS,
            _ => false,
        });
        let mut buffer = [0; 65_536];
        let (mut glance_at, mut news_at) = (Instant::ZERO + glance::EVERY, Instant::ZERO);
        self.began = std::time::Instant::now();
        self.listener.begin();
        if let Some(hosts) = &mut hosts {
            hosts.begin(self.began, &self.world, setup.realtime)?;
        }
        loop {
            let mut came = 0;
            for end in [End::Near, End::Far] {
                came += self.take(&setup.ends[end as usize], end, sorter, &mut buffer)?;
            }
            let now = self.now();
            if now >= end || shared.stop.load(Ordering::Relaxed) {
                self.ended = now.min(end);
                self.world.advance(self.ended);
                self.deliver(setup, sorter);
                self.listener.take(&mut self.world);
                return hosts.map_or(Ok(()), |hosts| hosts.news(&mut self.world));
            }
            if let Some(hosts) = &mut hosts
                && now >= news_at
            {
                hosts.news(&mut self.world)?;
                self.listener.take(&mut self.world);
                news_at = now + NEWS;
            }
            self.world.advance(now);
            self.deliver(setup, sorter);
            for (l, g) in self.glances.iter_mut().enumerate() {
                g.notice(self.world.look(l));
            }
            if now >= glance_at {
                self.glance(now, shared);
                glance_at = now + glance::EVERY;
            }
            let next = self.world.due().unwrap_or(Instant::MAX).min(now + DOZE).min(end);
            let next = if hosts.is_some() { next.min(news_at) } else { next };
            let wait = next.since(self.now().min(next));
            let failed = |e| Failure::at("waiting", e);
            if fast && (came > 0 || wait < IDLE) {
                // Whatever comes meanwhile is taken together.
                if came < TURN {
                    sys::poll(&mut [], NAP.into_std()).map_err(failed)?;
                }
            } else if !wait.is_zero() {
                let mut files = setup.ends.each_ref().map(|d| sys::waiting(d, sys::POLLIN));
                sys::poll(&mut files, wait.into_std()).map_err(failed)?;
            }
        }
    }

    /// Takes what a device has.
    fn take(&mut self, device: &Device, end: End, sorter: &mut Sorter, buffer: &mut [u8]) -> Result<usize, Failure> {
        for n in 0..TURN {
            let bytes = match device.file().read(buffer) {
                Ok(length) => &buffer[..length],
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return Ok(n),
                // The device is down.
                Err(e) if e.raw_os_error() == Some(libc::EIO) => return Ok(n),
                Err(e) => return Err(Failure::at("reading from a TUN device", e)),
            };
            let frame = match Frame::parse(bytes) {
                Ok(frame) if bytes.len() <= MTU => frame,
                Err(Bad::Multicast) => {
                    self.validity.ignored += 1;
                    continue;
                }
                Ok(_) | Err(Bad::Malformed | Bad::Unknown) => {
                    self.validity.malformed += 1;
                    continue;
                }
            };
            let now = self.now();
            self.world.advance(now);
            let Some((flow, way)) = sorter.sort(&mut self.world, end, &frame)? else {
                self.validity.ignored += 1;
                continue;
            };
            if let (Some(sequence), Way::Out) = (&frame.sequence, way)
                && let Some(meter) = self.meters.of(flow, frame.key.ports[1])
            {
                meter.sent(sequence, now);
            }
            let (size, ecn) = (bytes.len() as u32, frame.ecn as u8);
            if let Some(all) = &mut self.arrivals {
                all.push(Arrival { at: now, flow, way, size, ecn });
            }
            let handle = self.frames.borrow_mut().keep(bytes, end);
            self.world.inject(flow, way, size, ecn, handle);
        }
        Ok(TURN)
    }

    /// Hands out what has come to its end.
    fn deliver(&mut self, setup: &Setup, sorter: &Sorter) {
        self.fates.extend(self.world.fates());
        let mut fates = std::mem::take(&mut self.fates);
        for fate in fates.drain(..) {
            match fate {
                Fate::Copied { handle } => self.frames.borrow_mut().copied(handle),
                Fate::Dropped { handle } => self.frames.borrow_mut().done(handle),
                Fate::Delivered { at, flow, way, handle, ce } => {
                    let mut frames = self.frames.borrow_mut();
                    if ce {
                        frames.mark(handle);
                    }
                    let bytes = frames.get(handle);
                    let device = &setup.ends[sorter.towards(flow, way) as usize];
                    if device.file().write(bytes).is_err() {
                        self.validity.refused += 1;
                    }
                    let now = Instant::from_nanos(self.began.elapsed().as_nanos() as u64);
                    self.late.add(now.since(at));
                    if way == Way::Back
                        && let Ok(Frame { sequence: Some(s), key, .. }) = Frame::parse(bytes)
                        && let Some(meter) = self.meters.of(flow, key.ports[0])
                        && let Some(rtt) = meter.acknowledged(&s, now)
                    {
                        self.world.measured_rtt(flow, rtt);
                    }
                    frames.done(handle);
                }
            }
        }
        self.fates = fates;
    }

    fn glance(&mut self, now: Instant, shared: &Shared) {
        for (l, g) in self.glances.iter_mut().enumerate() {
            g.take(now, self.world.look(l));
        }
        if let Ok(mut status) = shared.status.try_lock() {
            status.time_s = now.as_secs_f64();
            status.links.clear();
            status.links.extend(self.glances.iter().map(|g| g.status.clone()));
            status.late_p99_us = self.late.quantiles([0.99])[0].as_nanos() as f64 * 1e-3;
        }
    }

    fn finish(mut self, setup: &Setup, sorter: &Sorter) -> Result<Outcome, Failure> {
        let lost: u64 = setup.ends.iter().map(|d| d.dropped().unwrap_or(0)).sum();
        let (stolen, all) = check::cpu_time();
        let v = &mut self.validity;
        v.tun_dropped = lost.saturating_sub(self.lost_before);
        v.untold = self.listener.lost();
        v.lateness_us = Lateness::of(&self.late, check::LATE);
        v.steal_pct = 100.0 * (stolen - self.before.0) as f64 / (all - self.before.1).max(1) as f64;
        v.load_1min = v.load_1min.max(check::load());
        v.achieved = self.glances.iter().filter_map(Glance::achieved).collect();
        let (summary, watch) = self.world.finish();
        let closed = watch.capture.map(|capture| capture.finish().and_then(|(_, chunks)| chunks.close()));
        let mut tables = summary.tables.clone();
        tables.extend(watch.recorder.tables());
        if let Some(all) = &self.arrivals {
            tables.push(("arrivals", sim::outside::arrivals_table(all)));
        }
        tables.extend(self.listener.acks().map(|rows| ("acks", sim::tape::acks_table(&rows))));
        let names = watch.recorder.names().to_vec();
        Ok(Outcome {
            summary,
            tables,
            names,
            validity: self.validity.judge(),
            flows: sorter.specs().to_vec(),
            end: self.ended,
            uncaptured: closed.and_then(Result::err),
        })
    }
}

/// The standard library's duration.
trait IntoStd {
    fn into_std(self) -> std::time::Duration;
}

impl IntoStd for Duration {
    fn into_std(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.as_nanos())
    }
}
