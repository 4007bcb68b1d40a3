//! How many bytes a value takes in the JSON of a result.

use serde::Serialize;
use std::io::{self, Write};

/// Bytes of a value in indented JSON, `depth` levels deep, with a comma and a line break after it.
/// It may take fewer: of characters beyond ASCII it is taken that all are escaped.
pub(crate) fn bytes<T: Serialize>(value: &T, depth: usize) -> usize {
    const STEP: usize = 2;
    let mut counted = Counted::default();
    // The counter takes all, and the model has string keys only.
    let said = serde_json::to_writer_pretty(&mut counted, value);
    debug_assert!(said.is_ok(), "{said:?}");
    counted.bytes + (counted.lines + 1) * depth * STEP + 2
}

/// Counts what is written.
#[derive(Default)]
struct Counted {
    bytes: usize,
    lines: usize,
}

impl Write for Counted {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        for byte in text {
            // `report` writes invisible characters as `\u….`: one of two bytes as six, one of four
            // as twelve.
            self.bytes += match byte {
                0x7f => 6,
                0x80.. => 3,
                _ => 1,
            };
            self.lines += usize::from(*byte == b'\n');
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_within_others_is_indented_with_them() {
        let whole = serde_json::to_string_pretty(&[[[1, 2], [3, 4]]]).unwrap();
        // Without the brackets of the two lists around, each on a line of its own.
        assert_eq!(bytes(&[1, 2], 2) + bytes(&[3, 4], 2), whole.len() - "[\n  [\n  ]\n]".len() + ",".len());
        assert_eq!(bytes(&"\u{7f}", 0), "\"\\u007f\",\n".len());
        assert!(bytes(&"\u{202e}", 0) >= "\"\\u202e\",\n".len());
    }
}
