//! How much room a filesystem has for whoever asks.

use rustix::fs::statvfs;
use std::io;
use std::path::Path;

/// Bytes that may still be written where `path` is.
///
/// # Errors
/// What `statvfs` says: there is no such place.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let room = statvfs(path)?;
    Ok(room.f_bavail.saturating_mul(room.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_where_there_is_a_place() {
        assert!(free_bytes(Path::new("/")).is_ok());
        assert!(free_bytes(Path::new("/no/such/place")).is_err());
    }
}
