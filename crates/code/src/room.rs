//! How much memory unpacked sections and files may take together.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// What may be held of all files: a section of a few bytes may unpack to the largest.
const ALL_MAX: usize = 384 << 20;

/// Bytes that are held now.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// Room for unpacked bytes, until it is dropped with them.
#[derive(Debug)]
pub(crate) struct Room(usize);

impl Room {
    /// For `len` bytes; none where there is no more.
    pub(crate) fn of(len: u64) -> Option<Room> {
        let len = usize::try_from(len).ok()?;
        let more = |held: usize| held.checked_add(len).filter(|held| *held <= ALL_MAX);
        HELD.fetch_update(Relaxed, Relaxed, more).ok()?;
        Some(Room(len))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        HELD.fetch_sub(self.0, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_again_when_some_is_dropped() {
        assert!(Room::of(u64::MAX).is_none());
        let most = Room::of(ALL_MAX as u64 / 2 + 1);
        assert!(most.is_some() && Room::of(ALL_MAX as u64 / 2).is_none());
        drop(most);
        assert!(Room::of(ALL_MAX as u64 / 2).is_some());
    }
}
