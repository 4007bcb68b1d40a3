//! Basic blocks: instructions that are always executed together.

use crate::instruction::{Flow, Instruction};
use std::collections::BTreeSet;

/// A basic block: it is entered at its first instruction only and left at its last only. Calls do
/// not end a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Address of its first instruction.
    pub start: u64,
    /// Address after its last.
    pub end: u64,
    /// Starts of the blocks of the function that may come next, ascending.
    pub successors: Vec<u64>,
    /// How it ends. `Plain` where it ends only because another begins.
    pub last: Flow,
}

/// The blocks of a function. A block begins at the function's start, at each target of a jump in
/// it, after each jump, return or trap, and at `entries`: targets known from elsewhere, such as
/// jump tables or exceptions. Unknown targets of this kind stay inside a block. Jumps into the
/// middle of an instruction are ignored.
pub fn blocks(instructions: &[Instruction], entries: &[u64]) -> Vec<Block> {
    let mut leaders: BTreeSet<u64> = entries.iter().copied().collect();
    for instruction in instructions {
        leaders.extend(instruction.kind.target());
        if !matches!(instruction.kind, Flow::Plain | Flow::Call { .. }) {
            leaders.insert(instruction.end());
        }
    }
    let mut blocks: Vec<Block> = Vec::new();
    for instruction in instructions {
        let (address, end) = (instruction.address, instruction.end());
        match blocks.last_mut() {
            Some(block) if !leaders.contains(&address) && block.end == address => {
                (block.end, block.last) = (end, instruction.kind);
            }
            _ => blocks.push(Block { start: address, end, successors: Vec::new(), last: instruction.kind }),
        }
    }
    let starts: BTreeSet<u64> = blocks.iter().map(|block| block.start).collect();
    for block in &mut blocks {
        let mut next: BTreeSet<u64> = block.last.target().into_iter().collect();
        if block.last.goes_on() {
            next.insert(block.end);
        }
        block.successors = next.intersection(&starts).copied().collect();
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Instructions of four bytes each, from 0 on.
    fn check(kinds: &[Flow], entries: &[u64], expected: &[(u64, u64, &[u64])]) {
        let instructions: Vec<Instruction> = kinds
            .iter()
            .enumerate()
            .map(|(index, kind)| Instruction {
                address: index as u64 * 4,
                len: 4,
                text: String::new(),
                kind: *kind,
            })
            .collect();
        let found = blocks(&instructions, entries);
        let found: Vec<_> =
            found.iter().map(|block| (block.start, block.end, block.successors.as_slice())).collect();
        assert_eq!(found, expected);
    }

    use Flow::{Call, Conditional, Indirect, Jump, Plain, Return, Trap};

    #[test]
    fn straight_code_is_one_block_calls_and_all() {
        check(&[Plain, Call { to: Some(400) }, Plain, Return], &[], &[(0, 16, &[])]);
        check(&[], &[], &[]);
    }

    #[test]
    fn a_loop_is_split_at_its_head_and_after_its_jump() {
        let kinds = [Plain, Plain, Conditional { to: 4 }, Return];
        check(&kinds, &[], &[(0, 4, &[4]), (4, 12, &[4, 12]), (12, 16, &[])]);
    }

    #[test]
    fn jumps_out_of_the_function_and_into_instructions_lead_nowhere() {
        check(&[Conditional { to: 6 }, Plain, Jump { to: 400 }], &[], &[(0, 4, &[4]), (4, 12, &[])]);
    }

    #[test]
    fn where_a_table_leads_is_known_only_when_given() {
        let kinds = [Indirect, Plain, Plain, Trap];
        check(&kinds, &[], &[(0, 4, &[]), (4, 16, &[])]);
        check(&kinds, &[8], &[(0, 4, &[]), (4, 8, &[8]), (8, 16, &[])]);
    }
}
