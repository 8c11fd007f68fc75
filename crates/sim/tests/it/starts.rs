//! Slow starts and what they need from hosts and routers, over whole simulations.

use crate::common::{dumbbell, ms, run};
use sim::Summary;
use units::Instant;

/// The first 400 ms of flows on 40 Mbit/s over 100 ms, before slow start overfills path and buffer.
fn beginning(ccs: &[&str], share: Option<f64>) -> Summary {
    let mut s = dumbbell(40.0, 100.0, 1000, "fifo", ccs, 1);
    s.run.duration = ms(400.0);
    s.run.measure.1 = Instant::ZERO + s.run.duration;
    s.links[0].quick_start = share;
    run(&s)
}

fn sent(r: &Summary) -> f64 {
    r.flows[0].goodput_mbps
}

#[test]
fn quick_start_sends_at_once_what_the_routers_grant() {
    let standard = sent(&beginning(&["newreno"], None));
    let quick = "newreno(slow_start=quick_start(request=30Mbit/s))";
    assert_eq!(sent(&beginning(&[quick], None)), standard, "a router that does not know it ends the request");
    // 30 asks for 20.48; nine tenths of 40 can be spared.
    let granted = beginning(&[quick], Some(0.9));
    assert!(sent(&granted) > 5.0 * standard, "{} and {standard}", sent(&granted));
    assert_eq!(granted.links[0].dropped, 0);
    let little = beginning(&[quick], Some(0.1));
    assert!(sent(&little) < sent(&granted), "a tenth of the link grants 2.56 Mbit/s");
    // The second is granted what the first left: 10.24.
    let two = beginning(&[quick, quick], Some(0.9));
    let ratio = two.flows[1].goodput_mbps / two.flows[0].goodput_mbps;
    assert!((0.4..=0.7).contains(&ratio) && two.links[0].dropped == 0, "{ratio}");
}

#[test]
fn starts_that_measure_end_near_the_bandwidth_delay_product() {
    // Standard slow start ends at several times of it.
    let exit = |cc: &str| {
        let r = run(&dumbbell(20.0, 60.0, 600, "fifo", &[cc], 10));
        (r.flows[0].slow_start_exit.as_ref().map(|e| e.bdp_ratio), r.links[0].dropped)
    };
    assert!(exit("newreno").0.unwrap() > 2.0, "{:?}", exit("newreno"));
    for start in ["hoe", "paced", "hldg"] {
        let (ratio, dropped) = exit(&format!("newreno(slow_start={start})"));
        assert!((0.6..=1.6).contains(&ratio.unwrap()), "{start}: {ratio:?}");
        assert_eq!(dropped, 0, "{start}");
    }
}

#[test]
fn slow_starts_go_with_any_algorithm_that_allows_them() {
    for cc in ["cubic", "illinois", "westwood", "copa"] {
        for start in ["vegas", "hoe", "adaptive", "paced", "capstart", "cdg", "hldg"] {
            let spec = format!("{cc}(slow_start={start})");
            let allowed = cc::find(cc).unwrap().resolve(&spec.parse().unwrap()).is_ok();
            assert_eq!(allowed, cc != "copa", "{spec}");
            if allowed {
                let r = run(&dumbbell(20.0, 60.0, 200, "fifo", &[&spec], 8));
                // CDG's may end it at once, and then growth is the algorithm's own.
                let least = if start == "cdg" { 0.15 } else { 0.7 };
                assert!(r.links[0].utilisation.unwrap() > least, "{spec}: {:?}", r.links[0].utilisation);
            }
        }
    }
}

#[test]
fn lola_grows_behind_a_slow_start_that_is_not_its_own() {
    // CDG's leaves at a third of what the path holds, paced start at nine tenths, before LoLa has seen a queue.
    for start in ["hystart", "paced", "cdg"] {
        let r = run(&dumbbell(100.0, 40.0, 1000, "fifo", &[&format!("lola(slow_start={start})")], 10));
        assert!(r.links[0].utilisation.unwrap() > 0.9, "{start}: {:?}", r.links[0].utilisation);
    }
}

#[test]
fn a_drifting_clock_looks_like_a_queue_to_one_way_delays() {
    // LEDBAT holds 25 ms of queue; a sender whose clock loses 200 ppm sees 200 µs more delay every second.
    let queue = |skew: i64, drift: i64| {
        let mut s = dumbbell(10.0, 40.0, 400, "fifo", &["ledbat(target=25ms)"], 60);
        s.run.measure.0 = Instant::from_millis(40_000);
        (s.flows[0].clock_skew_ppb, s.flows[0].clock_drift_ppb) = (skew, drift);
        run(&s).links[0].queue_ms.unwrap().mean
    };
    let (exact, slow) = (queue(0, 0), queue(-200_000, 0));
    assert!((exact - 25.0).abs() < 2.0 && slow < exact - 5.0, "{exact} ms, and {slow} with a slow clock");
    // Drift of a hundredth an hour: 139 ppm after 50 s, 3.5 ms in all, which is more than a tick of the timestamps.
    let drifting = queue(0, -10_000_000);
    assert!((exact - drifting - 3.5).abs() < 1.5, "{exact} ms, and {drifting} with a clock that gets slower");
}

#[test]
fn iperf_on_freebsd_leaves_slow_start_with_the_windows_that_the_thesis_prints() {
    // Where a whole burst stands in the queue the toss is certain: 813 and 203 % of 1875 and 7500 bytes (Table 4.4: after
    // five ACKs, the back-off taken) and 961 and 641 % of 5000 and 7500 (Table 5.4: after 23). An ACK adds 1460 bytes.
    for (table, rate, rtt, acks, keeps, printed) in [
        ("4.4", "1.5 Mbit/s", "10 ms", 5, 0.7, "8.13"),
        ("4.4", "1.5 Mbit/s", "40 ms", 5, 0.7, "2.03"),
        ("5.4", "4 Mbit/s", "10 ms", 23, 1.0, "9.61"),
        ("5.4", "1.5 Mbit/s", "40 ms", 23, 1.0, "6.41"),
    ] {
        let file = format!("{}/../../experiments/thesis/table-{table}.toml", env!("CARGO_MANIFEST_DIR"));
        let mut e = experiment::parse(&std::fs::read_to_string(&file).unwrap(), &file).unwrap();
        for (key, value) in [("path.rate", rate), ("path.rtt", rtt), ("run.duration", "2 s")] {
            e.set(key, value).unwrap();
        }
        let cases = e.cases().unwrap();
        let exit = run(&cases[0].scenario).flows[0].slow_start_exit.unwrap();
        let window = (14_480 + acks * 1460) as f64 * keeps;
        assert!((exit.ssthresh_bytes as f64 - window).abs() < 1.0, "{table} {rate} {rtt}: {exit:?}");
        assert_eq!(format!("{:.2}", exit.bdp_ratio), printed);
    }
}

/// A lone flow on FreeBSD's stack: its throughput in Mbit/s, its mean RTT in ms and its back-offs by delay.
fn on_freebsd(mbps: f64, rtt_ms: f64, packets: usize, cc: &str) -> (f64, f64, u64) {
    let mut s = dumbbell(mbps, rtt_ms, packets, "fifo", &[cc], 20);
    s.flows[0].stack = tcp::Stack::FreeBsd11;
    let r = run(&s);
    (r.flows[0].throughput_mbps, r.flows[0].rtt_ms.as_ref().unwrap().mean, r.flows[0].backoffs.delay)
}

#[test]
fn freebsds_windows_at_the_threshold_are_none_of_a_chosen_slow_starts_or_of_delay_controls() {
    // In every repair FreeBSD's window is at the threshold, which is slow start there.
    let (standard, ..) = on_freebsd(10.0, 40.0, 17, "newreno");
    for cc in ["newreno(slow_start=hldg)", "newreno(slow_start=cdg)"] {
        let (mbps, ..) = on_freebsd(10.0, 40.0, 17, cc);
        assert!(mbps > 0.97 * standard, "{cc}: {mbps} and {standard}");
    }
    // Copa steers to two packets; YeAH empties its queue at a time, not a segment a round.
    let (mbps, rtt, _) = on_freebsd(20.0, 40.0, 138, "copa");
    assert!(mbps > 19.0 && rtt < 43.0, "{mbps} Mbit/s, {rtt} ms");
    let (mbps, _, cuts) = on_freebsd(20.0, 40.0, 138, "yeah");
    assert!(mbps > 19.0 && cuts < 20, "{mbps} Mbit/s, {cuts}");
    // Its smallest RTT is in ticks of 1 ms, beside which no interval of delivery is too short to be one.
    let (mbps, ..) = on_freebsd(1000.0, 0.3, 100, "bbr");
    assert!(mbps > 900.0, "{mbps}");
}
