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

fn main() {
    let mut args = std::env::args().skip(1);
    let (Some(file), Some(spec)) = (args.next(), args.next()) else { panic!("kernel_tape FILE SPEC") };
    let flows = words::of_bytes(&std::fs::read(&file).expect("a recording"));
    assert!(!flows.is_empty(), "{file}: no flow from its beginning");
    for tape in flows {
        let mut alone = native::Native::new(&spec);
        for (i, words) in tape.iter().enumerate() {
            let answer = alone.call(words);
            assert_eq!(words.answer(), (answer.cwnd, answer.ssthresh, answer.reaction), "call {i}: {words:?}");
        }
        alone.end();
        println!("{spec}: {} calls as the kernel answered them; {:?}", tape.len(), compare::both(&spec, tape));
    }
}
