//! What the fuzzer runs on bytes that the measured program can make up: ELF files, unwind tables,
//! debug information, names, the files of runtimes, instructions.
//!
//! The functions return nothing: they must end, without a panic, whatever the bytes are.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use crate::cfi::Cfi;
use crate::image::{Image, Section, SymbolTable};
use crate::registers::Registers;
use crate::rule::StackCopy;
use crate::{inflate, jit, kallsyms, loads, maps, name, symbols};

/// Addresses that the seeds have code at, and some that none has.
fn addresses(image: &Image) -> Vec<u64> {
    let segments = image.segments().iter().take(4).map(|segment| segment.address);
    let mut all: Vec<u64> = segments
        .flat_map(|start| (0..0x600).step_by(24).map(move |offset| start.wrapping_add(offset)))
        .chain((0x1000..0x1400).step_by(16))
        .chain([0, 1 << 40, u64::MAX])
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// An ELF file: headers, symbols, functions and their code.
pub fn elf(file: &[u8]) {
    let Ok(image) = Image::of_memory(file.to_vec()) else { return };
    for address in addresses(&image) {
        let _ = (image.address_of(address), image.offset_of(address), image.bytes_at(address, 64));
        let _ = image.code_from(address, 64);
    }
    for function in image.find("main").iter().chain(&image.at(0x1100)) {
        for code in function.ranges() {
            let _ = image.code(code);
        }
    }
    let _ = (image.needs("libc"), image.section_address(".text"));
    let _ = (image.symbol(SymbolTable::All, "main"), image.symbol(SymbolTable::Exported, "main"));
}

/// The unwind tables of an ELF file, applied to a stack.
pub fn cfi(file: &[u8]) {
    let Ok(image) = Image::of_memory(file.to_vec()) else { return };
    let mut cfi = Cfi::new(&image);
    for address in addresses(&image) {
        let _ = cfi.start(address);
        let Some(rule) = cfi.rule(address) else { continue };
        for sp in [0x7000, u64::MAX - 4, 0] {
            let mut registers = Registers::x86_64(address, sp, sp);
            let _ = rule.apply(&mut registers, StackCopy { sp, bytes: &[7; 64] });
        }
    }
}

/// The symbols and debug information of an ELF file, packed or not.
pub fn dwarf(file: &[u8]) {
    let Ok(image) = Image::of_memory(file.to_vec()) else { return };
    let _ = symbols::everything(&image, &addresses(&image), Instant::now() + Duration::from_secs(2));
}

/// A unit of debug information without functions, of code from 0x1000 on, and the abbreviations of
/// its one entry: first and last address, its line table, its directory.
const UNIT: [u8; 32] = [
    28, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, b'/', b'd', 0, 0,
];
const ABBREVIATIONS: [u8; 14] = [1, 0x11, 0, 0x11, 1, 0x12, 6, 0x10, 0x17, 0x1b, 8, 0, 0, 0];

/// The line table of a unit.
pub fn line_table(table: &[u8]) {
    let sections: [(_, &[u8]); 5] = [
        (".debug_info", &UNIT),
        (".debug_abbrev", &ABBREVIATIONS),
        (".debug_line", table),
        (".debug_line_str", table),
        (".debug_str", table),
    ];
    find_in(&sections);
}

/// Units with functions and what is inlined into them: the length of their abbreviations, these,
/// the units. What else they refer to is found in the same bytes.
pub fn inlined(bytes: &[u8]) {
    let Some((len, rest)) = bytes.split_first_chunk() else { return };
    let (abbreviations, units) = rest.split_at(usize::from(u16::from_le_bytes(*len)).min(rest.len()));
    let mut sections = vec![(".debug_info", units), (".debug_abbrev", abbreviations)];
    let others = [".debug_str", ".debug_line", ".debug_line_str", ".debug_ranges", ".debug_rnglists"];
    sections.extend(others.map(|name| (name, rest)));
    sections.push((".debug_addr", rest));
    find_in(&sections);
}

fn find_in(sections: &[(&'static str, &[u8])]) {
    let addresses: Vec<u64> = (0x1000..0x1400).step_by(60).chain([0, 1 << 40, u64::MAX]).collect();
    let deadline = Instant::now() + Duration::from_secs(2);
    symbols::lines::find_in(sections, &addresses, deadline);
    assert!(Instant::now() < deadline + Duration::from_secs(1), "it ran on");
}

/// A compressed section of an ELF file: a header and the compressed bytes; with a first byte that
/// is odd, an embedded file.
pub fn packed(bytes: &[u8]) {
    let Some((how, content)) = bytes.split_first() else { return };
    let file = [&SMALLEST_ELF[..], content].concat();
    let Ok(image) = Image::of_memory(file) else { return };
    image.bytes().set_deadline(Some(Instant::now() + Duration::from_secs(2)));
    if how % 2 == 1 {
        let _ = inflate::packed_file(&image, &Section::behind_header(content.len() as u64));
    } else {
        let _ = inflate::section(&image, &Section::behind_header(content.len() as u64));
    }
}

/// The header of an ELF file without segments and sections.
const SMALLEST_ELF: [u8; 64] = {
    let mut header = [0; 64];
    let begin = *b"\x7fELF\x02\x01\x01";
    let mut at = 0;
    while at < begin.len() {
        header[at] = begin[at];
        at += 1;
    }
    (header[16], header[18], header[20]) = (2, 62, 1);
    header
};

/// A file in memory with these bytes.
fn file(bytes: &[u8]) -> Option<File> {
    let file = File::from(rustix::fs::memfd_create("fuzzed", rustix::fs::MemfdFlags::CLOEXEC).ok()?);
    file.write_all_at(bytes, 0).ok()?;
    Some(file)
}

/// A perf map, or a jitdump file.
pub fn made(bytes: &[u8]) {
    let Some(file) = file(bytes) else { return };
    let addresses = || (0..1 << 16).step_by(0x400).chain([u64::MAX, 0x7f00_0000_1000]);
    let mut named = jit::Named::new(addresses());
    let _ = jit::names_of_map(&file, &mut named);
    let mut named = jit::Named::new(addresses());
    let _ = jit::names_of_dump(&file, &mut named);
    let _ = addresses().filter_map(|address| named.of(address)).count();
}

/// Texts of the kernel that have names in them: `/proc/kallsyms` and `/proc/PID/maps`.
pub fn kernel_texts(text: &[u8]) {
    if let model::Seen::Value(symbols) = kallsyms::Kallsyms::parse(text) {
        let _ = [0, 0x1000, u64::MAX].map(|address| symbols.name(address).map(str::len));
    }
    let _ = text.split(|byte| *byte == b'\n').filter_map(maps::mapping).count();
}

/// A symbol.
pub fn symbol(text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    let _ = (name::demangled(&text), name::bare(&name::signature(&text)).len());
}

/// Instructions, of which one loads.
pub fn instructions(bytes: &[u8]) {
    let Some((at, code)) = bytes.split_first() else { return };
    loads::decoded(code, usize::from(*at).min(code.len()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use seeds::replay;

    #[test]
    fn what_was_made_up_is_named_or_refused() {
        replay("elf", elf);
        replay("cfi", cfi);
        replay("dwarf", dwarf);
        replay("line_table", line_table);
        replay("inlined", inlined);
        replay("packed", packed);
        replay("made", made);
        replay("kernel_texts", kernel_texts);
        replay("symbol", symbol);
        replay("instructions", instructions);
    }
}
