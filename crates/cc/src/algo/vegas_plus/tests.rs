use super::*;
use crate::testing::{ack, congestion, flow, packets};
use units::Rng;

/// Its count and mode after these RTTs, one ACK each at a window that does not change.
fn hear(cc: &mut VegasPlus, f: &mut Flow, rtts: impl Iterator<Item = u64>) -> (u32, bool) {
    rtts.for_each(|rtt| cc.on_ack(f, &ack(0, rtt)));
    (cc.count, cc.aggressive)
}

fn settled(f: &mut Flow) -> VegasPlus {
    f.ssthresh = packets(10);
    VegasPlus::new(&Params::default(), Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true })
}

#[test]
fn eight_rises_make_reno_and_a_loss_and_four_falls_vegas() {
    // Reference, section 3.1.
    let mut f = flow(20, 100);
    let mut cc = settled(&mut f);
    assert_eq!(hear(&mut cc, &mut f, 100..=107), (7, false));
    assert_eq!(hear(&mut cc, &mut f, 108..=108), (8, true));
    cc.on_ack(&mut f, &ack(20, 108));
    assert_eq!(f.cwnd, packets(21), "a window acknowledged adds a packet, as Reno");
    let c = congestion(Signal::Loss, &f);
    cc.on_congestion(&mut f, &c);
    f.cwnd = packets(20);
    assert_eq!(hear(&mut cc, &mut f, (105..108).rev()), (1, true));
    assert_eq!(hear(&mut cc, &mut f, 104..=104), (0, false));
}

#[test]
fn a_grown_window_explains_a_rising_rtt_and_a_timeout_clears() {
    let mut f = flow(20, 100);
    let mut cc = settled(&mut f);
    for n in 0..20 {
        f.cwnd += packets(1);
        cc.on_ack(&mut f, &ack(0, 100 + n));
    }
    assert_eq!(cc.count, 0);
    hear(&mut cc, &mut f, 120..140);
    let c = congestion(Signal::Timeout, &f);
    cc.on_congestion(&mut f, &c);
    assert_eq!(hear(&mut cc, &mut f, [139, 139].into_iter()), (0, false));
}

#[test]
fn a_timeout_within_a_recovery_clears_too() {
    let mut f = flow(20, 100);
    let mut cc = settled(&mut f);
    hear(&mut cc, &mut f, 100..120);
    cc.on_event(&mut f, Event::Timeout);
    assert_eq!(hear(&mut cc, &mut f, [119].into_iter()), (0, false));
}
