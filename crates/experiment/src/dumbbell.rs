//! `[path]`: a bottleneck, the way back, and flows with base RTTs of their own.

use crate::flows::{Wire, name};
use crate::limits::{RTT_MAX, RTT_MIN};
use crate::links::{Written, in_order, new_rate, placed};
use crate::quantity::{RateText, Word};
use crate::raw::{Direction, File, PathChange, PathFile};
use crate::resolve::{Context, Laid, halves, within};
use crate::scenario::Change;
use crate::source::{Checked, Fault};
use crate::tree::At;
use units::Instant;

/// Index of the bottleneck in a dumbbell's links.
const BOTTLENECK: usize = 0;
/// Index of the way back.
const RETURN: usize = 1;

/// Lays the two links. They carry the smallest base RTT, half each way; what a flow has beyond it is at its edge.
pub(crate) fn lay(
    at: &At<PathFile>,
    file: &File,
    end: Instant,
    context: &Context<'_>,
) -> Checked<(Vec<Laid>, Vec<Wire>)> {
    let path = &at.value;
    let missing = |key: &str, like: &str| {
        Fault::at(at.place, format!("the key {key:?} is missing: write {key} = \"{like}\", for instance")).under("path")
    };
    let rate = path.rate.as_ref().ok_or_else(|| missing("rate", "12 Mbit/s"))?;
    if rate.value.0 == RateText::Unlimited {
        return Err(
            Fault::at(rate.place, "the bottleneck needs a rate: nothing else limits the flows").under("path.rate")
        );
    }
    let rtt = path.rtt.as_ref().ok_or_else(|| missing("rtt", "40 ms"))?;
    let rtt = within(rtt, "path.rtt", RTT_MIN, RTT_MAX)?;

    let mut base_rtts = Vec::new();
    for flow in &file.flow {
        base_rtts.push(match &flow.value.rtt {
            Some(at) => within(at, &format!("flow.{}.rtt", name(flow)?), RTT_MIN, RTT_MAX)?,
            None => rtt,
        });
    }
    let smallest = base_rtts.iter().copied().min().unwrap_or(rtt);
    let (there, back) = halves(smallest);

    let forward = Written {
        key: "path",
        rate: &path.rate,
        buffer: &path.buffer,
        queue: &path.queue,
        names: ["rate", "buffer", "queue"],
        loss: &path.loss,
        loss_at: &path.loss_at,
        loss_later: path.changes.iter().any(|change| change.value.loss.is_some()),
        jitter: &path.jitter,
        reorder: path.reorder.as_ref(),
        duplicate: &path.duplicate,
        quick_start: &path.quick_start,
        clock: &path.clock,
    };
    // Other impairments are of the data path; the emulator's clock ticks for both directions.
    let backward = Written {
        rate: &path.up,
        buffer: &path.up_buffer,
        queue: &path.up_queue,
        names: ["up", "up_buffer", "up_queue"],
        loss: &path.up_loss,
        loss_at: &None,
        jitter: &None,
        reorder: None,
        duplicate: &None,
        quick_start: &None,
        ..forward
    };
    let mut laid = vec![forward.link("bottleneck", there, rtt, context)?, backward.link("return", back, rtt, context)?];
    changes(path, end, &mut laid)?;

    let mut wires = Vec::new();
    for (flow, base_rtt) in file.flow.iter().zip(base_rtts) {
        for (key, at) in [("route", &flow.value.route), ("back", &flow.value.back)] {
            if let Some(at) = at {
                let message = "belongs to [[link]] tables; in a [path] write direction = \"up\" for the other way";
                return Err(Fault::at(at.place, message).under(format!("flow.{}.{key}", name(flow)?)));
            }
        }
        let (edge, edge_back) = halves(base_rtt - smallest);
        let (route, back) = match &flow.value.direction {
            Some(at) if at.value.0 == Word(Direction::Up) => {
                if laid[RETURN].link.rate.is_none() {
                    let message = "the way back has no rate that would limit the flow: give path.up one";
                    return Err(Fault::at(at.place, message).under(format!("flow.{}.direction", name(flow)?)));
                }
                (vec![RETURN], vec![BOTTLENECK])
            }
            _ => (vec![BOTTLENECK], vec![RETURN]),
        };
        wires.push(Wire { route, back, edge, edge_back, base_rtt });
    }
    Ok((laid, wires))
}

/// Changes of the path, told to the links they concern.
fn changes(path: &PathFile, end: Instant, laid: &mut [Laid]) -> Checked<()> {
    let keys = |c: &PathChange| {
        vec![("rate", placed(&c.rate)), ("up", placed(&c.up)), ("rtt", placed(&c.rtt)), ("loss", placed(&c.loss))]
    };
    for change in in_order(&path.changes, |c| &c.at, keys, end, "path")? {
        let at = Instant::ZERO + change.value.at.value.0;
        let delays = match &change.value.rtt {
            None => None,
            // The links carry the smallest base RTT: the flow that has it gets the new one, the others keep what they
            // have at their edges beyond it.
            Some(new) => Some(halves(within(new, "path.changes.rtt", RTT_MIN, RTT_MAX)?)),
        };
        let forward = Change {
            at,
            rate: new_rate(&change.value.rate, laid[BOTTLENECK].link.rate.as_ref(), "path.changes.rate")?,
            delay: delays.map(|d| d.0),
            loss: change.value.loss.as_ref().map(|at| at.value.0.model()),
        };
        let backward = Change {
            at,
            rate: new_rate(&change.value.up, laid[RETURN].link.rate.as_ref(), "path.changes.up")?,
            delay: delays.map(|d| d.1),
            loss: None,
        };
        for (laid, change) in laid.iter_mut().zip([forward, backward]) {
            if change.rate.is_some() || change.delay.is_some() || change.loss.is_some() {
                laid.link.changes.push(change);
            }
        }
    }
    Ok(())
}
