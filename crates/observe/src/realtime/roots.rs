//! The roots of the kernel's file systems, and reading what settings and counters both read there.

use host::Roots;
use std::path::Path;

/// The roots of the kernel's file systems.
#[derive(Debug, Clone, Copy)]
pub(super) struct KernelRoots<'a> {
    pub(super) roots: Roots<'a>,
    pub(super) dev: &'a Path,
}

/// The text of a file, trimmed.
pub(super) fn text(path: &Path) -> Result<String, String> {
    host::text(path).map_err(|error| error.to_string())
}

/// `/proc/interrupts`. Every machine has interrupts; containers mask the file with an empty one.
pub(super) fn interrupts(proc: &Path) -> Result<String, String> {
    let path = proc.join("interrupts");
    match text(&path)? {
        told if told.is_empty() => {
            Err(format!("{} is empty: containers mask it; try: outside of the container", path.display()))
        }
        told => Ok(told),
    }
}
