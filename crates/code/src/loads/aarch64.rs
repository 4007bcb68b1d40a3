//! Loads of aarch64, by the few encodings that load to registers (Arm ARM, DDI 0487, section
//! C4.1.94, "Loads and stores"), and whether their address steps through a loop.

use super::{Extend, Load, Operand, first};

const WORD: usize = 4;

/// The load at the instruction that is `at` bytes into some code.
pub(super) fn load(bytes: &[u8], at: usize) -> Option<Load> {
    let words: Vec<u32> = bytes
        .chunks_exact(WORD)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    let at = at.is_multiple_of(WORD).then_some(at / WORD).filter(|at| *at < words.len())?;
    let mut loads: Vec<Load> =
        last_before(&words, at).into_iter().map(|index| load_of(&words, index, true)).collect();
    loads.push(load_of(&words, at, false));
    Some(first(loads))
}

/// The instructions other than branches that may have been the last before `at`.
fn last_before(words: &[u32], at: usize) -> Vec<usize> {
    let plain = |index: usize| index.checked_sub(1).filter(|before| !is_branch(words[*before]));
    let conditional = |index: usize| index.checked_sub(1).filter(|before| is_conditional(words[*before]));
    let mut found: Vec<usize> = plain(at).or_else(|| plain(conditional(at)?)).into_iter().collect();
    found.extend(branches(words).filter(|(_, to)| *to == at).filter_map(|(from, _)| plain(from)));
    found
}

/// What an instruction loads, once it is done or before it begins.
fn load_of(words: &[u32], index: usize, done: bool) -> Load {
    let word = words[index];
    let Some(Access { operand, written, into }) = access(word) else {
        return if word & 0x3b00_0000 == 0x1800_0000 { Load::Near } else { Load::None };
    };
    if operand.base == Some(31) {
        return Load::Near;
    }
    let over = |register: Option<u16>| done && register.is_some() && into.contains(&register);
    if over(operand.index) || over(operand.base) && (operand.index.is_some() || into[1].is_some()) {
        return Load::Unknown;
    }
    let follows = over(operand.base);
    // Before it begins, what it writes back is not yet there; behind it the offset is.
    let displacement = match written {
        Written::No => operand.displacement,
        Written::Before => {
            if done {
                0
            } else {
                operand.displacement
            }
        }
        Written::After => {
            if done {
                -operand.displacement
            } else {
                0
            }
        }
    };
    let steps = written != Written::No || !follows && steps(words, index, [operand.base, operand.index]);
    Load::From(Operand { displacement, steps, follows, ..operand })
}

/// When the base gets the offset added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    No,
    Before,
    After,
}

/// A load: its operand, and the general registers that it loads.
struct Access {
    operand: Operand,
    written: Written,
    into: [Option<u16>; 2],
}

/// The load that a word is, if it is one that has a base register.
fn access(word: u32) -> Option<Access> {
    let register = |low: u32| (word >> low & 31) as u16;
    let (size, vector, opc) = (word >> 30, word >> 26 & 1 == 1, word >> 22 & 3);
    // Of a vector, bit 1 of `opc` makes 16 bytes of it; bit 0 loads. 2 of 8 bytes is a prefetch.
    let loads = if vector { opc & 1 == 1 } else { opc != 0 && !(size == 3 && opc == 2) };
    let shift = if vector && opc & 2 == 2 { 4 } else { size };
    let into = |number: u16| (!vector && number != 31).then_some(number);
    let simple = |displacement: i64, written| Access {
        operand: Operand { base: Some(register(5)), displacement, ..Operand::default() },
        written,
        into: [into(register(0)), None],
    };
    let signed = |low: u32, bits: u32| i64::from((word << (32 - low - bits)) as i32 >> (32 - bits));
    match word {
        // An unsigned offset.
        _ if word & 0x3b00_0000 == 0x3900_0000 => {
            loads.then(|| simple(i64::from(word >> 10 & 0xfff) << shift, Written::No))
        }
        // A register as offset.
        _ if word & 0x3b20_0c00 == 0x3820_0800 => {
            let extend = match word >> 13 & 7 {
                2 => Extend::Low,
                6 => Extend::LowSigned,
                _ => Extend::Whole,
            };
            let scale = if word >> 12 & 1 == 1 { 1 << shift } else { 1 };
            let index = Some(register(16)).filter(|number| *number != 31);
            let base = simple(0, Written::No);
            loads.then_some(Access { operand: Operand { index, extend, scale, ..base.operand }, ..base })
        }
        // Atomic operations on memory.
        _ if word & 0x3b20_0c00 == 0x3820_0000 && !vector => Some(simple(0, Written::No)),
        // Unscaled and unprivileged; before and after.
        _ if word & 0x3b20_0000 == 0x3800_0000 => {
            let written = match word >> 10 & 3 {
                1 => Written::After,
                3 => Written::Before,
                _ => Written::No,
            };
            loads.then(|| simple(signed(12, 9), written))
        }
        // Pairs.
        _ if word & 0x3a00_0000 == 0x2800_0000 && word >> 22 & 1 == 1 => {
            let shift = if vector {
                2 + size
            } else if size == 2 {
                3
            } else {
                2
            };
            let written = match word >> 23 & 3 {
                1 => Written::After,
                3 => Written::Before,
                _ => Written::No,
            };
            let one = simple(signed(15, 7) << shift, written);
            Some(Access { into: [one.into[0], into(register(10))], ..one })
        }
        // Exclusive and ordered.
        _ if word & 0x3f00_0000 == 0x0800_0000 && word >> 22 & 1 == 1 => Some(simple(0, Written::No)),
        _ => None,
    }
}

/// Whether these registers change by a constant from one turn to the next, in the smallest loop
/// around an instruction in which they change at all.
fn steps(words: &[u32], index: usize, registers: [Option<u16>; 2]) -> bool {
    let mut loops: Vec<(usize, usize)> =
        branches(words).filter(|(from, to)| (*to..=*from).contains(&index)).collect();
    loops.sort_by_key(|(from, to)| from - to);
    for (from, to) in loops {
        let mut found = false;
        for register in registers.into_iter().flatten() {
            for word in words[to..=from].iter().filter(|word| writes(**word, register)) {
                if !adds(*word, register) {
                    return false;
                }
                found = true;
            }
        }
        if found {
            return true;
        }
    }
    false
}

/// Whether a word changes a general register.
fn writes(word: u32, register: u16) -> bool {
    if let Some(access) = access(word) {
        let base = access.written != Written::No && access.operand.base == Some(register);
        return base || access.into.contains(&Some(register));
    }
    // Data processing, with a constant or with registers.
    let computes = word & 0x1c00_0000 == 0x1000_0000 || word & 0x0e00_0000 == 0x0a00_0000;
    computes && (word & 31) as u16 == register
}

/// Whether a word adds a constant to a register, or another register to it.
fn adds(word: u32, register: u16) -> bool {
    let constant = word & 0x1f80_0000 == 0x1100_0000;
    let other = word & 0x1f20_0000 == 0x0b00_0000;
    let moves = access(word).is_some_and(|access| access.written != Written::No);
    moves || (constant || other) && (word >> 5 & 31) as u16 == register
}

fn is_conditional(word: u32) -> bool {
    word & 0xff00_0000 == 0x5400_0000 || word & 0x7c00_0000 == 0x3400_0000
}

fn is_branch(word: u32) -> bool {
    is_conditional(word) || word & 0x7c00_0000 == 0x1400_0000 || word & 0xfe00_0000 == 0xd600_0000
}

/// Direct jumps within the code, each with where it leads; calls are none.
fn branches(words: &[u32]) -> impl Iterator<Item = (usize, usize)> + '_ {
    words.iter().enumerate().filter_map(|(index, word)| {
        let by = |low: u32, bits: u32| (word << (32 - low - bits)) as i32 >> (32 - bits);
        let by = match word {
            _ if word & 0xfc00_0000 == 0x1400_0000 => by(0, 26),
            _ if word & 0xff00_0000 == 0x5400_0000 || word & 0x7e00_0000 == 0x3400_0000 => by(5, 19),
            _ if word & 0x7e00_0000 == 0x3600_0000 => by(5, 14),
            _ => return None,
        };
        let to = index.checked_add_signed(by as isize).filter(|to| *to < words.len())?;
        Some((index, to))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOP: u32 = 0xd503_201f;

    fn at(words: &[u32], index: usize) -> Option<Load> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        load(&bytes, index * WORD)
    }

    /// The operand of an instruction that is done.
    fn done(word: u32) -> Load {
        at(&[word, NOP], 1).expect("it is decoded")
    }

    #[test]
    fn each_encoding_gives_its_operand() {
        let x2 = Operand { base: Some(2), ..Operand::default() };
        let by = |displacement| Operand { displacement, ..x2 };
        let index = |extend, scale| Operand { index: Some(3), extend, scale, ..x2 };
        for (word, text, operand) in [
            (0xf940_0801, "ldr x1, [x0, #16]", Operand { base: Some(0), displacement: 16, ..x2 }),
            (0x3863_6841, "ldrb w1, [x2, x3]", index(Extend::Whole, 1)),
            (0xf863_7841, "ldr x1, [x2, x3, lsl #3]", index(Extend::Whole, 8)),
            (0xb863_5841, "ldr w1, [x2, w3, uxtw #2]", index(Extend::Low, 4)),
            (0xb863_d841, "ldr w1, [x2, w3, sxtw #2]", index(Extend::LowSigned, 4)),
            (0xf840_8441, "ldr x1, [x2], #8", Operand { steps: true, ..by(-8) }),
            (0xf85f_8c41, "ldr x1, [x2, #-8]!", Operand { steps: true, ..by(0) }),
            (0xf85f_d041, "ldur x1, [x2, #-3]", by(-3)),
            (0xa942_1041, "ldp x1, x4, [x2, #32]", by(32)),
            (0xacc1_1041, "ldp q1, q4, [x2], #32", Operand { steps: true, ..by(-32) }),
            (0x3dc0_0841, "ldr q1, [x2, #32]", by(32)),
            (0xfd40_1041, "ldr d1, [x2, #32]", by(32)),
            (0xc85f_fc41, "ldaxr x1, [x2]", by(0)),
            (0xf821_0043, "ldadd x1, x3, [x2]", by(0)),
            (0xb980_0441, "ldrsw x1, [x2, #4]", by(4)),
        ] {
            assert_eq!(done(word), Load::From(operand), "{text}");
        }
        for (word, text, load) in [
            (0xf900_0041, "str x1, [x2]", Load::None),
            (0xa900_1041, "stp x1, x4, [x2]", Load::None),
            (0xf980_0040, "prfm pldl1keep, [x2]", Load::None),
            (0x9100_2042, "add x2, x2, #8", Load::None),
            (0xf940_07e1, "ldr x1, [sp, #8]", Load::Near),
            (0x5800_0021, "ldr x1, over the next", Load::Near),
        ] {
            assert_eq!(done(word), load, "{text}");
        }
    }

    #[test]
    fn a_chase_follows_and_an_array_steps() {
        let follows = Operand { base: Some(0), follows: true, ..Operand::default() };
        assert_eq!(done(0xf940_0000), Load::From(follows), "ldr x0, [x0]");
        // ldr x1, [x2]; add x2, x2, #8; cbnz x1, back.
        let array = [0xf940_0041, 0x9100_2042, 0xb5ff_ffc1];
        assert!(matches!(at(&array, 1), Some(Load::From(Operand { steps: true, .. }))));
        // ldr x1, [x2, x3]; mul x3, x3, x5; cbnz x1, back.
        let table = [0xf863_6841, 0x9b05_7c63, 0xb5ff_ffc1];
        for index in [0, 1] {
            assert!(matches!(at(&table, index), Some(Load::From(Operand { steps: false, .. }))));
        }
        assert_eq!(at(&array, 3), None);
    }
}
