//! Names of the inner state that queues and laws show: columns of the `diftr` table, rows of its page.

/// One name.
#[derive(Clone, Copy, Debug)]
pub struct Var {
    /// The name, with its unit.
    pub name: &'static str,
    /// What it is, and whose.
    pub doc: &'static str,
}

macro_rules! vars {
    ($($name:ident: $doc:literal;)*) => {
        /// Every name that [`Qdisc::vars`](crate::Qdisc::vars) may show.
        pub const VARS: &[Var] = &[$(Var { name: stringify!($name), doc: $doc }),*];
    };
}

vars! {
    p: "Probability of a drop or a mark (RED: p_b; COBALT: BLUE's; DualPI2: p′; SFB: the greatest bin's, or the flow's).";
    p_classic: "DualPI2: probability for the classic line, p′².";
    p_low: "DualPI2: coupled probability for the low-latency line, k p′.";
    max_p: "RED, Adaptive RED, CHOKe: probability where the band ends.";
    count: "CoDel and its kin: drops in this dropping state; RED: packets since the last signal.";
    dropping: "CoDel and its kin: 1 in the dropping state.";
    drop_next_s: "CoDel and its kin: time of the next drop.";
    first_above_s: "CoDel: time at which the delay will have stood above the target for an interval; 0 if it does not.";
    qdelay_ms: "PIE, DualPI2: delay at the last update; CoDel-DT: predicted delay of the last arrival.";
    qdelay_old_ms: "PIE: delay at the update before.";
    burst_ms: "PIE: what is left of the burst allowance.";
    accu_prob: "PIE: sum of p since the last drop.";
    active: "PIE: 1 if awake.";
    departure_mbps: "PIE, CoDel-DT: estimate of the departure rate.";
    avg_packets: "RED, Adaptive RED, CHOKe: average queue, in packets of mean size.";
    price: "REM: price.";
    arrivals: "REM: average of arrivals in an update period.";
    matched: "CHOKe: pairs dropped so far.";
    low_packets: "DualPI2: packets in the low-latency line.";
    classic_packets: "DualPI2: packets in the classic line.";
    new_flows: "Sub-queues on the list of new flows.";
    old_flows: "Sub-queues on the list of old flows.";
    fattest_flow: "Number of the fattest sub-queue.";
    fattest_bytes: "Data in the fattest sub-queue.";
    fattest_packets: "Packets in the fattest sub-queue.";
    sub_queue: "Number of the flow's sub-queue.";
    sub_packets: "Packets in the flow's sub-queue; SFB: in the emptiest of its bins.";
    sub_bytes: "Data in the flow's sub-queue.";
    deficit_bytes: "What the flow's sub-queue may still send this turn.";
}
