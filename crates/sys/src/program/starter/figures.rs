//! What the starter and its child write down of a command, in memory that dwell reads as well.
//!
//! The child writes until `execve(2)`, the starter from then on; dwell reads after the starter's
//! answer, but for the process id.

use crate::counters::SharedCounters;
use crate::spawn::{ProgramEnd, Switches};
use model::Ns;
use model::recording::{Ending, Rusage};
use std::sync::atomic::Ordering::{Acquire, Release};

/// A command that ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandEnd {
    /// `CLOCK_MONOTONIC` in the child, just before `execve(2)`.
    pub started_ns: Ns,
    /// From then to the return of `wait4(2)`.
    pub wall_ns: Ns,
    /// How it ended, and its resource usage. A few page faults and microseconds of it are of the
    /// child before `execve(2)`.
    pub end: ProgramEnd,
    /// Its switches.
    pub switches: Switches,
    /// The largest resident set of the child before `execve(2)`: the least that
    /// `end.rusage.max_rss_bytes` can be.
    pub starter_rss_bytes: u64,
    /// Whether a signal stopped it for a while.
    pub was_stopped: bool,
    /// Processes that it left behind and that still live.
    pub left_behind: u32,
    /// The same of commands before it.
    pub left_earlier: u32,
}

/// How many there are.
pub(super) const COUNT: usize = Figure::LeftEarlier as usize + 1;

/// Each has its place.
#[derive(Clone, Copy)]
enum Figure {
    Pid,
    FailedStep,
    Errno,
    StarterRss,
    Started,
    Wall,
    Exited,
    Status,
    User,
    Kernel,
    MaxRss,
    MinorFaults,
    MajorFaults,
    Read,
    Written,
    Voluntary,
    Involuntary,
    WasStopped,
    LeftBehind,
    LeftEarlier,
}

/// A step of starting a command that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Making its arguments.
    Arguments = 1,
    /// Making a process.
    Fork = 2,
    /// Setting its standard streams.
    Streams = 3,
    /// Executing it.
    Execute = 4,
    /// Waiting for it.
    Wait = 5,
}

impl Step {
    const ALL: [Self; 5] = [Self::Arguments, Self::Fork, Self::Streams, Self::Execute, Self::Wait];

    /// In the terms of messages.
    pub(super) fn words(self) -> &'static str {
        match self {
            Step::Arguments => "arguments",
            Step::Fork => "fork",
            Step::Streams => "dup2",
            Step::Execute => "execve",
            Step::Wait => "wait4",
        }
    }
}

/// The figures of the command in hand. Its functions allocate nothing.
#[derive(Clone, Copy)]
pub(super) struct Figures<'a>(pub(super) &'a SharedCounters);

impl Figures<'_> {
    /// For the next command.
    pub(super) fn clear(self) {
        self.0.iter().for_each(|figure| figure.store(0, Release));
    }

    /// The command's process; 0 before it exists and after it was waited for.
    pub(super) fn set_pid(self, pid: u64) {
        self.put(Figure::Pid, pid);
    }

    pub(super) fn pid(self) -> u64 {
        self.get(Figure::Pid)
    }

    /// It did not start.
    pub(super) fn fail(self, step: Step, errno: i32) {
        self.put(Figure::Errno, u64::from(errno.unsigned_abs()));
        self.put(Figure::FailedStep, step as u64);
    }

    /// Why it did not start, with the error number.
    pub(super) fn failed(self) -> Option<(Step, i32)> {
        let at = self.get(Figure::FailedStep);
        let step = Step::ALL.into_iter().find(|step| *step as u64 == at)?;
        Some((step, self.get(Figure::Errno) as i32))
    }

    /// The child's size before it becomes the command.
    pub(super) fn set_starter_rss(self, bytes: u64) {
        self.put(Figure::StarterRss, bytes);
    }

    /// When it becomes the command.
    pub(super) fn set_started(self, now_ns: Ns) {
        self.put(Figure::Started, now_ns);
    }

    /// A signal stopped it.
    pub(super) fn set_stopped(self) {
        self.put(Figure::WasStopped, 1);
    }

    /// It has ended, and was waited for until `now_ns`.
    pub(super) fn set_end(self, now_ns: Ns, end: &ProgramEnd, switches: Switches) {
        self.set_pid(0);
        self.put(Figure::Wall, now_ns.saturating_sub(self.get(Figure::Started)));
        let (exited, status) = match end.ending {
            Ending::Code(code) => (1, code),
            Ending::Signal(signal) => (0, signal),
            Ending::Window(_) => (0, 0),
        };
        self.put(Figure::Exited, exited);
        self.put(Figure::Status, u64::from(status.unsigned_abs()));
        let usage = &end.rusage;
        self.put(Figure::User, usage.user_ns);
        self.put(Figure::Kernel, usage.kernel_ns);
        self.put(Figure::MaxRss, usage.max_rss_bytes);
        self.put(Figure::MinorFaults, usage.minor_faults);
        self.put(Figure::MajorFaults, usage.major_faults);
        self.put(Figure::Read, usage.read_bytes);
        self.put(Figure::Written, usage.written_bytes);
        self.put(Figure::Voluntary, switches.voluntary);
        self.put(Figure::Involuntary, switches.involuntary);
    }

    /// Living processes that the command, and those before it, left behind.
    pub(super) fn set_left(self, by_it: usize, earlier: usize) {
        self.put(Figure::LeftBehind, by_it as u64);
        self.put(Figure::LeftEarlier, earlier as u64);
    }

    /// All that were left behind.
    pub(super) fn left(self) -> u32 {
        self.count(Figure::LeftBehind) + self.count(Figure::LeftEarlier)
    }

    /// All of a command that ran.
    pub(super) fn end(self) -> CommandEnd {
        let status = self.get(Figure::Status) as i32;
        let ending = match self.get(Figure::Exited) {
            0 => Ending::Signal(status),
            _ => Ending::Code(status),
        };
        CommandEnd {
            started_ns: self.get(Figure::Started),
            wall_ns: self.get(Figure::Wall),
            end: ProgramEnd {
                ending,
                rusage: Rusage {
                    user_ns: self.get(Figure::User),
                    kernel_ns: self.get(Figure::Kernel),
                    max_rss_bytes: self.get(Figure::MaxRss),
                    minor_faults: self.get(Figure::MinorFaults),
                    major_faults: self.get(Figure::MajorFaults),
                    read_bytes: self.get(Figure::Read),
                    written_bytes: self.get(Figure::Written),
                },
            },
            switches: Switches {
                voluntary: self.get(Figure::Voluntary),
                involuntary: self.get(Figure::Involuntary),
            },
            starter_rss_bytes: self.get(Figure::StarterRss),
            was_stopped: self.get(Figure::WasStopped) != 0,
            left_behind: self.count(Figure::LeftBehind),
            left_earlier: self.count(Figure::LeftEarlier),
        }
    }

    /// A number of processes, of which there are fewer than 2^22.
    fn count(self, figure: Figure) -> u32 {
        u32::try_from(self.get(figure)).unwrap_or(0)
    }

    fn put(self, figure: Figure, value: u64) {
        self.0[figure as usize].store(value, Release);
    }

    fn get(self, figure: Figure) -> u64 {
        self.0[figure as usize].load(Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out() {
        let memory = SharedCounters::new(COUNT).unwrap();
        let figures = Figures(&memory);
        let usage = Rusage {
            user_ns: 1,
            kernel_ns: 2,
            max_rss_bytes: 3,
            minor_faults: 4,
            major_faults: 5,
            read_bytes: 6,
            written_bytes: 7,
        };
        let end = ProgramEnd { ending: Ending::Signal(9), rusage: usage };
        let switches = Switches { voluntary: 8, involuntary: 9 };
        figures.set_pid(77);
        figures.set_starter_rss(4096);
        figures.set_started(1_000);
        figures.set_stopped();
        figures.set_end(1_500, &end, switches);
        figures.set_left(2, 3);
        let told = CommandEnd {
            started_ns: 1_000,
            wall_ns: 500,
            end,
            switches,
            starter_rss_bytes: 4096,
            was_stopped: true,
            left_behind: 2,
            left_earlier: 3,
        };
        assert_eq!((figures.pid(), figures.failed(), figures.end()), (0, None, told));
        figures.fail(Step::Execute, libc::ENOENT);
        assert_eq!(figures.failed(), Some((Step::Execute, libc::ENOENT)));
        figures.clear();
        assert_eq!((figures.failed(), figures.left()), (None, 0));
    }
}
