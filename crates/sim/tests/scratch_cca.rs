mod common;
use common::*;
#[test]
fn look() {
    for (mbps, rtt, buf) in [(10.0, 40.0, 33usize), (10.0, 2.0, 1000), (50.0, 100.0, 400)] {
        for cc in ["newreno", "newreno(slow_start=hystart)", "cubic", "cubic(reference=linux, slow_start=hystart)", "cubic(slow_start=hystart_pp)", "cubic(slow_start=limited)", "vegas", "vegas(reference=linux)", "bbr"] {
            let s = dumbbell(mbps, rtt, buf, "fifo", &[cc], 60);
            let r = run(&s);
            let f = &r.flows[0];
            println!("{mbps} {rtt} {buf} {cc:45} good {:6.2} rtt {:?} loss% {:.3} backoffs {:?} exit {:?} mode {:?}", f.goodput_mbps, f.rtt_ms.as_ref().map(|r| (r.mean as i64, r.max as i64)), f.loss_pct, f.backoffs, f.slow_start_exit.as_ref().map(|e| (e.at_s, e.bdp_ratio)), f.mode_s);
        }
    }
    for (stack) in [tcp::Stack::FreeBsd11, tcp::Stack::Ns2] {
      for cc in ["newreno(reference=freebsd)", "vegas(reference=freebsd)", "vegas", "cubic", "bbr"] {
        let mut s = dumbbell(10.0, 40.0, 66, "fifo", &[cc], 60);
        s.flows[0].stack = stack;
        let r = run(&s);
        let f = &r.flows[0];
        println!("{stack:?} {cc:45} good {:6.2} rtt {:?} loss% {:.3} {:?}", f.goodput_mbps, f.rtt_ms.as_ref().map(|r| (r.mean as i64, r.max as i64)), f.loss_pct, f.backoffs);
      }
    }
    for pair in [["cubic", "bbr"], ["cubic", "newreno"], ["bbr", "bbr"], ["vegas", "vegas"], ["vegas", "cubic"]] {
        for buf in [40usize, 330] {
        let s = dumbbell(10.0, 40.0, buf, "fifo", &pair, 120);
        let r = run(&s);
        println!("{pair:?} {buf} {:?}", r.flows.iter().map(|f| (f.goodput_mbps, f.loss_pct)).collect::<Vec<_>>());
        }
    }
}
