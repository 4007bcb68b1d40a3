//! Ports on which processes listen that run already, from their `/proc/PID/net/tcp`: the kernel
//! half sees who begins to listen from then on.
//!
//! With them it is known of each connection which end serves, also where it was accepted before.

use crate::targets;
use aya::Ebpf;
use aya::maps::HashMap;
use model::recording::{Event, SocketEnds};
use model::{Ns, Pid};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;

/// `IPPROTO_TCP`.
const TCP: u8 = 6;
/// States in `/proc/net/tcp`.
const ESTABLISHED: &str = "01";
const CLOSE_WAIT: &str = "08";
const LISTENS: &str = "0A";

/// `struct listener` of `network.h`: a network namespace, 0 for any of the tree's, and a port.
type ListenerKey = [u64; 2];

/// A socket of a table.
#[derive(Debug, PartialEq)]
struct Row {
    ends: SocketEnds,
    listens: bool,
    inode: u64,
}

/// Tells the kernel half where these processes listen. Returns which end serves of their
/// connections that are open, where the ports alone would say otherwise; and which processes
/// listen.
pub(super) fn tell(ebpf: &mut Ebpf, pids: &BTreeSet<Pid>, at: Ns) -> (Vec<Event>, Vec<Pid>) {
    let mut by_namespace: BTreeMap<u64, Vec<Pid>> = BTreeMap::new();
    for pid in pids {
        if let Ok(namespace) = fs::metadata(format!("/proc/{pid}/ns/net")) {
            by_namespace.entry(namespace.ino()).or_default().push(*pid);
        }
    }
    let Some(Ok(mut listeners)) = ebpf.map_mut("listeners").map(HashMap::<_, ListenerKey, u32>::try_from)
    else {
        return (Vec::new(), Vec::new());
    };
    let (mut events, mut listen) = (Vec::new(), Vec::new());
    for pids in by_namespace.into_values() {
        // One of them may have ended.
        let of = |table| {
            let mut paths = pids.iter().map(|pid| format!("/proc/{pid}/net/{table}"));
            paths.find_map(|path| fs::read_to_string(path).ok()).unwrap_or_default()
        };
        let mut owned: Vec<Row> = ["tcp", "tcp6"].into_iter().flat_map(|table| rows(&of(table))).collect();
        if owned.is_empty() {
            continue;
        }
        // Also of others: what was accepted may have been passed on.
        let anyone: BTreeSet<u16> =
            owned.iter().filter(|row| row.listens).map(|row| row.ends.local_port).collect();
        let own: BTreeMap<u64, Pid> =
            pids.iter().flat_map(|pid| targets::sockets(*pid).map(|inode| (inode, *pid))).collect();
        owned.retain(|row| own.contains_key(&row.inode));
        listen.extend(owned.iter().filter(|row| row.listens).map(|row| own[&row.inode]));
        let ports: BTreeSet<u16> =
            owned.iter().filter(|row| row.listens).map(|row| row.ends.local_port).collect();
        for port in &ports {
            // One that has no room is as one that is not known.
            let _ = listeners.insert([0, u64::from(*port)], pids[0], 0);
        }
        let told = owned.into_iter().filter(|row| !row.listens).filter_map(|Row { ends, .. }| {
            let serves = anyone.contains(&ends.local_port);
            let known = serves || anyone.contains(&ends.remote_port);
            let differs = serves != (ends.local_port < ends.remote_port);
            (known && differs).then_some(Event::Established { at, ends, serves })
        });
        events.extend(told);
    }
    (events, listen)
}

/// The sockets of `/proc/net/tcp` or `tcp6` that listen or are connected.
fn rows(table: &str) -> Vec<Row> {
    table.lines().skip(1).filter_map(row).collect()
}

/// ` 0: 0100007F:1F90 0200007F:C350 01 … uid timeout inode …`
fn row(line: &str) -> Option<Row> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let ((local, local_port), (remote, remote_port)) = (end(fields.get(1)?)?, end(fields.get(2)?)?);
    let state = *fields.get(3)?;
    [LISTENS, ESTABLISHED, CLOSE_WAIT].contains(&state).then_some(())?;
    let ends = SocketEnds { protocol: TCP, local, local_port, remote, remote_port };
    Some(Row { ends, listens: state == LISTENS, inode: fields.get(9)?.parse().ok()? })
}

/// Words of 32 bits in the byte order of this machine; IPv4 becomes a mapped address.
fn end(text: &str) -> Option<([u8; 16], u16)> {
    let (words, port) = text.split_once(':')?;
    let word = |at: usize| Some(u32::from_str_radix(words.get(8 * at..8 * at + 8)?, 16).ok()?.to_ne_bytes());
    let mut address = [0; 16];
    match words.len() {
        8 => {
            address[10..12].fill(0xff);
            address[12..].copy_from_slice(&word(0)?);
        }
        32 => {
            for at in 0..4 {
                address[4 * at..4 * at + 4].copy_from_slice(&word(at)?);
            }
        }
        _ => return None,
    }
    Some((address, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn sockets_of_this_process_are_found_with_their_ends() {
        for (host, table) in [("127.0.0.1:0", "tcp"), ("[::1]:0", "tcp6")] {
            let listener = TcpListener::bind(host).unwrap();
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (port, own) = (listener.local_addr().unwrap().port(), client.local_addr().unwrap().port());
            let text = fs::read_to_string(format!("/proc/self/net/{table}")).unwrap();
            let found = rows(&text);
            let listens: Vec<&Row> =
                found.iter().filter(|row| row.listens && row.ends.local_port == port).collect();
            assert_eq!(listens.len(), 1);
            assert!(targets::sockets(std::process::id()).any(|inode| inode == listens[0].inode));
            let connected = found.iter().find(|row| row.ends.local_port == own && !row.listens).unwrap();
            assert_eq!(connected.ends.remote_port, port);
            let address: std::net::Ipv6Addr = connected.ends.remote.into();
            assert_eq!(address.to_canonical(), listener.local_addr().unwrap().ip(), "{table}");
        }
    }

    #[test]
    fn what_is_no_row_is_none() {
        for line in
            ["", " 0: 0100007F:1F90", " 0: 0100007F:1F90 X:1 0A 0 0 0 0 0 5", " 0: é:1 é:2 01 a b c d e 7"]
        {
            assert_eq!(row(line), None, "{line:?}");
        }
    }
}
