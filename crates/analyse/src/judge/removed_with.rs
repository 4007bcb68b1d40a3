//! What is saved together with system calls that go: the way into the kernel and back, the wrapper
//! of the C library, and what the program does only to make them.
//!
//! All of it is for the high end of a saving only. dwell's own programs run as the kernel is
//! entered and left, and samples cannot tell them from it; and what a program does beside a call it
//! may have to do without it.

use super::Evidence;
use super::callers::InCalls;
use super::file_calls::RemovedCalls;
use super::own_code::{Key, Owner, frames, is_door};
use super::predict::{Kind, Parts};
use crate::code::Amount;
use model::profile::{Activity, Profile, Weight};
use model::{Ns, Reason, State};
use rustc_hash::FxHashMap;

/// A function with fewer samples in its calls is not judged.
const SAMPLES_MIN: u64 = 5;

/// What code is there only for the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RemovedWith {
    /// The wrappers.
    Wrappers,
    /// The functions that make them too, with what they call in libraries: where a name is made for
    /// each call, it goes with it.
    Makers,
}

/// What a function has of the samples.
#[derive(Debug, Default)]
struct Times {
    own: Amount,
    wrappers: Amount,
    in_calls: Amount,
}

/// The part of a function's own time that is for what it has the kernel do: all of it, up to as
/// much as the kernel has; none from twice as much on, since it does something else as well; in
/// between less and less. For each ns in the kernel so much of its own time may be the kernel's.
pub(super) fn part_along(own: Amount, in_kernel: Amount, late: f64) -> f64 {
    let late_ns = late * in_kernel.ns;
    (2.0 * (in_kernel.ns + late_ns) / (own.ns - late_ns).max(1.0) - 1.0).clamp(0.0, 1.0)
}

impl Evidence<'_> {
    /// What goes with these calls, and along with them.
    pub(super) fn without(&self, gone: &[RemovedCalls<'_>], removed_with: RemovedWith, kind: Kind) -> Parts {
        let along_ns = self.along_ns(gone, removed_with);
        let parts: Vec<_> = gone.iter().map(|gone| (&gone.row.name, gone.part)).collect();
        let parts = self.parts_of(&parts, kind).and_beside(along_ns);
        Parts { cpu_ns: parts.cpu_ns + along_ns, ..parts }
    }

    /// The part of the path that is saved together with these calls, at most.
    pub(super) fn along_ns(&self, gone: &[RemovedCalls<'_>], removed_with: RemovedWith) -> Ns {
        let entering_ns = self.entering_ns() as f64 * self.part_of_all_calls(gone);
        entering_ns as Ns + self.code_ns(gone, removed_with)
    }

    /// In which the kernel is entered and left.
    fn entering_ns(&self) -> Ns {
        let entering = self.run.path.iter().filter(|step| step.reason == Reason::SyscallEntry);
        entering.map(|step| step.ns).sum()
    }

    /// Their share of time that is the same for each call, as far as samples tell.
    fn part_of_all_calls(&self, gone: &[RemovedCalls<'_>]) -> f64 {
        let rows = self.run.tables.syscalls.value().map_or(&[][..], Vec::as_slice);
        let all: u64 = rows.iter().map(|row| row.calls).sum();
        let calls: u64 = gone.iter().map(|gone| gone.calls).sum();
        (calls as f64 / all.max(1) as f64).min(1.0)
    }

    /// Their share of the program's own time around them.
    fn code_ns(&self, gone: &[RemovedCalls<'_>], removed_with: RemovedWith) -> Ns {
        let names: Vec<_> = gone.iter().map(|gone| &gone.row.name).collect();
        let calls = InCalls::new(self.profile, &names);
        let (mut functions, mut all) = (FxHashMap::<Option<Key<'_>>, Times>::default(), Amount::default());
        let (mut doors, mut kernel) = (Amount::default(), Amount::default());
        for charge in self.charges() {
            let key = match charge.owner {
                Owner::Function(frame) => Some((&*frame.function, &*frame.module)),
                _ => None,
            };
            let in_calls = calls.holds(charge.weight);
            let times = functions.entry(key).or_default();
            match charge.doing {
                Activity::User if is_at_door(self.profile, charge.weight) => {
                    all.add(charge.weight);
                    doors.add(charge.weight);
                }
                Activity::User => {
                    all.add(charge.weight);
                    times.own.add(charge.weight);
                    if in_calls {
                        times.wrappers.add(charge.weight);
                    }
                }
                Activity::Kernel => {
                    kernel.add(charge.weight);
                    if in_calls {
                        times.in_calls.add(charge.weight);
                    }
                }
                _ => {}
            }
        }
        let mut around = Amount::default();
        let late = self.charged_late() * all.ns / kernel.ns.max(1.0);
        for (key, times) in &functions {
            let makes =
                key.is_some() && times.in_calls.samples >= SAMPLES_MIN && removed_with == RemovedWith::Makers;
            let part = if makes { part_along(times.own, times.in_calls, late) } else { 0.0 };
            let maker = times.own.part(part);
            around.merge(if maker.ns > times.wrappers.ns { maker } else { times.wrappers });
        }
        let made: u64 = gone.iter().map(|gone| gone.row.calls).sum();
        let less: u64 = gone.iter().map(|gone| gone.calls).sum();
        let mut goes = around.part(less as f64 / made.max(1) as f64);
        goes.merge(doors.part(self.part_of_all_calls(gone)));
        if goes.samples == 0 {
            return 0;
        }
        (self.account_ns(|state| state == State::User) as f64 * goes.share(all).hi) as Ns
    }
}

/// Whether it struck the code with which a C library enters the kernel.
fn is_at_door(profile: &Profile, weight: &Weight) -> bool {
    frames(profile, weight).next().is_some_and(is_door)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::file_samples::{call, profile_of_both as profile, step};
    use crate::judge::samples::run;
    use model::Seen;
    use model::recording::Tier;

    const MS: Ns = 1_000_000;

    /// What is saved together with 500 of 1,000 looks for files, in a program with as many other
    /// calls.
    fn removed_with(removed_with: RemovedWith, profile: &Profile) -> Ns {
        let mut run = run(&[(State::User, 1000 * MS), (State::Kernel, 1000 * MS)]);
        run.tables.syscalls =
            Seen::Value(vec![call("newfstatat", 1000, 1000, 900 * MS), call("getpid", 1000, 0, MS)]);
        run.path = vec![step(State::Kernel, Reason::SyscallEntry, 80 * MS)];
        let row = run.tables.syscalls.value().expect("there are rows")[0].clone();
        Evidence::of(Tier::Bpf, &run, profile).along_ns(&[RemovedCalls::of(&row, 500)], removed_with)
    }

    const LOOKS: &[&str] = &["main", "looks", "libc:__fstatat64"];
    const NAMES: &[&str] = &["main", "looks", "libc:snprintf"];
    const WORK: &[&str] = &["main", "work"];
    const IN_CALL: &[&str] =
        &["main", "looks", "libc:__fstatat64", "k:do_syscall_64", "k:__do_sys_newfstatat"];

    #[test]
    fn entering_goes_by_the_number_of_calls() {
        assert_eq!(removed_with(RemovedWith::Makers, &Profile::default()), 20 * MS, "500 of 2,000 of 80 ms");
    }

    #[test]
    fn who_mostly_makes_the_calls_goes_with_half_of_them_and_what_it_calls_in_libraries() {
        let profile = profile(&[(LOOKS, 1000), (NAMES, 3000), (WORK, 6000)], &[(IN_CALL, 10_000)]);
        let within = |ns: Ns, around_ms: Ns| {
            assert!((20 + around_ms) * MS <= ns && ns < (20 + around_ms + 10) * MS, "{ns}");
        };
        within(removed_with(RemovedWith::Makers, &profile), 200);
        within(removed_with(RemovedWith::Wrappers, &profile), 50);
    }

    #[test]
    fn what_enters_the_kernel_for_all_calls_goes_by_their_number() {
        let door: &[&str] = &["main", "looks", "sccp"];
        let profile = profile(&[(door, 4000), (WORK, 6000)], &[(IN_CALL, 10_000)]);
        let ns = removed_with(RemovedWith::Wrappers, &profile);
        assert!((120 * MS..130 * MS).contains(&ns), "half of a half of 400 ms: {ns}");
    }

    #[test]
    fn of_who_computes_more_less_goes_and_from_twice_as_much_on_only_the_wrappers() {
        let user: &[(&[&str], u64)] = &[(LOOKS, 1000), (NAMES, 3000), (WORK, 6000)];
        let of = |along_with, calls| removed_with(along_with, &profile(user, &[(IN_CALL, calls)]));
        let (all, wrappers) = (of(RemovedWith::Makers, 4000), of(RemovedWith::Wrappers, 4000));
        assert_eq!(of(RemovedWith::Makers, 10_000), all);
        assert_eq!(of(RemovedWith::Makers, 2000), wrappers);
        let between = of(RemovedWith::Makers, 3000);
        assert!(wrappers < between && between < all, "{wrappers} {between} {all}");
    }

    #[test]
    fn samples_charge_what_enters_the_kernel_to_who_makes_the_calls() {
        let profile = profile(&[(LOOKS, 1000), (NAMES, 3000), (WORK, 6000)], &[(IN_CALL, 2000)]);
        let makers = |lo_ns: Ns, hi_ns: Ns| {
            let mut run = run(&[(State::User, 1000 * MS), (State::Kernel, 200 * MS)]);
            run.tables.syscalls = Seen::Value(vec![call("newfstatat", 1000, 1000, 200 * MS)]);
            (run.account[0].lo_ns, run.account[1].hi_ns) = (lo_ns, hi_ns);
            let row = run.tables.syscalls.value().expect("there are rows")[0].clone();
            Evidence::of(Tier::Bpf, &run, &profile)
                .along_ns(&[RemovedCalls::of(&row, 1000)], RemovedWith::Makers)
        };
        let as_sampled = makers(1000 * MS, 200 * MS);
        assert!((100 * MS..120 * MS).contains(&as_sampled), "only the wrappers: {as_sampled}");
        let at_most = makers(800 * MS, 400 * MS);
        assert!((400 * MS..430 * MS).contains(&at_most), "half of it may be the kernel's: {at_most}");
    }
}
