//! Which processes of this host serve the program, and what they used meanwhile.
//!
//! The addresses are those of connections that its threads wait on. Who listens there is looked up
//! with the next snapshot of the host, not while records are read: it takes a look at every
//! process's descriptors.

use crate::targets::{self, Process};
use host::Roots;
use model::network::{Endpoint, PeerProcess, PeerUse};
use model::recording::{Object, SocketEnds, SwitchOut, SwitchOutState};
use model::{Event, Ns, Pid};
use std::collections::BTreeMap;
use std::fs;

/// Addresses that are looked up: each costs a look at all processes.
const PEERS: usize = 8;
/// Processes of one peer that are named; a database has one for each connection.
const PROCESSES: usize = 256;
/// `TCP`, as in the header of an IP packet.
const TCP: u8 = 6;
/// `/proc/PID/stat` counts CPU time in these (`USER_HZ`).
const TICK_NS: Ns = 10_000_000;
/// For less time than this the ticks of CPU time say nothing.
const USE_NS_MIN: Ns = 10 * TICK_NS;

/// The peers of a program.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    /// By address and port: none where nobody is found there.
    found: BTreeMap<Endpoint, Option<Peer>>,
    /// Addresses that are still to be looked up.
    new: Vec<Endpoint>,
}

#[derive(Debug)]
struct Peer {
    /// The topmost process that listens.
    process: Process,
    since: Ns,
    /// What it and its descendants had used by then.
    had: PeerUse,
}

impl Peers {
    /// Takes note of the address that a thread sends to or waits for.
    pub(crate) fn note(&mut self, event: &Event) {
        let ends = match event {
            Event::Send { ends, .. } => Some(ends),
            Event::Switch { out: Some(SwitchOut { left: SwitchOutState::Blocked(wait), .. }), .. } => {
                match &wait.on {
                    Object::Net(ends) => Some(ends),
                    _ => None,
                }
            }
            _ => None,
        };
        let Some(end) = ends.and_then(of_this_host) else { return };
        if self.found.len() < PEERS && !self.found.contains_key(&end) {
            self.found.insert(end, None);
            self.new.push(end);
        }
    }

    /// Looks up who serves at new addresses. `own` are the program's processes: they are no peers.
    pub(crate) fn look(&mut self, roots: Roots<'_>, at: Ns, own: &[Pid]) {
        for end in std::mem::take(&mut self.new) {
            let targets::Listeners::These(listening) = targets::listening(end.port) else { continue };
            let Some(process) = targets::roots_of(&listening).first().map(|process| (*process).clone())
            else {
                continue;
            };
            if !own.contains(&process.pid) {
                let had = used(roots, &targets::trees(&[process.pid]));
                self.found.insert(end, Some(Peer { process, since: at, had }));
            }
        }
    }

    /// All of them, with what they used until now.
    pub(crate) fn end(&self, roots: Roots<'_>, at: Ns) -> Vec<PeerProcess> {
        let peer = |(end, peer): (&Endpoint, &Option<Peer>)| {
            let peer = peer.as_ref()?;
            let mut processes = targets::trees(&[peer.process.pid]);
            let has = used(roots, &processes);
            processes.truncate(PROCESSES);
            let ns = at.saturating_sub(peer.since);
            Some(PeerProcess {
                remote: end.to_string(),
                pid: peer.process.pid,
                name: peer.process.name.clone(),
                meanwhile: (ns >= USE_NS_MIN && !processes.is_empty()).then(|| PeerUse {
                    ns,
                    cpu_ns: has.cpu_ns.saturating_sub(peer.had.cpu_ns),
                    disk_bytes: has
                        .disk_bytes
                        .zip(peer.had.disk_bytes)
                        .map(|(has, had)| has.saturating_sub(had)),
                }),
                processes,
            })
        };
        self.found.iter().filter_map(peer).collect()
    }
}

/// The other end, where it is certainly a socket of this host: a loopback address, or the one that
/// this end has as well. Who asks has the higher port, as a rule: the kernel gave it.
fn of_this_host(ends: &SocketEnds) -> Option<Endpoint> {
    let address = std::net::Ipv6Addr::from(ends.remote);
    let loopback = address.is_loopback() || address.to_ipv4_mapped().is_some_and(|v4| v4.is_loopback());
    let is_here = ends.protocol == TCP
        && (1..ends.local_port).contains(&ends.remote_port)
        && (loopback || ends.remote == ends.local);
    is_here.then(|| Endpoint::new(ends.remote, ends.remote_port))
}

/// What processes have used since they began, with those of their children that have ended.
fn used(roots: Roots<'_>, processes: &[Pid]) -> PeerUse {
    let read = |pid: &Pid, file: &str| fs::read_to_string(roots.proc.join(format!("{pid}/{file}"))).ok();
    let cpu_ns = processes.iter().filter_map(|pid| cpu_ns(&read(pid, "stat")?)).sum();
    // Another user's is not readable: then the sum of the others says nothing.
    let disk_bytes = processes.iter().map(|pid| disk_bytes(&read(pid, "io")?)).sum();
    PeerUse { ns: 0, cpu_ns, disk_bytes }
}

/// CPU time of a process and of its children that were waited for, from its `stat`.
fn cpu_ns(stat: &str) -> Option<Ns> {
    // The name may contain anything; behind it the first field is the third of proc(5).
    let (_, rest) = stat.rsplit_once(')')?;
    let times = rest.split_whitespace().skip(11).take(4).map(|field| field.parse::<u64>().ok());
    Some(times.sum::<Option<u64>>()? * TICK_NS)
}

/// Bytes that a process had read from and written to disks, from its `io`.
fn disk_bytes(io: &str) -> Option<u64> {
    Some(host::fields::number(io, "read_bytes:")? + host::fields::number(io, "write_bytes:")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Call;
    use model::recording::{Calls, WaitContext};

    fn ends(remote: [u8; 4], port: u16) -> SocketEnds {
        let local = std::net::Ipv4Addr::new(127, 0, 0, 1).to_ipv6_mapped().octets();
        let remote = std::net::Ipv4Addr::from(remote).to_ipv6_mapped().octets();
        SocketEnds { protocol: TCP, local, local_port: 40_000, remote, remote_port: port }
    }

    fn waits_for(ends: SocketEnds) -> Event {
        let wait =
            WaitContext { call: Some(Call(0)), uninterruptible: false, io: false, on: Object::Net(ends) };
        let out = SwitchOut { tid: 1, left: SwitchOutState::Blocked(wait), calls: Calls::default() };
        Event::Switch { at: 0, cpu: 0, out: Some(out), into: None }
    }

    #[test]
    fn only_ends_on_this_host_are_looked_up() {
        assert_eq!(of_this_host(&ends([127, 0, 0, 1], 80)).map(|end| end.port), Some(80));
        assert_eq!(of_this_host(&ends([192, 0, 2, 1], 80)), None);
        let served = SocketEnds { local_port: 80, ..ends([127, 0, 0, 1], 40_000) };
        assert_eq!(of_this_host(&served), None, "the client of a server");
        assert_eq!(of_this_host(&SocketEnds { protocol: 17, ..ends([127, 0, 0, 1], 53) }), None);
        let own_address = ends([192, 0, 2, 1], 80);
        assert!(of_this_host(&SocketEnds { local: own_address.remote, ..own_address }).is_some());
    }

    #[test]
    fn a_listener_is_found_and_the_program_itself_is_no_peer() {
        let listener = std::process::Command::new("python3")
            .args(["-c", "import socket,time; s=socket.create_server(('127.0.0.1',0)); print(s.getsockname()[1],flush=True); time.sleep(60)"])
            .stdout(std::process::Stdio::piped())
            .spawn();
        let mut listener = listener.expect("the set-up installs python3");
        let mut port = String::new();
        std::io::BufRead::read_line(
            &mut std::io::BufReader::new(listener.stdout.take().expect("it is piped")),
            &mut port,
        )
        .expect("it says its port");
        let port: u16 = port.trim().parse().expect("a number");
        let look = |own: &[Pid]| {
            let mut peers = Peers::default();
            peers.note(&waits_for(SocketEnds { local_port: u16::MAX, ..ends([127, 0, 0, 1], port) }));
            peers.look(host::here(), 0, own);
            peers.end(host::here(), USE_NS_MIN)
        };
        let (found, of_own) = (look(&[]), look(&[listener.id()]));
        listener.kill().and_then(|()| listener.wait()).expect("it ends");
        let [peer] = &found[..] else { panic!("{found:?}") };
        assert_eq!(
            (peer.pid, &peer.remote, &peer.processes),
            (listener.id(), &format!("127.0.0.1:{port}"), &vec![listener.id()])
        );
        assert!(peer.meanwhile.is_some());
        assert!(of_own.is_empty());
    }

    #[test]
    fn cpu_time_is_that_of_the_process_and_of_its_children_that_ended() {
        let stat = "7 (a) b) S 1 7 7 0 -1 0 0 0 0 0 10 20 3 4 20 0 1 0 5 0";
        assert_eq!(cpu_ns(stat), Some(37 * TICK_NS));
        assert_eq!(cpu_ns("7 (a) S 1"), Some(0));
        assert_eq!(cpu_ns(""), None);
        assert_eq!(disk_bytes("rchar: 5\nread_bytes: 4096\nwrite_bytes: 1\n"), Some(4097));
    }
}
