//! What changes of other programs were measured to save, and what follows from it for a finding:
//! how likely its cause is the one to change, and how much of what the structure allows goes.
//!
//! `measured.txt` has a line for each finding in the recordings of `corpus/`, which `cargo xtask
//! score --learn` writes: the cause, the family of the program, whether a change of this cause was
//! the one that helped, and for those the interval that the structure allowed and what was saved.
//! Nothing else is fitted. Each family counts the same, however often it was recorded.
//!
//! An interval reaches from the tenth to the ninetieth percentile of where savings lay, relative
//! to what the structure allowed, after V. Vovk, A. Gammerman and G. Shafer, "Algorithmic Learning
//! in a Random World" (2005): for a program of another family, four savings of five lie within. Of
//! a cause with too few families, those of all causes stand for it.

use model::Ns;
use model::coverage::Interval;
use model::finding::{Learnt, SavingBasis};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

/// A cause with this many families is judged by its own.
const FAMILIES_MIN: usize = 8;
/// The part of savings below an interval, and of those above.
const BELOW: f64 = 0.1;
/// What is divided by is no less, in parts of the wall clock: smaller savings are not measured.
const LEAST: f64 = 0.02;
/// A cause of which nothing is known is taken as found in this many families, and right in half.
const PRIOR_FAMILIES: f64 = 2.0;

/// A finding whose truth is known.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredChange {
    /// The cause, by its ID.
    pub cause: String,
    /// How the part that goes was known: what is counted is told apart from what is assumed.
    pub known: SavingBasis,
    /// Programs that are slow in one way by one mistake of design.
    pub family: String,
    /// Whether a change of this cause is what helped.
    pub right: bool,
    /// What the structure of the run allowed and what was saved, in parts of the wall clock.
    pub saved: Option<SavedOf>,
}

/// A saving that was measured beside what was thought possible, in parts of the wall clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SavedOf {
    /// Least and most of what the structure allowed.
    pub structure: (f64, f64),
    /// What was saved.
    pub saved: f64,
}

/// All of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MeasuredChanges {
    all: Vec<MeasuredChange>,
    /// What follows from them for each cause, by its ID and how its saving was known.
    causes: BTreeMap<(String, SavingBasis), OfCause>,
    /// Savings of all causes.
    places: Places,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct OfCause {
    belief: f64,
    places: Places,
}

/// Where savings lay, each with its weight: in order.
#[derive(Debug, Clone, Default, PartialEq)]
struct Places {
    families: usize,
    all: Vec<(f64, f64)>,
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
        let mut causes = BTreeMap::<(&str, SavingBasis), Vec<&MeasuredChange>>::new();
        for one in &all {
            causes.entry((&one.cause, one.known)).or_default().push(one);
        }
        let of_cause = |of: &Vec<&MeasuredChange>| OfCause {
            belief: belief(of),
            places: Places::of(of.iter().copied()),
        };
        let causes =
            causes.iter().map(|((id, known), of)| (((*id).to_owned(), *known), of_cause(of))).collect();
        let places = Places::of(all.iter());
        Self { all, causes, places }
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
        let head = "# cause, how its saving was known, family, whether it was right; least and most that the structure \
                    allowed, and what was saved, of the wall clock";
        lines.iter().fold(head.to_owned() + "\n", |mut text, line| {
            let _ = writeln!(text, "{line}");
            text
        })
    }

    /// How likely a finding of this cause is what makes a program slow, 0 to 1.
    pub(super) fn belief(&self, cause: &str, known: SavingBasis) -> f64 {
        self.of_cause(cause, known).map_or(0.5, |of| of.belief)
    }

    fn of_cause(&self, cause: &str, known: SavingBasis) -> Option<&OfCause> {
        self.causes.get(&(cause.to_owned(), known))
    }

    /// What a change of this cause saves, where the structure allows this of the whole.
    pub(super) fn saving(
        &self,
        (cause, known): (&str, SavingBasis),
        structure: Interval,
        whole_ns: Ns,
    ) -> (Interval, Learnt) {
        let own = self.of_cause(cause, known).map(|of| &of.places).filter(|own| own.families >= FAMILIES_MIN);
        let places = own.unwrap_or(&self.places);
        let whole = whole_ns.max(1) as f64;
        let allowed = (structure.lo as f64 / whole, structure.hi as f64 / whole);
        let ns = |place: f64| (saved_at(allowed, place).clamp(0.0, 1.0) * whole).round() as Ns;
        let interval = places.ends().map_or(structure, |(lo, hi)| Interval { lo: ns(lo), hi: ns(hi) });
        let expected_ns = places.mean(ns).unwrap_or(structure.lo.midpoint(structure.hi));
        let families = own.map_or(0, |own| own.families as u64);
        (interval, Learnt { structure, expected_ns, families })
    }
}

/// The part of the families in which it was found whose change it was.
fn belief(of: &[&MeasuredChange]) -> f64 {
    let mut families = BTreeMap::<&str, (f64, f64)>::new();
    for one in of {
        let (right, all) = families.entry(&one.family).or_default();
        *right += f64::from(u8::from(one.right));
        *all += 1.0;
    }
    let right: f64 = families.values().map(|(right, all)| right / all).sum();
    (right + PRIOR_FAMILIES / 2.0) / (families.len() as f64 + PRIOR_FAMILIES)
}

/// Where a saving lies: from 0 to 1 within what the structure allowed; below 0 by the part of the
/// low end that it falls short; above 1 by the part of what is left of the wall clock that goes as
/// well.
fn place_of(SavedOf { structure: (lo, hi), saved }: SavedOf) -> f64 {
    if saved < lo {
        (saved - lo) / lo.max(LEAST)
    } else if saved <= hi {
        if hi - lo < LEAST { 0.5 } else { (saved - lo) / (hi - lo) }
    } else {
        1.0 + (saved - hi) / (1.0 - hi).max(LEAST)
    }
}

/// The saving at a place.
fn saved_at((lo, hi): (f64, f64), place: f64) -> f64 {
    match place {
        ..0.0 => lo + place * lo,
        0.0..=1.0 => lo + place * (hi - lo),
        _ => hi + (place - 1.0) * (1.0 - hi),
    }
}

impl Places {
    fn of<'a>(changes: impl Iterator<Item = &'a MeasuredChange>) -> Self {
        let mut families = BTreeMap::<&str, Vec<f64>>::new();
        for one in changes {
            if let Some(saved) = one.saved {
                families.entry(&one.family).or_default().push(place_of(saved));
            }
        }
        let weighed = |of: &Vec<f64>| {
            let weight = 1.0 / of.len() as f64;
            of.iter().map(|place| (*place, weight)).collect::<Vec<_>>()
        };
        let mut all: Vec<(f64, f64)> = families.values().flat_map(weighed).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self { families: families.len(), all }
    }

    /// Between which four of five lie, for a family that is not among these: by half a family
    /// further out.
    fn ends(&self) -> Option<(f64, f64)> {
        let further = 0.5 / self.families.max(1) as f64;
        Some((self.quantile(BELOW - further)?, self.quantile(1.0 - BELOW + further)?))
    }

    fn quantile(&self, part: f64) -> Option<f64> {
        let needed = part.clamp(0.0, 1.0) * self.families as f64;
        let mut sum = 0.0;
        let reached = |(_, weight): &&(f64, f64)| {
            sum += weight;
            sum >= needed
        };
        self.all.iter().find(reached).or(self.all.last()).map(|(place, _)| *place)
    }

    fn mean(&self, ns: impl Fn(f64) -> Ns) -> Option<Ns> {
        let sum: f64 = self.all.iter().map(|(place, weight)| ns(*place) as f64 * weight).sum();
        (self.families > 0).then(|| (sum / self.families as f64).round() as Ns)
    }
}

fn line(one: &MeasuredChange) -> String {
    let right = if one.right { "yes" } else { "no" };
    let head = format!("{} {} {} {right}", one.cause, one.known.id(), one.family);
    match one.saved {
        Some(SavedOf { structure: (lo, hi), saved }) => format!("{head} {lo:.3} {hi:.3} {saved:.3}"),
        None => head,
    }
}

/// The lines of a file that are as they should be.
fn parsed(text: &str) -> Vec<MeasuredChange> {
    let one = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [cause, known, family, right, rest @ ..] = &words[..] else { return None };
        let numbers: Vec<f64> = rest.iter().filter_map(|word| word.parse().ok()).collect();
        let saved = match numbers[..] {
            [lo, hi, saved] => Some(SavedOf { structure: (lo, hi), saved }),
            _ => None,
        };
        let (cause, family) = ((*cause).to_owned(), (*family).to_owned());
        let known = SavingBasis::named(known)?;
        Some(MeasuredChange { cause, known, family, right: *right == "yes", saved })
    };
    text.lines().filter(|line| !line.starts_with('#')).filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL_IO: (&str, SavingBasis) = ("small-io", SavingBasis::Counted);

    fn change(family: &str, right: bool, saved: Option<f64>) -> MeasuredChange {
        let saved = saved.map(|saved| SavedOf { structure: (0.2, 0.4), saved });
        let known = SavingBasis::Counted;
        MeasuredChange { cause: "small-io".into(), known, family: family.into(), right, saved }
    }

    /// Savings of ten families from nothing to nine tenths.
    fn ten() -> MeasuredChanges {
        let of = |n: u32| change(&n.to_string(), true, Some(f64::from(n) / 10.0));
        MeasuredChanges::of((0..10).map(of).collect())
    }

    #[test]
    fn a_saving_is_found_again_at_its_place() {
        for saved in [-0.1, 0.0, 0.1, 0.2, 0.3, 0.4, 0.7, 1.0] {
            let place = place_of(SavedOf { structure: (0.2, 0.4), saved });
            assert!((saved_at((0.2, 0.4), place) - saved).abs() < 1e-9, "{saved} at {place}");
        }
        assert_eq!(place_of(SavedOf { structure: (0.0, 0.0), saved: 0.5 }), 1.5);
    }

    #[test]
    fn four_of_five_savings_lie_within_and_one_family_more_makes_it_no_narrower_by_itself() {
        let (ns, learnt) = ten().saving(SMALL_IO, Interval { lo: 200, hi: 400 }, 1000);
        assert_eq!((ns.lo, ns.hi), (0, 900));
        assert_eq!((learnt.expected_ns, learnt.families), (450, 10));
        assert_eq!(learnt.structure, Interval { lo: 200, hi: 400 });
    }

    #[test]
    fn a_family_counts_the_same_however_often_it_was_recorded() {
        let mut all = ten().all;
        all.extend(std::iter::repeat_n(change("0", true, Some(0.0)), 50));
        let often = MeasuredChanges::of(all);
        let structure = Interval { lo: 200, hi: 400 };
        assert_eq!(often.saving(SMALL_IO, structure, 1000), ten().saving(SMALL_IO, structure, 1000));
    }

    #[test]
    fn who_has_too_few_families_is_judged_by_all() {
        let structure = Interval { lo: 200, hi: 400 };
        let (of_all, learnt) = ten().saving(("delayed-ack", SavingBasis::Counted), structure, 1000);
        assert_eq!((of_all.lo, of_all.hi, learnt.families), (0, 900, 0));
        let none = MeasuredChanges::default().saving(("delayed-ack", SavingBasis::Counted), structure, 1000);
        assert_eq!(none.0, structure, "nothing was ever measured");
        assert_eq!(none.1.expected_ns, 300);
    }

    #[test]
    fn belief_is_the_part_of_families_in_which_it_was_right() {
        let half = MeasuredChanges::of(vec![change("a", true, None), change("b", false, None)]);
        assert!((half.belief("small-io", SavingBasis::Counted) - 0.5).abs() < 1e-9);
        let most = MeasuredChanges::of((0..8).map(|n| change(&n.to_string(), true, None)).collect());
        assert!((most.belief("small-io", SavingBasis::Counted) - 0.9).abs() < 1e-9);
        assert!((most.belief("unknown", SavingBasis::Counted) - 0.5).abs() < 1e-9);
        assert!(
            most.without("0").belief("small-io", SavingBasis::Counted)
                < most.belief("small-io", SavingBasis::Counted)
        );
    }

    #[test]
    fn what_is_written_is_read_again() {
        let all = MeasuredChanges::of(vec![change("a", true, Some(0.3)), change("b", false, None)]);
        assert_eq!(MeasuredChanges::of(parsed(&all.text())), all);
        let shipped = MeasuredChanges::shipped();
        assert!(shipped.all.len() > 100 && shipped.places.families > 50, "{}", shipped.all.len());
    }
}
