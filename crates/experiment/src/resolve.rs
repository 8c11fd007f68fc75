//! From the file to a [`Scenario`]: defaults filled in, units resolved, everything held to its limits.

use crate::limits::{
    BUFFER_BDP_MAX, BUFFER_MAX, BUFFER_PACKETS_MAX, DURATION_MAX, PROCESSING_MAX, REPEAT_MAX, SEED_MAX,
};
use crate::quantity::{Buffer, Q, Quantity, Volume, Whole};
use crate::raw::{Bands, File, RunFile};
use crate::scenario::{Band, Link, MTU, RateSpec, Run, Scenario, Vary};
use crate::source::{Checked, Fault, Place};
use crate::trace::Traces;
use crate::tree::{Any, At};
use crate::{dumbbell, flows, links, tmix};
use aqm::Limit;
use params::Value;
use units::{Bytes, Duration, Instant, Rate};

/// What resolving needs besides the file.
pub(crate) struct Context<'a> {
    pub traces: &'a Traces,
    /// Congestion controls that the registry does not know but the caller brings.
    pub extra_cc: &'a [String],
}

/// A [`Link`] and what is needed to check it once the flows are known.
pub(crate) struct Laid {
    pub link: Link,
    pub buffer_at: Option<(Place, String)>,
}

pub(crate) fn scenario(doc: &At<Any>, file: &File, context: &Context<'_>) -> Checked<Scenario> {
    let run = run(file.run.as_ref())?;
    if file.flow.is_empty() {
        return Err(Fault::at(doc.place, "there are no flows: write [[flow]] with cc = \"cubic\", for instance"));
    }
    let groups = file.flow.iter().map(flows::name).collect::<Checked<Vec<_>>>()?;
    let end = Instant::ZERO + run.duration;
    let (laid, wires) = match (&file.path, file.link.is_empty()) {
        (_, false) => links::lay(doc, file, end, context)?,
        (Some(path), true) => dumbbell::lay(path, file, end, context)?,
        (None, true) => {
            let message =
                "there is no path: write [path] with rate = \"12 Mbit/s\" and rtt = \"40 ms\", or [[link]] tables";
            return Err(Fault::at(doc.place, message));
        }
    };
    let flows = flows::expand(file, &wires, end, context)?;
    // The buffer must hold the largest packet of any flow that sends through it.
    for flow in &flows {
        let data = flow.route.iter().map(|id| (id, flows::packet(flow), "packet"));
        let acks = flow.back.iter().map(|id| (id, flows::ack(flow), "acknowledgement"));
        for (id, size, what) in data.chain(acks) {
            let Laid { link, buffer_at: Some((place, key)) } = &laid[*id] else { continue };
            if let Some(Limit::Bytes(n)) = link.buffer
                && n < size
            {
                let message = format!(
                    "{} bytes hold no {what} of {} bytes (flow {}); make it at least \"1 packet\"",
                    n.get(),
                    size.get(),
                    flow.name
                );
                return Err(Fault::at(*place, message).under(key.clone()));
            }
        }
    }
    let scenario = Scenario { links: laid.into_iter().map(|l| l.link).collect(), flows, groups, run };
    tmix::refuse_too_much(&scenario, file)?;
    Ok(scenario)
}

fn run(file: Option<&At<RunFile>>) -> Checked<Run> {
    let default = RunFile::default();
    let file = file.map_or(&default, |f| &f.value);
    let duration = match &file.duration {
        Some(at) => within(at, "run.duration", Duration::from_nanos(1), DURATION_MAX)?,
        None => Duration::from_secs(60),
    };
    let end = Instant::ZERO + duration;
    let measure = match &file.measure {
        None => (Instant::ZERO, end),
        Some(at) => {
            let [from, to] = at.value.as_slice() else {
                let message = "takes begin and end, such as [\"20 s\", \"110 s\"]".to_string();
                return Err(Fault::at(at.place, message).under("run.measure"));
            };
            let (begin, finish) = (Instant::ZERO + from.value.0, Instant::ZERO + to.value.0);
            if begin >= finish {
                let message = format!("the window ends at {}, not after its begin", to.value.0.show());
                return Err(Fault::at(to.place, message).under("run.measure"));
            }
            if finish > end {
                let message = format!("the window ends at {}, the run at {}", to.value.0.show(), duration.show());
                return Err(Fault::at(to.place, message).under("run.measure"));
            }
            (begin, finish)
        }
    };
    let number = |at: &Option<At<Q<Whole>>>, key: &str, default, low, high| match at {
        Some(at) => whole(at, key, low, high),
        None => Ok(default),
    };
    let vary = file.vary.as_ref().map_or(Vary::Start, |at| at.value.0.0);
    let processing = match &file.processing {
        None => None,
        Some(at) if vary != Vary::StartHost => {
            let message = "hosts take time for a packet only with vary = \"start+host\"".to_string();
            return Err(Fault::at(at.place, message).under("run.processing"));
        }
        Some(at) => Some(within(at, "run.processing", Duration::ZERO, PROCESSING_MAX)?),
    };
    let seed = number(&file.seed, "run.seed", 1, 0, SEED_MAX)?;
    let repeat = number(&file.repeat, "run.repeat", 1, 1, REPEAT_MAX)?;
    if let Some(at) = &file.seed
        && seed + (repeat - 1) > SEED_MAX
    {
        let message = format!(
            "{repeat} repetitions from {seed} go beyond the largest seed, {SEED_MAX}: begin at {} or below",
            SEED_MAX - (repeat - 1)
        );
        return Err(Fault::at(at.place, message).under("run.seed"));
    }
    Ok(Run {
        duration,
        measure,
        seed,
        repeat: repeat as u32,
        vary,
        processing,
        estimates: file.estimates.as_ref().is_some_and(|at| at.value),
        gaps: file.gaps.as_ref().map_or(Ok(Vec::new()), |at| bands(&at.value))?,
    })
}

fn bands(file: &Bands) -> Checked<Vec<Band>> {
    let band = |(name, at): (&String, &At<Vec<At<Q<Duration>>>>)| {
        let key = format!("run.gaps.{name}");
        // The name becomes a part of a figure's path.
        if !name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-') {
            let message = format!("{name:?} is no name of a band: use letters, digits, \"-\" and \"_\"");
            return Err(Fault::at(at.place, message).under("run.gaps"));
        }
        let [from, to] = at.value.as_slice() else {
            let message = "takes the least gap and the least above it, such as [\"0 us\", \"50 us\"]";
            return Err(Fault::at(at.place, message).under(key));
        };
        let (from, to) = (from.value.0, to.value.0);
        if from >= to {
            let message = format!("no gap is between {} and {}: the smaller comes first", from.show(), to.show());
            return Err(Fault::at(at.place, message).under(key));
        }
        Ok(Band { name: name.clone(), from, to })
    };
    file.iter().map(band).collect()
}

/// A quantity within its limits.
pub(crate) fn within<T: Quantity + Value + PartialOrd>(at: &At<Q<T>>, key: &str, low: T, high: T) -> Checked<T> {
    let value = at.value.0.clone();
    if value < low || value > high {
        let message = format!("{} is out of range: allowed is {} to {}", value.show(), low.show(), high.show());
        return Err(Fault::at(at.place, message).under(key));
    }
    Ok(value)
}

/// A whole number within its limits.
pub(crate) fn whole(at: &At<Q<Whole>>, key: &str, low: u64, high: u64) -> Checked<u64> {
    let n = at.value.0.0;
    match u64::try_from(n) {
        Ok(n) if (low..=high).contains(&n) => Ok(n),
        _ => Err(Fault::at(at.place, format!("{n} is out of range: allowed is {low} to {high}")).under(key)),
    }
}

/// A buffer in bytes or packets. `rate` is the link's, `rtt` the base RTT that one BDP stands for.
pub(crate) fn buffer(
    at: &At<Q<Buffer>>,
    key: &str,
    rate: Option<&RateSpec>,
    mean: Rate,
    rtt: Duration,
) -> Checked<Limit> {
    let fail = |message: String| Err(Fault::at(at.place, message).under(key));
    if rate.is_none() {
        return fail("a link without a rate has no queue: give it a rate or leave the buffer out".into());
    }
    let volume = match at.value.0 {
        Buffer::Packets(n) if n == 0 || n > BUFFER_PACKETS_MAX => {
            return fail(format!("{n} packets is out of range: allowed is 1 to {BUFFER_PACKETS_MAX}"));
        }
        Buffer::Packets(n) => return Ok(Limit::Packets(n as usize)),
        Buffer::Bytes(volume) | Buffer::Slots(volume) => volume,
    };
    let size = match volume {
        Volume::Size(n) => n,
        Volume::Time(t) => mean * t,
        Volume::Bdp(x) if x > BUFFER_BDP_MAX => {
            return fail(format!("{x} BDP is out of range: allowed is up to {BUFFER_BDP_MAX}"));
        }
        // To the nearest byte: 1.4 of 22 500 B are 31 499.999… in floating point, and 20 packets instead of 21.
        Volume::Bdp(x) => Bytes::new((mean.as_bps() as f64 * rtt.as_secs_f64() * x / 8.0).round() as u64),
    };
    if size.is_zero() || size > BUFFER_MAX {
        let given = at.value.0.write().show();
        let bytes = if matches!(volume, Volume::Size(_)) { String::new() } else { format!(" is {} B and", size.get()) };
        return fail(format!("{given}{bytes} is out of range: allowed is one packet to {}", BUFFER_MAX.show()));
    }
    Ok(match at.value.0 {
        Buffer::Slots(_) => Limit::Packets(size.get().div_ceil(MTU.get()) as usize),
        _ => Limit::Bytes(size),
    })
}

/// Half a round trip there, the rest back.
pub(crate) fn halves(rtt: Duration) -> (Duration, Duration) {
    let there = rtt / 2;
    (there, rtt - there)
}
