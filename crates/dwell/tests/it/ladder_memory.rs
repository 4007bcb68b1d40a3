//! `dwell ladder` where memory is short: a control group with 128 MiB ends nothing, and the page
//! says what was left out.

use crate::support;
use crate::support::dwell;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LIMIT_BYTES: u64 = 128 << 20;

/// A control group with little memory, gone with the test.
struct Narrow {
    group: PathBuf,
    /// The file that counts who was ended.
    ended: &'static str,
}

impl Narrow {
    fn new() -> Self {
        let name = format!("dwell-narrow-{}", std::process::id());
        let first = Path::new("/sys/fs/cgroup/memory").join(&name);
        if fs::create_dir(&first).is_ok() {
            fs::write(first.join("memory.limit_in_bytes"), LIMIT_BYTES.to_string())
                .expect("a group of the first version has a limit");
            return Self { group: first, ended: "memory.oom_control" };
        }
        let second = Path::new("/sys/fs/cgroup").join(&name);
        fs::create_dir(&second).expect("the tests may make control groups");
        let _ = fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
        fs::write(second.join("memory.max"), LIMIT_BYTES.to_string())
            .expect("a group of the second version has a limit");
        Self { group: second, ended: "memory.events" }
    }

    /// Processes that were ended for want of memory.
    fn ended(&self) -> u64 {
        let text = fs::read_to_string(self.group.join(self.ended)).expect("a group has counters");
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok());
        count.expect("one of them counts who was ended")
    }
}

impl Drop for Narrow {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.group);
    }
}

/// The peak memory that a ladder reports, in MiB.
fn peak_mib(ladder: &Value) -> u64 {
    let limits = ladder["limits"].as_array().expect("a ladder has limits");
    let said =
        limits.iter().filter_map(Value::as_str).find_map(|limit| limit.strip_prefix("dwell used up to "));
    said.and_then(|said| said.split(' ').next()?.parse().ok()).unwrap_or_else(|| panic!("{limits:?}"))
}

#[test]
fn a_group_with_little_memory_ends_nothing_and_what_is_left_out_is_said() {
    let narrow = Narrow::new();
    let dir = support::fresh("narrow");
    fs::create_dir(&dir).expect("a directory in the scratch directory");
    let script = format!("echo $$ > {}/cgroup.procs; exec \"$@\"", narrow.group.display());
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh", dwell(), "ladder", "--quick", "--json", "-", "--dir"]).arg(&dir);
    let output = command.output().expect("sh starts");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(narrow.ended(), 0);
    let ladder: Value = serde_json::from_slice(&output.stdout).expect("the ladder is JSON");
    let free = ladder["machine"]["memory_free_bytes"].as_u64().expect("free memory is stated");
    assert!(free < LIMIT_BYTES, "{free}");
    assert!((1..LIMIT_BYTES >> 20).contains(&peak_mib(&ladder)), "{ladder:#}");
    let rungs = ladder["rungs"].as_array().expect("a ladder has rungs");
    let rung = |id: &str| rungs.iter().find(|rung| rung["id"] == id).expect("it is on the ladder");
    assert!(rung("l1")["ns"]["median"].is_number(), "{}", rung("l1"));
    let tlb = rung("tlb-miss")["ns"]["unseen"].as_str().unwrap_or_default();
    assert!(tlb.contains("128 MiB") && tlb.contains("what is free"), "{}", rung("tlb-miss"));
    // By how large the last cache is, memory is either chased through less, or not at all.
    let dram = rung("dram");
    let said = dram["ns"]["unseen"].as_str().unwrap_or_default().contains("what is free")
        || dram["limits"].to_string().contains("still found in the last cache");
    assert!(said, "{dram}");
    let points = ladder["curve"]["points"].as_array().expect("the curve ends earlier, and is there");
    assert!(points.iter().all(|point| point["bytes"].as_u64() <= Some(free / 4)), "{points:?}");
    fs::remove_dir(&dir).expect("nothing is left in it");
}
