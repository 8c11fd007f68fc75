//! The table `diftr` tells the whole story of a queue, and watching changes nothing.

use crate::common::{dumbbell, run, watch};
use sim::{Column, Keep, Recorder, Table};
use std::collections::BTreeMap;

fn recorded(queue: &str) -> (Table, String, String) {
    let mut s = dumbbell(10.0, 20.0, 40, queue, &["cubic", "newreno"], 6);
    s.links[0].loss = experiment::LossModel::Random(0.002);
    let keep = Keep { diftr: true, ..Keep::default() };
    let (summary, recorder) = watch(&s, Recorder::new(keep));
    let (_, table) = recorder.tables().pop().unwrap();
    (table, summary.digest, run(&s).digest)
}

fn numbers(table: &Table, name: &str) -> Option<Vec<f64>> {
    let (_, column) = table.iter().find(|(n, _)| *n == name)?;
    Some(match column {
        Column::F64(v) => v.clone(),
        Column::U64(v) => v.iter().map(|x| *x as f64).collect(),
        Column::U32(v) => v.iter().map(|x| f64::from(*x)).collect(),
        Column::U16(v) => v.iter().map(|x| f64::from(*x)).collect(),
        Column::I64(v) => v.iter().map(|x| *x as f64).collect(),
    })
}

#[test]
fn packets_of_connections_are_rows_of_their_flow() {
    let scenario = crate::capture::come_and_go();
    let keep = Keep { diftr: true, events: true, ..Keep::default() };
    let (summary, recorder) = watch(&scenario, Recorder::new(keep));
    assert_eq!(summary.digest, run(&scenario).digest);
    let tables: BTreeMap<_, _> = recorder.tables().into_iter().collect();
    for (name, dropped) in [("drops", &[0u16, 1][..]), ("diftr", &[3, 4])] {
        let column = |column| numbers(&tables[name], column).unwrap();
        let (flow, link, what) =
            (column("flow"), column("link"), column(if name == "drops" { "reason" } else { "event" }));
        assert!(flow.iter().all(|f| *f < 2.0), "{name}: numbers of flows alone");
        for f in 0..2 {
            let lost = (0..flow.len())
                .filter(|&i| flow[i] as usize == f && link[i] == 0.0 && dropped.contains(&(what[i] as u16)))
                .count() as u64;
            assert_eq!(lost, summary.flows[f].lost, "{name}, flow {f}");
            assert!(lost > 20, "{name}, flow {f}: {lost}");
        }
    }
}

#[test]
fn a_flows_own_link_has_no_rows() {
    let mut s = dumbbell(10.0, 20.0, 40, "fifo", &["cubic"], 1);
    s.flows[0].access = Some(units::Rate::from_mbps(12.0));
    let (_, recorder) = watch(&s, Recorder::new(Keep { diftr: true, ..Keep::default() }));
    let (_, table) = recorder.tables().pop().unwrap();
    let link = numbers(&table, "link").unwrap();
    assert!(!link.is_empty() && link.iter().all(|l| *l < 2.0));
}

#[test]
fn rows_add_up_to_the_queue_they_describe() {
    for queue in ["fifo", "codel", "pie", "fq_codel", "fq_pie", "sfq_fifo", "dualpi2", "red", "choke"] {
        let (table, watched, alone) = recorded(queue);
        assert_eq!(watched, alone, "{queue}: watching changed the run");
        let column = |name: &str| numbers(&table, name).unwrap_or_else(|| panic!("{queue}: no {name}"));
        let (event, packets, bytes, sojourn) =
            (column("event"), column("packets"), column("bytes"), column("sojourn_ms"));
        assert!(table.iter().all(|(n, _)| numbers(&table, n).unwrap().len() == event.len()), "{queue}: ragged");
        let mut of: BTreeMap<u16, usize> = BTreeMap::new();
        let mut held = 0i64;
        for i in 0..event.len() {
            let e = event[i] as u16;
            *of.entry(e).or_default() += 1;
            match e {
                0 => held += 1,
                1 => held -= 1,
                _ => {}
            }
            // Laws that drop what is held do it before the row that tells of the next packet.
            if matches!(queue, "fifo" | "pie" | "red") && e < 2 {
                assert_eq!(held, packets[i] as i64, "{queue}: row {i}");
            }
            assert_eq!(packets[i] == 0.0, bytes[i] == 0.0);
            assert_eq!(sojourn[i].is_nan(), e != 1);
        }
        let n = |e: u16| of.get(&e).copied().unwrap_or(0);
        let dropped = n(3) + n(4);
        assert!(n(0) > 4_000 && n(5) > 0 && dropped > 0, "{queue}: {of:?}");
        // Everything taken in leaves, is dropped from within, or is still there; what leaves arrives, but for the last few.
        assert!(n(1) <= n(0) && n(0) <= n(1) + dropped + *packets.last().unwrap() as usize, "{queue}: {of:?}");
        assert!(n(2) <= n(1) && n(2) + 60 > n(1), "{queue}: {of:?}");
        let own: &[&str] = match queue {
            "fifo" => &[],
            "codel" => &["count", "dropping"],
            "pie" => &["p", "qdelay_ms", "burst_ms"],
            "fq_codel" => &["count", "sub_queue", "sub_packets", "sub_bytes", "deficit_bytes"],
            "fq_pie" => &["p", "sub_queue"],
            "sfq_fifo" => &["sub_queue", "sub_packets"],
            "dualpi2" => &["p", "p_low", "p_classic", "low_packets"],
            _ => &["avg_packets", "p"],
        };
        for name in own {
            assert!(column(name).iter().all(|x| x.is_finite()), "{queue}: {name}");
        }
        if let Some(sub) = numbers(&table, "sub_packets") {
            assert!(sub.iter().zip(&packets).all(|(sub, all)| sub <= all));
            let flows: std::collections::BTreeSet<u64> = column("sub_queue").iter().map(|x| *x as u64).collect();
            assert!(flows.len() >= 2, "{queue}: both flows have their sub-queue");
        }
    }
}
