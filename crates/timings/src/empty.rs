//! The empty program: what starting and reaping any program takes. It is the smallest one of the
//! ladder.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::{env, process};
use sys::fork::Smallest;
use sys::scratch::{Kind, Scratch};
use sys::starter::Order;

/// The name that it is called by.
const NAME: &str = "empty";

/// An empty program that can be executed.
#[derive(Debug)]
pub(crate) struct EmptyProgram {
    order: Order,
    _kept: Kept,
}

/// What keeps its file there.
#[derive(Debug)]
enum Kept {
    Memory { _file: Smallest },
    Temporary { _directory: Scratch },
}

impl EmptyProgram {
    /// One in memory.
    pub(crate) fn in_memory() -> Result<Self, String> {
        let made = Smallest::new().map_err(|error| format!("an empty program in memory: {error}"))?;
        // The starter has other descriptors: by the path of this process's.
        let path = PathBuf::from(format!("/proc/{}/fd/{}", process::id(), made.as_fd().as_raw_fd()));
        Ok(Self { order: order(path), _kept: Kept::Memory { _file: made } })
    }

    /// One in the directory for temporary files.
    pub(crate) fn in_a_file() -> Result<Self, String> {
        let in_words = |error: io::Error| format!("an empty program in a temporary file: {error}");
        let directory = Scratch::new(&env::temp_dir(), Kind::Compare).map_err(in_words)?;
        let path = directory.path().join(NAME);
        fs::write(&path, Smallest::image()).map_err(in_words)?;
        // Closed: a file that is open for writing cannot be executed.
        fs::set_permissions(&path, Permissions::from_mode(0o700)).map_err(in_words)?;
        Ok(Self { order: order(path), _kept: Kept::Temporary { _directory: directory } })
    }

    /// To start it.
    pub(crate) fn order(&self) -> &Order {
        &self.order
    }
}

fn order(path: PathBuf) -> Order {
    Order { path, is_script: false, argv: vec![OsString::from(NAME)] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_runs_from_memory_and_from_a_file() {
        for program in [EmptyProgram::in_memory(), EmptyProgram::in_a_file()] {
            let program = program.unwrap();
            let status = process::Command::new(&program.order().path).status().unwrap();
            assert_eq!(status.code(), Some(0), "{program:?}");
        }
    }
}
