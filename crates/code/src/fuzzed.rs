//! What the fuzzer runs on bytes that the measured program can make up: ELF files, unwind tables,
//! debug information, names, the files of runtimes, instructions.
//!
//! The functions return nothing: they must end, without a panic, whatever the bytes are.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use crate::cfi::Cfi;
use crate::image::{Image, SymbolTable};
use crate::registers::Registers;
use crate::rule::StackCopy;
use crate::{jit, kallsyms, loads, maps, name, symbols};

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
        replay("made", made);
        replay("kernel_texts", kernel_texts);
        replay("symbol", symbol);
        replay("instructions", instructions);
    }
}
