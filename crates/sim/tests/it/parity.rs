//! The digests of the shipped experiments, cut to thirty seconds: the same natively (here) and through Python
//! (`python/tests/test_parity.py`), on every machine. After a change that is meant to move them, raise `sim::MODEL`,
//! say in the CHANGELOG which figures moved, and run this test with `BLESS=1`.

use std::fmt::Write;
use std::path::Path;

#[test]
fn shipped_experiments_have_their_digests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let list = root.join("tests/parity/digests.txt");
    let mut ours = String::from(
        "# experiment, case, digest of repetition 0 with run.duration = 30 s and the whole run measured\n",
    );
    for file in [
        "quickstart.toml",
        "phase-effects.toml",
        "thesis/table-5.1.toml",
        "thesis/steps-10mbit-100ms.toml",
        "thesis/micro/cdg-cubic.toml",
        "l4s/dualpi2.toml",
    ] {
        let path = root.join("experiments").join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        let mut experiment = experiment::parse(&text, &path.to_string_lossy()).unwrap();
        for (key, value) in [("run.duration", "30 s"), ("run.measure", "[\"0 s\", \"30 s\"]")] {
            experiment.set(key, value).unwrap();
        }
        for case in experiment.cases().unwrap() {
            let (summary, ()) = sim::run(&case.scenario, (), sim::Options::default()).unwrap();
            writeln!(ours, "{file} {} {}", case.index, summary.digest).unwrap();
        }
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&list, &ours).unwrap();
    }
    let theirs = std::fs::read_to_string(&list).unwrap_or_default();
    assert_eq!(ours, theirs, "digests moved: see the head of this file");
}
