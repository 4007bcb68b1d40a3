//! The listing of a function: shares of samples with their intervals, exact execution counts,
//! source lines.
//!
//! Its JSON is that of exact counts (`counted`), which have no samples: these are left out of it.

use crate::block::blocks;
use crate::instruction::{Flow, Instruction};
use model::{JsonSchema, Ns};
use serde::{Deserialize, Serialize};
use stats::{Proportion, wilson_of};
use std::collections::BTreeMap;

/// Below this many samples, shares of single instructions are unreliable.
const FEW: u64 = 100;

/// The subject of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subject {
    /// The function. Untrusted until escaped.
    pub name: String,
    /// The file that has it.
    pub module: String,
    /// CPU time of the whole program, for the function's share. 0 where it was not sampled.
    #[serde(skip)]
    pub program_ns: Ns,
    /// Samples of the whole program.
    #[serde(skip)]
    pub program_samples: u64,
}

/// The samples at one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AddressSamples {
    /// Time that the samples stand for.
    pub ns: Ns,
    /// Number of samples.
    pub count: u64,
}

/// Exact executions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExecutionCounts {
    /// By address in the file; a missing address was not executed.
    pub executions: BTreeMap<u64, u64>,
    /// Counting stopped at a limit: more was executed than counted.
    pub partial: bool,
}

/// A line of the source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceLine {
    /// Its file.
    pub file: String,
    /// Its number.
    pub line: u32,
    /// Its text; null where the file could not be read.
    pub text: Option<String>,
}

/// Caveats of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Note {
    /// Skid: samples are taken by interrupts and have the address of the next instruction, so the
    /// time of a slow instruction is charged to the one after it. Shares of blocks are little
    /// affected, those of instructions are.
    Skid,
    /// Few samples: this many.
    Few(u64),
    /// No samples.
    NoSamples,
    /// This many samples are at addresses where no instruction begins; they are in the total only.
    Astray(u64),
    /// Counting stopped at a limit.
    Partial,
    /// This many jumps are indirect: blocks that only they reach are not separated, unless they
    /// were executed while counting.
    IndirectJumps(#[schemars(range(min = 1))] usize),
}

/// One instruction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Listed {
    /// The instruction.
    #[serde(flatten)]
    pub instruction: Instruction,
    /// Its samples.
    #[serde(skip)]
    pub sample: AddressSamples,
    /// Their share of the function's time.
    #[serde(skip, default = "unknown")]
    pub share: Proportion,
    /// Number of executions, where counted.
    pub executions: Option<u64>,
    /// An index into `lines` of the listing, where it differs from that of the instruction before.
    pub line: Option<usize>,
}

/// One basic block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListedBlock {
    /// Address of its first instruction.
    pub start: u64,
    /// Address after its last.
    pub end: u64,
    /// Blocks of the function that may come next, by their starts.
    pub successors: Vec<u64>,
    /// The samples in it.
    #[serde(skip)]
    pub sample: AddressSamples,
    /// Their share of the function's time.
    #[serde(skip, default = "unknown")]
    pub share: Proportion,
    /// Number of executions, where counted.
    pub executions: Option<u64>,
    /// Its instructions.
    pub rows: Vec<Listed>,
}

/// Blocks that are only summed up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherBlocks {
    /// How many.
    pub blocks: u64,
    /// Their instructions.
    pub instructions: u64,
    /// Executions of these, all together.
    pub executed: u64,
}

/// A function with samples, counts and source lines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Listing {
    /// Its subject.
    pub subject: Subject,
    /// The function's samples, including those between instructions.
    #[serde(skip)]
    pub sample: AddressSamples,
    /// Their share of the program's time on a CPU; none where that is not known.
    #[serde(skip)]
    pub share: Option<Proportion>,
    /// Its basic blocks, by address: those that executed most instructions, if the function has
    /// more than a result has room for.
    pub blocks: Vec<ListedBlock>,
    /// The blocks of the function that are not in `blocks`.
    #[serde(default)]
    pub others: OtherBlocks,
    /// An index into `blocks`: the block with most time or, without samples, most executed
    /// instructions.
    pub hottest: Option<usize>,
    /// Executed instructions, where they were counted.
    pub executed: Option<u64>,
    /// Lines of the source that the instructions come from.
    pub lines: Vec<SourceLine>,
    /// Its caveats.
    pub notes: Vec<Note>,
}

/// The share where there are no samples.
fn unknown() -> Proportion {
    stats::wilson(0, 0)
}

/// Makes the listing of a function. `samples` and `counts` are by address; each of `lines` holds
/// from its address to the next (the form of a line table).
///
/// Shares are of the function's time. Their intervals are Wilson's at 95 %, for as many equal
/// samples as the weighted ones are worth (Kish); samples at one address count as equal to each
/// other.
pub fn listing(
    subject: Subject,
    instructions: &[Instruction],
    samples: &BTreeMap<u64, AddressSamples>,
    lines: &BTreeMap<u64, SourceLine>,
    counts: Option<&ExecutionCounts>,
) -> Listing {
    let total = sum(samples.values());
    // An effective size below the count means unequal weights.
    let squares: f64 =
        samples.values().filter(|s| s.count > 0).map(|s| (s.ns as f64).powi(2) / s.count as f64).sum();
    let worth = if squares > 0.0 { (total.ns as f64).powi(2) / squares } else { 0.0 };
    let share_of = |part: AddressSamples| proportion(part.ns, total.ns, worth);
    let execution = |address: u64| counts.map(|counts| counts.executions.get(&address).copied().unwrap_or(0));

    let mut used = Lines::default();
    let mut listed = Vec::new();
    for block in blocks(instructions, &entered(instructions, counts)) {
        let first = instructions.partition_point(|instruction| instruction.address < block.start);
        let of_block = instructions[first..].iter().take_while(|instruction| instruction.address < block.end);
        let rows: Vec<Listed> = of_block
            .map(|instruction| {
                let sample = samples.get(&instruction.address).copied().unwrap_or_default();
                Listed {
                    instruction: instruction.clone(),
                    sample,
                    share: share_of(sample),
                    executions: execution(instruction.address),
                    line: lines
                        .range(..=instruction.address)
                        .next_back()
                        .and_then(|(_, line)| used.change_to(line)),
                }
            })
            .collect();
        let sample = sum(rows.iter().map(|row| &row.sample));
        listed.push(ListedBlock {
            start: block.start,
            end: block.end,
            successors: block.successors,
            sample,
            share: share_of(sample),
            executions: execution(block.start),
            rows,
        });
    }
    let heat =
        |block: &ListedBlock| (block.sample.ns, block.executions.unwrap_or(0) * block.rows.len() as u64);
    let hottest = (0..listed.len()).rev().max_by_key(|index| heat(&listed[*index]));
    let found = sum(listed.iter().map(|block| &block.sample));
    Listing {
        share: (subject.program_ns > 0)
            .then(|| proportion(total.ns, subject.program_ns, subject.program_samples as f64)),
        subject,
        sample: total,
        hottest: hottest.filter(|index| heat(&listed[*index]) != (0, 0)),
        executed: counts
            .map(|_| listed.iter().flat_map(|block| &block.rows).filter_map(|row| row.executions).sum()),
        notes: notes(total, total.count.saturating_sub(found.count), instructions, counts),
        blocks: listed,
        others: OtherBlocks::default(),
        lines: used.lines,
    }
}

fn sum<'a>(samples: impl Iterator<Item = &'a AddressSamples>) -> AddressSamples {
    samples.fold(AddressSamples::default(), |sum, sample| AddressSamples {
        ns: sum.ns + sample.ns,
        count: sum.count + sample.count,
    })
}

fn proportion(part: Ns, whole: Ns, worth: f64) -> Proportion {
    if whole == 0 || worth <= 0.0 {
        return unknown();
    }
    wilson_of(part.min(whole) as f64 / whole as f64, worth)
}

/// Where counts change without a known jump, a block begins that only an indirect jump reaches.
fn entered(instructions: &[Instruction], counts: Option<&ExecutionCounts>) -> Vec<u64> {
    let Some(counts) = counts else { return Vec::new() };
    let execution =
        |instruction: &Instruction| counts.executions.get(&instruction.address).copied().unwrap_or(0);
    instructions
        .windows(2)
        // After a call fewer may come because it did not return: no block of its own.
        .filter(|pair| execution(&pair[1]) > execution(&pair[0]) && pair[0].kind.goes_on())
        .map(|pair| pair[1].address)
        .collect()
}

fn notes(
    total: AddressSamples,
    astray: u64,
    instructions: &[Instruction],
    counts: Option<&ExecutionCounts>,
) -> Vec<Note> {
    let mut notes = Vec::new();
    match total.count {
        // Counts were requested instead.
        0 if counts.is_some() => {}
        0 => notes.push(Note::NoSamples),
        few if few < FEW => notes.extend([Note::Skid, Note::Few(few)]),
        _ => notes.push(Note::Skid),
    }
    if astray > 0 {
        notes.push(Note::Astray(astray));
    }
    if counts.is_some_and(|counts| counts.partial) {
        notes.push(Note::Partial);
    }
    match instructions.iter().filter(|instruction| instruction.kind == Flow::Indirect).count() {
        0 => {}
        jumps => notes.push(Note::IndirectJumps(jumps)),
    }
    notes
}

/// The lines so far, each once.
#[derive(Default)]
struct Lines {
    lines: Vec<SourceLine>,
    last: Option<usize>,
}

impl Lines {
    /// The line's index, if it differs from the last one. Line 0 means code without a line.
    fn change_to(&mut self, line: &SourceLine) -> Option<usize> {
        if line.line == 0 {
            return None;
        }
        let known = self.lines.iter().position(|known| (known.line, &known.file) == (line.line, &line.file));
        let index = known.unwrap_or_else(|| {
            self.lines.push(line.clone());
            self.lines.len() - 1
        });
        (self.last.replace(index) != Some(index)).then_some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disassemble::disassemble;
    use model::Arch;

    /// `mov ecx, 5; again: dec ecx; jne again; ret`.
    const CODE: &[u8] = &[0xb9, 5, 0, 0, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3];

    fn subject() -> Subject {
        Subject { name: "f".into(), module: "a.out".into(), program_ns: 4000, program_samples: 400 }
    }

    fn check(samples: &[(u64, u64)], counts: Option<&ExecutionCounts>) -> Listing {
        let samples = samples
            .iter()
            .map(|(at, count)| (*at, AddressSamples { ns: count * 10, count: *count }))
            .collect();
        let line = |line, text: &str| SourceLine { file: "f.c".into(), line, text: Some(text.into()) };
        let lines = BTreeMap::from([
            (0x100, line(1, "void f() {")),
            (0x105, line(2, "while")),
            (0x109, line(3, "}")),
        ]);
        listing(subject(), &disassemble(CODE, 0x100, Arch::X86_64), &samples, &lines, counts)
    }

    #[test]
    fn the_block_with_most_samples_is_the_hottest_and_shares_add_up() {
        let listing = check(&[(0x100, 20), (0x105, 60), (0x107, 120)], None);
        assert_eq!(listing.blocks.iter().map(|block| block.start).collect::<Vec<_>>(), [0x100, 0x105, 0x109]);
        assert_eq!(listing.hottest, Some(1));
        assert_eq!(listing.sample, AddressSamples { ns: 2000, count: 200 });
        let hot = &listing.blocks[1];
        assert_eq!((hot.sample.count, hot.share.value), (180, 0.9));
        // Wilson's for 180 of 200.
        assert!((hot.share.lo - 0.850).abs() < 0.001 && (hot.share.hi - 0.934).abs() < 0.001, "{hot:?}");
        assert_eq!(listing.share.map(|share| share.value), Some(0.5));
        let shares: f64 = listing.blocks.iter().map(|block| block.share.value).sum();
        assert!((shares - 1.0).abs() < 1e-9);
        assert_eq!(listing.notes, [Note::Skid]);
    }

    #[test]
    fn lines_stand_where_they_change() {
        let listing = check(&[], None);
        let lines: Vec<_> = listing.blocks.iter().flat_map(|block| &block.rows).map(|row| row.line).collect();
        assert_eq!(lines, [Some(0), Some(1), None, Some(2)]);
        assert_eq!((listing.hottest, listing.notes), (None, vec![Note::NoSamples]));
    }

    #[test]
    fn counts_alone_find_the_hottest_too() {
        let executions = BTreeMap::from([(0x100, 1), (0x105, 5), (0x107, 5), (0x109, 1)]);
        let listing = check(&[], Some(&ExecutionCounts { executions, partial: true }));
        assert_eq!((listing.hottest, listing.executed), (Some(1), Some(12)));
        assert_eq!(listing.blocks[1].executions, Some(5));
        assert_eq!(listing.notes, [Note::Partial]);
    }

    #[test]
    fn samples_beside_instructions_are_in_the_total_and_said() {
        let listing = check(&[(0x105, 10), (0x106, 5)], None);
        assert_eq!(listing.sample.count, 15);
        assert_eq!(listing.notes, [Note::Skid, Note::Few(15), Note::Astray(5)]);
    }

    #[test]
    fn what_only_a_jump_table_leads_to_is_found_by_its_counts() {
        // jmp rax; nop; nop; ret: entered at the second nop.
        let code = disassemble(&[0xff, 0xe0, 0x90, 0x90, 0xc3], 0, Arch::X86_64);
        let counts = ExecutionCounts { executions: BTreeMap::from([(0, 4), (3, 4), (4, 4)]), partial: false };
        let listing = listing(subject(), &code, &BTreeMap::new(), &BTreeMap::new(), Some(&counts));
        assert_eq!(listing.blocks.iter().map(|block| block.start).collect::<Vec<_>>(), [0, 2, 3]);
        assert_eq!(listing.notes, [Note::IndirectJumps(1)]);
    }
}
