//! What the kernel says to a law, by the states it goes through: `bpf/kit.h`, compiled around a socket made by hand (`host/host.c`).

use super::native::{compiled, params};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// States of a socket's congestion.
const OPEN: &str = "state 0";
const DISORDER: &str = "state 1";
const CWR: &str = "state 2";
const RECOVERY: &str = "state 3";
/// A socket with ECN.
const ECN: &str = "set ecn_flags 1";

fn compile(spec: &str) -> PathBuf {
    compiled("host", spec, |folder, cc| {
        let name = spec.split('(').next().unwrap();
        let lines = [
            "RECORD_ACKS 1".into(),
            "FLOW_IS_ADDRESS 0".into(),
            "CONG_CONTROL_ARGS 4".into(),
            format!("CALLED {name}"),
        ];
        let defined: String = lines.iter().map(|line| format!("#define {line}\n")).collect();
        std::fs::write(folder.join("params.h"), format!("{defined}#define PARAMS {}\n", params(spec))).unwrap();
        std::fs::write(folder.join("law.h"), format!("#include \"{name}.bpf.c\"\n")).unwrap();
        let stubs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/bpf/host");
        cc.args(["-Wno-unused", "-I"]).arg(&stubs).arg(stubs.join("host.c"));
    })
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

/// HD answers delay whenever there is some, and then rests for as much as was out: that is when it declines marks.
const HD: &str = "hd(once_per_rtt=true)";
const DELAY: [&str; 5] = [ECN, "ack 1", "set rtt_us 120000", "ack 1", "set rtt_us 100000"];
const MARK: [&str; 2] = ["set delivered_ce 1", CWR];

/// Phases in which the law saw the ACKs after the first `n`.
fn phases(spec: &str, lines: &[&str], n: usize) -> Vec<String> {
    said(spec, lines).into_iter().filter_map(|line| line.strip_prefix("acked ").map(String::from)).skip(n).collect()
}

#[test]
fn a_mark_that_is_answered_is_an_episode_in_which_losses_are_not_asked_about() {
    let lines = [&[ECN], &MARK[..], &["ack 1", RECOVERY, "ack 1", OPEN]].concat();
    assert_eq!(asked(HD, &lines), ["asked ecn 0", "noticed recovery-end"]);
    assert_eq!(phases(HD, &lines, 0), ["1", "2"]);
}

#[test]
fn a_mark_that_the_law_declines_is_none_and_losses_of_its_round_are_asked_about() {
    let declined = |more: &[&'static str]| [&DELAY, &MARK[..], more].concat();
    let quiet = declined(&["ack 1", OPEN, "ack 1", DISORDER, OPEN]);
    assert_eq!(asked(HD, &quiet), ["asked ecn 0"], "no episode ends");
    assert_eq!(phases(HD, &quiet, 2), ["0", "0"], "it grows on");
    let lost = declined(&["ack 1", "set lost_out 1", RECOVERY, "ack 1", OPEN]);
    assert_eq!(asked(HD, &lost), ["asked ecn 0", "asked loss 0", "noticed recovery-end"]);
    assert_eq!(phases(HD, &lost, 2), ["0", "2"]);
    let late = declined(&["ack 1", "state 4", OPEN]);
    assert_eq!(asked(HD, &late), ["asked ecn 0", "asked timeout 0", "noticed recovery-end"]);
}

#[test]
fn a_repair_after_a_declined_mark_lets_as_much_go_as_any() {
    // What left in the kernel's reduction, of which it keeps count, is no part of the repair's.
    let windows = |more: &[&str], before: u32| {
        let (none, one) = (format!("set prr_out {before}"), format!("set prr_out {}", before + 1));
        let repair = ["set lost_out 1", &none, RECOVERY, "set packets_out 20", "ack 2", &one, "ack 2", "ack 2"];
        said(HD, &[&DELAY, more, &repair].concat())
    };
    let (declined, plain) = (windows(&[MARK[0], MARK[1], "ack 1"], 30), windows(&["ack 1"], 0));
    assert_eq!(declined[declined.len() - 8..], plain[plain.len() - 8..], "{declined:?} {plain:?}");
}

#[test]
fn a_timeout_is_asked_about_unless_what_was_out_as_the_episode_began_still_is() {
    // `tcp_enter_loss`. Two segments are acknowledged. (state before, high_seq, icsk_retransmits, asked)
    for (before, high, retransmits, times) in [
        (DISORDER, 9000, 1, 1),
        (RECOVERY, 2001, 1, 0),
        (RECOVERY, 2000, 1, 1),
        (RECOVERY, 4_294_967_000_u32, 1, 1), // it wraps
        ("state 4", 2001, 1, 1),             // as it was entered
        ("state 4", 2000, 1, 2),
        ("state 4", 2001, 0, 2),
    ] {
        let (high, retransmits) =
            (format!("set high_seq {high}"), format!("set inet_conn.icsk_retransmits {retransmits}"));
        let lines = ["set high_seq 9000", "ack 1", "ack 1", before, &high, &retransmits, "state 4"];
        let asked = asked("hd", &lines).into_iter().filter(|line| line.starts_with("asked timeout")).count();
        assert_eq!(asked, times, "{before} {high} {retransmits}");
    }
}

#[test]
fn a_rest_halves_the_window_for_every_timeout_of_it_down_to_the_initial_one() {
    // The socket begins with 100 segments and has an RTO of 100 ms. (rest in ms, windows)
    for (rest, windows) in
        [(99, [800, 50]), (150, [400, 600]), (250, [200, 600]), (350, [100, 600]), (9000, [100, 600])]
    {
        let lines = ["ack 1", "set snd_cwnd 800", "ack 1", &format!("rest {}", rest * 1000)];
        let told = said("hd", &lines);
        assert!(told.last().unwrap().starts_with(&format!("{} {} ", windows[0], windows[1])), "{rest}: {told:?}");
    }
    // A connection that is given the algorithm in its middle has a window that is no initial one.
    let told = said("hd", &["ack 1", "set snd_cwnd 800", "join 0", "ack 1", "rest 9000000"]);
    assert!(told.last().unwrap().starts_with("10 600 "), "{told:?}");
}

#[test]
fn an_episode_that_is_taken_back_has_no_end() {
    let lines = ["ack 1", "set lost_out 1", RECOVERY, "ack 1", "undo 0", OPEN, RECOVERY, OPEN];
    assert_eq!(asked("hldg", &lines), ["asked loss 0", "noticed undone", "asked loss 0", "noticed recovery-end"]);
    // By a duplicate report after its end, which ends nothing either.
    let late = ["ack 1", RECOVERY, OPEN, "undo 0"];
    assert_eq!(asked("hldg", &late), ["asked loss 0", "noticed recovery-end", "noticed undone"]);
}
