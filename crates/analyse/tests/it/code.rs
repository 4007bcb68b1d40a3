//! Stacks of a recording as a tree of calls, and the tables made of it.

use crate::story::*;
use model::profile::Activity;
use model::recording::{CodeLocation, Event, Function, Object, Runtime, SampleMode, Waker};
use model::run::UnnamedRow;
use model::wait::StackFrame;
use model::{Language, RunResult, Seen, State, Tid};

/// Places 0…: `main`, `work` with `add` inlined, a kernel function, a Python line, a place without
/// a name.
fn places(story: &mut Story) {
    let native = |address| CodeLocation::Native { module: "/usr/bin/prog".to_owned(), address };
    let script = CodeLocation::Script {
        language: Language::Python,
        function: "grow".to_owned(),
        file: "/srv/grid.py".to_owned(),
        line: 7,
        first_line: 5,
    };
    let all = [native(0x10), native(0x20), CodeLocation::Kernel { address: 0xffff }, script, native(0x1f0)];
    for (id, place) in (0..).zip(all) {
        story.push(|_| Event::Place { id, place });
    }
}

fn node(story: &mut Story, id: u32, caller: u32, place: u32) {
    story.push(|_| Event::Node { id, caller, place });
}

fn sample(story: &mut Story, node: u32, mode: SampleMode, period_ns: u32) {
    let node = Some(node);
    story.after(1).push(|at| Event::Sampled { at, tid: ROOT, mode, ip: 1, period_ns, node });
}

fn named(story: &mut Story, place: u32, names: &[(&str, Option<u32>, bool)]) {
    let function = |(name, line, inlined): &(&str, Option<u32>, bool)| Function {
        name: Some((*name).to_owned()),
        source: line.map(|line| ("/src/prog.c".to_owned(), line)),
        inlined: *inlined,
    };
    let functions = names.iter().map(function).collect();
    story.push(|_| Event::Named { place, functions });
}

/// 30 samples in `work` (with `add` inlined), 10 in the kernel below it, from `main`.
fn sampled() -> RunResult {
    let mut story = Story::begins();
    places(&mut story);
    node(&mut story, 1, 0, 0);
    node(&mut story, 2, 1, 1);
    node(&mut story, 3, 2, 2);
    for _ in 0..30 {
        sample(&mut story, 2, SampleMode::User, 1000);
    }
    for _ in 0..10 {
        sample(&mut story, 3, SampleMode::Fault, 1000);
    }
    named(&mut story, 0, &[("main", Some(30), false)]);
    named(&mut story, 1, &[("add", Some(3), true), ("work", Some(12), false)]);
    named(&mut story, 2, &[("clear_page", None, false)]);
    story.after(1);
    story.analysed()
}

#[test]
fn functions_have_their_own_share_and_that_with_callees() {
    let analysis = sampled();
    let Seen::Value(functions) = &analysis.run.tables.functions else { panic!("no functions") };
    let row = |name: &str| functions.iter().find(|row| row.name == name).unwrap();
    assert_eq!((row("add").samples, row("add").share.value), (30, 0.75));
    assert_eq!((row("clear_page").samples, row("clear_page").mode.as_str()), (10, "kernel"));
    assert_eq!((row("main").samples, row("main").total.unwrap().value), (0, 1.0));
    assert_eq!(row("work").total.unwrap().value, 1.0);
    // Wilson's interval of 30 in 40.
    let share = row("add").share;
    assert!((share.lo - 0.598).abs() < 0.002 && (share.hi - 0.858).abs() < 0.002, "{share:?}");
    assert_eq!(functions[0].name, "add");
}

#[test]
fn a_line_has_the_time_of_code_without_lines_that_it_called() {
    let analysis = sampled();
    let Seen::Value(lines) = &analysis.run.tables.lines else { panic!("no lines") };
    let line = |number| lines.iter().find(|row| row.line == number).unwrap();
    // The kernel's samples count for the innermost line above: that of the inlined function.
    assert_eq!((line(3).samples, line(3).share.value), (40, 1.0));
    assert_eq!((line(30).samples, line(30).total.unwrap().value), (0, 1.0));
}

#[test]
fn inlined_functions_are_frames_of_their_own_and_addresses_are_kept() {
    let analysis = sampled();
    let profile = analysis.profile();
    let chain = |mut node: u32| {
        let mut names = Vec::new();
        loop {
            names.push(profile.frames[profile.nodes[node as usize].frame as usize].function.as_str());
            match profile.nodes[node as usize].caller {
                Some(caller) => node = caller,
                None => break names,
            }
        }
    };
    let user = profile.weights.iter().find(|weight| weight.doing == Activity::User).unwrap();
    assert_eq!(chain(user.node), ["add", "work", "main"]);
    assert_eq!((user.ns, user.count), (30_000, 30));
    assert_eq!((profile.stacks, profile.broken, profile.moments.len()), (40, 0, 40));
    assert_eq!(analysis.addresses.len(), 1);
    assert_eq!((analysis.addresses[0].address, analysis.addresses[0].samples), (0x20, 30));
}

/// Samples in code that two processes made, called from `main`: 3 and 2 without names in one, 1 in
/// the other, 4 with a name, and 2 in the kernel below unnamed code.
fn jitted(place: impl Fn(u32, u64) -> CodeLocation) -> RunResult {
    let mut story = Story::begins();
    places(&mut story);
    let made = [place(5, 0x100), place(5, 0x200), place(6, 0x100), place(5, 0x300)];
    for (id, place) in (5..).zip(made) {
        story.push(|_| Event::Place { id, place });
    }
    node(&mut story, 1, 0, 0);
    for (id, place) in (2..).zip(5..9) {
        node(&mut story, id, 1, place);
    }
    node(&mut story, 6, 2, 2);
    for (of, times) in [(2, 3), (3, 2), (4, 1), (5, 4), (6, 2)] {
        for _ in 0..times {
            sample(&mut story, of, SampleMode::User, 1000);
        }
    }
    named(&mut story, 0, &[("main", Some(30), false)]);
    named(&mut story, 8, &[("JS:*work", None, false)]);
    let unnamed = vec![Function { name: None, source: None, inlined: false }];
    story.push(|_| Event::Named { place: 5, functions: unnamed });
    story.after(1);
    story.analysed()
}

#[test]
fn unnamed_code_of_a_jit_is_one_row_with_its_whole_share() {
    let of_node = |pid, address| CodeLocation::Jit { pid, runtime: Runtime::Node, address };
    let analysis = jitted(of_node);
    let functions = analysis.run.tables.functions.value().unwrap();
    let row = functions.iter().find(|row| row.unnamed.is_some()).unwrap();
    assert_eq!((row.name.as_str(), row.module.as_str(), row.samples), ("[jit:node]", "[jit]", 6));
    assert_eq!((row.share.value, row.total.unwrap().value), (0.5, 8.0 / 12.0));
    assert_eq!(row.unnamed, Some(UnnamedRow { runtime: Runtime::Node, pids: vec![5, 6] }));
    assert_eq!(functions.iter().filter(|row| row.module == "[jit]").count(), 2);
    let work = functions.iter().find(|row| row.name == "JS:*work").unwrap();
    assert_eq!((work.samples, work.unnamed.is_some()), (4, false));
}

#[test]
fn a_line_has_no_time_of_code_of_a_jit_above_it() {
    let analysis = jitted(|pid, address| CodeLocation::Jit { pid, runtime: Runtime::Other, address });
    let lines = analysis.run.tables.lines.value().unwrap();
    assert_eq!(lines.len(), 1);
    assert_eq!((lines[0].samples, lines[0].total.unwrap().value), (0, 1.0));
}

#[test]
fn older_recordings_have_their_unnamed_code_in_one_row_too() {
    let analysis = jitted(|_, address| CodeLocation::Native { module: "[jit]".to_owned(), address });
    let functions = analysis.run.tables.functions.value().unwrap();
    let row = functions.iter().find(|row| row.unnamed.is_some()).unwrap();
    assert_eq!((row.name.as_str(), row.samples), ("[jit]", 6));
    assert_eq!(row.unnamed, Some(UnnamedRow { runtime: Runtime::Other, pids: vec![] }));
}

#[test]
fn samples_count_by_the_time_they_stand_for() {
    let mut story = Story::begins();
    places(&mut story);
    node(&mut story, 1, 0, 0);
    node(&mut story, 2, 0, 4);
    for _ in 0..10 {
        sample(&mut story, 1, SampleMode::User, 1000);
    }
    for _ in 0..5 {
        sample(&mut story, 2, SampleMode::User, 6000);
    }
    named(&mut story, 0, &[("main", None, false)]);
    let Seen::Value(functions) = story.analysed().run.tables.functions else { panic!("no functions") };
    // What has no symbol is called by its module and address.
    assert_eq!((functions[0].name.as_str(), functions[0].share.value), ("prog+0x1f0", 0.75));
    // Fifteen samples of unequal weight are worth 40² / (10 + 5 x 36) = 8.4 equal ones.
    let share = functions[0].share;
    assert!((share.lo - 0.42).abs() < 0.02 && (share.hi - 0.93).abs() < 0.02, "{share:?}");
}

#[test]
fn a_script_counts_before_the_interpreter_below_it() {
    let mut story = Story::begins();
    places(&mut story);
    // main, the Python line, and the interpreter's own C function with a line of its own.
    node(&mut story, 1, 0, 0);
    node(&mut story, 2, 1, 3);
    node(&mut story, 3, 2, 1);
    sample(&mut story, 3, SampleMode::User, 1000);
    named(&mut story, 1, &[("list_resize", Some(90), false)]);
    let run = story.analysed().run;
    let Seen::Value(lines) = &run.tables.lines else { panic!("no lines") };
    assert_eq!((lines[0].file.as_str(), lines[0].line, lines[0].samples), ("/srv/grid.py", 7, 1));
    assert_eq!((lines[0].language.as_str(), lines[1].samples), ("python", 0));
    let Seen::Value(functions) = &run.tables.functions else { panic!("no functions") };
    assert_eq!(functions[0].name, "list_resize");
}

#[test]
fn a_waits_stack_goes_with_what_was_waited_for() {
    let mut story = Story::begins();
    places(&mut story);
    node(&mut story, 1, 0, 0);
    node(&mut story, 2, 1, 1);
    story.after(10).leaves(ROOT, waiting_in(NANOSLEEP, Object::Unknown), inside(NANOSLEEP, 2));
    story.after(2000).wakes(ROOT, Waker::Timer, none());
    story.after(5).comes(ROOT);
    story.after(1).push(|at| Event::WaitStack { at, tid: ROOT, node: 2, weight_ns: 2_000_000, call: None });
    named(&mut story, 0, &[("main", Some(30), false)]);
    named(&mut story, 1, &[("nap", None, false)]);
    let analysis = story.analysed();
    let wait = analysis.run.waits.iter().find(|wait| wait.reason == State::Sleep).unwrap();
    let Seen::Value(stack) = &wait.stack else { panic!("no stack") };
    assert_eq!(stack, &["nap", "main (prog.c:30)"].map(StackFrame::from));
    let weight = &analysis.profile().weights[0];
    assert_eq!((weight.doing, weight.ns), (Activity::Waiting(State::Sleep), 2_000_000));
    // Nothing ran while somebody looked: that is not a share of nothing.
    assert!(matches!(analysis.run.tables.functions, Seen::Unseen(_)));
}

/// Each wait with a stack: who waited, and who of the tree ended that.
fn woken(analysis: &RunResult) -> Vec<(Tid, Option<Tid>)> {
    let profile = analysis.profile();
    let tid = |thread: u32| profile.threads[thread as usize].tid;
    let waits = profile.moments.iter().filter(|moment| matches!(moment.doing, Activity::Waiting(_)));
    waits.map(|moment| (tid(moment.thread), moment.by.map(tid))).collect()
}

/// The root waits in a pipe until its child writes to it, and then for a timer; each wait has a
/// stack. The child has one where `told`, after those.
fn woken_by_the_child(told: bool) -> Story {
    const CHILD: Tid = 200;
    let mut story = Story::begins();
    places(&mut story);
    node(&mut story, 1, 0, 0);
    let stack = |at| Event::WaitStack { at, tid: ROOT, node: 1, weight_ns: 1_000_000, call: None };
    story.after(1).forks(ROOT, CHILD, CHILD);
    story.leaves(ROOT, waiting_in(READ, Object::Unknown), inside(READ, 1)).comes(CHILD);
    story.after(1000).wakes(ROOT, by_task(CHILD), none()).after(5).comes(ROOT).after(1).push(stack);
    story.leaves(ROOT, waiting_in(NANOSLEEP, Object::Unknown), inside(NANOSLEEP, 1));
    story.after(1000).wakes(ROOT, Waker::Timer, none()).after(5).comes(ROOT).after(1).push(stack);
    if told {
        let (mode, period_ns) = (SampleMode::User, 1000);
        story.push(|at| Event::SampleStack { at, tid: CHILD, node: 1, mode, period_ns });
    }
    story
}

#[test]
fn a_wait_with_a_stack_knows_the_thread_that_ended_it_and_a_timer_is_none() {
    let analysis = woken_by_the_child(true).analysed();
    assert_eq!(woken(&analysis), [(ROOT, Some(200)), (ROOT, None)]);
    // A thread without a stack is not listed among those with one.
    let analysis = woken_by_the_child(false).analysed();
    assert_eq!(woken(&analysis), [(ROOT, None), (ROOT, None)]);
    assert_eq!(analysis.profile().threads.len(), 1);
}

#[test]
fn a_number_that_is_used_again_is_another_thread() {
    let mut story = woken_by_the_child(false);
    story.dies(200).after(1).forks(ROOT, 200, 200).comes(200);
    let (mode, period_ns) = (SampleMode::User, 1000);
    story.push(|at| Event::SampleStack { at, tid: 200, node: 1, mode, period_ns });
    assert_eq!(woken(&story.analysed()), [(ROOT, None), (ROOT, None)]);
}

#[test]
fn a_stack_that_could_not_be_followed_is_counted_and_says_why() {
    let mut story = Story::begins();
    story.push(|_| Event::Place {
        id: 0,
        place: CodeLocation::Broke { why: "no unwind information in x".to_owned() },
    });
    story.push(|_| Event::Place { id: 1, place: CodeLocation::Kernel { address: 1 } });
    node(&mut story, 1, 0, 0);
    node(&mut story, 2, 1, 1);
    sample(&mut story, 2, SampleMode::Kernel, 1000);
    // Of nodes that were never told nothing is made.
    sample(&mut story, 9, SampleMode::Kernel, 1000);
    let analysis = story.analysed();
    assert_eq!((analysis.profile().stacks, analysis.profile().broken), (1, 1));
    let broke = analysis.profile().frames.iter().find(|frame| frame.broke).unwrap();
    assert_eq!(broke.function, "no unwind information in x");
    let Seen::Value(functions) = &analysis.run.tables.functions else { panic!("no functions") };
    assert_eq!(functions.len(), 1);
    assert_eq!(functions[0].name, "[kernel]+0x1");
}
