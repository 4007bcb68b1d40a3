//! How much stack the programs of an object need together with all that they call. The kernel
//! allows 512 bytes (`MAX_BPF_STACK`), and refuses a program that needs more.
//!
//! A kernel may accept what an older one refuses: the verifier rounds each frame up to 16 bytes
//! where the JIT can, to 32 otherwise (`check_max_stack_depth`). Here it is always 32.

use anyhow::{Result, bail};
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SymbolKind};
use std::collections::{BTreeMap, BTreeSet};

const STACK_MAX: u64 = 512;
const FRAME_ROUNDED_TO: u64 = 32;

/// Bytes of an instruction.
const INSTRUCTION: usize = 8;
/// The register with the frame's address.
const FRAME: u8 = 10;

/// A function: the frame that it needs by itself, and the functions that it names.
#[derive(Debug, Default)]
struct Function {
    frame: u64,
    calls: BTreeSet<String>,
}

type Functions = BTreeMap<String, Function>;

/// Checks the programs of an object.
///
/// # Errors
/// When one needs too much, with its chain of calls; when the object cannot be read.
pub(super) fn check(object: &[u8]) -> Result<()> {
    let functions = functions(object)?;
    for name in functions.keys() {
        let (bytes, chain) = deepest(&functions, name);
        if bytes > STACK_MAX {
            let chain: Vec<_> =
                chain.iter().map(|name| format!("{name} {}", functions[*name].frame)).collect();
            bail!("{bytes} bytes of stack, of {STACK_MAX}: {}", chain.join(", "));
        }
    }
    Ok(())
}

fn functions(object: &[u8]) -> Result<Functions> {
    let file = object::File::parse(object)?;
    let mut functions = Functions::new();
    for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0) {
        let Some(section) = symbol.section_index().and_then(|index| file.section_by_index(index).ok()) else {
            continue;
        };
        let of = symbol.address()..symbol.address() + symbol.size();
        let code = section.uncompressed_data()?;
        let code = code.get(of.start as usize..of.end as usize).unwrap_or_default();
        let targets = section.relocations().filter(|(offset, _)| of.contains(offset));
        let mut calls = BTreeSet::new();
        for (offset, relocation) in targets {
            let RelocationTarget::Symbol(index) = relocation.target() else { continue };
            let target = file.symbol_by_index(index)?;
            match target.kind() {
                SymbolKind::Text => calls.extend(target.name().ok().map(str::to_owned)),
                // A static function is named by its section and its place there.
                SymbolKind::Section => {
                    let at = (offset - of.start) as usize;
                    calls.extend(called_in(&file, &target, code.get(at..).unwrap_or_default()));
                }
                _ => {}
            }
        }
        functions.insert(symbol.name()?.to_owned(), Function { frame: frame(code), calls });
    }
    Ok(functions)
}

/// The function of a section that this instruction calls, if it is a call: the place is counted in
/// instructions, from the one after it.
fn called_in(file: &object::File<'_>, section: &object::Symbol<'_, '_>, code: &[u8]) -> Option<String> {
    const CALL: u8 = 0x85;
    let (instruction, _) = code.split_first_chunk::<INSTRUCTION>()?;
    let [CALL, _, _, _, place @ ..] = *instruction else { return None };
    let address = u64::try_from((i64::from(i32::from_le_bytes(place)) + 1) * INSTRUCTION as i64).ok()?;
    let mut symbols = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text);
    let target = symbols.find(|s| s.section_index() == section.section_index() && s.address() == address)?;
    target.name().ok().map(str::to_owned)
}

/// The bytes of its frame that a function uses: the farthest that it reads, writes or points to.
fn frame(code: &[u8]) -> u64 {
    const LOAD: u8 = 1;
    const STORE_IMMEDIATE: u8 = 2;
    const STORE: u8 = 3;
    const MOVE: u8 = 0xbf;
    const ADD: u8 = 0x07;
    let mut most = 0;
    // Where registers point to, from the frame's address on.
    let mut pointers = BTreeMap::from([(FRAME, 0_i64)]);
    for instruction in code.as_chunks::<INSTRUCTION>().0 {
        let [code, registers, offset_low, offset_high, immediate @ ..] = *instruction;
        let (to, from) = (registers & 0xf, registers >> 4);
        let offset = i64::from(i16::from_le_bytes([offset_low, offset_high]));
        let immediate = i64::from(i32::from_le_bytes(immediate));
        let base = match code & 7 {
            LOAD => Some(from),
            STORE_IMMEDIATE | STORE => Some(to),
            _ => None,
        };
        if let Some(at) = base.and_then(|base| pointers.get(&base)) {
            most = most.min(at + offset);
        }
        match (code, pointers.get(&from).copied(), pointers.get(&to).copied()) {
            (MOVE, Some(at), _) => {
                pointers.insert(to, at);
            }
            (ADD, _, Some(at)) => {
                pointers.insert(to, at + immediate);
                most = most.min(at + immediate);
            }
            // Stores and jumps leave the register as it is.
            _ if matches!(code & 7, STORE_IMMEDIATE | STORE | 5 | 6) => {}
            _ => {
                pointers.remove(&to);
            }
        }
    }
    most.unsigned_abs()
}

/// The stack below the deepest chain of calls that begins with this function, and the chain. The
/// kernel allows no recursion.
fn deepest<'a>(functions: &'a Functions, name: &'a str) -> (u64, Vec<&'a str>) {
    let Some(function) = functions.get(name) else { return (0, Vec::new()) };
    let below = function.calls.iter().filter(|call| *call != name).map(|call| deepest(functions, call));
    let (bytes, mut chain) = below.max_by_key(|(bytes, _)| *bytes).unwrap_or_default();
    chain.insert(0, name);
    (bytes + function.frame.max(1).next_multiple_of(FRAME_ROUNDED_TO), chain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instruction(code: u8, to: u8, from: u8, offset: i16, immediate: i32) -> Vec<u8> {
        let mut bytes = vec![code, from << 4 | to];
        bytes.extend(offset.to_le_bytes());
        bytes.extend(immediate.to_le_bytes());
        bytes
    }

    #[test]
    fn a_frame_reaches_as_far_as_it_is_used() {
        let store = instruction(0x7b, FRAME, 1, -24, 0);
        assert_eq!(frame(&store), 24);
        // r2 = r10; r2 += -96; r2 is handed to a helper.
        let point = [instruction(0xbf, 2, FRAME, 0, 0), instruction(0x07, 2, 0, 0, -96)].concat();
        assert_eq!(frame(&[store.clone(), point.clone()].concat()), 96);
        // *(r2 - 8) = 0 is eight bytes farther; another r2 is not of the frame.
        let beyond = instruction(0x7a, 2, 0, -8, 0);
        assert_eq!(frame(&[point.clone(), beyond.clone()].concat()), 104);
        let another = instruction(0xb7, 2, 0, 0, 7);
        assert_eq!(frame(&[point, another, beyond].concat()), 96);
        assert_eq!(frame(&instruction(0x7b, 1, 2, -24, 0)), 0);
    }

    #[test]
    fn a_chain_needs_the_sum_of_its_frames() {
        let function =
            |frame, calls: &[&str]| Function { frame, calls: calls.iter().map(|c| (*c).into()).collect() };
        let functions = Functions::from([
            ("a".into(), function(100, &["b", "c", "elsewhere"])),
            ("b".into(), function(0, &["c"])),
            ("c".into(), function(33, &[])),
        ]);
        assert_eq!(deepest(&functions, "a"), (128 + 32 + 64, vec!["a", "b", "c"]));
    }

    #[test]
    fn the_committed_objects_have_frames_and_fit() {
        for source in super::super::sources() {
            for arch in super::super::ARCHES {
                let object = super::super::prebuilt(&source).join(format!("{arch}.bpf.o"));
                let object = std::fs::read(object).expect("it is committed");
                check(&object).unwrap();
                let functions = functions(&object).unwrap();
                let most = functions.keys().map(|name| deepest(&functions, name).0).max();
                assert!(most > Some(64), "{arch} of {}: {most:?}", source.display());
            }
        }
    }
}
