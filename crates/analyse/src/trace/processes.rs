//! The processes of the tree: which program each executes, how long it lives, how large it gets.
//!
//! A process is forgotten when it ends; what stays is a sum for each program.

use crate::account::Times;
use crate::account::split::{Counts, add, split};
use crate::bounded::{Bounded, texts};
use model::processes::{ProgramRow, Programs};
use model::recording::Comm;
use model::{Ns, Pid, State};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// Programs that are kept apart.
const NAMES: usize = 4096;
/// Programs that have a row in the end.
const ROWS: usize = 32;

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Processes {
    living: FxHashMap<Pid, Process>,
    programs: FxHashMap<Comm, Sum>,
    /// Those of more programs than are kept apart.
    rest: Sum,
    largest: Option<Largest>,
}

/// The process with the largest resident set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Largest {
    pub(crate) bytes: u64,
    pub(crate) pid: Pid,
    /// None where its beginning was not seen.
    pub(crate) name: Option<Comm>,
}

/// What one thread did.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spent {
    pub(super) states: Times,
    pub(super) samples: Counts,
}

/// A living process.
#[derive(Debug)]
struct Process {
    program: Comm,
    command: Option<String>,
    born: Ns,
    /// It lived before it was observed.
    found: bool,
    startup_ns: Option<Ns>,
    /// Its threads that live.
    threads: u32,
    spent: Spent,
}

/// All processes of a program.
#[derive(Debug, Default)]
struct Sum {
    command: Option<String>,
    processes: u64,
    started: u64,
    startup_ns: Ns,
    life_ns: Ns,
    spent: Spent,
}

impl Spent {
    fn add(&mut self, more: Spent) {
        self.states.add_all(more.states);
        add(&mut self.samples, more.samples);
    }
}

impl Processes {
    /// A process is created by a thread of `parent`, or is the first.
    pub(super) fn begins(&mut self, pid: Pid, parent: Option<Pid>, at: Ns) {
        let program = parent.and_then(|parent| self.living.get(&parent)).map(|parent| parent.program);
        self.adds(pid, at, program.unwrap_or_default(), false);
    }

    /// A thread of a process that lived already.
    pub(super) fn found(&mut self, pid: Pid, name: Comm, leads: bool, at: Ns) {
        match self.living.get_mut(&pid) {
            Some(process) => {
                process.threads += 1;
                if leads {
                    process.program = name;
                }
            }
            None => self.adds(pid, at, name, true),
        }
    }

    fn adds(&mut self, pid: Pid, born: Ns, program: Comm, found: bool) {
        // One of this number that is there still has ended: its end was lost.
        self.ends(pid, born);
        let (command, startup_ns, spent) = (None, None, Spent::default());
        let process = Process { program, command, born, found, startup_ns, threads: 1, spent };
        self.living.insert(pid, process);
    }

    /// A process has one more thread.
    pub(super) fn joined(&mut self, pid: Pid) {
        if let Some(process) = self.living.get_mut(&pid) {
            process.threads += 1;
        }
    }

    /// A process executes this program from now on.
    pub(super) fn executes(&mut self, pid: Pid, name: Comm, at: Ns) {
        if let Some(process) = self.living.get_mut(&pid) {
            process.program = name;
            if !process.found {
                process.startup_ns.get_or_insert(at.saturating_sub(process.born));
            }
        }
    }

    /// The command line of a process.
    pub(super) fn runs_command(&mut self, pid: Pid, line: &str) {
        if let Some(process) = self.living.get_mut(&pid) {
            process.command = Some(line.to_owned());
        }
    }

    /// A thread ended; with its last one the process does.
    pub(super) fn left(&mut self, pid: Pid, spent: Spent, at: Ns) {
        let Some(process) = self.living.get_mut(&pid) else { return };
        process.spent.add(spent);
        process.threads = process.threads.saturating_sub(1);
        if process.threads == 0 {
            self.ends(pid, at);
        }
    }

    /// A thread lives on at the end.
    pub(super) fn lives_on(&mut self, pid: Pid, spent: Spent) {
        if let Some(process) = self.living.get_mut(&pid) {
            process.spent.add(spent);
        }
    }

    /// A process had a resident set of this size. A child begins at its parent's: of two that are
    /// as large it is the one that ends later.
    pub(super) fn peaked(&mut self, pid: Pid, bytes: u64) {
        if self.largest.is_none_or(|largest| bytes >= largest.bytes) {
            let name = self.living.get(&pid).map(|process| process.program);
            self.largest = Some(Largest { bytes, pid, name });
        }
    }

    /// The largest of all.
    pub(super) fn largest(&self) -> Option<Largest> {
        self.largest
    }

    fn ends(&mut self, pid: Pid, at: Ns) {
        let Some(process) = self.living.remove(&pid) else { return };
        let full = self.programs.len() >= NAMES && !self.programs.contains_key(&process.program);
        let sum = if full { &mut self.rest } else { self.programs.entry(process.program).or_default() };
        sum.processes += 1;
        sum.started += u64::from(process.startup_ns.is_some());
        sum.startup_ns += process.startup_ns.unwrap_or(0);
        sum.life_ns += at.saturating_sub(process.born);
        sum.spent.add(process.spent);
        if sum.command.is_none() {
            sum.command = process.command;
        }
    }

    /// The table, at the end. `of_tree`: the samples of all threads.
    pub(super) fn close(mut self, end: Ns, of_tree: Counts) -> Programs {
        let mut living: Vec<Pid> = self.living.keys().copied().collect();
        living.sort_unstable();
        living.into_iter().for_each(|pid| self.ends(pid, end));
        let mut rows: Vec<ProgramRow> =
            self.programs.into_iter().map(|(name, sum)| sum.row(name.to_text(), of_tree)).collect();
        rows.sort_by(|a, b| {
            let rank = |row: &ProgramRow| (Reverse(row.user_ns + row.kernel_ns), Reverse(row.processes));
            rank(a).cmp(&rank(b)).then_with(|| a.name.cmp(&b.name))
        });
        let mut rest = self.rest.row(String::new(), of_tree);
        rows.drain(ROWS.min(rows.len())..).for_each(|row| {
            rest.processes += row.processes;
            rest.started += row.started;
            rest.startup_ns += row.startup_ns;
            rest.life_ns += row.life_ns;
            rest.user_ns += row.user_ns;
            rest.kernel_ns += row.kernel_ns;
        });
        rest.command = None;
        Programs { rows, rest: (rest.processes > 0).then_some(rest) }
    }
}

impl Sum {
    fn row(self, name: String, of_tree: Counts) -> ProgramRow {
        let Sum { command, processes, started, startup_ns, life_ns, spent } = self;
        let Spent { states, samples } = spent;
        let own = split(states.of(State::User), [samples, of_tree, Counts::default()]);
        let in_kernel = [State::Kernel, State::Fault, State::Interrupt].map(|state| states.of(state));
        ProgramRow {
            name,
            command,
            processes,
            started,
            startup_ns,
            life_ns,
            user_ns: own.user,
            kernel_ns: in_kernel.iter().sum::<Ns>() + states.of(State::User) - own.user,
        }
    }
}

impl Bounded for Programs {
    fn cut_texts(&mut self) {
        for row in &mut self.rows {
            texts::text(&mut row.name);
            row.command.iter_mut().for_each(texts::text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(user: Ns, kernel: Ns) -> Spent {
        let mut spent = Spent::default();
        spent.states.add(State::User, user);
        spent.states.add(State::Kernel, kernel);
        spent
    }

    #[test]
    fn processes_count_with_the_program_that_they_executed_last() {
        let mut all = Processes::default();
        all.begins(1, None, 100);
        all.executes(1, "make".into(), 110);
        for pid in [2, 3] {
            all.begins(pid, Some(1), 200);
            all.executes(pid, "sh".into(), 230);
            all.executes(pid, "cc1".into(), 240);
            all.runs_command(pid, "cc1 -quiet");
            all.joined(pid);
            all.left(pid, spent(5, 1), 290);
            all.left(pid, spent(50, 10), 300);
        }
        all.begins(4, Some(1), 300);
        all.lives_on(1, spent(1, 2));
        let programs = all.close(400, Counts::default());
        assert_eq!(programs.rest, None);
        let [cc1, make] = &programs.rows[..] else { panic!("{programs:?}") };
        assert_eq!((&*cc1.name, cc1.processes, cc1.started, cc1.startup_ns), ("cc1", 2, 2, 60));
        assert_eq!((cc1.life_ns, cc1.user_ns, cc1.kernel_ns), (200, 110, 22));
        assert_eq!(cc1.command.as_deref(), Some("cc1 -quiet"));
        // The child that has not executed anything is of the same program.
        assert_eq!((&*make.name, make.processes, make.started, make.startup_ns), ("make", 2, 1, 10));
        assert_eq!((make.life_ns, make.user_ns, make.kernel_ns), (300 + 100, 1, 2));
    }

    #[test]
    fn those_beyond_the_rows_are_together_and_nothing_is_dropped() {
        let mut all = Processes::default();
        for pid in 0..50 {
            all.found(pid, Comm::from(&*format!("p{pid}")), true, 0);
            all.left(pid, spent(u64::from(pid) + 1, 0), 10);
        }
        let programs = all.close(20, Counts::default());
        let rest = programs.rest.expect("there are more");
        assert_eq!((programs.rows.len(), &*programs.rows[0].name), (ROWS, "p49"));
        assert_eq!((rest.processes, rest.life_ns, rest.user_ns, rest.started), (18, 180, 18 * 19 / 2, 0));
    }

    #[test]
    fn the_largest_is_the_one_that_ends_last_of_two_alike() {
        let mut all = Processes::default();
        all.begins(1, None, 0);
        all.executes(1, "parent".into(), 0);
        all.begins(2, Some(1), 0);
        all.executes(2, "child".into(), 0);
        all.peaked(2, 500);
        all.left(2, Spent::default(), 1);
        all.peaked(1, 500);
        all.peaked(3, 400);
        let largest = Largest { bytes: 500, pid: 1, name: Some("parent".into()) };
        assert_eq!(all.largest(), Some(largest));
    }

    #[test]
    fn a_number_that_is_given_again_is_of_another_process() {
        let mut all = Processes::default();
        all.begins(7, None, 0);
        all.begins(7, None, 50);
        all.left(7, Spent::default(), 60);
        assert_eq!(all.close(90, Counts::default()).rows[0].processes, 2);
    }
}
