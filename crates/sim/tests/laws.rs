//! Laws of whole families of congestion controls, on the smallest path that shows them.

mod common;
use common::{dumbbell, run};
use experiment::Scenario;
use units::{Duration, Instant};

/// Measures from a second on, to the end.
fn from(mut s: Scenario, second: u64) -> sim::Summary {
    s.run.measure.0 = Instant::ZERO + Duration::from_secs(second);
    run(&s)
}

#[test]
fn probe() {
    for cc in std::env::var("CCS").unwrap().split(';') {
        // 12 Mbit/s carry a packet a millisecond; 40 ms are 40 packets.
        for (buffer, ccs) in
            [(40, vec![cc]), (160, vec![cc]), (160, vec![cc, "cubic"]), (160, vec!["cubic", cc]), (160, vec![cc, cc])]
        {
            let mut s =
                dumbbell(12.0, 40.0, buffer, "fifo", &ccs, std::env::var("S").map_or(60, |s| s.parse().unwrap()));
            if ccs.len() > 1 {
                s.flows[1].start = Instant::ZERO + Duration::from_secs(5);
            }
            let t = std::time::Instant::now();
            let r = from(s, 15);
            let l = &r.links[0];
            println!(
                "{cc:28} buffer {buffer:3} {ccs:?} util {:.3} queue {:.1} p95 {:.1} drops {} shares {:?} {:?} {:.2}s",
                l.utilisation.unwrap(),
                l.queue_ms.unwrap().mean,
                l.queue_ms.unwrap().p95,
                l.dropped,
                r.groups.iter().map(|g| (g.share * 1000.0).round() / 1000.0).collect::<Vec<_>>(),
                r.flows[0].backoffs,
                t.elapsed().as_secs_f64()
            );
        }
    }
}
