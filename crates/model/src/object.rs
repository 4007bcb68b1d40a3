//! What a system call works on: a file, a socket, a futex.

use crate::thread::Comm;
use serde::{Deserialize, Serialize};

/// The object that a blocked call works on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Object {
    /// Could not be read from the call.
    Unknown,
    /// A file of a filesystem or a device.
    File {
        /// What kind.
        kind: FileKind,
        /// Device number of the filesystem (of the device itself for device nodes); 0 when only the
        /// path given to the call is known.
        dev: u32,
        /// Inode; where `dev` is 0, a number that stands for the path.
        ino: u64,
        /// Last part of its path.
        name: Comm,
    },
    /// A socket of an internet family.
    Net(SocketEnds),
    /// A Unix socket; `ino` identifies it, `peer` is the inode of its other end (0: unknown).
    Unix {
        /// This end.
        ino: u64,
        /// The other end.
        peer: u64,
    },
    /// A socket of another family.
    OtherSocket {
        /// `AF_…`.
        family: u16,
    },
    /// A futex.
    Futex {
        /// Its address in the caller.
        address: u64,
    },
    /// A page of a file, which a fault reads from its disk.
    Page {
        /// Device number of the filesystem.
        dev: u32,
        /// Inode.
        ino: u64,
    },
    /// A page on swap, which a fault reads.
    SwapPage,
}

/// Kinds of file. A wait means something different on each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FileKind {
    /// A regular file, directory or block device.
    Disk,
    /// The same on a network filesystem.
    Remote,
    /// A pipe or named pipe.
    Pipe,
    /// A terminal.
    Tty,
    /// Another character device.
    Device,
    /// An epoll instance.
    Epoll,
    /// An eventfd.
    EventFd,
    /// A timerfd.
    TimerFd,
    /// Any other anonymous inode; its name says which (`inotify`, `[signalfd]`, `[io_uring]`,
    /// `[pidfd]`).
    Anonymous,
    /// A file that the kernel makes up: of procfs, sysfs, a cgroup and the like.
    Kernel,
}

impl FileKind {
    /// The kind of an anonymous inode, by the name that the kernel gives its file: the argument of
    /// `anon_inode_getfile` (fs/eventpoll.c, fs/eventfd.c, fs/timerfd.c).
    pub fn of_anonymous(name: &[u8]) -> Self {
        match name {
            b"[eventpoll]" => FileKind::Epoll,
            b"[eventfd]" => FileKind::EventFd,
            b"[timerfd]" => FileKind::TimerFd,
            _ => FileKind::Anonymous,
        }
    }
}

/// Both ends of a connection, as the owner of one sees them: of an internet socket. IPv4 addresses
/// are mapped (`::ffff:a.b.c.d`).
///
/// Those of a local (UNIX) connection: its protocol is 0; the address of both is the inode of who
/// connected, in 8 bytes; an end that serves has port 1, and the other one 2.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SocketEnds {
    /// `IPPROTO_TCP` (6), `IPPROTO_UDP` (17), ….
    pub protocol: u8,
    /// This end's address.
    pub local: [u8; 16],
    /// This end's port.
    pub local_port: u16,
    /// The other end's address; zeros when not connected.
    pub remote: [u8; 16],
    /// The other end's port.
    pub remote_port: u16,
}

impl SocketEnds {
    /// The local socket that has this end. None of an internet socket.
    pub fn local_socket(self) -> Option<Object> {
        let client = u64::from_ne_bytes(*self.local.first_chunk()?);
        match (self.protocol, self.local_port) {
            (0, 1) => Some(Object::Unix { ino: 0, peer: client }),
            (0, 2) => Some(Object::Unix { ino: client, peer: 0 }),
            _ => None,
        }
    }

    /// The same connection as its other end sees it.
    pub fn reversed(self) -> Self {
        SocketEnds {
            protocol: self.protocol,
            local: self.remote,
            local_port: self.remote_port,
            remote: self.local,
            remote_port: self.local_port,
        }
    }
}
