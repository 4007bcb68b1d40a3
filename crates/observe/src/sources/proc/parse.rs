//! Parses the files of `/proc` of a snapshot. Pure: text in, values out.

use model::recording::{Comm, SocketEnds};
use model::{Ns, Pid};
use std::net::{Ipv4Addr, Ipv6Addr};

/// From `/proc/PID/task/TID/stat`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) name: Comm,
    pub(super) state: u8,
    pub(super) parent: Pid,
    pub(super) minor_faults: u64,
    pub(super) major_faults: u64,
    /// In clock ticks, like the next.
    pub(super) user_ticks: u64,
    pub(super) kernel_ticks: u64,
    /// The number of threads of the process.
    pub(super) threads: u32,
    /// In clock ticks since boot; with the ID it distinguishes a thread from a later one.
    pub(super) started: u64,
}

pub(super) fn stat(text: &[u8]) -> Option<Stat> {
    // The name may contain anything, a closing parenthesis too; the fields after it may not.
    let open = text.iter().position(|byte| *byte == b'(')?;
    let close = text.iter().rposition(|byte| *byte == b')')?;
    let mut name = [0; 16];
    let shown = text.get(open + 1..close)?;
    let len = shown.len().min(15);
    name[..len].copy_from_slice(&shown[..len]);
    let rest = std::str::from_utf8(text.get(close + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let numbers = fields.take(19).map(|field| field.parse().unwrap_or(0)).collect::<Vec<u64>>();
    Some(Stat {
        name: Comm(name),
        state,
        parent: *numbers.first()? as Pid,
        minor_faults: *numbers.get(6)?,
        major_faults: *numbers.get(8)?,
        user_ticks: *numbers.get(10)?,
        kernel_ticks: *numbers.get(11)?,
        threads: *numbers.get(16)? as u32,
        started: *numbers.get(18)?,
    })
}

/// On a CPU and runnable, from `schedstat`.
pub(super) fn schedstat(text: &[u8]) -> Option<(Ns, Ns)> {
    let mut fields = std::str::from_utf8(text).ok()?.split_ascii_whitespace();
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// The content of `/proc/PID/syscall`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InCall {
    /// It is on a CPU or waits for one: the kernel does not show its call.
    Running,
    /// It sleeps outside any call: in a page fault.
    None,
    /// It never makes one: a thread of the kernel.
    OfKernel,
    /// It sleeps in this call, entered with this first argument.
    Call { number: u16, first: u64, compat: bool },
}

/// Reads `/proc/PID/syscall`. A stack below 4 GiB indicates a 32-bit call on x86-64; on other
/// architectures nothing does.
pub(super) fn syscall(text: &[u8]) -> Option<InCall> {
    let text = std::str::from_utf8(text).ok()?.trim_end();
    if text == "running" {
        return Some(InCall::Running);
    }
    let fields: Vec<&str> = text.split(' ').collect();
    let number: i64 = fields.first()?.parse().ok()?;
    if number < 0 {
        return Some(InCall::None);
    }
    let hex = |field: &&str| u64::from_str_radix(field.strip_prefix("0x")?, 16).ok();
    let stack = fields.get(7).and_then(hex)?;
    // A program has a stack, and code.
    if stack == 0 && fields.get(8).and_then(hex)? == 0 {
        return Some(InCall::OfKernel);
    }
    let compat = cfg!(target_arch = "x86_64") && stack < 1 << 32;
    Some(InCall::Call { number: u16::try_from(number).ok()?, first: fields.get(1).and_then(hex)?, compat })
}

/// Thread or process ids, from `children`.
pub(super) fn ids(text: &[u8]) -> impl Iterator<Item = Pid> {
    text.split(u8::is_ascii_whitespace).filter_map(|id| std::str::from_utf8(id).ok()?.parse().ok())
}

/// Sockets by inode, from `/proc/PID/net/{tcp,tcp6,udp,udp6}`.
pub(super) fn internet(table: &str, protocol: u8) -> impl Iterator<Item = (u64, SocketEnds)> {
    table.lines().skip(1).filter_map(move |line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (local, local_port) = address(fields.get(1)?)?;
        let (remote, remote_port) = address(fields.get(2)?)?;
        let ends = SocketEnds { protocol, local, local_port, remote, remote_port };
        Some((fields.get(9)?.parse().ok()?, ends))
    })
}

/// Unix sockets from `/proc/PID/net/unix`: the inode, and the name, of no bytes where it has none.
/// A name may have spaces and ends of lines in it.
pub(super) fn unix(table: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    table.split(|byte| *byte == b'\n').skip(1).filter_map(|mut line| {
        let mut inode: &[u8] = b"";
        for _ in 0..7 {
            line = line.trim_ascii_start();
            let end = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
            (inode, line) = line.split_at(end);
        }
        let name = line.strip_prefix(b" ").unwrap_or_default();
        Some((std::str::from_utf8(inode).ok()?.parse().ok()?, name))
    })
}

/// `0100007F:1F90`: words of the address in host byte order, and the port.
fn address(text: &str) -> Option<([u8; 16], u16)> {
    let (words, port) = text.split_once(':')?;
    let mut bytes = Vec::with_capacity(16);
    for at in (0..words.len()).step_by(8) {
        bytes.extend(u32::from_str_radix(words.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    }
    let address = match <[u8; 4]>::try_from(bytes.as_slice()) {
        Ok(short) => Ipv4Addr::from(short).to_ipv6_mapped(),
        Err(_) => Ipv6Addr::from(<[u8; 16]>::try_from(bytes.as_slice()).ok()?),
    };
    // An unconnected IPv4 socket has no peer: zeros, as for others.
    let unset = address.to_ipv4_mapped() == Some(Ipv4Addr::UNSPECIFIED);
    let address = if unset { [0; 16] } else { address.octets() };
    Some((address, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_look_like_the_rest_of_the_line() {
        let text = b"42 (a) R 1 (b) S 7 42 42 0 -1 4194304 122 9 3 9 12 34 9 9 20 0 5 0 109909 2613248 318\n";
        let stat = stat(text).unwrap();
        assert_eq!(stat.name, Comm::from("a) R 1 (b"));
        assert_eq!((stat.state, stat.parent, stat.threads, stat.started), (b'S', 7, 5, 109909));
        assert_eq!((stat.minor_faults, stat.major_faults), (122, 3));
        assert_eq!((stat.user_ticks, stat.kernel_ticks), (12, 34));
    }

    #[test]
    fn a_short_or_strange_file_is_none() {
        assert_eq!(stat(b"42 (a) S 7"), None);
        assert_eq!(stat(b")("), None);
        assert_eq!(schedstat(b""), None);
        assert_eq!(syscall(b""), None);
        assert_eq!(syscall(b"7 0x1"), None);
    }

    #[test]
    fn a_threads_call_is_told_from_none_and_from_running() {
        assert_eq!(syscall(b"running\n"), Some(InCall::Running));
        assert_eq!(syscall(b"-1 0x7ffe1abfb858 0x7f1c10b91503\n"), Some(InCall::None));
        assert_eq!(syscall(b"0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n"), Some(InCall::OfKernel));
        let call = b"230 0x3 0x0 0x7ffe1abfb870 0x7ffe1abfb8b0 0x0 0x0 0x7ffe1abfb858 0x7f1c10b91503\n";
        assert_eq!(syscall(call), Some(InCall::Call { number: 230, first: 3, compat: false }));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_low_stack_means_a_32_bit_call() {
        let call = b"162 0xffd3 0x0 0x0 0x0 0x0 0x0 0xffd3d2ac 0xf7f2a549\n";
        assert!(matches!(syscall(call), Some(InCall::Call { compat: true, .. })));
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn sockets_are_known_by_inode() {
        let tcp = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
                   0: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 20 4 30 10 -1\n   \
                   1: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 100 0 0 10 0\n";
        let local = Ipv4Addr::LOCALHOST.to_ipv6_mapped().octets();
        let connected =
            SocketEnds { protocol: 6, local, local_port: 8080, remote: local, remote_port: 50000 };
        let listening =
            SocketEnds { protocol: 6, local: [0; 16], local_port: 8080, remote: [0; 16], remote_port: 0 };
        assert_eq!(internet(tcp, 6).collect::<Vec<_>>(), [(4711, connected), (4712, listening)]);
        let tcp6 = "header\n   0: 00000000000000000000000001000000:0016 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 88 1\n";
        let (inode, ends) = internet(tcp6, 6).next().unwrap();
        assert_eq!((inode, ends.local, ends.local_port), (88, Ipv6Addr::LOCALHOST.octets(), 22));
        let unix_table =
            b"Num RefCount Protocol Flags Type St Inode Path\nffff: 00000003 00000000 00000000 0001 03 7799\n\
              ffff: 00000002 00000000 00010000 0001 01    88 /run/a b \xff\n88: not a line\n";
        let sockets: Vec<(u64, &[u8])> = unix(unix_table).collect();
        assert_eq!(sockets, [(7799, &b""[..]), (88, b"/run/a b \xff")]);
    }

    #[test]
    fn children_are_ids_between_spaces() {
        assert_eq!(ids(b"12 345 \n").collect::<Vec<_>>(), [12, 345]);
        assert_eq!(ids(b"").count(), 0);
    }
}
