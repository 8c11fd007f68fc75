//! Queues: they own packets and ask a law.

pub mod fifo;
