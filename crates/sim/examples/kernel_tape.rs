//! `kernel_tape FILE SPEC`: plays what a loaded algorithm recorded (`sojourn kernel watch --tape`) to the same C, compiled
//! natively, which must give the kernel's windows to the byte, and then, with draws of its own, to the C and the Rust.

#[path = "../tests/it/bpf/compare.rs"]
mod compare;
#[path = "../tests/it/bpf/native.rs"]
mod native;
#[path = "../tests/it/bpf/replay.rs"]
mod replay;
#[path = "../tests/it/bpf/words.rs"]
mod words;

use std::collections::BTreeMap;
use words::{INIT, WORDS, Words};

/// A recording as the kernel wrote it: the calls of each flow that was there from its beginning.
fn flows(bytes: &[u8]) -> Vec<Vec<Words>> {
    assert_eq!(bytes.len() % (8 * WORDS), 0, "not a tape");
    let word = |b: &[u8]| u64::from_le_bytes(b.try_into().unwrap());
    let mut tapes: BTreeMap<u64, Vec<Words>> = BTreeMap::new();
    for entry in bytes.chunks(8 * WORDS) {
        let words = Words(std::array::from_fn(|i| word(&entry[8 * i..8 * i + 8])));
        tapes.entry(words.get("flow")).or_default().push(words);
    }
    tapes.into_values().filter(|calls| calls[0].get("call") == INIT).collect()
}

/// What the kernel answered.
fn recorded(words: &Words) -> (u64, u64, u64) {
    (words.get("after_cwnd"), words.get("after_ssthresh"), words.get("reaction"))
}

fn main() {
    let mut args = std::env::args().skip(1);
    let (Some(file), Some(spec)) = (args.next(), args.next()) else { panic!("kernel_tape FILE SPEC") };
    let tapes = flows(&std::fs::read(&file).expect("a recording"));
    assert!(!tapes.is_empty(), "{file}: no flow from its beginning");
    for tape in tapes {
        let mut alone = native::Native::new(&spec);
        for (i, words) in tape.iter().enumerate() {
            let native = alone.call(words);
            assert_eq!(recorded(words), (native.cwnd, native.ssthresh, native.reaction), "call {i}: {words:?}");
        }
        alone.end();
        println!("{spec}: {} calls as the kernel answered them; {:?}", tape.len(), compare::both(&spec, tape));
    }
}
