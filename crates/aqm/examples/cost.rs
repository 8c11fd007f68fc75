//! What a queue costs: pushes packets through the queue a spec names, nothing else.
//!
//! ```sh
//! cargo build --release -p sojourn-aqm --example cost
//! for n in 100000 200000; do      # instructions a packet: the difference of the two, divided by 100000
//!     valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/cost 'fq_codel' $n
//! done
//! ```
//!
//! `cost SPEC PACKETS [FLOWS=8] [HELD=30]`: FLOWS flows take turns over a 10 Mbit/s link with HELD packets waiting. The
//! spec `none` runs the loop without a queue, to be taken off.

use aqm::{Ecn, LinkInfo, Packet, Reason, Sink};
use std::hint::black_box;
use units::{Bytes, Instant, Rate, Rng, streams};

/// As large as a simulator's packet.
#[derive(Clone, Copy, Debug)]
struct Sample {
    flow: u32,
    size: u32,
    _rest: [u64; 10],
}

impl Packet for Sample {
    #[inline]
    fn size(&self) -> Bytes {
        Bytes::new(self.size as u64)
    }
    #[inline]
    fn flow(&self) -> u64 {
        self.flow as u64
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    #[inline]
    fn mark(&mut self) -> bool {
        false
    }
}

struct Count(u64);

impl Sink<Sample> for Count {
    fn dropped(&mut self, _: Sample, _: Reason) {
        self.0 += 1;
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default: u64| args.get(i).map_or(default, |a| a.parse().expect("a number"));
    let Some(name) = args.first() else {
        eprintln!("usage: cost SPEC PACKETS [FLOWS=8] [HELD=30]");
        std::process::exit(2);
    };
    let (packets, flows, held) = (number(1, 1_000_000), number(2, 8), number(3, 30));
    let link =
        LinkInfo { rate: Rate::from_mbps(10.0), delay: units::Duration::ZERO, mtu: Bytes::new(1500), limit: None };
    let mut queue = (name != "none").then(|| {
        let spec = name.parse().unwrap_or_else(|e| panic!("{e}"));
        aqm::build::<Sample>(&spec, &link, Rng::new(1, 0, streams::AQM)).unwrap_or_else(|e| panic!("{e}"))
    });
    let (mut drops, mut sent) = (Count(0), 0u64);
    for i in 0..packets {
        let now = Instant::from_nanos(i * 1_200_000);
        let packet = black_box(Sample { flow: (i % flows) as u32, size: 1500, _rest: [i; 10] });
        match &mut queue {
            Some(queue) => {
                queue.enqueue(now, packet, &mut drops);
                // At most `held` wait: a law that drops is not starved of packets to look at.
                if queue.len() as u64 > held {
                    sent += u64::from(black_box(queue.dequeue(now, &mut drops)).is_some());
                }
            }
            None => sent += u64::from(black_box(packet).size),
        }
    }
    println!("{name}: {packets} in, {sent} out, {} dropped", drops.0);
}
