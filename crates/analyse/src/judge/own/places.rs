//! The account by the code that it is of.
//!
//! A wait is of the function that its row's stack leads to. Time in user code has no stack at each
//! nanosecond: that of a thread is divided as its samples are. Kernel time and page faults are
//! known by system call; they are a function's where nearly all samples of the thread in the kernel
//! are.

use crate::code::own::{Own, OwnFrames, of_frame, shown};
use model::profile::{Activity, Profile};
use model::run::WaitRow;
use model::together::Folded;
use model::wait::StackFrame;
use model::{CodePlace, Ns, Pid, Reason, Run, State, Step, Tid};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Samples of a thread in the kernel from which on they tell whose its system calls are, and the
/// part of them that one function must have.
const SAMPLES: u64 = 5;
const NEARLY_ALL: f64 = 0.9;

/// The samples of one function in one thread and one mode.
#[derive(Debug, Default)]
struct Samples {
    ns: Ns,
    count: u64,
    lines: BTreeMap<u32, Ns>,
}

/// A function: name and file without its directories.
type Function = (String, String);

/// Of each thread and mode its samples, by function; none for those that lead to no own code.
type Sampled = FxHashMap<(Pid, Tid, bool), BTreeMap<Option<Function>, Samples>>;

/// A place as it is added up.
#[derive(Debug, Default)]
struct Sum {
    code: Option<StackFrame>,
    lines: BTreeMap<u32, Ns>,
    reasons: BTreeMap<String, (Ns, Option<Reason>)>,
    threads: BTreeSet<(Pid, Tid)>,
    ns: Ns,
    count: u64,
    sampled: bool,
}

pub(super) fn of(run: &Run, profile: &Profile, frames: &OwnFrames<'_>) -> Vec<CodePlace> {
    let (sampled, code) = samples(profile);
    let waits = Waits::new(&run.waits, frames);
    let mut sums = BTreeMap::<(String, State, Option<Function>, String), Sum>::new();
    for step in run.path.iter().filter(|step| step.ns > 0) {
        let parts: Vec<(Option<StackFrame>, Ns, &BTreeMap<u32, Ns>)> = match step.state {
            State::User | State::Kernel | State::Fault => divided(step, &sampled, &code),
            _ => waits.divided(step),
        };
        let divided = parts.len() > 1;
        for (frame, ns, lines) in parts {
            let function = frame.as_ref().map(function);
            let queued = step.state == State::Runqueue;
            let merged_by = if queued { String::new() } else { step.reason.to_string() };
            let sum = sums.entry((step.process.clone(), step.state, function, merged_by)).or_default();
            for (line, ns) in lines {
                *sum.lines.entry(*line).or_default() += ns;
            }
            sum.code = sum.code.take().or(frame);
            let reason = sum.reasons.entry(step.reason.to_string()).or_default();
            reason.0 += ns;
            reason.1.get_or_insert_with(|| step.reason.clone());
            sum.threads.insert((step.pid, step.tid));
            sum.ns += ns;
            sum.count += step.count;
            sum.sampled |= divided;
        }
    }
    let mut places: Vec<CodePlace> =
        sums.into_iter().map(|((process, state, ..), sum)| place(process, state, sum)).collect();
    // Among equals the map's order stays: by name.
    places.sort_by_key(|place| Reverse(place.ns));
    places
}

/// Places that are kept: 75 kB of JSON.
const PLACES_MAX: usize = 500;

/// The longest; all others of a state are one, so that no sum changes.
pub(super) fn bounded(mut places: Vec<CodePlace>) -> (Vec<CodePlace>, Option<Folded>) {
    if places.len() <= PLACES_MAX {
        return (places, None);
    }
    let others = places.split_off(PLACES_MAX - State::ALL.len());
    let rows = others.len() as u64;
    let mut of_state = BTreeMap::<State, CodePlace>::new();
    for other in others {
        let CodePlace { threads, state, other_reasons, ns, count, sampled, .. } = other;
        let sum = of_state.entry(state).or_insert_with(|| CodePlace {
            process: String::new(),
            threads: 0,
            code: None,
            state,
            reason: Reason::None,
            other_reasons: 0,
            ns: 0,
            count: 0,
            sampled: false,
        });
        sum.threads += threads;
        sum.other_reasons += other_reasons + 1;
        sum.ns += ns;
        sum.count += count;
        sum.sampled |= sampled;
    }
    let folded = Folded { table: "places".to_owned(), rows, into: of_state.len() as u64 };
    places.extend(of_state.into_values());
    places.sort_by_key(|place| Reverse(place.ns));
    (places, Some(folded))
}

/// Where waits were, by state and reason: rows of different threads, each with its places.
struct Waits<'a>(FxHashMap<(State, Reason), Vec<Row<'a>>>);

/// A row and its places.
type Row<'a> = (&'a WaitRow, Vec<WaitedAt>);

/// One place of a row and its part of the row's time.
struct WaitedAt {
    code: Option<StackFrame>,
    lines: BTreeMap<u32, Ns>,
    ns: Ns,
}

impl<'a> Waits<'a> {
    fn new(rows: &'a [WaitRow], frames: &OwnFrames<'_>) -> Self {
        let own = |stack: &[StackFrame]| frames.own_in(stack).map(|own| stack[own].clone());
        let mut all = Self(FxHashMap::default());
        for row in rows {
            let mut places: Vec<WaitedAt> = Vec::new();
            for place in &row.places {
                let code = own(&place.stack);
                let line = code.as_ref().and_then(|frame| frame.source.as_ref()).map_or(0, |(_, line)| *line);
                let function_of = |code: &Option<StackFrame>| code.as_ref().map(function);
                let known = places.iter_mut().find(|known| function_of(&known.code) == function_of(&code));
                match known {
                    Some(known) => {
                        *known.lines.entry(line).or_default() += place.ns;
                        known.ns += place.ns;
                    }
                    None => places.push(WaitedAt { code, lines: [(line, place.ns)].into(), ns: place.ns }),
                }
            }
            if places.is_empty() {
                let code = row.stack.value().and_then(|stack| own(stack));
                places.push(WaitedAt { code, lines: BTreeMap::new(), ns: 1 });
            }
            let key = (row.reason, Reason::Wait(row.call.clone(), row.on.clone()));
            all.0.entry(key).or_default().push((row, places));
        }
        all
    }

    /// A step of waiting by the places of its row, that of its thread: its parts sum to it.
    fn divided(&self, step: &Step) -> Vec<(Option<StackFrame>, Ns, &BTreeMap<u32, Ns>)> {
        let rows = self.0.get(&(step.state, step.reason.clone())).map_or(&[][..], Vec::as_slice);
        let is_of =
            |row: &WaitRow| row.threads.iter().any(|thread| (thread.pid, thread.tid) == (step.pid, step.tid));
        let row = rows.iter().find(|(row, _)| is_of(row)).or_else(|| rows.first());
        let Some((_, places)) = row else { return vec![(None, step.ns, &NO_LINES)] };
        let all: u128 = places.iter().map(|place| u128::from(place.ns)).sum();
        let (mut so_far, mut given) = (0u128, 0);
        let mut parts = Vec::new();
        for place in places {
            so_far += u128::from(place.ns);
            let upto = (u128::from(step.ns) * so_far / all.max(1)) as Ns;
            parts.push((place.code.clone(), upto - given, &place.lines));
            given = upto;
        }
        parts.retain(|(_, ns, _)| *ns > 0);
        parts
    }
}

static NO_LINES: BTreeMap<u32, Ns> = BTreeMap::new();

fn place(process: String, state: State, sum: Sum) -> CodePlace {
    let line =
        sum.lines.iter().filter(|(line, _)| **line > 0).max_by_key(|(line, ns)| (**ns, Reverse(**line)));
    let code = sum.code.map(|frame| match (line, frame.source) {
        (Some((line, _)), Some((file, _))) => StackFrame { source: Some((file, *line)), ..frame },
        (_, source) => StackFrame { source, ..frame },
    });
    let other_reasons = sum.reasons.len() as u64 - 1;
    let leading = sum.reasons.into_values().max_by_key(|(ns, _)| *ns).and_then(|(_, reason)| reason);
    CodePlace {
        process,
        threads: sum.threads.len() as u64,
        code,
        state,
        reason: leading.unwrap_or(Reason::None),
        other_reasons,
        ns: sum.ns,
        count: sum.count,
        sampled: sum.sampled,
    }
}

fn function(frame: &StackFrame) -> Function {
    let file = frame.source.as_ref().map(|(file, _)| file.clone()).unwrap_or_default();
    (frame.function.clone(), file)
}

/// The samples on CPUs by thread and own function, and a frame of each function.
fn samples(profile: &Profile) -> (Sampled, BTreeMap<Function, StackFrame>) {
    let own_of = own_of_nodes(profile);
    // By the own frame first: of that there are few, and it becomes text once.
    let mut of_frames = FxHashMap::<(u32, bool, Option<u32>), (Ns, u64)>::default();
    for weight in &profile.weights {
        let in_kernel = match weight.doing {
            Activity::User => false,
            Activity::Kernel => true,
            Activity::Interrupt | Activity::Waiting(_) => continue,
        };
        let frame = own_of[weight.node as usize].map(|(frame, _)| frame);
        let sum = of_frames.entry((weight.thread, in_kernel, frame)).or_default();
        sum.0 += weight.ns;
        sum.1 += weight.count;
    }
    let mut of_frames: Vec<_> = of_frames.into_iter().collect();
    of_frames.sort_unstable_by_key(|(key, _)| *key);
    let (mut sampled, mut code) = (Sampled::default(), BTreeMap::new());
    for ((thread, in_kernel, frame), (ns, count)) in of_frames {
        let Some(thread) = profile.threads.get(thread as usize) else { continue };
        let frame = frame.map(|frame| shown(&profile.frames[frame as usize]));
        let of_thread = sampled.entry((thread.pid, thread.tid, in_kernel)).or_default();
        let sum = of_thread.entry(frame.as_ref().map(function)).or_default();
        sum.ns += ns;
        sum.count += count;
        if let Some(frame) = frame {
            let line = frame.source.as_ref().map_or(0, |(_, line)| *line);
            *sum.lines.entry(line).or_default() += ns;
            code.entry(function(&frame)).or_insert(frame);
        }
    }
    (sampled, code)
}

/// For each node the own frame of the stack that ends there, with its kind: the innermost of the
/// best kind. Callers stand before what they call.
fn own_of_nodes(profile: &Profile) -> Vec<Option<(u32, Own)>> {
    let owns: Vec<Own> = profile.frames.iter().map(of_frame).collect();
    let mut own_of: Vec<Option<(u32, Own)>> = Vec::with_capacity(profile.nodes.len());
    for node in &profile.nodes {
        let callers = node.caller.and_then(|caller| own_of[caller as usize]);
        let own = owns[node.frame as usize];
        let is = own >= Own::Unplaced && callers.is_none_or(|(_, callers)| own >= callers);
        own_of.push(if is { Some((node.frame, own)) } else { callers });
    }
    own_of
}

/// A step on a CPU by functions: its parts sum to it.
fn divided<'a>(
    step: &Step,
    sampled: &'a Sampled,
    code: &BTreeMap<Function, StackFrame>,
) -> Vec<(Option<StackFrame>, Ns, &'a BTreeMap<u32, Ns>)> {
    let whole = || vec![(None, step.ns, &NO_LINES)];
    let in_kernel = step.state != State::User;
    let Some(functions) = sampled.get(&(step.pid, step.tid, in_kernel)) else { return whole() };
    let all: u128 = functions.values().map(|of| u128::from(of.ns)).sum();
    let count: u64 = functions.values().map(|of| of.count).sum();
    let frame = |name: &Option<Function>| name.as_ref().and_then(|name| code.get(name).cloned());
    if all == 0 {
        return whole();
    }
    if in_kernel {
        let leading = functions
            .iter()
            .max_by_key(|(_, of)| of.ns)
            .filter(|(_, of)| count >= SAMPLES && of.ns as f64 >= all as f64 * NEARLY_ALL);
        return leading.map_or_else(whole, |(name, of)| vec![(frame(name), step.ns, &of.lines)]);
    }
    let (mut so_far, mut given) = (0u128, 0);
    let part = |(name, of): (&Option<Function>, &'a Samples)| {
        so_far += u128::from(of.ns);
        let upto = (u128::from(step.ns) * so_far / all) as Ns;
        let ns = upto - given;
        given = upto;
        (frame(name), ns, &of.lines)
    };
    functions.iter().map(part).filter(|(_, ns, _)| *ns > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{mark, places};
    use super::*;
    use crate::judge::own_code::tests::{Told, at, native};
    use crate::judge::samples;
    use model::Seen;
    use model::profile::Frame;
    use model::recording::Language;
    use model::wait::{WaitCall, WaitTarget};

    fn step(state: State, reason: Reason, ns: Ns) -> Step {
        Step { pid: 100, tid: 100, process: "python3".into(), state, reason, ns, count: 1, together: None }
    }

    fn told(run: &Run, profile: &Profile) -> Vec<String> {
        let (places, _) = places(run, profile);
        places
            .iter()
            .map(|place| {
                let code = place.code.as_ref().map(ToString::to_string).unwrap_or_default();
                format!("{} {code} {} {}", place.state.name(), place.reason, place.ns)
            })
            .collect()
    }

    fn script(function: &str, line: u32) -> Frame {
        Frame { language: Language::Python, ..at(native("fetch.py", function), "/me/fetch.py", line) }
    }

    #[test]
    fn user_time_is_divided_as_samples_are_and_sums_to_itself() {
        let interpreter = native("python3.11", "PyObject_Free");
        let profile = Told::default()
            .stack(2, Activity::User, &[interpreter.clone(), script("step", 7)])
            .stack(1, Activity::User, &[interpreter.clone(), script("step", 8)])
            .stack(4, Activity::User, &[interpreter, script("load", 3)])
            .0;
        let mut run = samples::run(&[(State::User, 100)]);
        run.path = vec![step(State::User, Reason::None, 100)];
        assert_eq!(told(&run, &profile), ["user load (fetch.py:3)  57", "user step (fetch.py:7)  43"]);
    }

    #[test]
    fn of_very_many_places_the_shortest_are_one_of_each_state_and_no_sum_changes() {
        let mut run = samples::run(&[(State::User, 2_001_000), (State::Disk, 600_300)]);
        let step =
            |at: u64, state| Step { process: format!("p{at}"), ..step(state, Reason::None, 1000 + at) };
        run.path =
            (0..2000).map(|at| step(at, if at % 3 == 0 { State::Disk } else { State::User })).collect();
        let (places, folded) = places(&run, &Profile::default());
        assert!(places.len() <= PLACES_MAX);
        let folded = folded.expect("some are put together");
        assert_eq!(places.len() as u64, 2000 - folded.rows + folded.into);
        for state in [State::Disk, State::User] {
            let sum = |ns: &mut dyn Iterator<Item = (State, Ns)>| -> Ns {
                ns.filter(|(of, _)| *of == state).map(|(_, ns)| ns).sum()
            };
            let kept = sum(&mut places.iter().map(|place| (place.state, place.ns)));
            assert_eq!(kept, sum(&mut run.path.iter().map(|step| (step.state, step.ns))));
        }
    }

    #[test]
    fn a_wait_is_of_the_script_that_called_it_and_not_of_its_interpreter() {
        let mut run = samples::run(&[(State::Network, 100)]);
        let on = WaitTarget::TimeLimit;
        let mut wait = samples::wait(State::Network, on.clone(), &[]);
        wait.call = WaitCall::Syscall("recvfrom".into());
        let frames = [
            "recv (recv.c:28)",
            "_PyEval_EvalFrame (pycore_ceval.h:73)",
            "price (fetch.py:3)",
            "<module> (fetch.py:9)",
        ];
        wait.stack = Seen::Value(frames.map(StackFrame::from).to_vec());
        let reason = Reason::Wait(wait.call.clone(), on);
        run.path = vec![step(State::Network, reason, 100)];
        run.waits = vec![wait];
        let mut profile = Profile::default();
        mark(&mut run, &mut profile);
        assert_eq!(run.waits[0].own_frame, Some(2));
        assert!(
            told(&run, &profile)[0].starts_with("network price (fetch.py:3) "),
            "{:?}",
            told(&run, &profile)
        );
    }

    #[test]
    fn kernel_time_is_a_functions_only_where_nearly_all_samples_are() {
        let mut run = samples::run(&[(State::Kernel, 100)]);
        run.path = vec![step(State::Kernel, Reason::Syscall("read".into()), 100)];
        let kernel = Frame { language: Language::Kernel, ..native("[kernel]", "vfs_read") };
        let one = Told::default().stack(9, Activity::Kernel, &[kernel.clone(), script("load", 3)]);
        assert_eq!(told(&run, &one.0), ["kernel load (fetch.py:3) read 100"]);
        let two = one.stack(9, Activity::Kernel, &[kernel, script("save", 4)]);
        assert_eq!(told(&run, &two.0), ["kernel  read 100"]);
    }
}
