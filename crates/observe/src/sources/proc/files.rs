//! The files of threads in `/proc`, kept open between snapshots while there are few.

use model::{Pid, Tid};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Up to this many threads, their files stay open, four or five each, which halves the cost of a
/// snapshot.
const KEEP_OPEN_THREADS: usize = 100;

/// A file of a thread.
#[derive(Debug, Clone, Copy)]
pub(super) enum TaskFile {
    Stat,
    Schedstat,
    Syscall,
    Wchan,
    Children,
}

/// The names of the files, in the order of [`TaskFile`].
const NAMES: [&str; 5] = ["stat", "schedstat", "syscall", "wchan", "children"];

/// One thread's open files, in the same order.
#[derive(Debug, Default)]
struct ThreadFiles {
    open: [Option<File>; NAMES.len()],
}

/// The files of all threads.
#[derive(Debug)]
pub(super) struct TaskFiles {
    proc_root: PathBuf,
    tasks: HashMap<Tid, ThreadFiles>,
    /// Whether files are kept open.
    keeps_open: bool,
}

impl TaskFiles {
    /// Below this `/proc`. Opens nothing yet.
    pub(super) fn new(proc_root: &Path) -> Self {
        Self { proc_root: proc_root.to_owned(), tasks: HashMap::new(), keeps_open: true }
    }

    /// Closes the files of all other threads.
    pub(super) fn retain(&mut self, seen: &HashSet<Tid>) {
        self.tasks.retain(|tid, _| seen.contains(tid));
    }

    /// Reads one of a thread's files into `buffer`.
    pub(super) fn read<'b>(
        &mut self,
        pid: Pid,
        tid: Tid,
        file: TaskFile,
        buffer: &'b mut [u8],
    ) -> io::Result<&'b [u8]> {
        if let Some(open) = self.tasks.get(&tid).and_then(|task| task.open[file as usize].as_ref()) {
            let len = open.read_at(buffer, 0)?;
            return Ok(&buffer[..len]);
        }
        let path = self.proc_root.join(format!("{pid}/task/{tid}/{}", NAMES[file as usize]));
        let open = match File::open(&path) {
            // The limit of open files is reached, which is not about the thread: from now on none
            // is kept open.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) => {
                self.keeps_open = false;
                self.tasks.values_mut().for_each(|task| *task = ThreadFiles::default());
                File::open(&path)?
            }
            opened => opened?,
        };
        let len = open.read_at(buffer, 0)?;
        let keep = self.keeps_open && self.tasks.len() <= KEEP_OPEN_THREADS;
        let task = self.tasks.entry(tid).or_default();
        if keep {
            task.open[file as usize] = Some(open);
        }
        Ok(&buffer[..len])
    }
}
