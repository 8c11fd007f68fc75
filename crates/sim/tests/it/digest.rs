//! The digest is equal where the run is equal, and only there.

use crate::common::{dumbbell, ms, run, run_with};
use experiment::{Change, RateSpec, Scenario};
use sim::{Keep, Options, Recorder, Tape};
use units::{Duration, Instant, Rate};

#[test]
fn equal_twice_and_with_probes_on_and_off() {
    let s = dumbbell(10.0, 40.0, 50, "fifo", &["cubic", "newreno"], 10);
    let plain = run(&s).digest;
    assert_eq!(plain, run(&s).digest);
    let keep = Keep { series: Some(Duration::from_millis(10)), events: true, ..Keep::default() };
    let tape = Tape::new();
    let watched = run_with(&s, Recorder::new(keep), Options { tape: Some(&tape), ..Options::default() }).unwrap();
    assert_eq!(plain, watched.0.digest);
    assert!(!watched.1.events().is_empty() && !tape.entries().is_empty());
}

#[test]
fn one_packet_a_nanosecond_later_is_another_run() {
    let s = dumbbell(10.0, 40.0, 50, "fifo", &["newreno"], 5);
    let mut late = s.clone();
    let change = |at: f64, delay: Duration| Change {
        at: Instant::from_secs_f64(at),
        rate: None,
        delay: Some(delay),
        loss: None,
    };
    // Only what is sent within one packet time after 3 s takes a nanosecond longer.
    late.links[0].changes = vec![change(3.0, ms(20.0) + Duration::from_nanos(1)), change(3.0012, ms(20.0))];
    let mut same = s.clone();
    same.links[0].changes = vec![change(3.0, ms(20.0)), change(3.0012, ms(20.0))];
    assert_eq!(run(&s).digest, run(&same).digest);
    assert_ne!(run(&s).digest, run(&late).digest);
}

#[test]
fn a_seed_moves_dice_and_nothing_else() {
    let mut s = dumbbell(10.0, 40.0, 50, "fifo", &["newreno"], 5);
    let plain = run(&s).digest;
    s.run.seed = 2;
    assert_eq!(plain, run(&s).digest, "NewReno over a FIFO has no dice");
    s.links[0].loss = experiment::LossModel::Random(0.001);
    let one = run(&s).digest;
    s.run.seed = 3;
    assert_ne!(one, run(&s).digest);
}

#[test]
fn a_second_flow_does_not_reroll_the_first_ones_dice() {
    let alone = dumbbell(10.0, 40.0, 500, "fifo", &["newreno"], 2);
    let mut two = dumbbell(10.0, 40.0, 500, "fifo", &["newreno", "newreno"], 2);
    two.run.vary = experiment::Vary::Start;
    let mut one = alone;
    one.run.vary = experiment::Vary::Start;
    assert_eq!(run(&one).flows[0].start_s, run(&two).flows[0].start_s);
    assert!(run(&one).flows[0].start_s > 0.0);
}

#[test]
fn a_flow_on_another_path_does_not_reroll_the_jitter_of_the_first() {
    let mut one = dumbbell(10.0, 40.0, 500, "fifo", &["newreno"], 2);
    for link in &mut one.links {
        (link.jitter, link.rate) = (ms(3.0), Some(RateSpec::Constant(Rate::from_mbps(10.0))));
    }
    let mut two = one.clone();
    let mut late = two.flows[0].clone();
    (late.name, late.edge_back, late.start) = ("late".into(), ms(10.0), Instant::ZERO + ms(1900.0));
    late.base_rtt += ms(10.0);
    two.flows.insert(0, late);
    for s in [&mut one, &mut two] {
        s.run.measure.1 = Instant::ZERO + ms(1900.0);
    }
    let rtt = |s: &Scenario| run(s).flows.last().unwrap().rtt_ms.unwrap().mean;
    assert_eq!(rtt(&one), rtt(&two));
}
