//! Parameters and references that do not go together.

use crate::algo::cdg::Params;
use params::Params as _;

#[test]
fn what_the_reference_does_not_use_is_refused() {
    for (spec, told) in [
        ("cdg(reference=linux, g=5)", "g = 5 is not used with reference = linux; backoff_factor scales"),
        ("cdg(reference=linux, beta_delay=0.5)", "backoff_beta is what a delay back-off leaves there"),
        ("cdg(reference=linux, keep_two=true)", "keep_two = true is not used with reference = linux; leave it out"),
        ("cdg(hystart=1)", "hystart = 1 is not used with reference = freebsd or paper; leave it out"),
    ] {
        let e = Params::from_spec(&spec.parse().unwrap()).unwrap_err();
        assert!(alloc::format!("{e}").contains(told), "{e}");
    }
    for spec in ["cdg(reference=linux, consec_cong=3, hystart=1)", "cdg(reference=paper, g=5)", "cdg(keep_two=true)"] {
        Params::from_spec(&spec.parse().unwrap()).unwrap();
    }
}
