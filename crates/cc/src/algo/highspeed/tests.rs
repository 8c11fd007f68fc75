use super::*;
use crate::Signal;
use crate::testing::{ack, congestion, flow, packets};
use units::Rng;

fn highspeed(f: &mut Flow) -> HighSpeed {
    HighSpeed::new(&Params::default(), Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true })
}

#[test]
fn growth_and_cut_at_four_windows() {
    // Reference, section 1.6.
    let cc = highspeed(&mut flow(10, 100));
    for (w, a, b) in [
        (38.0, 1.0, 0.5),
        (118.0, 2.006, 0.441),
        (1058.0, 8.01, 0.327),
        (10_000.0, 29.02, 0.210),
        (83_000.0, 70.7, 0.1),
    ] {
        assert!((cc.a(w) / a - 1.0).abs() < 0.002, "a({w}) = {}", cc.a(w));
        assert!((cc.b(w) - b).abs() < 0.0005, "b({w}) = {}", cc.b(w));
    }
}

#[test]
fn a_round_adds_a_and_a_loss_takes_b() {
    for (cwnd, grown, after) in [(30, 31, 15_000), (1000, 1007, 670_120)] {
        let mut f = flow(cwnd, 100);
        f.ssthresh = packets(2);
        let mut cc = highspeed(&mut f);
        let c = congestion(Signal::Loss, &f);
        let Reaction::Reduce(to) = cc.on_congestion(&mut f, &c) else { panic!() };
        assert!(to.get().abs_diff(after) < 10, "{to:?}");
        (0..cwnd).for_each(|_| cc.on_ack(&mut f, &ack(1, 100)));
        assert_eq!(f.cwnd, packets(grown));
    }
}

#[test]
fn the_response_function_is_the_rfcs() {
    // RFC 3649, section 5: w = 0.12 / p^0.835, here with a loss every 1/p packets.
    for loss_every in [1_000u64, 10_000, 100_000] {
        let mut f = flow(100, 100);
        f.ssthresh = packets(2);
        let mut cc = highspeed(&mut f);
        let (mut sent, mut rounds) = (0, 0u64);
        for episode in 0..60 {
            while sent < loss_every {
                let window = f.cwnd.get() / 1000;
                cc.on_ack(&mut f, &ack(window, 100));
                sent += window;
                rounds += u64::from(episode >= 20);
            }
            sent -= loss_every;
            let c = congestion(Signal::Loss, &f);
            let Reaction::Reduce(to) = cc.on_congestion(&mut f, &c) else { panic!() };
            f.cwnd = to;
            f.reset_credit();
        }
        let mean = (40 * loss_every) as f64 / rounds as f64;
        let expected = 0.12 * math::pow(loss_every as f64, 0.835);
        assert!((mean / expected - 1.0).abs() < 0.1, "1/{loss_every}: {mean} packets, {expected} expected");
    }
}
