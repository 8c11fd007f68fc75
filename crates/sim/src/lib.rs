//! A deterministic packet simulator.
