//! The object of a descriptor of another process: its link under `/proc/PID/fd`, and for sockets
//! the tables of `/proc/PID/net`. Nothing is opened or inspected through the link, since that could
//! block like the program.

use super::parse;
use crate::local_sockets;
use model::recording::{Comm, Event, FileKind, Object};
use model::{Ns, Pid};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The shortest time between two readings of the socket tables, which are long on a busy server.
const SOCKET_TABLES_EVERY_NS: Ns = 100_000_000;

/// Sockets seen so far.
#[derive(Debug, Default)]
pub(super) struct Objects {
    sockets: HashMap<u64, Object>,
    /// Names of local sockets that were not asked for yet, as in `sockaddr_un`.
    names: HashMap<u64, Vec<u8>>,
    read_at: Option<Ns>,
    /// What is known since it was last asked for.
    news: Vec<Event>,
}

impl Objects {
    /// The object of descriptor `fd` of `pid`; `Unknown` where it is closed or may not be read.
    pub(super) fn of(&mut self, proc_root: &Path, pid: Pid, fd: u64, at: Ns) -> Object {
        // Descriptors are 32-bit numbers, whatever the upper half of the register holds.
        let link = proc_root.join(format!("{pid}/fd/{}", fd as u32));
        let Ok(target) = fs::read_link(link) else { return Object::Unknown };
        match named(target.as_os_str().as_bytes()) {
            LinkTarget::Object(object) => object,
            LinkTarget::Socket(inode) => self.socket(proc_root, pid, inode, at),
        }
    }

    fn socket(&mut self, proc_root: &Path, pid: Pid, inode: u64, at: Ns) -> Object {
        let fresh = self.read_at.is_some_and(|read| at.saturating_sub(read) < SOCKET_TABLES_EVERY_NS);
        if !self.sockets.contains_key(&inode) && !fresh {
            self.read_at = Some(at);
            self.read_tables(proc_root, pid);
            // One that is in no table stays unknown and does not cause another reading.
            self.sockets.entry(inode).or_insert(Object::OtherSocket { family: 0 });
        }
        // The table does not say which socket is the other end.
        let name = self.names.remove(&inode);
        self.news.extend(name.and_then(|own| local_sockets::event(inode, &own, b"")));
        self.sockets.get(&inode).cloned().unwrap_or(Object::OtherSocket { family: 0 })
    }

    fn read_tables(&mut self, proc_root: &Path, pid: Pid) {
        let table = |name| fs::read(proc_root.join(format!("{pid}/net/{name}"))).unwrap_or_default();
        for (name, protocol) in [("tcp", 6), ("tcp6", 6), ("udp", 17), ("udp6", 17)] {
            for (inode, ends) in parse::internet(&String::from_utf8_lossy(&table(name)), protocol) {
                self.sockets.insert(inode, Object::Net(ends));
            }
        }
        self.read_local(&table("unix"));
    }

    fn read_local(&mut self, table: &[u8]) {
        let mut listed = HashSet::new();
        for (ino, name) in parse::unix(table) {
            let is_new = self.sockets.insert(ino, Object::Unix { ino, peer: 0 }).is_none();
            if !listed.insert(ino) {
                // A line of the table can be part of a name. Which of two is one is not known.
                self.names.remove(&ino);
            } else if is_new && !name.is_empty() {
                self.names.insert(ino, in_address(name));
            }
        }
    }

    /// What became known since the last time.
    pub(super) fn take_news(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.news)
    }
}

/// A name of the table as it is in `sockaddr_un`.
fn in_address(name: &[u8]) -> Vec<u8> {
    let mut name = name.to_vec();
    // That of no path begins with a zero.
    if name[0] == b'@' {
        name[0] = 0;
    }
    name
}

/// The open pipes of a process, and whether for writing, from the mode of the link.
pub(super) fn pipes(proc_root: &Path, pid: Pid) -> Vec<(u64, bool)> {
    let Ok(entries) = fs::read_dir(proc_root.join(format!("{pid}/fd"))) else { return Vec::new() };
    let mut pipes: Vec<(u64, bool)> = entries
        .flatten()
        .filter_map(|entry| {
            let target = fs::read_link(entry.path()).ok()?;
            let inode = inode_in(target.as_os_str().as_bytes(), b"pipe:[")?;
            // Without following it; 0o200 is "opened for writing".
            let mode = fs::symlink_metadata(entry.path()).ok()?.permissions().mode();
            Some((inode, mode & 0o200 != 0))
        })
        .collect();
    pipes.sort_unstable();
    pipes.dedup();
    pipes
}

/// The object of the text of a link.
#[derive(Debug, PartialEq, Eq)]
enum LinkTarget {
    Object(Object),
    Socket(u64),
}

/// Reads the text of a link.
#[cfg(any(test, fuzzing))]
pub(super) fn link(target: &[u8]) {
    let _ = named(target);
}

fn named(target: &[u8]) -> LinkTarget {
    if let Some(inode) = inode_in(target, b"socket:[") {
        return LinkTarget::Socket(inode);
    }
    let file = |kind, ino, name: &[u8]| {
        let mut bytes = [0; 16];
        let len = name.len().min(15);
        bytes[..len].copy_from_slice(&name[..len]);
        LinkTarget::Object(Object::File { kind, dev: 0, ino, name: Comm(bytes) })
    };
    if let Some(inode) = inode_in(target, b"pipe:[") {
        return file(FileKind::Pipe, inode, b"pipe");
    }
    if let Some(name) = target.strip_prefix(b"anon_inode:") {
        return file(FileKind::of_anonymous(name), 0, name);
    }
    let last = target.rsplit(|byte| *byte == b'/').next().unwrap_or(target);
    let kind = match target.strip_prefix(b"/dev/") {
        Some(device) if device.starts_with(b"tty") || device.starts_with(b"pts/") || device == b"console" => {
            FileKind::Tty
        }
        // Shared memory consists of files of a filesystem; `Disk` means disks.
        Some(device) if device.starts_with(b"shm/") || is_disk(device) => FileKind::Disk,
        Some(_) => FileKind::Device,
        None if [b"/proc/".as_slice(), b"/sys/"].iter().any(|root| target.starts_with(root)) => {
            FileKind::Kernel
        }
        None => FileKind::Disk,
    };
    file(kind, 0, last)
}

/// Whether a name under `/dev` is a block device by the kernel's naming scheme.
fn is_disk(device: &[u8]) -> bool {
    [b"sd".as_slice(), b"vd", b"xvd", b"nvme", b"mmcblk", b"loop", b"dm-", b"md", b"mapper/"]
        .iter()
        .any(|prefix| device.starts_with(prefix))
}

fn inode_in(target: &[u8], prefix: &[u8]) -> Option<u64> {
    std::str::from_utf8(target.strip_prefix(prefix)?.strip_suffix(b"]")?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(target: &str) -> Option<(FileKind, u64, String)> {
        match named(target.as_bytes()) {
            LinkTarget::Object(Object::File { kind, ino, name, .. }) => Some((kind, ino, name.to_text())),
            _ => None,
        }
    }

    #[test]
    fn a_link_tells_what_is_open() {
        let cases = [
            ("pipe:[77]", FileKind::Pipe, 77, "pipe"),
            ("anon_inode:[eventpoll]", FileKind::Epoll, 0, "[eventpoll]"),
            ("anon_inode:inotify", FileKind::Anonymous, 0, "inotify"),
            ("/dev/pts/3", FileKind::Tty, 0, "3"),
            ("/dev/null", FileKind::Device, 0, "null"),
            ("/dev/vda1", FileKind::Disk, 0, "vda1"),
            ("/sys/fs/cgroup/a/cgroup.procs", FileKind::Kernel, 0, "cgroup.procs"),
            ("/home/a/data.bin (deleted)", FileKind::Disk, 0, "data.bin (delet"),
        ];
        for (target, expect, ino, name) in cases {
            assert_eq!(kind(target), Some((expect, ino, name.to_owned())), "{target}");
        }
        assert_eq!(named(b"socket:[9]"), LinkTarget::Socket(9));
    }

    #[test]
    fn our_own_pipe_is_seen_from_both_ends() {
        let (reader, writer) = std::io::pipe().unwrap();
        let found = pipes(Path::new("/proc"), std::process::id());
        let proc_fd = |fd: i32| fs::read_link(format!("/proc/self/fd/{fd}")).unwrap();
        use std::os::fd::AsRawFd;
        let target = proc_fd(reader.as_raw_fd());
        assert_eq!(target, proc_fd(writer.as_raw_fd()));
        let inode = inode_in(target.as_os_str().as_bytes(), b"pipe:[").unwrap();
        assert!(found.contains(&(inode, false)) && found.contains(&(inode, true)), "{found:?}");
    }

    #[test]
    fn the_server_of_a_local_socket_is_known_by_its_name() {
        use std::os::fd::AsRawFd;
        use std::os::unix::fs::MetadataExt;
        use std::os::unix::net::{UnixListener, UnixStream};
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a socket");
        let listener = UnixListener::bind(&path).unwrap();
        let client = UnixStream::connect(&path).unwrap();
        let (server, _) = listener.accept().unwrap();
        let (own, proc_root) = (std::process::id(), Path::new("/proc"));
        let mut objects = Objects::default();
        let inode = |fd: i32| fs::metadata(format!("/proc/self/fd/{fd}")).unwrap().ino();
        for (fd, serves) in [(server.as_raw_fd(), true), (client.as_raw_fd(), false)] {
            let ino = inode(fd);
            assert_eq!(objects.of(proc_root, own, fd as u64, 1), Object::Unix { ino, peer: 0 });
            let name = path.to_str().unwrap().to_owned();
            let expected = serves.then_some(Event::LocalSocket { ino, serves, name });
            assert_eq!(objects.take_news(), Vec::from_iter(expected));
        }
        objects.of(proc_root, own, server.as_raw_fd() as u64, 1);
        assert_eq!(objects.take_news(), [], "it is reported once");
    }

    #[test]
    fn a_line_that_a_name_made_names_no_socket() {
        let mut objects = Objects::default();
        objects.read_local(
            b"Num       RefCount Protocol Flags    Type St Inode Path\n\
              0: 2 0 10000 0001 01 5 /run/x\n\
              0: 2 0 10000 0001 01 6 /tmp/y\n0: 2 0 10000 0001 01 5 /run/z\n\
              0: 2 0 10000 0001 01 8 @bus\n",
        );
        let named = |ino| objects.names.get(&ino).map(Vec::as_slice);
        assert_eq!([5, 6, 8].map(named), [None, Some(&b"/tmp/y"[..]), Some(&b"\0bus"[..])]);
    }

    #[test]
    fn a_connected_socket_is_known_by_both_its_ends() {
        use std::net::{TcpListener, TcpStream};
        use std::os::fd::AsRawFd;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut objects = Objects::default();
        let fd = stream.as_raw_fd() as u64;
        let Object::Net(ends) = objects.of(Path::new("/proc"), std::process::id(), fd, 1) else {
            panic!("not a network socket");
        };
        assert_eq!(ends.local_port, stream.local_addr().unwrap().port());
        assert_eq!(ends.remote_port, listener.local_addr().unwrap().port());
    }
}
