//! Losses of what was sent again, by RACK.

use super::alone::Alone;
use super::*;
use cc::Phase;
use units::Bytes;

/// Ten segments timed out, the first arrived the second time, and the others were sent again 41 ms ago.
fn timed_out() -> Alone {
    let mut a = Alone::new(Config { undo: false, ..linux() }, 10);
    a.now += MS(39);
    a.hear(1000, &[]);
    while a.end.stats().timeouts == 0 {
        a.ring();
    }
    a.end.flow_mut().cwnd = Bytes::new(20 * MSS);
    assert_eq!(a.hear(2000, &[])[..9], [2, 3, 4, 5, 6, 7, 8, 9, 10].map(|n| (n * MSS, 1000)));
    a.now += MS(40);
    a
}

#[test]
fn the_loss_of_a_retransmission_after_a_timeout_is_another_congestion() {
    // RFC 5681, section 4.3; Linux' FLAG_LOST_RETRANS of `tcp_fastretrans_alert`. (ACK, ranges, phase, recoveries, threshold)
    for (ack, ranges, phase, recoveries) in [
        (2000, &[][..], Phase::Loss, 0),
        (4000, &[], Phase::Loss, 0),
        (2000, &[(3000, 5000)], Phase::Recovery, 1),
        (3000, &[(4000, 5000)], Phase::Recovery, 1),
        (12_000, &[], Phase::Open, 0),
    ] {
        let mut a = timed_out();
        let before = a.end.flow().cwnd;
        a.hear(ack, ranges);
        assert_eq!((a.phase(), a.end.stats().recoveries), (phase, recoveries), "{ack} {ranges:?}");
        let threshold = if recoveries > 0 { before / 2 } else { Bytes::new(5 * MSS) };
        assert_eq!(a.end.flow().ssthresh, threshold, "{ack} {ranges:?}");
    }
}

#[test]
fn what_the_timer_for_reordering_finds_lost_after_a_timeout_is_another_congestion_too() {
    // `tcp_rack_reo_timeout` asks for no state but Recovery, counts one segment as delivered as it begins one, and lets
    // go there and then what the reduction has room for.
    let mut a = timed_out();
    a.end.sender.rack.reordering = true;
    assert_eq!((a.hear(2000, &[(3000, 4000)]).len(), a.phase()), (1, Phase::Loss));
    assert_eq!(a.ring(), [(2000, 1000)]);
    assert_eq!((a.phase(), a.end.stats().recoveries), (Phase::Recovery, 1));
    assert_eq!(a.end.sender.prr.delivered, MSS);
}
