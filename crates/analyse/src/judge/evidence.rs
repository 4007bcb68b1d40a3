//! What judgement may read: one borrow of all that a run shows.

use super::measured::MeasuredChanges;
use super::own_code::{self, Charge};
use model::finding::Finding;
use model::profile::{Frame, Weight};
use model::recording::Tier;
use model::syscall_rows::CallRow;
use model::{Ns, Pid, Prediction, Profile, Run, Seen, State};

/// Time without a CPU is worth a word from this part of the account on.
const NOTABLE_PART: u128 = 10;
/// Less than this part of the whole is not worth a change.
pub(super) const WORTH_PART: Ns = 20;

/// The evidence of one run.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// What it was observed with.
    pub tier: Tier,
    /// The account and the tables. Of what judgement adds to them nothing is read.
    pub run: &'a Run,
    /// What it would have gained without parts of it, where that is known.
    pub prediction: Option<&'a Prediction>,
    /// Which code ran and waited.
    pub profile: &'a Profile,
    /// Whose code each of its stacks on a CPU is, where that is known already: many causes ask.
    pub(super) charges: Option<&'a [Charge<'a>]>,
    /// What changes of other programs were measured to save.
    pub measured: &'a MeasuredChanges,
}

impl<'a> Evidence<'a> {
    /// That of a run.
    pub fn of(tier: Tier, run: &'a Run, profile: &'a Profile) -> Self {
        let measured = MeasuredChanges::shipped();
        Self { tier, run, prediction: None, profile, charges: None, measured }
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

    /// Whether a sample of the process has such a function.
    pub(super) fn runs(&self, pid: Pid, is_of: impl Fn(&Frame) -> bool) -> bool {
        let profile = self.profile;
        let of_it =
            |weight: &&Weight| profile.threads.get(weight.thread as usize).is_some_and(|of| of.pid == pid);
        profile.weights.iter().filter(of_it).any(|weight| own_code::frames(profile, weight).any(&is_of))
    }

    /// The rows of calls with these names, by their places in the table.
    pub(super) fn calls_named(&self, names: &[&str]) -> Vec<(usize, &'a CallRow)> {
        let rows = self.run.tables.syscalls.value().map_or(&[][..], Vec::as_slice);
        rows.iter().enumerate().filter(|(_, row)| names.contains(&&*row.name.name)).collect()
    }

    /// Whether the structure of the run allows the change of a finding to save enough.
    pub(super) fn is_worth(&self, finding: &Finding) -> bool {
        let ns = finding.saving.value().map_or(finding.share_ns.hi, |saving| saving.structure().hi);
        ns > 0 && ns >= self.run.whole_ns() / WORTH_PART
    }

    /// Whether time without a CPU is worth a word of the headline.
    pub(super) fn is_notable(&self, ns: Ns) -> bool {
        ns > 0 && u128::from(ns) * NOTABLE_PART >= u128::from(self.run.whole_ns())
    }

    /// Time of the account in states of a kind.
    pub fn account_ns(&self, of_kind: impl Fn(State) -> bool) -> Ns {
        self.run.account.iter().filter(|part| of_kind(part.state)).map(|part| part.ns).sum()
    }
}
