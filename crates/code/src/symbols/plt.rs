//! Names of PLT stubs, which the linker makes for calls into other files: `malloc@plt`. They have
//! no symbols; the function of a stub follows from the slot that it jumps through and from the
//! relocation of this slot.

use gimli::Reader;
use model::Arch;
use object::LittleEndian as Le;
use object::elf::{Rela64, SHT_RELA, Sym64};

use crate::image::{Image, Section, structure};

/// The suffix for the name of a stub.
pub(crate) const MARK: &str = "@plt";

/// The limit of relocations read; large programs have some ten thousand.
const RELOCATIONS_MAX: usize = 1 << 20;

/// The longest name that is read.
const NAME_MAX: usize = 4 << 10;

/// Names the addresses that have no name yet.
pub(crate) fn name(image: &Image, addresses: &[u64], names: &mut [Option<String>]) {
    let mut slots: Vec<(u64, usize)> = Vec::new();
    for (at, address) in addresses.iter().enumerate().filter(|(at, _)| names[*at].is_none()) {
        slots.extend(slot(image, *address).map(|slot| (slot, at)));
    }
    if slots.is_empty() {
        return;
    }
    slots.sort_unstable();
    for table in image.sections.iter().filter(|section| section.kind == SHT_RELA && section.present()) {
        let mut relocations = image.window(table);
        for _ in 0..RELOCATIONS_MAX {
            let Ok(relocation) = structure::<Rela64<Le>>(&mut relocations) else { break };
            let slot = relocation.r_offset.get(Le);
            let first = slots.partition_point(|(other, _)| *other < slot);
            for (_, at) in slots[first..].iter().take_while(|(other, _)| *other == slot) {
                if names[*at].is_none() {
                    names[*at] = called(image, table, relocation.r_info.get(Le) >> 32);
                }
            }
        }
    }
}

/// The slot that the stub at an address jumps through; none where there is no stub.
fn slot(image: &Image, address: u64) -> Option<u64> {
    let within = |section: &&Section| section.name.starts_with(b".plt") && section.contains(address);
    let section = image.sections.iter().find(within).filter(|section| section.present())?;
    let inside = address - section.address;
    let code = image.window(section);
    match image.arch {
        Arch::X86_64 => {
            // `jmp *slot(%rip)`, in some after `endbr64` and a prefix; stubs are 16 bytes, those of
            // `.plt.got` may be 8.
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
        Arch::Riscv64 => {
            // `auipc t3, pages`, `ld t3, offset(t3)`, and two more.
            let at = inside / 16 * 16;
            let mut code = code.from(at);
            let (page, load) = (code.read_i32().ok()?, code.read_i32().ok()?);
            if page & 0xfff != 0xe17 || load & 0xf_ffff != 0xe_3e03 {
                return None;
            }
            let offset = i64::from(page & !0xfff) + i64::from(load >> 20);
            Some(section.address.wrapping_add(at).wrapping_add_signed(offset))
        }
    }
}

/// The name of the symbol of a relocation.
fn called(image: &Image, relocations: &Section, symbol: u64) -> Option<String> {
    let symbols = image.sections.get(relocations.link as usize).filter(|section| section.present())?;
    let strings = image.sections.get(symbols.link as usize)?;
    let at = symbol.checked_mul(size_of::<Sym64<Le>>() as u64)?;
    let symbol: Sym64<Le> = structure(&mut image.window(symbols).from(at)).ok()?;
    let name = image.window(strings).from(symbol.st_name.get(Le).into()).text(NAME_MAX)?;
    (!name.is_empty()).then(|| String::from_utf8_lossy(&name).into_owned() + MARK)
}
