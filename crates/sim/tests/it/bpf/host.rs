//! What the kernel says to a law, by the states it goes through: `bpf/kit.h`, compiled around a socket made by hand (`host/host.c`).

use super::native::{BPF, params};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// States of a socket's congestion.
const OPEN: &str = "state 0";
const CWR: &str = "state 2";
/// A socket with ECN.
const ECN: &str = "set ecn_flags 1";

fn compile(spec: &str) -> PathBuf {
    static DONE: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut done = DONE.lock().unwrap();
    if let Some(path) = done.get(spec) {
        return path.clone();
    }
    let here = std::env::current_exe().unwrap();
    let name = spec.split('(').next().unwrap();
    let folder = here.with_file_name(format!("bpf-host-{}", done.len()));
    std::fs::create_dir_all(&folder).unwrap();
    let lines =
        ["RECORD_ACKS 1".into(), "FLOW_IS_ADDRESS 0".into(), "CONG_CONTROL_ARGS 4".into(), format!("CALLED {name}")];
    let defined: String = lines.iter().map(|line| format!("#define {line}\n")).collect();
    std::fs::write(folder.join("params.h"), format!("{defined}#define PARAMS {}\n", params(spec))).unwrap();
    std::fs::write(folder.join("law.h"), format!("#include \"{name}.bpf.c\"\n")).unwrap();
    let stubs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/bpf/host");
    let program = folder.join("host");
    let built = Command::new("cc")
        .args(["-std=gnu11", "-O1", "-Wall", "-Wno-unused", "-Werror", "-I"])
        .arg(&stubs)
        .args(["-I", BPF, "-I"])
        .arg(&folder)
        .arg(stubs.join("host.c"))
        .arg("-o")
        .arg(&program)
        .status()
        .expect("cc runs");
    assert!(built.success(), "bpf/kit.h does not compile for {spec}");
    done.insert(spec.into(), program.clone());
    program
}

/// What is said while these lines are done.
fn said(spec: &str, lines: &[&str]) -> Vec<String> {
    let mut child = Command::new(compile(spec)).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.join("\n").as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success());
    String::from_utf8(out.stdout).unwrap().lines().map(String::from).collect()
}

/// The same without windows and ACKs.
fn asked(spec: &str, lines: &[&str]) -> Vec<String> {
    said(spec, lines).into_iter().filter(|line| line.starts_with(['a', 'n']) && !line.starts_with("acked")).collect()
}

#[test]
fn what_a_tail_probe_repaired_is_a_loss_and_not_a_mark() {
    // The kernel enters CWR and leaves it with one ACK (tcp_process_tlp_ack).
    let probed = ["ack 1", CWR, OPEN];
    assert_eq!(asked("cdg", &probed), ["asked loss 0"], "without ECN there are no marks");
    let told = said("hd", &probed);
    assert_eq!(told[2], "asked loss 0");
    let windows = |line: &str| line.split(' ').map(|n| n.parse().unwrap()).collect::<Vec<u64>>();
    let (cut, left) = (windows(&told[3]), windows(told.last().unwrap()));
    assert!(cut[1] < 100 && left[..2] == [cut[1], cut[1]], "{told:?}");
    // With ECN the ACK tells: one that brought a mark has been counted by then.
    let with = |more: &[&str]| asked("cdg", &[&[ECN, "set tlp_retrans 1", "ack 1"], more, &[CWR]].concat());
    assert_eq!(with(&[]), ["asked loss 0"]);
    assert_eq!(with(&["set delivered_ce 1"]), ["asked ecn 0"]);
    assert_eq!(
        with(&["set delivered_ce 1", "ack 1", "set tlp_retrans 0"]),
        ["asked ecn 0"],
        "no probe was a retransmission"
    );
    assert_eq!(with(&["set delivered_ce 1", "ack 1"]), ["asked loss 0"], "a mark of before");
}

#[test]
fn a_pace_that_the_application_limits_is_limited() {
    let pace = |lines: &[&str]| said("hd", lines).last().unwrap().rsplit(' ').next().unwrap().parse::<u64>().unwrap();
    let free = pace(&["ack 1"]);
    assert!((1_000_000..3_000_000).contains(&free), "{free}: some 100 segments of 1000 B in 100 ms");
    assert_eq!(pace(&["set inet_conn.sk.sk_max_pacing_rate 500000", "ack 1"]), 500_000);
    assert_eq!(pace(&["set inet_conn.sk.sk_max_pacing_rate 9000000", "ack 1"]), free);
}
