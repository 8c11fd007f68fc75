//! Runs every case of an experiment file once and prints one line of figures each: the simulator without Python.
//! `cargo run --release -p sojourn-sim --example cases FILE [key=value …]`

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().unwrap_or_else(|| fail("usage: cases FILE [key=value …]"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| fail(format!("{file}: {e}")));
    let mut experiment = experiment::parse(&text, &file).unwrap_or_else(|e| fail(e));
    for set in arguments {
        let (key, value) = set.split_once('=').unwrap_or_else(|| fail(format!("{set}: expected key=value")));
        experiment.set(key, value).unwrap_or_else(|e| fail(e));
    }
    for case in experiment.cases().unwrap_or_else(|e| fail(e)) {
        let began = std::time::Instant::now();
        let (s, ()) = sim::run(&case.scenario, (), sim::Options::default()).unwrap_or_else(|e| fail(e));
        let values: Vec<String> = case.values.iter().map(|(k, v)| format!("{k}={v}")).collect();
        println!("{} [{:.2} s, {} packets, {}]", values.join(" "), began.elapsed().as_secs_f64(), s.packets, s.digest);
        for l in &s.links {
            if let (Some(u), Some(q)) = (l.utilisation, l.queue_ms) {
                println!(
                    "  {:12} util {:6.2} %  queue mean {:.2} median {:.2} sd {:.2} p95 {:.2} ms  drops {}",
                    l.name,
                    u * 100.0,
                    q.mean,
                    q.median,
                    q.sd,
                    q.p95,
                    l.dropped
                );
            }
        }
        for f in &s.flows {
            println!(
                "  {:12} {:8.3} Mbit/s share {:.3} rtt {:.2} ms  {:?} exit {:?} {:?}",
                f.name,
                f.throughput_mbps,
                f.share,
                f.rtt_ms.map_or(0.0, |r| r.mean),
                f.backoffs,
                f.slow_start_exit,
                f.mode_s
            );
        }
    }
}

fn fail(why: impl std::fmt::Display) -> ! {
    eprintln!("{why}");
    std::process::exit(2)
}
