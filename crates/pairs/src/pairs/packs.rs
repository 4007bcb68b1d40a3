//! A healthy program: it packs bytes, as a compressor does.

use crate::work::{keep, random};
use crate::{Pair, Run, Setting, Size, Way};
use std::io;

pub(super) static PAIR: Pair = Pair {
    name: "packs",
    title: "bytes packed by what came before",
    cause: None,
    size: Size { unit: "MiB", usual: 30, least: 15, most: 30 },
    ways: &[Way { name: "pack", what: "a pass that looks for repetitions", run: Run::Native(pack) }],
    source: include_str!("packs.rs"),
    needs: &[],
    lesson: "A compressor looks for each place where the same bytes stood before, in a table that its caches hold. Its time \
             is its own arithmetic and loads.",
    writing: None,
};

/// Size of the table of where four bytes stood last, as a power of two.
const BITS: u32 = 14;

fn pack(setting: &Setting) -> io::Result<()> {
    let bytes = bytes(setting.size as usize);
    let mut packed = Vec::with_capacity(bytes.len() / 2);
    for block in bytes.chunks(1 << 16) {
        pack_block(block, &mut packed);
    }
    keep(packed);
    Ok(())
}

#[inline(never)]
fn pack_block(block: &[u8], packed: &mut Vec<u8>) {
    let mut last = vec![0u16; 1 << BITS];
    let mut at = 0;
    while at + 4 <= block.len() {
        let four = [block[at], block[at + 1], block[at + 2], block[at + 3]];
        let place = (u32::from_ne_bytes(four).wrapping_mul(2_654_435_761) >> (32 - BITS)) as usize;
        let before = usize::from(last[place]);
        last[place] = at as u16;
        let same = block[at..].iter().zip(&block[before..]).take_while(|(a, b)| a == b).count();
        if before < at && same >= 4 {
            packed.extend_from_slice(&[255, same as u8, (at - before) as u8, ((at - before) >> 8) as u8]);
            at += same;
        } else {
            packed.push(block[at]);
            at += 1;
        }
    }
}

/// Words of a small vocabulary.
fn bytes(mib: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity((mib << 20) + 8);
    for number in random() {
        if bytes.len() >= mib << 20 {
            break;
        }
        bytes.extend_from_slice(&(number % 3000 * 0x0101_0107).to_ne_bytes()[..6]);
    }
    bytes
}
