//! Losses on every stack, through every queue: what was lost is sent again once, nothing is taken back that was no
//! mistake, and no path stalls that another stack fills.

use crate::common::{dumbbell, ms, watch};
use cc::CauseKind;
use experiment::{LossModel, Reorder, Scenario};
use sim::probe::{Probe, Trace};
use std::fmt::Write;
use tcp::Stack;
use units::Instant;

const ALGORITHMS: [&str; 6] = ["newreno", "cubic", "hldg", "cdg", "vegas", "bbr"];
const STACKS: [Stack; 3] = [Stack::Linux, Stack::FreeBsd11, Stack::Ns2];
const SECONDS: u64 = 15;

/// What became of one flow of [`SECONDS`] at 12 Mbit/s and 40 ms.
#[derive(Clone, Debug, Default)]
struct Outcome {
    /// Of what the link carries.
    share: f64,
    drops: u64,
    again: u64,
    timeouts: u64,
    undos: u64,
}

impl Probe for Outcome {
    fn see(&mut self, _: Instant, trace: Trace<'_>) {
        if let Trace::Event(e) = trace {
            self.timeouts += u64::from(e.cause() == Some(CauseKind::Timeout));
            self.undos += u64::from(e.cause() == Some(CauseKind::Undo));
        }
    }
}

fn scenario(cc: &str, stack: Stack, queue: &str, buffer: usize) -> Scenario {
    let mut s = dumbbell(12.0, 40.0, buffer, queue, &[cc], SECONDS);
    s.flows[0].stack = stack;
    s
}

fn outcome(s: &Scenario) -> Outcome {
    let (r, mut o) = watch(s, Outcome::default());
    // Payload and headers of a full segment.
    o.share = r.groups[0].goodput_mbps / (12.0 * 1448.0 / 1500.0);
    (o.drops, o.again) = (r.links[0].dropped, r.groups[0].retransmits);
    o
}

/// Runs all algorithms on all stacks over the paths `change` makes of the plain one, and lists what `wrong` says.
/// It sees the stack, the outcome, and the largest share any stack had.
fn compare(
    queues: &[(&str, usize)],
    change: impl Fn(&mut Scenario),
    wrong: impl Fn(&str, Stack, usize, &Outcome, f64) -> Option<&'static str>,
) {
    let mut found = String::new();
    for cc in ALGORITHMS {
        for &(queue, buffer) in queues {
            let run = |stack, seed| {
                let mut s = scenario(cc, stack, queue, buffer);
                change(&mut s);
                s.run.seed += seed;
                outcome(&s)
            };
            let mut outcomes = STACKS.map(|stack| run(stack, 0));
            let judge = |outcomes: &[Outcome; 3]| {
                let best = outcomes.iter().fold(0.0, |best: f64, o| best.max(o.share));
                let wrong = |(stack, o)| Some((stack, o, wrong(cc, stack, buffer, o, best)?, best));
                STACKS.into_iter().zip(outcomes).filter_map(wrong).map(|w| format!("{w:?}")).collect::<Vec<_>>()
            };
            if !judge(&outcomes).is_empty() {
                // Which packets are lost is luck: shares are means of three seeds.
                for (stack, o) in STACKS.into_iter().zip(&mut outcomes) {
                    o.share = (o.share + run(stack, 1).share + run(stack, 2).share) / 3.0;
                }
            }
            for why in judge(&outcomes) {
                writeln!(found, "{cc} {queue}/{buffer}: {why}").unwrap();
            }
        }
    }
    assert!(found.is_empty(), "\n{found}");
}

/// More was lost than FreeBSD's scoreboard has holes for.
fn overflows_scoreboard(stack: Stack, o: &Outcome) -> bool {
    stack == Stack::FreeBsd11 && o.drops > 128
}

/// RACK sends again what was lost, and that is all. Stacks that go back to the first hole at a timeout send a window
/// again each time, which at most fills pipe (40 packets) and buffer. FreeBSD fills the window of a repair to the byte, so
/// that of two segments of a hole one leaves in two pieces, and of a window that lost more than its scoreboard has holes for it
/// does not know what came.
fn needless(stack: Stack, buffer: usize, o: &Outcome) -> bool {
    let window = if stack == Stack::Linux { 0 } else { 40 + buffer as u64 };
    let pieces = if stack == Stack::FreeBsd11 { o.drops / 2 } else { 0 };
    let unknown = if overflows_scoreboard(stack, o) { window } else { 0 };
    o.again > o.drops + o.drops / 50 + 3 + pieces + unknown + o.timeouts * window
}

/// Nothing was reordered, so no loss was none. But FreeBSD takes an ACK for one of the original if it comes within half a
/// smoothed RTT of the timeout, which the repair's own may where a long queue has drained meanwhile.
fn mistaken(stack: Stack, buffer: usize, o: &Outcome) -> bool {
    let allowed = if stack == Stack::FreeBsd11 && buffer > 40 { o.timeouts } else { 0 };
    o.undos > allowed
}

#[test]
fn full_queues_cost_what_they_drop() {
    let queues = [
        ("fifo", 20),
        ("fifo", 1000),
        ("fifo(drop=head)", 20),
        ("fifo(drop=head)", 1000),
        ("codel", 1000),
        ("pie", 1000),
        ("fq_codel", 1000),
        ("fq_pie", 1000),
        ("fq_fifo", 1000),
    ];
    compare(
        &queues,
        |_| {},
        |cc, stack, buffer, o, best| {
            let linux = stack == Stack::Linux;
            match () {
                _ if mistaken(stack, buffer, o) => Some("an undo although nothing was reordered"),
                _ if linux && o.timeouts > 0 => Some("a timeout although RACK finds every loss"),
                _ if o.timeouts > 6 => Some("too many timeouts"),
                _ if needless(stack, buffer, o) => Some("needless retransmissions"),
                // Nobody runs BBR on ns-2's clock, and its rate does not survive a timeout there.
                // A timeout wrongly taken back brings back the window that overran the queue, and what the scoreboard has no
                // room for waits for its turn.
                _ if (o.undos > 0 || overflows_scoreboard(stack, o)) && o.share >= 0.6 * best => None,
                _ if o.share < 0.75 * best && (cc != "bbr" || stack != Stack::Ns2) => Some("a stall"),
                _ => None,
            }
        },
    );
}

#[test]
fn random_losses_cost_what_they_lose() {
    // FreeBSD's CDG keeps its window and repairs from one segment, again and again: the last figure is asked of it.
    for (loss, timeouts, share, cdg) in [(0.001, 3, 0.6, 0.6), (0.01, 6, 0.6, 0.55), (0.05, 40, 0.3, 0.15)] {
        compare(&[("fifo", 1000), ("fq_codel", 1000)], |s| s.links[0].loss = LossModel::Random(loss), {
            |cc, stack, buffer, o, best| {
                let linux = stack == Stack::Linux;
                match () {
                    _ if mistaken(stack, buffer, o) => Some("an undo although nothing was reordered"),
                    _ if o.timeouts > if linux { 0 } else { timeouts } => Some("too many timeouts"),
                    _ if needless(stack, buffer, o) => Some("needless retransmissions"),
                    _ if cc == "cdg" && stack == Stack::FreeBsd11 && o.share >= cdg * best => None,
                    _ if o.share < share * best && (cc != "bbr" || stack != Stack::Ns2) => Some("a stall"),
                    _ => None,
                }
            }
        });
    }
}

#[test]
fn reordering_costs_linux_a_mistake_or_two_and_nothing_for_long() {
    for (cc, loss) in ALGORITHMS.into_iter().flat_map(|cc| [(cc, 0.0), (cc, 0.01)]) {
        let mut shares = [0.0, 0.0];
        for seed in 1..=4 {
            let mut s = scenario(cc, Stack::Linux, "fifo", 1000);
            s.run.seed = seed;
            if loss > 0.0 {
                s.links[0].loss = LossModel::Random(loss);
            }
            shares[0] += outcome(&s).share;
            s.links[0].reorder = Some(Reorder { probability: 0.01, delay: ms(5.0) });
            let o = outcome(&s);
            shares[1] += o.share;
            // What a repair sends again for nothing does not tell of reordering: kernel 6.18 does so 14 and 15 times in 30 s
            // of BBR on this path with both, and once to seven times with NewReno and CUBIC. Of forty seeds of BBR the worst has
            // nine here in half the time, and the mean is 1.6.
            assert!(
                o.again <= o.drops + if loss > 0.0 { 9 } else { 4 } && o.timeouts == 0,
                "{cc}, {loss}, seed {seed}: {o:?}"
            );
        }
        assert!(shares[1] > 0.75 * shares[0], "{cc}, {loss}: {shares:?}");
    }
}

/// Mathis et al. 1997: a window that loses one packet in 1/p and grows by one segment for every `b` ACKed a round has
/// the mean √(3/(2bp)); b = 2 for receivers that acknowledge every second segment, unless the sender counts bytes, as
/// Linux and FreeBSD do (RFC 3465), which makes it b = 1.
#[test]
fn newreno_follows_the_inverse_root_of_the_loss_rate() {
    let p: f64 = 0.01;
    for stack in [Stack::Linux, Stack::FreeBsd11] {
        let mut s = dumbbell(100.0, 100.0, 10_000, "fifo", &["newreno"], 300);
        s.flows[0].stack = stack;
        s.links[0].loss = LossModel::Random(p);
        let measured = outcome(&s).share * 12.0 * 1448.0 / 1500.0;
        let expected = 1448.0 * 8.0 / 0.1 * (1.5 / p).sqrt() / 1e6;
        let ratio = measured / expected;
        println!("{stack:?}: {measured:.3} Mbit/s, {ratio:.3} of the formula");
        assert!((0.8..=1.2).contains(&ratio), "{stack:?}: {measured:.3} against {expected:.3} Mbit/s");
    }
}
