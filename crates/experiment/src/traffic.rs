//! Kinds of traffic: the one table of them, and how a spec becomes one.

use crate::scenario::Traffic;
use crate::source::did_you_mean;
use crate::tmix::{OF_THE_MIX, Origin, Tmix, TmixParams};
use params::{Field, ParamError, Params, Spec};
use units::{Bytes, Duration, Rate};

/// A kind of traffic, for lists and documentation.
pub struct TrafficKind {
    /// The name users write.
    pub name: &'static str,
    /// What it sends.
    pub doc: &'static str,
    /// What users may set.
    pub fields: fn() -> Vec<Field>,
    /// It is UDP and takes no congestion control.
    pub udp: bool,
    read: fn(&Spec) -> Result<Traffic, ParamError>,
}

const RATE_MAX: Rate = crate::limits::RATE_MAX;
/// The largest UDP datagram of IPv4.
const DATAGRAM_MAX: Bytes = Bytes::new(65_535);
/// IPv4 and UDP headers, and so the smallest datagram.
pub const DATAGRAM_HEADER: Bytes = Bytes::new(28);
const HOUR: Duration = Duration::from_secs(3600);

params::params! {
    /// A stream without end.
    pub struct Bulk {
        /// Size of the first write, which leaves in a segment of its own before the rest is written: iperf 2 opens with a
        /// header of 24 bytes. Zero: there is none.
        header: Bytes = Bytes::ZERO, Bytes::ZERO => Bytes::new(65_535);
    }
}

params::params! {
    /// A file.
    pub struct FileOf {
        /// Its size.
        size: Bytes = Bytes::new(100_000), Bytes::new(1) => Bytes::new(1_000_000_000_000_000);
    }
}

params::params! {
    /// Datagrams at a constant rate.
    pub struct Cbr {
        /// Rate at the IP layer.
        rate: Rate = Rate::from_bps(1_000_000), Rate::from_bps(1) => RATE_MAX;
        /// Size of a datagram at the IP layer.
        size: Bytes = Bytes::new(1000), DATAGRAM_HEADER => DATAGRAM_MAX;
        /// Mean length of a talk spurt (exponential); zero: always on.
        on: Duration = Duration::ZERO, Duration::ZERO => HOUR;
        /// Mean length of a silence (exponential).
        off: Duration = Duration::ZERO, Duration::ZERO => HOUR;
    }
    check |p| {
        if p.on.is_zero() == p.off.is_zero() {
            Ok(())
        } else {
            Err(ParamError::Conflict("on and off go together: set both, or neither for a flow that is always on".into()))
        }
    }
}

params::params! {
    /// G.711 over RTP (RFC 3551): 160 bytes of speech every 20 ms, and 40 bytes of IP, UDP and RTP headers.
    pub struct Voip {
        /// Rate at the IP layer.
        rate: Rate = Rate::from_bps(80_000), Rate::from_bps(1) => RATE_MAX;
        /// Size of a packet at the IP layer.
        size: Bytes = Bytes::new(200), DATAGRAM_HEADER => DATAGRAM_MAX;
        /// Mean talk spurt; zero: no silence suppression. ITU-T P.59 has 1.004 s.
        on: Duration = Duration::ZERO, Duration::ZERO => HOUR;
        /// Mean silence. ITU-T P.59 has 1.587 s.
        off: Duration = Duration::ZERO, Duration::ZERO => HOUR;
    }
}

params::params! {
    /// Commands of a first-person shooter's client: 50 packets a second of 100 bytes. Round figures for what published
    /// traffic models of Quake III and its kin have (a packet every 10 to 40 ms, 50 to 100 bytes).
    pub struct Game {
        /// Rate at the IP layer.
        rate: Rate = Rate::from_bps(40_000), Rate::from_bps(1) => RATE_MAX;
        /// Size of a packet at the IP layer.
        size: Bytes = Bytes::new(100), DATAGRAM_HEADER => DATAGRAM_MAX;
    }
}

params::params! {
    /// Bulk in bursts, 0.5 s each way as ns-2's exponential source has by default.
    pub struct OnOff {
        /// Mean on period (exponential).
        on: Duration = Duration::from_millis(500), Duration::from_micros(1) => HOUR;
        /// Mean off period (exponential).
        off: Duration = Duration::from_millis(500), Duration::from_micros(1) => HOUR;
        /// Rate of the application while on; zero: as fast as the window allows. Each on period begins with a whole segment, however short it is.
        rate: Rate = Rate::ZERO, Rate::ZERO => RATE_MAX;
    }
}

params::params! {
    /// Pages with think times. The size is the main object's of the HTTP model of 3GPP TR 25.892 (lognormal, μ = 8.35,
    /// σ = 1.37); its reading time of 30 s is cut to 5 s so that a run of a minute holds a dozen pages.
    pub struct Web {
        /// Median size (lognormal).
        size: Bytes = Bytes::new(4230), Bytes::new(1) => Bytes::new(1_000_000_000_000);
        /// σ of the logarithm of the size.
        sigma: f64 = 1.37, 0.0 => 5.0;
        /// Mean think time between pages (exponential).
        think: Duration = Duration::from_secs(5), Duration::ZERO => HOUR;
    }
}

params::params! {
    /// A video in chunks. TEACUP's defaults: 500 kbit/s, a chunk of five seconds every five seconds.
    pub struct Dash {
        /// Rate of the video.
        rate: Rate = Rate::from_bps(500_000), Rate::from_bps(1) => RATE_MAX;
        /// Length of a chunk, and time between two.
        cycle: Duration = Duration::from_secs(5), Duration::from_millis(1) => HOUR;
    }
}

fn cbr(rate: Rate, size: Bytes, on: Duration, off: Duration) -> Traffic {
    Traffic::Cbr { rate, size, on, off }
}

/// Refuses settings that would say nothing.
fn tmix(spec: &Spec) -> Result<Traffic, ParamError> {
    let params = TmixParams::from_spec(spec)?;
    let given = |key: &str| spec.get(key).is_some();
    let mut vain = OF_THE_MIX.iter().filter(|key| params.file != Origin::Mix && given(key));
    let message = if params.scale > 0.0 && given("load") && params.prefill.is_zero() {
        "scale says how start times are stretched, so that load says nothing without a prefill: leave one of the two out"
            .into()
    } else if let Some(key) = vain.next() {
        format!(
            "{key} is a setting of the synthetic mix, and file names connections in place of it: leave one of the two out"
        )
    } else if !params.shuffle && given("bin") {
        "bin is the length of what is shuffled, and shuffle=false: leave one of the two out".into()
    } else {
        return Ok(Traffic::Tmix(Box::new(Tmix { params, file: None })));
    };
    Err(ParamError::Conflict(message))
}

/// Every kind of traffic.
pub static TRAFFIC: &[TrafficKind] = &[
    TrafficKind {
        name: "bulk",
        doc: "As much as the window allows.",
        fields: Bulk::fields,
        udp: false,
        read: |spec| Bulk::from_spec(spec).map(|p| Traffic::Bulk { header: p.header }),
    },
    TrafficKind {
        name: "bytes",
        doc: "A file of this size, then the end of the connection.",
        fields: FileOf::fields,
        udp: false,
        read: |spec| FileOf::from_spec(spec).map(|p| Traffic::Bytes(p.size)),
    },
    TrafficKind {
        name: "cbr",
        doc: "UDP at a constant rate, or in talk spurts.",
        fields: Cbr::fields,
        udp: true,
        read: |spec| Cbr::from_spec(spec).map(|p| cbr(p.rate, p.size, p.on, p.off)),
    },
    TrafficKind {
        name: "dash",
        doc: "A video in chunks over one connection: each is asked for when its turn has come and the one before is there.",
        fields: Dash::fields,
        udp: false,
        read: |spec| {
            let p = Dash::from_spec(spec)?;
            let bytes = p.rate.bytes_per_sec() * p.cycle.as_secs_f64();
            Ok(Traffic::Dash { chunk: Bytes::new((bytes as u64).max(1)), cycle: p.cycle })
        },
    },
    TrafficKind {
        name: "game",
        doc: "UDP: 50 packets a second of 100 bytes, a game's client.",
        fields: Game::fields,
        udp: true,
        read: |spec| Game::from_spec(spec).map(|p| cbr(p.rate, p.size, Duration::ZERO, Duration::ZERO)),
    },
    TrafficKind {
        name: "voip",
        doc: "UDP: 50 packets a second of 200 bytes, a G.711 call.",
        fields: Voip::fields,
        udp: true,
        read: |spec| {
            let p = Voip::from_spec(spec)?;
            let pair = Cbr { rate: p.rate, size: p.size, on: p.on, off: p.off };
            pair.check().map(|()| cbr(p.rate, p.size, p.on, p.off))
        },
    },
    TrafficKind {
        name: "onoff",
        doc: "Bulk in on and off periods over one connection.",
        fields: OnOff::fields,
        udp: false,
        read: |spec| {
            let p = OnOff::from_spec(spec)?;
            Ok(Traffic::OnOff { on: p.on, off: p.off, rate: (p.rate != Rate::ZERO).then_some(p.rate) })
        },
    },
    TrafficKind {
        name: "tmix",
        doc: "Thousands of connections, each a client's requests and a server's replies with think times between: from a \
              file of connection vectors, or made up after published facts. The receiver of the flow's data is the client.",
        fields: TmixParams::fields,
        udp: false,
        read: tmix,
    },
    TrafficKind {
        name: "web",
        doc: "Pages of random size with think times between, over one connection.",
        fields: Web::fields,
        udp: false,
        read: |spec| Web::from_spec(spec).map(|p| Traffic::Web { size: p.size, sigma: p.sigma, think: p.think }),
    },
];

/// The kind a spec names.
pub(crate) fn find(spec: &Spec) -> Result<&'static TrafficKind, String> {
    TRAFFIC.iter().find(|kind| kind.name == spec.name).ok_or_else(|| {
        let names: Vec<&str> = TRAFFIC.iter().map(|kind| kind.name).collect();
        let near = did_you_mean(&spec.name, names.iter().copied());
        format!("there is no traffic {:?}{near} (there are {})", spec.name, names.join(", "))
    })
}

/// The traffic a spec names, checked.
pub(crate) fn read(spec: &Spec) -> Result<Traffic, String> {
    let kind = find(spec)?;
    (kind.read)(spec).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_what_they_say() {
        let read = |text: &str| super::read(&text.parse().unwrap());
        let Ok(Traffic::Cbr { rate, size, .. }) = read("voip") else { panic!("voip is not cbr") };
        assert_eq!(size / rate, Duration::from_millis(20));
        let Ok(Traffic::Cbr { rate, size, .. }) = read("game") else { panic!("game is not cbr") };
        assert_eq!(size / rate, Duration::from_millis(20));
        let Ok(Traffic::Dash { chunk, .. }) = read("dash(rate=1Mbit/s, cycle=4s)") else { panic!("no chunks") };
        assert_eq!(chunk, Bytes::new(500_000));
        let Ok(Traffic::Bytes(size)) = read("bytes") else { panic!("bytes has a default size") };
        assert_eq!(size, FileOf::default().size);
        let Ok(Traffic::Cbr { rate, .. }) = read("cbr") else { panic!("cbr has a default rate") };
        assert_eq!(rate, Cbr::default().rate);
        assert!(read("tmix(load=0)").unwrap_err().contains("allowed is"));
        assert!(read("tmix(load=0.5, scale=2)").unwrap_err().contains("leave one of the two out"));
        // What the run begins with is reckoned from the load in any case.
        for text in ["tmix(load=0.5, scale=2, prefill=5s)", "tmix(load=0.5, scale=0)", "tmix(scale=2)"] {
            assert!(read(text).is_ok(), "{text}");
        }
        assert!(read("tmix(least=1MB, most=1kB)").unwrap_err().contains("above most"));
        let of_the_mix: Vec<_> =
            TmixParams::fields().into_iter().filter(|field| field.doc.trim().starts_with("Mix:")).collect();
        assert_eq!(of_the_mix.iter().map(|field| field.name).collect::<Vec<_>>(), OF_THE_MIX, "as documented");
        for Field { name, default, .. } in of_the_mix {
            assert!(read(&format!("tmix({name}={default})")).is_ok(), "{name}");
            let vain = read(&format!("tmix(file=x, {name}={default})")).unwrap_err();
            assert!(vain.contains(&format!("{name} is a setting of the synthetic mix")), "{vain}");
        }
        assert!(read("tmix(bin=1s, shuffle=false)").unwrap_err().contains("bin is the length"));
        for text in ["tmix(file=x, bin=1s)", "tmix(file=mix, reply=1kB)", "tmix(file=x, shuffle=false, small=0)"] {
            assert!(read(text).is_ok(), "{text}");
        }
        assert!(read("voip(on=1s)").unwrap_err().contains("go together"));
    }
}
