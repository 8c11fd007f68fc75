//! What users may set on DualPI2, and what its references set.

use units::Duration;

params::choice! {
    /// Whose rules.
    pub enum Reference {
        /// RFC 9332, appendix A: time-shifted FIFO, even gaps, a ramp from 800 µs to 1.2 ms.
        Rfc = "rfc",
        /// Linux 6.17: weighted round robin, dice, a step at 1 ms.
        Linux = "linux",
    }
}

params::choice! {
    /// What goes to the low-latency line.
    pub enum Classify {
        /// ECT(1) and CE: L4S (RFC 9331).
        L4s = "l4s",
        /// Everything that can be marked: data centres, where DCTCP sends ECT(0) (Linux's any_ect).
        AnyEct = "any_ect",
    }
}

params::params! {
    /// What users may set.
    pub struct Params {
        /// Queueing delay that the classic line is held at.
        target: Duration = Duration::from_millis(15), Duration::from_micros(1) => Duration::from_secs(10);
        /// Time between updates of p′ (Linux; RFC 9332 takes the smaller of target and a third of the longest RTT).
        tupdate: Duration = Duration::from_millis(16), Duration::from_micros(100) => Duration::from_secs(10);
        /// Weight of the distance from the target, per second of delay (0.1 tupdate / (100 ms)²).
        alpha: f64 = 0.16, 0.0 => 1_000.0;
        /// Weight of the change since the last update, per second of delay (Linux' 819/256; RFC 9332 reckons 0.3 / 100 ms).
        beta: f64 = 3.2, 0.0 => 1_000.0;
        /// k: the low-latency line is marked with k p′ where the classic one is signalled with p′².
        coupling: f64 = 2.0, 1.0 => 255.0;
        /// Sojourn in the low-latency line above which it is marked whatever the classic one does (Linux 1 ms).
        step: Duration = Duration::from_micros(800), Duration::ZERO => Duration::from_secs(10);
        /// The native probability rises to 1 over this much sojourn; 0 is a step (Linux).
        ramp: Duration = Duration::from_micros(400), Duration::ZERO => Duration::from_secs(10);
        /// Packets that must wait behind in the low-latency line for a native mark (Linux 0).
        step_behind: usize = 1, 0 => 1_000_000;
        /// The low-latency line goes first unless the classic one has waited this much longer (RFC).
        shift: Duration = Duration::from_millis(50), Duration::ZERO => Duration::from_secs(10);
        /// Per cent of the link kept for the classic line by weighted round robin (Linux).
        c_share: u32 = 10, 0 => 100;
        /// What goes to the low-latency line.
        classify: Classify = Classify::L4s;
        /// Drop from the low-latency line once k p′ has reached 1; otherwise p′ stops there and the buffer must bound it.
        drop_overload: bool = true;
        /// Decide when packets arrive instead of when they leave.
        drop_early: bool = false;
        /// Packets held in both lines where the experiment gives no buffer.
        limit: usize = 10_000, 1 => 1_000_000_000;
        /// Whose rules where they differ; it brings its own defaults.
        reference: Reference = Reference::Rfc;
    }
    check |p| {
        let usual = Params::of(p.reference);
        p.need(&usual, &["c_share"], p.reference == Reference::Linux, "reference=linux")?;
        p.need(&usual, &["shift"], p.reference == Reference::Rfc, "reference=rfc")
    }
}

impl Params {
    /// The defaults of a reference.
    pub fn of(reference: Reference) -> Self {
        match reference {
            Reference::Rfc => Params::default(),
            Reference::Linux => Params {
                reference,
                step: Duration::from_millis(1),
                ramp: Duration::ZERO,
                step_behind: 0,
                ..Params::default()
            },
        }
    }
}
