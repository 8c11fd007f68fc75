//! Overrides that belong together, and the names that flows without one get.

use experiment::{Error, Experiment, parse};

fn good(text: &str) -> Experiment {
    parse(text, "").unwrap_or_else(|e| panic!("{e:#}"))
}

fn names(line: &str) -> Result<Vec<String>, Error> {
    let case = parse(line, "")?.case(0)?;
    Ok(case.scenario.flows.into_iter().map(|f| f.name).collect())
}

#[test]
fn overrides_complete_each_other() {
    let pair = [("path.reorder.delay", "5ms"), ("path.reorder.probability", "1%")];
    for order in [[0, 1], [1, 0]] {
        let mut e = good("10Mbit/s 40ms: cubic");
        e.set_all(order.map(|i| pair[i])).unwrap_or_else(|e| panic!("{e:#}"));
        assert!(e.case(0).unwrap().scenario.links[0].reorder.is_some());
    }
    let mut e = good("10Mbit/s 40ms: cubic");
    let error = e.set_all(pair[..1].iter().copied()).unwrap_err().to_string();
    assert!(error.contains("\"probability\" is missing"), "{error}");
    // What did not fit has changed nothing.
    assert!(e.case(0).unwrap().scenario.links[0].reorder.is_none());
    let error = e.set_all([("path.rtt", "20ms"), ("path.rate", "much")]).unwrap_err();
    assert_eq!(error.source_name(), "--set path.rate=much");
    assert_eq!(e.case(0).unwrap().scenario.flows[0].base_rtt, units::Duration::from_millis(40));
}

#[test]
fn the_same_control_twice_has_a_name_of_its_own() {
    for count in [1, 2, 64, 65, 100, 1000] {
        let all = names(&format!("100Mbit/s 40ms: {count} cubic, cubic@1s")).unwrap_or_else(|e| panic!("{e:#}"));
        assert_eq!(all.len(), count + 1);
        assert_eq!(all[count], format!("cubic-{}", count + 1));
    }
    // Its own twelve would be called cubic-2 to cubic-12.
    let path = "[path]\nrate = \"12 Mbit/s\"\nrtt = \"40 ms\"\n";
    let entry = |keys: &str| format!("[[flow]]\ncc = \"cubic\"\n{keys}\n");
    let text = format!("format = 1\n{path}{}{}", entry("name = \"cubic-7\""), entry("count = 12"));
    assert_eq!(names(&text).unwrap()[1..3], ["cubic-2", "cubic-2-2"]);
}

#[test]
fn a_count_makes_names_however_it_is_written() {
    let path = "[path]\nrate = \"12 Mbit/s\"\nrtt = \"40 ms\"\n";
    for count in ["3", "\"3\"", "3.0", "\"0_3\""] {
        let text =
            format!("{path}[[flow]]\ncc = \"cubic\"\ncount = {count}\n[[flow]]\ncc = \"cubic\"\nstart = \"5 s\"\n");
        assert_eq!(names(&text).unwrap_or_else(|e| panic!("{count}: {e:#}"))[3], "cubic-4");
    }
}

#[test]
fn names_that_meet_are_told_with_the_reason_and_the_cure() {
    let mut e = good("10Mbit/s 20ms 1BDP fifo: cubic, cubic@5s");
    e.set("flow.cubic.count", "3").unwrap();
    let told = e.case(0).unwrap_err().to_string();
    let of_three = "there are two flows called \"cubic-2\" (the 3 of \"cubic\" are called cubic, cubic-2, …)";
    assert!(told.ends_with(&format!("{of_three}: give \"cubic-2\" a name of its own")), "{told}");
    // As it says.
    let mut e = good("10Mbit/s 20ms 1BDP fifo: cubic, cubic@5s");
    e.set_all([("flow.cubic-2.name", "late"), ("flow.cubic.count", "3")]).unwrap();
    assert_eq!(e.case(0).unwrap().scenario.flows.len(), 4);
    let path = "[path]\nrate = \"12 Mbit/s\"\nrtt = \"40 ms\"\n";
    let entry = |keys: &str| format!("[[flow]]\ncc = \"cubic\"\n{keys}\n");
    for (one, other, says) in [
        ("name = \"a\"", "name = \"a\"", "two flows called \"a\": give one of them another name"),
        (
            "name = \"a-2\"",
            "name = \"a\"\ncount = 3",
            "two flows called \"a-2\" (the 3 of \"a\" are called a, a-2, …): give one of them another name",
        ),
        (
            "name = \"a\"\ncount = 3",
            "name = \"a-2\"",
            "two flows called \"a-2\" (the 3 of \"a\" are called a, a-2, …): give one of them another name",
        ),
    ] {
        let told = names(&format!("{path}{}{}", entry(one), entry(other))).unwrap_err().to_string();
        assert!(told.ends_with(says), "{told}");
    }
}
