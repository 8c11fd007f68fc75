//! Applications: what flows send, and when.

use crate::count::Completion;
use crate::node::Transport;
use crate::packet::Way;
use crate::probe::{Probe, Trace};
use crate::world::{Entry, World};
use experiment::{DATAGRAM_HEADER, Traffic};
use tcp::{ENDLESS, Segment};
use units::{Duration, Instant, Rate, Rng};

/// A flow starts.
pub(crate) fn start<P: Probe>(world: &mut World<P>, f: u32) {
    let now = world.now;
    world.nodes[f as usize].started = true;
    match world.nodes[f as usize].spec.traffic {
        Traffic::Bulk { header } => {
            if !header.is_zero() {
                tell(world, f, header.get());
                if let Transport::Tcp(tcp) = &mut world.nodes[f as usize].transport {
                    tcp.sender.write(now, header.get());
                    tcp.sender.push();
                }
            }
            write(world, f, ENDLESS);
        }
        Traffic::Bytes(bytes) => {
            begin_transfer(world, f, bytes.get());
            close(world, f);
        }
        Traffic::Cbr { .. } => {
            if let Transport::Datagrams(d) = &mut world.nodes[f as usize].transport {
                d.until = if d.on.is_zero() { Instant::MAX } else { now };
            }
            application(world, f);
        }
        Traffic::OnOff { .. } | Traffic::Web { .. } | Traffic::Dash { .. } | Traffic::Tmix(_) => application(world, f),
    }
}

/// A flow is told to stop: what was written and not sent is forgotten.
pub(crate) fn stop<P: Probe>(world: &mut World<P>, f: u32) {
    let now = world.now;
    world.nodes[f as usize].stopped = true;
    if matches!(world.nodes[f as usize].spec.traffic, Traffic::Tmix(_)) {
        // What is open goes on to its end.
        return;
    }
    if let Transport::Tcp(tcp) = &mut world.nodes[f as usize].transport {
        tcp.sender.truncate(now);
    }
    close(world, f);
}

fn write<P: Probe>(world: &mut World<P>, f: u32, bytes: u64) {
    let now = world.now;
    tell(world, f, bytes);
    if let Transport::Tcp(tcp) = &mut world.nodes[f as usize].transport {
        tcp.sender.write(now, bytes);
    }
    world.pump(f, false);
}

fn tell<P: Probe>(world: &mut World<P>, f: u32, bytes: u64) {
    if P::ON {
        world.probe.see(world.now, Trace::Write { place: f, way: Way::Out, bytes });
    }
}

fn close<P: Probe>(world: &mut World<P>, f: u32) {
    let now = world.now;
    if let Transport::Tcp(tcp) = &mut world.nodes[f as usize].transport {
        tcp.sender.close(now);
    }
    world.pump(f, false);
}

fn begin_transfer<P: Probe>(world: &mut World<P>, f: u32, bytes: u64) {
    let now = world.now;
    let node = &mut world.nodes[f as usize];
    // Everything before has arrived: a transfer begins when the one before it is done.
    let goal = node.goodput() + bytes;
    node.transfer = Some((bytes, now));
    if let Transport::Tcp(tcp) = &mut node.transport {
        tcp.goal = goal;
    }
    write(world, f, bytes);
}

/// A slow reader takes a segment's worth of what waits, or what there is, and is busy with it for as long as its rate takes.
#[cold]
pub(crate) fn read<P: Probe>(world: &mut World<P>, f: u32) {
    let now = world.now;
    let node = &mut world.nodes[f as usize];
    let (Transport::Tcp(tcp), Some(rate)) = (&mut node.transport, node.spec.read_rate) else { return };
    if now < node.reads_at {
        return;
    }
    let bytes = tcp.receiver.read(node.spec.mss);
    if bytes.is_zero() {
        return;
    }
    node.reads_at = now + bytes / rate;
    let (again, done) = (node.reads_at, tcp.receiver.received() >= tcp.goal);
    if done {
        transfer_done(world, f);
    }
    world.enter(again, Entry::Read(f));
    world.pump(f, true);
}

/// The last byte of a transfer has arrived.
pub(crate) fn transfer_done<P: Probe>(world: &mut World<P>, f: u32) {
    let now = world.now;
    let node = &mut world.nodes[f as usize];
    let Some((bytes, asked)) = node.transfer.take() else { return };
    if let Transport::Tcp(tcp) = &mut node.transport {
        tcp.goal = u64::MAX;
    }
    node.count.completions.push(Completion { bytes, seconds: now.since(asked).as_secs_f64(), at: now.as_secs_f64() });
    match node.spec.traffic {
        Traffic::Web { think, .. } => {
            let pause = Duration::from_secs_f64(node.rng.exponential(think.as_secs_f64()));
            world.enter(now + pause, Entry::Application(f));
        }
        Traffic::Dash { cycle, .. } => world.enter((asked + cycle).max(now), Entry::Application(f)),
        _ => {}
    }
}

/// The application's next step.
pub(crate) fn application<P: Probe>(world: &mut World<P>, f: u32) {
    let node = &mut world.nodes[f as usize];
    if node.stopped {
        return;
    }
    match node.spec.traffic {
        Traffic::Bulk { .. } | Traffic::Bytes(_) => {}
        Traffic::Cbr { .. } => datagram(world, f),
        Traffic::Web { size, sigma, .. } => {
            let bytes = node.rng.lognormal(size.as_f64(), sigma).max(1.0) as u64;
            begin_transfer(world, f, bytes);
        }
        Traffic::Dash { chunk, .. } => begin_transfer(world, f, chunk.get()),
        Traffic::OnOff { on, off, rate } => on_off(world, f, on, off, rate),
        Traffic::Tmix(_) => world.connections_arrive(f),
    }
}

fn on_off<P: Probe>(world: &mut World<P>, f: u32, on: Duration, off: Duration, rate: Option<Rate>) {
    let now = world.now;
    let node = &mut world.nodes[f as usize];
    if now >= node.spurt_until {
        node.spurt_until = now + Duration::from_secs_f64(node.rng.exponential(on.as_secs_f64()));
    }
    let until = node.spurt_until;
    let silence = |rng: &mut Rng| Duration::from_secs_f64(rng.exponential(off.as_secs_f64()));
    match rate {
        // One segment at a time, at the application's rate.
        Some(rate) => {
            let mss = node.spec.mss;
            let next = now + mss / rate;
            let next = if next < until { next } else { until + silence(&mut node.rng) };
            write(world, f, mss.get());
            world.enter(next, Entry::Application(f));
        }
        // As fast as the window allows until the spurt ends; what is not sent then is forgotten.
        None => {
            let next = until + silence(&mut node.rng);
            write(world, f, ENDLESS);
            world.enter(until, Entry::SpurtEnds(f));
            world.enter(next, Entry::Application(f));
        }
    }
}

/// An on period is over.
pub(crate) fn spurt_ends<P: Probe>(world: &mut World<P>, f: u32) {
    let now = world.now;
    if let Transport::Tcp(tcp) = &mut world.nodes[f as usize].transport {
        tcp.sender.truncate(now);
    }
}

fn datagram<P: Probe>(world: &mut World<P>, f: u32) {
    let now = world.now;
    let measuring = world.measuring;
    let node = &mut world.nodes[f as usize];
    let Transport::Datagrams(d) = &mut node.transport else { return };
    if now >= d.until {
        // A new talk spurt, unless this is the end of one: then silence first.
        if d.number > 0 && d.until != Instant::ZERO && !d.off.is_zero() {
            let silence = Duration::from_secs_f64(node.rng.exponential(d.off.as_secs_f64()));
            let spurt = Duration::from_secs_f64(node.rng.exponential(d.on.as_secs_f64()));
            d.until = now + silence + spurt;
            if !silence.is_zero() {
                world.enter(now + silence, Entry::Application(f));
                return;
            }
        } else {
            let spurt = Duration::from_secs_f64(node.rng.exponential(d.on.as_secs_f64()));
            d.until = now + spurt;
        }
    }
    d.number += 1;
    let segment = Segment { seq: d.number, len: d.size - DATAGRAM_HEADER.get() as u32, ..Segment::default() };
    let (size, gap) = (d.size, d.gap.pass());
    node.count.sent_packets += u64::from(measuring);
    world.launch(f, Way::Out, segment, size);
    world.enter(now + gap.max(Duration::from_nanos(1)), Entry::Application(f));
}
