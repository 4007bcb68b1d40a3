//! `/dev/cpu_dma_latency`: bounds the exit latency of idle states on all CPUs while the file is
//! open. See `power/pm_qos_interface` in the kernel's documentation.

use model::Seen;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Keeps CPUs out of idle states with an exit latency, until it is dropped.
#[derive(Debug)]
pub struct DmaLatency {
    _file: Option<File>,
    /// The latency held, in microseconds; or why none is.
    pub held_us: Seen<u32>,
}

impl DmaLatency {
    /// Holds the latency at 0.
    pub fn hold() -> Self {
        Self::hold_at(Path::new("/dev/cpu_dma_latency"))
    }

    /// Holds nothing: idle states stay as the machine has them.
    pub fn leave() -> Self {
        Self { _file: None, held_us: Seen::Absent }
    }

    fn hold_at(path: &Path) -> Self {
        let held = OpenOptions::new().write(true).open(path).and_then(|mut file| {
            file.write_all(&0_i32.to_ne_bytes())?;
            Ok(file)
        });
        match held {
            Ok(file) => Self { _file: Some(file), held_us: Seen::Value(0) },
            Err(error) => {
                let remedy = match error.kind() {
                    ErrorKind::PermissionDenied => "try: sudo, or chmod o+w /dev/cpu_dma_latency",
                    ErrorKind::NotFound => "in a container, try: --device /dev/cpu_dma_latency",
                    _ => "the kernel does not support it",
                };
                let why = format!("cannot limit idle states: {}: {error}; {remedy}", path.display());
                Self { _file: None, held_us: Seen::unseen(why) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_held_is_said_with_a_remedy() {
        let held = DmaLatency::hold_at(Path::new("/no/such/file"));
        assert!(matches!(&held.held_us, Seen::Unseen(why) if why.contains("--device")), "{held:?}");
        let file = tempfile::NamedTempFile::new().unwrap();
        let held = DmaLatency::hold_at(file.path());
        assert_eq!(held.held_us, Seen::Value(0));
        assert_eq!(std::fs::read(file.path()).unwrap(), [0; 4]);
    }
}
