//! `sojourn._core`: conversions between Python and the simulator, nothing else.

mod capture;
mod convert;
mod custom;
mod run;
#[cfg(target_os = "linux")]
mod tun;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::capture::{capture, capture_points};
    #[pymodule_export]
    use crate::convert::{
        SpecError, addresses, algorithms, asked, causes, check, compare, diftr, evaluate, figures, limits, misdrawn,
        networks, quantity, queues, schema, slow_starts, stacks, swept, traffic, version, whole_numbers,
    };
    #[pymodule_export]
    use crate::run::{RunResult, StopFlag, Stopped, run};

    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::tun::{Asks, Device, Emulator, Finished, Namespace, Ring, linux_asks, linux_refuses, replay};

    #[allow(unused_imports)]
    use super::*;
}
