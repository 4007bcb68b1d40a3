//! speedscope's own file format (`https://www.speedscope.app/file-format-schema.json`).
//!
//! The first profile is the sum of all threads in the order of the tree, so that the *time order*
//! view shows a flame graph as well; then one for each thread in order of time, the thread with the
//! most CPU time first. Frames are functions: speedscope identifies them by name, file and line, so
//! the line is the first one of the function.

use super::metadata::{EXPORTER, ProfileMetadata};
use super::stack::{ending, ending_name, function_name};
use super::tree::{Label, Shape, Tree};
use crate::json::compact;
use model::profile::{Activity, Profile};
use model::{Ns, State};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: &'static str,
    name: String,
    active_profile_index: usize,
    shared: Shared,
    profiles: Vec<Sampled>,
}

#[derive(Serialize, Default)]
struct Shared {
    frames: Vec<Function>,
}

#[derive(Serialize)]
struct Function {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sampled {
    r#type: &'static str,
    name: String,
    unit: &'static str,
    start_value: Ns,
    end_value: Ns,
    samples: Vec<Vec<u32>>,
    weights: Vec<Ns>,
}

/// The file.
pub fn speedscope(profile: &Profile, metadata: &ProfileMetadata) -> String {
    let tree = Tree::new(profile, Shape { fold: false, apart: false }, |_| true);
    let mut writer = Writer { profile, tree: &tree, shared: Shared::default(), numbers: HashMap::new() };
    let mut profiles = vec![writer.all_threads()];
    for thread in by_cpu_time(profile) {
        profiles.extend(writer.thread(thread));
    }
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: EXPORTER,
        name: metadata.title(),
        active_profile_index: 0,
        shared: writer.shared,
        profiles,
    };
    compact(&file)
}

/// Threads by CPU time, most first.
pub(super) fn by_cpu_time(profile: &Profile) -> Vec<u32> {
    let mut times = vec![0; profile.threads.len()];
    for weight in profile.weights.iter().filter(|weight| !matches!(weight.doing, Activity::Waiting(_))) {
        if let Some(time) = times.get_mut(weight.thread as usize) {
            *time = weight.ns.saturating_add(*time);
        }
    }
    let mut threads: Vec<u32> = (0..profile.threads.len() as u32).collect();
    threads.sort_by_key(|thread| (Reverse(times[*thread as usize]), *thread));
    threads
}

/// A frame of the file: a function, by one of its frames in the profile, or one that names a state.
#[derive(PartialEq, Eq, Hash, Clone, Copy)]
enum FrameKey {
    Function(u32),
    Ending(State),
}

struct Writer<'a> {
    profile: &'a Profile,
    tree: &'a Tree,
    shared: Shared,
    numbers: HashMap<FrameKey, u32>,
}

impl Writer<'_> {
    fn all_threads(&mut self) -> Sampled {
        let mut sums = BTreeMap::<(u32, Option<State>), Ns>::new();
        for weight in &self.profile.weights {
            let Some(branch) = self.branch(weight.node) else { continue };
            let sum = sums.entry((branch, ending(self.profile, weight.node, weight.doing))).or_default();
            *sum = sum.saturating_add(weight.ns);
        }
        let mut sampled = sampled("all threads".into());
        // Depth first, so that callees are next to each other.
        let mut todo: Vec<u32> = self.tree.roots.iter().rev().copied().collect();
        while let Some(branch) = todo.pop() {
            todo.extend(self.tree.branches[branch as usize].children.iter().rev());
            let ends: Vec<_> =
                sums.range((branch, None)..(branch + 1, None)).map(|(key, ns)| (key.1, *ns)).collect();
            for (ending, ns) in ends {
                let stack = self.stack(branch, ending);
                sampled.add(stack, ns);
            }
        }
        sampled
    }

    /// A thread's stacks in order of time, if it has any.
    fn thread(&mut self, thread: u32) -> Option<Sampled> {
        let owner = self.profile.threads.get(thread as usize)?;
        let mut moments: Vec<_> =
            self.profile.moments.iter().filter(|moment| moment.thread == thread).collect();
        moments.sort_by_key(|moment| moment.at_ns);
        let mut sampled = sampled(format!("{} (pid {}, tid {})", owner.name, owner.pid, owner.tid));
        let times = u64::from(self.profile.thinned.max(1));
        let mut last = None;
        for moment in moments {
            let Some(branch) = self.branch(moment.node) else { continue };
            let key = (branch, ending(self.profile, moment.node, moment.doing));
            let ns = moment.ns.saturating_mul(times);
            if last == Some(key) {
                sampled.extend(ns);
            } else {
                let stack = self.stack(key.0, key.1);
                sampled.add(stack, ns);
            }
            last = Some(key);
        }
        (!sampled.samples.is_empty()).then_some(sampled)
    }

    fn branch(&self, node: u32) -> Option<u32> {
        self.tree.branch_of.get(node as usize).copied().flatten()
    }

    fn stack(&mut self, branch: u32, ending: Option<State>) -> Vec<u32> {
        let mut stack: Vec<u32> =
            ending.map(|ending| self.number(FrameKey::Ending(ending))).into_iter().collect();
        let mut at = Some(branch);
        while let Some(branch) = at {
            let branch = &self.tree.branches[branch as usize];
            if let Label::Function(frame) = branch.label {
                stack.push(self.number(FrameKey::Function(frame)));
            }
            at = branch.parent;
        }
        stack.reverse();
        stack
    }

    fn number(&mut self, key: FrameKey) -> u32 {
        let next = self.shared.frames.len() as u32;
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            let function = match key {
                FrameKey::Function(frame) => {
                    let place = &self.profile.frames[frame as usize];
                    let source = place.source.as_ref().map(|(file, _)| file).filter(|file| !file.is_empty());
                    let file = source.unwrap_or(&place.module).clone();
                    let line = Some(place.first_line).filter(|line| *line > 0 && source.is_some());
                    let name = function_name(self.profile, frame);
                    Function { name, file: Some(file).filter(|file| !file.is_empty()), line }
                }
                FrameKey::Ending(ending) => Function { name: ending_name(ending), file: None, line: None },
            };
            self.shared.frames.push(function);
        }
        number
    }
}

fn sampled(name: String) -> Sampled {
    let (samples, weights) = Default::default();
    Sampled { r#type: "sampled", name, unit: "nanoseconds", start_value: 0, end_value: 0, samples, weights }
}

impl Sampled {
    fn add(&mut self, stack: Vec<u32>, ns: Ns) {
        if ns > 0 {
            self.samples.push(stack);
            self.weights.push(0);
            self.extend(ns);
        }
    }

    /// Adds time to the last stack.
    fn extend(&mut self, ns: Ns) {
        if let Some(weight) = self.weights.last_mut() {
            *weight = weight.saturating_add(ns);
            self.end_value = self.end_value.saturating_add(ns);
        }
    }
}
