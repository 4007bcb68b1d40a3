//! Times unwinding and symbolization: `cargo run --release -p dwell-code --example speed -- FILE…`
//!
//! Unwinds a stack of a small program 10,000 times, then symbolizes 2,000 addresses of each file
//! (its own without an argument).

#![cfg(target_arch = "x86_64")]
#![allow(clippy::print_stdout)]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::ptrace;
use nix::unistd::Pid;

use dwell_code::{Mapping, Processes, RawFrame, Registers};

const CHAIN: &str = r#"
#include <unistd.h>
__attribute__((noinline)) int nested(int n) {
    char byte; int got = n ? nested(n - 1) : read(0, &byte, 1);
    __asm__ volatile("" ::: "memory");
    return got + 1;
}
int main(void) { int got = nested(15); __asm__ volatile("" ::: "memory"); return got; }
"#;

/// A child that blocks 16 functions deep: its registers, and the content of its stack.
fn blocked(child: &Child) -> (Registers, Vec<u8>) {
    std::thread::sleep(Duration::from_millis(100));
    let pid = Pid::from_raw(child.id() as i32);
    ptrace::attach(pid).expect("cannot attach");
    nix::sys::wait::waitpid(pid, None).expect("cannot wait");
    let all = ptrace::getregs(pid).expect("cannot read registers");
    let memory = File::open(format!("/proc/{pid}/mem")).expect("cannot open its memory");
    let mut stack = vec![0; 16 << 10];
    let read = memory.read_at(&mut stack, all.rsp).unwrap_or(0);
    stack.truncate(read);
    ptrace::detach(pid, None).expect("cannot detach");
    (Registers::x86_64(all.rip, all.rsp, all.rbp), stack)
}

fn unwinding() {
    let dir = tempfile::tempdir().expect("cannot make a directory");
    let (source, program) = (dir.path().join("chain.c"), dir.path().join("chain"));
    std::fs::write(&source, CHAIN).expect("cannot write");
    let done =
        Command::new("gcc").args(["-O2", "-fomit-frame-pointer", "-o"]).arg(&program).arg(&source).status();
    assert!(done.expect("no gcc").success());
    let mut child = Command::new(&program).stdin(Stdio::piped()).spawn().expect("cannot start");
    let (registers, stack) = blocked(&child);
    let mut processes = Processes::new();
    let mut frames: Vec<RawFrame> = Vec::new();
    let cold = Instant::now();
    let broke = processes.unwind(child.id(), &registers, &stack, &mut frames);
    let cold = cold.elapsed();
    let depth = frames.len();
    let warm = Instant::now();
    for _ in 0..10_000 {
        frames.clear();
        processes.unwind(child.id(), &registers, &stack, &mut frames);
    }
    let warm = warm.elapsed() / 10_000;
    println!("unwinding {depth} functions: first {cold:?}, then {warm:?} each; {broke:?}");
    let started = Instant::now();
    for n in 0..5_000 {
        processes.forked(child.id(), (1 << 25) + n);
        frames.clear();
        processes.unwind((1 << 25) + n, &registers, &stack, &mut frames);
        processes.exited((1 << 25) + n);
    }
    println!("5,000 short-lived children, a stack each: {:?}", started.elapsed());
    drop(child.stdin.take());
    child.wait().expect("cannot wait");
}

fn naming(path: &str) {
    use std::os::unix::fs::MetadataExt;
    let seen = std::fs::metadata(path).expect("cannot look at the file");
    let mut processes = Processes::new();
    let mapping = Mapping {
        start: 0x10_0000,
        end: 0x10_0000 + seen.len(),
        file_offset: 0,
        path: path.as_bytes().to_vec(),
        dev: (0, 0),
        inode: seen.ino(),
    };
    processes.mapped(1 << 30, mapping);
    let mut frames = Vec::new();
    let mut at = 0u64;
    while frames.len() < 2_000 {
        at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let registers = Registers::x86_64(0x10_0000 + (at >> 16) % seen.len(), 0x1000, 0);
        let mut stack = Vec::new();
        processes.unwind(1 << 30, &registers, &[], &mut stack);
        frames.extend(stack.first());
    }
    for budget in [Duration::from_millis(100), Duration::from_secs(1), Duration::from_secs(60)] {
        let started = Instant::now();
        let names = processes.names(&frames, budget);
        let took = started.elapsed();
        let named = names.functions.iter().filter(|functions| functions[0].name.is_some()).count();
        let lines = names.functions.iter().filter(|functions| functions[0].source.is_some()).count();
        let left = names.unfinished.len();
        println!("{path}, {budget:?} given: {took:?}, {named} named, {lines} with line, {left} unfinished");
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let memory = status.lines().filter(|line| line.starts_with("VmHWM"));
    memory.for_each(|line| println!("{line}"));
}

fn main() {
    unwinding();
    let own = std::env::current_exe().ok().and_then(|path| path.to_str().map(str::to_owned));
    let mut files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        files.extend(own);
    }
    files.iter().for_each(|file| naming(file));
}
