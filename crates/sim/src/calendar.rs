//! The run's own calendar: the window of measurement, starts and stops, changes of links, samples of series.

use crate::capacity::Used;
use crate::node::Transport;
use crate::probe::{FlowSample, LinkSample, Probe, Trace, VarSource};
use crate::traffic;
use crate::world::{Entry, World};
use units::{Bytes, Instant};

impl<P: Probe> World<P> {
    pub(crate) fn calendar_entry(&mut self) {
        let (_, entry) = self.calendar.pop_first().expect("an event means an entry");
        self.schedule_calendar();
        match entry {
            Entry::MeasureBegins => self.measure_begins(),
            Entry::MeasureEnds => self.measure_ends(),
            Entry::Start(f) => traffic::start(self, f),
            Entry::Stop(f) => traffic::stop(self, f),
            Entry::Application(f) => traffic::application(self, f),
            Entry::SpurtEnds(f) => traffic::spurt_ends(self, f),
            Entry::Read(f) => traffic::read(self, f),
            Entry::Connection(node, generation, acceptor) => self.connection_wakes(node, generation, acceptor),
            Entry::Change(l, c) => self.change(l, c),
            Entry::Sample => self.sample(),
        }
    }

    pub(crate) fn measure_begins(&mut self) {
        self.count_delays();
        self.measuring = true;
        let now = self.now;
        self.sessions.mark(now, true);
        for link in &mut self.net.links {
            (link.count.since, link.count.packet_time) = (now, 0);
            link.count.most = link.waiting_packets();
            link.capacity.window[0] = link.edge(now);
        }
        for node in &mut self.nodes {
            node.count.goodput[0] = node.goodput();
            node.count.retransmits[0] = node.retransmits();
        }
    }

    pub(crate) fn measure_ends(&mut self) {
        self.count_delays();
        self.measuring = false;
        let now = self.now;
        self.sessions.mark(now, false);
        for link in &mut self.net.links {
            link.account(now);
        }
        for link in &mut self.net.links {
            // What comes later is not in the window.
            link.count.since = Instant::MAX;
            link.capacity.window[1] = link.edge(now);
        }
        for (f, node) in self.nodes.iter_mut().enumerate() {
            // Connections hand their counts over as they close.
            if self.sessions.are_of(f) && !self.outside {
                continue;
            }
            node.count.goodput[1] = node.goodput();
            node.count.retransmits[1] = node.retransmits();
        }
    }

    pub(crate) fn change(&mut self, l: u32, c: u32) {
        let change = self.scenario.links[l as usize].changes[c as usize];
        let link = &mut self.net.links[l as usize];
        if let Some(rate) = change.rate {
            link.set_rate(self.now, rate);
            if let Some(tick) = &mut link.tick {
                tick.set_rate(rate);
            }
        }
        if let Some(loss) = change.loss {
            link.set_loss(loss);
        }
        if let Some(delay) = change.delay {
            link.set_delay(delay);
            if link.tick.is_none() {
                self.net.reroute(&mut self.scheduler, l);
            }
            self.net.delays[l as usize] = delay;
        }
        if change.rate.is_some() || change.delay.is_some() {
            for node in &mut self.nodes {
                node.bdp = self.net.bdp(&self.scenario, &node.spec);
            }
        }
    }

    pub(crate) fn sample(&mut self) {
        let Some(step) = self.step else { return };
        self.count_delays();
        self.enter(self.now + step, Entry::Sample);
        let seconds = step.as_secs_f64();
        let mbps = |bytes: u64| bytes as f64 * 8e-6 / seconds;
        self.sample_connections(mbps);
        self.sample_flows(mbps);
        self.sample_links();
    }

    /// Flows that are one connection, and those outside.
    fn sample_flows(&mut self, mbps: impl Fn(u64) -> f64) {
        let now = self.now;
        for (i, node) in self.nodes[..self.sessions.fixed as usize].iter_mut().enumerate() {
            if !node.started || (self.sessions.are_of(i) && !self.outside) {
                continue;
            }
            let (total, goodput) = (node.count.total_bytes, node.goodput());
            let before = core::mem::replace(&mut node.count.sampled, (total, goodput));
            let mut sample = FlowSample {
                throughput_mbps: mbps(total - before.0),
                goodput_mbps: mbps(goodput - before.1),
                owd_ms: node.count.step_owd_ms(),
                ..FlowSample::default()
            };
            if let Transport::Outside(told) = &node.transport {
                let many = self.sessions.are_of(i);
                sample = FlowSample {
                    rtt_ms: if many { told.sample.rtt_ms } else { told.rtt_ms(total > before.0) },
                    throughput_mbps: sample.throughput_mbps,
                    goodput_mbps: sample.goodput_mbps,
                    owd_ms: sample.owd_ms,
                    ..told.sample
                };
            }
            // A connection that has ended has no window any more.
            if let Transport::Tcp(tcp) = &node.transport
                && !tcp.sender.is_finished()
            {
                let flow = tcp.sender.flow();
                sample.cwnd_bytes = flow.cwnd.as_f64();
                if flow.ssthresh != Bytes::MAX {
                    sample.ssthresh_bytes = flow.ssthresh.as_f64();
                }
                if !flow.srtt.is_zero() {
                    sample.srtt_ms = flow.srtt.as_millis_f64();
                    // The last sample says nothing of now if nothing has been under way since.
                    if !flow.in_flight.is_zero() || total > before.0 {
                        sample.rtt_ms = flow.rtt.as_millis_f64();
                    }
                }
                sample.in_flight_bytes = flow.in_flight.as_f64();
                if let Some(rate) = flow.pacing {
                    sample.pacing_mbps = rate.as_mbps();
                }
                let probe = &mut self.probe;
                tcp.sender.cc().vars(&mut |name, value| {
                    probe.see(now, Trace::Var { source: VarSource::Flow, index: i as u32, name, value });
                });
            }
            self.probe.see(now, Trace::FlowSample { flow: i as u32, sample });
        }
    }

    fn sample_links(&mut self) {
        let now = self.now;
        for l in 0..self.scenario.links.len() {
            let link = &mut self.net.links[l];
            let step = core::mem::take(&mut link.step);
            let bytes = step.sent_bytes;
            let edge = link.edge(now);
            let used = Used::between(&core::mem::replace(&mut link.capacity.step, edge), &edge, bytes);
            let idle = link.queue.is_empty() && bytes == 0;
            let plain = self.scenario.links[l].only_delays();
            let counted = |bytes: u64| if plain { f64::NAN } else { bytes as f64 };
            let sample = LinkSample {
                queue_ms: if idle { 0.0 } else { link.last_sojourn.as_millis_f64() },
                queue_packets: link.queue.len() as u32,
                queue_bytes: link.queue.backlog().as_f64(),
                utilisation: used.utilisation().unwrap_or(f64::NAN),
                dropped: step.dropped,
                marked: step.marked,
                arrived_bytes: counted(step.arrived_bytes),
                departed_bytes: counted(bytes),
                delay_ms: if step.sent > 0 { step.sojourn.as_millis_f64() / step.sent as f64 } else { f64::NAN },
            };
            self.probe.see(now, Trace::LinkSample { link: l as u32, sample });
            let probe = &mut self.probe;
            link.queue.vars(&mut |name, value| {
                probe.see(now, Trace::Var { source: VarSource::Link, index: l as u32, name, value });
            });
        }
    }
}
