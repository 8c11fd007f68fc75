//! The system calls that the standard library has not. The only module of this crate with `unsafe` in it: every call
//! here passes pointers to values that live until it returns, and what the kernel hands back becomes owned at once.
#![allow(unsafe_code)]

pub mod bpf;

use std::ffi::CString;
use std::fs::File;
use std::io::{Error, Result};
use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

fn done(result: libc::c_int) -> Result<libc::c_int> {
    if result < 0 { Err(Error::last_os_error()) } else { Ok(result) }
}

/// Gives this thread a network namespace of its own.
pub fn leave_network() -> Result<()> {
    done(unsafe { libc::unshare(libc::CLONE_NEWNET) }).map(drop)
}

/// Puts this thread into a network namespace.
pub fn enter_network(namespace: BorrowedFd<'_>) -> Result<()> {
    done(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
}

/// Makes the opened `/dev/net/tun` a device of this name in this thread's namespace: whole IP packets, one a read.
pub fn make_tun(file: &File, name: &str) -> Result<()> {
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    done(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) }).map(drop)
}

/// Real-time scheduling for this thread, before all that share its CPU.
pub fn go_first(priority: i32) -> Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    done(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) }).map(drop)
}

/// Keeps all memory of the process in RAM.
pub fn lock_memory() -> Result<()> {
    done(unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) }).map(drop)
}

/// Lets it go again.
pub fn unlock_memory() {
    unsafe { libc::munlockall() };
}

/// Wakes this thread when a timer says so, not up to 50 µs later; real-time threads have that anyway.
pub fn no_slack() {
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
}

/// Leaves signals to the process's first thread.
pub fn no_signals() {
    unsafe {
        let mut all: libc::sigset_t = zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
    }
}

/// What to wait for.
pub use libc::{POLLIN, POLLOUT, pollfd};

/// An entry for [`poll`].
pub fn waiting(file: &impl AsFd, events: i16) -> pollfd {
    pollfd { fd: file.as_fd().as_raw_fd(), events, revents: 0 }
}

/// Waits until a file is ready or the time is over; true if one is.
pub fn poll(files: &mut [pollfd], most: Duration) -> Result<bool> {
    let time = libc::timespec { tv_sec: most.as_secs() as libc::time_t, tv_nsec: most.subsec_nanos() as libc::c_long };
    let ready =
        unsafe { libc::ppoll(files.as_mut_ptr(), files.len() as libc::nfds_t, &raw const time, std::ptr::null()) };
    match done(ready) {
        Ok(n) => Ok(n > 0),
        Err(e) if e.kind() == std::io::ErrorKind::Interrupted => Ok(false),
        Err(e) => Err(e),
    }
}

/// A stream (TCP) or datagram (UDP) socket of IPv4 that does not block.
pub fn socket(stream: bool) -> Result<OwnedFd> {
    let kind = if stream { libc::SOCK_STREAM } else { libc::SOCK_DGRAM };
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    let fd = done(unsafe { libc::socket(libc::AF_INET, kind | flags, 0) })?;
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn address(to: std::net::SocketAddrV4) -> libc::sockaddr_in {
    let mut address: libc::sockaddr_in = unsafe { zeroed() };
    address.sin_family = libc::AF_INET as libc::sa_family_t;
    address.sin_port = to.port().to_be();
    address.sin_addr.s_addr = u32::from(*to.ip()).to_be();
    address
}

/// Binds a socket.
pub fn bind(socket: &OwnedFd, at: std::net::SocketAddrV4) -> Result<()> {
    let at = address(at);
    let length = size_of_val(&at) as libc::socklen_t;
    done(unsafe { libc::bind(socket.as_raw_fd(), (&raw const at).cast(), length) }).map(drop)
}

/// Begins to connect a socket.
pub fn connect(socket: &OwnedFd, to: std::net::SocketAddrV4) -> Result<()> {
    let to = address(to);
    let length = size_of_val(&to) as libc::socklen_t;
    match done(unsafe { libc::connect(socket.as_raw_fd(), (&raw const to).cast(), length) }) {
        Err(e) if e.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        other => other.map(drop),
    }
}

/// Lets clients connect to a socket: as many at a time as the system allows.
pub fn listen(socket: &OwnedFd) -> Result<()> {
    done(unsafe { libc::listen(socket.as_raw_fd(), i32::MAX) }).map(drop)
}

/// The next client of a listening socket, if one waits, and where it comes from.
pub fn accept(socket: &OwnedFd) -> Result<Option<(OwnedFd, SocketAddrV4)>> {
    let mut peer = address(std::net::SocketAddrV4::new(std::net::Ipv4Addr::UNSPECIFIED, 0));
    let mut length = size_of_val(&peer) as libc::socklen_t;
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    let fd = unsafe { libc::accept4(socket.as_raw_fd(), (&raw mut peer).cast(), &raw mut length, flags) };
    match done(fd) {
        Ok(fd) => {
            let from = SocketAddrV4::new(u32::from_be(peer.sin_addr.s_addr).into(), u16::from_be(peer.sin_port));
            Ok(Some((unsafe { OwnedFd::from_raw_fd(fd) }, from)))
        }
        Err(e) if matches!(e.raw_os_error(), Some(libc::EAGAIN | libc::ECONNABORTED)) => Ok(None),
        Err(e) => Err(e),
    }
}

/// The port that a socket was given.
pub fn local_port(socket: &OwnedFd) -> Result<u16> {
    let mut own = address(std::net::SocketAddrV4::new(std::net::Ipv4Addr::UNSPECIFIED, 0));
    let mut length = size_of_val(&own) as libc::socklen_t;
    done(unsafe { libc::getsockname(socket.as_raw_fd(), (&raw mut own).cast(), &raw mut length) })?;
    Ok(u16::from_be(own.sin_port))
}

/// Hands bytes to a connection.
pub fn write(socket: &OwnedFd, bytes: &[u8]) -> Result<usize> {
    // Not `write`: a peer that is gone must not end the process with a signal.
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    let n = unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
    if n < 0 { Err(Error::last_os_error()) } else { Ok(n as usize) }
}

/// Many files of which some are ready.
#[derive(Debug)]
pub struct Epoll(OwnedFd);

impl Epoll {
    /// None of them yet.
    pub fn new() -> Result<Self> {
        let fd = done(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        Ok(Epoll(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// One more, until it is closed, known by `token`. Of a connection every change is told once, of what listens
    /// that somebody waits.
    pub fn add(&self, file: &OwnedFd, token: u64, connection: bool) -> Result<()> {
        let changes = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;
        let events = if connection { changes } else { libc::EPOLLIN } as u32;
        let mut event = libc::epoll_event { events, u64: token };
        let (own, add) = (self.0.as_raw_fd(), libc::EPOLL_CTL_ADD);
        done(unsafe { libc::epoll_ctl(own, add, file.as_raw_fd(), &raw mut event) }).map(drop)
    }

    /// Waits until some are ready or the time is over, and gives their tokens.
    pub fn wait(&self, tokens: &mut Vec<u64>, time: Duration) -> Result<()> {
        tokens.clear();
        if self.look(tokens)? == 0 {
            // Epoll's own timeout is in milliseconds; poll's is not.
            poll(&mut [waiting(&self.0, POLLIN)], time)?;
            self.look(tokens)?;
        }
        Ok(())
    }

    fn look(&self, tokens: &mut Vec<u64>) -> Result<usize> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 256];
        let most = events.len() as libc::c_int;
        match done(unsafe { libc::epoll_wait(self.0.as_raw_fd(), events.as_mut_ptr(), most, 0) }) {
            Ok(n) => tokens.extend(events[..n as usize].iter().map(|e| e.u64)),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
        Ok(tokens.len())
    }
}

/// Sets an option that is a whole number.
pub fn set(socket: &impl AsFd, level: i32, option: i32, value: i32) -> Result<()> {
    let length = size_of::<i32>() as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    done(unsafe { libc::setsockopt(fd, level, option, (&raw const value).cast(), length) }).map(drop)
}

/// What an option is set to.
#[cfg(test)]
pub fn get(socket: &impl AsFd, level: i32, option: i32) -> Result<u64> {
    let mut value = [0; 8];
    let mut length = size_of_val(&value) as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    done(unsafe { libc::getsockopt(fd, level, option, (&raw mut value).cast(), &raw mut length) })?;
    let [a, b, c, d, ..] = value;
    Ok(if length == 4 { u32::from_ne_bytes([a, b, c, d]).into() } else { u64::from_ne_bytes(value) })
}

/// Limits the window that a socket offers. Its buffer no longer grows, since the limit would grow with it.
pub fn limit_window(socket: &impl AsFd, most: u64) -> Result<()> {
    // The buffer counts what packets take in memory, which may be some times what they carry.
    set(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, whole(most).saturating_mul(4))?;
    limit_window_again(socket, most)
}

/// The same for a socket that has been limited: Linux sets the limit anew when larger packets come than before
/// (`tcp_measure_rcv_mss`), so that it wants saying again after reading.
pub fn limit_window_again(socket: &impl AsFd, most: u64) -> Result<()> {
    set(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, whole(most))
}

fn whole(bytes: u64) -> i32 {
    bytes.min(i32::MAX as u64) as i32
}

/// Has a socket's pace limited to bytes per second; any limit but "none" makes TCP pace.
pub fn pace(socket: &impl AsFd, most: u64) -> Result<()> {
    let length = size_of::<u64>() as libc::socklen_t;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE);
    let fd = socket.as_fd().as_raw_fd();
    done(unsafe { libc::setsockopt(fd, level, option, (&raw const most).cast(), length) }).map(drop)
}

/// Chooses a socket's congestion control by its name in the kernel.
pub fn choose_congestion_control(socket: &impl AsFd, name: &str) -> Result<()> {
    let text = CString::new(name)?;
    let (level, option) = (libc::IPPROTO_TCP, libc::TCP_CONGESTION);
    let fd = socket.as_fd().as_raw_fd();
    let length = name.len() as libc::socklen_t;
    done(unsafe { libc::setsockopt(fd, level, option, text.as_ptr().cast(), length) }).map(drop)
}

/// Takes up to `most` bytes out of a socket without looking at them.
pub fn discard(socket: &impl AsFd, most: usize) -> Result<usize> {
    // MSG_TRUNC on a TCP socket drops the bytes where they are: a receiver that reads nothing need not copy.
    let fd = socket.as_fd().as_raw_fd();
    let n = unsafe { libc::recv(fd, std::ptr::null_mut(), most, libc::MSG_TRUNC | libc::MSG_DONTWAIT) };
    if n < 0 { Err(Error::last_os_error()) } else { Ok(n as usize) }
}

/// A datagram's length, what fits of it into `beginning`, and who sent it.
pub fn receive(socket: &UdpSocket, beginning: &mut [u8]) -> Result<(usize, SocketAddrV4)> {
    let mut peer: libc::sockaddr_in = unsafe { zeroed() };
    let mut length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    let (into, most) = (beginning.as_mut_ptr().cast(), beginning.len());
    let (to, of) = (std::ptr::from_mut(&mut peer).cast(), std::ptr::from_mut(&mut length));
    // MSG_TRUNC on a UDP socket gives the true length.
    let flags = libc::MSG_TRUNC | libc::MSG_DONTWAIT;
    let n = unsafe { libc::recvfrom(socket.as_raw_fd(), into, most, flags, to, of) };
    if n < 0 {
        return Err(Error::last_os_error());
    }
    let address = Ipv4Addr::from(u32::from_be(peer.sin_addr.s_addr));
    Ok((n as usize, SocketAddrV4::new(address, u16::from_be(peer.sin_port))))
}

/// The beginning of the kernel's `struct tcp_info` (include/uapi/linux/tcp.h, as of Linux 4.19).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct TcpInfo {
    pub state: u8,
    pub ca_state: u8,
    pub retransmits: u8,
    pub probes: u8,
    pub backoff: u8,
    pub options: u8,
    pub window_scales: u8,
    pub limits: u8,
    pub rto_us: u32,
    pub ato_us: u32,
    pub snd_mss: u32,
    pub rcv_mss: u32,
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    pub fackets: u32,
    pub last_data_sent: u32,
    pub last_ack_sent: u32,
    pub last_data_recv: u32,
    pub last_ack_recv: u32,
    pub pmtu: u32,
    pub rcv_ssthresh: u32,
    pub rtt_us: u32,
    pub rttvar_us: u32,
    pub snd_ssthresh: u32,
    pub snd_cwnd: u32,
    pub advmss: u32,
    pub reordering: u32,
    pub rcv_rtt_us: u32,
    pub rcv_space: u32,
    pub total_retrans: u32,
    pub pacing_rate: u64,
    pub max_pacing_rate: u64,
    pub bytes_acked: u64,
    pub bytes_received: u64,
    pub segs_out: u32,
    pub segs_in: u32,
    pub notsent_bytes: u32,
    pub min_rtt_us: u32,
    pub data_segs_in: u32,
    pub data_segs_out: u32,
    pub delivery_rate: u64,
}

/// What the kernel tells of a connection.
pub fn tcp_info(socket: &impl AsFd) -> Result<TcpInfo> {
    let mut info = TcpInfo::default();
    let mut length = size_of::<TcpInfo>() as libc::socklen_t;
    let (level, option) = (libc::IPPROTO_TCP, libc::TCP_INFO);
    let fd = socket.as_fd().as_raw_fd();
    done(unsafe { libc::getsockopt(fd, level, option, (&raw mut info).cast(), &raw mut length) })?;
    Ok(info)
}

/// A socket's pending error, taken.
pub fn pending_error(socket: &impl AsFd) -> Option<Error> {
    let mut code: i32 = 0;
    let mut length = size_of::<i32>() as libc::socklen_t;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_ERROR);
    let fd = socket.as_fd().as_raw_fd();
    match done(unsafe { libc::getsockopt(fd, level, option, (&raw mut code).cast(), &raw mut length) }) {
        Err(e) => Some(e),
        Ok(_) => (code != 0).then(|| Error::from_raw_os_error(code)),
    }
}

/// Ends a connection at once: what is under way is forgotten.
pub fn abort(socket: OwnedFd) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let length = size_of::<libc::linger>() as libc::socklen_t;
    let fd = socket.as_raw_fd();
    unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_LINGER, (&raw const linger).cast(), length) };
}

/// Sends no more on a connection.
pub fn no_more(socket: &OwnedFd) {
    unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_WR) };
}

/// Nanoseconds of the clock that the kernel's TCP counts in.
pub fn monotonic() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
