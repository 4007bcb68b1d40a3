//! A range of a file as a `gimli` reader, without loading it into memory.

use std::borrow::Cow;
use std::sync::Arc;

use gimli::{Error, LittleEndian, Reader, ReaderOffsetId, Result};

use crate::bytes::{Bytes, FilePage};

/// The longest copy: names and expressions. Longer ones are refused as damage.
const PIECE_MAX: usize = 1 << 20;

/// A range of a file: reading takes from its front.
pub(crate) struct Window {
    bytes: Arc<Bytes>,
    start: u64,
    len: usize,
    /// The last page read. Not copied to parts of this window, so that stored ones hold no pages.
    page: Option<FilePage>,
}

impl Window {
    /// Up to `len` bytes from `start` on.
    pub(crate) fn new(bytes: &Arc<Bytes>, start: u64, len: u64) -> Self {
        let len = len.min(bytes.len().saturating_sub(start));
        Window {
            bytes: Arc::clone(bytes),
            start,
            len: usize::try_from(len).unwrap_or(usize::MAX),
            page: None,
        }
    }

    /// The whole file.
    pub(crate) fn whole(bytes: &Arc<Bytes>) -> Self {
        Window::new(bytes, 0, u64::MAX)
    }

    /// The same from `skip` on; empty when that is beyond the end.
    pub(crate) fn from(&self, skip: u64) -> Self {
        let len = (self.len as u64).saturating_sub(skip);
        Window::new(&self.bytes, self.start.saturating_add(skip), len)
    }

    /// Its offset in that.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// The bytes that it reads from.
    pub(crate) fn bytes(&self) -> &Arc<Bytes> {
        &self.bytes
    }

    /// Text up to the next null byte, at most `max` bytes of it.
    pub(crate) fn text(&self, max: usize) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        let mut at = self.start;
        let end = self.start.saturating_add(self.len.min(max) as u64);
        while at < end {
            let page = self.bytes.page(at).ok()?;
            let rest = page.from(at)?;
            let rest = &rest[..rest.len().min((end - at) as usize)];
            if let Some(zero) = rest.iter().position(|byte| *byte == 0) {
                text.extend_from_slice(&rest[..zero]);
                return Some(text);
            }
            text.extend_from_slice(rest);
            at += rest.len() as u64;
        }
        Some(text)
    }

    fn eof(&self) -> Error {
        Error::UnexpectedEof(self.offset_id())
    }

    /// Reads `into.len()` bytes that are not all on the last page.
    #[cold]
    fn read_across(&mut self, into: &mut [u8]) -> Result<()> {
        let mut done = 0;
        while done < into.len() {
            let at = self.start + done as u64;
            let page = self.bytes.page(at).map_err(|_| Error::Io)?;
            let rest = page.from(at).ok_or_else(|| self.eof())?;
            let taken = rest.len().min(into.len() - done);
            into[done..done + taken].copy_from_slice(&rest[..taken]);
            done += taken;
            self.page = Some(page);
        }
        self.start += done as u64;
        self.len -= done;
        Ok(())
    }
}

impl Clone for Window {
    fn clone(&self) -> Self {
        Window { bytes: Arc::clone(&self.bytes), start: self.start, len: self.len, page: None }
    }
}

impl std::fmt::Debug for Window {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Window({:#x}+{:#x})", self.start, self.len)
    }
}

impl Reader for Window {
    type Endian = LittleEndian;
    type Offset = usize;

    fn endian(&self) -> LittleEndian {
        LittleEndian
    }

    fn len(&self) -> usize {
        self.len
    }

    fn empty(&mut self) {
        self.len = 0;
    }

    fn truncate(&mut self, len: usize) -> Result<()> {
        if len > self.len {
            return Err(self.eof());
        }
        self.len = len;
        Ok(())
    }

    fn offset_from(&self, base: &Self) -> usize {
        usize::try_from(self.start.saturating_sub(base.start)).unwrap_or(usize::MAX)
    }

    fn offset_id(&self) -> ReaderOffsetId {
        ReaderOffsetId(self.start)
    }

    fn lookup_offset_id(&self, id: ReaderOffsetId) -> Option<usize> {
        let offset = usize::try_from(id.0.checked_sub(self.start)?).ok()?;
        (offset <= self.len).then_some(offset)
    }

    fn find(&self, byte: u8) -> Result<usize> {
        let mut at = self.start;
        let end = self.start.saturating_add(self.len as u64);
        while at < end {
            let page = match &self.page {
                Some(page) if page.from(at).is_some() => page.clone(),
                _ => self.bytes.page(at).map_err(|_| Error::Io)?,
            };
            let rest = page.from(at).ok_or_else(|| self.eof())?;
            let rest = &rest[..rest.len().min((end - at) as usize)];
            if let Some(found) = rest.iter().position(|each| *each == byte) {
                return Ok((at - self.start) as usize + found);
            }
            at += rest.len() as u64;
        }
        Err(self.eof())
    }

    fn skip(&mut self, len: usize) -> Result<()> {
        if len > self.len {
            return Err(self.eof());
        }
        self.start += len as u64;
        self.len -= len;
        Ok(())
    }

    fn split(&mut self, len: usize) -> Result<Self> {
        let mut part = self.clone();
        part.truncate(len)?;
        self.skip(len)?;
        Ok(part)
    }

    fn to_slice(&self) -> Result<Cow<'_, [u8]>> {
        if self.len > PIECE_MAX {
            return Err(self.eof());
        }
        let bytes = self.bytes.read(self.start, self.len as u64, PIECE_MAX as u64);
        bytes.map(Cow::Owned).map_err(|_| Error::Io)
    }

    fn to_string(&self) -> Result<Cow<'_, str>> {
        let bytes = self.to_slice()?.into_owned();
        String::from_utf8(bytes).map(Cow::Owned).map_err(|_| Error::BadUtf8)
    }

    fn to_string_lossy(&self) -> Result<Cow<'_, str>> {
        Ok(Cow::Owned(String::from_utf8_lossy(&self.to_slice()?).into_owned()))
    }

    #[inline]
    fn read_slice(&mut self, into: &mut [u8]) -> Result<()> {
        let wanted = into.len();
        if wanted > self.len {
            return Err(self.eof());
        }
        let here = self.page.as_ref().and_then(|page| page.from(self.start)?.get(..wanted));
        match here {
            Some(bytes) => into.copy_from_slice(bytes),
            None => return self.read_across(into),
        }
        self.start += wanted as u64;
        self.len -= wanted;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_reads_splits_and_ends_as_gimli_expects() {
        let bytes = Arc::new(Bytes::of_memory(b"\x01\x02\x03\x04name\0rest".to_vec()));
        let mut window = Window::whole(&bytes);
        let base = window.clone();
        assert_eq!(window.read_u32().unwrap(), 0x0403_0201);
        let name = window.read_null_terminated_slice().unwrap();
        assert_eq!(name.to_string().unwrap(), "name");
        assert_eq!(name.offset_from(&base), 4);
        assert_eq!(window.to_string().unwrap(), "rest");
        assert!(window.find(0).is_err());
        assert!(window.read_u64().is_err());
        assert!(window.skip(5).is_err());
        assert_eq!(base.from(4).text(100).unwrap(), b"name");
        assert_eq!(base.from(400).text(100).unwrap(), b"");
    }
}
