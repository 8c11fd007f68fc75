//! What the congestion controls promise, in one program: the host of one flow is compiled once.

mod c_header;
mod every_algorithm;
mod gradient_family;
mod handshake;
mod host;
mod proofs;
mod script;
mod sizes;
