//! Beside other programs: what becomes of waits for a CPU when a part of the program goes.
//!
//! A fair scheduler gives a thread its part of a CPU, so one that needs half as much waits half as
//! long. That is so on average only: which CPU a thread shares, and with how many, is up to the
//! balance between the CPUs, and differs from run to run.

use super::Evidence;
use super::predict::{Kind, Removal, kind};
use super::starved;
use model::coverage::Interval;
use model::prediction::Site;
use model::{Ns, State};

/// Less than this of a CPU is within what two counters of CPU time may differ by.
const IDLE_MIN: f64 = 0.1;

impl Evidence<'_> {
    /// A saving of which this part is CPU time, with the waits behind other programs that go with
    /// it. Certain is that only of waits that began since the thread had used up its turn. At most
    /// what stays waits no longer than on the CPU with the fewest threads, as far as the program
    /// becomes another one: the run that was seen may have shared its CPU with more than others do.
    /// Who stands still for as long as it computes is another one altogether without.
    pub(super) fn with_queue(&self, ns: Interval, goes: &Removal, on_cpu: f64) -> Interval {
        let on_cpu_ns = self.account_ns(State::on_cpu);
        let Some(behind_ns) = self.behind_others_ns() else { return ns };
        let each = behind_ns as f64 / on_cpu_ns.max(1) as f64;
        let with = |ns: Ns, part: f64| ns + (ns as f64 * on_cpu * each * part) as Ns;
        let stays_ns = on_cpu_ns as f64 - ns.hi as f64 * on_cpu;
        let less = if of_queue(goes) { 0.0 } else { each - self.shortest_queue().unwrap_or(each) };
        let hi = with(ns.hi, 1.0);
        // Of a change that takes nothing away nothing is saved.
        let part = (hi as f64 / self.run.whole_ns().max(1) as f64).min(1.0);
        let less_ns = (stays_ns.max(0.0) * less.max(0.0) * part) as Ns;
        Interval { lo: with(ns.lo, self.turns_used_up()), hi: hi + less_ns }
    }

    /// Time of the account in the run queue behind other programs. Where it was not seen who had
    /// the CPU, as beside many others, it is divided as what was seen.
    pub(super) fn behind_others_ns(&self) -> Option<Ns> {
        self.run.run_queue.value().map(|_| starved::of(self).others_ns)
    }

    /// CPUs that others kept busy; none where that is not known.
    fn others_cpus(&self) -> Option<f64> {
        self.run.coverage.host_busy.value().map(|share| share * f64::from(self.run.host.cpus))
    }

    /// For how long a thread waits for each second that it has a CPU, where it is on the one with
    /// the fewest threads: their balance leaves no CPU with less than the whole part of an even
    /// share, and a run of a second may be there all the time. Others that had more than a CPU are
    /// two threads at least.
    pub(super) fn shortest_queue(&self) -> Option<f64> {
        let queue = self.run.run_queue.value()?;
        let want = self.others_cpus()?.ceil() + queue.cpus_wanted.max(1.0);
        Some(((want / f64::from(self.run.host.cpus.max(1))).floor() - 1.0).max(0.0))
    }

    /// Threads of others that want a CPU: as many as they had CPUs, where another was idle that
    /// they could have had; else each that they had any of was wanted all the time.
    pub(super) fn others_wanted(&self) -> f64 {
        let others = self.others_cpus().unwrap_or(0.0);
        let own = self.cpu_ns() as f64 / self.run.wall_ns.max(1) as f64;
        let idle = f64::from(self.run.host.cpus.max(1)) - others - own;
        if idle < IDLE_MIN { others.ceil() } else { others }
    }

    /// By how much the waits behind others grow, at most, where the program no longer stands still:
    /// who has just stood still gets its CPU at once, and who goes on has to share it with what
    /// others have on each.
    fn queue_grows_ns(&self) -> Ns {
        let (Some(others), Some(behind_ns)) = (self.others_cpus(), self.behind_others_ns()) else {
            return 0;
        };
        let on_cpu_ns = self.account_ns(State::on_cpu) as f64;
        let waits = on_cpu_ns * others / f64::from(self.run.host.cpus.max(1));
        (waits - behind_ns as f64).max(0.0) as Ns
    }

    /// The part of the path's waits for a CPU that followed no wake-up, at least: there are more of
    /// them than waits for something else.
    fn turns_used_up(&self) -> f64 {
        let count = |of: &dyn Fn(State) -> bool| -> u64 {
            self.run.path.iter().filter(|step| of(step.state)).map(|step| step.count).sum()
        };
        let queued = count(&|state| state == State::Runqueue);
        let woken = count(&State::blocked);
        1.0 - (woken as f64 / queued.max(1) as f64).min(1.0)
    }

    /// What waits that go had of the run queue behind other programs, as far as it may come again
    /// elsewhere. A thread that slept gets the CPU before one that has used up its turn; without
    /// these sleeps what it computes has to share with others, with one on each CPU at least. Of
    /// hand-overs, which are waits too, these waits are known only by what goes with them: so much.
    pub(super) fn queues_elsewhere_ns(&self, goes: &Removal, with_ns: Ns) -> Ns {
        let (Some(behind_ns), false) = (self.behind_others_ns(), self.run.window.is_some()) else { return 0 };
        let parts = match goes {
            Removal::Parts(parts) => parts,
            Removal::Sites(sites, _) if sites.contains(&Site::State(State::Throttled)) => {
                return self.queue_grows_ns();
            }
            _ => return 0,
        };
        let on_path_ns = self.account_ns(|state| state == State::Runqueue).min(behind_ns);
        let queued_ns: f64 =
            parts.sites.iter().map(|(site, part)| self.queued_in(site) as f64 * part.0).sum();
        let queued_ns = if parts.of_all { with_ns } else { queued_ns as Ns }.min(on_path_ns);
        let goes_ns = if parts.of_all { self.on_cpu_at(&parts.sites) } else { parts.cpu_ns };
        let left_ns = self.account_ns(State::on_cpu).saturating_sub(goes_ns);
        queued_ns.min(left_ns.saturating_sub(on_path_ns - queued_ns))
    }

    /// The part of a saving's low end that can only be waits for a CPU that others had: of calls
    /// all that is neither on a CPU nor a wait for something else, else what goes `with` the CPU
    /// time. Where the path also waited behind its own threads, it may have been for those.
    pub(super) fn queued_least_ns(&self, goes: &Removal, lo: Ns, with_ns: Ns) -> Ns {
        let (Some(behind_ns), false) = (self.behind_others_ns(), self.run.window.is_some()) else { return 0 };
        let sites: Vec<&Site> = match goes {
            Removal::Sites(sites, _) => sites.iter().collect(),
            Removal::Parts(parts) => parts.sites.iter().map(|(site, _)| site).collect(),
            _ => Vec::new(),
        };
        let is_call = |site: &&Site| matches!(site, Site::Call(_));
        let queued_ns = match goes {
            Removal::Sites(..) if of_queue(goes) => lo,
            _ if !sites.is_empty() && sites.iter().all(is_call) => {
                lo.saturating_sub(sites.iter().map(|site| self.used_in(site)).sum()).max(with_ns)
            }
            _ => with_ns,
        };
        let of_path_ns = self.account_ns(|state| state == State::Runqueue);
        queued_ns.min(lo).min(of_path_ns).saturating_sub(of_path_ns.saturating_sub(behind_ns))
    }

    /// What of the path's time on a CPU goes at least with these parts of states.
    pub(super) fn on_cpu_at(&self, sites: &[(Site, (f64, f64))]) -> Ns {
        let of = |(site, part): &(Site, (f64, f64))| match site {
            Site::State(state) if state.on_cpu() => {
                (self.account_ns(|one| one == *state) as f64 * part.0) as Ns
            }
            _ => 0,
        };
        sites.iter().map(of).sum()
    }

    /// In a call all that is neither on a CPU nor a wait for something else.
    fn queued_in(&self, site: &Site) -> Ns {
        let Site::Call(call) = site else { return 0 };
        let rows = self.run.tables.syscalls.value().map_or(&[][..], Vec::as_slice);
        let rows = rows.iter().filter(|row| row.name == *call);
        rows.map(|row| row.total_ns).sum::<Ns>().saturating_sub(self.used_in(site))
    }

    /// Time of all threads in a call, on a CPU or in waits for something else.
    fn used_in(&self, site: &Site) -> Ns {
        let Site::Call(call) = site else { return 0 };
        let rows = self.run.tables.syscalls.value().map_or(&[][..], Vec::as_slice);
        let rows = rows.iter().filter(|row| row.name == *call);
        let waits = self.run.waits.iter().filter(|wait| wait.call.syscall() == Some(call));
        rows.map(|row| row.cpu_ns).sum::<Ns>() + waits.map(|wait| wait.total_ns).sum::<Ns>()
    }
}

/// Whether it is the waits for a CPU themselves that go.
fn of_queue(goes: &Removal) -> bool {
    match goes {
        Removal::Sites(sites, _) => sites.contains(&Site::State(State::Runqueue)),
        _ => kind(goes) == Kind::Waiting && matches!(goes, Removal::Account(..)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::file_samples::{call, wait};
    use crate::judge::predict::ALL;
    use crate::judge::samples::{behind_others, run, sites};
    use model::finding::SavingBasis;
    use model::recording::Tier;
    use model::syscall_rows::CallRow;
    use model::wait::{WaitTarget, WakerKind};
    use model::{Profile, Reason, Run, RunQueue, Seen, Step};

    const MS: Ns = 1_000_000;

    /// It waited so long behind others.
    fn queue(behind_others_ns: Ns) -> Seen<RunQueue> {
        behind_others(behind_others_ns).map(|queue| RunQueue { cpus_used: 0.5, cpus_wanted: 0.8, ..queue })
    }

    #[test]
    fn cpu_time_goes_with_its_waits_behind_others() {
        let saves = |queued: u64, slept: u64, goes: Kind| {
            let mut run =
                run(&[(State::User, 500 * MS), (State::Runqueue, 300 * MS), (State::Sleep, 200 * MS)]);
            run.run_queue = queue(250 * MS);
            let step = |state, ns, count| Step {
                together: None,
                pid: 100,
                tid: 100,
                process: "program".into(),
                state,
                reason: Reason::None,
                ns,
                count,
            };
            run.path = vec![step(State::Runqueue, 300 * MS, queued), step(State::Sleep, 200 * MS, slept)];
            let profile = Profile::default();
            let evidence = Evidence::of(Tier::Bpf, &run, &profile);
            let ns = Interval { lo: 100 * MS, hi: 200 * MS };
            let saving = evidence.saving(&Removal::Account(ns, goes), ALL, SavingBasis::Counted);
            let ns = saving.value().expect("the account has it").ns;
            (ns.lo, ns.hi)
        };
        assert_eq!(saves(100, 0, Kind::Cpu), (150 * MS, 300 * MS), "half as long again behind others");
        assert_eq!(saves(100, 50, Kind::Cpu), (125 * MS, 300 * MS), "half of these waits follow a wake-up");
        assert_eq!(saves(80, 100, Kind::Cpu), (100 * MS, 300 * MS));
        assert_eq!(saves(100, 0, Kind::Waiting), (100 * MS, 200 * MS));
    }

    #[test]
    fn the_queue_of_waits_that_go_may_come_again_where_the_rest_computes() {
        let lo = |computes_ns: Ns| {
            let on_cpu = [(State::User, computes_ns), (State::Disk, 300 * MS), (State::Runqueue, 500 * MS)];
            let mut run = run(&on_cpu);
            run.run_queue = queue(500 * MS);
            let call = CallRow { total_ns: 800 * MS, ..call("fdatasync", 1000, 0, 0) };
            run.tables.syscalls = Seen::Value(vec![call]);
            run.waits = vec![wait(
                State::Disk,
                "fdatasync",
                WaitTarget::File(Seen::Absent),
                1000,
                300 * MS,
                WakerKind::Device,
            )];
            let site = Site::Call("fdatasync".into());
            let clocks = sites(&run, &[(site, [800 * MS; 3])]);
            let profile = Profile::default();
            let evidence = Evidence::of(Tier::Bpf, &run, &profile).with(&clocks);
            let parts = evidence.parts_of(&[(&"fdatasync".into(), ALL)], Kind::Waiting);
            let saving = evidence.saving(&Removal::Parts(parts), ALL, SavingBasis::Counted);
            saving.value().expect("there is a clock").ns.lo
        };
        assert_eq!(lo(100 * MS), 700 * MS, "as much as is computed, beside one other");
        assert_eq!(lo(900 * MS), 300 * MS, "all of it");
    }

    #[test]
    fn what_hand_overs_have_of_the_queue_is_by_their_time_on_a_cpu() {
        let states = [(State::User, 100 * MS), (State::Kernel, 200 * MS), (State::Runqueue, 700 * MS)];
        let mut run = run(&states);
        run.run_queue = queue(500 * MS);
        let of = |state, ns| (Site::State(state), [ns; 3]);
        let clocks = sites(&run, &[of(State::Kernel, 200 * MS), of(State::Runqueue, 700 * MS)]);
        let profile = Profile::default();
        let evidence = Evidence::of(Tier::Bpf, &run, &profile).with(&clocks);
        let two_sevenths = (2.0 / 7.0, 2.0 / 7.0);
        let parts = crate::judge::predict::Parts {
            sites: vec![(Site::State(State::Kernel), ALL), (Site::State(State::Runqueue), two_sevenths)],
            beside_ns: 0,
            // Two threads, partly at the same time.
            cpu_ns: 300 * MS,
            account_ns: Interval { lo: 400 * MS, hi: 400 * MS },
            of_all: true,
            kind: Kind::Waiting,
        };
        let saving = evidence.saving(&Removal::Parts(parts), ALL, SavingBasis::Bounded);
        let lo = saving.value().expect("there are clocks").ns.lo;
        // 100 ms stay, and a third of the 500 behind others.
        assert!(lo.abs_diff(733 * MS) <= MS, "{lo}");
    }

    #[test]
    fn what_a_saving_has_of_the_queue_is_what_cannot_be_anything_else() {
        let mut run = run(&[(State::Disk, 300 * MS), (State::Runqueue, 700 * MS)]);
        run.tables.syscalls = Seen::Value(vec![CallRow {
            total_ns: 900 * MS,
            cpu_ns: 50 * MS,
            ..call("fdatasync", 1000, 0, 0)
        }]);
        let file = WaitTarget::File(Seen::Absent);
        run.waits = vec![wait(State::Disk, "fdatasync", file, 1000, 250 * MS, WakerKind::Device)];
        let calls = Removal::Sites(vec![Site::Call("fdatasync".into())], Interval::default());
        let queue = Removal::Sites(vec![Site::State(State::Runqueue)], Interval::default());
        let of = |behind_ns: Ns, goes: &Removal, lo: Ns, with_ns: Ns| {
            let run = Run { run_queue: queue_of(behind_ns, &run), ..run.clone() };
            let profile = Profile::default();
            Evidence::of(Tier::Bpf, &run, &profile).queued_least_ns(goes, lo, with_ns)
        };
        assert_eq!(of(700 * MS, &calls, 800 * MS, 0), 500 * MS, "all but 50 ms on a CPU and 250 of waits");
        assert_eq!(of(600 * MS, &calls, 800 * MS, 0), 400 * MS, "100 ms may be behind its own threads");
        assert_eq!(of(700 * MS, &calls, 300 * MS, 0), 0, "it may be all of these");
        assert_eq!(of(700 * MS, &calls, 350 * MS, 60 * MS), 60 * MS);
        assert_eq!(of(700 * MS, &queue, 650 * MS, 0), 650 * MS);
        let lock = Removal::Account(Interval::default(), Kind::Waiting);
        assert_eq!(of(700 * MS, &lock, 650 * MS, 0), 0, "waits for something else");
    }

    /// A run queue where the path waited this long behind others, and the rest behind its own
    /// threads.
    fn queue_of(behind_ns: Ns, run: &Run) -> Seen<RunQueue> {
        let queued_ns: Ns =
            run.account.iter().filter(|part| part.state == State::Runqueue).map(|part| part.ns).sum();
        queue(behind_ns).map(|queue| RunQueue { behind_own_ns: queued_ns - behind_ns, ..queue })
    }

    /// Half a second on a CPU beside others on both of two CPUs, and as long in their queue.
    fn beside(others_cpus: f64) -> Run {
        let mut run = run(&[(State::User, 500 * MS), (State::Runqueue, 500 * MS)]);
        run.host.cpus = 2;
        run.run_queue = queue(500 * MS);
        run.coverage.host_busy = Seen::Value(others_cpus / 2.0);
        run
    }

    fn saves(run: &Run, goes: &Removal) -> (Ns, Ns) {
        let profile = Profile::default();
        let evidence = Evidence::of(Tier::Bpf, run, &profile);
        let saving = evidence.saving(goes, ALL, SavingBasis::Counted);
        let ns = saving.value().expect("the account has it").ns;
        (ns.lo, ns.hi)
    }

    #[test]
    fn what_stays_may_wait_as_little_as_on_the_cpu_with_the_fewest() {
        let ns = Interval { lo: 400 * MS, hi: 400 * MS };
        let of = |others| saves(&beside(others), &Removal::Account(ns, Kind::Cpu));
        // 100 ms stay, and four fifths of the program go.
        assert_eq!(of(1.0), (800 * MS, 880 * MS), "one other can have a CPU of its own");
        assert_eq!(of(1.5), (800 * MS, 880 * MS), "and two others one together");
        let little = Interval { lo: 5 * MS, hi: 5 * MS };
        let hi = saves(&beside(1.0), &Removal::Account(little, Kind::Cpu)).1;
        assert!(hi < 20 * MS, "a change that takes little away saves little: {hi}");
        assert_eq!(of(2.5), (800 * MS, 800 * MS), "four threads: two on each, as it was");
        let mut unseen = beside(2.5);
        let Seen::Value(queue) = &mut unseen.run_queue else { panic!("it is there") };
        (queue.behind_others_ns, queue.unseen_ns) = (100 * MS, 400 * MS);
        let saved = saves(&unseen, &Removal::Account(ns, Kind::Cpu));
        assert_eq!(saved, (800 * MS, 800 * MS), "most of it was not seen, and what was is behind others");
        let queue = Interval { lo: 500 * MS, hi: 500 * MS };
        assert_eq!(saves(&beside(1.0), &Removal::Account(queue, Kind::Waiting)), (500 * MS, 500 * MS));
    }

    #[test]
    fn who_no_longer_stands_still_may_have_to_share_its_cpu() {
        let mut run = run(&[(State::User, 400 * MS), (State::Throttled, 600 * MS)]);
        run.host.cpus = 2;
        run.run_queue = queue(0);
        let all = Interval { lo: 600 * MS, hi: 600 * MS };
        let goes = Removal::Sites(vec![Site::State(State::Throttled)], all);
        assert_eq!(saves(&run, &goes), (600 * MS, 600 * MS));
        run.coverage.host_busy = Seen::Value(0.75);
        assert_eq!(saves(&run, &goes), (300 * MS, 600 * MS), "three quarters of a CPU on each");
    }

    #[test]
    fn who_no_longer_stands_still_may_have_a_cpu_of_its_own() {
        // Two others, one of them on its CPU: they may both be on the other one all the time.
        let mut run =
            run(&[(State::User, 400 * MS), (State::Throttled, 400 * MS), (State::Runqueue, 200 * MS)]);
        run.host.cpus = 2;
        run.run_queue = queue(200 * MS);
        run.coverage.host_busy = Seen::Value(0.75);
        let all = Interval { lo: 400 * MS, hi: 400 * MS };
        let goes = Removal::Sites(vec![Site::State(State::Throttled)], all);
        assert_eq!(saves(&run, &goes), (300 * MS, 480 * MS), "two fifths of it");
        let all = Interval { lo: 40 * MS, hi: 40 * MS };
        let goes = Removal::Sites(vec![Site::State(State::Throttled)], all);
        assert_eq!(saves(&run, &goes).1, 48 * MS, "a twenty-fifth");
    }
}
