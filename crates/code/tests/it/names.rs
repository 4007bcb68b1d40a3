//! Names of code locations: from the file, its debug file or a perf map.

use std::time::Duration;

use crate::support::{self, Bench, Running, follow};
use dwell_code::{NameFile, Processes, RawFrame, UnreadNames, UnreadReason};
use model::recording::Runtime;

const LIBRARY: &str = r#"
#include <unistd.h>
#define STAY __asm__ volatile("" ::: "memory")
static __attribute__((noinline, noclone)) int hidden(void) { char byte; int got = read(0, &byte, 1); STAY; return got; }
static inline __attribute__((always_inline)) int
folded(void) {
    int got = hidden();
    STAY;
    return got + 1;
}
__attribute__((noinline)) int shown(void) {
    int got = folded();
    STAY;
    return got;
}
"#;
const MAIN: &str = "int shown(void);\nint main(void) { int got = shown(); __asm__ volatile(\"\" ::: \"memory\"); return got; }\n";

/// A program with its own library, which `strip` strips.
fn with_library(bench: &Bench, strip: &[&[&str]]) -> Option<Running> {
    let how = ["gcc", "-O2", "-g", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"];
    let library = [&how[..], &["-shared", "-fPIC", "-Wl,--build-id"]].concat();
    bench.compiled("libown.so", LIBRARY, &library)?;
    let dir = bench.dir.path().to_str().unwrap();
    let rpath = format!("-Wl,-rpath,{dir}");
    let program = bench.compiled("user", MAIN, &[&how[..], &["libown.so", &rpath]].concat());
    for tool in strip {
        if !bench.tool(tool) {
            return None;
        }
    }
    program.map(|program| Running::start(&program, &[]))
}

#[test]
fn inlined_functions_and_lines_are_named() {
    let bench = Bench::new();
    let Some(running) = with_library(&bench, &[]) else { return };
    let mut processes = Processes::new();
    let followed = follow(&mut processes, running.pid(), &running.blocked());
    assert_eq!(followed.from("hidden")[..4], ["hidden", "folded", "shown", "main"]);
    let found = processes.names(&followed.frames[2..3], Duration::from_secs(9));
    let lines: Vec<_> = found.functions[0].iter().map(|function| function.source.clone().unwrap()).collect();
    let file = bench.path("libown.so.c").to_str().unwrap().to_owned();
    assert_eq!(lines, [(file.clone(), 7), (file, 12)]);
    assert_eq!(found.functions[0].iter().map(|function| function.inlined).collect::<Vec<_>>(), [true, false]);
    assert!(found.unfinished.is_empty());
}

#[test]
fn a_stripped_library_has_the_names_that_it_exports() {
    let bench = Bench::new();
    let Some(running) = with_library(&bench, &[&["strip", "libown.so"]]) else { return };
    let mut processes = Processes::new();
    let followed = follow(&mut processes, running.pid(), &running.blocked());
    let names = &followed.names;
    assert_eq!([&names[0], &names[2], &names[3]], ["read", "shown", "main"]);
    // A function without a symbol is named by its first address, at every location in it.
    let start = names[1].strip_prefix("libown.so+0x").and_then(|start| u64::from_str_radix(start, 16).ok());
    let start = start.unwrap_or_else(|| panic!("{names:?}"));
    let frame = followed.frames[1];
    assert!(start < frame.address && frame.address - start < 64, "{frame:?} of {start:#x}");
    let first = RawFrame { address: start, ..frame };
    let found = processes.names(&[first, frame], Duration::from_secs(9)).functions;
    assert_eq!(found[0][0].name, found[1][0].name);
    assert_eq!(followed.broke, None);
}

#[test]
fn a_stub_of_the_linker_is_called_by_where_it_leads() {
    for options in [&[][..], &["-Wl,-z,ibtplt"], &["-fno-plt"], &["-Wl,-z,now"]] {
        let bench = Bench::new();
        let how = ["gcc", "-O2", "-fPIC", "-shared", "-s"];
        let Some(library) = bench.compiled("libown.so", LIBRARY, &[&how, options].concat()) else { return };
        let mut processes = Processes::new();
        let file = processes.file(&library).unwrap();
        // Each byte of the code, in stubs or not.
        let places: Vec<RawFrame> = (0x1000..0x2000).map(|address| RawFrame { file, address }).collect();
        let found = processes.names(&places, Duration::from_secs(9)).functions;
        let stubs =
            found.iter().filter_map(|functions| functions[0].name.as_deref()).filter(|n| n.contains('@'));
        let stubs: Vec<&str> = stubs.collect();
        assert!(stubs.iter().all(|name| ["read@plt", "__cxa_finalize@plt"].contains(name)), "{stubs:?}");
        let of_read = stubs.iter().filter(|name| **name == "read@plt").count();
        let expected = if options == ["-fno-plt"] { 0..=0 } else { 6..=32 };
        assert!(expected.contains(&of_read), "{options:?}: {of_read} bytes");
    }
}

#[test]
fn a_debug_file_beside_the_library_is_found_by_its_link() {
    let bench = Bench::new();
    let split: [&[&str]; 3] = [
        &["objcopy", "--only-keep-debug", "libown.so", "libown.debug"],
        &["strip", "libown.so"],
        &["objcopy", "--add-gnu-debuglink=libown.debug", "libown.so"],
    ];
    let Some(running) = with_library(&bench, &split) else { return };
    let raw = running.blocked();
    let mut processes = Processes::new();
    let followed = follow(&mut processes, running.pid(), &raw);
    assert_eq!(followed.from("hidden")[..4], ["hidden", "folded", "shown", "main"]);

    // The debug file of another build is not taken.
    std::fs::copy(bench.path("user"), bench.path("libown.debug")).unwrap();
    let followed = follow(&mut Processes::new(), running.pid(), &raw);
    assert!(followed.names[1].starts_with("libown.so+0x"), "{:?}", followed.names);
    assert_eq!(followed.names[2..4], ["shown", "main"]);
}

#[test]
fn a_symbol_table_packed_into_a_stripped_library_is_read() {
    let bench = Bench::new();
    let pack: [&[&str]; 4] = [
        &["objcopy", "--strip-debug", "libown.so", "mini"],
        &["xz", "mini"],
        &["strip", "libown.so"],
        &["objcopy", "--add-section", ".gnu_debugdata=mini.xz", "libown.so"],
    ];
    let Some(running) = with_library(&bench, &pack) else { return };
    let mut processes = Processes::new();
    let followed = follow(&mut processes, running.pid(), &running.blocked());
    assert_eq!(followed.names[..4], ["read", "hidden", "shown", "main"]);
}

#[test]
fn without_time_the_places_come_back_as_unfinished_and_later_with_all() {
    let bench = Bench::new();
    let Some(running) = with_library(&bench, &[]) else { return };
    let mut processes = Processes::new();
    let followed = follow(&mut processes, running.pid(), &running.blocked());
    let none = processes.names(&followed.frames, Duration::ZERO);
    assert_eq!(none.unfinished, (0..followed.frames.len()).collect::<Vec<_>>());
    assert!(none.functions.iter().all(|functions| functions.len() == 1));
    assert!(support::named(&processes, &followed.frames).contains(&"folded".to_owned()));
}

/// A program whose debug information is compressed, running.
fn with_compressed(bench: &Bench) -> Option<Running> {
    let how = ["gcc", "-O1", "-g", "-gz=zlib", "-fno-optimize-sibling-calls"];
    let source = format!("{LIBRARY}\nint main(void) {{ int got = shown(); STAY; return got; }}");
    let program = bench.compiled("packed", &source, &how)?;
    Some(Running::start(&program, &[]))
}

#[test]
fn compressed_debug_information_is_read() {
    let bench = Bench::new();
    let Some(running) = with_compressed(&bench) else { return };
    let mut processes = Processes::new();
    let followed = follow(&mut processes, running.pid(), &running.blocked());
    assert_eq!(followed.from("hidden")[..4], ["hidden", "folded", "shown", "main"]);
}

#[test]
fn little_that_was_seen_is_not_worth_unpacking() {
    let bench = Bench::new();
    let Some(running) = with_compressed(&bench) else { return };
    let mut processes = Processes::new();
    let followed = follow(&mut processes, running.pid(), &running.blocked());
    let lines = |frames: u32| {
        let budget = Duration::from_secs(9);
        let found = processes.names_by_weight(&followed.frames, |_| frames, budget);
        assert!(found.unfinished.is_empty());
        let functions = found.functions.into_iter().flatten();
        functions
            .filter(|function| function.source.as_ref().is_some_and(|(file, _)| file.ends_with("packed.c")))
            .count()
    };
    assert_eq!(lines(1), 0);
    assert!(lines(20) > 0);
}

#[test]
fn functions_inlined_across_source_files_are_named() {
    let bench = Bench::new();
    let other = r#"
int hidden(void);
int folded(void) {
    int got = hidden();
    __asm__ volatile("" ::: "memory");
    return got + 1;
}
"#;
    let main = r#"
#include <unistd.h>
#define STAY __asm__ volatile("" ::: "memory")
int folded(void);
__attribute__((noinline, noclone)) int hidden(void) { char byte; int got = read(0, &byte, 1); STAY; return got; }
int main(void) {
    int got = folded();
    STAY;
    return got;
}
"#;
    std::fs::write(bench.path("other.c"), other).unwrap();
    let how = ["gcc", "-O2", "-g", "-flto", "-fno-optimize-sibling-calls", "other.c"];
    let Some(program) = bench.compiled("across", main, &how) else { return };
    let running = Running::start(&program, &[]);
    let mut processes = Processes::new();
    let followed = follow(&mut processes, running.pid(), &running.blocked());
    assert_eq!(followed.from("hidden")[..3], ["hidden", "folded", "main"]);
    let found = processes.names(&followed.frames[2..3], Duration::from_secs(9));
    let lines: Vec<_> = found.functions[0].iter().map(|function| function.source.clone().unwrap()).collect();
    assert!(lines[0].0.ends_with("other.c") && lines[1].0.ends_with("across.c"), "{lines:?}");
    assert_eq!((lines[0].1, lines[1].1), (4, 7));
}

/// JIT code: `made` calls back into `wait`, through anonymous memory.
const JIT: &str = r#"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define STAY __asm__ volatile("" ::: "memory")
__attribute__((noinline)) int wait_here(void) { char byte; int got = read(0, &byte, 1); STAY; return got; }
/* push rbp; mov rbp, rsp; call rdi; pop rbp; ret */
static const unsigned char made[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
int main(void) {
    unsigned char *code = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code, made, sizeof made);
    char path[64];
    sprintf(path, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(path, "w");
    fprintf(map, "%lx %x JS:*made file.js:1\n", (unsigned long)code, (unsigned)sizeof made);
    fclose(map);
    int got = ((int (*)(int (*)(void)))code)(wait_here);
    STAY;
    return got;
}
"#;

#[test]
#[cfg(target_arch = "x86_64")]
fn code_of_a_jit_is_followed_by_frame_pointers_and_named_by_its_perf_map() {
    let bench = Bench::new();
    let Some(program) = bench.compiled("jit", JIT, &["gcc", "-O2", "-fomit-frame-pointer"]) else { return };
    let running = Running::start(&program, &[]);
    let raw = running.blocked();
    let mut processes = Processes::new();
    let mut frames = Vec::new();
    let broke = processes.unwind(running.pid(), &raw.registers, &raw.stack, &mut frames);
    let map = format!("/tmp/perf-{}.map", running.pid());
    // The map was opened when the code ran, so it is read even when it and the process are gone.
    let pid = running.pid();
    std::fs::remove_file(map).unwrap();
    drop(running);
    processes.exited(pid);
    let names = support::named(&processes, &frames);
    assert_eq!(names[1..4], ["wait_here", "JS:*made file.js:1", "main"]);
    assert_eq!((processes.files().made_by(frames[2].file), broke), (Some((pid, Runtime::Other)), None));
    assert_eq!(processes.files().path(frames[2].file).as_ref(), "[jit]");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn each_process_has_the_names_of_its_own_perf_map() {
    let bench = Bench::new();
    let Some(program) = bench.compiled("jit", JIT, &["gcc", "-O2", "-fomit-frame-pointer"]) else { return };
    let running = [Running::start(&program, &[]), Running::start(&program, &[])];
    let mut processes = Processes::new();
    let mut frames = Vec::new();
    for (running, name) in running.iter().zip(["one", "other"]) {
        let raw = running.blocked();
        let mut stack = Vec::new();
        processes.unwind(running.pid(), &raw.registers, &raw.stack, &mut stack);
        let address = stack[2].address;
        let map = format!("/tmp/perf-{}.map", running.pid());
        std::fs::write(map, format!("{address:x} 8 before\n{address:x} 8 {name}\n")).unwrap();
        frames.push(stack[2]);
    }
    let names = support::named(&processes, &frames);
    assert_eq!(names, ["one", "other"]);
    // A link in place of the second: said, and not followed.
    let map = format!("/tmp/perf-{}.map", running[1].pid());
    std::fs::remove_file(&map).unwrap();
    std::os::unix::fs::symlink("/proc/self/environ", &map).unwrap();
    let found = processes.names(&frames, Duration::from_secs(10));
    std::fs::remove_file(&map).unwrap();
    let why = UnreadReason::NotAFile;
    assert_eq!(found.unread, [UnreadNames { pid: running[1].pid(), file: NameFile::PerfMap, why }]);
    assert_eq!(found.functions[1][0].name, None);
    std::fs::remove_file(format!("/tmp/perf-{}.map", running[0].pid())).unwrap();
}
