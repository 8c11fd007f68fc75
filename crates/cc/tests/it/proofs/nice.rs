//! Proof of the interface: TCP NICE needs windows below one segment per RTT and RTT samples one by one.

use crate::host::{Host, MSS, Path};
use cc::{Ack, Congestion, CongestionControl, Flow, How, Reaction, causes};
use units::{Bytes, Duration, Instant};

/// Halves when more than half the samples of a round are above a tenth of the RTT's span; else Vegas.
#[derive(Debug, Default)]
struct Nice {
    late: u32,
    samples: u32,
    halvings: u32,
}

impl CongestionControl for Nice {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        let limit = flow.min_rtt + (flow.max_rtt.saturating_sub(flow.min_rtt)).mul_f64(0.1);
        self.samples += 1;
        self.late += u32::from(rtt > limit);
        if ack.round.is_none() {
            return;
        }
        let late = std::mem::take(&mut self.late);
        let samples = std::mem::take(&mut self.samples);
        if late * 2 > samples {
            self.halvings += 1;
            flow.reduce(flow.cwnd / 2, How::AtOnce, causes::DelayBackoff::default());
        } else {
            flow.cwnd = if flow.cwnd < MSS { flow.cwnd * 2 } else { flow.cwnd + MSS };
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        Reaction::Reduce(flow.cwnd / 2)
    }
}

#[test]
fn a_window_below_one_segment_sends_one_segment_in_several_rtts() {
    let floor = 1.0 / 48.0;
    let mut host = Host::new(Path::new(40, 100, 40), |flow| {
        flow.floor = MSS.mul_f64(floor);
        // The queue was once seen full.
        (flow.ssthresh, flow.max_rtt) = (Bytes::ZERO, Duration::from_millis(500));
        Box::new(Nice::default())
    });
    host.run(Instant::from_millis(5_000));
    assert!(host.flow.cwnd > MSS, "alone it uses the path: {:?}", host.flow.cwnd);

    // Someone else fills the queue: every sample is late.
    host.path.base = Duration::from_millis(190);
    host.run_for(Duration::from_secs(60));
    assert!(host.flow.cwnd < MSS, "{:?}", host.flow.cwnd);
    let before = host.log.len();
    host.run_for(Duration::from_secs(19));
    let sent = host.log.len() - before;
    assert!((1..90).contains(&sent), "{sent} segments in 100 RTTs");
    assert!(host.flow.cwnd >= host.flow.floor && host.flow.floor == MSS.mul_f64(floor));
}
