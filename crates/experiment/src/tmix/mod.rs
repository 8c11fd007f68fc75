//! Tmix connection vectors: what the applications of a network did to TCP, connection by connection, so that it can be
//! done again over other paths and algorithms.
//!
//! A connection is a list of application data units (ADUs): who sends, how long after what, and how much. Sizes and
//! waits are the application's own, so that a slower network makes the exchange longer and not smaller: the replay is a
//! closed loop. Source: Weigle and others, "Tmix: A Tool for Generating Realistic TCP Application Workloads in ns-2"
//! (2006); the common TCP evaluation suite (draft-irtf-iccrg-tcpeval-01) for load, shuffling and prefill.

mod foreseen;
mod mix;
mod schedule;
mod text;

pub(crate) use foreseen::refuse_too_much;
pub use schedule::Replay;

use params::Value;
use std::sync::Arc;
use units::{Bytes, Duration};

const DAY: Duration = Duration::from_secs(86_400);

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Side {
    /// Opens the connection: a client.
    Initiator = 0,
    /// Is connected to: a server.
    Acceptor = 1,
}

impl Side {
    /// The other end.
    pub fn peer(self) -> Side {
        match self {
            Side::Initiator => Side::Acceptor,
            Side::Acceptor => Side::Initiator,
        }
    }
}

/// An application data unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adu {
    /// Who sends it.
    pub from: Side,
    /// How long after the unit before: after its last byte has come, if the peer sent that, else after it was written.
    /// In a concurrent connection only units of the same side count.
    pub wait: Duration,
    /// How much; nothing is the end of what this side sends.
    pub bytes: u64,
}

/// A connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Connection {
    /// When it is opened.
    pub start: Duration,
    /// Both ends send without waiting for each other.
    pub concurrent: bool,
    /// Largest payload of a segment, if it is known.
    pub mss: Option<u32>,
    /// Receive windows of initiator and acceptor, if they are known.
    pub windows: Option<[u32; 2]>,
    /// Its first unit.
    pub first: u32,
    /// How many units it has.
    pub count: u32,
}

/// Connections in order of their starts, and their units one after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vectors {
    /// The connections.
    pub connections: Vec<Connection>,
    /// The units of all of them.
    pub adus: Vec<Adu>,
}

impl Vectors {
    /// The units of a connection.
    pub fn units(&self, connection: &Connection) -> &[Adu] {
        &self.adus[connection.first as usize..][..connection.count as usize]
    }

    /// Reads connection vectors, v1 or v2; `name` is the file's, for errors.
    pub fn read(text: &str, name: &str) -> Result<Vectors, String> {
        text::read(text, name)
    }

    /// Writes them as v2.
    pub fn write(&self) -> String {
        text::write(self)
    }
}

/// Where the connections come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Made up, after published facts.
    Mix,
    /// A file.
    File(String),
}

impl Value for Origin {
    const KIND: &'static str = "mix, or a file of connection vectors";
    fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "" => None,
            "mix" => Some(Origin::Mix),
            file => Some(Origin::File(file.into())),
        }
    }
    fn show(&self) -> String {
        match self {
            Origin::Mix => "mix".into(),
            Origin::File(file) => file.clone(),
        }
    }
}

params::choice! {
    /// What bounds what the mix's connections have outstanding, besides congestion control.
    pub enum Window {
        /// Nothing of their own.
        Open = "open",
        /// The windows that connections of a campus had in 2005, from 6 to 64 kB.
        Campus = "campus",
    }
}

params::params! {
    /// Connections as recorded, or as the synthetic mix has them.
    pub struct TmixParams {
        /// A file of connection vectors (Tmix v1 or v2 text) beside the experiment file, or `mix`, the synthetic mix.
        file: Origin = Origin::Mix;
        /// Load offered to the slowest link of the route, as a part of its rate and by the vectors' own sizes: start
        /// times are stretched until it is this.
        load: f64 = 0.85, 0.0001 => 10.0;
        /// Number of flows that share `load` equally; this one offers load / parts.
        parts: u32 = 1, 1 => 10_000;
        /// Stretch start times by this instead of by `load`, which then says only how full a `prefill` is; zero: by `load`.
        scale: f64 = 0.0, 0.0 => 1e9;
        /// Start times are shuffled in bins of this, for an even load; zero: of the time the link takes for 500 Mbit.
        bin: Duration = Duration::ZERO, Duration::ZERO => DAY;
        /// Shuffle the bins (Fisher and Yates).
        shuffle: bool = true;
        /// Begin with connections that are open already: those that would have begun in this much time before the run
        /// and still be open start first, close together. Zero: none.
        prefill: Duration = Duration::ZERO, Duration::ZERO => DAY;
        /// Share of the connections with packets of 536 bytes, where vectors name no MSS.
        small: f64 = 0.1, 0.0 => 1.0;
        /// Connections keep to the receive windows that the vectors name.
        windows: bool = true;
        /// Units are sent as whole segments, as ns-2's one-way TCP sends them.
        whole: bool = false;
        /// Mix: median of what a small connection brings back (lognormal, σ 1.1).
        reply: Bytes = Bytes::new(900), Bytes::new(1) => Bytes::new(1_000_000_000);
        /// Mix: share of large connections.
        large: f64 = 0.07, 0.0 => 1.0;
        /// Mix: least of what a large one brings back (Pareto).
        least: Bytes = Bytes::new(8_000), Bytes::new(1) => Bytes::new(1_000_000_000);
        /// Mix: most of what a large one brings back.
        most: Bytes = Bytes::new(20_000_000), Bytes::new(1) => Bytes::new(1_000_000_000_000);
        /// Mix: shape of the large ones.
        alpha: f64 = 1.2, 0.1 => 10.0;
        /// Mix: median of a request (lognormal, σ 0.3).
        request: Bytes = Bytes::new(260), Bytes::new(1) => Bytes::new(1_000_000_000);
        /// Mix: mean number of exchanges of a connection (geometric).
        epochs: f64 = 1.5, 1.0 => 1000.0;
        /// Mix: median think time between exchanges (lognormal, σ 1.2).
        think: Duration = Duration::from_secs(1), Duration::ZERO => Duration::from_secs(3600);
        /// Mix: receive windows, which bound what is outstanding: none of the connections' own, or those that ns-2's
        /// example of a campus' vectors has.
        window: Window = Window::Open;
    }
    check |p| {
        if p.least > p.most {
            return Err(params::ParamError::Conflict("least must not be above most".into()));
        }
        Ok(())
    }
}

/// Settings that only the synthetic mix reads.
pub(crate) const OF_THE_MIX: [&str; 9] =
    ["reply", "large", "least", "most", "alpha", "request", "epochs", "think", "window"];

/// What a flow of this traffic plays.
#[derive(Clone, Debug, PartialEq)]
pub struct Tmix {
    /// The settings.
    pub params: TmixParams,
    /// The file's connections and the hash of its bytes; none for the mix.
    pub file: Option<(Arc<Vectors>, u64)>,
}
