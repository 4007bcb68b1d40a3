//! What the fuzzer runs on the memory and the files of a Python that somebody made up: the frames
//! of a thread with their names and lines, the description of a layout, line tables, records.
//!
//! The functions return nothing: they must end, without a panic, whatever the bytes are.

use std::io;

use crate::code::Codes;
use crate::memory::{Interpreters, Memory};
use crate::offsets::{Layout, Version};
use crate::{lines, record};

/// Memory that is these bytes again and again.
struct Image<'a>(&'a [u8]);

impl Memory for Image<'_> {
    fn read(&self, address: u64, to: &mut [u8]) -> io::Result<()> {
        // Not everything can be read.
        if address < 16 || self.0.is_empty() {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        }
        let start = (address % self.0.len() as u64) as usize;
        let again = self.0[start..].iter().chain(self.0.iter().cycle());
        to.iter_mut().zip(again).for_each(|(to, byte)| *to = *byte);
        Ok(())
    }
}

/// The version of Python is the first byte; the rest is its memory.
pub fn memory(bytes: &[u8]) {
    let Some((version, memory)) = bytes.split_first() else { return };
    let version = Version { minor: 8 + version % 8 };
    let Ok(layout) = Layout::fixed(version).or_else(|_| Layout::described(memory)) else { return };
    let memory = Image(memory);
    let all = Interpreters { memory: &memory, layout: &layout, runtime: 0x1000 };
    let Ok(threads) = all.threads() else { return };
    let _ = all.thread(&threads, 7);
    for state in threads.into_iter().take(3) {
        let (frames, _) = all.frames(state);
        for frame in frames.iter().take(2) {
            let Ok(mut code) = all.code(frame.code) else { continue };
            let _ = code.line(frame.instruction);
            if let Some((at, len)) = code.missing()
                && let Ok(table) = all.line_table(at, len)
            {
                code.complete(&table);
                let _ = code.line(frame.instruction);
            }
        }
    }
}

/// A line table, behind the version, the first line and an instruction's offset.
pub fn line_table(bytes: &[u8]) {
    let Some((head, table)) = bytes.split_first_chunk::<9>() else { return };
    let [version, first, offset @ .., _, _, _, _] = *head;
    let version = Version { minor: 8 + version % 8 };
    let [a, b, c] = offset.map(i32::from);
    let _ = lines::line_of(version, table, first.into(), (a << 16 | b << 8 | c) - 2);
}

/// A record of the kernel half, twice: the second one meets what the first left.
pub fn records(bytes: &[u8]) {
    let mut codes = Codes::default();
    for part in [bytes, &bytes[bytes.len() / 2..]] {
        if let Some(described) = record::described(part)
            && let Some(code) = codes.add(Version { minor: 12 }, &described)
        {
            let _ = code.line(Some(4));
        }
        for frame in record::stack(part).map(|stack| stack.frames).unwrap_or_default() {
            let _ = codes.place(7, &frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seeds::replay;

    #[test]
    fn what_was_made_up_is_read_or_refused() {
        replay("python_memory", memory);
        replay("python_lines", line_table);
        replay("python_records", records);
    }
}
