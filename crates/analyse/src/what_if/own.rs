//! What threads did on a CPU outside of calls, by samples: of a stretch by its own, where it has
//! none by the thread's, and where that has none by those of all.

use super::edit::{Becomes, Change, Edit, SiteName};
use super::program::{Program, SampleClass, ThreadId};
use super::sites::is_called;
use crate::account::split::Kind;
use crate::keys::ReasonKey;
use crate::names::Names;
use crate::untraced::call_of;
use model::recording::SampleMode;
use model::{Call, Ns, State};
use smallvec::SmallVec;

/// Samples of threads, and what edits make of each.
#[derive(Debug)]
pub(super) struct Own<'a> {
    program: &'a Program,
    /// What samples can say, as far as it matters here, and which of that they say by class.
    sayings: Vec<Saying>,
    of_class: Vec<u32>,
    of_threads: Vec<Sums>,
    of_tree: Sums,
}

/// What samples say, and what edits make of their time.
#[derive(Debug, Clone, PartialEq)]
struct Saying {
    kind: Kind,
    /// The call that it fell into, where that is known.
    call: Option<Call>,
    /// Edits that concern it.
    concerned: SmallVec<[u8; 2]>,
    /// What part of its time they leave.
    leaves: f64,
}

/// Time that samples stand for, by what they say.
type Sums = SmallVec<[(u32, Ns); 4]>;

/// What time outside of calls divides into.
pub(super) type Portions = SmallVec<[(State, ReasonKey, f64); 5]>;

impl<'a> Own<'a> {
    pub(super) fn new(program: &'a Program, edits: &[Edit], names: &Names) -> Self {
        let mut sayings = Vec::<Saying>::new();
        let mut number = |class: &SampleClass| {
            let saying = saying(class, edits, names);
            sayings.iter().position(|known| *known == saying).unwrap_or_else(|| {
                sayings.push(saying);
                sayings.len() - 1
            }) as u32
        };
        let of_class: Vec<u32> = program.classes.iter().map(&mut number).collect();
        let (mut of_threads, mut of_tree) = (Vec::new(), Sums::new());
        for thread in &program.threads {
            let mut sums = Sums::new();
            for sample in &thread.samples {
                add(&mut sums, of_class[sample.class as usize], sample.ns.into());
            }
            sums.iter().for_each(|(saying, ns)| add(&mut of_tree, *saying, *ns));
            of_threads.push(sums);
        }
        Self { program, sayings, of_class, of_threads, of_tree }
    }

    /// The samples that stand for a step.
    fn samples(&self, thread: ThreadId, step: u32) -> Sums {
        let all = &self.program.thread(thread).samples;
        let from = all.partition_point(|sample| sample.step < step);
        let mut own = Sums::new();
        for sample in all[from..].iter().take_while(|sample| sample.step == step) {
            add(&mut own, self.of_class[sample.class as usize], sample.ns.into());
        }
        let of_thread = &self.of_threads[thread as usize];
        match (own.is_empty(), of_thread.is_empty()) {
            (false, _) => own,
            (true, false) => of_thread.clone(),
            (true, true) => self.of_tree.clone(),
        }
    }

    /// What part of a step's time the edits leave.
    pub(super) fn leaves(&self, thread: ThreadId, step: u32) -> f64 {
        if self.sayings.iter().all(|saying| saying.concerned.is_empty()) {
            return 1.0;
        }
        self.mean(thread, step, |saying| saying.leaves).unwrap_or(1.0)
    }

    /// What part of a step's time an edit is about.
    pub(super) fn concerned(&self, thread: ThreadId, step: u32, edit: u8) -> f64 {
        let is_concerned = |saying: &Saying| if saying.concerned.contains(&edit) { 1.0 } else { 0.0 };
        self.mean(thread, step, is_concerned).unwrap_or(0.0)
    }

    fn mean(&self, thread: ThreadId, step: u32, of: impl Fn(&Saying) -> f64) -> Option<f64> {
        let samples = self.samples(thread, step);
        let all: Ns = samples.iter().map(|(_, ns)| ns).sum();
        let sum: f64 = samples.iter().map(|(said, ns)| *ns as f64 * of(&self.sayings[*said as usize])).sum();
        (all > 0).then(|| sum / all as f64)
    }

    /// How a step's time divides: parts of one. `edited`: with the edits.
    pub(super) fn divides(&self, thread: ThreadId, step: u32, edited: bool) -> Portions {
        let mut portions = Portions::new();
        for (said, ns) in self.samples(thread, step) {
            let saying = &self.sayings[said as usize];
            let weight = ns as f64 * if edited { saying.leaves } else { 1.0 };
            let (state, reason) = match saying.kind {
                Kind::User => (State::User, ReasonKey::None),
                Kind::Fault => (State::Fault, ReasonKey::None),
                Kind::Interrupt => (State::Interrupt, ReasonKey::None),
                Kind::Entry => (State::Kernel, ReasonKey::SyscallEntry),
                Kind::Call => {
                    (State::Kernel, saying.call.map_or(ReasonKey::SyscallsSampled, ReasonKey::Syscall))
                }
            };
            match portions.iter_mut().find(|(known, of, _)| (*known, *of) == (state, reason)) {
                Some((.., sum)) => *sum += weight,
                None => portions.push((state, reason, weight)),
            }
        }
        let all: f64 = portions.iter().map(|(.., weight)| weight).sum();
        if all <= 0.0 {
            return [(State::User, ReasonKey::None, 1.0)].into_iter().collect();
        }
        portions.iter_mut().for_each(|(.., weight)| *weight /= all);
        portions
    }

    /// How many samples an edit is about.
    pub(super) fn count(&self, edit: u8) -> u64 {
        let samples = self.program.threads.iter().flat_map(|thread| &thread.samples);
        let said = samples.map(|sample| &self.sayings[self.of_class[sample.class as usize] as usize]);
        said.filter(|saying| saying.concerned.contains(&edit)).count() as u64
    }
}

fn add(sums: &mut Sums, saying: u32, ns: Ns) {
    match sums.iter_mut().find(|(known, _)| *known == saying) {
        Some((_, sum)) => *sum += ns,
        None => sums.push((saying, ns)),
    }
}

fn saying(class: &SampleClass, edits: &[Edit], names: &Names) -> Saying {
    let (mut concerned, mut leaves, mut functions) = (SmallVec::new(), 1.0, 0);
    for (edit, at) in edits.iter().zip(0_u8..) {
        let Change::Time(site, becomes) = &edit.change else { continue };
        let is_concerned = match (site, class.mode) {
            (SiteName::Function(_), mode) => {
                functions += 1;
                mode == SampleMode::User && class.functions.contains(&(functions - 1))
            }
            (SiteName::State(State::Fault), SampleMode::Fault) => true,
            (SiteName::Call(name), SampleMode::Call(call) | SampleMode::InterruptInCall(call)) => {
                is_called(call, name, names)
            }
            _ => false,
        };
        if is_concerned {
            concerned.push(at);
            // How long one operation was is not known by samples.
            leaves *= if let Becomes::Times(times) = becomes { *times } else { 1.0 };
        }
    }
    Saying { kind: class.mode.into(), call: call_of(class.mode), concerned, leaves }
}
