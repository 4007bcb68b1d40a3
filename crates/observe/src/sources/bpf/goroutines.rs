//! Where a Go program schedules its goroutines, and what its reasons for a wait are called.
//!
//! Functions are found by name in the table that each Go program has, stripped or not. Reasons are
//! numbers, which change from version to version: their names are read from the runtime's own
//! table, which is where the method that gives such a name takes it from.

use code::{Image, Mapping, executable_mappings};
use listing::{Flow, Instruction, disassemble};
use model::task::TaskWait;
use model::{Arch, Pid};
use python::memory::{Memory, ProcessMemory};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use sys::patience;

/// `runtime.execute(gp)`, `runtime.gopark(unlock, lock, reason)`, `runtime.runqput(pp, gp)`,
/// `runtime.goexit0(gp)`: a thread runs a goroutine, the running one waits, one is ready, and the
/// running one has ended.
const FUNCTIONS: [&str; 4] = ["runtime.execute", "runtime.gopark", "runtime.runqput", "runtime.goexit0"];
const NAMERS: [&str; 2] = ["runtime.waitReason.String", "runtime.(*waitReason).String"];

/// Addresses that may be of the table.
const TABLES_MAX: usize = 16;
/// Reasons that are looked at, and the bytes of a name.
const REASONS_MAX: usize = 64;
const NAME_MAX: usize = 64;
/// The name by which the table is known.
const KNOWN: &str = "IO wait";
/// Instructions of a function among which the first is looked for that costs least.
const BEGINNING: usize = 4;
const BEGINNING_BYTES: u64 = 64;
/// Bytes of a function among which a table's address is looked for.
const NAMER_BYTES: u64 = 4096;
const PUSH_RBP: u8 = 0x55;

/// What is known of a Go program.
#[derive(Debug)]
pub(super) struct Goroutines {
    /// File offsets: of where one runs, waits, is ready, ends.
    pub(super) places: [u64; 4],
    /// What each reason is, by its number; empty where that could not be read.
    pub(super) reasons: Vec<TaskWait>,
}

impl Goroutines {
    /// None: it is no Go program, or one of before 1.18. An error: what it has not.
    pub(super) fn of(pid: Pid, program: &Image) -> Option<Result<Self, String>> {
        let found = program.go_functions(FUNCTIONS)?;
        let places = FUNCTIONS.into_iter().zip(found).map(|(name, code)| {
            let place = code.and_then(|code| program.offset_of(place(program, code)));
            place.ok_or_else(|| format!("its runtime has no {name}"))
        });
        let places: Result<Vec<u64>, String> = places.collect();
        let places = places.map(|places| <[u64; 4]>::try_from(places).expect("one of each"));
        Some(places.map(|places| Goroutines { places, reasons: reasons(pid, program).unwrap_or_default() }))
    }
}

/// Where the arguments of a function are in its registers, and a trap costs least: the kernel does
/// itself what `push` or a conditional jump does, in 1 us; other instructions it executes out of
/// line, which is a second trap, and 10 us in a virtual machine (2026-11-30, an Intel Xeon).
fn place(program: &Image, code: Range<u64>) -> u64 {
    let end = code.end.min(code.start.saturating_add(BEGINNING_BYTES));
    let bytes = program.code(&(code.start..end)).unwrap_or_default();
    let all = disassemble(&bytes, code.start, program.arch());
    let first = || all.iter().take(BEGINNING);
    let pushes = |it: &&Instruction| {
        let at = (it.address - code.start) as usize;
        program.arch() == Arch::X86_64 && it.len == 1 && bytes.get(at) == Some(&PUSH_RBP)
    };
    let jumps = |it: &&Instruction| matches!(it.kind, Flow::Conditional { .. });
    first().find(pushes).or_else(|| first().find(jumps)).map_or(code.start, |it| it.address)
}

/// The names of the runtime's reasons, from its memory: in the file of a program that can be
/// anywhere in memory there are no addresses.
fn reasons(pid: Pid, program: &Image) -> Option<Vec<TaskWait>> {
    let memory = ProcessMemory::open(pid).ok()?;
    let moved = moved(pid, program)?;
    let namers = program.go_functions(NAMERS)?;
    let tables = namers.into_iter().flatten().flat_map(|code| {
        let end = code.end.min(code.start.saturating_add(NAMER_BYTES));
        let bytes = program.code(&(code.start..end)).unwrap_or_default();
        addresses(&bytes, code.start, program.arch())
    });
    let tables: Vec<u64> = tables.take(TABLES_MAX).collect();
    // A page of the program's may be one that nobody ever provides (userfaultfd).
    let named = patience::in_time(move || {
        let named = tables.into_iter().map(|table| names(&memory, table.wrapping_add(moved)));
        Ok(named.into_iter().find(|names| names.iter().any(|name| name == KNOWN)))
    });
    Some(named.ok()??.iter().map(|name| of_name(name)).collect())
}

/// How far a program is from where its file has it.
fn moved(pid: Pid, program: &Image) -> Option<u64> {
    let exe = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let is_its = |mapping: &Mapping| mapping.path == exe.as_os_str().as_bytes();
    let mapping = executable_mappings(pid).ok()?.into_iter().find(is_its)?;
    Some(mapping.start.wrapping_sub(program.address_of(mapping.file_offset)?))
}

/// Addresses that a function makes relative to its own.
fn addresses(bytes: &[u8], start: u64, arch: Arch) -> Vec<u64> {
    match arch {
        Arch::X86_64 => disassemble(bytes, start, arch)
            .into_iter()
            .filter_map(|at| {
                let from = usize::try_from(at.address - start).ok()?;
                // lea r64, [rip + disp32]
                let [0x48 | 0x4c, 0x8d, mode, displacement @ ..] = bytes.get(from..from + 7)? else {
                    return None;
                };
                let displacement = i32::from_le_bytes(displacement.try_into().ok()?);
                (mode & 0xc7 == 5 && at.len == 7).then(|| at.end().wrapping_add_signed(displacement.into()))
            })
            .collect(),
        Arch::Aarch64 => {
            let words: Vec<u32> = bytes
                .chunks_exact(4)
                .map(|word| u32::from_le_bytes(word.try_into().expect("four")))
                .collect();
            let at = |number: usize| start + 4 * number as u64;
            let pairs = words.windows(2).enumerate();
            // adrp xn, page; add xm, xn, offset
            let made =
                pairs.filter(|(_, pair)| pair[0] & 0x9f00_0000 == 0x9000_0000 && pair[1] >> 22 == 0x244);
            made.map(|(number, pair)| {
                let pages = (pair[0] >> 5 & 0x7_ffff) << 2 | pair[0] >> 29 & 3;
                let pages = i64::from((pages << 11) as i32 >> 11);
                (at(number) & !0xfff).wrapping_add_signed(pages << 12) + u64::from(pair[1] >> 10 & 0xfff)
            })
            .collect()
        }
        Arch::Riscv64 => Vec::new(),
    }
}

/// The strings of a table, each an address and a length.
fn names(memory: &impl Memory, table: u64) -> Vec<String> {
    let mut entry = [0; 16];
    let name = |number: usize| {
        memory.read(table.checked_add(16 * number as u64)?, &mut entry).ok()?;
        let word = |at: usize| u64::from_le_bytes(entry[at..at + 8].try_into().expect("eight bytes"));
        let mut text = vec![0; usize::try_from(word(8)).ok().filter(|len| *len <= NAME_MAX)?];
        memory.read(word(0), &mut text).ok()?;
        String::from_utf8(text).ok()
    };
    (0..REASONS_MAX).map_while(name).collect()
}

fn of_name(name: &str) -> TaskWait {
    match name.trim_end_matches(" (durable)") {
        "sync.Mutex.Lock" => TaskWait::Mutex,
        "sync.RWMutex.RLock" | "sync.RWMutex.Lock" => TaskWait::RwMutex,
        "chan receive" | "chan send" => TaskWait::Channel,
        "select" => TaskWait::Select,
        "sync.Cond.Wait" => TaskWait::Condition,
        "sync.WaitGroup.Wait" => TaskWait::Group,
        "semacquire" => TaskWait::Semaphore,
        "sleep" => TaskWait::Sleep,
        KNOWN => TaskWait::Io,
        name if name.starts_with("GC ") || name.starts_with("garbage collection") => TaskWait::Collector,
        _ => TaskWait::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn a_table_is_where_a_function_takes_its_address_from() {
        // movzx ecx, al; lea rdx, [rip + 0x100]; lea rax, [rdx + 8]; ret
        let code = [0x0f, 0xb6, 0xc8, 0x48, 0x8d, 0x15, 0, 1, 0, 0, 0x48, 0x8d, 0x42, 8, 0xc3];
        assert_eq!(addresses(&code, 0x1000, Arch::X86_64), [0x110a]);
        // adrp x1, 0x3000; add x1, x1, #0x40; ret. And adrp x27, -0x1000; add x27, x27, #8
        let words = [0xd000_0001u32, 0x9101_0021, 0xd65f_03c0, 0xf0ff_fffb, 0x9100_237b];
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(addresses(&code, 0x1000, Arch::Aarch64), [0x3040, 0x8]);
    }

    /// The memory of a process that has a table of three names at 0x100.
    struct Table(Vec<u8>);

    impl Memory for Table {
        fn read(&self, address: u64, to: &mut [u8]) -> io::Result<()> {
            let at = usize::try_from(address).map_err(io::Error::other)?;
            let from = self.0.get(at..at + to.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
            to.copy_from_slice(from);
            Ok(())
        }
    }

    #[test]
    fn reasons_are_read_up_to_what_is_no_name() {
        let mut memory = vec![0; 0x100];
        let mut table = Vec::new();
        for name in ["", KNOWN, "sync.RWMutex.RLock", "select (durable)", "GC sweep wait"] {
            table.extend([memory.len() as u64, name.len() as u64]);
            memory.extend(name.as_bytes());
        }
        table.extend([0, 1 << 40]);
        let at = memory.len() as u64;
        memory.extend(table.iter().flat_map(|word| word.to_le_bytes()));
        let names = names(&Table(memory), at);
        assert_eq!(names[..3], ["", KNOWN, "sync.RWMutex.RLock"]);
        let waits: Vec<TaskWait> = names.iter().map(|name| of_name(name)).collect();
        use TaskWait::{Collector, Io, Other, RwMutex, Select};
        assert_eq!(waits, [Other, Io, RwMutex, Select, Collector]);
    }
}
