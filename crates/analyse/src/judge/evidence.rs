//! What judgement may read: one borrow of all that a run shows.

use super::own_code::{self, Charge};
use model::counters::CounterTable;
use model::disk_requests::DiskRequests;
use model::fault_places::FaultPlaces;
use model::files::FileTable;
use model::hand_overs::HandOvers;
use model::limits::Limits;
use model::loads::LoadTable;
use model::peers::ConnectionRow;
use model::peers::LookupRow;
use model::processes::MemoryPeak;
use model::recording::Tier;
use model::run::{Bound, Faults, FunctionRow, LineRow, ThreadLedger, Utilization, WaitRow};
use model::syscall_rows::CallRow;
use model::waits_at_once::WaitsAtOnce;
use model::{
    AccountPart, Costs, Coverage, Ns, Prediction, Profile, Run, RunQueue, Seen, Series, State, Step,
};

/// Time without a CPU is worth a word from this part of the account on.
const WORTH_PART: u128 = 10;

/// The evidence of one run.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// What it was observed with.
    pub tier: Tier,
    /// Whether it is a window on what lived already: then there is no path to an end.
    pub window: bool,
    /// The wall clock.
    pub wall_ns: Ns,
    /// What the account sums to.
    pub whole_ns: Ns,
    /// CPUs of the host.
    pub cpus: u32,
    /// What bounds the program.
    pub bound: &'a Bound,
    /// The account.
    pub account: &'a [AccountPart],
    /// The same by place.
    pub path: &'a [Step],
    /// Waits of all threads.
    pub waits: &'a [WaitRow],
    /// How many of those for the network and for disks were under way at once.
    pub waits_at_once: &'a Seen<WaitsAtOnce>,
    /// The waits that threads of the tree ended.
    pub hand_overs: &'a Seen<HandOvers>,
    /// What processes asked of disks.
    pub disk_requests: &'a Seen<DiskRequests>,
    /// System calls of all threads.
    pub syscalls: &'a Seen<Vec<CallRow>>,
    /// What was read and written of files.
    pub files: &'a Seen<FileTable>,
    /// Each thread's own ledger.
    pub threads: &'a [ThreadLedger],
    /// Page faults.
    pub faults: &'a Seen<Faults>,
    /// Which mappings they are in, and whose code they are of.
    pub fault_places: &'a Seen<FaultPlaces>,
    /// The process with the largest resident set.
    pub memory_peak: &'a Seen<MemoryPeak>,
    /// Which code ran.
    pub functions: &'a Seen<Vec<FunctionRow>>,
    /// Which source lines ran.
    pub lines: &'a Seen<Vec<LineRow>>,
    /// What memory its own code loads from.
    pub loads: &'a Seen<LoadTable>,
    /// What the processor's counters say of the code.
    pub counters: &'a Seen<CounterTable>,
    /// For how long any thread was on a CPU.
    pub utilization: &'a Seen<Utilization>,
    /// Connections by peer.
    pub connections: &'a Seen<Vec<ConnectionRow>>,
    /// Questions for names.
    pub lookups: &'a Seen<Vec<LookupRow>>,
    /// What it would have gained without parts of it, where that is known.
    pub prediction: Option<&'a Prediction>,
    /// Which code ran and waited.
    pub profile: &'a Profile,
    /// Whose code each of its stacks on a CPU is, where that is known already: many causes ask.
    pub(super) charges: Option<&'a [Charge<'a>]>,
    /// What the host did meanwhile.
    pub series: &'a Seen<Series>,
    /// Who had the CPUs while it was ready to run.
    pub run_queue: &'a Seen<RunQueue>,
    /// The limits of its control group.
    pub limits: &'a Seen<Limits>,
    /// What operations cost on the host.
    pub costs: &'a Seen<Costs>,
    /// What was observed.
    pub coverage: &'a Coverage,
}

impl<'a> Evidence<'a> {
    /// That of a run.
    pub fn of(tier: Tier, run: &'a Run, profile: &'a Profile) -> Self {
        Self {
            tier,
            window: run.window.is_some(),
            wall_ns: run.wall_ns,
            whole_ns: run.whole_ns(),
            cpus: run.host.cpus,
            bound: &run.bound,
            account: &run.account,
            path: &run.path,
            waits: &run.waits,
            waits_at_once: &run.waits_at_once,
            hand_overs: &run.hand_overs,
            disk_requests: &run.disk_requests,
            syscalls: &run.syscalls,
            files: &run.files,
            threads: &run.threads,
            faults: &run.faults,
            fault_places: &run.fault_places,
            memory_peak: &run.memory_peak,
            functions: &run.functions,
            lines: &run.lines,
            loads: &run.loads,
            counters: &run.counters,
            utilization: &run.utilization,
            connections: &run.connections,
            lookups: &run.lookups,
            prediction: None,
            profile,
            charges: None,
            series: &run.series,
            run_queue: &run.run_queue,
            limits: &run.limits,
            costs: &run.costs,
            coverage: &run.coverage,
        }
    }

    /// The same with what sites would save.
    #[must_use]
    pub fn with(self, prediction: &'a Seen<Prediction>) -> Self {
        Self { prediction: prediction.value(), ..self }
    }

    /// All stacks on a CPU, with whose they are.
    pub(super) fn charges(&self) -> impl Iterator<Item = Charge<'a>> + use<'a> {
        let known = self.charges.map(|charges| charges.iter().copied());
        let found = known.is_none().then(|| own_code::charges(self.profile));
        known.into_iter().flatten().chain(found.into_iter().flatten())
    }

    /// The same under other limits.
    #[must_use]
    pub(super) fn limited_by<'b>(&self, limits: &'b Seen<Limits>) -> Evidence<'b>
    where
        'a: 'b,
    {
        Evidence { limits, ..*self }
    }

    /// The rows of calls with these names, by their places in the table.
    pub(super) fn calls_named(&self, names: &[&str]) -> Vec<(usize, &'a CallRow)> {
        let rows = self.syscalls.value().map_or(&[][..], Vec::as_slice);
        rows.iter().enumerate().filter(|(_, row)| names.contains(&&*row.name.name)).collect()
    }

    /// Whether time without a CPU is worth a word of the headline.
    pub(super) fn is_notable(&self, ns: Ns) -> bool {
        ns > 0 && u128::from(ns) * WORTH_PART >= u128::from(self.whole_ns)
    }

    /// The part of the program's own time that may be the kernel's: as it is entered and left,
    /// samples charge that to the code that enters it. The low end of the account allows for it.
    pub(super) fn charged_late(&self) -> f64 {
        let user = self.account.iter().filter(|part| part.state == State::User);
        let (ns, lo_ns) = user.fold((0, 0), |sum, part| (sum.0 + part.ns, sum.1 + part.lo_ns));
        ns.saturating_sub(lo_ns) as f64 / ns.max(1) as f64
    }

    /// Time of the account in states of a kind.
    pub fn account_ns(&self, of_kind: impl Fn(State) -> bool) -> Ns {
        self.account.iter().filter(|part| of_kind(part.state)).map(|part| part.ns).sum()
    }
}
