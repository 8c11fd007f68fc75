#[path = "../tests/common/mod.rs"]
mod common;
use common::{dumbbell, ms};
use experiment::Vary;
fn main() {
    for (vary, dur, buf) in [(Vary::None, 200, 20), (Vary::Start, 200, 20), (Vary::StartHost, 200, 20), (Vary::StartHost, 1000, 20), (Vary::None, 200, 40), (Vary::StartHost, 200, 40)] {
        let mut line = String::new();
        for i in 0..25 {
            let mut v = vec![];
            for seed in 0..(if vary == Vary::None { 1 } else { 3 }) {
                let mut s = dumbbell(10.0, 40.0, buf, "fifo", &["newreno", "newreno"], dur);
                s.run.vary = vary;
                s.run.seed = seed + 100 * i;
                let extra = ms(0.2 * i as f64);
                s.flows[1].edge = extra;
                s.flows[1].base_rtt = ms(40.0) + extra;
                v.push(sim::run(&s, (), sim::Options::default()).unwrap().0.flows[0].share);
            }
            line += &format!("{:.2} ", v.iter().sum::<f64>() / v.len() as f64);
        }
        println!("{vary:?} {dur} {buf}: {line}");
    }
}
