//! Links: what `[path]` and `[[link]]` have in common, and routes over named links.

use crate::clock::clock;
use crate::flows::Wire;
use crate::limits::{CHANGES_MAX, LINKS_MAX, RATE_MAX, RATE_MIN, RTT_MAX, RTT_MIN};
use crate::loss::LossText;
use crate::quantity::{AccessText, Buffer, ClockKind, Probability, Q, Queue, RateText, SpecOf, Word};
use crate::raw::{File, FlowFile, LinkChange, LinkFile, LossWhere, Opt, ReorderFile};
use crate::resolve::{Context, Laid, buffer, halves, within};
use crate::scenario::{Change, Clock, Link, LinkId, LossAt, LossModel, RateSpec, Reorder};
use crate::source::{Checked, Fault, Place, did_you_mean};
use crate::tree::{Any, At, get};
use params::{Spec, Value};
use units::{Duration, Instant, Rate};

/// The keys of a link, wherever they were written.
#[derive(Clone, Copy)]
pub(crate) struct Written<'a> {
    /// Where: "path" or "link.core".
    pub key: &'a str,
    pub rate: &'a Opt<RateText>,
    pub buffer: &'a Opt<Buffer>,
    pub queue: &'a Opt<SpecOf<Queue>>,
    /// Names of the three keys above: the way back of a dumbbell has its own.
    pub names: [&'a str; 3],
    pub loss: &'a Opt<LossText>,
    pub loss_at: &'a Opt<Word<LossWhere>>,
    /// A change brings a loss.
    pub loss_later: bool,
    pub jitter: &'a Opt<Duration>,
    pub reorder: Option<&'a At<ReorderFile>>,
    pub duplicate: &'a Opt<Probability>,
    pub quick_start: &'a Opt<Probability>,
    pub clock: &'a Opt<SpecOf<ClockKind>>,
}

impl Written<'_> {
    /// A link of this name. `rtt` is what one BDP stands for.
    pub fn link(&self, name: &str, delay: Duration, rtt: Duration, context: &Context<'_>) -> Checked<Laid> {
        let [rate_key, buffer_key, queue_key] = self.names.map(|name| format!("{}.{name}", self.key));
        let (rate, mean) = rate(self.rate, &rate_key, context)?;
        let limit = match self.buffer {
            Some(at) => Some(buffer(at, &buffer_key, rate.as_ref(), mean, rtt)?),
            None => None,
        };
        let queue = match self.queue {
            Some(at) => {
                let fail = |e: params::ParamError| Fault::at(at.place, e.to_string()).under(queue_key.clone());
                aqm::resolve(&at.value.0.0).map_err(fail)?;
                if rate.is_none() {
                    let message = "a link without a rate has no queue: give it a rate or leave the queue out";
                    return Err(Fault::at(at.place, message).under(queue_key));
                }
                at.value.0.0.clone()
            }
            None => Spec::named("fifo"),
        };
        let clock = clock(self.clock, self.key, rate.as_ref())?;
        if let (Some(at), None, false) = (self.loss_at, self.loss, self.loss_later) {
            let message = "says where a loss strikes, and there is none: give loss, too, as in loss = \"1 %\"";
            return Err(Fault::at(at.place, message).under(format!("{}.loss_at", self.key)));
        }
        let link = Link {
            name: name.into(),
            rate,
            delay,
            buffer: limit,
            queue,
            loss: self.loss.as_ref().map_or(LossModel::None, |at| at.value.0.model()),
            loss_at: match self.loss_at.as_ref().map(|at| at.value.0.0) {
                Some(LossWhere::After) => LossAt::After,
                Some(LossWhere::Enqueue) | None => LossAt::Enqueue,
            },
            jitter: match self.jitter {
                Some(at) => within(at, &format!("{}.jitter", self.key), Duration::ZERO, RTT_MAX)?,
                None => Duration::ZERO,
            },
            reorder: match self.reorder {
                Some(at) => Some(Reorder {
                    probability: at.value.probability.value.0.0,
                    delay: within(&at.value.delay, &format!("{}.reorder.delay", self.key), RTT_MIN, RTT_MAX)?,
                }),
                None => None,
            },
            duplicate: self.duplicate.as_ref().map_or(0.0, |at| at.value.0.0),
            quick_start: self.quick_start(&clock)?,
            clock,
            changes: Vec::new(),
        };
        let buffer_at = self.buffer.as_ref().map(|at| (at.place, buffer_key));
        Ok(Laid { link, buffer_at })
    }
}

impl Written<'_> {
    /// What a router that knows Quick-Start may grant.
    fn quick_start(&self, clock: &Clock) -> Checked<Option<f64>> {
        let Some(at) = self.quick_start else { return Ok(None) };
        if *clock != Clock::Exact {
            let message = "an emulator that ticks is no router and grants nothing: leave it out, or the clock";
            return Err(Fault::at(at.place, message).under(format!("{}.quick_start", self.key)));
        }
        Ok(Some(at.value.0.0))
    }
}

/// The rate, and its mean for buffers given in time.
fn rate(at: &Opt<RateText>, key: &str, context: &Context<'_>) -> Checked<(Option<RateSpec>, Rate)> {
    let Some(at) = at else { return Ok((None, Rate::ZERO)) };
    match &at.value.0 {
        RateText::Unlimited => Ok((None, Rate::ZERO)),
        RateText::Constant(rate) => {
            let rate = rate_within(*rate, at.place, key)?;
            Ok((Some(RateSpec::Constant(rate)), rate))
        }
        RateText::Trace(file) => {
            let trace = context.traces.read(file).map_err(|e| Fault::at(at.place, e).under(key))?;
            Ok((Some(RateSpec::Trace { file: file.clone(), times: trace.times.clone() }), trace.rate()))
        }
    }
}

fn rate_within(rate: Rate, place: crate::source::Place, key: &str) -> Checked<Rate> {
    within(&At { value: Q(rate), place }, key, RATE_MIN, RATE_MAX)
}

/// The rate of a sender's own link: a constant, or none.
pub(crate) fn access(at: &Opt<AccessText>, key: &str) -> Checked<Option<Rate>> {
    let Some(at) = at else { return Ok(None) };
    at.value.0.0.map(|rate| rate_within(rate, at.place, key)).transpose()
}

/// Where a key was written, if it was.
pub(crate) fn placed<T>(key: &Option<At<T>>) -> Option<Place> {
    key.as_ref().map(|at| at.place)
}

/// Puts changes in order of time and holds them to the run; each changes something, and nothing twice at once.
pub(crate) fn in_order<'a, T>(
    changes: &'a [At<T>],
    at: impl Fn(&T) -> &At<Q<Duration>>,
    what: impl Fn(&T) -> Vec<(&'static str, Option<Place>)>,
    end: Instant,
    key: &str,
) -> Checked<Vec<&'a At<T>>> {
    let mut sorted: Vec<&'a At<T>> = changes.iter().collect();
    for change in &sorted {
        let when = at(&change.value);
        if Instant::ZERO + when.value.0 >= end {
            let message = format!(
                "{} is not before the end of the run, {}",
                when.value.0.show(),
                end.since(Instant::ZERO).show()
            );
            return Err(Fault::at(when.place, message).under(format!("{key}.changes.at")));
        }
    }
    if let Some(extra) = changes.get(CHANGES_MAX) {
        return Err(Fault::at(extra.place, format!("more than {CHANGES_MAX} changes")).under(format!("{key}.changes")));
    }
    sorted.sort_by_key(|change| at(&change.value).value.0);
    let (mut now, mut changed) = (None, Vec::new());
    for change in &sorted {
        let when = at(&change.value).value.0;
        if now.replace(when) != Some(when) {
            changed.clear();
        }
        let keys = what(&change.value);
        if keys.iter().all(|(_, place)| place.is_none()) {
            let all: Vec<&str> = keys.iter().map(|(name, _)| *name).collect();
            let message = format!("nothing changes at {}: give one of {}", when.show(), all.join(", "));
            return Err(Fault::at(change.place, message).under(format!("{key}.changes")));
        }
        for (name, place) in keys.into_iter().filter_map(|(name, place)| Some((name, place?))) {
            if changed.contains(&name) {
                let message = format!("changes twice at {}: leave one of the two out", when.show());
                return Err(Fault::at(place, message).under(format!("{key}.changes.{name}")));
            }
            changed.push(name);
        }
    }
    Ok(sorted)
}

/// A new rate during the run; a link that had none, or follows a trace, cannot take one.
pub(crate) fn new_rate(at: &Opt<Rate>, old: Option<&RateSpec>, key: &str) -> Checked<Option<Rate>> {
    let Some(at) = at else { return Ok(None) };
    match old {
        Some(RateSpec::Constant(_)) => within(at, key, RATE_MIN, RATE_MAX).map(Some),
        Some(RateSpec::Trace { .. }) => {
            Err(Fault::at(at.place, "the link follows a trace; its rate cannot change").under(key))
        }
        None => Err(Fault::at(at.place, "the link has no rate that could change: give it one").under(key)),
    }
}

/// Lays `[[link]]` tables and finds the flows' ways over them.
pub(crate) fn lay(doc: &At<Any>, file: &File, end: Instant, context: &Context<'_>) -> Checked<(Vec<Laid>, Vec<Wire>)> {
    if let Any::Table(root) = &doc.value
        && let Some(At { value: Any::Table(path), .. }) = get(root, "path")
        && let Some((key, _)) = path.iter().find(|(key, _)| key.value != "stack" && key.value != "access")
    {
        let message = "beside [[link]] tables a [path] holds only stack and access: put this key into a link";
        return Err(Fault::at(key.place, message).under(format!("path.{}", key.value)));
    }
    if let Some(extra) = file.link.get(LINKS_MAX) {
        return Err(Fault::at(extra.place, format!("more than {LINKS_MAX} links")).under("link"));
    }
    let names: Vec<&str> = file.link.iter().map(|l| l.value.name.value.0.0.as_str()).collect();
    for (i, link) in file.link.iter().enumerate() {
        if names[..i].contains(&names[i]) {
            return Err(
                Fault::at(link.value.name.place, format!("there are two links called {:?}", names[i])).under("link")
            );
        }
    }
    let delays: Vec<Duration> = file.link.iter().map(delay).collect::<Checked<_>>()?;
    let wires: Vec<Wire> = file.flow.iter().map(|flow| wire(flow, &names, &delays)).collect::<Checked<_>>()?;
    let mut laid = Vec::new();
    for (id, at) in file.link.iter().enumerate() {
        let through = wires.iter().filter(|w| w.route.contains(&id) || w.back.contains(&id));
        let Some(longest) = through.map(|w| w.base_rtt).max() else {
            let message = format!("no flow's route or back names the link {:?}", names[id]);
            return Err(Fault::at(at.value.name.place, message).under("link"));
        };
        let link = &at.value;
        let key = format!("link.{}", names[id]);
        let written = Written {
            key: &key,
            rate: &link.rate,
            buffer: &link.buffer,
            queue: &link.queue,
            names: ["rate", "buffer", "queue"],
            loss: &link.loss,
            loss_at: &link.loss_at,
            loss_later: link.changes.iter().any(|change| change.value.loss.is_some()),
            jitter: &link.jitter,
            reorder: link.reorder.as_ref(),
            duplicate: &link.duplicate,
            quick_start: &link.quick_start,
            clock: &link.clock,
        };
        let mut made = written.link(names[id], delays[id], longest, context)?;
        let keys =
            |c: &LinkChange| vec![("rate", placed(&c.rate)), ("delay", placed(&c.delay)), ("loss", placed(&c.loss))];
        for change in in_order(&link.changes, |c| &c.at, keys, end, &key)? {
            made.link.changes.push(Change {
                at: Instant::ZERO + change.value.at.value.0,
                rate: new_rate(&change.value.rate, made.link.rate.as_ref(), &format!("{key}.changes.rate"))?,
                delay: match &change.value.delay {
                    Some(at) => Some(within(at, &format!("{key}.changes.delay"), Duration::ZERO, RTT_MAX)?),
                    None => None,
                },
                loss: change.value.loss.as_ref().map(|at| at.value.0.model()),
            });
        }
        laid.push(made);
    }
    // Without a rate anywhere on its way, bulk data would flow infinitely fast.
    for (flow, wire) in file.flow.iter().zip(&wires) {
        if wire.route.iter().all(|id| laid[*id].link.rate.is_none()) {
            let place = flow.value.route.as_ref().map_or(flow.place, |r| r.place);
            let key = format!("flow.{}.route", crate::flows::name(flow)?);
            return Err(Fault::at(place, "none of these links has a rate: nothing limits the flow").under(key));
        }
    }
    Ok((laid, wires))
}

fn delay(link: &At<LinkFile>) -> Checked<Duration> {
    match &link.value.delay {
        Some(at) => within(at, &format!("link.{}.delay", link.value.name.value.0.0), Duration::ZERO, RTT_MAX),
        None => Ok(Duration::ZERO),
    }
}

fn wire(flow: &At<FlowFile>, names: &[&str], delays: &[Duration]) -> Checked<Wire> {
    let name = crate::flows::name(flow)?;
    if let Some(at) = &flow.value.direction {
        let message = "belongs to a [path]; with [[link]] tables the route tells the direction";
        return Err(Fault::at(at.place, message).under(format!("flow.{name}.direction")));
    }
    let mut used: Vec<LinkId> = Vec::new();
    let mut way = |list: &Option<At<Vec<At<String>>>>, key: &str| -> Checked<Vec<LinkId>> {
        let full = format!("flow.{name}.{key}");
        let Some(list) = list else {
            let message = format!(
                "the key {key:?} is missing: with [[link]] tables it names the links, as in {key} = [\"{}\"]",
                names[0]
            );
            return Err(Fault::at(flow.place, message).under(format!("flow.{name}")));
        };
        if list.value.is_empty() {
            return Err(Fault::at(list.place, "names no link").under(full));
        }
        let mut ids = Vec::new();
        for at in &list.value {
            let Some(id) = names.iter().position(|n| *n == at.value) else {
                let near = did_you_mean(&at.value, names.iter().copied());
                let message = format!("there is no link {:?}{near} (there are {})", at.value, names.join(", "));
                return Err(Fault::at(at.place, message).under(full));
            };
            if used.contains(&id) {
                let message = format!("the way there and back passes {:?} twice; a link is one-way", at.value);
                return Err(Fault::at(at.place, message).under(full));
            }
            used.push(id);
            ids.push(id);
        }
        Ok(ids)
    };
    let (route, back) = (way(&flow.value.route, "route")?, way(&flow.value.back, "back")?);
    let links = used.iter().fold(Duration::ZERO, |sum, id| sum + delays[*id]);
    let key = format!("flow.{name}.rtt");
    let base_rtt = match &flow.value.rtt {
        Some(at) => {
            let rtt = within(at, &key, RTT_MIN, RTT_MAX)?;
            if rtt < links {
                let message = format!("{} is less than the {} of its links' delays", rtt.show(), links.show());
                return Err(Fault::at(at.place, message).under(key));
            }
            rtt
        }
        None if links < RTT_MIN || links > RTT_MAX => {
            let message = format!(
                "its links' delays sum to {}: allowed is {} to {}; give the links delays, or the flow an rtt",
                links.show(),
                RTT_MIN.show(),
                RTT_MAX.show()
            );
            return Err(Fault::at(flow.place, message).under(format!("flow.{name}")));
        }
        None => links,
    };
    let (edge, edge_back) = halves(base_rtt - links);
    Ok(Wire { route, back, edge, edge_back, base_rtt })
}
