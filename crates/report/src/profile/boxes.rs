//! The call tree as boxes of a flame graph: a box is a function below its caller, as wide as its
//! time, with a box below it for each state that it waited in; and what of it was when. How they
//! look is left to the caller.

use super::flame::idle_threads;
use super::names::short;
use super::tree::{Label, Shape, Tree};
use crate::Look;
use crate::units::count;
use model::profile::{Activity, Moment, Profile};
use model::{Ns, State, Tid};
use std::collections::{BTreeMap, HashMap};

/// The least part of all time that has a box (1 in N).
const LEAST: Ns = 1000;
/// Boxes at most: with more the least part is raised.
const BOXES: usize = 2000;
/// The deepest box.
const DEPTH: usize = 120;
/// Columns of the longest name.
const NAME: usize = 120;
/// Parts of the time that boxes are told apart by, and numbers that tell it.
const BINS: [usize; 4] = [240, 120, 60, 30];
const ENTRIES: usize = 20_000;

/// One box. Times are in nanoseconds of all threads together.
#[derive(Debug)]
pub(crate) struct FlameBox {
    /// Before it in the list.
    pub(crate) parent: Option<usize>,
    pub(crate) depth: usize,
    pub(crate) start: Ns,
    pub(crate) total: Ns,
    /// Clean.
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// What a box is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A function: the program's own or not; whether of the kernel.
    Function { own: bool, kernel: bool },
    /// Waiting, in its caller.
    Waiting(State),
}

/// The boxes, callers first, and what of their own time was when.
#[derive(Debug, Default)]
pub(crate) struct Boxes {
    pub(crate) boxes: Vec<FlameBox>,
    pub(crate) total: Ns,
    /// Equal parts of the wall clock; of each, boxes with their own time in it.
    pub(crate) bins: Vec<Vec<(usize, Ns)>>,
    /// Names of idle threads that are left out, as in the view for a terminal.
    pub(crate) idle: usize,
}

/// The boxes of a profile; none without stacks.
pub(crate) fn boxes(profile: &Profile, wall_ns: Ns) -> Boxes {
    let idle = idle_threads(profile);
    let mut tree =
        Tree::new(profile, Shape { fold: true, apart: false }, |weight| !idle.contains(&weight.thread));
    tree.mark_own(profile);
    let total = tree.total().sum();
    if total == 0 {
        return Boxes::default();
    }
    let mut least = (total / LEAST).max(1);
    let (boxes, places) = loop {
        let laid_out = lay_out(profile, &tree, least);
        if laid_out.0.len() <= BOXES {
            break laid_out;
        }
        least = least.saturating_add(least / 4 + 1);
    };
    let moments = profile.moments.iter().filter(|moment| !idle.contains(&moment.thread));
    let entries = |bins: usize| bins_of(moments.clone(), &tree, &places, wall_ns, bins);
    let mut bins = entries(BINS[0]);
    for fewer in &BINS[1..] {
        if bins.iter().map(Vec::len).sum::<usize>() <= ENTRIES {
            break;
        }
        bins = entries(*fewer);
    }
    Boxes { boxes, total, bins, idle: idle.len() }
}

/// The box of a branch, or of its waiting in a state.
type Places = HashMap<(u32, Option<State>), usize>;

fn lay_out(profile: &Profile, tree: &Tree, least: Ns) -> (Vec<FlameBox>, Places) {
    let (mut boxes, mut places) = (Vec::new(), Places::new());
    let mut todo: Vec<(u32, Option<usize>, usize, Ns)> = Vec::new();
    let plan =
        |branches: &[u32], parent, depth, mut at: Ns, todo: &mut Vec<(u32, Option<usize>, usize, Ns)>| {
            let first = todo.len();
            for branch in branches {
                let ns = tree.branches[*branch as usize].total.sum();
                if ns >= least && depth < DEPTH {
                    todo.push((*branch, parent, depth, at));
                }
                at = at.saturating_add(ns);
            }
            todo[first..].reverse();
            at
        };
    plan(&tree.roots, None, 0, 0, &mut todo);
    while let Some((index, parent, depth, start)) = todo.pop() {
        let branch = &tree.branches[index as usize];
        let place = boxes.len();
        let (name, kernel) = name(profile, branch.label);
        let kind = Kind::Function { own: branch.own_code, kernel };
        boxes.push(FlameBox { parent, depth, start, total: branch.total.sum(), name, kind });
        places.insert((index, None), place);
        let mut at = start;
        for (state, ns) in branch.own.parts().into_iter().filter(|(state, _)| state.blocked()) {
            if ns >= least {
                places.insert((index, Some(state)), boxes.len());
                boxes.push(FlameBox {
                    parent: Some(place),
                    depth: depth + 1,
                    start: at,
                    total: ns,
                    name: format!("waiting: {}", state.name()),
                    kind: Kind::Waiting(state),
                });
            }
            at = at.saturating_add(ns);
        }
        plan(&branch.children, Some(place), depth + 1, at, &mut todo);
    }
    (boxes, places)
}

/// The name of a box, and whether it is the kernel's code.
fn name(profile: &Profile, label: Label) -> (String, bool) {
    match label {
        Label::Function(frame) => profile.frames.get(frame as usize).map_or_else(Default::default, |frame| {
            (short(frame, NAME, Look::DOCUMENT), frame.language == model::recording::Language::Kernel)
        }),
        Label::Thread(thread) => (count(u64::from(thread)), false),
    }
}

fn bins_of<'a>(
    moments: impl Iterator<Item = &'a Moment>,
    tree: &Tree,
    places: &Places,
    wall_ns: Ns,
    bins: usize,
) -> Vec<Vec<(usize, Ns)>> {
    let mut sums: Vec<BTreeMap<usize, Ns>> = vec![BTreeMap::new(); bins];
    for moment in moments {
        let Some(branch) = tree.branch_of.get(moment.node as usize).copied().flatten() else { continue };
        let waiting = match moment.doing {
            Activity::Waiting(state) => Some(state),
            _ => None,
        };
        // What is too small for a box counts for its caller.
        let above = std::iter::successors(Some(branch), |at| tree.branches[*at as usize].parent);
        let place = places.get(&(branch, waiting)).copied();
        let Some(place) = place.or_else(|| above.filter_map(|at| places.get(&(at, None)).copied()).next())
        else {
            continue;
        };
        spread(moment, wall_ns, bins, |bin, ns| *sums[bin].entry(place).or_default() += ns);
    }
    sums.into_iter().map(|bin| bin.into_iter().collect()).collect()
}

/// What of a moment lies in which of equal parts of the wall clock: the sample of a CPU in one, a
/// wait in all that it lasted.
pub(crate) fn spread(moment: &Moment, wall_ns: Ns, parts: usize, mut add: impl FnMut(usize, Ns)) {
    let wall = u128::from(wall_ns.max(1));
    let part = |at: Ns| ((u128::from(at) * parts as u128 / wall) as usize).min(parts - 1);
    if !matches!(moment.doing, Activity::Waiting(_)) {
        return add(part(moment.at_ns), moment.ns);
    }
    let (from, to) = (moment.at_ns.saturating_sub(moment.ns), moment.at_ns.min(wall_ns));
    let edge = |index: usize| (wall * index as u128).div_ceil(parts as u128) as Ns;
    for index in part(from)..=part(to.saturating_sub(1).max(from)) {
        let ns = edge(index + 1).min(to).saturating_sub(edge(index).max(from));
        if ns > 0 {
            add(index, ns);
        }
    }
}

/// A thread over time.
#[derive(Debug)]
pub(crate) struct ThreadStrip {
    /// A position in the profile's threads.
    pub(crate) thread: u32,
    /// Untrusted.
    pub(crate) name: String,
    pub(crate) tid: Tid,
    /// Of each of equal parts of the wall clock the state that has most of it.
    pub(crate) parts: Vec<Option<State>>,
}

/// What threads with stacks did over time: `most` of them, those with most time on a CPU first; and
/// how many there are.
pub(crate) fn strips(profile: &Profile, wall_ns: Ns, parts: usize, most: usize) -> (Vec<ThreadStrip>, usize) {
    let mut sums: Vec<(Ns, Ns)> = vec![(0, 0); profile.threads.len()];
    for weight in &profile.weights {
        let Some((on_cpu, all)) = sums.get_mut(weight.thread as usize) else { continue };
        *all = all.saturating_add(weight.ns);
        if weight.doing.state().on_cpu() {
            *on_cpu = on_cpu.saturating_add(weight.ns);
        }
    }
    let mut order: Vec<usize> = (0..sums.len()).filter(|at| sums[*at].1 > 0).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(sums[*at]), *at));
    let all = order.len();
    order.truncate(most);
    let places: HashMap<u32, usize> =
        order.iter().enumerate().map(|(place, at)| (*at as u32, place)).collect();
    let mut times: Vec<Vec<BTreeMap<State, Ns>>> = vec![vec![BTreeMap::new(); parts]; order.len()];
    for moment in &profile.moments {
        let Some(place) = places.get(&moment.thread) else { continue };
        let state = moment.doing.state();
        spread(moment, wall_ns, parts, |part, ns| *times[*place][part].entry(state).or_default() += ns);
    }
    let longest =
        |part: &BTreeMap<State, Ns>| part.iter().max_by_key(|(_, ns)| **ns).map(|(state, _)| *state);
    let strip = |(at, of): (&usize, &Vec<BTreeMap<State, Ns>>)| {
        let owner = &profile.threads[*at];
        let (name, tid) = (owner.name.clone(), owner.tid);
        ThreadStrip { thread: *at as u32, name, tid, parts: of.iter().map(longest).collect() }
    };
    (order.iter().zip(&times).map(strip).collect(), all)
}

/// A wait that a thread with a strip ended for another one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HandedOver {
    /// The strip of the thread that ended it, and of the one that had waited.
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// When the latter went on.
    pub(crate) at_ns: Ns,
    /// Waited time that it stands for, and what for.
    pub(crate) ns: Ns,
    pub(crate) waited_for: State,
}

/// Hand-overs to draw.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// In order of time.
    pub(crate) drawn: Vec<HandedOver>,
    /// How many moments are hand-overs, whether their threads have strips or not.
    pub(crate) all: usize,
}

/// The longest hand-overs between threads that have strips: `most` of them.
pub(crate) fn lines(profile: &Profile, strips: &[ThreadStrip], most: usize) -> Lines {
    let rows: HashMap<u32, usize> =
        strips.iter().enumerate().map(|(row, strip)| (strip.thread, row)).collect();
    let (mut drawn, mut all) = (Vec::new(), 0);
    for moment in &profile.moments {
        let Some(by) = moment.by else { continue };
        all += 1;
        if let (Some(from), Some(to)) = (rows.get(&by), rows.get(&moment.thread))
            && from != to
        {
            let (at_ns, ns, waited_for) = (moment.at_ns, moment.ns, moment.doing.state());
            drawn.push(HandedOver { from: *from, to: *to, at_ns, ns, waited_for });
        }
    }
    drawn.sort_by_key(|one: &HandedOver| (std::cmp::Reverse(one.ns), one.at_ns));
    drawn.truncate(most);
    drawn.sort_by_key(|one| one.at_ns);
    Lines { drawn, all }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::profile::{Frame, Node, Owner, Weight};
    use model::recording::Language;

    /// Two functions of one thread: it runs in `main` for 10 ns, and waits in what that calls for
    /// 90 ns.
    fn profile() -> Profile {
        let frame = |name: &str| Frame::new(name, "", Language::Native);
        let disk = Activity::Waiting(State::Disk);
        let weight = |node, doing, ns| Weight { node, thread: 0, doing, ns, count: 1 };
        let moment = |at_ns, node, doing, ns| Moment { at_ns, node, thread: 0, doing, ns, by: None };
        Profile {
            frames: vec![Frame { own: true, ..frame("main") }, frame("read")],
            nodes: vec![Node { caller: None, frame: 0 }, Node { caller: Some(0), frame: 1 }],
            threads: vec![Owner { pid: 1, tid: 1, name: "main".to_owned() }],
            weights: vec![weight(0, Activity::User, 10), weight(1, disk, 90)],
            moments: vec![moment(5, 0, Activity::User, 10), moment(100, 1, disk, 90)],
            thinned: 1,
            stacks: 2,
            broken: 0,
        }
    }

    #[test]
    fn waiting_is_a_box_below_its_function_and_all_time_is_in_bins() {
        let boxes = boxes(&profile(), 100);
        let said: Vec<_> = boxes.boxes.iter().map(|one| (one.name.as_str(), one.start, one.total)).collect();
        assert_eq!(said, [("main", 0, 100), ("read", 0, 90), ("waiting: disk", 0, 90)]);
        assert_eq!(boxes.boxes[2].kind, Kind::Waiting(State::Disk));
        let sum = |of: usize| -> Ns {
            boxes.bins.iter().flatten().filter(|(at, _)| *at == of).map(|(_, ns)| *ns).sum()
        };
        assert_eq!([sum(0), sum(1), sum(2)], [10, 0, 90]);
        let waited = boxes.bins.iter().position(|bin| bin.iter().any(|(at, _)| *at == 2));
        assert!(waited.is_some_and(|bin| bin >= boxes.bins.len() / 10 - 1), "from 10 ns on: {waited:?}");
    }

    #[test]
    fn a_thread_is_what_it_did_most_of_the_time() {
        let (strips, all) = strips(&profile(), 100, 10, 5);
        assert_eq!((strips.len(), all), (1, 1));
        assert_eq!(strips[0].parts[0], Some(State::User));
        assert!(strips[0].parts[1..].iter().all(|part| *part == Some(State::Disk)), "{strips:?}");
        assert_eq!(super::strips(&profile(), 100, 10, 0).0.len(), 0);
    }

    #[test]
    fn the_longest_hand_overs_between_threads_that_are_drawn_are_lines() {
        let mut profile = profile();
        let owner = |tid| Owner { pid: 1, tid, name: "worker".to_owned() };
        profile.threads.extend([owner(2), owner(3)]);
        let lock = Activity::Waiting(State::Lock);
        profile.weights.push(Weight { node: 1, thread: 1, doing: lock, ns: 30, count: 1 });
        let wait = |at_ns, ns, by| Moment { at_ns, node: 1, thread: 1, doing: lock, ns, by: Some(by) };
        // The third thread has no strip.
        profile.moments.extend([wait(40, 5, 0), wait(50, 9, 2), wait(70, 7, 0), wait(80, 6, 0)]);
        let (strips, _) = strips(&profile, 100, 10, 5);
        let told = |most| {
            let lines = lines(&profile, &strips, most);
            let one = |one: &HandedOver| (one.at_ns, strips[one.from].thread, strips[one.to].thread);
            (lines.drawn.iter().map(one).collect::<Vec<_>>(), lines.all)
        };
        assert_eq!(told(2), (vec![(70, 0, 1), (80, 0, 1)], 4));
        assert_eq!(told(9), (vec![(40, 0, 1), (70, 0, 1), (80, 0, 1)], 4));
    }
}
