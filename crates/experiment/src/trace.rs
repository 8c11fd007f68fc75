//! Files beside the experiment. mahimahi traces: a line for each opportunity to deliver one packet of 1500 bytes, its
//! time in ms; and connection vectors.

use crate::limits::TRACE_MAX;
use crate::scenario::MTU;
use crate::tmix::Vectors;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use units::{Bytes, Instant, Rate};

/// Bytes that one opportunity of a trace delivers: a full packet (mahimahi's PACKET_SIZE is its MTU with the TUN header;
/// links here count IP).
pub const OPPORTUNITY: Bytes = MTU;

/// A trace file, read.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    pub times: Vec<Instant>,
    /// FNV-1a of the bytes, so that a case's hash changes with the file.
    pub hash: u64,
}

/// Traces read so far: a sweep reads each file once.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    base: PathBuf,
    read: Mutex<BTreeMap<String, Result<Arc<Trace>, String>>>,
    vectors: Mutex<BTreeMap<String, Result<Hashed, String>>>,
}

/// Connection vectors and the FNV-1a of their file.
type Hashed = (Arc<Vectors>, u64);

impl Clone for Traces {
    fn clone(&self) -> Self {
        Traces::new(self.base.clone())
    }
}

impl Traces {
    /// Files are looked for beside the experiment file.
    pub fn new(base: PathBuf) -> Self {
        Traces { base, read: Mutex::default(), vectors: Mutex::default() }
    }

    pub fn read(&self, file: &str) -> Result<Arc<Trace>, String> {
        // A panic while the lock was held cannot leave the map half written.
        let mut read = self.read.lock().unwrap_or_else(|e| e.into_inner());
        read.entry(file.to_string()).or_insert_with(|| load(&self.base.join(file), file).map(Arc::new)).clone()
    }

    /// Connection vectors.
    pub fn vectors(&self, file: &str) -> Result<Hashed, String> {
        let mut vectors = self.vectors.lock().unwrap_or_else(|e| e.into_inner());
        let read = || {
            let (text, hash) = text(&self.base.join(file), file, "file of connections")?;
            Ok((Arc::new(Vectors::read(&text, file)?), hash))
        };
        vectors.entry(file.to_string()).or_insert_with(read).clone()
    }
}

fn load(path: &Path, name: &str) -> Result<Trace, String> {
    let (text, hash) = text(path, name, "trace")?;
    parse(&text, name, hash)
}

/// A file's text and the FNV-1a of it; messages call it `what`.
fn text(path: &Path, name: &str, what: &str) -> Result<(String, u64), String> {
    let cannot = |e: std::io::Error| format!("cannot read the {what} {}: {e}", path.display());
    let meta = std::fs::metadata(path).map_err(cannot)?;
    if !meta.is_file() {
        return Err(format!("the {what} {} is not a file", path.display()));
    }
    if meta.len() > TRACE_MAX {
        return Err(format!("the {what} {name} has {} bytes; allowed are {TRACE_MAX}", meta.len()));
    }
    let bytes = std::fs::read(path).map_err(cannot)?;
    let hash = crate::hash::fnv(&bytes);
    Ok((String::from_utf8(bytes).map_err(|_| format!("the {what} {name} is not text"))?, hash))
}

fn parse(text: &str, name: &str, hash: u64) -> Result<Trace, String> {
    let mut times = Vec::new();
    let mut last = 0u64;
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let expected = "a time in whole ms for one packet of 1500 bytes, never less than the line before";
        let ms: u64 = line
            .parse()
            .ok()
            .filter(|ms| *ms >= last && *ms <= 1_000_000_000)
            .ok_or_else(|| format!("line {} of the trace {name}, {line:?}, is not {expected}", i + 1))?;
        last = ms;
        times.push(Instant::from_millis(ms));
    }
    if last == 0 {
        // The trace repeats after its last time: one that ends at 0 would deliver without end.
        return Err(format!("the trace {name} has no delivery after 0 ms"));
    }
    Ok(Trace { times, hash })
}

/// Over one repetition of delivery opportunities, which ends with the last.
pub fn mean_rate(times: &[Instant]) -> Rate {
    let period = times.last().map_or(units::Duration::ZERO, |t| t.since(Instant::ZERO));
    (OPPORTUNITY * times.len() as u64) / period
}

impl Trace {
    /// Its mean rate.
    pub fn rate(&self) -> Rate {
        mean_rate(&self.times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_a_millisecond_is_twelve_megabits() {
        let trace = parse("1\n2\n3\n4\n", "t", 0).unwrap();
        assert_eq!((trace.times.len(), trace.rate()), (4, Rate::from_mbps(12.0)));
    }

    #[test]
    fn traces_that_cannot_be_played_are_refused() {
        for (text, want) in [
            ("", "no delivery"),
            ("0\n0\n", "no delivery"),
            ("2\n1\n", "line 2"),
            ("x\n", "line 1"),
            ("1.5\n", "line 1"),
        ] {
            let e = parse(text, "t", 0).unwrap_err();
            assert!(e.contains(want), "{text:?}: {e}");
        }
    }
}
