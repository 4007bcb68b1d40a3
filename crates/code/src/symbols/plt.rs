//! Names of the stubs that the linker makes for calls into other files: `malloc@plt`. They have no symbols; which
//! function one leads to is told by the slot that it jumps through and by the relocation that fills this slot.

use std::sync::Arc;

use gimli::Reader;

use crate::bytes::Bytes;
use crate::elf::{Arch, Elf, Section};
use crate::window::Window;

/// What stands behind the name of the function that a stub leads to.
pub(crate) const MARK: &str = "@plt";

const SHT_RELA: u32 = 4;
const RELOCATION: u64 = 24;
const SYMBOL: u64 = 24;

/// Relocations of a table that are looked through; large programs have some ten thousand.
const RELOCATIONS_MAX: u64 = 1 << 20;

/// The longest name that is read.
const NAME_MAX: usize = 4 << 10;

/// Names the addresses that have no name yet.
pub(crate) fn name(bytes: &Arc<Bytes>, elf: &Elf, addresses: &[u64], names: &mut [Option<String>]) {
    let mut slots: Vec<(u64, usize)> = Vec::new();
    for (at, address) in addresses.iter().enumerate().filter(|(at, _)| names[*at].is_none()) {
        slots.extend(slot(bytes, elf, *address).map(|slot| (slot, at)));
    }
    if slots.is_empty() {
        return;
    }
    slots.sort_unstable();
    for table in elf.sections.iter().filter(|section| section.kind == SHT_RELA && section.present()) {
        let mut relocations = Window::new(bytes, table.offset, table.len);
        for _ in 0..(table.len / RELOCATION).min(RELOCATIONS_MAX) {
            let mut word = || relocations.read_u64().ok();
            let (Some(slot), Some(info), Some(_addend)) = (word(), word(), word()) else { break };
            let first = slots.partition_point(|(other, _)| *other < slot);
            for (_, at) in slots[first..].iter().take_while(|(other, _)| *other == slot) {
                if names[*at].is_none() {
                    names[*at] = called(bytes, elf, table, info >> 32);
                }
            }
        }
    }
}

/// The slot that the stub at an address jumps through; none where there is no stub.
fn slot(bytes: &Arc<Bytes>, elf: &Elf, address: u64) -> Option<u64> {
    let within = |section: &&Section| {
        section.name.starts_with(b".plt") && address.wrapping_sub(section.address) < section.len
    };
    let section = elf.sections.iter().find(within).filter(|section| section.present())?;
    let inside = address - section.address;
    let code = Window::new(bytes, section.offset, section.len);
    match elf.arch {
        Arch::X86_64 => {
            // `jmp *slot(%rip)`, in some after `endbr64` and a prefix; stubs are 16 bytes, those of `.plt.got` may be 8.
            let len = if section.name == b".plt.got" && section.len % 16 != 0 { 8 } else { 16 };
            let start = inside / len * len;
            (0..=len - 6).find_map(|skip| {
                let mut jump = code.from(start + skip);
                let is_jump = jump.read_u16().ok()? == 0x25ff;
                let offset = jump.read_i32().ok()?;
                let next = section.address.wrapping_add(start + skip + 6);
                is_jump.then(|| next.wrapping_add_signed(offset.into()))
            })
        }
        Arch::Aarch64 => {
            // `adrp x16, page`, `ldr x17, [x16, #offset]`, in some after `bti c`, and two more.
            let at = inside / 4 * 4;
            (0..=5_u64).map_while(|back| at.checked_sub(back * 4)).chain([at + 4]).find_map(|at| {
                let mut code = code.from(at);
                let (page, load) = (code.read_u32().ok()?, code.read_u32().ok()?);
                if page & 0x9f00_001f != 0x9000_0010 || load & 0xffc0_03ff != 0xf940_0211 {
                    return None;
                }
                let pages = (page >> 5 & 0x7_ffff) << 2 | page >> 29 & 3;
                let pages = i64::from((pages << 11).cast_signed() >> 11);
                let page = section.address.wrapping_add(at) & !0xfff;
                Some(page.wrapping_add_signed(pages << 12).wrapping_add(u64::from(load >> 10 & 0xfff) * 8))
            })
        }
    }
}

/// What the symbol of a relocation is called.
fn called(bytes: &Arc<Bytes>, elf: &Elf, relocations: &Section, symbol: u64) -> Option<String> {
    let symbols = elf.sections.get(relocations.link as usize).filter(|section| section.present())?;
    let strings = elf.sections.get(symbols.link as usize)?;
    let mut entry = Window::new(bytes, symbols.offset, symbols.len).from(symbol.checked_mul(SYMBOL)?);
    let name = entry.read_u32().ok()?;
    let name = Window::new(bytes, strings.offset, strings.len).from(name.into()).text(NAME_MAX)?;
    (!name.is_empty()).then(|| String::from_utf8_lossy(&name).into_owned() + MARK)
}
