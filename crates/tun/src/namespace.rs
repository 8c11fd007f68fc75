//! Network namespaces without a name, and TUN devices in them.
//!
//! A namespace lives as long as this process holds it (or somebody runs in it), and a TUN device as long as its file is
//! open: however the process ends, the kernel removes both, and there is nothing to clean up.

use crate::sys;
use std::fs::{File, OpenOptions};
use std::io::{Error, Result};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

/// A network namespace.
#[derive(Clone, Debug)]
pub struct Namespace {
    file: Arc<File>,
}

impl Namespace {
    /// A new one, empty but for a loopback device that is down.
    pub fn new() -> Result<Self> {
        let file = on_thread(|| {
            sys::leave_network()?;
            File::open("/proc/thread-self/ns/net")
        })?;
        Ok(Namespace { file: Arc::new(file) })
    }

    /// Where other programs find it, as long as this process lives.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// Does something in it: sockets and devices made there stay there.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        on_thread(|| {
            sys::enter_network(self.file.as_fd())?;
            work()
        })
    }

    /// Puts the calling thread into it, for good.
    pub fn enter(&self) -> Result<()> {
        sys::enter_network(self.file.as_fd())
    }
}

/// A namespace belongs to a thread: one that changes it must not go on to do other things.
fn on_thread<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    std::thread::scope(|scope| {
        scope.spawn(work).join().unwrap_or_else(|_| Err(Error::other("a thread in a namespace panicked")))
    })
}

/// A TUN device: what its namespace sends to it is read, what is written arrives there.
#[derive(Clone, Debug)]
pub struct Device {
    file: Arc<File>,
    name: String,
    home: Namespace,
}

impl Device {
    /// Makes a device in a namespace; it is down and has no address.
    pub fn new(home: &Namespace, name: &str) -> Result<Self> {
        let file = home.within(|| {
            let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
            sys::make_tun(&file, name)?;
            Ok(file)
        })?;
        Ok(Device { file: Arc::new(file), name: name.to_string(), home: home.clone() })
    }

    /// Its file: one packet a read, one a write.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Packets that the kernel could not put into the device because nobody took them out in time.
    pub fn dropped(&self) -> Result<u64> {
        let all = self.home.within(|| std::fs::read_to_string("/proc/thread-self/net/dev"))?;
        // Eight figures of what is received, then those of what is sent: bytes, packets, errors, drops.
        let line = all.lines().find_map(|line| line.trim().strip_prefix(&self.name)?.strip_prefix(':'));
        let figure = line.and_then(|line| line.split_ascii_whitespace().nth(11)?.parse().ok());
        figure.ok_or_else(|| Error::other(format!("no statistics of device {}", self.name)))
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
