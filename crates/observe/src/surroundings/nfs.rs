//! NFS mounts in the program's mount namespace, from `/proc/PID/mountstats`.

use super::kept::PolledFile;
use model::surroundings::{self, NfsOperation};
use model::{Ns, Pid};
use std::path::Path;

const MS_NS: u64 = 1_000_000;
/// Without an NFS mount, the interval at which new ones are searched for: reading all mounts is the
/// most expensive part of a snapshot.
const LOOK_FOR_EVERY_NS: Ns = 1_000_000_000;

/// The mounts, with the last reported counters of each.
#[derive(Debug)]
pub(super) struct Nfs {
    stats: PolledFile,
    told: Vec<surroundings::NfsCounters>,
    due: Ns,
}

impl Nfs {
    pub(super) fn new(proc: &Path, root: Pid) -> Self {
        Self { stats: PolledFile::open(proc.join(format!("{root}/mountstats"))), told: Vec::new(), due: 0 }
    }

    /// The mounts that were active since the last snapshot.
    pub(super) fn look(&mut self, now: Ns) -> Result<Vec<surroundings::NfsCounters>, String> {
        if now < self.due {
            return Ok(Vec::new());
        }
        let mounts = parse(&self.stats.text()?);
        self.due = if mounts.is_empty() { now + LOOK_FOR_EVERY_NS } else { now };
        let moved = mounts.iter().filter(|mount| !self.told.contains(mount)).cloned().collect();
        self.told = mounts;
        Ok(moved)
    }
}

/// All NFS mounts of a `mountstats`; other filesystems have one line each and no numbers.
pub(super) fn parse(text: &str) -> Vec<surroundings::NfsCounters> {
    let mut mounts: Vec<surroundings::NfsCounters> = Vec::new();
    let mut within = Section::Other;
    for line in text.lines() {
        if let Some(device) = line.strip_prefix("device ") {
            let mount = nfs_mount(device);
            within = if mount.is_some() { Section::Mount } else { Section::Other };
            mounts.extend(mount);
        } else if within == Section::Mount && line.trim() == "per-op statistics" {
            within = Section::Operations;
        } else if within == Section::Operations
            && let Some(mount) = mounts.last_mut()
        {
            mount.operations.extend(operation(line));
        }
    }
    mounts
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    /// Another filesystem.
    Other,
    /// An NFS mount, before its operations.
    Mount,
    /// Its operations.
    Operations,
}

/// `server:/export mounted on /mnt with fstype nfs4 statvers=1.1`.
fn nfs_mount(line: &str) -> Option<surroundings::NfsCounters> {
    let (device, rest) = line.split_once(" mounted on ")?;
    let (mount, kind) = rest.rsplit_once(" with fstype ")?;
    let kind = kind.split(' ').next()?;
    let nfs = matches!(kind, "nfs" | "nfs4");
    nfs.then(|| surroundings::NfsCounters {
        device: device.into(),
        mount: mount.into(),
        operations: Vec::new(),
    })
}

/// `READ: 12 12 0 1920 98304 1 30 33 0`: calls, transmissions, timeouts, bytes sent, bytes
/// received, queue time in ms, round-trip time in ms, total in ms; since Linux 4.20 errors.
/// net/sunrpc/stats.c. None for an operation that was never called.
fn operation(line: &str) -> Option<NfsOperation> {
    let (name, numbers) = line.trim().split_once(':')?;
    let numbers = super::kept::numbers(numbers.split_ascii_whitespace());
    let [calls, _, _, sent, received, _, _, total_ms] = *numbers.first_chunk()?;
    let total_ns = total_ms * MS_NS;
    (calls > 0).then(|| NfsOperation { name: name.to_owned(), calls, total_ns, bytes: (sent, received) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::tests::Kernel;

    /// A v3 mount over UDP of a kernel before 4.20, and a v4.2 one.
    const MOUNTS: &str = "\
device proc mounted on /proc with fstype proc
device /dev/sda1 mounted on / with fstype ext4
device filer:/vol/home mounted on /home with fstype nfs statvers=1.1
\topts:\trw,vers=3,rsize=32768,wsize=32768,namlen=255,hard,proto=udp,timeo=11,retrans=3,sec=sys
\tage:\t78112
\tcaps:\tcaps=0x3fe7,wtmult=4096,dtsize=32768,bsize=0,namlen=255
\tsec:\tflavor=1,pseudoflavor=1
\tevents:\t52 226 0 5 8 9 17 0 0 2 0 0 0 0 0 5 0 0 5 0 0 0 0 0 0 0 0
\tbytes:\t1024 2048 0 0 1024 2048 1 1
\tRPC iostats version: 1.0  p/v: 100003/3 (nfs)
\txprt:\tudp 881 0 4120 4119 1 9021 0
\tper-op statistics
\t        NULL: 0 0 0 0 0 0 0 0
\t     GETATTR: 5201 5203 2 624120 582512 12 8120 8201
\t        READ: 120 120 0 16320 3947520 3 912 931

device filer:/vol/space\\040here mounted on /srv/a\\040b with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,rsize=1048576,wsize=1048576,namlen=255,hard,proto=tcp,timeo=600,retrans=2,sec=krb5
\timpl_id:\tname='',domain='',date='0,0'
\tnfsv4:\tbm0=0xfdffbfff,bm1=0xf9be3e,bm2=0x68800,acl=0x3,sessions,pnfs=not configured,lease_time=90
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\txprt:\ttcp 0 0 1 0 0 221 221 0 221 0 2 0 0
\tper-op statistics
\t        NULL: 1 1 0 44 24 0 0 0 0
\t        READ: 44 44 0 9152 44048312 1 301 312 0
\t       WRITE: 0 0 0 0 0 0 0 0 0
\t      COMMIT: 2 2 0 416 208 0 44 44 1
device tmpfs mounted on /run with fstype tmpfs
";

    #[test]
    fn v3_and_v4_mounts_have_their_operations() {
        let mounts = parse(MOUNTS);
        let names: Vec<_> =
            mounts.iter().map(|mount| (mount.device.as_str(), mount.mount.as_str())).collect();
        assert_eq!(names, [("filer:/vol/home", "/home"), ("filer:/vol/space\\040here", "/srv/a\\040b")]);
        let operations = |mount: usize| -> Vec<_> {
            let operations = mounts[mount].operations.iter();
            operations.map(|one| (one.name.as_str(), one.calls, one.total_ns / MS_NS, one.bytes)).collect()
        };
        assert_eq!(
            operations(0),
            [("GETATTR", 5201, 8201, (624_120, 582_512)), ("READ", 120, 931, (16_320, 3_947_520))]
        );
        assert_eq!(
            operations(1),
            [("NULL", 1, 0, (44, 24)), ("READ", 44, 312, (9_152, 44_048_312)), ("COMMIT", 2, 44, (416, 208))]
        );
    }

    #[test]
    fn a_mount_is_told_when_it_was_used() {
        let kernel = Kernel::new(&[("proc/7/mountstats", MOUNTS)]);
        let mut nfs = Nfs::new(kernel.roots().proc, 7);
        assert_eq!(nfs.look(0).unwrap().len(), 2);
        assert_eq!(nfs.look(1).unwrap(), []);
        kernel.write("proc/7/mountstats", &MOUNTS.replace("READ: 44 44", "READ: 45 45"));
        assert_eq!(nfs.look(2).unwrap()[0].mount, "/srv/a\\040b");
    }

    #[test]
    fn without_nfs_the_mounts_are_read_once_a_second() {
        let kernel = Kernel::new(&[("proc/7/mountstats", "device proc mounted on /proc with fstype proc\n")]);
        let mut nfs = Nfs::new(kernel.roots().proc, 7);
        assert_eq!(nfs.look(5).unwrap(), []);
        kernel.write("proc/7/mountstats", MOUNTS);
        assert_eq!(nfs.look(6).unwrap(), []);
        assert_eq!(nfs.look(5 + LOOK_FOR_EVERY_NS).unwrap().len(), 2);
    }
}
