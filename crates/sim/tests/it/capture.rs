//! What a capture holds, and that it changes nothing.

use crate::common::{dumbbell, run, watch};
use experiment::Traffic;
use sim::capture::{Capture, Wanted, points};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use units::Bytes;

/// Interface, nanoseconds, captured bytes, length on the wire.
type Packet = (u32, u64, Vec<u8>, u32);

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn packets(file: &[u8]) -> (usize, Vec<Packet>) {
    let (mut at, mut interfaces, mut packets) = (0, 0, Vec::new());
    while at < file.len() {
        let (kind, length) = (word(file, at), word(file, at + 4) as usize);
        assert_eq!(word(file, at + length - 4) as usize, length, "a block ends as it began");
        let body = &file[at + 8..at + length - 4];
        match kind {
            1 => interfaces += 1,
            6 => {
                let captured = word(body, 12) as usize;
                let nanos = (word(body, 4) as u64) << 32 | word(body, 8) as u64;
                packets.push((word(body, 0), nanos, body[20..20 + captured].to_vec(), word(body, 16)));
            }
            _ => {}
        }
        at += length;
    }
    (interfaces, packets)
}

fn captured(scenario: &experiment::Scenario, wanted: &Wanted) -> (sim::Summary, Vec<Packet>) {
    let capture = Capture::new(scenario, wanted, Vec::new(), "a test").unwrap();
    let (summary, capture) = watch(scenario, capture);
    let (count, file) = capture.finish().unwrap();
    let (_, packets) = packets(&file);
    assert_eq!(packets.len() as u64, count);
    (summary, packets)
}

#[test]
fn a_capture_changes_nothing_and_holds_what_happened() {
    let scenario = dumbbell(10.0, 20.0, 20, "fifo", &["newreno", "cubic"], 5);
    let plain = run(&scenario);
    let (summary, packets) = captured(&scenario, &Wanted::default());
    assert_eq!(summary.digest, plain.digest);
    assert!(packets.is_sorted_by_key(|p| p.1), "time goes forward");
    let at = |interface| packets.iter().filter(move |p| p.0 == interface);
    // sender, receiver, the link, its drops
    assert_eq!(points(&scenario)[2], scenario.links[0].name);
    let data_sent = at(0).filter(|p| p.2[16..20] == [10, 128, 0, p.2[15]]).count();
    let data_received = at(1).filter(|p| p.2[16..20] == [10, 128, 0, p.2[15]]).count();
    let (left, dropped) = (at(2).count(), at(3).count());
    assert!(dropped > 0, "twenty packets are too few for two flows");
    assert!(data_sent >= left + dropped && data_sent < left + dropped + 200, "{data_sent} {left} {dropped}");
    assert!(left >= data_received);
    // What the link serves in five seconds at 10 Mbit/s.
    assert!((left as f64 - 5.0 * 10e6 / 12e3).abs() < 250.0, "{left}");
}

/// The TCP options of a captured segment, each a kind and a value.
fn options(ip: &[u8]) -> BTreeMap<u8, &[u8]> {
    let tcp = &ip[20..];
    let (mut at, end, mut options) = (20, (tcp[12] >> 4) as usize * 4, BTreeMap::new());
    while at < end && tcp[at] != 0 {
        let length = if tcp[at] == 1 { 1 } else { tcp[at + 1] as usize };
        options.insert(tcp[at], &tcp[at + length.min(2)..at + length]);
        at += length;
    }
    options
}

#[test]
fn ranges_are_told_where_the_hosts_agreed_on_them() {
    const PERMITTED: u8 = 4;
    const RANGES: u8 = 5;
    for (cc, agreed) in [("newreno", true), ("sack_reno", true), ("tahoe", false), ("reno", false), ("cubic", true)] {
        let (_, packets) = captured(&dumbbell(10.0, 20.0, 10, "fifo", &[cc], 5), &Wanted::default());
        let seen = packets.iter().flat_map(|p| options(&p.2).into_keys()).collect::<BTreeSet<_>>();
        assert_eq!((seen.contains(&PERMITTED), seen.contains(&RANGES)), (agreed, agreed), "{cc}: {seen:?}");
    }
}

#[test]
fn points_and_flows_can_be_chosen() {
    let scenario = dumbbell(10.0, 20.0, 20, "fifo", &["newreno", "cubic"], 1);
    let wanted = Wanted { points: vec!["receiver".into()], flows: vec![1] };
    let capture = Capture::new(&scenario, &wanted, Vec::new(), "").unwrap();
    let (_, capture) = watch(&scenario, capture);
    let (interfaces, packets) = packets(&capture.finish().unwrap().1);
    assert_eq!(interfaces, 1);
    assert!(packets.len() > 500);
    assert!(packets.iter().all(|p| p.0 == 0 && p.2[15] == 2 && p.2[19] == 2), "10.0.0.2 and 10.128.0.2 only");
}

#[test]
fn connections_tell_the_segments_and_windows_of_their_own() {
    const MSS: u8 = 2;
    const SCALE: u8 = 3;
    // The initiator's window, then the acceptor's; the flow's own is 64 MiB.
    let vectors =
        "S 0 1 0 0\nm 536 536\nw 200000 20000\nI 0 0 40000\nA 0 0 300000\nS 50000 1 0 0\nI 0 0 100\nA 0 0 100\n";
    let mut scenario = dumbbell(10.0, 20.0, 200, "fifo", &["newreno"], 20);
    scenario.flows[0].traffic = crate::tmix::traffic("tmix(scale=100, shuffle=false, small=0)", Some(vectors));
    let (_, packets) = captured(&scenario, &Wanted { points: vec!["sender".into()], flows: vec![] });
    let (mut told, mut windows) = (BTreeMap::new(), BTreeMap::new());
    for (_, _, b, _) in &packets {
        let port = |at| u16::from_be_bytes([b[at], b[at + 1]]);
        // The client's ports are above the server's.
        let end = (port(20).max(port(22)), if port(20) == 5001 { "server" } else { "client" });
        let options = options(b);
        if let (Some(mss), Some(scale)) = (options.get(&MSS), options.get(&SCALE)) {
            told.insert(end, (u16::from_be_bytes([mss[0], mss[1]]), scale[0]));
        } else {
            let widest: &mut u16 = windows.entry(end).or_default();
            *widest = (*widest).max(port(34));
        }
    }
    // What the option says counts 12 bytes of other options in. The two connections come again and again.
    let kinds: BTreeSet<_> = told.iter().map(|((_, who), (mss, scale))| (*who, *mss, *scale)).collect();
    let expected = [("client", 548, 2), ("client", 1460, 11), ("server", 548, 0), ("server", 1460, 11)];
    assert_eq!(kinds, expected.into());
    assert_eq!((told[&(32_768, "client")].0, told[&(32_768, "server")].0), (548, 548), "the first of them");
    // In units of the connection's scale, not of the flow's.
    let widest = |of| windows.iter().filter(|(end, _)| end.1 == of && told[end].0 == 548).map(|(_, w)| *w).max();
    assert_eq!((widest("client"), widest("server")), (Some(50_000), Some(20_000)));
}

/// Connections that come and go, with a few packets of buffer, and a flow beside them.
pub fn come_and_go() -> experiment::Scenario {
    let mut scenario = dumbbell(10.0, 20.0, 15, "fifo", &["cubic", "cubic"], 10);
    scenario.flows[0].traffic = crate::tmix::traffic("tmix(load=0.9, think=50ms)", None);
    // Packets of a connection that are late, when another has its place.
    scenario.links[1].reorder = Some(experiment::Reorder { probability: 0.1, delay: crate::common::ms(80.0) });
    scenario
}

#[test]
fn every_connection_is_told_from_the_others_and_belongs_to_its_flow() {
    let scenario = come_and_go();
    let wanted = |flows| Wanted { points: vec!["sender".into()], flows };
    let (summary, all) = captured(&scenario, &wanted(vec![]));
    assert!(all.iter().all(|p| p.2[15].max(p.2[19]) <= 2), "hosts are those of the two flows");
    let (_, own) = captured(&scenario, &wanted(vec![0]));
    assert_eq!(own, all.iter().filter(|p| p.2[15] == 1).cloned().collect::<Vec<_>>());

    let word = |b: &[u8], at: usize| u32::from_be_bytes(b[at..at + 4].try_into().unwrap());
    let port = |b: &[u8], at: usize| u16::from_be_bytes(b[at..at + 2].try_into().unwrap());
    let mut starts: BTreeMap<(u16, u16), u32> = BTreeMap::new();
    let (mut numbers, mut ahead) = (BTreeSet::new(), 0);
    for (_, _, b, _) in &own {
        let (ends, seq) = ((port(b, 20), port(b, 22)), word(b, 24));
        if b[33] & 2 > 0 {
            // A SYN is sent again with the number it had.
            assert_eq!(*starts.entry(ends).or_insert(seq), seq, "{ends:?} is used again");
            numbers.insert(seq);
        }
        // Also of packets that are late, when another connection has the place.
        let past = seq.wrapping_sub(starts[&ends]);
        assert!(past < 1 << 25, "{ends:?}: {past} B behind its SYN");
        ahead = ahead.max(past);
    }
    let opened = summary.flows[0].connections.unwrap().opened;
    assert!(opened > 500 && ahead > 100_000, "{opened} {ahead}");
    let clients = starts.keys().filter(|ends| ends.1 == 5001).count() as u64;
    assert!(starts.keys().all(|ends| ends.0 == 5001 || ends.1 == 5001));
    assert!(clients.abs_diff(opened) <= 10, "{clients} clients, {opened} connections");
    assert!(numbers.len() + 1 >= starts.len(), "random starts");
}

#[test]
fn checksums_are_right_for_a_payload_of_zeros() {
    let scenario = dumbbell(10.0, 20.0, 20, "fifo", &["newreno"], 2);
    let (_, packets) = captured(&scenario, &Wanted::default());
    let sum = |bytes: &[u8]| -> u32 { bytes.chunks(2).map(|w| (w[0] as u32) << 8 | w[1] as u32).sum() };
    let folded = |mut s: u32| {
        while s > 0xffff {
            s = (s & 0xffff) + (s >> 16);
        }
        s
    };
    let mut with_sack = 0;
    for (_, _, bytes, length) in &packets {
        assert_eq!(folded(sum(&bytes[..20])), 0xffff);
        assert_eq!(folded(sum(&bytes[12..]) + 6 + length - 20), 0xffff);
        assert_eq!(u16::from_be_bytes([bytes[2], bytes[3]]) as u32, *length);
        with_sack += u32::from(bytes.len() > 52 && bytes[33] & 2 == 0);
    }
    assert!(with_sack > 0, "losses are reported");
}

/// A disk that is full after a while.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::Error::from(io::ErrorKind::StorageFull))?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_at_the_end_and_does_not_disturb_the_run() {
    let scenario = dumbbell(10.0, 20.0, 20, "fifo", &["newreno"], 1);
    let capture = Capture::new(&scenario, &Wanted::default(), Full(10_000), "").unwrap();
    let (summary, capture) = watch(&scenario, capture);
    assert!(summary.packets > 500);
    assert!(capture.finish().is_err_and(|e| e.kind() == io::ErrorKind::StorageFull));
}

/// The positions behind data segments with and without PSH, of what a flow with this traffic sends.
fn pushes(traffic: Traffic, writes: u64, queue: usize) -> (BTreeSet<u32>, BTreeSet<u32>) {
    let mut scenario = dumbbell(10.0, 20.0, queue, "fifo", &["newreno"], 3);
    scenario.flows[0].traffic = traffic;
    scenario.flows[0].writes = Bytes::new(writes);
    let (_, packets) = captured(&scenario, &Wanted { points: vec!["sender".into()], flows: vec![] });
    let word = |b: &[u8], at: usize| u32::from_be_bytes(b[at..at + 4].try_into().unwrap());
    let out: Vec<_> = packets.iter().filter(|p| p.2[16] == 10 && p.2[17] == 128).collect();
    let first = word(&out[0].2, 24);
    let (mut pushed, mut others) = (BTreeSet::new(), BTreeSet::new());
    for (_, _, b, length) in out {
        let payload = length - 20 - u32::from(b[32] >> 4) * 4;
        let end = word(b, 24).wrapping_sub(first) + payload;
        if payload > 0 {
            if b[33] & 8 > 0 { &mut pushed } else { &mut others }.insert(end);
        } else {
            assert_eq!(b[33] & 8, 0, "nothing is pushed without data");
        }
    }
    (pushed, others)
}

#[test]
fn the_last_segment_of_a_write_is_pushed_each_time_that_it_is_sent() {
    let bulk = |header| Traffic::Bulk { header: Bytes::new(header) };
    let dash = Traffic::Dash { chunk: Bytes::new(5_000), cycle: crate::common::ms(1100.0) };
    // Traffic, writes, which ends are pushed; data begin at 1.
    let table: [(&str, Traffic, u64, Vec<u32>); 5] = [
        ("bulk", bulk(0), 0, vec![]),
        ("a header of its own", bulk(24), 0, vec![25]),
        ("a transfer", Traffic::Bytes(Bytes::new(100_000)), 0, vec![100_001]),
        ("transfers", dash, 0, vec![5_001, 10_001, 15_001]),
        ("writes of two segments and a half", Traffic::Bytes(Bytes::new(14_480)), 3_620, {
            vec![4_345, 7_241, 11_585, 14_481]
        }),
    ];
    for (name, traffic, writes, expected) in table {
        let (pushed, others) = pushes(traffic, writes, 200);
        assert_eq!(pushed.iter().copied().collect::<Vec<_>>(), expected, "{name}");
        assert!(pushed.is_disjoint(&others) && !others.is_empty(), "{name}");
    }
    // With a buffer of four packets much is sent again, and keeps its mark.
    let (pushed, others) = pushes(bulk(0), 10 * 1448, 4);
    assert!(pushed.len() > 100 && pushed.iter().all(|end| (end - 1) % 14_480 == 0), "{pushed:?}");
    assert!(pushed.is_disjoint(&others));
}

#[test]
fn both_ends_of_a_connection_push_what_they_wrote() {
    let vectors = "S 0 2 0 0\nI 0 0 4000\nA 0 0 9000\nI 0 0 700\nA 0 0 1000\n";
    let mut scenario = dumbbell(10.0, 20.0, 200, "fifo", &["newreno"], 20);
    scenario.flows[0].traffic = crate::tmix::traffic("tmix(scale=100, shuffle=false, small=0)", Some(vectors));
    let (_, packets) = captured(&scenario, &Wanted { points: vec!["sender".into()], flows: vec![] });
    let word = |b: &[u8], at: usize| u32::from_be_bytes(b[at..at + 4].try_into().unwrap());
    let (mut starts, mut pushed) = (BTreeMap::new(), [BTreeSet::new(), BTreeSet::new()]);
    for (_, _, b, length) in &packets {
        let (ends, payload) = (word(b, 20), length - 20 - u32::from(b[32] >> 4) * 4);
        let start = *starts.entry(ends).or_insert(word(b, 24));
        if b[33] & 8 > 0 {
            pushed[usize::from(b[17] >= 128)].insert(word(b, 24).wrapping_sub(start) + payload);
        }
    }
    assert_eq!(pushed, [[4_001, 4_701].into(), [9_001, 10_001].into()]);
}
