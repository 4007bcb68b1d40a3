//! `/dev/cpu_dma_latency`: no processor idles deeper than asked, for as long as a file is open. The kernel's
//! documentation, `power/pm_qos_interface`.

use model::Seen;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Keeps processors from idle states that take time to leave, for as long as it lives.
#[derive(Debug)]
pub struct Awake {
    _file: Option<File>,
    /// The latency that is asked for, in microseconds; or why none is.
    pub dma_latency_us: Seen<u32>,
}

impl Awake {
    /// Asks for states that take no time to leave.
    pub fn hold() -> Self {
        Self::hold_at(Path::new("/dev/cpu_dma_latency"))
    }

    /// Asks for nothing: idle states are as the machine has them.
    pub fn leave() -> Self {
        Self { _file: None, dma_latency_us: Seen::Absent }
    }

    fn hold_at(path: &Path) -> Self {
        let held = OpenOptions::new().write(true).open(path).and_then(|mut file| {
            file.write_all(&0_i32.to_ne_bytes())?;
            Ok(file)
        });
        match held {
            Ok(file) => Self { _file: Some(file), dma_latency_us: Seen::Value(0) },
            Err(error) => {
                let remedy = match error.kind() {
                    ErrorKind::PermissionDenied => "try: sudo, or chmod o+w /dev/cpu_dma_latency",
                    ErrorKind::NotFound => "in a container, try: --device /dev/cpu_dma_latency",
                    _ => "the kernel has no such limit",
                };
                let why = format!("cannot keep idle states shallow: {}: {error}; {remedy}", path.display());
                Self { _file: None, dma_latency_us: Seen::unseen(why) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_held_is_said_with_a_remedy() {
        let awake = Awake::hold_at(Path::new("/no/such/file"));
        assert!(matches!(&awake.dma_latency_us, Seen::Unseen(why) if why.contains("--device")), "{awake:?}");
        let file = tempfile::NamedTempFile::new().unwrap();
        let awake = Awake::hold_at(file.path());
        assert_eq!(awake.dma_latency_us, Seen::Value(0));
        assert_eq!(std::fs::read(file.path()).unwrap(), [0; 4]);
    }
}
