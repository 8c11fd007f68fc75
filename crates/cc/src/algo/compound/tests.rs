use super::*;
use crate::Event;
use crate::testing::{ack, closing, congestion, flow, ms, packets};
use units::Rng;

fn compound(p: Params, f: &mut Flow) -> Compound {
    f.ssthresh = packets(2);
    Compound::new(&p, Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true })
}

#[test]
fn the_delay_window_grows_with_the_three_quarters_power() {
    // Reference, section 4.2.
    let cc = compound(Params::default(), &mut flow(100, 100));
    for (win, more) in [(40.0, 0.0), (41.0, 1.03), (100.0, 2.95), (500.0, 12.2)] {
        assert!((cc.growth(win) - more).abs() < 0.03, "{win}: {}", cc.growth(win));
    }
}

#[test]
fn a_round_adds_to_both_windows_and_a_queue_takes_from_one() {
    let mut f = flow(100, 100);
    let mut cc = compound(Params::default(), &mut f);
    cc.on_ack(&mut f, &closing(1, 100));
    assert_eq!((f.cwnd.get(), cc.dwnd.get()), (102_952, 2_952));
    (0..103).for_each(|_| cc.on_ack(&mut f, &ack(1, 100)));
    assert_eq!((f.cwnd.get(), cc.dwnd.get()), (103_952, 2_952), "Reno's packet");
    // 50 packets of 100 queued, more than γ: all of the delay window goes.
    let mut f = flow(100, 100);
    let mut cc = compound(Params::default(), &mut f);
    (cc.dwnd, f.srtt) = (packets(60), ms(200));
    cc.on_ack(&mut f, &Ack { cumulative: Bytes::ZERO, ..closing(1, 200) });
    assert_eq!((f.cwnd, cc.dwnd), (packets(50), packets(10)));
    assert_eq!(f.drain_events().next().unwrap().cause(), Some(crate::CauseKind::DelayBackoff));
}

#[test]
fn a_loss_halves_the_whole_and_a_timeout_leaves_reno() {
    for (signal, dwnd) in [(Signal::Loss, 20), (Signal::Timeout, 0)] {
        let mut f = flow(100, 100);
        let mut cc = compound(Params::default(), &mut f);
        cc.dwnd = packets(40);
        let c = congestion(signal, &f);
        assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(packets(50)));
        assert_eq!(cc.dwnd, packets(dwnd), "{signal:?}");
    }
}

#[test]
fn gamma_follows_what_reno_alone_would_have_queued() {
    let mut f = flow(40, 100);
    let mut cc = compound(Params { tuning: true, ..Params::default() }, &mut f);
    f.srtt = ms(200);
    let c = congestion(Signal::Loss, &f);
    let mut gammas = || {
        cc.on_congestion(&mut f, &c);
        cc.gamma
    };
    // Twenty packets queued; three quarters are 15. Then γ nears it from above.
    assert_eq!([gammas(), gammas()], [22.5, 18.75]);
}

#[test]
fn a_timeout_within_a_recovery_and_silence_leave_reno_too() {
    for (event, dwnd) in [(Event::Timeout, 0), (Event::Restart, 0), (Event::RecoveryEnd, 40)] {
        let mut f = flow(100, 100);
        let mut cc = compound(Params::default(), &mut f);
        cc.dwnd = packets(40);
        cc.on_event(&mut f, event);
        assert_eq!(cc.dwnd, packets(dwnd), "{event:?}");
    }
}

#[test]
fn a_window_cut_below_the_delay_window_is_renos() {
    let mut f = flow(100, 100);
    let mut cc = compound(Params::default(), &mut f);
    cc.dwnd = packets(60);
    // A repair left ten packets.
    (f.cwnd, f.ssthresh) = (packets(10), packets(75));
    cc.on_ack(&mut f, &ack(1, 100));
    assert_eq!((f.cwnd, cc.dwnd), (packets(11), Bytes::ZERO));
    cc.dwnd = packets(11);
    cc.on_ack(&mut f, &ack(1, 100));
    assert_eq!(cc.dwnd, packets(11));
}

#[test]
fn a_loss_that_was_none_gives_back_the_delay_window_and_gamma() {
    for signal in [Signal::Loss, Signal::Timeout] {
        let mut f = flow(100, 100);
        let mut cc = compound(Params { tuning: true, ..Params::default() }, &mut f);
        (cc.dwnd, f.srtt) = (packets(40), ms(120));
        let c = congestion(signal, &f);
        cc.on_congestion(&mut f, &c);
        assert!(cc.dwnd < packets(40) && cc.gamma < 30.0, "{signal:?}");
        cc.on_undo(&mut f);
        assert_eq!((cc.dwnd, cc.gamma), (packets(40), 30.0), "{signal:?}");
    }
}
