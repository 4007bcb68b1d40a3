//! Memory that is short: a program that asks for blocks all over a file in a control group that can
//! hold a quarter of it, the same program in one that can hold all of it, the first beside a busy
//! loop on each CPU, and started by who may not do what BPF needs.
//!
//! Needs root and a file on a disk: `/var/tmp` is kept over a restart, `/tmp` may be memory. Which
//! finding comes first is a matter of figures that a busy machine changes, so what is claimed is
//! asked for again where it does not hold at once.

use crate::support::causes::{How, told_by_script};
use crate::support::memory::MemoryGroup;
use crate::support::{Claims, Told, dwell, hold_coarse};
use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use tempfile::{TempDir, tempdir_in};

const CAUSE: &str = "memory-pressure";
const MIB: u64 = 1 << 20;
const FILE: u64 = 32 * MIB;
/// The file is read once, and then this many of its blocks, where three quarters of them have had
/// to make room meanwhile, and where all are there: that takes some tenths of a second, as long as
/// it takes for the host's figures, also where a CPU does a block of the cache in a microsecond.
const SHORT: u32 = 8000;
const WHOLE: u32 = 700_000;
const NOBODY: u32 = 65534;

/// A directory on a disk that anyone may use, with the programs and the file, of which nothing is
/// in memory.
fn place() -> TempDir {
    let place = tempdir_in("/var/tmp").expect("a directory");
    let all = |path: &Path| fs::set_permissions(path, Permissions::from_mode(0o777)).expect("it is ours");
    all(place.path());
    fs::copy(dwell(), place.path().join("dwell")).expect("a copy");
    all(&place.path().join("dwell"));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/causes_reads.c");
    let program = place.path().join("reads");
    let status = Command::new("cc").args(["-g", "-O1", source, "-o"]).arg(&program).status();
    assert!(status.is_ok_and(|status| status.success()), "cc cannot compile {source}");
    let mut file = File::create(place.path().join("file")).expect("a file");
    for at in 0..FILE / MIB {
        file.write_all(&[at as u8; MIB as usize]).expect("the disk has room");
    }
    file.sync_all().expect("the disk takes it");
    place
}

/// What dwell says of the program, in this place and in a group that may use so much.
fn told(place: &TempDir, how: How, bytes: u64, blocks: u32) -> Told {
    let group = MemoryGroup::new(bytes, NOBODY);
    let (who, busy) = how.words();
    // `dd` has the kernel forget what it has of the file: who reads it again is charged for it.
    let script = format!(
        "cd {place}; rm -f run.json out page; dd if=file iflag=nocache count=0 status=none; pids=; {busy}\n\
         (echo 0 > {begins}; exec {who} ./dwell run -v --max-overhead none --json run.json -- \
         sh -c 'echo 0 > {entry} && exec ./reads file 1 {blocks}') >out 2>page; code=$?\n\
         kill $pids 2>/dev/null; wait; exit $code",
        place = place.path().display(),
        begins = group.begins(),
        entry = group.entry(),
    );
    let told = told_by_script(place.path(), &[], &script);
    assert_eq!(told.code, Some(0), "the program has to get to its end\n{}", told.page);
    told
}

/// It comes first, or after time that other programs had the CPUs for; its evidence is the kernel's
/// own count of what came back, and names the limit.
fn claim_found(told: &Told, claims: &mut Claims) {
    claims.among_first(told, CAUSE);
    let mut findings = told.run["findings"].as_array().into_iter().flatten();
    let finding = findings.find(|finding| finding["cause"] == CAUSE);
    let said = finding.and_then(|finding| finding["where"].as_str()).unwrap_or_default();
    let says = "the program does not fit into the 8.00 MiB of the control group";
    claims.that(said.contains(says), format!("{says:?} is not in {said:?}"));
    let memory = &told.run["limits"]["memory"];
    claims.equal("the limit", memory["limit_bytes"].as_u64(), Some(FILE / 4));
    let refaulted = told.run["limits"]["refaulted_bytes"].as_u64().unwrap_or_default();
    claims.that(refaulted >= 2 * MIB, format!("{refaulted} bytes came back"));
}

#[test]
fn a_file_that_does_not_fit_into_the_group() {
    let place = place();
    let with = |how| told(&place, how, FILE / 4, SHORT);
    hold_coarse(|| with(How::Alone), claim_found);
    let fits = || told(&place, How::Alone, FILE * 3, WHOLE);
    hold_coarse(fits, |told, claims| {
        claims.not_found(told, CAUSE);
        let mut ruled_out = told.run["ruled_out"].as_array().into_iter().flatten();
        let so = ruled_out.any(|row| row["cause"] == CAUSE);
        claims.that(so, format!("it was not looked for: {}", told.run["not_looked_for"]));
    });
    hold_coarse(|| with(How::BesideBusyLoops), |told, claims| claims.among_first(told, CAUSE));
    // The group's counters and what a thread is blocked for are anyone's to read.
    hold_coarse(|| with(How::AsNobody), claim_found);
}
