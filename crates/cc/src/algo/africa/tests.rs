use super::*;
use crate::testing::{ack, closing, congestion, flow, ms, packets};
use crate::{CauseKind, Signal};
use units::{Bytes, Duration, Rng};

/// A flow of 1058 packets whose last round had this smoothed RTT over 100 ms.
fn after_round(srtt: Duration) -> (Africa, Flow) {
    let mut f = flow(1058, 100);
    f.ssthresh = packets(2);
    let mut cc = Africa::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    f.srtt = srtt;
    cc.on_ack(&mut f, &Ack { cumulative: Bytes::ZERO, ..closing(0, 100) });
    (cc, f)
}

#[test]
fn a_round_adds_eight_packets_or_one() {
    // Reference, section 4.1: 1058 packets, +8.01 fast and +1 slow. Of 1058, 1.641 are queued at 0.155 ms.
    for (us, grown) in [(100_000, 8), (100_155, 8), (100_156, 1), (120_000, 1)] {
        let (mut cc, mut f) = after_round(Duration::from_micros(us));
        (0..1060).for_each(|_| cc.on_ack(&mut f, &ack(1, 100)));
        assert_eq!(f.cwnd.get() / 1000 - 1058, grown, "{us} µs");
    }
}

#[test]
fn a_loss_takes_a_third_of_a_thousand_packets_or_half() {
    // b(1058) = 0.327.
    for (rtt, left) in [(100, 712), (120, 529)] {
        let (mut cc, mut f) = after_round(ms(rtt));
        let c = congestion(Signal::Loss, &f);
        let Reaction::Reduce(to) = cc.on_congestion(&mut f, &c) else { panic!() };
        assert_eq!(to.get() / 1000, left);
    }
    let (_, mut f) = after_round(ms(120));
    assert_eq!(f.drain_events().next().unwrap().cause(), Some(CauseKind::ModeSwitch));
}
