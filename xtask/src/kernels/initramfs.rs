//! The root file system of a tested machine: a cpio archive that the kernel unpacks into memory
//! (Documentation/driver-api/early-userspace/buffer-format.rst), made of static programs.

use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const FILE: u32 = 0o100_644;
const CONSOLE: u32 = 0o020_600;

/// An archive that grows.
#[derive(Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    /// With the console, on which process 1 speaks from its start, and directories.
    pub(crate) fn new() -> Self {
        let mut archive = Self::default();
        for name in ["dev", "bin", "etc", "proc", "sys", "tmp", "run", "mnt"] {
            archive.directory(name);
        }
        archive.entry("dev/console", CONSOLE, (5, 1), &[]);
        archive
    }

    /// A directory, below one that is there.
    pub(crate) fn directory(&mut self, name: &str) {
        self.entry(name, DIRECTORY, (0, 0), &[]);
    }

    /// A file with this text.
    pub(crate) fn file(&mut self, name: &str, text: &[u8]) {
        self.entry(name, FILE, (0, 0), text);
    }

    /// A program of this machine.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn program(&mut self, name: &str, from: &Path) -> Result<()> {
        let bytes = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
        self.entry(name, PROGRAM, (0, 0), &bytes);
        Ok(())
    }

    /// All of it.
    pub(crate) fn bytes(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, (0, 0), &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, device: (u32, u32), content: &[u8]) {
        self.entries += 1;
        let links = if mode == DIRECTORY { 2 } else { 1 };
        // Number, mode, user, group, links, time, size, two for the device it is on, two for the
        // device it is, length of the name, sum.
        let fields = [
            self.entries,
            mode,
            0,
            0,
            links,
            0,
            content.len() as u32,
            0,
            0,
            device.0,
            device.1,
            name.len() as u32 + 1,
            0,
        ];
        self.bytes.extend(b"070701");
        fields.iter().for_each(|field| self.bytes.extend(format!("{field:08x}").bytes()));
        self.bytes.extend(name.bytes().chain([0]));
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn entries_begin_at_multiples_of_four() {
        let mut archive = Archive::default();
        archive.file("a", b"12345");
        archive.file("bcd", b"");
        let bytes = archive.bytes();
        let starts: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(b"070701")).collect();
        assert_eq!(starts.len(), 3);
        assert!(starts.iter().all(|at| at % 4 == 0));
        assert_eq!(&bytes[starts[0] + 110..starts[0] + 112], b"a\0");
    }

    #[test]
    fn others_can_read_it() {
        let Ok(mut cpio) = Command::new("cpio")
            .args(["--list", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
        else {
            return;
        };
        let mut archive = Archive::new();
        archive.file("plan.json", b"[]");
        cpio.stdin.take().unwrap().write_all(&archive.bytes()).unwrap();
        let said = String::from_utf8(cpio.wait_with_output().unwrap().stdout).unwrap();
        assert!(said.lines().any(|line| line == "plan.json"), "{said}");
    }
}
