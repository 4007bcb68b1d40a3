//! A cause that a run shows: where, how much of the time it has, what can be done about it, what
//! that saves, and what all of it rests on.
//!
//! Which causes there are, and what their signs are, is up to `analyse`. Sentences keep their
//! figures typed; `report` makes text of them.

use crate::coverage::Interval;
use crate::sentence::Sentence;
use crate::{JsonSchema, Ns, Seen, State};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The name of a cause.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct CauseName {
    /// For programs: lower case, with hyphens. It never changes.
    pub id: Cow<'static, str>,
    /// For people: a noun, in the plural or without a number.
    pub title: Cow<'static, str>,
}

impl CauseName {
    /// A name of the catalogue.
    pub const fn new(id: &'static str, title: &'static str) -> Self {
        Self { id: Cow::Borrowed(id), title: Cow::Borrowed(title) }
    }

    /// Whether it may be one of any version: its id is printed as it is.
    pub(crate) fn is_sound(&self) -> bool {
        let plain = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
        self.id.chars().all(plain)
    }
}

/// A cause, found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Which.
    pub cause: CauseName,
    /// Where it shows: the run, a state of the account, or a row of a table.
    pub place: RowRef,
    /// What the program does there, and what it takes: a sentence that begins with its subject.
    pub what: Sentence,
    /// What to change: an imperative.
    pub change: Sentence,
    /// What it has of the account: between these.
    pub share_ns: Interval,
    /// What the change saves.
    pub saving: Seen<Saving>,
    /// The figures that say so.
    pub evidence: Vec<Sentence>,
    /// What is taken for granted.
    pub assumes: Vec<Sentence>,
    /// How to look closer, or to know that the change helped: commands and what they show.
    pub verify: Vec<Sentence>,
    /// Other causes that were found as well, and that are consequences of this one.
    pub explains: Vec<CauseName>,
    /// How likely this is what makes the program slow, 0 to 1: of the families of measured programs
    /// in which the cause was found, the part whose change was this one. None in older results.
    #[serde(default)]
    pub belief: Option<f64>,
}

/// What a change saves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Saving {
    /// How much.
    pub ns: Interval,
    /// Of what.
    pub of: SavedTime,
    /// The part of the place's time that goes, 0 to 1: least and most.
    pub part: (f64, f64),
    /// How that part is known.
    pub known: SavingBasis,
    /// The part of the low end that is, at least, waits for a CPU that other programs had.
    pub queued_ns: Ns,
    /// What of the low end a finding above this one saves as well, where that is worth a word.
    pub shared: Option<Shared>,
    /// What `ns` was made of, where measured changes of other programs say what such a change takes
    /// of what the structure allows. None: `ns` is what the structure allows.
    #[serde(default)]
    pub learnt: Option<Learnt>,
}

/// A saving in the light of changes that were measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Learnt {
    /// What the structure of the run allows.
    pub structure: Interval,
    /// All of the time that is neither the program's own computing nor a sleep elsewhere, which may
    /// go as well. 0 in older results.
    #[serde(default)]
    pub beside_own_ns: Ns,
    /// The mean of what is expected.
    pub expected_ns: Ns,
    /// Measured families of programs of which this cause was said first. Those of other causes are
    /// in it as well: the fewer these are, the more.
    pub families: u64,
}

/// What was saved of measured programs of which dwell found no cause, by the changes that their
/// authors knew: a base rate, no finding of this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BaseRate {
    /// Four of five programs of other families save a part of the wall clock between these, if
    /// there is something to change.
    pub ns: Interval,
    /// The mean.
    pub expected_ns: Ns,
    /// Families of programs of which nothing was found although there was something to change.
    /// Those of which something was found are in the interval as well, each with less weight.
    pub families: u64,
    /// Families of programs of which nothing was found that had nothing to change.
    pub healthy: u64,
}

impl Saving {
    /// What the structure of the run allows.
    pub fn structure(&self) -> Interval {
        self.learnt.map_or(self.ns, |learnt| learnt.structure)
    }

    /// One number for the interval.
    pub fn expected_ns(&self) -> Ns {
        self.learnt.map_or(self.ns.lo.midpoint(self.ns.hi), |learnt| learnt.expected_ns)
    }
}

/// Time that the change of another finding saves as well. Both together save less than the sum of
/// what each saves alone, by that at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shared {
    /// The other one: its index among the findings, which is lower.
    pub finding: usize,
    /// The shared time, at least.
    pub ns: Ns,
}

/// Time that is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SavedTime {
    /// The wall clock of a whole run.
    Wall,
    /// CPU time: in a window, which has no end that could come earlier, and where the wall clock of
    /// a run stays as it is.
    Cpu,
    /// Time that threads wait in a window.
    Waiting,
}

impl SavedTime {
    /// For programs.
    pub fn id(self) -> &'static str {
        match self {
            SavedTime::Wall => "wall",
            SavedTime::Cpu => "cpu",
            SavedTime::Waiting => "waiting",
        }
    }

    /// That of this id.
    pub fn named(id: &str) -> Option<Self> {
        [SavedTime::Wall, SavedTime::Cpu, SavedTime::Waiting].into_iter().find(|saved| saved.id() == id)
    }
}

/// How it is known which part of a place's time can go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SavingBasis {
    /// The operations that go, and what each costs, were both seen.
    Counted,
    /// The structure of the program bounds it.
    Bounded,
    /// By a factor that nobody sees from outside.
    Assumed,
}

impl SavingBasis {
    /// In every output.
    pub fn id(self) -> &'static str {
        match self {
            SavingBasis::Counted => "counted",
            SavingBasis::Bounded => "bounded",
            SavingBasis::Assumed => "assumed",
        }
    }

    /// That of this id.
    pub fn named(id: &str) -> Option<Self> {
        [SavingBasis::Counted, SavingBasis::Bounded, SavingBasis::Assumed]
            .into_iter()
            .find(|known| known.id() == id)
    }
}

/// Where a cause shows: a row of the run's tables, by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowRef {
    /// A part of `account`.
    State(State),
    /// A row of `path`.
    Step(usize),
    /// A row of `waits`.
    Wait(usize),
    /// A row of `hand_overs`.
    HandOver(usize),
    /// A row of `connections`.
    Connection(usize),
    /// A row of `lookups`.
    Lookup(usize),
    /// A row of `files`.
    File(usize),
    /// A row of `syscalls`.
    Call(usize),
    /// A row of `functions`.
    Function(usize),
    /// A row of `lines`.
    Line(usize),
    /// A row of `threads`.
    Thread(usize),
    /// The run as a whole.
    Run,
}

impl RowRef {
    /// The table that it points into, as the JSON names it, and the row there.
    pub fn table(self) -> (&'static str, Option<usize>) {
        match self {
            RowRef::State(_) => ("account", None),
            RowRef::Step(row) => ("path", Some(row)),
            RowRef::Wait(row) => ("waits", Some(row)),
            RowRef::HandOver(row) => ("hand_overs", Some(row)),
            RowRef::Connection(row) => ("connections", Some(row)),
            RowRef::Lookup(row) => ("lookups", Some(row)),
            RowRef::File(row) => ("files", Some(row)),
            RowRef::Call(row) => ("syscalls", Some(row)),
            RowRef::Function(row) => ("functions", Some(row)),
            RowRef::Line(row) => ("lines", Some(row)),
            RowRef::Thread(row) => ("threads", Some(row)),
            RowRef::Run => ("", None),
        }
    }

    /// The row of this table.
    pub fn named(table: &str, row: usize) -> Option<Self> {
        let rows: [fn(usize) -> Self; 10] = [
            RowRef::Step,
            RowRef::Wait,
            RowRef::HandOver,
            RowRef::Connection,
            RowRef::Lookup,
            RowRef::File,
            RowRef::Call,
            RowRef::Function,
            RowRef::Line,
            RowRef::Thread,
        ];
        rows.into_iter().map(|place| place(row)).find(|place| place.table().0 == table)
    }
}
