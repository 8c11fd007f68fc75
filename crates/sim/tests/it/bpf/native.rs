//! `bpf/native.c`, compiled once a spec, and what it answers to a tape.

use super::words::Words;
use cc::EventRecord;
use std::collections::BTreeMap;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

pub const BPF: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bpf");

/// What came of a call.
#[derive(Debug)]
pub struct Answer {
    pub cwnd: u64,
    pub ssthresh: u64,
    /// Acknowledged, and not yet turned into additive growth.
    pub credit: u64,
    pub reaction: u64,
    pub events: Vec<EventRecord>,
}

/// The fields of `struct NAME_params`.
fn parameters(name: &str) -> Vec<String> {
    let files = std::fs::read_dir(Path::new(BPF).join("law")).unwrap();
    for file in files {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        if let Some((_, rest)) = text.split_once(&format!("struct {name}_params {{")) {
            let body = rest.split_once('}').unwrap().0;
            let names = body.split([',', ';', ' ', '\t', '\n']).filter(|w| !w.is_empty() && *w != "s64");
            return names.map(String::from).collect();
        }
    }
    panic!("no parameters of {name}")
}

/// A spec's parameters, as an object's `params.h` has them.
pub fn params(spec: &str) -> String {
    let parsed: params::Spec = spec.parse().unwrap();
    let known = parameters(&parsed.name);
    let numbers = cc::find(&parsed.name).unwrap().whole_numbers(&parsed).unwrap();
    let set: Vec<String> = numbers
        .iter()
        .filter(|(name, _)| known.iter().any(|k| k == name))
        .map(|(name, n)| format!(".{name} = {n}LL"))
        .collect();
    assert_eq!(set.len(), known.len(), "{spec}: {known:?}");
    set.join(", ")
}

/// Compiled once for all tests of a run: what `cc` makes of the C for a spec, in a folder of its own, which `prepare` fills and
/// hands to the compiler.
pub fn compiled(kind: &str, spec: &str, prepare: impl FnOnce(&Path, &mut Command)) -> PathBuf {
    static DONE: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut done = DONE.lock().unwrap();
    let what = format!("{kind} {spec}");
    if let Some(path) = done.get(&what) {
        return path.clone();
    }
    let folder = std::env::current_exe().unwrap().with_file_name(format!("bpf-{}", done.len()));
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join(kind);
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-O1", "-Wall", "-Werror", "-I", BPF, "-I"]).arg(&folder).arg("-o").arg(&program);
    prepare(&folder, &mut cc);
    assert!(cc.status().expect("cc runs").success(), "{kind} does not compile for {spec}");
    done.insert(what, program.clone());
    program
}

/// The program for a spec.
fn compile(spec: &str) -> PathBuf {
    compiled("native", spec, |folder, cc| {
        std::fs::write(folder.join("params.h"), format!("#define PARAMS {}\n", params(spec))).unwrap();
        cc.args(["-Wno-unused-function", "-fsanitize=undefined", "-fno-sanitize-recover=undefined"])
            .arg(format!("-DLAW={}", spec.split('(').next().unwrap()))
            .arg(format!("{BPF}/native.c"));
    })
}

/// The program as it runs, a call at a time.
pub struct Native {
    child: Child,
    calls: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Native {
    pub fn new(spec: &str) -> Native {
        let mut child = Command::new(compile(spec)).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (calls, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Native { child, calls, answers }
    }

    pub fn call(&mut self, words: &Words) -> Answer {
        let bytes: Vec<u8> = words.0.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.calls.write_all(&bytes).unwrap();
        let mut next = || {
            let mut word = [0; 8];
            self.answers.read_exact(&mut word).expect("a whole answer");
            u64::from_le_bytes(word)
        };
        let (cwnd, ssthresh, credit, reaction, n) = (next(), next(), next(), next(), next());
        let events = (0..n)
            .map(|_| {
                let head = next();
                EventRecord {
                    version: head as u16,
                    kind: (head >> 16) as u16,
                    flow: (head >> 32) as u32,
                    time: next(),
                    cwnd_before: next(),
                    cwnd_after: next(),
                    ssthresh_before: next(),
                    ssthresh_after: next(),
                    values: std::array::from_fn(|_| next() as i64),
                }
            })
            .collect();
        Answer { cwnd, ssthresh, credit, reaction, events }
    }

    /// Ends the program, which must not have met undefined behaviour.
    pub fn end(self) {
        let Native { mut child, calls, answers } = self;
        drop((calls, answers));
        let status = child.wait().unwrap();
        assert!(status.success(), "{status:?}");
    }
}
