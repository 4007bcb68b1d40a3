//! A kernel whose types are not as they should be: cut, empty, false, large or unreadable. dwell
//! says so in one line and takes the next tier; it never reads what is somewhere else.
//!
//! The types are this kernel's own, changed, in the place of `/sys/kernel/btf/vmlinux` in a mount
//! namespace.

use crate::support;
use crate::support::{MS, Told, read_json};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PLACE: &str = "/sys/kernel/btf/vmlinux";
const STRUCT: u32 = 4;
const TYPEDEF: u32 = 8;

/// BTF (Documentation/bpf/btf.rst).
#[derive(Clone)]
struct Types(Vec<u8>);

impl Types {
    fn here() -> Self {
        Self(fs::read(PLACE).expect("this kernel describes its types"))
    }

    fn word(&self, at: usize) -> u32 {
        u32::from_ne_bytes(*self.0[at..].first_chunk().unwrap())
    }

    fn put(mut self, at: usize, word: u32) -> Self {
        self.0[at..at + 4].copy_from_slice(&word.to_ne_bytes());
        self
    }

    fn is_named(&self, name_at: usize, name: &str) -> bool {
        let at = 24 + (self.word(16) + self.word(name_at)) as usize;
        self.0[at..].starts_with(name.as_bytes()) && self.0[at + name.len()] == 0
    }

    /// Where the record of this type begins, and how many entries it has.
    fn of(&self, kind: u32, name: &str) -> (usize, usize) {
        let mut at = 24;
        loop {
            let info = self.word(at + 4);
            let entries = (info & 0xffff) as usize;
            if info >> 24 & 0x1f == kind && self.is_named(at, name) {
                return (at, entries);
            }
            at += 12
                + match info >> 24 & 0x1f {
                    1 | 14 | 17 => 4,
                    3 => 12,
                    6 | 13 => 8 * entries,
                    4 | 5 | 15 | 19 => 12 * entries,
                    _ => 0,
                };
        }
    }

    /// Where a member of a structure is told: its name, its type and its place, a word each.
    fn member(&self, of: &str, name: &str) -> usize {
        let (at, entries) = self.of(STRUCT, of);
        (0..entries).map(|index| at + 12 + 12 * index).find(|at| self.is_named(*at, name)).unwrap()
    }

    /// The types with more bytes of integers behind all others.
    fn with_more(self, bytes: usize) -> Self {
        let integer: Vec<u8> = [0, 1 << 24, 4, 32].into_iter().flat_map(u32::to_ne_bytes).collect();
        let more = integer.repeat(bytes / integer.len());
        let types = self.word(12) as usize;
        let (begin, end) = self.0.split_at(24 + types);
        let total = (types + more.len()) as u32;
        Self([begin, &more, end].concat()).put(12, total).put(16, total)
    }
}

struct Elsewhere(TempDir);

impl Elsewhere {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, types: &[u8]) -> PathBuf {
        let path = self.0.path().join("types");
        fs::write(&path, types).unwrap();
        path
    }

    /// dwell where this file stands for the kernel's types, begun by these words.
    fn run(&self, types: &Path, launcher: &[&str]) -> Told {
        let json = self.0.path().join("run.json");
        let script = format!("mount --bind \"$0\" {PLACE} && exec \"$@\"");
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script]).arg(types).args(launcher);
        command.arg(support::dwell()).args(["run", "-v", "--json"]).arg(&json).args(["--", "sleep", "0.3"]);
        let begun = Instant::now();
        let output = command.current_dir("/").output().unwrap();
        let page = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{page}");
        assert!(begun.elapsed() < Duration::from_secs(6), "{:?}\n{page}", begun.elapsed());
        let told = Told { run: read_json(&json), page, out: String::new(), code: Some(0) };
        fs::remove_file(&json).unwrap();
        let rows = told.run["account"].as_array().unwrap();
        let sum: u64 = rows.iter().map(|row| row["ns"].as_u64().unwrap()).sum();
        assert_eq!(sum, told.wall(), "{}", told.account());
        assert!(told.parts(&["sleep"]) >= 250 * MS, "{}", told.account());
        told
    }

    /// The tier below is used, with one message.
    fn refused(&self, types: &Path, launcher: &[&str], why: &str) {
        let told = self.run(types, launcher);
        let sources = told.run["coverage"]["sources"].as_array().unwrap();
        let calls = sources.iter().find(|row| row["name"] == "calls and wake-ups");
        let calls = calls.unwrap_or_else(|| panic!("{why}: BPF is used\n{}", told.page));
        assert_eq!(calls["seen"], "none", "{calls}");
        assert!(calls["why"].as_str().unwrap().contains(why), "{why}: {calls}");
        assert!(!calls["remedy"].as_str().unwrap().is_empty(), "{calls}");
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(&told.page).matches(why).count(), 1, "{}", told.page);
    }
}

#[test]
fn types_that_cannot_be_are_refused_in_one_line_and_the_next_tier_is_used() {
    let _alone = support::alone();
    let elsewhere = Elsewhere::new();
    let types = Types::here();
    let pid = types.member("task_struct", "pid");
    let nameless = |kind, name| types.clone().put(types.of(kind, name).0, 0);
    let size = types.word(types.of(STRUCT, "task_struct").0 + 8);
    for (types, why) in [
        (Vec::new(), "the kernel's types in /sys/kernel/btf/vmlinux cannot be used: it is empty"),
        (types.0[..types.0.len() / 2].to_vec(), "are cut short, or not what dwell knows as types"),
        (types.clone().put(pid + 8, size * 8).0, "pid is not within the"),
        (types.clone().put(pid + 8, types.word(pid + 8) + 8).0, "pid and tgid of task_struct have one place"),
        (types.clone().put(pid + 4, u32::MAX).0, "are cut short, or not what dwell knows as types"),
        (types.clone().put(pid, 0).0, "does not have in the size it knows: task_struct.pid"),
        (nameless(TYPEDEF, "btf_trace_sched_switch").0, "this kernel has no tracepoint sched_switch"),
    ] {
        let file = elsewhere.file(&types);
        elsewhere.refused(&file, &[], why);
    }
}

#[test]
fn types_that_cannot_be_read_are_not_waited_for() {
    let _alone = support::alone();
    let elsewhere = Elsewhere::new();
    let said = "cannot read the kernel's types from /sys/kernel/btf/vmlinux:";
    elsewhere.refused(Path::new("/dev/zero"), &[], &format!("{said} it is not a regular file"));
    let file = elsewhere.file(&Types::here().0);
    fs::set_permissions(&file, Permissions::from_mode(0o000)).unwrap();
    let not_all = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"];
    elsewhere.refused(&file, &not_all, &format!("{said} Permission denied"));
}

#[test]
fn sixty_megabytes_of_types_are_read_in_a_moment() {
    let _alone = support::alone();
    let elsewhere = Elsewhere::new();
    let file = elsewhere.file(&Types::here().with_more(60 << 20).0);
    let told = elsewhere.run(&file, &[]);
    let sources = told.run["coverage"]["sources"].as_array().unwrap();
    let switches = sources.iter().find(|row| row["name"] == "switches").expect("switches are observed");
    assert_eq!(switches["seen"], "full", "{}", told.page);
}
