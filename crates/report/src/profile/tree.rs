//! The call tree by function: addresses of one function are merged, and recursion may be folded.
//!
//! The tree of the profile is by address, so that it has lines; here a function called from two
//! lines of its caller is one child. No time is lost: the totals of the roots are the time of all
//! weights that were kept.

use super::stack::walk;
use model::profile::{Frame, Owner, Profile, Weight};
use model::recording::Language;
use model::{Ns, State};
use std::collections::HashMap;

/// The longest cycle of functions calling each other that is folded.
const CYCLE_MAX: usize = 4;

/// What a branch stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Label {
    /// A function, by one of its frames: a position in the profile's `frames`.
    Function(u32),
    /// All threads of one name, by one of them: a position in the profile's `threads`.
    Thread(u32),
}

/// Time by state, in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Time {
    states: Vec<(State, Ns)>,
}

impl Time {
    pub(super) fn add(&mut self, state: State, ns: Ns) {
        match self.states.iter_mut().find(|(known, _)| *known == state) {
            Some((_, sum)) => *sum = sum.saturating_add(ns),
            None => self.states.push((state, ns)),
        }
    }

    pub(super) fn add_all(&mut self, other: &Time) {
        for (state, ns) in &other.states {
            self.add(*state, *ns);
        }
    }

    pub(super) fn sum(&self) -> Ns {
        self.states.iter().fold(0, |sum, (_, ns)| sum.saturating_add(*ns))
    }

    /// On a CPU first (user, kernel), then waiting, longest first.
    pub(super) fn parts(&self) -> Vec<(State, Ns)> {
        let mut parts = self.states.clone();
        parts.sort_by_key(|(state, ns)| {
            (!state.on_cpu(), State::User != *state, std::cmp::Reverse(*ns), *state)
        });
        parts
    }
}

/// A function called along one path of functions.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) label: Label,
    pub(super) parent: Option<u32>,
    pub(super) children: Vec<u32>,
    /// Time in the function itself.
    pub(super) own: Time,
    /// Time in it and in what it called.
    pub(super) total: Time,
    /// It called itself, directly or through others; the recursion is folded.
    pub(super) recursive: bool,
    /// It is a function of a script, not of the interpreter.
    pub(super) script: bool,
    /// The frame that has most of `own`, for its source line, with its time.
    pub(super) hottest: Option<(u32, Ns)>,
    /// For a script's function, the frame that has most of `total`: the line that it was at, with
    /// its time.
    pub(super) at: Option<(u32, Ns)>,
    /// It is the program's own function, or leads to one. Of a tree without own functions, none.
    pub(super) leads_to_own: bool,
    /// It is the program's own function.
    pub(super) own_code: bool,
    function: u32,
}

/// The tree. A caller precedes its callees.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) branches: Vec<Branch>,
    pub(super) roots: Vec<u32>,
    /// For each node of the profile, its branch.
    pub(super) branch_of: Vec<Option<u32>>,
}

/// How to make a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// Fold recursion: of a function calling itself, or a cycle of a few that repeats.
    pub(super) fold: bool,
    /// A root for the threads of each name, instead of one tree for all.
    pub(super) apart: bool,
}

impl Tree {
    /// The tree of the weights that are kept.
    pub(super) fn new(profile: &Profile, shape: Shape, keep: impl Fn(&Weight) -> bool) -> Self {
        let functions = functions(&profile.frames);
        let mut tree = Tree::default();
        let mut places = HashMap::new();
        let (mut hot, mut lines) = (HashMap::<(u32, u32), Ns>::new(), HashMap::<(u32, u32), Ns>::new());
        let names = if shape.apart { first_of_name(&profile.threads) } else { Vec::new() };
        // There is one forest for all threads, or one per thread name.
        let mut placed = HashMap::<(Option<u32>, u32), u32>::new();
        for weight in profile.weights.iter().filter(|weight| weight.ns > 0 && keep(weight)) {
            let thread = names.get(weight.thread as usize).copied();
            let Some(branch) =
                tree.place(profile, weight.node, thread, shape, &functions, &mut placed, &mut places)
            else {
                continue;
            };
            tree.branches[branch as usize].own.add(weight.doing.state(), weight.ns);
            let frame = profile.nodes[weight.node as usize].frame;
            let ns = hot.entry((branch, frame)).or_default();
            *ns = ns.saturating_add(weight.ns);
            // Only the picture has lines of functions that called others.
            if shape.fold {
                for (branch, frame) in scripts(profile, weight.node, thread, &placed) {
                    let ns = lines.entry((branch, frame)).or_default();
                    *ns = ns.saturating_add(weight.ns);
                }
            }
        }
        for ((branch, frame), ns) in hot {
            keep_larger(&mut tree.branches[branch as usize].hottest, frame, ns);
        }
        for ((branch, frame), ns) in lines {
            keep_larger(&mut tree.branches[branch as usize].at, frame, ns);
        }
        if !shape.apart {
            for moment in &profile.moments {
                tree.place(profile, moment.node, None, shape, &functions, &mut placed, &mut places);
            }
        }
        tree.branch_of =
            (0..profile.nodes.len() as u32).map(|node| placed.get(&(None, node)).copied()).collect();
        tree.sum_up();
        tree
    }

    /// The branch of a node, added with its callers if it is new.
    fn place(
        &mut self,
        profile: &Profile,
        node: u32,
        thread: Option<u32>,
        shape: Shape,
        functions: &[u32],
        placed: &mut HashMap<(Option<u32>, u32), u32>,
        places: &mut HashMap<(Option<u32>, Label, u32), u32>,
    ) -> Option<u32> {
        // Callers without a branch, innermost first.
        let mut new = Vec::new();
        let mut at = Some(node);
        let mut parent = None;
        while let Some(node) = at {
            if let Some(branch) = placed.get(&(thread, node)) {
                parent = Some(*branch);
                break;
            }
            let callers = profile.nodes.get(node as usize)?;
            new.push(node);
            // A caller precedes its callee; any other is not valid.
            at = callers.caller.filter(|caller| *caller < node);
        }
        if let (None, Some(thread)) = (parent, thread) {
            parent = Some(self.child(None, Label::Thread(thread), u32::MAX, places));
        }
        for node in new.into_iter().rev() {
            let frame = profile.nodes[node as usize].frame;
            let function = *functions.get(frame as usize)?;
            let folded = if shape.fold { self.cycle(parent, function) } else { None };
            let branch = match folded {
                Some(branch) => {
                    self.branches[branch as usize].recursive = true;
                    branch
                }
                None => self.child(parent, Label::Function(function), function, places),
            };
            let language = profile.frames.get(frame as usize).map(|frame| frame.language);
            self.branches[branch as usize].script |= language == Some(Language::Python);
            placed.insert((thread, node), branch);
            parent = Some(branch);
        }
        parent
    }

    fn child(
        &mut self,
        parent: Option<u32>,
        label: Label,
        function: u32,
        places: &mut HashMap<(Option<u32>, Label, u32), u32>,
    ) -> u32 {
        let next = self.branches.len() as u32;
        let branch = *places.entry((parent, label, function)).or_insert(next);
        if branch == next {
            let (own, total) = Default::default();
            let children = Vec::new();
            let (hottest, at) = (None, None);
            self.branches.push(Branch {
                label,
                parent,
                children,
                own,
                total,
                recursive: false,
                script: false,
                hottest,
                at,
                leads_to_own: false,
                own_code: false,
                function,
            });
            match parent {
                Some(parent) => self.branches[parent as usize].children.push(branch),
                None => self.roots.push(branch),
            }
        }
        branch
    }

    /// The branch to fold a function into: the same last few functions twice in a row are one cycle
    /// of a recursion.
    fn cycle(&self, parent: Option<u32>, function: u32) -> Option<u32> {
        let mut above = Vec::with_capacity(2 * CYCLE_MAX);
        let mut at = parent;
        while let Some(branch) = at.filter(|_| above.len() < 2 * CYCLE_MAX - 1) {
            above.push(branch);
            at = self.branches[branch as usize].parent;
        }
        let function_at = |index: usize| match index {
            0 => Some(function),
            _ => above.get(index - 1).map(|branch| self.branches[*branch as usize].function),
        };
        let repeats = |period: usize| {
            (0..period).all(|index| {
                let above = function_at(index + period);
                above.is_some() && above == function_at(index)
            })
        };
        (1..=CYCLE_MAX).find(|period| repeats(*period)).map(|period| above[period - 1])
    }

    /// Sums up totals, and sorts children by them, largest first.
    fn sum_up(&mut self) {
        for index in (0..self.branches.len()).rev() {
            let mut total = std::mem::take(&mut self.branches[index].total);
            total.add_all(&self.branches[index].own);
            if let Some(parent) = self.branches[index].parent {
                self.branches[parent as usize].total.add_all(&total);
            }
            self.branches[index].total = total;
        }
        let totals: Vec<Ns> = self.branches.iter().map(|branch| branch.total.sum()).collect();
        // Equal ones by position: in the order of the analysis.
        let largest_first = |branches: &mut Vec<u32>| {
            branches.sort_by_key(|branch| (std::cmp::Reverse(totals[*branch as usize]), *branch));
        };
        for branch in &mut self.branches {
            largest_first(&mut branch.children);
        }
        largest_first(&mut self.roots);
    }

    /// Marks the program's own functions, and those that lead to them.
    pub(super) fn mark_own(&mut self, profile: &Profile) {
        for index in (0..self.branches.len()).rev() {
            let branch = &mut self.branches[index];
            branch.own_code = match branch.label {
                Label::Function(frame) => profile.frames.get(frame as usize).is_some_and(|frame| frame.own),
                Label::Thread(_) => false,
            };
            branch.leads_to_own |= branch.own_code;
            if let (true, Some(parent)) = (branch.leads_to_own, branch.parent) {
                self.branches[parent as usize].leads_to_own = true;
            }
        }
    }

    /// Time of all roots.
    pub(super) fn total(&self) -> Time {
        self.roots.iter().fold(Time::default(), |mut sum, root| {
            sum.add_all(&self.branches[*root as usize].total);
            sum
        })
    }
}

/// The branches of the scripts' functions that a node was called by, each with its frame there. One
/// of a recursion comes once for each call.
fn scripts(
    profile: &Profile,
    node: u32,
    thread: Option<u32>,
    placed: &HashMap<(Option<u32>, u32), u32>,
) -> Vec<(u32, u32)> {
    let of = |node: u32| {
        let frame = profile.nodes.get(node as usize)?.frame;
        let script = profile.frames.get(frame as usize)?.language == Language::Python;
        script.then_some(())?;
        Some((*placed.get(&(thread, node))?, frame))
    };
    walk(profile, node).filter_map(of).collect()
}

/// Of equals the first frame stays, so that the picture is the same each time.
fn keep_larger(kept: &mut Option<(u32, Ns)>, frame: u32, ns: Ns) {
    let larger = |(known, most): (u32, Ns)| (ns, std::cmp::Reverse(frame)) > (most, std::cmp::Reverse(known));
    if kept.is_none_or(larger) {
        *kept = Some((frame, ns));
    }
}

/// For each frame, the first frame of the same function.
pub(super) fn functions(frames: &[Frame]) -> Vec<u32> {
    let mut known = HashMap::<(&str, &str, Language, u32, bool), u32>::new();
    let mut numbers = Vec::with_capacity(frames.len());
    for (index, frame) in frames.iter().enumerate() {
        // Functions of one name in a script differ by their first lines; in compiled code the name
        // identifies a function, and its first line is not always known.
        let line = if frame.language == Language::Python { frame.first_line } else { 0 };
        let key = (frame.function.as_str(), frame.module.as_str(), frame.language, line, frame.broke);
        numbers.push(*known.entry(key).or_insert(index as u32));
    }
    numbers
}

/// For each thread, the first thread of the same name.
pub(super) fn first_of_name(threads: &[Owner]) -> Vec<u32> {
    let mut known = HashMap::<&str, u32>::new();
    let numbers = threads.iter().enumerate();
    numbers.map(|(index, thread)| *known.entry(&thread.name).or_insert(index as u32)).collect()
}
