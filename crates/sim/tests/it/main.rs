//! What the simulator promises, in one program: as twenty, the same worlds would be compiled twenty times.

mod bpf;
mod capacity;
mod capture;
mod collapse;
mod common;
mod controls;
mod diftr;
mod digest;
mod dummynet;
mod events;
mod figures;
mod laws;
mod links;
mod models;
mod outside;
mod parity;
mod phase;
mod reading;
mod recovery;
mod starts;
mod tape;
mod tmix;
mod worlds;
