//! Figures of a summary, named by a path such as `flow.a.rtt_ms.p95`.

use crate::quantity::Quantity;
use crate::source::did_you_mean;
use crate::tolerance::Unit;
use crate::tree::Any;
use serde_json::Value as Json;

/// A figure of the summary of one repetition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Metric {
    pub subject: Subject,
    /// Keys below the subject, joined by dots.
    pub leaf: String,
}

/// Whose figure it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Flow(String),
    Group(String),
    Link(String),
    Fairness,
}

const SPREAD: &[&str] = &["mean", "median", "sd", "p5", "p50", "p95", "p99", "min", "max", "samples"];
const BACKOFFS: &[&str] = &[
    "delay",
    "loss",
    "ecn",
    "timeout",
    "below_bdp",
    "double",
    "to_bytes",
    "ignored",
    "judged",
    "tolerated",
    "shadow",
    "unused",
    "tolerated_pct",
    "unused_pct",
];
const LOSSES: &[&str] = &["tolerated", "unused", "answered", "shadow", "timeout", "tolerated_pct", "unused_pct"];
/// Keys chosen by the algorithm.
const ANY: &[&str] = &["*"];
/// Figures of a group, with the keys below them: those of a flow as sums or means over its flows, and last how equal
/// these are.
const GROUP: &[(&str, &[&str])] = &[
    ("throughput_mbps", &[]),
    ("goodput_mbps", &[]),
    ("share", &[]),
    ("rtt_ms", SPREAD),
    ("owd_ms", SPREAD),
    ("jitter_ms", &[]),
    ("ack_rate_mbps", SPREAD),
    ("window_rate_mbps", SPREAD),
    ("sent", &[]),
    ("lost", &[]),
    ("loss_pct", &[]),
    ("retransmits", &[]),
    ("completion_s", &[]),
    ("unfinished", &[]),
    ("backoffs", BACKOFFS),
    ("losses", LOSSES),
    ("repair_s", &[]),
    ("slow_start_exit", &["at_s", "ssthresh_bytes", "bdp_ratio"]),
    ("mode_s", ANY),
    ("data_gaps", ANY),
    ("ack_gaps", ANY),
    (
        "connections",
        &[
            "opened",
            "closed",
            "open",
            "active_mean",
            "active_max",
            "duration_ms.mean",
            "duration_ms.median",
            "duration_ms.p95",
        ],
    ),
    ("jain", &[]),
];
/// Figures of a flow: those of a group but the last.
const FLOW: &[(&str, &[&str])] = GROUP.split_at(GROUP.len() - 1).0;
/// Figures of a link.
const LINK: &[(&str, &[&str])] = &[
    ("utilisation", &[]),
    ("load", &[]),
    ("arrived_mb", &[]),
    ("departed_mb", &[]),
    ("queue_ms", SPREAD),
    ("arrived", &[]),
    ("dropped", &[]),
    ("dropped_overflow", &[]),
    ("dropped_law", &[]),
    ("dropped_random", &[]),
    ("drop_pct", &[]),
    ("marked", &[]),
    ("queue_packets", &["mean", "max"]),
];
/// Figures of all flows together.
const FAIRNESS: &[(&str, &[&str])] = &[("jain", &[]), ("max_min", &[])];

/// Every figure there is as `(subject, path)`, for lists and documentation; `*` stands for any key.
pub fn metrics() -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    for (subject, table) in [("flow.NAME", FLOW), ("group.NAME", GROUP), ("link.NAME", LINK), ("fairness", FAIRNESS)] {
        all.extend(leaves(table).map(|leaf| (subject, leaf)));
    }
    all
}

fn leaves(table: &'static [(&'static str, &'static [&'static str])]) -> impl Iterator<Item = String> {
    table.iter().flat_map(|(key, below)| match below {
        [] => vec![key.to_string()],
        keys => keys.iter().map(|k| format!("{key}.{k}")).collect(),
    })
}

impl Quantity for Metric {
    fn what() -> String {
        "a figure of the summary such as \"flow.a.share\", \"link.bottleneck.queue_ms.mean\" or \"fairness.jain\""
            .into()
    }
    fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (kind, rest) = text.split_once('.').unwrap_or((text, ""));
        let (subject, leaf, table) = match kind {
            "fairness" => (Subject::Fairness, rest, FAIRNESS),
            "flow" | "group" | "link" => {
                let (name, leaf) = rest.split_once('.').unwrap_or((rest, ""));
                if name.is_empty() || leaf.is_empty() {
                    return Err(format!("{text:?} is not {}", Self::what()));
                }
                match kind {
                    "flow" => (Subject::Flow(name.into()), leaf, FLOW),
                    "group" => (Subject::Group(name.into()), leaf, GROUP),
                    _ => (Subject::Link(name.into()), leaf, LINK),
                }
            }
            _ => {
                let near = did_you_mean(kind, ["flow", "group", "link", "fairness"]);
                return Err(format!("{text:?} is not {}{near}", Self::what()));
            }
        };
        let fits = |known: &String| match known.strip_suffix('*') {
            Some(start) => leaf.strip_prefix(start).is_some_and(|rest| !rest.is_empty()),
            None => known == leaf,
        };
        let all: Vec<String> = leaves(table).collect();
        if !all.iter().any(fits) {
            let below: Vec<&str> =
                all.iter().map(String::as_str).filter(|l| l.starts_with(&format!("{leaf}."))).collect();
            if !below.is_empty() {
                return Err(format!("{text:?} is not one figure; take one of {}", below.join(", ")));
            }
            let near = did_you_mean(leaf, all.iter().map(String::as_str));
            let keys: Vec<String> = table
                .iter()
                .map(|(key, below)| if below.is_empty() { key.to_string() } else { format!("{key}.…") })
                .collect();
            return Err(format!("a {kind} has no figure {leaf:?}{near} (it has {})", keys.join(", ")));
        }
        Ok(Metric { subject, leaf: leaf.into() })
    }
    fn write(&self) -> Any {
        Any::Text(self.to_string())
    }
}

impl std::fmt::Display for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.subject {
            Subject::Flow(name) => write!(f, "flow.{name}.{}", self.leaf),
            Subject::Group(name) => write!(f, "group.{name}.{}", self.leaf),
            Subject::Link(name) => write!(f, "link.{name}.{}", self.leaf),
            Subject::Fairness => write!(f, "fairness.{}", self.leaf),
        }
    }
}

impl Metric {
    /// The figure in the summary of one repetition; `None` if it is not there or not a number.
    pub fn of(&self, summary: &Json) -> Option<f64> {
        let named = |list: &str, name: &str| {
            summary.get(list)?.as_array()?.iter().find(|x| x.get("name").and_then(Json::as_str) == Some(name))
        };
        let mut node = match &self.subject {
            Subject::Flow(name) => named("flows", name)?,
            Subject::Group(name) => named("groups", name)?,
            Subject::Link(name) => named("links", name)?,
            Subject::Fairness => summary.get("fairness")?,
        };
        for key in self.leaf.split('.') {
            node = node.get(key)?;
        }
        node.as_f64().filter(|x| x.is_finite())
    }

    /// Why the figure, which runs like this one may have, has no value in the summary.
    pub fn absent(&self, summary: &Json) -> Option<&'static str> {
        let (figure, below) = self.leaf.split_once('.').unwrap_or((&self.leaf, ""));
        let untold = || Metric { leaf: "backoffs.below_bdp".into(), ..self.clone() }.of(summary).is_none();
        Some(match (figure, below) {
            ("loss_pct", _) => "no packet of it was lost or arrived in the measure window",
            ("drop_pct", _) => "no packet was dropped or passed on in the measure window",
            ("owd_ms" | "data_gaps", _) => "too few packets of it arrived in the measure window",
            ("jitter_ms", _) => "fewer than two packets of it arrived in the measure window",
            ("rtt_ms" | "ack_rate_mbps" | "window_rate_mbps" | "ack_gaps", _) => {
                "too little of it was acknowledged in the measure window"
            }
            ("queue_ms", _) => "no packet left the queue in the measure window",
            ("completion_s", _) => "no transfer was done when the run ended; a longer run.duration has more of them",
            ("slow_start_exit", _) => "slow start did not end, or is not told of",
            ("repair_s", _) => "it is measured of a single connection in the simulator alone",
            ("mode_s", _) => "no mode is told of it",
            ("connections", _) => "no connection ended in the measure window",
            ("backoffs" | "losses", _) if untold() => {
                "the kernel's own algorithms tell neither what their back-offs left nor what became of their losses; \
                 the simulator's do, and on linux cdg, hldg, chd and hd"
            }
            ("backoffs", "to_bytes") => "there were no delay back-offs",
            ("backoffs" | "losses", _) => "there were no losses to be a share of",
            ("jain" | "max_min", _) => "nothing flowed in the measure window",
            _ => return None,
        })
    }

    /// What the figure counts, told by its name.
    pub fn unit(&self) -> Unit {
        // Names of bands are the experiment's: their endings are no units.
        if let Some(("data_gaps" | "ack_gaps", _)) = self.leaf.split_once('.') {
            return Unit::Fraction;
        }
        if self.leaf.ends_with(".samples") {
            return Unit::Count;
        }
        for key in self.leaf.split('.') {
            for (suffix, unit) in [
                ("_ms", Unit::Ms),
                ("_s", Unit::Seconds),
                ("_mbps", Unit::Mbps),
                ("_bytes", Unit::Bytes),
                ("_mb", Unit::Megabytes),
                ("_pct", Unit::Percent),
            ] {
                if key.ends_with(suffix) {
                    return unit;
                }
            }
        }
        match self.leaf.as_str() {
            "share" | "utilisation" | "jain" | "max_min" => Unit::Fraction,
            "load" => Unit::Ratio,
            _ => Unit::Count,
        }
    }

    /// A value in four digits with its unit, as readers know it: an index of fairness has none, other fractions are in
    /// percent.
    pub fn show(&self, x: f64) -> String {
        let (scale, suffix) = match self.unit() {
            Unit::Fraction if matches!(self.leaf.as_str(), "jain" | "max_min") => (1.0, ""),
            Unit::Fraction | Unit::Ratio => (100.0, " %"),
            Unit::Percent => (1.0, " %"),
            Unit::Ms => (1.0, " ms"),
            Unit::Seconds => (1.0, " s"),
            Unit::Mbps => (1.0, " Mbit/s"),
            Unit::Bytes => (1.0, " bytes"),
            Unit::Megabytes => (1.0, " MB"),
            Unit::Count => (1.0, ""),
        };
        let x = scale * x;
        let digits = if x == 0.0 { 0 } else { (3 - units::math::log10(x.abs()).floor() as i32).clamp(0, 9) as usize };
        format!("{x:.digits$}{suffix}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tolerance::Number;

    #[test]
    fn paths_lead_into_the_summary() {
        let summary = serde_json::json!({
            "flows": [{"name": "a", "share": 0.3, "rtt_ms": {"p95": 52.5}, "mode_s": {"delay": 12.0}}],
            "links": [{"name": "bottleneck", "queue_ms": {"mean": 2.3}, "utilisation": null}],
            "fairness": {"jain": 0.98},
        });
        let of = |path: &str| Metric::read(path).unwrap().of(&summary);
        assert_eq!(of("flow.a.share"), Some(0.3));
        assert_eq!(of("flow.a.rtt_ms.p95"), Some(52.5));
        assert_eq!(of("flow.a.mode_s.delay"), Some(12.0));
        assert_eq!(of("link.bottleneck.queue_ms.mean"), Some(2.3));
        assert_eq!(of("fairness.jain"), Some(0.98));
        assert_eq!(of("link.bottleneck.utilisation"), None);
        assert_eq!(of("flow.b.share"), None);
    }

    #[test]
    fn figures_are_shown_in_four_digits_with_the_unit_that_readers_know() {
        for (path, value, shown) in [
            ("flow.a.throughput_mbps", 4.01615, "4.016 Mbit/s"),
            ("link.l.queue_ms.p95", 12.0, "12.00 ms"),
            ("link.l.queue_ms.samples", 12.0, "12.00"),
            ("flow.a.loss_pct", 0.0, "0 %"),
            ("flow.a.share", 0.401615, "40.16 %"),
            ("flow.a.data_gaps.1_ms", 0.2, "20.00 %"),
            ("link.l.load", 2.5, "250.0 %"),
            ("fairness.jain", 1.0, "1.000"),
            ("flow.a.backoffs.delay", 123_456.0, "123456"),
            ("flow.a.mode_s.loss", 0.012_345, "0.01235 s"),
        ] {
            assert_eq!(Metric::read(path).unwrap().show(value), shown, "{path}");
        }
    }

    #[test]
    fn numbers_are_read_in_the_unit_of_the_figure() {
        let value = |path: &str, text: &str| Number::read(text).unwrap().as_unit(Metric::read(path).unwrap().unit());
        assert_eq!(value("link.l.utilisation", "25 %"), Ok(0.25));
        assert_eq!(value("flow.a.loss_pct", "25 %"), Ok(25.0));
        assert_eq!(value("flow.a.rtt_ms.mean", "1.5 s"), Ok(1500.0));
        assert_eq!(value("flow.a.goodput_mbps", "500 kbit/s"), Ok(0.5));
        assert_eq!(value("flow.a.ack_gaps.1_ms", "50 %"), Ok(0.5));
        assert_eq!(value("link.l.arrived_mb", "20 MB"), Ok(20.0));
        assert_eq!((value("link.l.load", "2.5"), value("link.l.load", "250 %")), (Ok(2.5), Ok(2.5)));
        for of in ["flow.a.share", "link.l.utilisation", "fairness.jain", "flow.a.data_gaps.1_ms"] {
            assert_eq!((value(of, "1"), value(of, "75 %")), (Ok(1.0), Ok(0.75)));
            assert!(value(of, "75").unwrap_err().contains("write \"75 %\""), "{of}");
        }
        assert!(value("flow.a.retransmits", "5 ms").unwrap_err().contains("a plain number"));
    }
}
