//! What is kept of a run: tables by the simulator's recorder, packets by its capture, written by a thread of its own so
//! that no disk holds the driver up.

use crate::frames::Real;
use sim::capture::Capture;
use sim::probe::{Probe, Trace};
use sim::{Keep, Recorder};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use units::{Duration, Instant};

/// Recorder and capture in one.
#[derive(Debug)]
pub struct Watch {
    /// Tables.
    pub recorder: Recorder,
    /// Packets.
    pub capture: Option<Capture<Chunks, Real>>,
    keep: Keep,
}

impl Watch {
    /// Keeps this.
    pub fn new(keep: Keep, capture: Option<Capture<Chunks, Real>>) -> Self {
        Watch { recorder: Recorder::new(keep), capture, keep }
    }
}

impl Probe for Watch {
    fn see(&mut self, now: Instant, trace: Trace<'_>) {
        if let Some(capture) = &mut self.capture {
            capture.see(now, trace);
        }
        self.recorder.see(now, trace);
    }

    fn queues(&self) -> bool {
        self.keep.diftr
    }

    fn step(&self) -> Option<Duration> {
        self.keep.series
    }
}

const CHUNK: usize = 1 << 18;

/// A file that is written elsewhere.
#[derive(Debug)]
pub struct Chunks {
    chunk: Vec<u8>,
    to: Option<Sender<Vec<u8>>>,
    writer: Option<JoinHandle<io::Result<()>>>,
}

impl Chunks {
    /// Makes the file.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut file = File::create(path)?;
        let (to, from) = channel::<Vec<u8>>();
        let writer = std::thread::spawn(move || from.iter().try_for_each(|chunk| file.write_all(&chunk)));
        Ok(Chunks { chunk: Vec::with_capacity(CHUNK), to: Some(to), writer: Some(writer) })
    }

    fn hand_over(&mut self) -> io::Result<()> {
        let chunk = std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK));
        let sent = self.to.as_ref().is_some_and(|to| to.send(chunk).is_ok());
        if sent { Ok(()) } else { self.ended().and_then(|()| Err(io::Error::other("its writer has ended"))) }
    }

    /// What the writer came to: it alone knows what the disk said.
    fn ended(&mut self) -> io::Result<()> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        writer.join().unwrap_or_else(|_| Err(io::Error::other("the capture's writer panicked")))
    }

    /// Waits until all of it is in the file.
    pub fn close(mut self) -> io::Result<()> {
        self.hand_over()?;
        self.to = None;
        self.ended()
    }
}

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.chunk.len() + bytes.len() > CHUNK {
            self.hand_over()?;
        }
        self.chunk.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_disk_said_is_told_however_early_it_was() {
        let mut out = Chunks::create(Path::new("/dev/full")).unwrap();
        // The writer gives up with the first chunk; one of the next finds nobody.
        let refused = (0..1000).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            out.write_all(&[0; CHUNK]).err()
        });
        assert_eq!(refused.unwrap().kind(), io::ErrorKind::StorageFull);
        let mut short = Chunks::create(Path::new("/dev/full")).unwrap();
        short.write_all(&[0]).unwrap();
        assert_eq!(short.close().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
