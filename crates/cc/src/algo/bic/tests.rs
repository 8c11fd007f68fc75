use super::*;
use crate::Signal;
use crate::testing::{ack, congestion, flow, packets};
use units::Rng;

fn bic(p: Params, f: &mut Flow) -> Bic {
    f.ssthresh = packets(2);
    Bic::new(&p, Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true })
}

#[test]
fn far_below_near_at_and_beyond_the_last_maximum() {
    let mut cc = bic(Params::default(), &mut flow(10, 100));
    cc.w_max = 200.0;
    for (w, grown) in [
        (10.0, 1.0),   // Reno
        (100.0, 16.0), // 25, but no more than S_max
        (180.0, 5.0),
        (182.0, 4.0), // 18 packets are missing: 4.5
        (192.0, 2.0),
        (193.0, 0.2), // 7 are: whole packets make that 1
        (197.0, 0.2), // 4 packets in 20 rounds
        (203.0, 0.2),
        (209.0, 3.0),
        (247.0, 47.0 / 3.0),
        (248.0, 16.0),
    ] {
        assert!((cc.growth(w) - grown).abs() < 1e-12, "{w}: {}", cc.growth(w));
    }
    // The paper's: half the way, at most 32.
    let mut cc = bic(Params { divisor: 2.0, s_max: 32.0, ..Params::default() }, &mut flow(10, 100));
    cc.w_max = 200.0;
    assert_eq!([100.0, 160.0, 190.0].map(|w| cc.growth(w)), [32.0, 20.0, 5.0]);
}

#[test]
fn a_loss_leaves_four_fifths_and_a_flow_on_its_way_down_remembers_less() {
    let mut f = flow(100, 100);
    let mut cc = bic(Params::default(), &mut f);
    let mut lose = |cwnd: u64| {
        f.cwnd = packets(cwnd);
        let c = congestion(Signal::Loss, &f);
        (cc.on_congestion(&mut f, &c), cc.w_max)
    };
    assert_eq!(lose(100), (Reaction::Reduce(packets(80)), 100.0));
    assert_eq!(lose(80), (Reaction::Reduce(packets(64)), 72.0));
    assert_eq!(lose(14), (Reaction::Reduce(packets(7)), 12.6));
}

#[test]
fn most_of_the_way_back_takes_few_rounds() {
    let mut f = flow(80, 100);
    let mut cc = bic(Params::default(), &mut f);
    cc.w_max = 100.0;
    let windows = [(); 6].map(|()| {
        let w = f.cwnd.get() / 1000;
        (0..w).for_each(|_| cc.on_ack(&mut f, &ack(1, 100)));
        f.cwnd.get() / 1000
    });
    // A quarter of the rest each round, in whole packets: 100 − 20·e^(−n/4) are 84.4, 90.6 and 95.5, and from 93 on it is 0.2.
    assert_eq!((windows[0], windows[2], windows[5]), (84, 89, 93));
}

#[test]
fn without_a_maximum_a_round_adds_a_twentieth_at_least() {
    let cc = bic(Params::default(), &mut flow(10, 100));
    assert_eq!([14.0, 15.0, 320.0, 400.0].map(|w| cc.growth(w)), [1.0, 5.0, 16.0, 20.0]);
}

#[test]
fn a_timeout_forgets_the_maximum_and_what_proves_spurious_gives_it_back() {
    let mut f = flow(100, 100);
    let mut cc = bic(Params::default(), &mut f);
    for told in [Some(Signal::Timeout), None] {
        cc.w_max = 200.0;
        match told {
            Some(signal) => drop(cc.on_congestion(&mut f, &congestion(signal, &flow(100, 100)))),
            None => cc.on_event(&mut f, Event::Timeout),
        }
        assert_eq!(cc.w_max, 0.0, "{told:?}");
    }
    cc.on_undo(&mut f);
    assert_eq!(cc.w_max, 200.0);
    f.mss = packets(2);
    cc.on_event(&mut f, Event::MssChanged);
    assert_eq!((cc.w_max, cc.saved), (100.0, 100.0), "as many bytes");
}

#[test]
fn growth_is_a_packet_per_packet_at_most() {
    let mut f = flow(15, 100);
    let mut cc = bic(Params { s_max: 100.0, low_window: 2.0, ..Params::default() }, &mut f);
    cc.w_max = 1000.0;
    cc.on_ack(&mut f, &ack(1, 100));
    assert_eq!(f.cwnd, packets(16));
}
