//! What is claimed of BBR, BBR v3, RAPID, Prague and the Westwood family, on the smallest path that shows it.

use crate::common::{self, dumbbell, run};
use experiment::{LossModel, Scenario};
use units::Instant;

fn from(mut s: Scenario, second: u64) -> sim::Summary {
    s.run.measure.0 = Instant::from_millis(1000 * second);
    run(&s)
}

#[test]
fn bbr_keeps_between_one_and_two_bdp_in_flight() {
    // 60 Mbit/s over 100 ms are 500 packets; the queue is what is in flight beyond them. Alone it drains what it queues;
    // three flows press until their windows stop them, at two BDP and three bursts each.
    for (flows, least) in [(1, 0.0), (3, 0.1)] {
        let r = from(dumbbell(60.0, 100.0, 3000, "fifo", &vec!["bbr"; flows], 30), 10);
        let queue = r.links[0].queue_ms.as_ref().unwrap();
        let in_flight = 1.0 + queue.mean / 100.0;
        assert!((1.0 + least..=2.1).contains(&in_flight), "{flows} flows: {in_flight} BDP, {queue:?}");
        assert!(r.links[0].utilisation.unwrap() > 0.93, "{flows} flows: {:?}", r.links[0].utilisation);
    }
}

#[test]
fn bbr_s_share_against_cubic_falls_with_the_buffer() {
    let share = |bdp: usize| from(dumbbell(20.0, 40.0, 67 * bdp, "fifo", &["bbr", "cubic"], 60), 10).groups[0].share;
    let shares = [1, 4, 12].map(share);
    assert!(shares[0] > shares[1] && shares[1] > shares[2] + 0.05, "{shares:?}");
    assert!(shares[0] > 0.6, "in a shallow buffer it takes more than half: {shares:?}");
}

#[test]
fn bbr3_loses_less_than_bbr_in_a_shallow_buffer_and_leaves_cubic_more() {
    let shallow = |cc: &str| from(dumbbell(20.0, 40.0, 20, "fifo", &[cc, cc], 30), 5);
    let (one, three) = (shallow("bbr"), shallow("bbr3"));
    let (lost, less) = (one.links[0].drop_pct.unwrap(), three.links[0].drop_pct.unwrap());
    assert!(less < lost / 2.0 && less < 2.0, "{lost} % and {less} %");
    assert!(three.links[0].utilisation.unwrap() > 0.85, "{:?}", three.links[0].utilisation);
    let cubic = |cc: &str| from(dumbbell(20.0, 40.0, 67, "fifo", &[cc, "cubic"], 60), 10).groups[1].share;
    let (beside_one, beside_three) = (cubic("bbr"), cubic("bbr3"));
    assert!(beside_three > beside_one, "CUBIC keeps {beside_one} beside BBR, {beside_three} beside BBR v3");
}

#[test]
fn bbr3_fills_a_long_path_with_little_queue() {
    let r = from(dumbbell(20.0, 100.0, 1000, "fifo", &["bbr3"], 40), 10);
    let queue = r.links[0].queue_ms.as_ref().unwrap();
    assert!(r.links[0].utilisation.unwrap() > 0.93 && queue.mean < 25.0, "{:?}, {queue:?}", r.links[0].utilisation);
    assert_eq!(r.links[0].dropped, 0);
}

#[test]
fn rapid_finds_what_is_free_in_a_second_and_keeps_the_queue_short() {
    let mut s = dumbbell(50.0, 40.0, 500, "fifo", &["rapid"], 10);
    s.run.measure.0 = Instant::from_millis(1000);
    let r = run(&s);
    let (used, queue) = (r.links[0].utilisation.unwrap(), r.links[0].queue_ms.as_ref().unwrap());
    assert!(used > 0.8 && queue.mean < 10.0, "{used}, {queue:?}");
    assert!(r.links[0].drop_pct.unwrap() < 0.1);
}

#[test]
fn two_rapid_flows_share_a_fast_link() {
    let mut s = dumbbell(100.0, 20.0, 167, "fifo", &["rapid", "rapid"], 12);
    s.flows[1].start = Instant::from_millis(2000);
    let r = from(s, 4);
    let late = r.groups[1].share;
    assert!((0.4..0.6).contains(&late) && r.links[0].utilisation.unwrap() > 0.9, "{late}, {:?}", r.links[0]);
    let dropped = r.links[0].drop_pct.unwrap();
    assert!(dropped < 1.5, "a full queue does not look free: {dropped} %");
}

#[test]
fn agile_probing_fills_a_long_path_without_a_loss() {
    let end = |cc: &str| {
        let r = from(dumbbell(100.0, 100.0, 833, "fifo", &[cc], 20), 5);
        (r.links[0].utilisation.unwrap(), r.links[0].dropped)
    };
    // Its estimate ends slow start at the BDP; ABSE's only tells what to do after the loss.
    let ((agile, lost), (abse, _)) = (end("agile"), end("abse"));
    assert!(agile > 0.99 && lost == 0 && abse < 0.85, "{agile}, {lost} lost, ABSE {abse}");
}

#[test]
fn lola_keeps_five_milliseconds_of_queue_whoever_comes() {
    for flows in [1, 2, 5] {
        let mut s = dumbbell(100.0, 40.0, 1000, "fifo", &vec!["lola"; flows], 40);
        s.flows.iter_mut().enumerate().for_each(|(i, f)| f.start = Instant::from_millis(37 * i as u64));
        let r = from(s, 10);
        let (used, queue) = (r.links[0].utilisation.unwrap(), r.links[0].queue_ms.as_ref().unwrap());
        assert!(used > 0.95 && queue.mean < 6.0, "{flows} flows: {used}, {queue:?}");
        let least = r.groups.iter().map(|g| g.share).fold(1.0, f64::min);
        assert!(least * flows as f64 > 0.6, "{flows} flows: the least has {least}");
    }
}

#[test]
fn prague_keeps_the_low_latency_queue_short_and_shares_with_its_like() {
    let mut s = dumbbell(40.0, 20.0, 500, "dualpi2", &["prague", "prague"], 20);
    s.flows.iter_mut().for_each(|f| f.ecn = true);
    let r = from(s, 5);
    let queue = r.links[0].queue_ms.as_ref().unwrap();
    assert!(queue.mean < 2.0 && r.links[0].utilisation.unwrap() > 0.9, "{queue:?}, {:?}", r.links[0].utilisation);
    assert!((0.35..=0.65).contains(&r.groups[0].share), "{}", r.groups[0].share);
}

#[test]
fn dctcp_and_cubic_share_equally_behind_dualpi2_where_its_coupling_says_so() {
    // 1.05/2 / 1.22 · (RTT + 15 ms) / RTT is 1.08 at 10 ms: experiments/l4s/dualpi2-flows.toml.
    for n in [1, 2, 4] {
        let ccs: Vec<&str> = std::iter::repeat_n("dctcp", n).chain(std::iter::repeat_n("cubic", n)).collect();
        let mut s = dumbbell(120.0, 10.0, 3000, "dualpi2(classify=any_ect, reference=linux)", &ccs, 40);
        s.flows[..n].iter_mut().for_each(|f| f.ecn = true);
        let r = from(s, 10);
        let share: f64 = r.flows[..n].iter().map(|f| f.share).sum();
        let ratio = share / (1.0 - share);
        assert!((0.8..=1.25).contains(&ratio), "{n} of each: {ratio}");
        for f in &r.flows[..n] {
            let queue = f.owd_ms.as_ref().unwrap().median - 5.1;
            assert!(queue < 1.0, "{n} of each: {queue} ms");
        }
    }
}

#[test]
fn a_prague_flow_of_short_rtt_leaves_more_to_a_long_one_once_it_is_old() {
    let share = |cc: &str| {
        let mut s = dumbbell(40.0, 5.0, 500, "dualpi2", &[cc, cc], 25);
        // 5 and 30 ms.
        s.flows[1].edge = common::ms(25.0);
        s.flows[1].base_rtt = common::ms(30.0);
        s.flows.iter_mut().for_each(|f| f.ecn = true);
        from(s, 15).groups[1].share
    };
    let (with, without) = (share("prague"), share("prague(virtual_rtt=0ms)"));
    assert!(with > without + 0.1, "the long flow has {with} with RTT independence, {without} without");
}

#[test]
fn deadlines_and_sizes_decide_who_gives_way() {
    let shares = |a: &str, b: &str| {
        let queue = "codel(reference=linux, ecn=true, ce_threshold=1ms)";
        let mut s = dumbbell(100.0, 5.0, 500, queue, &[a, b], 5);
        s.flows.iter_mut().for_each(|f| f.ecn = true);
        from(s, 1).groups[0].share
    };
    let (near, far) = ("d2tcp(size=40MB, deadline=5s)", "d2tcp(size=40MB, deadline=1000s)");
    assert!(shares(near, far) > 0.55, "{}", shares(near, far));
    // A flow that comes after two seconds: its share of its first 200 ms.
    let late = |cc: &str| {
        let mut s = dumbbell(100.0, 5.0, 500, "codel(reference=linux, ecn=true, ce_threshold=1ms)", &[cc, cc], 3);
        s.flows.iter_mut().for_each(|f| f.ecn = true);
        s.flows[1].start = Instant::from_millis(2000);
        s.run.measure = (Instant::from_millis(2000), Instant::from_millis(2200));
        run(&s).groups[1].share
    };
    assert!(late("l2dct") > late("dctcp") + 0.05, "{} with L2DCT, {} with DCTCP", late("l2dct"), late("dctcp"));
}

#[test]
fn losses_at_random_cost_the_westwood_family_less_than_reno() {
    let goodput = |cc: &str, loss: f64| {
        let mut s = dumbbell(20.0, 60.0, 200, "fifo", &[cc], 30);
        s.links[0].loss = LossModel::Random(loss);
        from(s, 5).groups[0].goodput_mbps
    };
    let reno = goodput("newreno", 0.01);
    for cc in ["westwood", "westwood_be", "crb", "abse", "bbe", "agile", "br"] {
        let more = goodput(cc, 0.01);
        assert!(more > 1.2 * reno, "{cc}: {more}, Reno {reno} Mbit/s at 1 %");
    }
    let (reno, br) = (goodput("newreno", 0.05), goodput("br", 0.05));
    assert!(br > 2.0 * reno, "5 %, for which bulk repeat was made: {br}, Reno {reno} Mbit/s");
}
