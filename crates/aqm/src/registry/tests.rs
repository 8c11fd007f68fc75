//! The table of queues.

use super::*;
use crate::Limit;
use std::string::ToString;
use units::Bytes;

fn value(spec: &str, name: &str) -> String {
    let values = resolve(&spec.parse().unwrap()).unwrap_or_else(|e| panic!("{spec}: {e}"));
    values.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("{spec} has no {name}")).1.clone()
}

#[test]
fn every_law_is_there_alone_and_under_each_scheduler() {
    // No list of names: adding a law or a whole queue changes no test.
    for about in QDISCS.iter().filter(|a| a.scheduler == Fifo::<(), Never>::SCHEDULER) {
        assert_eq!(about.name, about.law);
        for (prefix, scheduler) in [
            ("fq_", Fair::<(), Never>::SCHEDULER),
            ("sfq_", Sfq::<Never>::SCHEDULER),
            ("drr_", Drr::<Never>::SCHEDULER),
        ] {
            let found = find(&alloc::format!("{prefix}{}", about.name)).unwrap();
            assert_eq!((found.scheduler, found.law), (scheduler, about.name));
        }
    }
    let mut names: Vec<_> = QDISCS.iter().map(|a| a.name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|w| w[0] != w[1]), "{names:?}");
}

#[test]
fn no_parameter_of_a_law_has_the_name_of_one_of_its_queue() {
    for about in QDISCS {
        let mut names: Vec<_> = (about.fields)().iter().map(|f| f.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|w| w[0] != w[1]), "{}: {names:?}", about.name);
    }
}

#[test]
fn thresholds_and_weights_are_those_of_the_link() {
    let link = |limit| {
        let (rate, delay) = (units::Rate::from_mbps(50.0), units::Duration::ZERO);
        LinkInfo { rate, delay, mtu: Bytes::new(1500), limit }
    };
    let on = |spec: &str, limit| {
        averaging(&spec.parse().unwrap(), &link(limit)).map(|a| a.thresholds.map(|bytes| bytes.get()))
    };
    assert_eq!(on("red", None), Some([7_500, 22_500]));
    // Packets of 500 B where ns-2 counts bytes: half of 6 ms at the rate is 18 750 B all the same, and the least is 5 of them.
    assert_eq!(on("red(reference=ns-2, target_delay=6ms)", None), Some([18_750, 56_250]));
    assert_eq!(on("red(reference=ns-2, target_delay=0ms)", None), Some([2_500, 7_500]));
    assert_eq!(on("ared(bytes=false, min=10)", None), Some([15_000, 45_000]));
    let limit = Limit::Packets(1200);
    assert_eq!(on("red(reference=linux)", Some(limit)), Some([150_000, 450_000]));
    assert_eq!(on("red(reference=linux, limit=1200)", None), Some([150_000, 450_000]));
    assert_eq!(on("red(reference=linux, min=10)", Some(limit)), Some([10_000, 30_000]));
    assert_eq!(on("choke(min=100, max=200)", Some(limit)), Some([150_000, 300_000]));
    assert_eq!((on("fq_red", None), on("codel", None), on("red(min=x)", None)), (None, None, None));
    // An average that follows the link forgets in a second of 4167 packets.
    let forgets = 1.0 - units::math::exp(-1500.0 * 8.0 / 50e6);
    for (spec, weight) in [("red", 0.002), ("red(weight=auto)", forgets), ("ared", forgets), ("choke(weight=0.5)", 0.5)]
    {
        let told = averaging(&spec.parse().unwrap(), &link(Some(limit))).unwrap().weight;
        assert!((told - weight).abs() < 1e-12, "{spec}: {told}");
    }
}

#[test]
fn fields_show_the_defaults_in_force() {
    for about in QDISCS {
        let resolved = resolve(&Spec::named(about.name)).unwrap();
        let fields: Vec<_> = (about.fields)().into_iter().map(|f| (f.name, f.default)).collect();
        assert_eq!(resolved, fields, "{}", about.name);
    }
}

#[test]
fn a_reference_brings_its_defaults_and_what_is_set_wins() {
    assert_eq!(value("codel", "ecn"), "false");
    assert_eq!(value("fq_codel", "ecn"), "true");
    assert_eq!(value("fq_codel(reference=freebsd)", "ecn"), "true");
    assert_eq!(value("fq_codel(reference=ns-2)", "ecn"), "false");
    assert_eq!(value("fq_codel(reference=freebsd)", "overflow"), "one");
    assert_eq!(value("fq_codel(reference=linux)", "quantum"), "0B");
    assert_eq!(value("fq_codel(reference=linux, quantum=300B)", "quantum"), "300B");
    assert_eq!(value("fq_pie(reference=linux)", "overflow"), "refuse");
    assert_eq!(value("pie(reference=freebsd)", "rate_estimator"), "true");
    assert_eq!(value("fq_pie(reference=freebsd)", "rate_estimator"), "false");
    assert_eq!(value("fq_pie(reference=freebsd)", "ecn"), "true");
    assert_eq!(value("pie(reference=draft)", "tupdate"), "30ms");
    assert_eq!(value("pie(tupdate=7ms, reference=draft)", "tupdate"), "7ms");
    assert_eq!(value("pie(reference=docsis)", "target"), "10ms");
    assert_eq!(value("codel(reference=linux)", "reference"), "linux");
}

#[test]
fn what_changes_nothing_or_stops_a_link_is_refused() {
    let ecn = "mark_threshold = 0.2 changes nothing without ecn=true: add that, or leave mark_threshold at";
    let delay = "target_delay = 9ms changes nothing without";
    for (spec, refusal) in [
        ("pi(b=1e-4)", "b = 0.0001 must not be above a = 0.00001822: on an empty queue p would rise"),
        ("pi(a=0)", "b = 0.00001816 must not be above a = 0"),
        ("fq_pi(b=1e-4)", "b = 0.0001 must not be above"),
        ("sfq_pi(b=1e-4)", "b = 0.0001 must not be above"),
        ("drr_pi(b=1e-4)", "b = 0.0001 must not be above"),
        ("pi(a=1e-4, b=1e-4)", ""),
        ("pi(a=1e-4, b=1e-4, q_ref=9)", "q_ref = 9 changes nothing without b below a"),
        ("pi(mean_packet=500B)", "mean_packet = 500B changes nothing without bytes=true"),
        ("pi(mean_packet=500B, bytes=true)", ""),
        ("sfb(bin_size=50, bin_max=10)", "bin_size = 50 must not be above bin_max = 10"),
        ("sfb(bin_max=19)", "bin_size = 20 must not be above bin_max = 19"),
        ("sfb(bin_max=20)", ""),
        ("sfb(penalty_burst=0.5)", "penalty_burst = 0.5 is less than a packet"),
        ("sfb(penalty_burst=0)", ""),
        ("sfb(penalty_burst=1)", ""),
        ("red(mark_threshold=0.2)", ecn),
        ("red(mark_threshold=0.2, ecn=true)", ""),
        ("red(mark_threshold=0.1, reference=ns-2)", ""),
        ("fq_red(mark_threshold=0.2, reference=ns-2)", ecn),
        ("ared(mark_threshold=0.2)", ecn),
        ("ared(mark_threshold=0.2, ecn=true)", ""),
        ("ared(mark_threshold=0.2, reference=ns-2)", ecn),
        ("pie(mark_threshold=0.2)", ecn),
        ("pie(mark_threshold=0.2, ecn=true)", ""),
        ("pie(mark_threshold=0.2, reference=docsis)", "DOCSIS-PIE does not mark"),
        ("fq_pie(mark_threshold=0.2)", ecn),
        ("fq_pie(mark_threshold=0.2, reference=freebsd)", ""),
        ("red(hard_drop=false)", "hard_drop = false changes nothing without ecn=true"),
        ("red(hard_drop=false, ecn=true)", ""),
        ("red(hard_drop=false, reference=linux)", ""),
        ("red(hard_drop=true, reference=linux)", "hard_drop = true changes nothing without ecn=true"),
        ("red(target_delay=9ms)", delay),
        ("red(target_delay=9ms, max=auto)", delay),
        ("red(target_delay=9ms, min=auto)", ""),
        ("red(target_delay=9ms, reference=ns-2)", ""),
        ("red(target_delay=9ms, reference=ns-2, min=5)", delay),
        ("red(target_delay=9ms, reference=linux)", delay),
        ("ared(target_delay=9ms)", ""),
        ("ared(target_delay=9ms, min=5)", delay),
        ("codel(ce_threshold=1ms)", "ce_threshold = 1ms changes nothing without reference=linux"),
        ("codel(ce_threshold=1ms, reference=linux)", ""),
        ("dualpi2(c_share=50)", "c_share = 50 changes nothing without reference=linux"),
        ("dualpi2(c_share=50, reference=linux)", ""),
        ("dualpi2(shift=1ms, reference=linux)", "shift = 1ms changes nothing without reference=rfc"),
        ("dualpi2(shift=1ms)", ""),
        ("red(wait=true, reference=linux)", "wait = true changes nothing without reference=ns-2"),
        ("red(wait=true, reference=dummynet)", "wait = true changes nothing without reference=ns-2"),
        ("red(wait=true)", ""),
        ("red(wait=false, reference=ns-2)", ""),
        ("red(by_size=true, reference=linux)", "by_size = true changes nothing without reference=ns-2"),
        ("red(by_size=true, reference=dummynet)", ""),
        ("red(reference=dummynet, ecn=true, by_size=true)", "by_size = true changes nothing without ecn=false"),
        ("red(reference=dummynet, ecn=true, weight=0.002, min=8, max=20, max_p=0.1, gentle=true)", ""),
        ("red(reference=dummynet, ecn=true, mark_threshold=0.2)", "mark_threshold = 0.2 changes nothing without a ref"),
        ("red(reference=dummynet, ecn=true, hard_drop=false)", "hard_drop = false changes nothing without a ref"),
        ("ared(adapt=feng)", ""),
        ("ared(adapt=feng, max_p=0.2, reference=ns-2)", ""),
        ("ared(adapt=feng, interval=1s)", "interval = 1s changes nothing without adapt=floyd"),
        ("ared(adapt=feng, alpha=0.02)", "alpha = 0.02 changes nothing without adapt=floyd"),
        ("ared(adapt=feng, beta=0.5)", "beta = 0.5 changes nothing without adapt=floyd"),
        ("ared(adapt=feng, top=0.9)", "top = 0.9 changes nothing without adapt=floyd"),
        ("ared(adapt=feng, bottom=0.1)", "bottom = 0.1 changes nothing without adapt=floyd"),
        ("fq_ared(adapt=feng, bottom=0.1)", "bottom = 0.1 changes nothing without adapt=floyd"),
        ("pie(afresh=true)", "afresh = true changes nothing without sub-queues, as under fq_pie"),
        ("pie(afresh=false, reference=freebsd)", ""),
        ("fq_pie(afresh=true)", ""),
        ("sfq_pie(afresh=true)", ""),
        ("drr_pie(afresh=true)", ""),
        ("pie(unsigned_cap=true, cap=false)", "unsigned_cap = true changes nothing without cap=true"),
        ("pie(unsigned_cap=true, reference=draft)", "unsigned_cap = true changes nothing without cap=true"),
        ("pie(unsigned_cap=true, reference=freebsd)", ""),
        ("fq_codel(rotate=packet, quantum=300B)", "quantum = 300B changes nothing without rotate=spent"),
        ("fq_codel(reference=ns-2, quantum=300B)", "quantum = 300B changes nothing without rotate=spent"),
        ("fq_codel(reference=ns-2, rotate=overdrawn, quantum=300B)", ""),
        ("fq_codel(reference=linux, rotate=packet)", ""),
        ("sfb(rehash=0ms, warmup=5s)", "warmup = 5s changes nothing without a rehash above 0"),
        ("sfb(rehash=0ms)", ""),
        ("sfb(rehash=100s, warmup=5s)", ""),
    ] {
        let told = resolve(&spec.parse().unwrap()).map_or_else(|e| e.to_string(), |_| String::new());
        assert!(told.starts_with(refusal) && told.is_empty() == refusal.is_empty(), "{spec}: {told}");
    }
}

#[test]
fn defaults_are_those_of_the_sources() {
    for (spec, want) in [
        ("red", "min=5, max=15, weight=0.002, max_p=0.02, gentle=false, wait=false, bytes=false, ecn=false"),
        ("red(reference=ns-2)", "min=auto, max=auto, weight=auto, max_p=0.1, gentle=true, wait=true, bytes=true"),
        ("red(reference=ns-2)", "mean_packet=500B, target_delay=5ms, mark_threshold=0.1, hard_drop=true"),
        ("red(reference=dummynet)", "mean_packet=512B, bytes=false, gentle=false, max_p=0.02"),
        ("red(reference=linux)", "min=auto, max=auto, bytes=true, mean_packet=1kB, hard_drop=false"),
        ("ared", "alpha=0.01, beta=0.9, interval=500ms, top=0.5, max_p=0.1, target_delay=5ms, mark_threshold=0.1"),
        ("ared", "bottom=0.01, mean_packet=0B, bytes=true"),
        ("ared(reference=ns-2)", "bottom=auto, mean_packet=500B, bytes=true, max_p=0.1, top=0.5"),
        ("rem", "q_ref=20, gamma=0.001, phi=1.001, alpha=0.1, tupdate=2ms, weight=1, mean_packet=1kB, ecn=false"),
        ("pi", "q_ref=50, a=0.00001822, b=0.00001816, hz=170, bytes=false, ecn=false"),
        ("codel_dt", "allowance=6ms, interval=100ms, measure=16384B"),
        ("cobalt", "target=5ms, interval=100ms, up=0.00390625, down=0.000244140625, ecn=true"),
        ("pie", "target=15ms, tupdate=15ms, alpha=0.125, beta=1.25, burst=150ms, ecn=false, mark_threshold=0.1"),
        ("pie", "derandomise=true, cap=true, rate_estimator=false, on_off=false, mean_packet=0B"),
        ("pie(reference=draft)", "target=20ms, tupdate=30ms, alpha=0.125, beta=1.25, mean_packet=1504B"),
        ("pie(reference=draft)", "derandomise=false, cap=false, rate_estimator=true"),
        ("pie(reference=docsis)", "target=10ms, tupdate=16ms, alpha=0.25, beta=2.5, burst=142ms, mean_packet=1024B"),
        ("fq_codel", "limit=10240, flows=1024, quantum=1514B, overflow=batch, fattest=bytes, rotate=spent"),
        ("fq_codel(reference=freebsd)", "quantum=1514B, fattest=packets, rotate=overdrawn, emptied=old"),
        ("fq_codel(reference=linux)", "overflow=batch, fattest=bytes, rotate=spent, emptied=old_if_any"),
        ("drr_fifo", "quantum=0B, overflow=one, fattest=bytes"),
        ("sfb", "levels=8, bins=16, bin_size=20, bin_max=25, up=0.001, penalty_rate=10, penalty_burst=20"),
        ("sfb", "rehash=600s, warmup=60s, ecn=true"),
        ("dualpi2", "target=15ms, tupdate=16ms, alpha=0.16, beta=3.2, coupling=2, step=800us, ramp=400us"),
        ("dualpi2(reference=linux)", "step=1ms, ramp=0ms, step_behind=0, c_share=10, limit=10000"),
    ] {
        for pair in want.split(", ") {
            let (name, default) = pair.split_once('=').unwrap();
            assert_eq!(value(spec, name), default, "{spec}: {name}");
        }
    }
}

#[test]
fn refusals_name_the_parameters_of_both_parts() {
    let refused = |spec: &str| resolve(&spec.parse().unwrap()).unwrap_err().to_string();
    let text = refused("fq_codel(quantm=300B)");
    assert!(text.contains("did you mean \"quantum\"") && text.contains("target") && text.contains("flows"), "{text}");
    assert!(refused("codel(flows=3)").starts_with("codel has no parameter \"flows\""));
    assert!(refused("fq_codel(quantum=10B)").contains("too small"));
    assert!(refused("pie(alpha=9)").contains("allowed is 0 to 7"));
    assert!(refused("pie(target=1ms, target=2ms)").contains("twice"));
    assert!(refused("fqcodel").contains("did you mean \"fq_codel\""));
    assert_eq!(refused("CAKE"), "there is no queue \"CAKE\"; what comes nearest is \"fq_cobalt\"");
    assert!(SOUGHT.iter().all(|(sought, near)| find(sought).is_err() && find(near).is_ok()));
}
