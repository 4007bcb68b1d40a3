//! Stacks of real programs without frame pointers are unwound to their outermost function.

use crate::support::{self, Bench, Followed, Running, follow};
use dwell_code::{FileId, Mapping, Processes, Registers, UnwindFailure};

const CHAIN: &str = r#"
#include <unistd.h>
#define OWN __attribute__((noinline, noclone))
#define STAY __asm__ volatile("" ::: "memory")
OWN int leaf(int n) { char byte; volatile char room[200]; room[n] = 1; int got = read(0, &byte, 1); STAY; return got + room[n]; }
OWN int recurse(int n) { int got = n ? recurse(n - 1) : leaf(n); STAY; return got + 1; }
OWN int middle(int n) { volatile long room[50]; room[n] = n; int got = recurse(2); STAY; return got + room[n]; }
OWN int outer(int n) { int got = middle(n); STAY; return got + 1; }
int main(int argc, char **argv) { int got = outer(argc); STAY; return got; }
"#;

const CHAIN_NAMES: [&str; 7] = ["leaf", "recurse", "recurse", "recurse", "middle", "outer", "main"];

const GCC: [&str; 4] = ["gcc", "-O2", "-fomit-frame-pointer", "-fasynchronous-unwind-tables"];

fn follow_fresh(running: &Running) -> (Processes, Followed) {
    let mut processes = Processes::new();
    let raw = running.blocked();
    let followed = follow(&mut processes, running.pid(), &raw);
    (processes, followed)
}

#[test]
fn a_c_program_is_followed_through_libc_to_its_start() {
    let bench = Bench::new();
    let Some(program) = bench.compiled("chain", CHAIN, &GCC) else { return };
    let running = Running::start(&program, &[]);
    let (processes, followed) = follow_fresh(&running);
    assert_eq!(followed.broke, None);
    assert_eq!(followed.names[0], "read");
    assert_eq!(followed.from("leaf")[..7], CHAIN_NAMES);
    assert_eq!(followed.names.last().unwrap(), "_start");
    let leaf = followed.frames[1];
    assert_eq!(processes.files().path(leaf.file).as_ref(), program.to_str().unwrap());
    assert_eq!(processes.files().failure(leaf.file), None);
}

#[test]
fn a_static_program_at_a_fixed_address_is_followed() {
    let bench = Bench::new();
    let how = [&GCC[..], &["-static", "-no-pie"]].concat();
    let Some(program) = bench.compiled("static", CHAIN, &how) else { return };
    let (_, followed) = follow_fresh(&Running::start(&program, &[]));
    assert_eq!(
        (followed.broke.clone(), &followed.from("leaf")[..7]),
        (None, &CHAIN_NAMES.map(String::from)[..])
    );
}

#[test]
fn a_program_with_frame_pointers_and_no_tables_is_followed_by_them() {
    let bench = Bench::new();
    let how = [
        "gcc",
        "-O1",
        "-fno-omit-frame-pointer",
        "-fno-asynchronous-unwind-tables",
        "-fno-optimize-sibling-calls",
    ];
    let Some(program) = bench.compiled("pointers", CHAIN, &how) else { return };
    let running = Running::start(&program, &[]);
    let (mut processes, followed) = follow_fresh(&running);
    assert_eq!(followed.from("leaf")[..7], CHAIN_NAMES, "{:?}", followed.broke);
    assert_eq!(followed.broke, None);
    // Without the frame pointer `leaf` cannot be unwound.
    let mut raw = running.blocked();
    raw.registers = raw.registers.with(if cfg!(target_arch = "x86_64") { 6 } else { 29 }, 0);
    let followed = follow(&mut processes, running.pid(), &raw);
    assert_eq!(followed.broke, Some(UnwindFailure::NoInformation(program.to_str().unwrap().into())));
    assert_eq!(followed.broke.unwrap().to_string(), "no unwind information in pointers");
    assert_eq!(followed.names, ["read", "leaf"]);
}

/// `data/signed`, on any machine: as Debian, Fedora and Ubuntu compile for aarch64.
#[test]
fn functions_of_aarch64_that_sign_their_return_addresses_are_followed() {
    const SIGNATURE: u64 = 0x2a << 48;
    let mut processes = Processes::new();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/signed").into();
    let (start, end) = (0x40_0000, 0x40_1000);
    let pid = std::process::id();
    processes.mapped(pid, Mapping { start, end, file_offset: 0, path, dev: (0, 0), inode: 0 });
    // `leaf` has 48 bytes and its return address in x30; `middle` has 176 bytes, the others 16.
    let mut words = vec![0_u64; 6 + 22 + 2 + 2];
    (words[6], words[6 + 22], words[6 + 22 + 2]) = (SIGNATURE | 0x40_019c, SIGNATURE | 0x40_01c0, SIGNATURE);
    let stack: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
    let mut frames = Vec::new();
    let broke =
        processes.unwind(pid, &Registers::aarch64(0x40_0150, 0x7000, 0, 0x40_017c), &stack, &mut frames);
    let addresses: Vec<u64> = frames.iter().map(|frame| frame.address).collect();
    assert_eq!((broke, addresses), (None, vec![0x40_0150, 0x40_017b, 0x40_019b, 0x40_01bf]));
}

#[test]
fn a_cpp_program_is_followed_and_its_names_are_demangled() {
    let source = r#"
#include <unistd.h>
#include <vector>
#include <algorithm>
namespace deep {
template <class T> struct Box { __attribute__((noinline)) int wait(T n) { char b; int got = read(0, &b, 1); asm volatile("" ::: "memory"); return got + n; } };
__attribute__((noinline)) int sorted(std::vector<int> &all) {
    int got = 0;
    std::for_each(all.begin(), all.end(), [&](int n) { got += Box<long>().wait(n); asm volatile("" ::: "memory"); });
    return got;
}
}
int main() { std::vector<int> all{1, 2}; int got = deep::sorted(all); asm volatile("" ::: "memory"); return got; }
"#;
    let bench = Bench::new();
    let Some(program) = bench.compiled("boxes", source, &["g++", "-O2", "-fomit-frame-pointer"]) else {
        return;
    };
    let (_, followed) = follow_fresh(&Running::start(&program, &[]));
    assert_eq!(
        followed.from("deep::Box<long>::wait")[..3],
        ["deep::Box<long>::wait", "deep::sorted", "main"]
    );
    assert_eq!(followed.broke, None);
}

#[test]
fn a_rust_program_is_followed_with_what_is_inlined() {
    let source = r#"
use std::io::Read;
#[inline(never)] fn leaf(from: &mut impl Read) -> usize { let mut b = [0]; std::hint::black_box(from.read(&mut b).unwrap()) + 1 }
#[inline(always)] fn inlined(from: &mut impl Read) -> usize { std::hint::black_box(leaf(from)) + 1 }
#[inline(never)] fn outer() -> usize { std::hint::black_box(inlined(&mut std::io::stdin())) + 1 }
fn main() { std::process::exit(outer() as i32); }
"#;
    let bench = Bench::new();
    let Some(program) = bench.compiled("inlines", source, &["rustc", "-O", "-g", "--crate-name", "inlines"])
    else {
        return;
    };
    let running = Running::start(&program, &[]);
    let (processes, followed) = follow_fresh(&running);
    assert_eq!(followed.broke, None);
    let names = ["inlines::inlined", "inlines::outer", "inlines::main"];
    let at = followed
        .names
        .iter()
        .position(|name| name == names[0])
        .unwrap_or_else(|| panic!("{:?}", followed.names));
    assert!(followed.names[at - 1].starts_with("inlines::leaf"), "{:?}", followed.names);
    assert_eq!(followed.names[at..at + 3], names);
    let found = processes.names(&followed.frames, std::time::Duration::from_secs(9));
    let outer =
        found.functions.iter().find(|functions| functions[0].name.as_deref() == Some(names[0])).unwrap();
    assert_eq!((outer.len(), outer[0].inlined, outer[1].inlined), (2, true, false));
    let line = |at: usize| outer[at].source.clone().map(|(file, line)| (file.ends_with("inlines.rs"), line));
    assert_eq!((line(0), line(1)), (Some((true, 4)), Some((true, 5))));
}

#[test]
fn a_go_program_is_followed() {
    let source = r#"
package main
import "syscall"
//go:noinline
func leaf() int { b := make([]byte, 1); n, _, _ := syscall.RawSyscall(syscall.SYS_READ, 0, 0, 0); _ = b; return int(n) + wait() }
//go:noinline
func wait() int { t := syscall.Timespec{Sec: 60}; syscall.Nanosleep(&t, nil); return 1 }
//go:noinline
func outer(n int) int { if n > 0 { return outer(n-1) + 1 }; return leaf() + 1 }
func main() { println(outer(2)) }
"#;
    for (name, how) in [
        ("gofull", &["go", "build"][..]),
        ("gobare", &["go", "build", "-ldflags=-s -w"]),
        ("gopie", &["go", "build", "-buildmode=pie", "-ldflags=-s -w"]),
    ] {
        let bench = Bench::new();
        let Some(program) = bench.compiled(name, source, how) else { return };
        let (_, followed) = follow_fresh(&Running::start(&program, &[]));
        let chain =
            ["main.wait", "main.leaf", "main.outer", "main.outer", "main.outer", "main.main", "runtime.main"];
        assert_eq!(followed.from("main.wait")[..7], chain, "{name}: {:?}", followed.broke);
        assert_eq!(
            (followed.broke.clone(), followed.names.last().unwrap().as_str()),
            (None, "runtime.goexit")
        );
        let image = dwell_code::Image::open(std::fs::File::open(&program).unwrap()).unwrap();
        let [outer, none] = image.go_functions(["main.outer", "main.oute"]).unwrap();
        assert_eq!(none, None);
        let code = image.code(&outer.unwrap()).unwrap();
        assert!((32..512).contains(&code.len()), "up to the next function: {}", code.len());
    }
}

#[test]
fn a_thread_of_go_without_work_is_followed_to_where_its_runtime_left_the_goroutine() {
    let source = r#"
package main
import ("time"; "runtime")
func main() { runtime.LockOSThread(); time.Sleep(time.Hour) }
"#;
    for (name, how) in [("goidle", &["go", "build"][..]), ("goidlebare", &["go", "build", "-ldflags=-s -w"])]
    {
        let bench = Bench::new();
        let Some(program) = bench.compiled(name, source, how) else { return };
        let running = Running::start(&program, &[]);
        let followed = follow(&mut Processes::new(), running.pid(), &running.idle());
        let names = &followed.names;
        assert_eq!(
            (followed.broke.clone(), names.last().unwrap().as_str()),
            (None, "runtime.mcall"),
            "{names:?}"
        );
        assert!(names.iter().any(|name| name == "runtime.schedule"), "{names:?}");
    }
}

#[test]
fn a_function_interrupted_by_a_signal_is_followed_through_the_handler() {
    let source = r#"
#include <signal.h>
#include <unistd.h>
#define OWN __attribute__((noinline, noclone))
#define STAY __asm__ volatile("" ::: "memory")
OWN void handler(int n) { char byte; read(0, &byte, 1); STAY; }
OWN int interrupted(void) { kill(getpid(), SIGUSR1); STAY; return 1; }
int main() { signal(SIGUSR1, handler); int got = interrupted(); STAY; return got; }
"#;
    let bench = Bench::new();
    let Some(program) = bench.compiled("signal", source, &GCC) else { return };
    let (_, followed) = follow_fresh(&Running::start(&program, &[]));
    assert_eq!(followed.from("interrupted")[..2], ["interrupted", "main"], "{:?}", followed.names);
    assert_eq!(followed.from("handler")[0], "handler");
    assert_eq!(followed.broke, None);
}

#[test]
fn a_function_that_realigns_its_stack_is_followed() {
    let source = r#"
#include <unistd.h>
#define OWN __attribute__((noinline, noclone))
#define STAY __asm__ volatile("" ::: "memory")
OWN int leaf(void *p) { char byte; STAY; return read(0, &byte, 1); }
OWN int aligned(int n, ...) { char wide[64] __attribute__((aligned(64))); char more[n]; STAY; wide[0] = more[0] = leaf(wide) + leaf(more); STAY; return wide[0]; }
OWN int outer(int n) { int got = aligned(n, 1, 2, 3, 4, 5, 6, 7, 8); STAY; return got; }
int main(int argc, char **argv) { int got = outer(argc); STAY; return got; }
"#;
    let bench = Bench::new();
    let Some(program) = bench.compiled("aligned", source, &GCC) else { return };
    let (_, followed) = follow_fresh(&Running::start(&program, &[]));
    assert_eq!(followed.from("aligned")[..3], ["aligned", "outer", "main"]);
    assert_eq!(followed.broke, None);
}

#[test]
fn a_deleted_program_keeps_its_names_and_a_replaced_one_is_not_taken_for_it() {
    let bench = Bench::new();
    let Some(program) = bench.compiled("gone", CHAIN, &GCC) else { return };
    let running = Running::start(&program, &[]);
    let raw = running.blocked();
    std::fs::remove_file(&program).unwrap();
    let mut processes = Processes::new();
    let followed = follow(&mut processes, running.pid(), &raw);
    assert_eq!(
        (followed.broke.clone(), &followed.from("leaf")[..7]),
        (None, &CHAIN_NAMES.map(String::from)[..])
    );
    assert_eq!(processes.files().path(followed.frames[1].file).as_ref(), program.to_str().unwrap());

    // It executes another program, and ends before the file of that was opened.
    let other = "int main(void) { for (;;); }";
    let mut late = Processes::new();
    late.read(running.pid()).unwrap();
    bench.compiled("gone", other, &GCC).unwrap();
    let pid = running.pid();
    drop(running);
    let followed = follow(&mut late, pid, &raw);
    let Some(UnwindFailure::NoFile(path, why)) = &followed.broke else { panic!("{:?}", followed.broke) };
    assert_eq!(path.as_ref(), program.to_str().unwrap());
    assert_eq!(why.as_ref(), "it has been replaced by another file");
    assert!(!followed.names.contains(&"main".to_owned()), "{:?}", followed.names);
    // A file that was opened in time is still symbolized.
    let frames = followed_frames(&mut processes, pid, &raw);
    assert_eq!(support::named(&processes, &frames)[1..8], CHAIN_NAMES);
}

fn followed_frames(processes: &mut Processes, pid: u32, raw: &support::Raw) -> Vec<dwell_code::RawFrame> {
    let mut frames = Vec::new();
    processes.unwind(pid, &raw.registers, &raw.stack, &mut frames);
    frames
}

#[test]
fn a_cut_stack_says_so_and_gives_what_there_is() {
    let bench = Bench::new();
    let Some(program) = bench.compiled("cut", CHAIN, &GCC) else { return };
    let running = Running::start(&program, &[]);
    let mut raw = running.blocked();
    raw.stack.truncate(300);
    let followed = follow(&mut Processes::new(), running.pid(), &raw);
    assert_eq!(followed.broke, Some(UnwindFailure::StackEnded(300)));
    assert_eq!(followed.broke.unwrap().to_string(), "the copied part of the stack ended (300 bytes)");
    assert_eq!(followed.names[..2], ["read", "leaf"]);
}

#[test]
fn code_of_the_vdso_is_named() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let line = maps.lines().find(|line| line.ends_with("[vdso]")).unwrap();
    let start = u64::from_str_radix(line.split('-').next().unwrap(), 16).unwrap();
    let mut processes = Processes::new();
    // Its symbol table has the addresses of its functions: all are tried.
    let mut names = std::collections::BTreeSet::new();
    for ip in (start..start + 0x2000).step_by(64) {
        let mut frames = Vec::new();
        let registers = dwell_code::Registers::x86_64(ip, 0x1000, 0);
        processes.unwind(std::process::id(), &registers, &[0; 64], &mut frames);
        if let Some(frame) = frames.first() {
            assert_eq!(processes.files().path(frame.file).as_ref(), "[vdso]");
            names.extend(support::named(&processes, &frames[..1]));
        }
    }
    assert!(names.iter().any(|name| name.contains("clock_gettime")), "{names:?}");
}

#[test]
fn an_address_that_is_in_no_mapping_is_said_to_be_so() {
    let mut processes = Processes::new();
    let registers = dwell_code::Registers::x86_64(0x10, 0x1000, 0);
    let mut frames = Vec::new();
    let broke = processes.unwind(std::process::id(), &registers, &[0; 64], &mut frames);
    assert_eq!((broke, frames.len()), (Some(UnwindFailure::NoMapping), 0));
    assert_ne!(FileId::JIT, frames.first().map_or_else(|| other_file(&mut processes), |frame| frame.file));
}

/// The number of a file that is not made by a JIT.
fn other_file(processes: &mut Processes) -> FileId {
    let mut frames = Vec::new();
    let here = an_address_that_is_in_no_mapping_is_said_to_be_so as *const () as u64;
    let registers = dwell_code::Registers::x86_64(here, 0x1000, 0);
    processes.unwind(std::process::id(), &registers, &[0; 64], &mut frames);
    frames[0].file
}
