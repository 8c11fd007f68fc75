//! Every way to get an experiment wrong that we could think of, and what users read then.
//!
//! The table in `snapshots/` is the test: read it as a user would. Each entry is one change to a valid file (or an
//! override, or a line), and the one error it gives. `cargo insta review` accepts new ones.

use std::fmt::Write;

const GOOD: &str = r#"format = 1
[path]
rate = "12 Mbit/s"
rtt = "40 ms"
buffer = "2 BDP"
[[flow]]
name = "a"
cc = "newreno"
[[flow]]
name = "b"
cc = "newreno"
start = "10 s"
[run]
duration = "60 s"
"#;

const LINKS: &str = r#"[[link]]
name = "core"
rate = "12 Mbit/s"
delay = "20 ms"
[[link]]
name = "home"
delay = "20 ms"
[[flow]]
name = "a"
cc = "newreno"
route = ["core"]
back = ["home"]
"#;

const SWEEP: &str = "[sweep]\n\"path.rtt\" = [\"10 ms\", \"40 ms\"]\n";

fn error(text: &str, overrides: &[(&str, &str)]) -> String {
    error_in("x.toml", text, overrides)
}

fn error_in(file: &str, text: &str, overrides: &[(&str, &str)]) -> String {
    let outcome = experiment::parse(text, file).and_then(|mut e| {
        for (key, value) in overrides {
            e.set(key, value)?;
        }
        e.cases().map(|_| ())
    });
    match outcome {
        Ok(()) => panic!("accepted: {text}\n{overrides:?}"),
        Err(e) => {
            assert!(e.column().is_some(), "no place: {e}");
            without_registries(&format!("{e:#}"))
        }
    }
}

/// Adding an algorithm or a queue must not change the table.
fn without_registries(text: &str) -> String {
    let join = |names: Vec<&str>| names.join(", ");
    text.replace(&join(cc::ALGORITHMS.iter().map(|e| e.about.name).collect()), "⟨every congestion control⟩")
        .replace(&join(aqm::QDISCS.iter().map(|q| q.name).collect()), "⟨every queue⟩")
        .replace(&join(cc::SLOW_STARTS.iter().map(|s| s.name).collect()), "⟨every slow start⟩")
}

/// `good` with one piece replaced.
fn replaced(good: &str, old: &str, new: &str) -> String {
    assert_eq!(good.matches(old).count(), 1, "{old:?} must be there once");
    good.replacen(old, new, 1)
}

#[test]
fn the_files_that_are_broken_below_are_good() {
    for text in [GOOD.to_string(), LINKS.to_string(), format!("{GOOD}{SWEEP}")] {
        experiment::parse(&text, "x.toml").and_then(|e| e.cases()).unwrap_or_else(|e| panic!("{e:#}"));
    }
}

#[test]
fn every_mistake_gives_one_clear_error_with_its_place() {
    let mut table = String::new();
    let mut count = 0;
    let mut show = |what: &str, error: String| {
        count += 1;
        writeln!(table, "── {what}\n{error}\n").unwrap();
    };

    show("nothing at all", error("", &[]));
    show("only a comment", error("# nothing\n", &[]));
    show("no flows", error("[path]\nrate = \"1 Mbit/s\"\nrtt = \"1 ms\"\n", &[]));
    show("no path", error("[[flow]]\ncc = \"newreno\"\n", &[]));
    show("flows in a word", error("flow = \"x\"\n[path]\nrate = \"1 Mbit/s\"\nrtt = \"1 ms\"\n", &[]));
    show("not TOML", error("[path\nrate = 3\n", &[]));
    show("a binary file", error("\u{0}\u{1}\u{7f}ELF\nx", &[]));
    show("ten thousand brackets", error(&format!("a = {}\n", "[".repeat(10_000)), &[]).chars().take(160).collect());

    for (old, new) in [
        // Syntax.
        ("rtt = \"40 ms\"", "rtt = 40 ms"),
        ("rtt = \"40 ms\"", "rtt = \"40 ms"),
        ("rtt = \"40 ms\"", "rtt = \"40 ms\"\nrtt = \"41 ms\""),
        ("rtt = \"40 ms\"", "rtt = 2026-11-21"),
        ("format = 1", "format = 2"),
        ("format = 1", "format = \"1\""),
        ("format = 1", "format = 1.0"),
        ("format = 1", "format = 2\nfoo = 1"),
        ("[path]", "[[path]]"),
        ("[run]", "[[run]]"),
        ("buffer = \"2 BDP\"", "changes = \"7 s\""),
        ("format = 1\n", "format = 1\nlink = 3\n"),
        ("format = 1\n", "format = 1\nexpect = \"flow.a.share >= 0.1\"\n"),
        // What a terminal would obey.
        ("format = 1\n", "format = 1\ntitle = \"\\u001b[2J\"\n"),
        ("format = 1\n", "format = 1\ntitle = \"\"\"two\nlines\"\"\"\n"),
        ("format = 1\n", "format = 1\n\"a\\u0007b\" = 1\n"),
        ("format = 1\n", "format = 1\ntitle = \"\\ufffe\"\n"),
        ("name = \"a\"\ncc = \"newreno\"", "name = \"a\\u0007\"\ncc = \"newreno\""),
        ("start = \"10 s\"", "route = [\"a\\u009bb\"]"),
        ("rtt = \"40 ms\"", "rtt = \"40 ms\"\nloss = nan"),
        // Keys.
        ("rtt = \"40 ms\"", "rrt = \"40 ms\""),
        ("rtt = \"40 ms\"", "rtt = \"40 ms\"\nchanges = [{ at = \"1 s\", rat = \"2 Mbit/s\" }]"),
        ("name = \"a\"\ncc = \"newreno\"", "name = \"\"\ncc = \"newreno\""),
        ("name = \"a\"\ncc = \"newreno\"", "name = \"a\"\ncc = \"web\""),
        ("rtt = \"40 ms\"", "rtt = \"40 ms\"\nqueue = \"codel(target=-5ms)\""),
        ("[path]", "[pth]"),
        ("[run]", "[runs]"),
        ("start = \"10 s\"", "begin = \"10 s\""),
        ("rtt = \"40 ms\"\n", ""),
        ("rate = \"12 Mbit/s\"\n", ""),
        ("name = \"a\"\ncc = \"newreno\"", "name = \"a\""),
        ("[[flow]]\nname = \"a\"\ncc = \"newreno\"\n[[flow]]", "[flow]"),
        // Units.
        ("rtt = \"40 ms\"", "rtt = 40"),
        ("rtt = \"40 ms\"", "rtt = \"40\""),
        ("rtt = \"40 ms\"", "rtt = \"40 msec\""),
        ("rtt = \"40 ms\"", "rtt = \"40 Mbit/s\""),
        ("rtt = \"40 ms\"", "rtt = \"forty ms\""),
        ("rtt = \"40 ms\"", "rtt = \"-40 ms\""),
        ("rtt = \"40 ms\"", "rtt = [\"40 ms\"]"),
        ("rtt = \"40 ms\"", "rtt = true"),
        ("rate = \"12 Mbit/s\"", "rate = \"12 MB/s\""),
        ("rate = \"12 Mbit/s\"", "rate = \"12 MBps\""),
        ("rate = \"12 Mbit/s\"", "rate = \"12 Mbit/h\""),
        ("rate = \"12 Mbit/s\"", "rate = \"1e30 Mbit/s\""),
        ("duration = \"60 s\"", "duration = \"1e30 s\""),
        ("start = \"10 s\"", "writes = \"1e30 B\""),
        ("buffer = \"2 BDP\"", "buffer = \"1e30 B\""),
        ("buffer = \"2 BDP\"", "buffer = \"2 BPD\""),
        ("buffer = \"2 BDP\"", "buffer = 80"),
        ("buffer = \"2 BDP\"", "buffer = \"1.5 packets\""),
        // Zero, tiny, huge.
        ("rtt = \"40 ms\"", "rtt = \"0 ms\""),
        ("rtt = \"40 ms\"", "rtt = \"2 min\""),
        ("rtt = \"40 ms\"", "rtt = \"1e300 ms\""),
        ("rate = \"12 Mbit/s\"", "rate = \"0 Mbit/s\""),
        ("rate = \"12 Mbit/s\"", "rate = \"2000 Gbit/s\""),
        ("rate = \"12 Mbit/s\"", "rate = \"unlimited\""),
        ("buffer = \"2 BDP\"", "buffer = \"0 packets\""),
        ("buffer = \"2 BDP\"", "buffer = \"0 BDP\""),
        ("buffer = \"2 BDP\"", "buffer = \"0 B\""),
        ("buffer = \"2 BDP\"", "access = \"x\""),
        ("buffer = \"2 BDP\"", "access = \"trace(lte.up)\""),
        ("buffer = \"2 BDP\"", "buffer = \"0.01 BDP\""),
        ("buffer = \"2 BDP\"", "buffer = \"1000000000 BDP\""),
        ("buffer = \"2 BDP\"", "buffer = \"20000000000 packets\""),
        ("duration = \"60 s\"", "duration = \"0 s\""),
        ("duration = \"60 s\"", "duration = \"1000 h\""),
        ("duration = \"60 s\"", "seed = -1"),
        ("duration = \"60 s\"", "seed = 9223372036854775807"),
        ("duration = \"60 s\"", "seed = 99999999999999999999"),
        ("duration = \"60 s\"", "repeat = 0"),
        ("duration = \"60 s\"", "repeat = 2.5"),
        ("duration = \"60 s\"", "repeat = inf"),
        ("start = \"10 s\"", "count = 1000000"),
        ("start = \"10 s\"", "count = 0"),
        ("start = \"10 s\"", "count = -1"),
        ("start = \"10 s\"", "count = 1.5"),
        ("duration = \"60 s\"", "seed = 9007199254740991\nrepeat = 10"),
        ("start = \"10 s\"", "mss = \"9 B\""),
        ("start = \"10 s\"", "initial_window = 0"),
        ("start = \"10 s\"", "receive_window = \"2 GiB\""),
        ("start = \"10 s\"", "receive_window = \"100 B\""),
        ("start = \"10 s\"", "read_rate = \"4 MB/s\""),
        ("start = \"10 s\"", "read_rate = \"0 Mbit/s\""),
        ("start = \"10 s\"", "read_rate = \"unlimited\""),
        ("start = \"10 s\"", "read_rate = \"4 Mbit/s\"\nstack = \"ns-2\""),
        ("start = \"10 s\"", "read_rate = \"4 Mbit/s\"\ntraffic = \"tmix\""),
        ("name = \"b\"\ncc = \"newreno\"", "name = \"b\"\ntraffic = \"voip\"\nread_rate = \"4 Mbit/s\""),
        ("start = \"10 s\"", "offload = 100000"),
        ("start = \"10 s\"", "pacing_quantum = 0"),
        ("start = \"10 s\"", "pacing_quantum = 2"),
        ("name = \"b\"\ncc = \"newreno\"", "name = \"b\"\ncc = \"cubic(slow_start=hystart)\"\npacing_quantum = 2"),
        // Names and words.
        ("name = \"b\"\ncc = \"newreno\"", "name = \"b\"\ncc = \"newrneo\""),
        ("name = \"b\"\ncc = \"newreno\"", "name = \"b\"\ncc = \"newreno(bta=0.5)\""),
        ("name = \"b\"\ncc = \"newreno\"", "name = \"b\"\ncc = \"newreno(beta=7)\""),
        ("name = \"b\"\ncc = \"newreno\"", "name = \"b\"\ncc = \"newreno(beta=0.5\""),
        ("name = \"b\"\ncc = \"newreno\"", "name = \"b\"\ncc = \"newreno(slow_start=hystrat)\""),
        ("name = \"b\"\ncc = \"newreno\"", "name = \"b\"\ncc = \"\""),
        ("name = \"b\"", "name = \"a\""),
        ("name = \"b\"", "name = \"b.c\""),
        ("name = \"b\"", "name = 7"),
        ("start = \"10 s\"", "count = 2\n[[flow]]\nname = \"b-2\"\ncc = \"newreno\""),
        ("buffer = \"2 BDP\"", "queue = \"ffo\""),
        ("buffer = \"2 BDP\"", "queue = \"fifo(limt=3)\""),
        ("buffer = \"2 BDP\"", "stack = \"freebsd\""),
        ("buffer = \"2 BDP\"", "loss = \"5\""),
        ("buffer = \"2 BDP\"", "loss = \"200 %\""),
        ("buffer = \"2 BDP\"", "loss = \"gilbert(good=0, bad=10)\""),
        ("buffer = \"2 BDP\"", "loss = \"bernoulli(p=0.1)\""),
        ("buffer = \"2 BDP\"", "loss = \"periodic(every=1)\""),
        ("buffer = \"2 BDP\"", "loss = \"periodic(every=3, burst=3)\""),
        ("buffer = \"2 BDP\"", "loss = \"periodic(evry=3)\""),
        ("buffer = \"2 BDP\"", "loss = \"periodic(first=1.5)\""),
        ("buffer = \"2 BDP\"", "loss_at = \"before\""),
        ("buffer = \"2 BDP\"", "loss_at = \"after\""),
        ("buffer = \"2 BDP\"", "clock = \"tick(hz=0)\""),
        ("buffer = \"2 BDP\"", "clock = \"ticks\""),
        ("buffer = \"2 BDP\"", "clock = \"tick(round=up)\""),
        ("buffer = \"2 BDP\"", "clock = \"tick(hz=1024, clock=coarse)\""),
        ("buffer = \"2 BDP\"", "clock = \"tick(early=0.2)\""),
        ("buffer = \"2 BDP\"", "clock = \"tick(adjust_last=false, round=floor)\""),
        ("buffer = \"2 BDP\"", "queue = \"pi(b=1e-4)\""),
        ("buffer = \"2 BDP\"", "queue = \"pie(mark_threshold=0.2)\""),
        ("buffer = \"2 BDP\"", "reorder = {probability = \"1 %\"}"),
        ("buffer = \"2 BDP\"", "rate_limit = 3"),
        ("duration = \"60 s\"", "vary = \"starts\""),
        ("start = \"10 s\"", "ecn = \"yes\""),
        ("start = \"10 s\"", "direction = \"left\""),
        // Traffic.
        ("start = \"10 s\"", "traffic = \"blk\""),
        ("start = \"10 s\"", "traffic = \"tmix(file=x)\""),
        ("start = \"10 s\"", "traffic = \"tmix(load=0.5, scale=2)\""),
        ("start = \"10 s\"", "traffic = \"tmix(file=x, reply=1kB)\""),
        ("start = \"10 s\"", "traffic = \"tmix(bin=1s, shuffle=false)\""),
        ("start = \"10 s\"", "traffic = \"tmix(bin=1ns)\""),
        ("start = \"10 s\"", "traffic = \"tmix(prefill=86400s, load=2)\""),
        ("start = \"10 s\"", "traffic = \"tmix(scale=1e-9)\""),
        ("start = \"10 s\"", "traffic = \"bytes(size=0B)\""),
        ("name = \"b\"\ncc = \"newreno\"", "name = \"b\"\ncc = \"cubic(reference=bsd)\""),
        ("start = \"10 s\"", "traffic = \"bytes(size=10)\""),
        ("start = \"10 s\"", "traffic = \"voip\""),
        ("name = \"b\"\ncc = \"newreno\"", "name = \"b\"\ntraffic = \"cbr(rate=1Mbit/s, on=1s)\""),
        ("name = \"b\"\ncc = \"newreno\"", "name = \"b\"\nstack = \"linux\"\ntraffic = \"voip\""),
        // Times that do not fit together.
        ("start = \"10 s\"", "start = \"60 s\""),
        ("start = \"10 s\"", "start = \"10 s\"\nstop = \"5 s\""),
        ("start = \"10 s\"", "stop = \"20 s\"\nlasts = \"10 s\""),
        ("start = \"10 s\"", "lasts = \"0 s\""),
        ("start = \"10 s\"", "count = 9\nstagger = \"10 s\""),
        ("duration = \"60 s\"", "measure = [\"10 s\", \"90 s\"]"),
        ("duration = \"60 s\"", "measure = [\"30 s\", \"20 s\"]"),
        ("duration = \"60 s\"", "measure = \"10 s\""),
        ("duration = \"60 s\"", "measure = [\"10 s\"]"),
        ("start = \"10 s\"", "stagger = \"10 s\""),
        ("buffer = \"2 BDP\"", "changes = [{at = \"7 s\"}]"),
        ("buffer = \"2 BDP\"", "changes = {at = \"7 s\", rtt = \"80 ms\"}"),
        (
            "buffer = \"2 BDP\"",
            "changes = [{at = \"7 s\", rtt = \"80 ms\"}, {at = \"7000 ms\", rtt = \"90 ms\", loss = \"1 %\"}]",
        ),
        ("buffer = \"2 BDP\"", "changes = [{at = \"70 s\", rtt = \"80 ms\"}]"),
        ("buffer = \"2 BDP\"", "changes = [{rtt = \"80 ms\"}]"),
        ("buffer = \"2 BDP\"", "changes = [{at = \"7 s\", up = \"1 Mbit/s\"}]"),
        // Topology of a dumbbell.
        ("buffer = \"2 BDP\"", "up_buffer = \"10 packets\""),
        ("buffer = \"2 BDP\"", "up = \"1 Mbit/s\"\nup_buffer = \"60 B\""),
        ("buffer = \"2 BDP\"", "up_queue = \"fifo\""),
        ("start = \"10 s\"", "direction = \"up\""),
        ("start = \"10 s\"", "route = [\"core\"]"),
        ("start = \"10 s\"", "route = {core = 1}"),
        ("rate = \"12 Mbit/s\"", "rate = \"trace(no-such-file)\""),
        ("rate = \"12 Mbit/s\"", "rate = \"trace()\""),
        ("start = \"10 s\"", "rtt = \"1 ms\"\n[[path.changes]]\nat = \"5 s\"\nrtt = \"0 ms\""),
    ] {
        show(&format!("{old}  →  {new}").replace('\n', " ⏎ "), error(&replaced(GOOD, old, new), &[]));
    }

    for (old, new) in [
        ("route = [\"core\"]", "route = [\"cor\"]"),
        ("route = [\"core\"]\n", ""),
        ("back = [\"home\"]\n", ""),
        ("back = [\"home\"]", "back = [\"core\"]"),
        ("back = [\"home\"]", "back = []"),
        ("name = \"home\"", "name = \"core\""),
        ("rate = \"12 Mbit/s\"\n", ""),
        ("back = [\"home\"]", "back = [\"home\"]\nrtt = \"10 ms\""),
        ("back = [\"home\"]", "back = [\"home\"]\ndirection = \"up\""),
        ("back = [\"home\"]", "back = [\"home\"]\n[[link]]\nname = \"idle\""),
        ("back = [\"home\"]", "back = [\"home\"]\n[path]\nrtt = \"10 ms\""),
        (
            "rate = \"12 Mbit/s\"",
            "rate = \"12 Mbit/s\"\nchanges = [{at = \"1 s\", delay = \"1 ms\"}, {at = \"1 s\", delay = \"2 ms\"}]",
        ),
        ("rate = \"12 Mbit/s\"", "rate = \"12 Mbit/s\"\nchanges = [{at = \"1 s\"}]"),
        ("name = \"home\"\ndelay = \"20 ms\"", "name = \"home\"\nbuffer = \"10 packets\""),
    ] {
        show(&format!("links: {old}  →  {new}").replace('\n', " ⏎ "), error(&replaced(LINKS, old, new), &[]));
    }

    for rest in [
        "[sweep]\n\"path.rtt\" = \"10 ms\"\n",
        "[sweep]\n\"path.rtt\" = []\n",
        "[sweep]\n\"path.rtt\" = [\"10 ms\", \"10ms\"]\n",
        "[sweep]\n\"path.rtt\" = [\"10 ms\", \"20 ms\", \"10000 us\"]\n",
        "[sweep]\n\"path.loss\" = [0.01, \"1 %\"]\n",
        "[sweep.zip]\n\"path.rtt\" = [\"10 ms\", \"20 ms\", \"10 ms\"]\n\"path.rate\" = [\"1 Mbit/s\", \"1 Mbit/s\", \"1 Mbit/s\"]\n",
        "[sweep.zip]\n\"path.rtt\" = [\"10 ms\", \"10000 us\"]\n\"path.rate\" = [\"1 Mbit/s\", \"1000 kbit/s\"]\n",
        "[[sweep]]\n\"path.rtt\" = [\"10 ms\"]\n",
        "[sweep]\n\"run.repeat\" = [1000000, 999999, 999998, 999997, 999996, 999995, 999994, 999993, 999992, 999991, 999990]\n",
        "[sweep]\n\"path.rtt\" = [\"10 ms\", \"10 sm\"]\n",
        "[sweep]\n\"path.rt\" = [\"10 ms\"]\n",
        "[sweep]\n\"pth.rtt\" = [\"10 ms\"]\n",
        "[sweep]\n\"flow.c.cc\" = [\"newreno\"]\n",
        "[sweep]\n\"flow.a.name\" = [\"x\"]\n",
        "[sweep]\n\"flow.a.cc\" = [\"cubic\", \"hldg\"]\n\"flow.b.cc\" = [\"cubic\"]\n\"flow.*.cc\" = [\"vegas\", \"cdg\"]\n",
        "[sweep]\n\"link.bottleneck.queue\" = [\"codel\"]\n",
        "[sweep]\n\"path.rtt\" = [\"10 ms\"]\nzip = {\"path.rtt\" = [\"20 ms\"]}\n",
        "[sweep.zip]\n\"path.rtt\" = [\"10 ms\", \"20 ms\"]\n\"path.rate\" = [\"1 Mbit/s\"]\n",
        "[sweep]\n\"run.seed\" = [1, 2, 3]\n\"flow.a.cc.beta\" = [0.5, 5]\n",
        "[[expect]]\nthat = \"flow.a.share\"\n",
        "[[expect]]\nthat = \"flow.a.shares\"\nis = \">= 0.25\"\n",
        "[[expect]]\nthat = \"flow.c.share\"\nis = \">= 0.25\"\n",
        "[[expect]]\nthat = \"flow.a.rtt_ms\"\nis = \">= 0.25\"\n",
        "[[expect]]\nthat = \"flows.a.share\"\nis = \">= 0.25\"\n",
        "[[expect]]\nthat = \"flow.a.share\"\nis = \"about 0.25\"\n",
        "[[expect]]\nthat = \"flow.a.share\"\nis = \"=> 0.25\"\n",
        "[[expect]]\nthat = \"flow.a.share\"\nis = 0.25\n",
        "[[expect]]\nthat = \"flow.a.share\"\nis = \">= 2 ms\"\n",
        "[[expect]]\nthat = \"flow.a.share\"\nis = \"between 0.3 and 0.1\"\n",
        "[[expect]]\nthat = \"flow.a.share\"\nis = \"<= 30\"\n",
        "[[expect]]\nthat = \"flow.a.share\"\nis = \"< flow.b.rtt_ms.mean\"\n",
        "[[expect]]\nthat = \"flow.a.share\"\nis = \">= 0.25\"\nwhen = {\"path.rtt\" = \"40 ms\"}\n",
        "[[expect]]\nname = \"\\u007f\"\nthat = \"flow.a.share\"\nis = \">= 0.25\"\n",
        "[published]\ntitle = \"Table\\t1\"\n",
        "[published]\ncolumns = {\"\\u001b[1m\" = \"flow.a.share\"}\n",
        "[sweep]\n\"path.queue\" = [\"fifo\", \"\\u0008\"]\n",
        "[sweep]\n\"path.queue\" = [\"red(ecn=true, mark_threshold=0.2)\"]\n\"path.queue.ecn\" = [true, false]\n",
        "[published]\ntitle = \"Table 1\"\n",
        "[published]\ncolumns = {mean = \"link.bottleneck.queue.mean\"}\n",
        "[published]\ncolumns = {mean = \"link.bottleneck.queue_ms.mean\"}\nrow = [{values = {maen = 3}}]\n",
        "[published]\ncolumns = {mean = \"link.bottleneck.queue_ms.mean\"}\nrow = [{values = {mean = \"x\"}}]\n",
        "[published]\ntolerance = \"35\"\ncolumns = {mean = \"link.bottleneck.queue_ms.mean\"}\nrow = [{values = {mean = 3}}]\n",
        "[published]\ntolerance = \"wide\"\ncolumns = {mean = \"link.bottleneck.queue_ms.mean\"}\n",
        "[published]\ncolumns = {mean = \"link.bottleneck.queue_ms.mean\"}\n",
        "[published]\ncolumns = {mean = \"link.bottleneck.queue_ms.mean\"}\nrow = [{values = {}}]\n",
        "[published]\ncolumns = {mean = \"link.bottleneck.queue_ms.mean\"}\norder = [\"maen\"]\nrow = [{values = {mean = 3}}]\n",
        "[published]\nthat = \"flow.a.share\"\ndown = \"path.rate\"\nacross = \"path.rate\"\ngrid = [[\"\", \"1 ms\"], [\"1 ms\", 1]]\n",
        "[published]\nthat = \"flow.a.share\"\ndown = \"path.rate\"\nacross = \"path.rtt\"\nwhen = {\"path.rtt\" = \"1 ms\"}\ngrid = [[\"\", \"1 ms\"], [\"1 Mbit/s\", 1]]\n",
        "[published]\nthat = \"flow.a.share\"\ndown = \"path.rate\"\nacross = \"path.rtt\"\ngrid = [[\"\", \"1 ms\"], [\"1 Mbit/s\", \"\"]]\n",
        "[published]\nthat = \"flow.a.share\"\ndown = \"path.rate\"\nacross = \"path.rtt\"\ngrid = [[\"\", \"1 ms\"], [\"1 Mbit/s\"]]\n",
    ] {
        show(&format!("and: {rest}").trim_end().replace('\n', " ⏎ "), error(&format!("{GOOD}{rest}"), &[]));
    }
    let when = "[[expect]]\nthat = \"flow.a.share\"\nis = \">= 0.25\"\nwhen = {\"path.rtt\" = \"80 ms\"}\n";
    show("a value that is not swept", error(&format!("{GOOD}{SWEEP}{when}"), &[]));
    for when in ["{path.rtt = \"10 ms\"}", "{\"path.rtt\" = []}"] {
        let claim = format!("[[expect]]\nthat = \"flow.a.share\"\nis = \">= 0.25\"\nwhen = {when}\n");
        show(&format!("when = {when}"), error(&format!("{GOOD}{SWEEP}{claim}"), &[]));
    }
    let pooled = |rest: &str| {
        let claim = format!("[[expect]]\nthat = \"flow.a.share\"\nis = \"<= flow.a.share\"\n{rest}\n");
        error(&format!("{GOOD}{SWEEP}{claim}"), &[])
    };
    show("a pool of what is not swept", pooled("pool = [\"path.rt\"]"));
    show("a pool of single runs", pooled("pool = [\"path.rtt\"]\nover = \"each\""));
    let against = "pool = [\"path.rtt\"]\nagainst = {\"path.rtt\" = \"40 ms\"}";
    show("a pool of the cases that are compared", pooled(against));
    show("a pool that is one word", pooled("pool = \"path.rtt\""));
    let zip = "[sweep.zip]\n\"path.rtt\" = [\"10 ms\", \"40 ms\", \"40 ms\"]\n\"path.buffer\" = [\"1 BDP\", \"1 BDP\", \"2 BDP\"]\n";
    let zipped = |rest: &str| {
        let claim = format!("[[expect]]\nthat = \"flow.a.share\"\nis = \"<= flow.a.share\"\n{rest}\n");
        error(&format!("{GOOD}{zip}{claim}"), &[])
    };
    let of_two = "when = {\"path.buffer\" = \"2 BDP\"}\nagainst = {\"path.buffer\" = \"1 BDP\", \"path.rtt\" = [\"10 ms\", \"40 ms\"]}";
    show("a case beside two", zipped(of_two));
    let row = "[published]\ncolumns = {share = \"flow.a.share\"}\n\
               row = [{when = {\"path.rtt\" = \"10 ms\", \"path.buffer\" = \"2 BDP\"}, values = {share = 0.5}}]\n";
    show("a printed case that no row of a zip makes", error(&format!("{GOOD}{zip}{row}"), &[]));
    show("a case that no row of a zip makes", zipped("when = {\"path.rtt\" = \"10 ms\", \"path.buffer\" = \"2 BDP\"}"));
    let fine = (0..400).map(|i| format!("\"{} ms\"", i + 1)).collect::<Vec<_>>().join(", ");
    let rates = fine.replace("ms", "Mbit/s");
    let large = format!("{GOOD}[sweep]\n\"path.rtt\" = [{fine}]\n\"path.rate\" = [{rates}]\n");
    show("160 000 cases", error(&large, &[]));

    let rtts = |n: u32| format!("[{}]", (1..=n).map(|ms| format!("\"{ms} ms\"")).collect::<Vec<_>>().join(", "));
    let many = error(GOOD, &[("sweep.path.rtt", &rtts(11)), ("run.repeat", "1000000")]);
    show("--set run.repeat=1000000 with 11 cases", many);

    for (key, value) in [
        ("path.rtt", "40"),
        ("title", "\u{1b}]0;x\u{7}"),
        ("path.rtt", ""),
        ("path.rt", "40ms"),
        ("pth.rtt", "40ms"),
        ("rtt", "40ms"),
        ("cc", "cubic"),
        ("duration", "20s"),
        ("delay", "20ms"),
        ("flow.c.cc", "newreno"),
        ("flow.a", "newreno"),
        ("flow.a.cc.bta", "0.5"),
        ("flow.a.traffic", "cbr(rate=1Mbit/s)"),
        ("path.loss", "bursty(3)"),
        ("path.loss", "gilbret(good=3)"),
        ("path.loss", "gilbert(3)"),
        ("flow.a.cc.beta.x", "0.5"),
        ("flow.a.cc.slow_start.low", "16"),
        ("flow.a.name", "1"),
        ("link.bottleneck.queue", "codel"),
        ("link.return.rate", "1Mbit/s"),
        ("link.return.loss", "1 %"),
        ("link.return.jitter", "1 ms"),
        ("link.*.delay", "1ms"),
        ("format", "2"),
        ("run.repeat", "three"),
        ("run..repeat", "3"),
        ("path.buffer", "340"),
        ("sweep.path.rtt", "[\"10 ms\""),
        ("sweep", "3"),
        ("sweep", "[1]"),
        ("sweep.zip", "3"),
        ("run.repeat", "-3"),
        ("path.rtt", &"9".repeat(100_000)),
        ("path.buffer", "3 parsecs"),
        ("flow.a.cc", &"x".repeat(1_000_000)),
        ("flow.a.cc", &"(".repeat(100_000)),
        ("flow.a.cc", &"x y ".repeat(100_000)),
        (&"x".repeat(100_000), "3"),
    ] {
        let given: String = format!("--set {key}={value}").chars().take(60).collect();
        show(&given, error(GOOD, &[(key, value)]));
    }
    let zip = format!(
        "{GOOD}[sweep.zip]\n\"path.rtt\" = [\"10 ms\", \"20 ms\"]\n\"path.rate\" = [\"1 Mbit/s\", \"2 Mbit/s\"]\n"
    );
    show("--set path.rtt=30ms, which moves with path.rate", error(&zip, &[("path.rtt", "30ms")]));
    for value in ["[\"30 ms\"]", "30 ms"] {
        let given = format!("--set sweep.path.rtt={value}, which moves with path.rate");
        show(&given, error(&zip, &[("sweep.path.rtt", value)]));
    }

    for line in [
        "12Mbit/s 40ms 2BDP fifo",
        "12Mbit/s 40ms fifo:",
        "12Mbit/s 40ms: hdlg newreno",
        "12Mbit/s 40ms: newreno; cubic@10s",
        "12Mbit/s 40ms: newreno@10s cubic",
        "12Mbit/s 40ms: newreno x2",
        "12Mbit/s 40ms: ecn newreno",
        "12Mbit/s fifo: newreno",
        "40ms fifo: newreno",
        "12Mbit/s 40ms 2BPD: newreno",
        "12Mbit/s 13Mbit/s 40ms: newreno",
        "12Mbit/s 40ms fifo codel: newreno",
        "12Mbit/s 40ms foo codel: newreno",
        "12Mbit/s 40ms fifo bar: newreno",
        "12Mbit/s 40ms: newreno ecm",
        "12Mbit/s 40ms ffo: newreno",
        "12 MBps 40ms: newreno",
        "12Mbit/s 40ms freebsd11: newreno",
        "12Mbit/s 40ms: newreno, ,newreno",
        "12Mbit/s 40ms: newreno@",
        "12Mbit/s 40ms: newreno@10",
        "12Mbit/s 40ms: newreno@20s-10s",
        "12Mbit/s 40ms: 0 newreno",
        "12Mbit/s 40ms: newreno: 2",
        "12Mbit/s 40ms: newreno@1s@2s",
        "12Mbit/s 40ms: 99999999999999999999 newreno",
        "12Mbit/s 40ms loss=1%: newreno",
        "rate = 12Mbit/s rtt = 40ms: newreno",
        "12Mbit/s 40ms mss=536B: newreno",
        "12Mbit/s 40ms: newreno\u{1b}[2J",
        "12\tMbit/s 40ms\t2\tBPD: newreno",
    ] {
        show(line, error_in("", line, &[]));
    }
    for (file, text) in [
        ("x.toml", "hello"),
        ("x.toml", "hello: world"),
        ("x.toml", "12Mbit/s 40ms fifo: newreno"),
        ("line.txt", "hello"),
        ("line.txt", "12Mbit/s 40ms fifo: newrneo\n"),
        ("x.toml", "a\nb: c"),
        ("<command line>", "a\nb: c"),
    ] {
        show(&format!("{file} with {text:?}"), error_in(file, text, &[]));
    }

    assert!(count >= 150, "{count} mistakes");
    insta::assert_snapshot!(table);
}
