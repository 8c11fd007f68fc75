//! What arrives twice, and what Linux makes of reordering.

use super::alone::Alone;
use super::*;
use crate::scoreboard::Delivery;
use cc::Phase;

const DSACK: Flags = Flags(Flags::ACK.0 | Flags::DSACK.0);

#[test]
fn a_timeout_with_much_arrived_beyond_the_hole_forgets_how_late_packets_may_be() {
    // Linux' `tcp_enter_loss`: three segments or more, and no repair or reduction under way.
    for (of, sacked, phase, left) in [
        (Stack::Linux, 3, Phase::Open, 3),
        (Stack::Linux, 2, Phase::Open, 10),
        (Stack::Linux, 3, Phase::Reduced, 10),
        (Stack::Ns2, 3, Phase::Open, 10),
    ] {
        let mut a = Alone::new(Config { loss: LossDetection::RackTlp, ..stack(of) }, 10);
        let s = &mut a.end.sender;
        s.board.sack(2001, 2001 + sacked * MSS, &mut Delivery::new(0), |_, _| ());
        s.rack.on_late(10 * MSS);
        s.flow.phase = phase;
        (s.rto_at, s.probe_at) = (AT(2000), Instant::MAX);
        s.on_timer(AT(2000));
        assert_eq!(u64::from(s.rack.most_late), left * MSS, "{of:?}, {sacked} in {phase:?}");
    }
}

#[test]
fn a_report_of_what_had_arrived_and_was_sent_again_is_reordering() {
    // Linux' `tcp_sacktag_one`: the third of ten arrives late, and its retransmission after it.
    let mut a = Alone::new(Config { timestamps: false, ..linux() }, 10);
    a.now += MS(39);
    a.hear(1000, &[]);
    a.hear(1000, &[(3000, 6000)]);
    (7..=9).for_each(|n| _ = a.hear(1000, &[(3000, n * MSS)]));
    assert_eq!(a.end.stats().retransmissions, 2);
    a.hear(1000, &[(2000, 9000)]);
    assert!(!a.end.sender.rack.reordering);
    a.hear_with(1000, &[(2000, 3000), (2000, 9000)], DSACK);
    let rack = &a.end.sender.rack;
    assert_eq!((rack.reordering, u64::from(rack.most_late)), (true, 7 * MSS));
}

#[test]
fn a_retransmission_of_what_is_lost_no_more_is_in_flight_until_it_is_reported_or_passed() {
    // Linux' `tcp_sacktag_one`: only what is tagged as lost loses `TCPCB_SACKED_RETRANS`, and what is reported.
    for (of, resent) in [(Stack::Linux, MSS), (Stack::Ns2, 0)] {
        for reported in [true, false] {
            let config = Config { loss: LossDetection::RackTlp, timestamps: false, ..stack(of) };
            let mut a = Alone::new(config, 10);
            a.now += MS(39);
            a.hear(1000, &[]);
            let s = &mut a.end.sender;
            let id = s.board.ring.first() + 1;
            s.lose(id);
            s.board.resend(id, a.now);
            s.board.resent_order.push_back((id, s.board.ring.get(id).turn()));
            s.stats.retransmissions += 1;
            s.board.unmark_lost();
            a.hear(1000, &[(2000, 3000)]);
            let board = &a.end.sender.board;
            assert_eq!((board.resent, board.recount()), (resent, board.sums()), "{of:?}");
            if reported {
                a.hear_with(1000, &[(2000, 3000), (2000, 3000)], DSACK);
            } else {
                a.hear(3000, &[]);
            }
            let board = &a.end.sender.board;
            assert_eq!((board.resent, board.recount()), (0, board.sums()), "{of:?}");
        }
    }
}
