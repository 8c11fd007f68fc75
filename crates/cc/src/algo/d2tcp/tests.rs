use super::*;
use crate::testing::{ack, congestion, flow, ms, packets};
use units::Rng;

#[test]
fn imminence_of_a_deadline() {
    // 300 packets at 75 a round of 10 ms take 40 ms.
    let d = |left| imminence(packets(300), packets(100), ms(10), ms(left), 2.0);
    assert_eq!(
        [d(40), d(80), d(20), d(10), d(1000)].map(|d| (d * 1000.0).round()),
        [1000.0, 500.0, 2000.0, 2000.0, 500.0]
    );
}

/// The window in packets after a mark with α at a quarter.
fn after_mark(size: u64, deadline: u64) -> u64 {
    let mut f = flow(100, 10);
    let p = Params { size: packets(size), deadline: ms(deadline), ..Params::default() };
    let mut cc = D2tcp::new(&p, Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    cc.on_ack(&mut f, &ack(0, 10));
    cc.alpha = Ewma::starting_at(0.0625, 0.25);
    let c = congestion(Signal::Ecn, &f);
    let Reaction::Reduce(to) = cc.on_congestion(&mut f, &c) else { panic!() };
    (to.get() + 5) / 10
}

#[test]
fn near_deadlines_give_way_less_and_far_ones_more() {
    // α^1, α^2 and α^½ of ¼ are ¼, 1/16 and ½; half of that is given up. In hundredths of a packet.
    assert_eq!([after_mark(0, 0), after_mark(300, 40)], [8750, 8750]);
    assert_eq!([after_mark(300, 20), after_mark(300, 400)], [9688, 7500]);
    assert_eq!(after_mark(0, 20), 7500, "all is sent");
}

#[test]
fn what_is_under_way_is_no_longer_to_be_sent() {
    let mut f = flow(100, 10);
    let p = Params { size: packets(300), deadline: ms(20), ..Params::default() };
    let mut cc = D2tcp::new(&p, Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    cc.on_ack(&mut f, &ack(0, 10));
    // 75 packets a round: what remains takes 40, 30, 10 and no ms of the 20.
    let d = [0, 75, 225, 300].map(|sent| {
        (f.sent_to, f.delivered) = (packets(sent).get(), packets(sent.saturating_sub(75)));
        cc.d(&f)
    });
    assert_eq!(d, [2.0, 1.5, 0.5, 0.5]);
}
