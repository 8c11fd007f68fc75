//! The two sockets of a connection as its applications see them.

use crate::sys::{self, TcpInfo};
use experiment::tmix::{Adu, Side};
use sim::sessions::talk::Ends;
use std::io::{Error, ErrorKind};
use std::os::fd::OwnedFd;
use units::{Duration, Instant};

/// One end: its socket, what it has received and what it has yet to send.
#[derive(Debug, Default)]
pub struct Line {
    socket: Option<OwnedFd>,
    /// What it may offer at most, where the vector says so.
    window: Option<u64>,
    established: bool,
    received: u64,
    unsent: u64,
    ended: bool,
    closing: bool,
    shut: bool,
}

impl Line {
    /// A client's that waits for its server.
    pub fn connecting(socket: OwnedFd, window: Option<u64>) -> Self {
        Line { socket: Some(socket), window, ..Line::default() }
    }

    /// A server's.
    pub fn open(socket: OwnedFd, window: Option<u64>) -> Self {
        Line { socket: Some(socket), window, established: true, ..Line::default() }
    }

    /// It has sent all and heard all.
    pub fn is_over(&self) -> bool {
        self.ended && self.shut
    }

    /// What the kernel tells.
    pub fn info(&self) -> Option<TcpInfo> {
        sys::tcp_info(self.socket.as_ref()?).ok()
    }

    /// Forgets what is under way.
    pub fn abort(self) {
        if let Some(socket) = self.socket {
            sys::abort(socket);
        }
    }

    /// Takes what has come, sends what fits; how much came.
    pub fn stir(&mut self, zeros: &[u8]) -> Result<u64, Error> {
        let Some(socket) = &self.socket else { return Ok(0) };
        if !self.established {
            match sys::pending_error(socket) {
                Some(error) => return Err(error),
                None => self.established = true,
            }
        }
        let before = self.received;
        while !self.ended {
            match sys::discard(socket, 1 << 20) {
                Ok(0) => self.ended = true,
                Ok(n) => self.received += n as u64,
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                // Not yet connected, after all.
                Err(e) if e.raw_os_error() == Some(libc::ENOTCONN) => {
                    self.established = false;
                    break;
                }
                Err(e) => return Err(e),
            }
        }
        if let Some(most) = self.window.filter(|_| self.received > before) {
            sys::limit_window_again(socket, most)?;
        }
        self.send(zeros)?;
        Ok(self.received - before)
    }

    fn send(&mut self, zeros: &[u8]) -> Result<(), Error> {
        let Some(socket) = self.socket.as_ref().filter(|_| self.established) else { return Ok(()) };
        while self.unsent > 0 {
            let most = (self.unsent.min(zeros.len() as u64)) as usize;
            match sys::write(socket, &zeros[..most]) {
                Ok(n) => self.unsent -= n as u64,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(e) => return Err(e),
            }
        }
        if self.closing && !self.shut {
            sys::no_more(socket);
            self.shut = true;
        }
        Ok(())
    }
}

/// Both of them, and what came of letting the applications act.
pub struct Sockets<'a> {
    pub now: Instant,
    pub units: &'a [Adu],
    pub lines: &'a mut [Line; 2],
    pub zeros: &'a [u8],
    /// When to wake it, and for which side.
    pub wakes: &'a mut Vec<(Instant, bool)>,
    /// Replies that have come.
    pub exchanges: &'a mut Vec<(u64, Duration)>,
}

impl Ends for Sockets<'_> {
    fn now(&self) -> Instant {
        self.now
    }

    fn unit(&self, i: u32) -> Option<Adu> {
        self.units.get(i as usize).copied()
    }

    fn established(&mut self, side: Side) -> bool {
        self.lines[side as usize].established
    }

    fn received(&mut self, side: Side) -> u64 {
        self.lines[side as usize].received
    }

    fn peer_has_closed(&mut self, side: Side) -> bool {
        self.lines[side as usize].ended
    }

    fn write(&mut self, side: Side, bytes: u64) {
        self.lines[side as usize].unsent += bytes;
    }

    fn close(&mut self, side: Side) {
        self.lines[side as usize].closing = true;
    }

    fn go(&mut self, side: Side) {
        // An error comes again when the socket is looked at next.
        let _ = self.lines[side as usize].send(self.zeros);
    }

    fn wake(&mut self, after: Duration, lane: Side) {
        self.wakes.push((self.now + after, lane == Side::Acceptor));
    }

    fn exchanged(&mut self, bytes: u64, took: Duration) {
        self.exchanges.push((bytes, took));
    }
}
