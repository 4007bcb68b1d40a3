//! Loads of x86_64, decoded by iced: their operands, and whether these step through a loop.

mod around;

use super::{Load, Operand, first};
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register,
};

/// How many instructions an address may be away from the register that steps.
const DEPTH: u32 = 3;

/// The load at `ip`, in code of which `bytes` are those from `from` on. None where `ip` is not
/// where an instruction begins.
pub(super) fn load(bytes: &[u8], from: u64, ip: u64) -> Option<Load> {
    let mut decoder = Decoder::with_ip(64, bytes, from, DecoderOptions::NONE);
    let code: Vec<Instruction> =
        decoder.iter().take_while(|one| one.ip() <= ip || !one.is_invalid()).collect();
    let at = code.binary_search_by_key(&ip, Instruction::ip).ok().filter(|at| !code[*at].is_invalid())?;
    let mut code = Code { all: code, info: InstructionInfoFactory::new() };
    let mut loads: Vec<Load> =
        code.last_before(at).into_iter().map(|index| code.load(index, Some(at))).collect();
    loads.push(code.load(at, None));
    Some(first(loads))
}

struct Code {
    all: Vec<Instruction>,
    info: InstructionInfoFactory,
}

/// How a register changes in a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Never,
    Steps,
    Jumps,
}

impl Code {
    /// The instructions other than branches that may have been the last before `at`.
    fn last_before(&self, at: usize) -> Vec<usize> {
        let plain = |index: usize| {
            let before = index.checked_sub(1)?;
            (self.all[before].flow_control() == FlowControl::Next).then_some(before)
        };
        let conditional = |index: usize| {
            let before = index.checked_sub(1)?;
            (self.all[before].flow_control() == FlowControl::ConditionalBranch).then_some(before)
        };
        let mut found: Vec<usize> = plain(at).or_else(|| plain(conditional(at)?)).into_iter().collect();
        found.extend(self.branches().filter(|(_, to)| *to == at).filter_map(|(from, _)| plain(from)));
        found
    }

    /// Direct jumps within the code, each with where it leads.
    fn branches(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.all.iter().enumerate().filter_map(|(index, one)| {
            let jumps = matches!(
                one.flow_control(),
                FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
            );
            let to = jumps.then(|| one.near_branch_target())?;
            Some((index, self.all.binary_search_by_key(&to, Instruction::ip).ok()?))
        })
    }

    /// What an instruction loads, before it begins; or once it is done and `behind` is to begin.
    fn load(&mut self, index: usize, behind: Option<usize>) -> Load {
        let one = self.all[index];
        let info = self.info.info(&one);
        let reads = |access: OpAccess| {
            matches!(
                access,
                OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
            )
        };
        let Some(memory) = info.used_memory().iter().copied().find(|memory| reads(memory.access())) else {
            return Load::None;
        };
        let (base, index_register) = (memory.base().full_register(), memory.index().full_register());
        let fixed = matches!(base, Register::None | Register::RIP) && index_register == Register::None;
        if fixed || base == Register::RSP || matches!(memory.segment(), Register::FS | Register::GS) {
            return Load::Near;
        }
        let numbers = [base, index_register].map(number);
        let narrow = memory.base().is_gpr32() || memory.index().is_gpr32();
        if narrow
            || [base, index_register].iter().zip(numbers).any(|(r, n)| *r != Register::None && n.is_none())
        {
            return Load::Unknown;
        }
        let overwritten = |register: Register| {
            let written = info.used_registers().iter().filter(|used| writes(used.access()));
            behind.is_some()
                && register != Register::None
                && written.clone().any(|used| used.register().full_register() == register)
        };
        let follows = overwritten(base);
        let is_pointer = one.mnemonic() == Mnemonic::Mov && one.op0_register() == base;
        if overwritten(index_register) || follows && !(is_pointer && index_register == Register::None) {
            let next = behind.and_then(|at| around::next(self, index, at));
            return next.map_or(Load::Unknown, Load::From);
        }
        let steps = !follows && self.steps(index, [base, index_register]);
        Load::From(Operand {
            base: numbers[0],
            index: numbers[1],
            scale: u64::from(memory.scale()),
            displacement: memory.displacement() as i64,
            steps,
            follows,
            ..Operand::default()
        })
    }

    /// Whether these registers change by a constant from one turn to the next, in the smallest loop
    /// around an instruction in which they change at all.
    fn steps(&mut self, index: usize, registers: [Register; 2]) -> bool {
        let around = |(from, to): &(usize, usize)| (*to..=*from).contains(&index);
        let mut loops: Vec<(usize, usize)> = self.branches().filter(around).collect();
        loops.sort_by_key(|(from, to)| from - to);
        for (from, to) in loops {
            match self.changes(&registers, to..=from, DEPTH) {
                Change::Never => {}
                change => return change == Change::Steps,
            }
        }
        false
    }

    fn changes(&mut self, of: &[Register], within: std::ops::RangeInclusive<usize>, depth: u32) -> Change {
        let mut all = Change::Never;
        for register in of.iter().filter(|register| **register != Register::None) {
            for index in within.clone() {
                let one = self.all[index];
                let used = self.info.info(&one).used_registers().to_vec();
                let touches = |used: &iced_x86::UsedRegister| used.register().full_register() == *register;
                if !used.iter().any(|used| writes(used.access()) && touches(used)) {
                    continue;
                }
                let sources: Vec<Register> = used
                    .iter()
                    .filter(|used| !writes(used.access()) || used.access() == OpAccess::ReadWrite)
                    .map(|used| used.register().full_register())
                    .filter(|source| source.is_gpr64())
                    .collect();
                let others: Vec<Register> =
                    sources.iter().copied().filter(|source| source != register).collect();
                if !is_sum(&one) || depth == 0 {
                    return Change::Jumps;
                }
                let of_others = self.changes(&others, within.clone(), depth - 1);
                let itself = sources.contains(register);
                match (of_others, itself) {
                    (Change::Jumps, _) | (Change::Steps, true) => return Change::Jumps,
                    (Change::Steps, false) | (Change::Never, true) => all = Change::Steps,
                    (Change::Never, false) => {}
                }
            }
        }
        all
    }
}

/// Whether an instruction only adds up, moves or scales registers and constants.
fn is_sum(one: &Instruction) -> bool {
    use Mnemonic::*;
    let in_registers = (0..one.op_count()).all(|op| one.op_kind(op) != OpKind::Memory);
    match one.mnemonic() {
        Lea => true,
        Add | Sub | Inc | Dec | Mov | Movsxd | Cdqe => in_registers,
        Shl => in_registers && one.op1_kind() != OpKind::Register,
        _ => false,
    }
}

fn writes(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

/// The DWARF number of a general register.
fn number(register: Register) -> Option<u16> {
    let first = [0, 2, 1, 3, 7, 6, 4, 5];
    register.is_gpr64().then(|| register.number()).map(|n| first.get(n).copied().unwrap_or(n as u16))
}

#[cfg(test)]
mod tests {
    use super::super::Extend;
    use super::*;

    /// `mov rax, [rax]`; `sub rcx, 1`; `jne` back.
    const CHASE: &[u8] = &[0x48, 0x8b, 0x00, 0x48, 0x83, 0xe9, 0x01, 0x75, 0xf7];
    /// `add rdx, [rdi+rax*8]`; `add rax, 1`; `cmp rax, rcx`; `jne` back.
    const ARRAY: &[u8] = &[0x48, 0x03, 0x14, 0xc7, 0x48, 0x83, 0xc0, 0x01, 0x48, 0x39, 0xc8, 0x75, 0xf3];
    /// `imul rax, r8`; `mov r9, rax`; `shr r9, 33`; `and r9, rsi`; `add rdx, [rdi+r9*8]`;
    /// `cmp rcx, rbx`; `jne` back.
    const TABLE: &[u8] = &[
        0x49, 0x0f, 0xaf, 0xc0, 0x49, 0x89, 0xc1, 0x49, 0xc1, 0xe9, 0x21, 0x49, 0x21, 0xf1, 0x4a, 0x03, 0x14,
        0xcf, 0x48, 0x39, 0xd9, 0x75, 0xe9,
    ];

    fn at(code: &[u8], ip: u64) -> Option<Load> {
        load(code, 0x1000, 0x1000 + ip)
    }

    fn operand(code: &[u8], ip: u64) -> Operand {
        match at(code, ip) {
            Some(Load::From(operand)) => operand,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_was_loaded_over_its_own_base_is_the_next_address() {
        let next = Operand { base: Some(0), scale: 1, follows: true, ..Operand::default() };
        assert_eq!(operand(CHASE, 3), next);
        // At the load itself it is both: the jump led there, and it is yet to come.
        assert_eq!(operand(CHASE, 0), Operand { follows: false, ..next });
        assert_eq!(at(CHASE, 7), Some(Load::None));
        assert_eq!(at(CHASE, 1), None, "amid an instruction");
        let narrow = [0x0f, 0xb6, 0x00, 0x90]; // movzx eax, byte ptr [rax]
        assert_eq!(at(&narrow, 3), Some(Load::Unknown));
        let index = [0x8b, 0x04, 0x87, 0x90]; // mov eax, [rdi+rax*4]
        assert_eq!(at(&index, 3), Some(Load::Unknown));
    }

    /// `mov ecx, ecx`; `cmp rcx, rsi`; `jae` out; `shl rcx, 6`; `mov ecx, [rdi+rcx+8]`; `inc rdx`;
    /// `cmp rdx, rax`; `jb` back.
    const PLACES: &[u8] = &[
        0x89, 0xc9, 0x48, 0x39, 0xf1, 0x73, 0x12, 0x48, 0xc1, 0xe1, 0x06, 0x8b, 0x4c, 0x0f, 0x08, 0x48, 0xff,
        0xc2, 0x48, 0x39, 0xc2, 0x72, 0xe9,
    ];

    #[test]
    fn what_was_loaded_over_its_own_index_makes_the_next_address() {
        let next = operand(PLACES, 15);
        assert_eq!((next.base, next.index, next.scale, next.displacement), (Some(5), Some(2), 64, 8));
        assert_eq!((next.extend, next.steps), (Extend::Low, false));
        let mut moved = PLACES.to_vec();
        moved[17] = 0xc7; // inc rdi: the base moves as well
        assert_eq!(at(&moved, 15), Some(Load::Unknown));
        let mut mixed = PLACES.to_vec();
        mixed[7..11].copy_from_slice(&[0x48, 0xf7, 0xd1, 0x90]); // not rcx
        assert_eq!(at(&mixed, 15), Some(Load::Unknown));
    }

    #[test]
    fn an_index_of_pointers_is_followed() {
        // lea rax, [rax*8+16]; mov rax, [rdi+rax]; jmp back
        let code = [0x48, 0x8d, 0x04, 0xc5, 0x10, 0, 0, 0, 0x48, 0x8b, 0x04, 0x07, 0xeb, 0xf2];
        let next = operand(&code, 0);
        assert_eq!((next.base, next.index, next.scale, next.displacement), (Some(5), Some(0), 8, 16));
    }

    #[test]
    fn an_index_that_counts_steps_and_one_that_is_computed_does_not() {
        let behind = operand(ARRAY, 4);
        assert_eq!((behind.base, behind.index, behind.scale), (Some(5), Some(0), 8));
        assert!(behind.steps);
        let table = operand(TABLE, 18);
        assert_eq!((table.base, table.index, table.steps), (Some(5), Some(9), false));
    }

    #[test]
    fn the_load_of_a_comparison_is_that_before_its_jump() {
        // cmp [rdi+rax*8], rsi; jb over the nop; nop; ret
        let code = [0x48, 0x39, 0x34, 0xc7, 0x72, 0x01, 0x90, 0xc3];
        for behind in [6, 7] {
            assert_eq!(operand(&code, behind).index, Some(0), "not taken, and taken");
        }
    }

    #[test]
    fn the_stack_constants_and_the_threads_own_are_near() {
        for code in [
            &[0x8b, 0x05, 0x0a, 0, 0, 0, 0x90][..],            // mov eax, [rip+10]
            &[0x8b, 0x44, 0x24, 0x08, 0x90],                   // mov eax, [rsp+8]
            &[0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0, 0x90], // mov rax, fs:[0]
        ] {
            assert_eq!(at(code, code.len() as u64 - 1), Some(Load::Near));
        }
        let store = [0x48, 0x89, 0x07, 0x90]; // mov [rdi], rax
        assert_eq!(at(&store, 3), Some(Load::None));
        let lea = [0x48, 0x8d, 0x07, 0x90]; // lea rax, [rdi]
        assert_eq!(at(&lea, 3), Some(Load::None));
    }

    #[test]
    fn bytes_of_any_content_do_no_harm() {
        let mut bytes: Vec<u8> = (0..=255).cycle().take(1500).collect();
        for round in 0..64_u8 {
            bytes.iter_mut().for_each(|byte| *byte = byte.wrapping_mul(5).wrapping_add(round));
            assert!((0..600).filter_map(|ip| at(&bytes, ip)).count() > 0);
        }
        assert_eq!(at(&[], 0), None);
    }
}
