//! Lines of the client, each bounded.

/// The longest line that is taken: arguments of commands are shorter.
pub(crate) const LINE_MAX: usize = 1 << 20;
/// A line without its end; none was longer than is taken.
pub(crate) type Line = Option<Vec<u8>>;

/// Bytes that are not a whole line yet.
#[derive(Debug, Default)]
pub(crate) struct LineBuffer {
    begun: Vec<u8>,
    /// The line is too long, and the rest of it is dropped.
    too_long: bool,
}

impl LineBuffer {
    /// The lines that end in these bytes, without empty ones.
    pub(crate) fn lines(&mut self, bytes: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = part.strip_suffix(b"\n").map_or((part, false), |text| (text, true));
            self.too_long |= self.begun.len() + text.len() > LINE_MAX;
            if self.too_long {
                self.begun = Vec::new();
            } else {
                self.begun.extend_from_slice(text);
            }
            if ends {
                let line = std::mem::take(&mut self.begun);
                if std::mem::take(&mut self.too_long) {
                    lines.push(None);
                } else if !line.trim_ascii().is_empty() {
                    lines.push(Some(line));
                }
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_in_whatever_parts_they_arrive() {
        let mut buffer = LineBuffer::default();
        assert!(buffer.lines(b"{\"a\"").is_empty());
        let whole = |text: &[u8]| Some(text.to_vec());
        assert_eq!(buffer.lines(b":1}\n\n{}\r\n[").as_slice(), [whole(b"{\"a\":1}"), whole(b"{}\r")]);
        assert_eq!(buffer.lines(b"]\n").as_slice(), [whole(b"[]")]);
    }

    #[test]
    fn a_line_that_is_too_long_is_one_error_and_takes_no_memory() {
        let mut buffer = LineBuffer::default();
        for _ in 0..40 {
            assert!(buffer.lines(&[b'x'; 1 << 16]).is_empty());
            assert!(buffer.begun.capacity() <= 2 * LINE_MAX);
        }
        assert_eq!(buffer.lines(b"x\n{}\n").as_slice(), [None, Some(b"{}".to_vec())]);
    }
}
