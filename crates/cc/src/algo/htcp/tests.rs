use crate::testing::seconds_after_loss;
use params::Spec;

#[test]
fn both_references_follow_the_quadratic_growth() {
    // From 500: 10 rounds of one packet, then α of 1 + 10 t + t²/4 a round of a tenth of a second: its integral, 10(t + 5 t²
    // + t³/12), adds 61, 227 and 497 packets in the next seconds.
    let exact = [510, 571, 737, 1007];
    for spec in ["htcp", "htcp(reference=freebsd)"] {
        let seen = seconds_after_loss(spec, 1000, 4);
        let near = seen.iter().zip(exact).all(|(&w, exact)| w.abs_diff(exact) * 20 <= exact);
        assert!(near, "{spec}: {seen:?}");
    }
}

#[test]
fn settings_of_the_other_kernel_are_refused() {
    let told = |spec: &str| {
        let spec: Spec = spec.parse().unwrap();
        crate::find("htcp").unwrap().resolve(&spec).map_or_else(|e| std::format!("{e}"), |_| "".into())
    };
    assert!(told("htcp(adaptive_backoff=true)").contains("changes nothing without reference=freebsd"));
    assert!(
        told("htcp(reference=freebsd, bandwidth_switch=false)").contains("changes nothing without reference=linux")
    );
    for spec in ["htcp(bandwidth_switch=false)", "htcp(reference=freebsd, adaptive_backoff=true, rtt_scaling=true)"] {
        assert_eq!(told(spec), "", "{spec}");
    }
}
