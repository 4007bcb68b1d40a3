//! Programs on a simulated machine with this many CPUs: what each of their threads does is known,
//! so what they would take with an edit is found by running them again.
//!
//! A thread that is ready takes the first free CPU, first come, first served, and keeps it until it
//! waits or ends. Lengths are nanoseconds, so that hardly two things are at once.

use super::*;
use model::coverage::Interval;
use model::prediction::Site;
use model::recording::Calls;
use model::what_if::WallEstimate;
use model::{Call, CallTime};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What a thread does.
#[derive(Debug, Clone)]
enum Op {
    Work(Ns),
    Read(Ns),
    /// Waits for a disk.
    Disk(Ns),
    Fork(Vec<Op>),
    /// Waits for the oldest child that it has not waited for.
    Join,
    /// Works with the lock.
    Locked(Ns),
}

/// What a read and a wait for the disk keep of their lengths, in percent, and whether there is a
/// lock at all.
#[derive(Debug, Clone, Copy)]
struct Edits {
    reads: u64,
    disks: u64,
    locks: bool,
}

const NONE: Edits = Edits { reads: 100, disks: 100, locks: true };

/// What a task is in the middle of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    Work,
    Read(Ns),
    /// It has the lock until it is done.
    Locked,
}

#[derive(Debug)]
struct Task {
    tid: Tid,
    ops: VecDeque<Op>,
    children: VecDeque<usize>,
    parent: Option<usize>,
    cpu: Option<u32>,
    /// It waits for this child.
    joins: Option<usize>,
    doing: Doing,
    /// It was given the lock.
    has_lock: bool,
    ended: bool,
}

/// A run on a machine.
struct Machine {
    now: Ns,
    edits: Edits,
    tasks: Vec<Task>,
    ready: VecDeque<usize>,
    cpus: Vec<bool>,
    agenda: BinaryHeap<Reverse<(Ns, u64, usize)>>,
    order: u64,
    locked: bool,
    waits_for_lock: VecDeque<(usize, Ns)>,
    story: Story,
    /// No child had ended before it was waited for, and the lock was never free.
    all_blocked: bool,
}

impl Machine {
    /// Runs the program; how long it took.
    fn run(ops: &[Op], cpus: usize, edits: Edits) -> (Self, Ns) {
        let mut story = Story::begins();
        story.cpus = cpus as u32;
        let mut machine = Self {
            now: 0,
            edits,
            tasks: Vec::new(),
            ready: VecDeque::new(),
            cpus: vec![false; cpus],
            agenda: BinaryHeap::new(),
            order: 0,
            locked: false,
            waits_for_lock: VecDeque::new(),
            story,
            all_blocked: true,
        };
        let root = machine.born(ROOT, ops, None);
        (machine.cpus[0], machine.tasks[root].cpu) = (true, Some(0));
        machine.next(root);
        machine.dispatch();
        while !machine.tasks[root].ended
            && let Some(Reverse((at, _, task))) = machine.agenda.pop()
        {
            machine.story.after_ns(at - machine.now);
            machine.now = at;
            machine.goes_on(task);
            machine.dispatch();
        }
        assert!(machine.tasks[root].ended, "it does not hang");
        let end = machine.now;
        (machine, end)
    }

    fn born(&mut self, tid: Tid, ops: &[Op], parent: Option<usize>) -> usize {
        let (ops, children) = (ops.iter().cloned().collect(), VecDeque::new());
        let (cpu, joins, doing, has_lock, ended) = (None, None, Doing::Work, false, false);
        self.tasks.push(Task { tid, ops, children, parent, cpu, joins, doing, has_lock, ended });
        self.tasks.len() - 1
    }

    /// Each thing takes 1 more, so that few of them end at once.
    fn later(&mut self, task: usize, ns: u64, doing: Doing) {
        self.order += 1;
        self.tasks[task].doing = doing;
        self.agenda.push(Reverse((self.now + ns + 1, self.order, task)));
    }

    fn switch(&mut self, cpu: u32, out: Option<(usize, SwitchOutState)>, into: Option<usize>) {
        let out = out.map(|(task, left)| SwitchOut { tid: self.tasks[task].tid, left, calls: none() });
        let into = into.map(|task| SwitchIn { tid: self.tasks[task].tid, ran: None, throttled_ns: 0 });
        self.story.push(|at| Event::Switch { at, cpu, out, into });
    }

    /// Gives free CPUs to tasks that are ready.
    fn dispatch(&mut self) {
        while let Some(cpu) = self.cpus.iter().position(|taken| !taken)
            && let Some(task) = self.ready.pop_front()
        {
            (self.cpus[cpu], self.tasks[task].cpu) = (true, Some(cpu as u32));
            self.switch(cpu as u32, None, Some(task));
            // It does something with it in any case.
            self.later(task, 0, Doing::Work);
        }
    }

    fn leaves(&mut self, task: usize, left: SwitchOutState) {
        let cpu = self.tasks[task].cpu.take().expect("it runs");
        self.cpus[cpu as usize] = false;
        self.switch(cpu, Some((task, left)), None);
    }

    fn wakes(&mut self, task: usize, waker: Waker) {
        self.story.wakes(self.tasks[task].tid, waker, none());
        self.ready.push_back(task);
    }

    /// What was to be done by now is done.
    fn goes_on(&mut self, task: usize) {
        let tid = self.tasks[task].tid;
        if self.tasks[task].cpu.is_none() {
            return self.wakes(task, Waker::Device);
        }
        match self.tasks[task].doing {
            Doing::Work => {}
            Doing::Read(ns) => {
                self.story.push(|at| Event::Flush { at, tid, calls: read(ns) });
            }
            Doing::Locked => {
                self.locked = false;
                if let Some((next, ns)) = self.waits_for_lock.pop_front() {
                    self.locked = true;
                    self.tasks[next].ops.push_front(Op::Locked(ns));
                    self.tasks[next].has_lock = true;
                    self.wakes(next, by_task(tid));
                }
            }
        }
        self.next(task);
    }

    /// The next thing that a task on a CPU does.
    fn next(&mut self, task: usize) {
        let tid = self.tasks[task].tid;
        while let Some(op) = self.tasks[task].ops.pop_front() {
            match op {
                Op::Work(ns) => return self.later(task, ns, Doing::Work),
                Op::Read(ns) => {
                    let ns = ns * self.edits.reads / 100;
                    self.story.push(|at| Event::Flush { at, tid, calls: none() });
                    return self.later(task, ns, Doing::Read(ns));
                }
                Op::Disk(ns) => {
                    let ns = ns * self.edits.disks / 100;
                    if ns > 0 {
                        let file =
                            Object::File { kind: FileKind::Disk, dev: 254 << 20, ino: 7, name: "log".into() };
                        self.leaves(task, waiting_in(FSYNC, file));
                        // Without the 1, which is work.
                        self.order += 1;
                        return self.agenda.push(Reverse((self.now + ns, self.order, task)));
                    }
                }
                Op::Fork(ops) => {
                    let child_tid = CHILD + self.tasks.len() as Tid;
                    let child = self.born(child_tid, &ops, Some(task));
                    self.story.forks(tid, child_tid, child_tid);
                    self.tasks[task].children.push_back(child);
                    self.ready.push_back(child);
                }
                Op::Join => match self.tasks[task].children.pop_front() {
                    Some(child) if self.tasks[child].ended => self.all_blocked = false,
                    Some(child) => {
                        self.tasks[task].joins = Some(child);
                        return self.leaves(task, waiting_in(WAIT4, Object::Unknown));
                    }
                    None => {}
                },
                Op::Locked(ns) if !self.edits.locks => return self.later(task, ns, Doing::Work),
                Op::Locked(ns) if self.tasks[task].has_lock || !self.locked => {
                    self.all_blocked &= std::mem::take(&mut self.tasks[task].has_lock);
                    self.locked = true;
                    return self.later(task, ns, Doing::Locked);
                }
                Op::Locked(ns) => {
                    self.waits_for_lock.push_back((task, ns));
                    return self.leaves(task, waiting_in(FUTEX, Object::Futex { address: 16 }));
                }
            }
        }
        self.dies(task);
    }

    fn dies(&mut self, task: usize) {
        let tid = self.tasks[task].tid;
        self.tasks[task].ended = true;
        self.story.exits(tid, none());
        let parent = self.tasks[task].parent.filter(|parent| self.tasks[*parent].joins == Some(task));
        if let Some(parent) = parent {
            self.tasks[parent].joins = None;
            self.wakes(parent, by_task(tid));
        }
        self.leaves(task, SwitchOutState::Dead(Default::default()));
    }
}

fn read(ns: Ns) -> Calls {
    [CallTime { call: Call(READ), count: 1, ns }].into_iter().collect()
}

fn ops(locks: bool) -> impl Strategy<Value = Vec<Op>> {
    let ns = || 1_u64..200_000;
    let leaf = move || {
        let locked = if locks { ns().prop_map(Op::Locked).boxed() } else { ns().prop_map(Op::Work).boxed() };
        prop_oneof![
            ns().prop_map(Op::Work),
            ns().prop_map(|ns| Op::Read(2 * ns)),
            ns().prop_map(|ns| Op::Disk(2 * ns)),
            locked,
        ]
    };
    prop::collection::vec(leaf(), 1..6).prop_recursive(3, 40, 6, move |inner| {
        let op = prop_oneof![4 => leaf(), 2 => inner.prop_map(Op::Fork), 2 => Just(Op::Join)];
        prop::collection::vec(op, 1..9)
    })
}

/// A program replayed with edits, and what it takes when it is run again with them.
fn compared(ops: &[Op], cpus: (usize, usize), edits: &[&str], again: Edits) -> Option<(Machine, WhatIf, Ns)> {
    let (machine, end) = Machine::run(ops, cpus.0, NONE);
    let cpus_edit = format!("cpus={}", cpus.1);
    let edits: Vec<&str> = edits.iter().copied().chain([cpus_edit.as_str()]).collect();
    // A program need not have what is edited.
    let what_if = machine.story.replayed(&edits).ok()?;
    assert_eq!(what_if.wall_ns, end + US);
    Some((machine, what_if, Machine::run(ops, cpus.1, again).1 + US))
}

/// Far more than there are threads.
const MANY: usize = 1000;

/// Ties, and the nanosecond that each thing takes, do not count.
fn near(ns: Ns) -> Ns {
    100 + ns / 1000
}

fn is_near(ns: Ns, to: Ns) -> bool {
    ns.abs_diff(to) <= near(to)
}

fn is_within(what_if: &WhatIf, real: Ns) -> bool {
    let WallEstimate { lo_ns, hi_ns, chance_ns, .. } = what_if.after;
    lo_ns + chance_ns <= real + near(real) && real <= hi_ns - chance_ns + near(real)
}

/// What the carried clocks say of reads: what is saved by what was seen, and at least; where they
/// were watched from the beginning.
fn predicted(story: &Story) -> Option<(Ns, Ns)> {
    let analysis = story.analysed();
    let sites = &analysis.prediction.value().expect("it was asked for").sites;
    let reads = sites.iter().find(|times| times.site == Site::Call("read".into()))?;
    let known = |seen: &Seen<Interval>| seen.value().filter(|ns| ns.lo == ns.hi).map(|ns| ns.lo);
    let saved_ns = known(&reads.saved_ns)?;
    Some((saved_ns, known(&reads.alone_ns)?.min(saved_ns)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_program_takes_as_long_when_it_is_replayed(ops in ops(true), cpus in 1_usize..5) {
        let (_, what_if, end) = compared(&ops, (cpus, cpus), &[], NONE).expect("nothing is edited");
        prop_assert!(is_near(what_if.replay.unedited_ns, end), "{end}: {:?}", what_if.replay);
        prop_assert!(is_near(what_if.replay.edited_ns, end), "{end}: {:?}", what_if.replay);
    }

    #[test]
    fn without_its_reads_and_with_half_of_each_it_takes_what_the_replay_says(ops in ops(false)) {
        for (edit, reads) in [("read=0", 0), ("read=0.5", 50)] {
            let Some((machine, what_if, real)) =
                compared(&ops, (MANY, MANY), &[edit], Edits { reads, ..NONE }) else { return Ok(()) };
            prop_assert!(is_within(&what_if, real), "{real} of {:?}", what_if.after);
            if machine.all_blocked {
                prop_assert!(is_near(what_if.after.ns, real), "{real} of {:?}", what_if.after);
            }
            let (Some((saved_ns, surely_ns)), 0) = (predicted(&machine.story), reads) else { continue };
            prop_assert!(is_near(what_if.saving.ns as Ns, saved_ns), "{saved_ns} of {:?}", what_if.saving);
            prop_assert!(is_near((what_if.saving.lo_ns + what_if.after.chance_ns as i64) as Ns, surely_ns), "{surely_ns} of {:?}", what_if.saving);
        }
    }
}

/// Programs that are the same in each run of the tests.
fn programs(count: usize) -> impl Iterator<Item = (Vec<Op>, usize, usize)> {
    let mut runner = TestRunner::deterministic();
    let each = (ops(true), 1_usize..5, 1_usize..8);
    (0..count).map(move |_| each.new_tree(&mut runner).expect("a program").current())
}

/// Where CPUs are few, what is saved at one place is lost at another now and then.
#[test]
fn on_few_cpus_most_programs_take_what_the_replay_says() {
    let asked: [(&[&str], Edits, bool); 6] = [
        (&["read=0"], Edits { reads: 0, ..NONE }, false),
        (&["read=0.5"], Edits { reads: 50, ..NONE }, false),
        (&["disk=0"], Edits { disks: 0, ..NONE }, false),
        (&["lock=0"], Edits { locks: false, ..NONE }, false),
        (&[], NONE, true),
        (&["lock=0", "read=0"], Edits { locks: false, reads: 0, ..NONE }, true),
    ];
    let programs: Vec<_> = programs(800).collect();
    for (edits, again, more_cpus) in asked {
        let (mut all, mut within, mut off) = (0, 0, 0.0);
        for (ops, cpus, more) in &programs {
            let cpus = (*cpus, if more_cpus { *more } else { *cpus });
            let Some((_, what_if, real)) = compared(ops, cpus, edits, again) else { continue };
            all += 1;
            within += usize::from(is_within(&what_if, real));
            off += what_if.after.ns.abs_diff(real) as f64 / what_if.wall_ns as f64;
        }
        assert!(all >= 20 && within * 100 >= all * 92, "{edits:?}: {within} of {all}");
        assert!(off / f64::from(all as u32) < 0.03, "{edits:?}: off by {off} over {all}");
    }
}
