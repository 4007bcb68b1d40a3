//! Results of exact counts of bounded size: a megabyte of JSON, whatever was counted.
//!
//! A function of an interpreter has ten thousand instructions, a program a thousand mapped files.
//! Blocks beyond the limit are those that executed fewest instructions; they are one sum, so that
//! all that executed is still told.

use crate::counted::{CountedBlocks, UnnamedSum};
use crate::listing::{ListedBlock, Listing, SourceLine};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::mem;

/// Indented JSON of all listings together.
const LISTINGS_BYTES: usize = 850_000;
/// Of that, what a block, an instruction and a line of the source take besides their texts.
const BLOCK_BYTES: usize = 350;
const ROW_BYTES: usize = 280;
const LINE_BYTES: usize = 130;
/// Files with code that no function has.
const FILES_MAX: usize = 100;
/// Bytes of a line of source, and of a name.
const TEXT_BYTES: usize = 256;

impl CountedBlocks {
    /// The same result with no more than a megabyte of JSON: blocks and files beyond that are sums.
    pub fn bounded(mut self) -> Self {
        let each = LISTINGS_BYTES / self.listings.len().max(1);
        for listing in &mut self.listings {
            shorten(listing, each);
        }
        let names = self.functions.iter_mut().flat_map(|sum| [&mut sum.name, &mut sum.module]);
        names.for_each(cut);
        self.unnamed.iter_mut().for_each(|sum| cut(&mut sum.module));
        if self.unnamed.len() > FILES_MAX {
            self.unnamed.sort_by_key(|sum| Reverse(sum.instructions));
            let rest = self.unnamed.split_off(FILES_MAX - 1);
            let instructions = rest.iter().map(|sum| sum.instructions).sum();
            self.unnamed.push(UnnamedSum { module: format!("{} more files", rest.len()), instructions });
        }
        self
    }
}

/// Leaves out the blocks of a function that executed fewest instructions, where all need more than
/// `most` bytes.
fn shorten(listing: &mut Listing, most: usize) {
    [&mut listing.subject.name, &mut listing.subject.module].into_iter().for_each(cut);
    for line in &mut listing.lines {
        cut(&mut line.file);
        line.text.iter_mut().for_each(cut);
    }
    let kept = kept(listing, most);
    if kept.iter().all(|kept| *kept) {
        return;
    }
    let hottest = listing.hottest.map(|at| listing.blocks[at].start);
    // A line stands where it changes: what is left out hands it on.
    let mut at_line = None;
    let mut blocks = Vec::new();
    for (mut block, kept) in mem::take(&mut listing.blocks).into_iter().zip(kept) {
        if kept {
            let line = at_line.take();
            if let Some(row) = block.rows.first_mut() {
                row.line = row.line.or(line);
            }
            blocks.push(block);
            continue;
        }
        at_line = block.rows.iter().rev().find_map(|row| row.line).or(at_line);
        listing.others.blocks += 1;
        listing.others.instructions += block.rows.len() as u64;
        listing.others.executed += executed(&block);
    }
    listing.hottest = hottest.and_then(|start| blocks.iter().position(|block| block.start == start));
    listing.blocks = blocks;
    keep_used_lines(listing);
}

/// Which blocks stay: in the order of what they executed, those that fit.
fn kept(listing: &Listing, most: usize) -> Vec<bool> {
    let mut order: Vec<usize> = (0..listing.blocks.len()).collect();
    order.sort_by_key(|at| Reverse(executed(&listing.blocks[*at])));
    // The line that a block begins in, also where it does not change there.
    let mut at_line = None;
    let mut lines_of: Vec<BTreeSet<usize>> = Vec::new();
    for block in &listing.blocks {
        let own = block.rows.iter().filter_map(|row| row.line);
        lines_of.push(at_line.into_iter().chain(own).collect());
        at_line = block.rows.iter().rev().find_map(|row| row.line).or(at_line);
    }
    let mut kept = vec![false; listing.blocks.len()];
    let (mut room, mut lines) = (most, BTreeSet::new());
    for at in order {
        let new: Vec<usize> = lines_of[at].difference(&lines).copied().collect();
        let needs = block_bytes(&listing.blocks[at])
            + new.iter().map(|line| line_bytes(&listing.lines[*line])).sum::<usize>();
        if needs <= room {
            room -= needs;
            kept[at] = true;
            lines.extend(new);
        }
    }
    kept
}

fn executed(block: &ListedBlock) -> u64 {
    block.rows.iter().filter_map(|row| row.executions).sum()
}

fn block_bytes(block: &ListedBlock) -> usize {
    /// An address in decimal, indented.
    const SUCCESSOR: usize = 40;
    let rows = block.rows.iter().map(|row| ROW_BYTES + text_bytes(&row.instruction.text));
    BLOCK_BYTES + block.successors.len() * SUCCESSOR + rows.sum::<usize>()
}

fn line_bytes(line: &SourceLine) -> usize {
    LINE_BYTES + text_bytes(&line.file) + line.text.as_deref().map_or(0, text_bytes)
}

/// At most this many bytes of JSON, with what is not safe to print as `\u....`.
fn text_bytes(text: &str) -> usize {
    let of = |byte: u8| match byte {
        b'"' | b'\\' => 2,
        0x20..=0x7e => 1,
        0x80.. => 3,
        _ => 6,
    };
    text.bytes().map(of).sum()
}

/// Leaves only the lines that the instructions come from.
fn keep_used_lines(listing: &mut Listing) {
    let mut moved: Vec<Option<usize>> = vec![None; listing.lines.len()];
    let mut lines = Vec::new();
    let rows = listing.blocks.iter_mut().flat_map(|block| &mut block.rows);
    for line in rows.filter_map(|row| row.line.as_mut()) {
        let at = *moved[*line].get_or_insert_with(|| {
            lines.push(listing.lines[*line].clone());
            lines.len() - 1
        });
        *line = at;
    }
    listing.lines = lines;
}

fn cut(text: &mut String) {
    const MARK: &str = "…";
    if text.len() > TEXT_BYTES {
        text.truncate(text.floor_char_boundary(TEXT_BYTES - MARK.len()));
        text.push_str(MARK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counted::{OtherFunctions, SCHEMA_BLOCKS, Stopped};
    use crate::disassemble;
    use crate::listing::{ExecutionCounts, OtherBlocks, Subject, listing};
    use model::recording::Host;
    use model::{Arch, Seen};
    use std::collections::BTreeMap;

    const MEGABYTE: usize = 1_000_000;

    /// `count` times `nop; jmp to the next instruction`: blocks of two instructions, each executed
    /// more often than the one before, and a line of the source for every two of them.
    fn function(count: u64, text: &str) -> Listing {
        let code: Vec<u8> = [0x90, 0xeb, 0x00].repeat(usize::try_from(count).unwrap());
        let code = disassemble(&code, 0, Arch::X86_64);
        let executions = code.iter().map(|one| (one.address, one.address / 3)).collect();
        let line = |at: u64| SourceLine {
            file: "f.c".into(),
            line: u32::try_from(at + 1).unwrap(),
            text: Some(text.to_owned()),
        };
        let lines = (0..count).step_by(2).map(|at| (at * 3, line(at))).collect();
        let subject =
            Subject { name: "f".repeat(5000), module: "a.out".into(), program_ns: 0, program_samples: 0 };
        let counts = ExecutionCounts { executions, partial: false };
        listing(subject, &code, &BTreeMap::new(), &lines, Some(&counts))
    }

    fn result(listings: Vec<Listing>, files: u64) -> CountedBlocks {
        let sum = |at| UnnamedSum { module: format!("/lib/{at}.so"), instructions: at };
        CountedBlocks {
            schema: SCHEMA_BLOCKS.into(),
            host: Host {
                name: "host".into(),
                kernel: "6.18".into(),
                arch: "x86_64".into(),
                cpus: 2,
                memory_bytes: Seen::Absent,
                virtualisation: Seen::Absent,
            },
            started_at: String::new(),
            command: vec!["./a.out".into()],
            function: None,
            functions: Vec::new(),
            other: OtherFunctions::default(),
            unnamed: (0..files).map(sum).collect(),
            listings,
            steps: 0,
            elapsed_ns: 0,
            children: 0,
            stopped: Stopped::Ended,
        }
    }

    fn json(result: &CountedBlocks) -> usize {
        serde_json::to_string_pretty(result).unwrap().len()
    }

    #[test]
    fn blocks_beyond_the_limit_are_one_sum_and_nothing_that_executed_is_lost() {
        let whole = result(vec![function(4000, "x = 1;")], 0);
        assert!(json(&whole) > MEGABYTE, "{}", json(&whole));
        let small = whole.bounded();
        let bytes = json(&small);
        // Most of the room is used: what a row takes is not far from what is reckoned with.
        assert!(bytes <= MEGABYTE && bytes > MEGABYTE / 2, "{bytes}");
        let small = &small.listings[0];
        let others = small.others;
        assert_eq!(small.blocks.len() as u64 + others.blocks, 4000);
        assert_eq!(others.instructions, 2 * others.blocks);
        assert_eq!(small.blocks.iter().map(executed).sum::<u64>() + others.executed, small.executed.unwrap());
        // Those that executed most stay, in their order.
        assert_eq!(small.blocks[0].start, others.blocks * 3);
        assert_eq!(small.hottest, Some(small.blocks.len() - 1));
        let first = &small.lines[small.blocks[0].rows[0].line.unwrap()];
        assert_eq!(u64::from(first.line), others.blocks / 2 * 2 + 1);
        assert_eq!(small.lines.len() as u64, 2000 - others.blocks / 2);
    }

    #[test]
    fn a_block_whose_line_began_in_one_that_is_left_out_has_it() {
        let mut odd = function(5, "");
        let blocks: usize = odd.blocks[1..].iter().map(block_bytes).sum();
        let lines: usize = odd.lines.iter().map(line_bytes).sum();
        shorten(&mut odd, blocks + lines);
        assert_eq!((odd.blocks[0].start, odd.others.blocks), (3, 1));
        assert_eq!(odd.lines[odd.blocks[0].rows[0].line.unwrap()].line, 1);
        let mut odd = function(4, "");
        let needs = block_bytes(&odd.blocks[3]) + line_bytes(&odd.lines[1]);
        shorten(&mut odd, needs);
        assert_eq!((odd.blocks[0].start, odd.others.blocks), (3 * 3, 3));
        assert_eq!(odd.lines[odd.blocks[0].rows[0].line.unwrap()].line, 3);
    }

    #[test]
    fn few_blocks_are_all_there() {
        let whole = function(500, "x = 1;");
        let small = result(vec![whole.clone()], 0).bounded().listings.remove(0);
        assert_eq!((small.blocks, small.others), (whole.blocks, OtherBlocks::default()));
    }

    #[test]
    fn the_worst_texts_and_many_files_have_a_megabyte_too() {
        let worst = "\u{7}".repeat(2000);
        let functions = [5000, 5000, 5000].map(|count| function(count, &worst)).to_vec();
        let large = result(functions, 70_000);
        let instructions: u64 = large.unnamed.iter().map(|sum| sum.instructions).sum();
        let small = large.bounded();
        assert!(json(&small) <= MEGABYTE, "{}", json(&small));
        assert!(small.listings.iter().all(|listing| !listing.blocks.is_empty()));
        assert_eq!(small.unnamed.iter().map(|sum| sum.instructions).sum::<u64>(), instructions);
        assert_eq!((small.unnamed.len(), small.unnamed[0].instructions), (FILES_MAX, 69_999));
    }
}
