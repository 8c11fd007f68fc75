//! What users may set on PIE, and what its references set.

use crate::Place;
use params::ParamError;
use units::{Bytes, Duration};

params::choice! {
    /// Whose rules.
    pub enum Reference {
        /// RFC 8033, appendix.
        Rfc = "rfc",
        /// Linux 5.5 and later: time stamps, burst allowance in real time.
        Linux = "linux",
        /// FreeBSD dummynet: departure rate, no rule for very long delays.
        FreeBsd = "freebsd",
        /// RFC 8034: cable modems, no ECN, p of a packet of mean size.
        Docsis = "docsis",
        /// draft-pan-aqm-pie-00, as mahimahi has it: 20 ms, every 30 ms, three gains, plain dice.
        Draft = "draft",
        /// ns-2.36, by PIE's authors and CableLabs: 20 ms, every 30 ms, p of a packet of mean size, a buffer of such packets.
        Ns2 = "ns-2",
    }
}

params::params! {
    /// What users may set.
    pub struct Params {
        /// Queueing delay aimed at (draft, ns-2 20 ms, DOCSIS 10 ms).
        target: Duration = Duration::from_millis(15), Duration::from_micros(1) => Duration::from_secs(10);
        /// Time between updates of p (draft, ns-2 30 ms, DOCSIS 16 ms).
        tupdate: Duration = Duration::from_millis(15), Duration::from_micros(100) => Duration::from_secs(10);
        /// Weight of the distance from the target, per second of delay (DOCSIS 0.25).
        alpha: f64 = 0.125, 0.0 => 7.0;
        /// Weight of the change since the last update, per second of delay (DOCSIS 2.5).
        beta: f64 = 1.25, 0.0 => 7.0;
        /// No random drops for this long after the queue was quiet (DOCSIS 142 ms, ns-2 100 ms).
        burst: Duration = Duration::from_millis(150), Duration::ZERO => Duration::from_secs(10);
        /// Mark packets that can be marked while p is below mark_threshold (default in FreeBSD's fq_pie).
        ecn: bool = false;
        /// Above this p packets are dropped even if they could be marked: bounds senders that ignore marks.
        mark_threshold: f64 = 0.1, 0.0 => 1.0;
        /// Spread drops evenly: none before p has summed to 0.85, one at 8.5 (not in the draft and ns-2).
        derandomise: bool = true;
        /// Raise p by 2 % at most in one update once it is 10 % (not in the draft).
        cap: bool = true;
        /// From p of 10 % on a step down becomes the cap's step up (FreeBSD 11.0 compares a signed step with an unsigned limit).
        unsigned_cap: bool = false;
        /// Estimate the delay from the departure rate instead of time stamps (default in FreeBSD outside fq_pie, the draft and ns-2).
        rate_estimator: bool = false;
        /// Queues of up to two such packets are left alone; 0 is the link's MTU (FreeBSD 800 B, ns-2 1000 B, DOCSIS 1024 B, draft 1504 B).
        mean_packet: Bytes = Bytes::ZERO, Bytes::ZERO => Bytes::new(65_535);
        /// Sleep until the buffer is a third full, and again when the queue has been empty with p = 0.
        on_off: bool = false;
        /// A flow that comes back to a fair queue begins anew, with p = 0 and all of burst (default in FreeBSD's fq_pie).
        afresh: bool = false;
        /// Whose rules where implementations differ; it brings its own defaults.
        reference: Reference = Reference::Rfc;
    }
    check |p| {
        let usual = Params::default();
        let marks = p.ecn || p.mark_threshold != usual.mark_threshold;
        if p.reference == Reference::Docsis && (p.on_off || p.afresh || p.rate_estimator || marks) {
            return Err(ParamError::Conflict(
                "DOCSIS-PIE does not mark, sleeps by rules of its own and predicts the delay from the link: \
                 leave out ecn, mark_threshold, on_off, afresh and rate_estimator".into(),
            ));
        }
        if p.reference == Reference::Ns2 && p.on_off {
            return Err(ParamError::Conflict("ns-2's PIE does not sleep: leave out on_off".into()));
        }
        p.need(&usual, &["unsigned_cap"], p.cap, "cap=true")?;
        p.need(&usual, &["mark_threshold"], p.ecn, "ecn=true")
    }
}

impl Reference {
    /// Does it know bursts: none is dropped from while one lasts, and a new one begins only after a lull?
    pub(super) fn knows_bursts(self) -> bool {
        matches!(self, Reference::Docsis | Reference::Ns2)
    }
}

impl Params {
    /// The defaults of a reference.
    pub fn of(reference: Reference, place: Place) -> Self {
        let ms = Duration::from_millis;
        let ours = match reference {
            Reference::Rfc | Reference::Linux => Params::default(),
            Reference::FreeBsd => Params {
                // What ipfw(8) passes unless told otherwise: the estimator with pie, ECN with fq_pie.
                rate_estimator: place == Place::Alone,
                ecn: place == Place::Fair,
                // `fq_activate_pie` of dn_sched_fq_pie.c, on_off or not.
                afresh: place == Place::Fair,
                mean_packet: Bytes::new(800),
                ..Params::default()
            },
            // RFC 8034 appendix A.
            Reference::Docsis => Params {
                target: ms(10),
                tupdate: ms(16),
                alpha: 0.25,
                beta: 2.5,
                burst: ms(142),
                mean_packet: Bytes::new(1024),
                ..Params::default()
            },
            Reference::Draft => Params {
                target: ms(20),
                tupdate: ms(30),
                derandomise: false,
                cap: false,
                rate_estimator: true,
                mean_packet: Bytes::new(1504),
                ..Params::default()
            },
            // What published ns-2 scripts set on `Queue/PIE`; its own ns-default.tcl was not to be had.
            Reference::Ns2 => Params {
                target: ms(20),
                tupdate: ms(30),
                burst: ms(100),
                derandomise: false,
                rate_estimator: true,
                mean_packet: Bytes::new(1000),
                ..Params::default()
            },
        };
        Params { reference, ..ours }
    }
}
