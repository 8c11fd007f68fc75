//! Blocks of a pcapng file (draft-ietf-opsawg-pcapng): section, interface, names, packet. Little-endian.

use std::io::{Result, Write};

/// LINKTYPE_RAW: a packet begins with its IP header, of either version, so that its length is its size in the simulator.
pub const RAW_IP: u16 = 101;
/// LINKTYPE_IPV4. libpcap up to 1.10 refuses a second interface of raw IP, as it compares the file's number for it (101)
/// with its own (12); for IPv4 both are 228.
pub const IPV4: u16 = 228;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const NAMES: u32 = 4;
const PACKET: u32 = 6;

/// Options of any block.
const COMMENT: u16 = 1;
/// Of a section.
const USER_APPLICATION: u16 = 4;
/// Of an interface.
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TIMESTAMP_RESOLUTION: u16 = 9;
/// Of a packet.
const FLAGS: u16 = 2;

/// Which way a packet passed an interface: the low bits of the flags option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Into the host.
    In = 1,
    /// Out of it.
    Out = 2,
}

/// Writes blocks; the buffer is kept from one to the next.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    body: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a section.
    pub fn new(out: W, application: &str, comment: &str) -> Result<Self> {
        let mut writer = Writer { out, body: Vec::with_capacity(256) };
        writer.put(&0x1a2b_3c4d_u32.to_le_bytes());
        writer.put(&1_u16.to_le_bytes());
        writer.put(&0_u16.to_le_bytes());
        // Its length is not known beforehand.
        writer.put(&(-1_i64).to_le_bytes());
        writer.option(COMMENT, comment.as_bytes());
        writer.option(USER_APPLICATION, application.as_bytes());
        writer.end_of_options();
        writer.block(SECTION)?;
        Ok(writer)
    }

    /// Describes the next interface, with timestamps in nanoseconds.
    pub fn interface(&mut self, link_type: u16, name: &str, description: &str) -> Result<()> {
        self.put(&link_type.to_le_bytes());
        self.put(&[0; 2]);
        // No limit that a reader would have to know: how much of a packet is there, every packet says.
        self.put(&0_u32.to_le_bytes());
        self.option(IF_NAME, name.as_bytes());
        self.option(IF_DESCRIPTION, description.as_bytes());
        self.option(IF_TIMESTAMP_RESOLUTION, &[9]);
        self.end_of_options();
        self.block(INTERFACE)
    }

    /// Names for IPv4 addresses.
    pub fn names<'a>(&mut self, names: impl Iterator<Item = ([u8; 4], &'a str)>) -> Result<()> {
        for (address, name) in names {
            self.put(&1_u16.to_le_bytes());
            self.put(&(5 + name.len() as u16).to_le_bytes());
            self.put(&address);
            self.put(name.as_bytes());
            self.put(&[0]);
            self.pad();
        }
        self.put(&[0; 4]);
        self.block(NAMES)
    }

    /// A packet: its first bytes and its length on the wire.
    pub fn packet(
        &mut self,
        interface: u32,
        nanos: u64,
        bytes: &[u8],
        length: u32,
        way: Option<Direction>,
        comment: &str,
    ) -> Result<()> {
        self.put(&interface.to_le_bytes());
        self.put(&((nanos >> 32) as u32).to_le_bytes());
        self.put(&(nanos as u32).to_le_bytes());
        self.put(&(bytes.len() as u32).to_le_bytes());
        self.put(&length.to_le_bytes());
        self.put(bytes);
        self.pad();
        if let Some(way) = way {
            self.option(FLAGS, &(way as u32).to_le_bytes());
        }
        if !comment.is_empty() {
            self.option(COMMENT, comment.as_bytes());
        }
        if way.is_some() || !comment.is_empty() {
            self.end_of_options();
        }
        self.block(PACKET)
    }

    /// Gives back what was written to.
    pub fn finish(mut self) -> Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn put(&mut self, bytes: &[u8]) {
        self.body.extend_from_slice(bytes);
    }

    fn pad(&mut self) {
        self.body.resize(self.body.len().next_multiple_of(4), 0);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        let value = &value[..value.len().min(u16::MAX as usize)];
        self.put(&code.to_le_bytes());
        self.put(&(value.len() as u16).to_le_bytes());
        self.put(value);
        self.pad();
    }

    fn end_of_options(&mut self) {
        self.put(&[0; 4]);
    }

    fn block(&mut self, kind: u32) -> Result<()> {
        let length = (self.body.len() as u32 + 12).to_le_bytes();
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&length)?;
        self.out.write_all(&self.body)?;
        self.body.clear();
        self.out.write_all(&length)
    }
}
