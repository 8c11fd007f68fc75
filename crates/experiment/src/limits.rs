//! Every limit of the file in one place. They keep out slips of the keyboard and runs that no machine finishes.

use units::{Bytes, Duration, Rate};

/// The format this version reads.
pub const FORMAT: u64 = 1;
/// Slowest link.
pub const RATE_MIN: Rate = Rate::from_bps(1);
/// Fastest link: 1 Tbit/s.
pub const RATE_MAX: Rate = Rate::from_bps(1_000_000_000_000);
/// Shortest base RTT of a flow: below it the host's own delays, which are not modelled, decide.
pub const RTT_MIN: Duration = Duration::from_micros(1);
/// Longest base RTT, and longest delay of a link: light to the Moon and back takes 3 s.
pub const RTT_MAX: Duration = Duration::from_secs(60);
/// Longest run: eleven days.
pub const DURATION_MAX: Duration = Duration::from_secs(1_000_000);
/// Shortest step of series: that of the shortest RTT.
pub const SERIES_MIN: Duration = RTT_MIN;
/// Longest step of series: that of the longest run.
pub const SERIES_MAX: Duration = DURATION_MAX;
/// Longest time a host may take to process one packet (`run.processing`).
pub const PROCESSING_MAX: Duration = Duration::from_secs(1);
/// Largest buffer; in packets, a thousandth of it.
pub const BUFFER_MAX: Bytes = Bytes::new(1_000_000_000_000);
/// Most packets in a buffer.
pub const BUFFER_PACKETS_MAX: u64 = 1_000_000_000;
/// Most multiples of the bandwidth-delay product in a buffer.
pub const BUFFER_BDP_MAX: f64 = 100_000.0;
/// Most flows of one case, every `count` expanded.
pub const FLOWS_MAX: u64 = 100_000;
/// Most links.
pub const LINKS_MAX: usize = 10_000;
/// Most cases of a sweep.
pub const CASES_MAX: usize = 100_000;
/// Most repetitions of a case.
pub const REPEAT_MAX: u64 = 1_000_000;
/// Most runs: cases times repetitions. At a hundredth of a second each, a day of one CPU.
pub const RUNS_MAX: u64 = 10_000_000;
/// Largest seed: the largest integer that every JSON reader keeps exactly.
pub const SEED_MAX: u64 = (1 << 53) - 1;
/// Smallest payload of a segment.
pub const MSS_MIN: Bytes = Bytes::new(48);
/// Largest payload of a segment: what a 16-bit IPv4 length leaves after headers and options.
pub const MSS_MAX: Bytes = Bytes::new(65_000);
/// Largest initial window in segments.
pub const INITIAL_WINDOW_MAX: u64 = 10_000;
/// Largest receive window: RFC 7323 allows 2^30 bytes.
pub const RECEIVE_WINDOW_MAX: Bytes = Bytes::new(1 << 30);
/// Most packets that a paced flow may send together.
pub const PACING_QUANTUM_MAX: u64 = 64;
/// Largest burst of sender offload in segments.
pub const OFFLOAD_MAX: u64 = 1024;
/// Scheduled changes of one link.
pub const CHANGES_MAX: usize = 100_000;
/// Largest trace file in bytes.
pub const TRACE_MAX: u64 = 256 << 20;
/// Fastest tick of an emulated clock.
pub const TICK_HZ_MAX: u64 = 1_000_000;
/// Most parts of a dotted key, and most tables within one another: whatever walks the tree recurses. No key that exists
/// has a third of it.
pub const KEY_PARTS_MAX: usize = 32;
/// Longest name of a flow or link.
pub const NAME_MAX: usize = 64;
/// Largest experiment text in bytes: a sweep of as many values as there may be cases takes half of it. Reading takes
/// up to sixty times as much memory.
pub const TEXT_MAX: usize = 4 << 20;
/// Longest word that an error repeats in full.
pub const WORD_MAX: usize = 120;
/// Longest message.
pub const MESSAGE_MAX: usize = 2000;
