//! Recordings told as stories: synthetic threads on one clock, in microseconds.

use dwell_analyse::Analyser;
use dwell_analyse::what_if::{Edit, Refused, Replayer};
use model::call::{Call, CallTime};
use model::coverage::Source;
use model::recording::{
    AttachWindow, Calls, Comm, Counters, Ending, Event, Header, Host, HostCpu, Object, SocketEnds, SwitchIn,
    SwitchOut, SwitchOutState, Tier, Trailer, WaitContext, WakeReason, Waker, WindowEnd,
};
use model::requests::Units;
use model::{Ns, Pid, Run, RunResult, Seen, State, Tid, WhatIf};

pub(crate) const ROOT: Pid = 100;
/// A thread or process that the root starts.
pub(crate) const CHILD: Tid = 200;
const US: Ns = 1000;

/// Calls by their number in the x86_64 table.
pub(crate) const READ: u16 = 0;
pub(crate) const NANOSLEEP: u16 = 35;
pub(crate) const SENDTO: u16 = 44;
pub(crate) const RECVFROM: u16 = 45;
pub(crate) const EXIT_GROUP: u16 = 231;
pub(crate) const WAIT4: u16 = 61;

pub(crate) struct Story {
    pub events: Vec<Event>,
    now: Ns,
    /// CPUs of the host.
    pub cpus: u32,
}

/// One call that took this number of microseconds on a CPU, and returned.
pub(crate) fn call(number: u16, us: u64) -> Calls {
    [CallTime { call: Call(number), count: 1, ns: us * US }].into_iter().collect()
}

/// A call in progress that has taken this long since it was last reported.
pub(crate) fn inside(number: u16, us: u64) -> Calls {
    [CallTime { call: Call(number), count: 0, ns: us * US }].into_iter().collect()
}

pub(crate) fn none() -> Calls {
    Calls::new()
}

pub(crate) fn waiting_in(number: u16, on: Object) -> SwitchOutState {
    SwitchOutState::Blocked(WaitContext { call: Some(Call(number)), uninterruptible: false, io: false, on })
}

pub(crate) fn ends(local_port: u16, remote_port: u16) -> SocketEnds {
    let mut loopback = [0; 16];
    loopback[10..].copy_from_slice(&[0xff, 0xff, 127, 0, 0, 1]);
    SocketEnds { protocol: 6, local: loopback, local_port, remote: loopback, remote_port }
}

impl Story {
    /// The root enters its execve and has executed it a microsecond later; it runs on CPU 0.
    pub(crate) fn begins() -> Self {
        let mut story = Story { events: Vec::new(), now: 1_000_000, cpus: 2 };
        story.push(|at| Event::Start { at, tid: ROOT });
        story.after(1).push(|at| Event::Exec {
            at,
            entered: at - US,
            tid: ROOT,
            pid: ROOT,
            old_tid: ROOT,
            name: Comm::from("root"),
        });
        story
    }

    pub(crate) fn after(&mut self, us: u64) -> &mut Self {
        self.after_ns(us * US)
    }

    /// The same in nanoseconds.
    pub(crate) fn after_ns(&mut self, ns: Ns) -> &mut Self {
        self.now += ns;
        self
    }

    pub(crate) fn push(&mut self, event: impl FnOnce(Ns) -> Event) -> &mut Self {
        let event = event(self.now);
        self.events.push(event);
        self
    }

    pub(crate) fn leaves(&mut self, tid: Tid, left: SwitchOutState, calls: Calls) -> &mut Self {
        self.push(|at| Event::Switch { at, cpu: 0, out: Some(SwitchOut { tid, left, calls }), into: None })
    }

    pub(crate) fn comes(&mut self, tid: Tid) -> &mut Self {
        self.comes_after(tid, None, 0)
    }

    pub(crate) fn comes_after(&mut self, tid: Tid, ran: Option<(Tid, &str)>, throttled_us: u64) -> &mut Self {
        let ran = ran.map(|(tid, name)| (tid, Comm::from(name)));
        self.push(|at| Event::Switch {
            at,
            cpu: 0,
            out: None,
            into: Some(SwitchIn { tid, ran, throttled_ns: throttled_us * US }),
        })
    }

    pub(crate) fn wakes(&mut self, tid: Tid, waker: Waker, calls: Calls) -> &mut Self {
        self.wakes_for(tid, waker, [], calls)
    }

    pub(crate) fn wakes_for(
        &mut self,
        tid: Tid,
        waker: Waker,
        reasons: impl IntoIterator<Item = WakeReason>,
        calls: Calls,
    ) -> &mut Self {
        let reasons = reasons.into_iter().collect();
        self.push(|at| Event::Woken { at, cpu: 0, tid, waker, reasons, calls })
    }

    pub(crate) fn forks(&mut self, tid: Tid, child: Tid, pid: Pid) -> &mut Self {
        self.push(|at| Event::Fork { at, tid, child, pid, name: Comm::from("child"), calls: none() })
    }

    /// The root starts two processes, one after the other, and waits for each. They execute a
    /// program of this name 10 us after they have begun, and end 60 us later.
    pub(crate) fn runs_two(&mut self, name: &str) {
        for child in [CHILD, CHILD + 1] {
            self.forks(ROOT, child, child).comes(child);
            self.leaves(ROOT, waiting_in(WAIT4, Object::Unknown), none());
            self.after(10).push(|at| Event::Exec {
                at,
                entered: at - US,
                tid: child,
                pid: child,
                old_tid: child,
                name: Comm::from(name),
            });
            self.after(60).exits(child, none()).wakes(ROOT, by_task(child), none()).dies(child).comes(ROOT);
        }
    }

    pub(crate) fn exits(&mut self, tid: Tid, calls: Calls) -> &mut Self {
        self.push(|at| Event::Exit { at, tid, status: 0, last: true, calls })
    }

    pub(crate) fn dies(&mut self, tid: Tid) -> &mut Self {
        self.leaves(tid, SwitchOutState::Dead(Counters::default()), none())
    }

    /// The root exits and is gone a microsecond later.
    pub(crate) fn ends(&mut self) -> Run {
        self.ended().run
    }

    /// The same with all that is made of it.
    pub(crate) fn ended(&mut self) -> RunResult {
        self.exits(ROOT, inside(EXIT_GROUP, 0));
        self.after(1).leaves(ROOT, SwitchOutState::Dead(Counters::default()), inside(EXIT_GROUP, 1));
        self.analysed()
    }

    /// Whatever came so far, analysed.
    pub(crate) fn told(&self) -> Run {
        self.analysed().run
    }

    /// The same with the tree of calls.
    pub(crate) fn analysed(&self) -> RunResult {
        self.analysed_with(&trailer(self.now + US))
    }

    /// The same on a host whose CPUs did this during the run.
    pub(crate) fn told_on(&self, host: HostCpu) -> Run {
        self.analysed_with(&Trailer { host_cpu: Seen::Value(host), ..trailer(self.now + US) }).run
    }

    /// The same as recorded in this tier, with what else is known in the end.
    pub(crate) fn told_as(&self, tier: Tier, known: impl FnOnce(&mut Trailer)) -> Run {
        let mut trailer = trailer(self.now + US);
        known(&mut trailer);
        self.analysed_of(&Header { tier, ..header() }, &trailer).run
    }

    /// The same with this source.
    pub(crate) fn told_with(&self, source: Source) -> Run {
        let header = Header { sources: vec![source], ..header() };
        self.analysed_of(&header, &trailer(self.now + US)).run
    }

    /// The same where these units are followed.
    pub(crate) fn told_in(&self, units: Units) -> Run {
        self.analysed_of(&Header { units, ..header() }, &trailer(self.now + US)).run
    }

    /// The same as a window on running processes, which begins at `at`.
    pub(crate) fn seen_from(&self, at: Ns) -> Run {
        self.analysed_from(at).run
    }

    /// The same with all that is made of it.
    pub(crate) fn analysed_from(&self, at: Ns) -> RunResult {
        let attached = Some(AttachWindow { at, target: "root".into() });
        let ending = Ending::Window(WindowEnd::For);
        let trailer = Trailer { ending, ..trailer(self.now) };
        self.analysed_of(&Header { root: 0, attached, ..header() }, &trailer)
    }

    /// The same replayed with these edits. Nobody else wanted the host's CPUs.
    pub(crate) fn replayed(&self, edits: &[&str]) -> Result<WhatIf, Refused> {
        self.replayed_with(edits, &self.trailer_beside(0))
    }

    /// The trailer of a recording on a host that was looked at for a second, in which its CPUs were
    /// busy for so long, in microseconds.
    pub(crate) fn trailer_beside(&self, busy_us: u64) -> Trailer {
        let (busy_ns, span_ns) = (busy_us * US, 1_000_000 * US);
        let host = HostCpu { busy_ns, steal_ns: 0, interrupt_ns: 0, span_ns, dwell_ns: 0 };
        Trailer { host_cpu: Seen::Value(host), ..trailer(self.now + US) }
    }

    /// The same with another trailer.
    pub(crate) fn replayed_with(&self, edits: &[&str], trailer: &Trailer) -> Result<WhatIf, Refused> {
        let edits = edits.iter().map(|text| Edit::read(text).expect("it is an edit")).collect();
        let mut replayer = Replayer::new(&self.header(), edits)?;
        self.events.iter().for_each(|event| replayer.event(event));
        replayer.finish(trailer)
    }

    /// The header of its recording.
    pub(crate) fn header(&self) -> Header {
        let mut header = header();
        header.host.cpus = self.cpus;
        header
    }

    /// The trailer.
    pub(crate) fn trailer(&self) -> Trailer {
        trailer(self.now + US)
    }

    fn analysed_with(&self, trailer: &Trailer) -> RunResult {
        self.analysed_of(&header(), trailer)
    }

    fn analysed_of(&self, header: &Header, trailer: &Trailer) -> RunResult {
        let mut analyser = Analyser::new(header);
        self.events.iter().for_each(|event| analyser.event(event));
        analyser.finish(trailer).expect("every nanosecond is booked once")
    }
}

pub(crate) fn by_task(tid: Tid) -> Waker {
    Waker::Task { tid, name: None }
}

/// One state's time on the path, in microseconds.
pub(crate) fn us(run: &Run, state: State) -> u64 {
    run.account.iter().filter(|part| part.state == state).map(|part| part.ns).sum::<Ns>() / US
}

/// One thread's time on the path in one state, in microseconds.
pub(crate) fn us_of(run: &Run, tid: Tid, state: State) -> u64 {
    run.path.iter().filter(|step| step.tid == tid && step.state == state).map(|step| step.ns).sum::<Ns>() / US
}

fn header() -> Header {
    Header {
        format: 1,
        recorder: "test".into(),
        command: vec!["root".into()],
        started_at_unix_s: 0,
        started_at_ns: None,
        machine: None,
        root: ROOT,
        tier: Tier::Bpf,
        sample_period_ns: 500_000,
        host: Host {
            name: "test".into(),
            kernel: "6.1".into(),
            arch: "x86_64".into(),
            cpus: 2,
            memory_bytes: Seen::Value(1 << 30),
            virtualisation: Seen::Absent,
        },
        devices: vec![model::recording::Device { dev: 254 << 20, name: "vda".into() }],
        units: Default::default(),
        attached: None,
        sources: Vec::new(),
    }
}

fn trailer(reaped_at: Ns) -> Trailer {
    Trailer {
        ending: Ending::Code(0),
        reaped_at,
        calls: Seen::Absent,
        rusage: Seen::Absent,
        host_cpu: Seen::Absent,
        living: Vec::new(),
        living_until: None,
        peer_processes: Vec::new(),
        loads: Seen::unseen("not recorded by the dwell version that made this file"),
        counters: Seen::unseen("not recorded by the dwell version that made this file"),
        peaks: Vec::new(),
        began_at_bytes: None,
        files: Seen::unseen("not recorded by the dwell version that made this file"),
        disk_requests: Seen::unseen("not recorded by the dwell version that made this file"),
        lost_events: Seen::Value(0),
        cost: Vec::new(),
        sources: Vec::new(),
        kept_until: None,
        requests_left_out: None,
        units_followed: None,
        sliced: None,
        costs: Seen::unseen("no ladder is kept"),
        users: None,
    }
}
