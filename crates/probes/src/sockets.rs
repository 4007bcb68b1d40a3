//! `TCP_NODELAY` on the sockets of a program that runs, as they come: its tree is looked through
//! again and again, and each new socket is borrowed for one call (pidfd_getfd(2)).
//!
//! A socket that is seen a little late loses nothing: the kernel sends at once what it held back.
//! Those that are accepted have the option from the one that listens.

use model::Pid;
use rustix::net::{AddressFamily, SocketType, ipproto, sockopt};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// How often it is looked, at most.
const LOOK_EACH: Duration = Duration::from_millis(1);

/// A look may take this part of the time.
const LOOK_PART: u32 = 10;

/// A watch on the sockets of a program.
#[derive(Debug)]
pub(crate) struct SocketWatch {
    root: Pid,
    /// Whether the option is set, or only looked for.
    sets: bool,
    processes: BTreeMap<Pid, Option<OwnedFd>>,
    /// By inode: there is no other with that number while it lives.
    known: BTreeSet<u64>,
    set: u64,
    refused: Option<String>,
}

impl SocketWatch {
    /// On a process and its descendants.
    pub(crate) fn on(root: Pid, sets: bool) -> Self {
        Self { root, sets, processes: BTreeMap::new(), known: BTreeSet::new(), set: 0, refused: None }
    }

    /// Looks once; gives for how long to wait before the next look.
    pub(crate) fn look(&mut self) -> Duration {
        let begun = Instant::now();
        let mut seen = BTreeSet::new();
        for pid in descendants(self.root) {
            self.look_at(pid, &mut seen);
        }
        // Numbers of sockets and processes that are gone are used again.
        self.known.retain(|inode| seen.contains(inode));
        self.processes.retain(|pid, _| fs::exists(format!("/proc/{pid}")).unwrap_or(false));
        LOOK_EACH.max(begun.elapsed() * LOOK_PART)
    }

    fn look_at(&mut self, pid: Pid, seen: &mut BTreeSet<u64>) {
        let Ok(listed) = fs::read_dir(format!("/proc/{pid}/fd")) else { return };
        for entry in listed.flatten() {
            let Ok(target) = fs::read_link(entry.path()) else { continue };
            let Some(inode) = target.to_str().and_then(inode) else { continue };
            seen.insert(inode);
            if self.known.insert(inode)
                && let Some(fd) = entry.file_name().to_str().and_then(|name| name.parse().ok())
                && let Err(why) = self.reach(pid, fd)
            {
                self.refused = Some(why);
            }
        }
    }

    /// Sets the option, if it is a TCP socket.
    fn reach(&mut self, pid: Pid, fd: i32) -> Result<(), String> {
        let process = self.processes.entry(pid).or_insert_with(|| {
            let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw)?;
            pidfd_open(pid, PidfdFlags::empty()).ok()
        });
        // It has ended.
        let Some(process) = process else { return Ok(()) };
        let socket = match pidfd_getfd(&*process, fd, PidfdGetfdFlags::empty()) {
            Ok(socket) => socket,
            Err(rustix::io::Errno::BADF | rustix::io::Errno::SRCH) => return Ok(()),
            Err(errno) => return Err(format!("cannot reach its sockets: {errno}")),
        };
        let is = |family| sockopt::socket_domain(&socket).is_ok_and(|domain| domain == family);
        let is_tcp = (is(AddressFamily::INET) || is(AddressFamily::INET6))
            && sockopt::socket_type(&socket).is_ok_and(|kind| kind == SocketType::STREAM)
            && sockopt::socket_protocol(&socket).is_ok_and(|protocol| protocol == Some(ipproto::TCP));
        if is_tcp {
            self.set += 1;
            if self.sets {
                sockopt::set_tcp_nodelay(&socket, true).map_err(|errno| format!("TCP_NODELAY: {errno}"))?;
            }
        }
        Ok(())
    }

    /// Why it was of no use, if it was.
    pub(crate) fn failed(&self) -> Option<String> {
        match &self.refused {
            Some(why) => Some(why.clone()),
            None if self.set == 0 => {
                Some("the program had no TCP socket that was open long enough".to_owned())
            }
            None => None,
        }
    }
}

/// The number of a socket, by what its descriptor links to.
fn inode(target: &str) -> Option<u64> {
    target.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// A process and all below it.
fn descendants(root: Pid) -> Vec<Pid> {
    let mut found = vec![root];
    let mut at = 0;
    while let Some(pid) = found.get(at).copied() {
        at += 1;
        for thread in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            found.extend(children.split_ascii_whitespace().filter_map(|pid| pid.parse::<Pid>().ok()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;
    use std::process::{Command, Stdio};

    #[test]
    fn a_descriptor_of_a_socket_links_to_its_number() {
        assert_eq!(inode("socket:[4711]"), Some(4711));
        assert_eq!(inode("/tmp/socket:[1]"), None);
        assert_eq!(inode("pipe:[7]"), None);
    }

    /// A grandchild asks its own socket whether it has the option.
    #[test]
    fn sockets_of_descendants_get_the_option_and_only_where_it_is_set() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let script = format!(
            "import socket, time\n\
             s = socket.create_connection(('127.0.0.1', {port}))\n\
             print('connected', flush=True)\n\
             input()\n\
             print(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), flush=True)\n"
        );
        for (sets, expected) in [(true, "1"), (false, "0")] {
            let mut child = Command::new("sh")
                .args(["-c", "python3 -c \"$1\"; :", "sh", &script])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            assert_eq!(lines.next().unwrap().unwrap(), "connected");
            let mut watch = SocketWatch::on(child.id(), sets);
            let wait = watch.look();
            assert!(wait >= LOOK_EACH && watch.failed().is_none(), "{:?}", watch.failed());
            std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"\n").unwrap();
            assert_eq!(lines.next().unwrap().unwrap(), expected);
            child.wait().unwrap();
        }
    }

    #[test]
    fn a_program_without_sockets_is_told() {
        let mut child = Command::new("sleep").arg("5").spawn().unwrap();
        let mut watch = SocketWatch::on(child.id(), true);
        watch.look();
        assert!(watch.failed().is_some_and(|why| why.contains("no TCP socket")));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
