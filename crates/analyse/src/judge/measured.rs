//! What changes of other programs were measured to save, and what follows from it for a finding:
//! how likely its cause is the one to change, and how much its change saves.
//!
//! `measured.txt` has a line for each finding in the recordings of `corpus/`, and one for each
//! recording without any; `cargo xtask score --learn` writes it. Each family of programs counts the
//! same, however often it was recorded.
//!
//! A run says in two ways what may go: what the structure allows at the finding's place, and all
//! that is neither the program's own computing nor a sleep elsewhere, since with an operation goes
//! what the kernel does for it, what it waits for and the code around it. Where the two agree,
//! savings lay close to them; where they differ, anywhere between. So a saving is measured from the
//! middle of the two, in their distance. The residuals of a cause are its distribution, with those
//! of all other causes together as if they were of two more families.
//!
//! A finding may be wrong. With what is left of the likelihood that a cause is the one to change
//! where it stands first, its interval is that of all programs, whatever was said of them, those
//! of which this was said first more than others: the base rate. Where no cause is found, that is
//! all there is.
//!
//! An interval reaches from the tenth to the ninetieth percentile of this mixture: four savings of
//! five of programs of another family lie within. These two quantiles are also the best that there
//! are by the interval score with an alpha of a fifth (T. Gneiting and A. Raftery, "Strictly proper
//! scoring rules, prediction, and estimation", 2007), by which the corpus is scored.

use model::Ns;
use model::coverage::Interval;
use model::finding::{BaseRate, Learnt, SavingBasis};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::LazyLock;

/// The part of savings below an interval, and of those above.
const BELOW: f64 = 0.1;
/// What the two ways to know a saving differ by at least, in parts of the wall clock: neither is
/// known better.
const APART: f64 = 0.2;
/// A cause is taken as found in this many families more, right in as many of them as causes are,
/// where savings lay as those of other causes did.
const PRIOR_FAMILIES: f64 = 2.0;
/// In a base rate a program of which the same was said counts for itself and this many others.
const ALIKE: f64 = 3.0;
/// A wall clock in whose parts shares are told.
const PARTS: Ns = 1_000_000_000;
/// In the place of a cause, where nothing was found.
pub const NOTHING: &str = "-";

/// A finding whose truth is known, or that nothing was found.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredChange {
    /// The cause, by its ID, or [`NOTHING`].
    pub cause: String,
    /// How the part that goes was known: what is counted is told apart from what is assumed.
    pub known: SavingBasis,
    /// Programs that are slow in one way by one mistake of design.
    pub family: String,
    /// Whether no finding stood above it.
    pub first: bool,
    /// What is true of it.
    pub truth: Truth,
    /// What could go by the structure of the run, where that was known.
    pub allowed: Option<Allowed>,
    /// What the change that helped saved, in parts of the wall clock: of a finding that was right,
    /// and of what was said first.
    pub saved: Option<f64>,
}

/// What is true of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    /// A change of this cause is what helped.
    Right,
    /// Another one is.
    Wrong,
    /// There was nothing to change.
    Healthy,
}

/// What may go, known in two ways, in parts of the wall clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Allowed {
    /// At most, by what is at the finding's place.
    pub place: f64,
    /// All that is neither the program's own computing nor a sleep elsewhere.
    pub beside_own: f64,
}

/// All of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MeasuredChanges {
    all: Vec<MeasuredChange>,
    /// What follows from them for each cause, by its ID and how its saving was known.
    causes: BTreeMap<(String, SavingBasis), OfCause>,
    /// How likely any cause is the one to change where it stands first.
    right: f64,
    /// Where savings lay, from the middle of what may go, in the distance of its two ends, with
    /// the cause.
    residuals: Vec<(String, Weighed)>,
    /// What was saved of each program, with the cause that was said first.
    saved: Vec<(String, Weighed)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct OfCause {
    /// How likely it is the one to change, wherever it stands.
    belief: f64,
    /// The same where it stands first and there is something to change.
    first: f64,
    /// Families in which it was found.
    found: f64,
    /// Families of which it was said first whose change was measured.
    families: u64,
}

/// A value with its weight.
type Weighed = (f64, f64);

impl Allowed {
    fn middle(self) -> f64 {
        self.place.midpoint(self.beside_own)
    }

    fn apart(self) -> f64 {
        APART + (self.place - self.beside_own).abs()
    }

    fn residual_of(self, saved: f64) -> f64 {
        (saved - self.middle()) / self.apart()
    }

    fn saved_at(self, residual: f64) -> f64 {
        (self.middle() + residual * self.apart()).clamp(0.0, 1.0)
    }
}

impl MeasuredChanges {
    /// Changes that dwell has with it.
    pub fn shipped() -> &'static Self {
        static SHIPPED: LazyLock<MeasuredChanges> =
            LazyLock::new(|| MeasuredChanges::of(parsed(include_str!("measured.txt"))));
        &SHIPPED
    }

    /// What follows from these.
    pub fn of(all: Vec<MeasuredChange>) -> Self {
        let slow_first = |one: &&MeasuredChange| one.first && one.truth != Truth::Healthy;
        let is_right = |one: &MeasuredChange| f64::from(u8::from(one.truth == Truth::Right));
        let rights = |of: &mut dyn Iterator<Item = &MeasuredChange>| {
            let all = weighed(of.map(|one| (one, is_right(one))));
            (
                all.iter().map(|(_, (right, weight))| right * weight).sum(),
                all.iter().map(|(_, one)| one.1).sum(),
            )
        };
        let shrunk = |(right, families): (f64, f64), prior: f64| {
            (right + PRIOR_FAMILIES * prior) / (families + PRIOR_FAMILIES)
        };
        let found = |one: &&MeasuredChange| one.cause != NOTHING;
        let (right, families) = rights(&mut all.iter().filter(found).filter(slow_first));
        let any: f64 = if families > 0.0 { right / families } else { 0.5 };
        let keys: BTreeSet<(&str, SavingBasis)> = all.iter().map(|one| (&*one.cause, one.known)).collect();
        let of_cause = |key @ (cause, known): (&str, SavingBasis)| {
            let its = || all.iter().filter(move |one| (&*one.cause, one.known) == key);
            let measured = its().filter(slow_first).filter(|one| one.saved.is_some());
            let of = OfCause {
                belief: shrunk(rights(&mut its()), 0.5),
                found: rights(&mut its()).1,
                first: shrunk(rights(&mut its().filter(slow_first)), any),
                families: measured.map(|one| &*one.family).collect::<BTreeSet<_>>().len() as u64,
            };
            ((cause.to_owned(), known), of)
        };
        let causes = keys.into_iter().map(of_cause).collect();
        let residuals = all.iter().filter_map(|one| Some((one, residual(one)?)));
        let named = |(one, value): (&MeasuredChange, Weighed)| (one.cause.clone(), value);
        let residuals = weighed(residuals).into_iter().map(named).collect();
        let first = all.iter().filter(|one| one.first).filter_map(|one| Some((one, one.saved?)));
        let saved = weighed(first).into_iter().map(named).collect();
        Self { causes, right: any, residuals, saved, all }
    }

    /// The same as if a family had never been measured.
    #[must_use]
    pub fn without(&self, family: &str) -> Self {
        Self::of(self.all.iter().filter(|one| one.family != family).cloned().collect())
    }

    /// As a file.
    pub fn text(&self) -> String {
        let mut lines: Vec<String> = self.all.iter().map(line).collect();
        lines.sort();
        let head = "# cause, how its saving was known, family, whether it stood first and what is true of it; the \
                    most that its place allowed, all that was neither the program's own computing nor a sleep \
                    elsewhere, and what was saved, of the wall clock";
        lines.iter().fold(head.to_owned() + "\n", |mut text, line| {
            let _ = writeln!(text, "{line}");
            text
        })
    }

    /// How likely a finding of this cause is what makes a program slow, 0 to 1.
    pub(super) fn belief(&self, cause: &str, known: SavingBasis) -> f64 {
        self.of_cause(cause, known).map_or(0.5, |of| of.belief)
    }

    /// The standard error of that: it is a proportion of this many families.
    pub(super) fn belief_error(&self, cause: &str, known: SavingBasis) -> f64 {
        let families = self.of_cause(cause, known).map_or(0.0, |of| of.found) + PRIOR_FAMILIES;
        let belief = self.belief(cause, known);
        (belief * (1.0 - belief) / (families + 1.0)).sqrt()
    }

    fn of_cause(&self, cause: &str, known: SavingBasis) -> Option<OfCause> {
        self.causes.get(&(cause.to_owned(), known)).copied()
    }

    /// What the change that helps saves where a finding of this cause says so, and the structure of
    /// the run allows this; so much of the whole is neither the program's own computing nor a sleep
    /// elsewhere, and so much is such a sleep, which stays.
    pub(super) fn saving(
        &self,
        (cause, known): (&str, SavingBasis),
        structure: Interval,
        (beside_own_ns, asleep_ns): (Ns, Ns),
        whole_ns: Ns,
    ) -> (Interval, Learnt) {
        let of = self.of_cause(cause, known);
        let whole = whole_ns.max(1) as f64;
        let allowed =
            Allowed { place: structure.hi as f64 / whole, beside_own: beside_own_ns as f64 / whole };
        let right = of.map_or(self.right, |of| of.first);
        let mut spread = Vec::new();
        let most = 1.0 - asleep_ns as f64 / whole;
        let saved = |(at, weight): Weighed| (allowed.saved_at(at).min(most), weight);
        add(&mut spread, right, self.residuals_of(cause).map(saved));
        add(&mut spread, 1.0 - right, self.base(cause));
        let families = of.map_or(0, |of| of.families);
        let (ns, expected_ns) =
            summed(spread, whole_ns).unwrap_or((structure, structure.lo.midpoint(structure.hi)));
        (ns, Learnt { structure, beside_own_ns, expected_ns, families })
    }

    /// Where savings of a cause lay, and those of other causes.
    fn residuals_of<'a>(&'a self, cause: &'a str) -> impl Iterator<Item = Weighed> + Clone + 'a {
        let others = self.residuals.iter().filter(|(of, _)| of != cause);
        let each = PRIOR_FAMILIES / others.map(|(_, (_, weight))| weight).sum::<f64>();
        let weight = move |of: &str| if of == cause { 1.0 } else { each };
        self.residuals.iter().map(move |(of, (at, one))| (*at, one * weight(of)))
    }

    /// What was saved of all programs, more of those of which the same was said first.
    fn base<'a>(&'a self, said: &'a str) -> impl Iterator<Item = Weighed> + Clone + 'a {
        let more = move |cause: &str| if cause == said { 1.0 + ALIKE } else { 1.0 };
        self.saved.iter().map(move |(cause, (saved, weight))| (saved.clamp(0.0, 1.0), weight * more(cause)))
    }

    /// The interval of a rule that looks at nothing, in parts of the wall clock: what any program
    /// saved.
    pub fn of_any(&self) -> (f64, f64) {
        let (ns, _) = summed(self.saved.iter().map(|(_, saved)| *saved).collect(), PARTS).unwrap_or_default();
        (ns.lo as f64 / PARTS as f64, ns.hi as f64 / PARTS as f64)
    }

    /// What was saved of programs of which dwell said nothing.
    pub(super) fn base_rate(&self, whole_ns: Ns) -> Option<BaseRate> {
        let mut spread = Vec::new();
        add(&mut spread, 1.0, self.base(NOTHING));
        let (ns, expected_ns) = summed(spread, whole_ns)?;
        let of = |healthy: bool| {
            let is_of = |one: &&MeasuredChange| {
                one.cause == NOTHING
                    && (one.truth == Truth::Healthy) == healthy
                    && (healthy || one.saved.is_some())
            };
            self.all.iter().filter(is_of).map(|one| &*one.family).collect::<BTreeSet<_>>().len() as u64
        };
        Some(BaseRate { ns, expected_ns, families: of(false), healthy: of(true) })
    }
}

/// Where the saving of a right finding lay.
fn residual(one: &MeasuredChange) -> Option<f64> {
    let allowed = one.allowed.filter(|_| one.truth == Truth::Right)?;
    Some(allowed.residual_of(one.saved?))
}

/// Each with a weight, so that all of one family have 1.
fn weighed<'a>(of: impl Iterator<Item = (&'a MeasuredChange, f64)>) -> Vec<(&'a MeasuredChange, Weighed)> {
    let of: Vec<(&MeasuredChange, f64)> = of.collect();
    let mut families = BTreeMap::<&str, f64>::new();
    of.iter().for_each(|(one, _)| *families.entry(&one.family).or_default() += 1.0);
    of.into_iter().map(|(one, value)| (one, (value, 1.0 / families[&*one.family]))).collect()
}

/// Adds these with this weight together.
fn add(to: &mut Vec<Weighed>, weight: f64, of: impl Iterator<Item = Weighed> + Clone) {
    let all: f64 = of.clone().map(|(_, weight)| weight).sum();
    to.extend(of.map(|(value, one)| (value, weight * one / all)));
}

/// Between which four of five lie, and their mean; none of nothing.
fn summed(mut of: Vec<Weighed>, whole_ns: Ns) -> Option<(Interval, Ns)> {
    of.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all: f64 = of.iter().map(|(_, weight)| weight).sum();
    let ns = |part: f64| (part * whole_ns.max(1) as f64).round() as Ns;
    let quantile = |part: f64| {
        let mut sum = 0.0;
        let reached = |(_, weight): &&Weighed| {
            sum += weight;
            sum >= part * all
        };
        of.iter().find(reached).or(of.last()).map(|(value, _)| ns(*value))
    };
    let mean = of.iter().map(|(value, weight)| value * weight).sum::<f64>() / all;
    Some((Interval { lo: quantile(BELOW)?, hi: quantile(1.0 - BELOW)? }, ns(mean)))
}

fn line(one: &MeasuredChange) -> String {
    let first = if one.first { "first" } else { "later" };
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
    let (place, beside) = (one.allowed.map(|it| it.place), one.allowed.map(|it| it.beside_own));
    format!(
        "{} {} {} {first} {} {} {} {}",
        one.cause,
        one.known.id(),
        one.family,
        one.truth.word(),
        number(place),
        number(beside),
        number(one.saved)
    )
}

impl Truth {
    fn word(self) -> &'static str {
        match self {
            Truth::Right => "right",
            Truth::Wrong => "wrong",
            Truth::Healthy => "healthy",
        }
    }
}

/// The lines of a file that are as they should be.
fn parsed(text: &str) -> Vec<MeasuredChange> {
    let one = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [cause, known, family, first, truth, place, beside, saved] = words[..] else { return None };
        let truths = [Truth::Right, Truth::Wrong, Truth::Healthy];
        Some(MeasuredChange {
            cause: cause.to_owned(),
            known: SavingBasis::named(known)?,
            family: family.to_owned(),
            first: first == "first",
            truth: truths.into_iter().find(|one| one.word() == truth)?,
            allowed: place
                .parse()
                .ok()
                .zip(beside.parse().ok())
                .map(|(place, beside_own)| Allowed { place, beside_own }),
            saved: saved.parse().ok(),
        })
    };
    text.lines().filter(|line| !line.starts_with('#')).filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTED: SavingBasis = SavingBasis::Counted;
    const ALLOWED: Allowed = Allowed { place: 0.2, beside_own: 0.4 };

    fn change(cause: &str, family: &str, truth: Truth, saved: Option<f64>) -> MeasuredChange {
        MeasuredChange {
            cause: cause.into(),
            known: COUNTED,
            family: family.into(),
            first: true,
            truth,
            allowed: saved.filter(|_| truth == Truth::Right).map(|_| ALLOWED),
            saved,
        }
    }

    /// Savings of ten families from nothing to nine tenths, each of a finding that was right.
    fn ten() -> Vec<MeasuredChange> {
        let of = |n: u32| change("small-io", &n.to_string(), Truth::Right, Some(f64::from(n) / 10.0));
        (0..10).map(of).collect()
    }

    /// The ends where this of 1000 is allowed.
    fn said(of: &MeasuredChanges, cause: &str, place: Ns, beside_own: Ns) -> (Ns, Ns) {
        let ns = of.saving((cause, COUNTED), Interval { lo: 0, hi: place }, (beside_own, 0), 1000).0;
        (ns.lo, ns.hi)
    }

    #[test]
    fn all_other_causes_weigh_as_two_families_beside_those_of_a_cause() {
        let one = |cause: &str, family: usize| MeasuredChange {
            cause: cause.to_owned(),
            known: SavingBasis::Counted,
            family: format!("{cause}{family}"),
            first: true,
            truth: Truth::Right,
            allowed: Some(ALLOWED),
            saved: Some(0.3),
        };
        let all = (0..6).map(|family| one("a", family)).chain((0..9).map(|family| one("b", family)));
        let measured = MeasuredChanges::of(all.collect());
        let sum = |of: &str| measured.residuals_of(of).map(|(_, weight)| weight).sum::<f64>();
        assert!((sum("a") - 8.0).abs() < 1e-9 && (sum("b") - 11.0).abs() < 1e-9);
        assert!((sum("c") - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_saving_is_found_again_at_its_residual() {
        for saved in [0.0, 0.1, 0.3, 1.0] {
            assert!((ALLOWED.saved_at(ALLOWED.residual_of(saved)) - saved).abs() < 1e-9);
        }
        assert_eq!(ALLOWED.saved_at(-9.0), 0.0);
    }

    #[test]
    fn four_of_five_savings_lie_within() {
        let all = MeasuredChanges::of(ten());
        assert_eq!(said(&all, "small-io", 200, 400), (0, 800));
        let (_, learnt) = all.saving(("small-io", COUNTED), Interval { lo: 100, hi: 200 }, (400, 0), 1000);
        assert_eq!((learnt.expected_ns, learnt.families), (450, 10));
        assert_eq!((learnt.structure, learnt.beside_own_ns), (Interval { lo: 100, hi: 200 }, 400));
    }

    #[test]
    fn the_nearer_both_ways_to_know_it_are_the_narrower_is_what_is_said() {
        let all = MeasuredChanges::of(
            ten().into_iter().filter(|one| one.saved >= Some(0.1) && one.saved <= Some(0.5)).collect(),
        );
        let width = |place, beside| {
            let (lo, hi) = said(&all, "small-io", place, beside);
            hi - lo
        };
        assert!(width(300, 300) < width(200, 400) && width(200, 400) < width(150, 450));
        assert_eq!(width(200, 400), width(400, 200), "either may be the larger");
    }

    #[test]
    fn a_family_counts_the_same_however_often_it_was_recorded() {
        let mut often = ten();
        often.extend(std::iter::repeat_n(often[0].clone(), 50));
        let (often, once) = (MeasuredChanges::of(often), MeasuredChanges::of(ten()));
        assert_eq!(said(&often, "small-io", 200, 400), said(&once, "small-io", 200, 400));
    }

    #[test]
    fn the_less_likely_a_cause_is_the_more_its_interval_is_that_of_all_programs() {
        let mut all: Vec<_> =
            (0..20).map(|n| change("small-io", &format!("r{n}"), Truth::Right, Some(0.3))).collect();
        all.extend((0..20).map(|n| change("hot-code", &format!("w{n}"), Truth::Wrong, Some(0.9))));
        all.extend((0..20).map(|n| change("hot-code", &format!("h{n}"), Truth::Healthy, None)));
        let all = MeasuredChanges::of(all);
        assert_eq!(said(&all, "small-io", 200, 400), (300, 300), "it was right wherever it was said");
        assert_eq!(said(&all, "hot-code", 200, 400), (300, 900), "it was not");
        let rate = all.base_rate(1000).expect("something was measured");
        assert_eq!((rate.ns, rate.families, rate.healthy), (Interval { lo: 300, hi: 900 }, 0, 0));
    }

    #[test]
    fn where_nothing_is_found_those_alike_count_for_more_and_the_healthy_are_told_apart() {
        let mut all: Vec<_> =
            (0..8).map(|n| change(NOTHING, &format!("n{n}"), Truth::Wrong, Some(0.5))).collect();
        all.extend((0..10).map(|n| change("small-io", &format!("r{n}"), Truth::Right, Some(0.1))));
        all.extend((0..2).map(|n| change(NOTHING, &format!("h{n}"), Truth::Healthy, None)));
        let rate = MeasuredChanges::of(all).base_rate(1000).expect("something was measured");
        assert_eq!((rate.ns, rate.families, rate.healthy), (Interval { lo: 100, hi: 500 }, 8, 2));
        assert_eq!(rate.expected_ns, 405, "32 of 42 parts have saved 500, and 10 have saved 100");
    }

    #[test]
    fn of_what_nobody_measured_the_structure_is_said() {
        let none = MeasuredChanges::default();
        assert_eq!(said(&none, "small-io", 400, 400), (0, 400));
        assert_eq!(none.base_rate(1000), None);
    }

    #[test]
    fn belief_is_the_part_of_families_in_which_it_was_right() {
        let all = |right: usize, wrong: usize, healthy: usize| {
            let truths = [(Truth::Right, right), (Truth::Wrong, wrong), (Truth::Healthy, healthy)];
            let truths = truths.into_iter().flat_map(|(truth, n)| std::iter::repeat_n(truth, n));
            MeasuredChanges::of(
                truths
                    .enumerate()
                    .map(|(n, truth)| change("small-io", &n.to_string(), truth, None))
                    .collect(),
            )
        };
        let belief = |of: &MeasuredChanges| of.belief("small-io", COUNTED);
        assert!((belief(&all(1, 1, 0)) - 0.5).abs() < 1e-9);
        assert!((belief(&all(8, 0, 0)) - 0.9).abs() < 1e-9);
        assert!((belief(&all(8, 0, 10)) - 0.45).abs() < 1e-9);
        assert!((all(8, 0, 0).belief("unknown", COUNTED) - 0.5).abs() < 1e-9);
        assert!(belief(&all(8, 0, 0).without("0")) < belief(&all(8, 0, 0)));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let nothing = MeasuredChange { first: false, ..change(NOTHING, "c", Truth::Healthy, None) };
        let lines = vec![
            change("small-io", "a", Truth::Right, Some(0.3)),
            change("small-io", "b", Truth::Wrong, Some(0.5)),
            nothing,
        ];
        let all = MeasuredChanges::of(lines.clone());
        let mut read = parsed(&all.text());
        read.sort_by(|a, b| a.family.cmp(&b.family));
        assert_eq!(read, lines);
        let shipped = MeasuredChanges::shipped();
        assert!(shipped.all.len() > 100 && shipped.residuals.len() > 50, "{}", shipped.all.len());
    }
}
