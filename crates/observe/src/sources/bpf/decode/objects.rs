//! What calls work on, from the kernel's structures for it.

use super::super::wire;
use model::recording::{Comm, FileKind, Object};

pub(super) fn object(of: &wire::Object) -> Object {
    let wire::Object { mode, dev, ino, magic, ends, .. } = *of;
    match wire::ObjectKind::from_wire(of.head.a) {
        Some(wire::ObjectKind::Net) => Object::Net(ends.into()),
        Some(wire::ObjectKind::Unix) => Object::Unix { ino, peer: of.peer },
        Some(wire::ObjectKind::OtherSocket) => Object::OtherSocket { family: ends.family },
        Some(wire::ObjectKind::File) | None => {
            let name = Comm(of.name);
            Object::File { kind: file_kind(mode, dev, magic, name), dev, ino, name }
        }
    }
}

/// The mode of a regular file.
pub(in super::super) const REGULAR: u16 = 0o100_000;

/// Filesystem magic numbers from `include/uapi/linux/magic.h` and the filesystems' own headers.
pub(in super::super) fn file_kind(mode: u16, dev: u32, magic: u64, name: Comm) -> FileKind {
    const REMOTE: [u64; 6] = [0x6969, 0xff53_4d42, 0xfe53_4d42, 0x517b, 0x0102_1997, 0x00c3_6400];
    const ANON_INODE: u64 = 0x0904_1934;
    // procfs, sysfs, cgroup v1 and v2, debugfs, tracefs, securityfs, configfs, bpffs, efivarfs.
    const KERNEL: [u64; 10] = [
        0x9fa0,
        0x6265_6572,
        0x0027_e0eb,
        0x6367_7270,
        0x6462_6720,
        0x7472_6163,
        0x7363_6673,
        0x6265_6570,
        0xcafe_4a11,
        0xde5e_81e4,
    ];
    match mode & 0o170_000 {
        0o010_000 => FileKind::Pipe,
        0o020_000 => match dev >> 20 {
            // Terminals: tty, ttyS and friends, pseudo terminals.
            4 | 5 | 136..=143 | 204 => FileKind::Tty,
            _ => FileKind::Device,
        },
        0o100_000 | 0o040_000 | 0o060_000 if REMOTE.contains(&magic) => FileKind::Remote,
        0o100_000 | 0o040_000 if KERNEL.contains(&magic) => FileKind::Kernel,
        _ if magic == ANON_INODE => FileKind::of_anonymous(name.to_text().as_bytes()),
        0o100_000 | 0o040_000 | 0o060_000 => FileKind::Disk,
        _ => FileKind::Anonymous,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_told_apart_by_what_waiting_on_them_means() {
        let none = Comm::default();
        assert_eq!(file_kind(0o010_600, 0, 0, none), FileKind::Pipe);
        assert_eq!(file_kind(0o020_600, 136 << 20, 0, none), FileKind::Tty);
        assert_eq!(file_kind(0o020_600, (1 << 20) | 3, 0, none), FileKind::Device);
        assert_eq!(file_kind(0o100_644, 0, 0xef53, none), FileKind::Disk);
        assert_eq!(file_kind(0o100_644, 0, 0x6969, none), FileKind::Remote);
        assert_eq!(file_kind(0o100_644, 0, 0x6367_7270, Comm::from("cgroup.procs")), FileKind::Kernel);
        assert_eq!(file_kind(0o600, 0, 0x0904_1934, Comm::from("[eventpoll]")), FileKind::Epoll);
    }
}
