//! What may be set. The four switches of Table 5.1 come first, the other mechanisms next, then numbers and readings.

use params::{Auto, ParamError, Switch};
use units::{Bytes, Duration};

params::choice! {
    /// Where the bandwidth estimate comes from (Figure 5.6 compares the two).
    pub enum BandwidthBy {
        /// Bytes acknowledged in a round over its length (Eq 5.5).
        AckRate = "ack_rate",
        /// cwnd over smoothed RTT, as Vegas would.
        Vegas = "vegas",
    }
}

params::choice! {
    /// Which end of the weighted average's window is the newest.
    pub enum Weights {
        /// The newest gradients weigh a quarter each.
        Recent = "recent",
        /// The oldest do.
        Old = "old",
    }
}

params::choice! {
    /// What the γ packets of the threshold are spread over.
    pub enum Threshold {
        /// The window of the average, W_size, as Eq 5.3 prints it.
        Window = "window",
        /// The weights of the newest γ gradients.
        Weights = "weights",
    }
}

params::choice! {
    /// Below what a gradient does not end slow start. It is no average, so what γ packets add to it is their whole time.
    pub enum StartThreshold {
        /// The time of γ packets.
        Packets = "packets",
        /// That of Eq 5.3 as printed for an average: γ packets over W_size.
        Window = "window",
        /// Nothing: any rise may end it.
        None = "none",
    }
}

params::choice! {
    /// B of slow start's threshold. Eq 5.3 asks for the bottleneck's, which Eq 5.5 does not tell in slow start (5.4.1).
    pub enum StartBandwidth {
        /// That of the last ACK train (Eq 5.15), once this slow start has seen one; until then the round's.
        Train = "train",
        /// The round's (Eq 5.5), as in congestion avoidance.
        Round = "round",
    }
}

params::choice! {
    /// The bytes of Eq 5.5.
    pub enum Acked {
        /// Those acknowledged in order, as FreeBSD tells its modules.
        Cumulative = "cumulative",
        /// Those that SACK reports, too, when it reports them.
        Delivered = "delivered",
    }
}

params::choice! {
    /// The queueing delay that G adapts to.
    pub enum DelayForG {
        /// That of the latest RTT (Eq 5.12).
        Latest = "latest",
        /// That of the smallest RTT of the round.
        RoundMin = "round_min",
    }
}

params::choice! {
    /// The window after a probe that found no competitor.
    pub enum Return {
        /// Grows as in slow start to λ·BDP.
        Regrow = "regrow",
        /// The same, and looks for an earlier end as the first slow start does.
        Search = "search",
        /// The probe's, growing by a packet a round.
        Stay = "stay",
    }
}

params::choice! {
    /// Which rounds make up the m of a probe for competitors.
    pub enum ProbeRounds {
        /// Those that end in it: the first began before the loss and is one of the quarter that may show a long queue.
        Ended = "ended",
        /// Those that begin in it.
        Begun = "begun",
    }
}

params::choice! {
    /// Where partial ACKs grow the window of a repair, for hosts that keep one (FreeBSD).
    pub enum RepairGrowth {
        /// Nowhere, as in NewReno and CUBIC.
        None = "none",
        /// In loss mode, whose growth counts from the loss on.
        Loss = "loss",
        /// In both modes, as in FreeBSD's CDG.
        Both = "both",
    }
}

params::params! {
    /// What may be set.
    pub struct Params {
        /// Weighted average of gradients, newer ones heavier (5.2.4.2); else the plain mean.
        wwma: bool = true;
        /// Zero the window of gradients when a back-off made delay fall (5.2.4.3).
        zsgw: bool = true;
        /// Back off to λ·BDP (Eq 5.6); else to beta_delay.
        bdp: bool = true;
        /// Add probabilities up until a back-off (Eq 5.10).
        accumulate: bool = true;
        /// Leave the round after a back-off out of the gradients (Eq 5.1, 5.2); else as CDG.
        gradient_fix: bool = true;
        /// No back-off while the gradient is below that of γ packets (Eq 5.3, 5.4).
        threshold: bool = true;
        /// G grows with the queueing delay when competitors fill the queue (5.3.1). auto: with bdp, without which a long
        /// queue may be the flow's own (5.2.3).
        adaptive_g: Switch = Switch::Auto;
        /// Change to loss mode when competitors fill the queue (5.3.2). auto: with bdp, as above.
        mode_switch: Switch = Switch::Auto;
        /// A loss leads to the BDP if that is within (beta_delay, 1) of the window (5.5).
        westwood: bool = true;
        /// Ignore delay after too many back-offs that did not make it fall (from CDG).
        use_ineffectual: bool = true;
        /// Keep the shadow window (from CDG).
        use_shadow: bool = true;
        /// Low priority (6.4): none of adaptive_g, mode_switch, use_ineffectual and use_shadow, and λ = 0.75.
        lpcc: bool = false;
        /// Scale G of the back-off probability in ms.
        g: f64 = 3.0, 0.1 => 10000.0;
        /// Back-off to this fraction λ of the BDP. auto: 0.95, with lpcc 0.75.
        lambda: Auto = Auto::AUTO, Auto::of(0.05) => Auto::of(1.0);
        /// What a delay back-off leaves of the window without a BDP to go by.
        beta_delay: f64 = 0.7, 0.05 => 1.0;
        /// What a loss leaves of the window in delay mode.
        beta_loss: f64 = 0.5, 0.05 => 1.0;
        /// Never back off below beta_delay (Eq 5.8): an option for company of loss-based flows, and so not for lpcc (5.2.5).
        use_max: bool = false;
        /// Gradients in the plain mean; the weighted one has eight.
        window: u32 = 8, 1 => 8;
        /// Packet size at the network layer, for the threshold.
        mtu: Bytes = Bytes::new(1500), Bytes::new(64) => Bytes::new(65535);
        /// Where the bandwidth comes from: ack_rate or vegas.
        bandwidth: BandwidthBy = BandwidthBy::AckRate;
        /// W_rtt, how long a base RTT is believed; 0 for ever.
        base_window: Duration = Duration::from_secs(30), Duration::ZERO => Duration::from_secs(3600);
        /// What a probe of the base RTT leaves of the window.
        base_probe: f64 = 0.8, 0.05 => 1.0;
        /// A probe of the base RTT that is due waits for the next delay back-off if the last one was no longer ago than
        /// this; else it begins at once.
        base_wait: Duration = Duration::from_secs(1), Duration::ZERO => Duration::from_secs(3600);
        /// Rounds for which that smaller window is kept; 0 lets it grow back at once.
        base_hold: u32 = 1, 0 => 100;
        /// RTTs measured in repairs and after timeouts count for the base RTT too, as all do in Algorithm 5.2. Such an
        /// RTT may be too short: h_ertt may take an ACK of data that came long before for that of a segment just sent
        /// again.
        base_in_repairs: bool = true;
        /// Back-offs in a row that count as too many.
        consec_cong: u32 = 5, 0 => 1000;
        /// Indications then ignored.
        hold_backoff: u32 = 5, 0 => 1000;
        /// Queueing delay above which competitors are suspected (Qth_max_delay; Figure 5.27 has 50 ms).
        queue_threshold: Duration = Duration::from_millis(100), Duration::ZERO => Duration::from_secs(10);
        /// Rounds m for which it must stay above, and which a probe lasts.
        rounds: u32 = 4, 1 => 32;
        /// Wait before loss mode, for competitors to leave slow start.
        loss_entry: Duration = Duration::from_secs(1), Duration::ZERO => Duration::from_secs(60);
        /// Least time in loss mode before a probe (5 s in text and figure, 10 s in Algorithm 5.1).
        loss_dwell: Duration = Duration::from_secs(5), Duration::ZERO => Duration::from_secs(600);
        /// CUBIC's factor of decrease in loss mode.
        beta_cubic: f64 = 0.7, 0.1 => 0.95;
        /// CUBIC's C in loss mode, packets per second cubed.
        c_cubic: f64 = 0.4, 0.01 => 100.0;
        /// The window after a probe that found nobody: regrow, search or stay.
        after_probe: Return = Return::Regrow;
        /// Queueing delay where G begins to grow.
        g_queue: Duration = Duration::from_millis(30), Duration::ZERO => Duration::from_secs(10);
        /// How fast it grows: exponent per ms of queueing delay above g_queue.
        g_rate: f64 = 0.032, 0.0 => 1.0;
        /// The largest G.
        g_max: f64 = 1536.0, 0.1 => 1000000.0;
        /// The delay G adapts to: latest or round_min.
        g_delay: DelayForG = DelayForG::Latest;
        /// ACKs of a train from which slow start estimates the bandwidth (6 to 9 work, says the thesis).
        train: u32 = 8, 2 => 64;
        /// Which gradients weigh most: recent or old.
        weights: Weights = Weights::Recent;
        /// What γ packets are spread over: window or weights.
        threshold_by: Threshold = Threshold::Window;
        /// Below what a gradient does not end slow start: that of packets, window (Eq 5.3 as printed) or none. Part of threshold.
        start_threshold: StartThreshold = StartThreshold::Packets;
        /// The bandwidth of that threshold: that of slow start's ACK train, once known, or that of the round (Eq 5.5).
        start_bandwidth: StartBandwidth = StartBandwidth::Train;
        /// What counts as acknowledged in a round (Eq 5.5): cumulative or delivered.
        acked: Acked = Acked::Delivered;
        /// The negative gradient that zeroes the window enters it.
        zsgw_push: bool = false;
        /// A gradient that falls two rounds after a back-off ends the count of ineffectual ones, though the zeroed
        /// average does not turn negative.
        zsgw_effectual: bool = true;
        /// The shadow window lifts no window above what it was at the loss.
        shadow_cap: bool = false;
        /// The shadow window is forgotten when the queue looks empty.
        forget_shadow: bool = true;
        /// cwnd equal to ssthresh is slow start: one packet more on the first ACK after a back-off. HLDG is FreeBSD's CDG
        /// "except for" what the thesis names (5.2.1), and this it does not name.
        slow_start_at_ssthresh: bool = true;
        /// Slow start grows by one packet per ACK, as FreeBSD's CDG does; else by what was acknowledged.
        ack_counting: bool = true;
        /// Algorithm 5.3 runs in every slow start, also in that after a repair: its line 7 asks for nothing but a window below
        /// the threshold. Else only from the start and after a timeout.
        search_again: bool = true;
        /// Where partial ACKs grow the window of a repair: none, loss or both. FreeBSD's CDG, which HLDG was built from, does not
        /// ask whether a repair is under way; in delay mode the thesis sets the window to the BDP (5.5), in loss mode
        /// what counts is the time since the loss (5.3.2).
        repair_growth: RepairGrowth = RepairGrowth::Loss;
        /// While the average of the smallest RTT rises, that of the largest is not looked at, even if the first is below
        /// the threshold (CDG's order of decision).
        min_first: bool = false;
        /// Count the last RTT again on every ACK without a sample, as h_ertt's users do.
        stale_rtt: bool = false;
        /// Rounds that a probe for competitors counts on FreeBSD's host: those that end in it, or those that begin in it. Elsewhere
        /// it counts RTTs by the clock.
        probe_rounds: ProbeRounds = ProbeRounds::Begun;
        /// Rounds with a short queue end loss mode also outside probes, once the dwell is over (Alg 5.2, line 27).
        leave_loss: bool = false;
        /// The dwell counts anew from every return to loss mode, after a probe that found somebody; else from delay mode
        /// alone (Algorithm 5.1).
        dwell_again: bool = false;
        /// The shadow window takes the window after the cut, not before.
        shadow_after_cut: bool = false;
        /// Packets that the window keeps, whatever a back-off, a loss or a probe of the base RTT asks: one, the size that
        /// the text calls small (footnote 4 of 5.2.6). FreeBSD's CDG keeps none, RFC 5681's losses leave two.
        least: u32 = 1, 0 => 2;
        /// Gradients of slow starts and repairs enter the averages, as in FreeBSD's CDG; else those of congestion avoidance
        /// alone, which then begins with nothing to compare with.
        every_round: bool = false;
        /// Slow start into loss mode grows by one packet per ACK, too; else by what was acknowledged, as FreeBSD's CUBIC.
        loss_ack_counting: bool = false;
    }
    check |p| {
        if p.wwma && p.window != 8 {
            return Err(ParamError::Conflict(alloc::format!(
                "window = {} needs wwma = false: the weighted average has eight weights", p.window)));
        }
        if p.lpcc && (p.adaptive_g == Switch::On || p.mode_switch == Switch::On) {
            return Err(ParamError::Conflict("lpcc = true switches adaptive_g and mode_switch off (6.4): leave them out".into()));
        }
        Ok(())
    }
}

impl Params {
    /// λ (Eq 5.6).
    pub fn lambda(&self) -> f64 {
        self.lambda.or(if self.lpcc { 0.75 } else { 0.95 })
    }

    /// With what `lpcc` switches off switched off.
    pub(super) fn resolved(&self) -> Params {
        let on = !self.lpcc;
        Params {
            adaptive_g: Switch::from(self.adaptive_g.or(self.bdp) && on),
            mode_switch: Switch::from(self.mode_switch.or(self.bdp) && on),
            use_ineffectual: self.use_ineffectual && on,
            use_shadow: self.use_shadow && on,
            ..self.clone()
        }
    }
}
