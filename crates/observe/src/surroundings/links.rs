//! Network links of the program's network namespace, from `/proc/PID/net/dev`; their speed and
//! duplex from `/sys/class/net`.
//!
//! A virtual link (veth, tun, virtio) has no speed, and some drivers report a made-up one: veth 10
//! Gb/s, tun 10 Mb/s, whatever the traffic shaping. So a speed is used only for a hardware link,
//! for one on top of such a link (bond, VLAN), or if the user gave it.

use super::kept::{PolledFile, numbers};
use host::Roots;
use model::surroundings::LinkCounters;
use model::{Pid, Seen};
use rustc_hash::FxHashMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The capacity of a link, given by the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenLink {
    /// `eth0`.
    pub name: String,
    /// Bits per second.
    pub bits: u64,
    /// Half duplex.
    pub half_duplex: bool,
}

/// The links, with the last reported counters of each.
#[derive(Debug)]
pub(super) struct Links {
    /// `/proc/PID` of the program and of dwell itself.
    of_root: PathBuf,
    of_self: PathBuf,
    sys: PathBuf,
    given: Vec<GivenLink>,
    stats: PolledFile,
    namespace: u64,
    told: FxHashMap<String, LinkCounters>,
}

impl Links {
    pub(super) fn new(roots: Roots<'_>, root: Pid, given: &[GivenLink]) -> Self {
        let of_root = roots.proc.join(root.to_string());
        Self {
            stats: PolledFile::open(of_root.join("net/dev")),
            namespace: namespace(&of_root, "net").unwrap_or(0),
            of_self: roots.proc.join("self"),
            sys: roots.sys.to_owned(),
            given: given.to_vec(),
            told: FxHashMap::default(),
            of_root,
        }
    }

    /// The network namespace of the last snapshot.
    pub(super) fn namespace(&self) -> u64 {
        self.namespace
    }

    /// The links that were active since the last snapshot. The speed of a link is read at its
    /// second one: some drivers are slow, and the first snapshot is taken before the program's
    /// start.
    pub(super) fn look(&mut self) -> Result<Vec<LinkCounters>, String> {
        if let Some(now) = namespace(&self.of_root, "net")
            && now != self.namespace
        {
            // The program entered another namespace (`ip netns exec`, a container's start). Its
            // links are other ones there.
            self.namespace = now;
            self.stats = PolledFile::open(self.of_root.join("net/dev"));
            self.told.clear();
        }
        let links: Vec<LinkCounters> = self.stats.text()?.lines().filter_map(parse).collect();
        let mut moved = Vec::new();
        for mut link in links {
            match self.told.get(&link.name) {
                Some(told) if told.mtu_bytes == Seen::Absent => self.ask(&mut link),
                Some(told) => {
                    link.speed_bits.clone_from(&told.speed_bits);
                    link.full_duplex.clone_from(&told.full_duplex);
                    link.mtu_bytes.clone_from(&told.mtu_bytes);
                    link.speed_given = told.speed_given;
                }
                None => {}
            }
            if self.told.get(&link.name) != Some(&link) {
                self.told.insert(link.name.clone(), link.clone());
                moved.push(link);
            }
        }
        Ok(moved)
    }

    /// The link's speed, duplex and MTU.
    fn ask(&self, link: &mut LinkCounters) {
        let unknown =
            format!("the kernel knows no speed for a virtual link; give it with --link {}=10M", link.name);
        match self.class(&link.name) {
            Err(why) => {
                (link.speed_bits, link.full_duplex) = (Seen::unseen(&why), Seen::unseen(&why));
                link.mtu_bytes = Seen::unseen(why);
            }
            Ok(class) => {
                let mtu = number(&class.join("mtu"));
                link.mtu_bytes = mtu.map_or_else(|| Seen::unseen("no mtu in /sys/class/net"), Seen::Value);
                let speed: Option<u64> = number(&class.join("speed")).filter(|_| has_hardware(&class));
                // In Mb/s; `SPEED_UNKNOWN` is -1, on some kernels as an unsigned number.
                let speed = speed.filter(|mbits| (1..u64::from(u32::MAX >> 1)).contains(mbits));
                (link.speed_bits, link.full_duplex) = match speed {
                    _ if link.name == "lo" => (Seen::Absent, Seen::Absent),
                    Some(mbits) => (Seen::Value(mbits.saturating_mul(1_000_000)), duplex(&class)),
                    None => (Seen::unseen(&unknown), Seen::unseen(unknown)),
                };
            }
        }
        if let Some(given) = self.given.iter().find(|given| given.name == link.name) {
            link.speed_bits = Seen::Value(given.bits);
            link.full_duplex = Seen::Value(!given.half_duplex);
            link.speed_given = true;
        }
    }

    /// The link's directory in the `/sys` of the program's network namespace.
    fn class(&self, name: &str) -> Result<PathBuf, String> {
        let sys = if namespace(&self.of_self, "net").is_none_or(|own| own == self.namespace) {
            self.sys.clone()
        } else if namespace(&self.of_self, "mnt") != namespace(&self.of_root, "mnt") {
            // Programs that change both mount a `/sys` of the new namespace: `ip netns exec` and
            // container runtimes.
            self.of_root.join("root/sys")
        } else {
            return Err(format!(
                "the program is in another network namespace than /sys; give its speed with --link {name}=10M"
            ));
        };
        Ok(sys.join("class/net").join(name))
    }
}

/// One line of `/proc/net/dev`; none for the heading and for a link without traffic.
///
/// Received bytes, packets, errors, drops, fifo, frame, compressed, multicast; the same number
/// sent.
pub(super) fn parse(line: &str) -> Option<LinkCounters> {
    let (name, fields) = line.rsplit_once(':')?;
    let fields = numbers(fields.split_ascii_whitespace());
    let [received, packets_in, errors_in, drops_in, _, _, _, _, sent, packets_out, errors_out, drops_out] =
        *fields.first_chunk()?;
    (packets_in > 0 || packets_out > 0).then(|| LinkCounters {
        name: name.trim().to_owned(),
        bytes: (received, sent),
        packets: (packets_in, packets_out),
        // Drivers may count what is no count, with any bits set.
        errors: errors_in.saturating_add(errors_out),
        drops: drops_in.saturating_add(drops_out),
        speed_bits: Seen::unseen("the run ended before it was asked"),
        speed_given: false,
        full_duplex: Seen::unseen("the run ended before it was asked"),
        // Until it is read.
        mtu_bytes: Seen::Absent,
    })
}

/// Whether a link is hardware, or on top of one: then its directory is not that of virtual devices.
fn has_hardware(class: &Path) -> bool {
    let hardware =
        |class: &Path| fs::canonicalize(class).is_ok_and(|path| !path.iter().any(|part| part == "virtual"));
    let lower = |entry: fs::DirEntry| {
        entry.file_name().to_string_lossy().starts_with("lower_") && hardware(&entry.path())
    };
    hardware(class) || fs::read_dir(class).is_ok_and(|entries| entries.flatten().any(lower))
}

fn duplex(class: &Path) -> Seen<bool> {
    match short_text(&class.join("duplex")).as_deref().map(str::trim) {
        Some("full") => Seen::Value(true),
        Some("half") => Seen::Value(false),
        _ => Seen::unseen("the kernel does not know whether the link is full duplex"),
    }
}

fn number<T: std::str::FromStr>(path: &Path) -> Option<T> {
    short_text(path)?.trim().parse().ok()
}

/// A file of one line. It may be in the program's mount namespace, where anything could replace it:
/// if it is not a regular file it is not opened in blocking mode, and not read without a limit.
fn short_text(path: &Path) -> Option<String> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let mut text = String::new();
    if file.metadata().ok()?.is_file() {
        file.take(64).read_to_string(&mut text).ok()?;
    }
    Some(text)
}

/// The inode of a process's namespace of a kind: the number in `net:[4026531840]`.
fn namespace(process: &Path, kind: &str) -> Option<u64> {
    let link = fs::read_link(process.join("ns").join(kind)).ok()?;
    link.to_str()?.split_once('[')?.1.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::tests::Kernel;

    const DEV: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 8680     117    0    0    0     0          0         0     8680     117    0    0    0     0       0          0
  eth0:88726459    3051    1    2    0     0          0         0   169879    1680    3    4    0     0       0          0
 dummy0:    0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
bond0.12: 100     2    0    0    0     0          0         0      200       3    0    0    0     0       0          0
 veth9:   100     2    0    0    0     0          0         0      200       3    0    0    0     0       0          0
";

    fn kernel() -> Kernel {
        let kernel = Kernel::new(&[("proc/7/net/dev", DEV)]);
        for (pid, net) in [("7", 4_026_531_840_u64), ("self", 4_026_531_840)] {
            kernel.link(&format!("proc/{pid}/ns/net"), &format!("net:[{net}]"));
        }
        let class = |device: &str, name: &str, files: &[(&str, &str)]| {
            for (file, text) in files {
                kernel.write(&format!("sys/devices/{device}/net/{name}/{file}"), text);
            }
            kernel.link(&format!("sys/class/net/{name}"), &format!("../../devices/{device}/net/{name}"));
        };
        class("pci0/0000:00:03.0", "eth0", &[("speed", "10\n"), ("duplex", "half\n"), ("mtu", "1500\n")]);
        class("virtual", "lo", &[("mtu", "65536\n")]);
        class("virtual", "veth9", &[("speed", "10000\n"), ("duplex", "full\n"), ("mtu", "1500\n")]);
        class("virtual", "bond0.12", &[("speed", "2000\n"), ("duplex", "full\n"), ("mtu", "9000\n")]);
        kernel.link("sys/devices/virtual/net/bond0.12/lower_eth0", "../../../pci0/0000:00:03.0/net/eth0");
        kernel
    }

    #[test]
    fn hardware_has_a_speed_and_what_a_virtual_link_says_is_not_believed() {
        let kernel = kernel();
        let mut links = Links::new(kernel.roots(), 7, &[]);
        let first = links.look().unwrap();
        let names: Vec<_> = first.iter().map(|link| link.name.as_str()).collect();
        assert_eq!(names, ["lo", "eth0", "bond0.12", "veth9"]);
        let eth0 = &first[1];
        assert_eq!((eth0.bytes, eth0.packets), ((88_726_459, 169_879), (3051, 1680)));
        assert_eq!((eth0.errors, eth0.drops), (4, 6));
        let second = links.look().unwrap();
        let can = |name: &str| {
            let link = second.iter().find(|link| link.name == name).unwrap();
            (link.speed_bits.clone(), link.full_duplex.clone())
        };
        assert_eq!(can("lo"), (Seen::Absent, Seen::Absent));
        assert_eq!(can("eth0"), (Seen::Value(10_000_000), Seen::Value(false)));
        assert_eq!(can("bond0.12"), (Seen::Value(2_000_000_000), Seen::Value(true)));
        let (speed, _) = can("veth9");
        assert!(matches!(&speed, Seen::Unseen(why) if why.ends_with("--link veth9=10M")), "{speed:?}");
        // Nothing moved since.
        assert_eq!(links.look().unwrap(), []);
    }

    #[test]
    fn counts_that_are_none_are_no_overflow() {
        let all = u64::MAX;
        let link = parse(&format!("eth0: 1 {all} {all} {all} 0 0 0 0 1 1 1 1 0 0 0 0")).unwrap();
        assert_eq!((link.packets, link.errors, link.drops), ((all, 1), all, all));
    }

    #[test]
    fn the_users_word_counts_before_the_kernels() {
        let kernel = kernel();
        let given = GivenLink { name: "veth9".into(), bits: 10_000_000, half_duplex: true };
        let mut links = Links::new(kernel.roots(), 7, &[given]);
        links.look().unwrap();
        let second = links.look().unwrap();
        let veth = second.iter().find(|link| link.name == "veth9").unwrap();
        assert_eq!((&veth.speed_bits, &veth.full_duplex), (&Seen::Value(10_000_000), &Seen::Value(false)));
        assert!(veth.speed_given && !second.iter().any(|link| link.name == "eth0" && link.speed_given));
    }

    #[test]
    fn a_program_that_changes_its_network_namespace_is_followed() {
        let kernel = kernel();
        let mut links = Links::new(kernel.roots(), 7, &[]);
        links.look().unwrap();
        assert_eq!(links.namespace(), 4_026_531_840);
        kernel.link("proc/7/ns/net", "net:[4026532001]");
        kernel.write("proc/7/net/dev", &DEV.replace("eth0:88726459", "eth0:55"));
        assert_eq!(links.look().unwrap().len(), 4);
        assert_eq!(links.namespace(), 4_026_532_001);
        // `unshare -n` keeps the old /sys, whose eth0 may be another one.
        let eth0 = links.look().unwrap().into_iter().find(|link| link.name == "eth0").unwrap();
        assert_eq!(eth0.bytes.0, 55);
        assert!(
            matches!(&eth0.speed_bits, Seen::Unseen(why) if why.contains("network namespace")),
            "{eth0:?}"
        );
        // `ip netns exec` mounts a new one.
        kernel.link("proc/self/ns/mnt", "mnt:[1]");
        kernel.link("proc/7/ns/mnt", "mnt:[2]");
        kernel.write("proc/7/root/sys/class/net/eth0/mtu", "1400\n");
        kernel.link("proc/7/ns/net", "net:[4026532002]");
        links.look().unwrap();
        let eth0 = links.look().unwrap().into_iter().find(|link| link.name == "eth0").unwrap();
        assert_eq!(eth0.mtu_bytes, Seen::Value(1400));
    }

    #[test]
    fn a_fifo_in_the_place_of_a_speed_does_not_hang_dwell() {
        let kernel = Kernel::new(&[]);
        let path = kernel.roots().sys.join("speed");
        fs::create_dir_all(kernel.roots().sys).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert_eq!(short_text(&path).as_deref(), Some(""));
    }
}
