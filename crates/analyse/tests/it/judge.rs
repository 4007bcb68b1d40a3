//! What a run's evidence means, on a run told as a story whose tables are changed. Times are
//! microseconds.

use crate::story::*;
use dwell_analyse::judge::{Evidence, diagnose, judge};
use model::costs::{Costs, Operation};
use model::diagnosis::{Doubts, KernelWork, Metric, Mixed, TimeKind};
use model::finding::{Finding, RowRef};
use model::ladder::MedianInterval;
use model::network::ConnectionOrigin;
use model::peers::{ConnectionRow, DelayedAck};
use model::recording::{Object, Tier, Waker};
use model::run::{Class, WaitEnd, WaitRow};
use model::series::{CpuSeries, DiskSeries};
use model::wait::StackFrame;
use model::{Diagnosis, Ns, Profile, Run, Seen, Series, State};

const US: Ns = 1000;

/// The root works for 100 us, waits for 900 us in a call on the network and ends.
fn run() -> Run {
    let mut story = Story::begins();
    story.after(98).leaves(ROOT, waiting_in(RECVFROM, Object::Net(ends(40_000, 80))), none());
    story.after(900).wakes(ROOT, Waker::Unknown, none()).comes(ROOT);
    let run = story.ends();
    assert_eq!((run.wall_ns, run.waits.len(), run.waits[0].path_ns), (1000 * US, 1, 900 * US));
    run
}

fn judged(run: &Run) -> Diagnosis {
    diagnose(&Evidence::of(Tier::Bpf, run, &Profile::default()))
}

/// A connection with waits as long as acknowledgements are delayed, or without.
fn connection(delayed_us: Option<u64>) -> ConnectionRow {
    ConnectionRow {
        together: None,
        protocol: "tcp".into(),
        began: ConnectionOrigin::Opened,
        local: "127.0.0.1".into(),
        remote: "127.0.0.1:80".into(),
        service: None,
        times: 1,
        failed: 0,
        open: 0,
        connect: None,
        round_trip_ns: None,
        round_trip_ns_min: None,
        sent_bytes: 0,
        received_bytes: 0,
        retransmits: 0,
        open_ns: 0,
        waited_ns: 900 * US,
        waits: 9,
        bytes_per_s_open: None,
        bytes_per_s_waited: None,
        delayed_ack: delayed_us.map(|us| DelayedAck {
            waits: 8,
            of_waits: 9,
            total_ns: us * US,
            other_ns: 0,
            write_bytes_mean: 38,
        }),
        turns: None,
        opening: None,
        dialogue: None,
        process: None,
        process_does: None,
    }
}

fn found<'a>(diagnosis: &'a Diagnosis, id: &str) -> Option<&'a Finding> {
    diagnosis.findings.iter().find(|finding| finding.cause.id == id)
}

fn is_ruled_out(diagnosis: &Diagnosis, id: &str) -> bool {
    diagnosis.ruled_out.iter().any(|(cause, _)| cause.id == id)
}

fn why_unavailable<'a>(diagnosis: &'a Diagnosis, id: &str) -> Option<&'a str> {
    let row = diagnosis.unavailable.iter().find(|(cause, _)| cause.id == id);
    row.map(|(_, why)| why.as_str())
}

#[test]
fn a_cause_is_found_or_ruled_out_or_it_is_said_why_neither() {
    let mut run = run();
    assert_eq!(why_unavailable(&judged(&run), "delayed-ack"), Some("not in this recording"));
    run.tables.connections = Seen::Value(vec![connection(None)]);
    let diagnosis = judged(&run);
    assert!(is_ruled_out(&diagnosis, "delayed-ack") && found(&diagnosis, "delayed-ack").is_none());
    assert!(is_ruled_out(&diagnosis, "interpreter-lock"));
    run.tables.connections = Seen::Value(vec![connection(None), connection(Some(300))]);
    let diagnosis = judged(&run);
    assert!(!is_ruled_out(&diagnosis, "delayed-ack"));
    let finding = found(&diagnosis, "delayed-ack").expect("it is there");
    assert_eq!(finding.place, RowRef::Connection(1));
    // A tier that does not show the signs rules nothing out.
    let polled = diagnose(&Evidence::of(Tier::Proc, &run, &Profile::default()));
    assert!(found(&polled, "delayed-ack").is_none() && !is_ruled_out(&polled, "delayed-ack"));
    assert!(why_unavailable(&polled, "delayed-ack").is_some());
}

#[test]
fn what_can_be_on_the_path_is_between_what_must_be_and_what_is() {
    let mut run = run();
    run.tables.connections = Seen::Value(vec![connection(Some(300))]);
    let share = |run: &Run| {
        let judged = judged(run);
        let share_ns = found(&judged, "delayed-ack").expect("it is there").share_ns;
        (share_ns.lo / US, share_ns.hi / US)
    };
    // All waits are on the path, so these are.
    assert_eq!(share(&run), (300, 300));
    // Of 1100 us of waits 900 are on the path: 200 of the 300 may be off it.
    run.waits[0].total_ns = 1100 * US;
    assert_eq!(share(&run), (100, 300));
    run.waits[0].path_ns = 150 * US;
    assert_eq!(share(&run), (0, 150));
}

#[test]
fn a_finding_that_saves_less_than_a_twentieth_is_none() {
    let mut run = run();
    run.tables.connections = Seen::Value(vec![connection(Some(50))]);
    assert!(found(&judged(&run), "delayed-ack").is_some(), "a twentieth of 1000 us");
    run.tables.connections = Seen::Value(vec![connection(Some(49))]);
    let diagnosis = judged(&run);
    assert!(found(&diagnosis, "delayed-ack").is_none());
    assert!(is_ruled_out(&diagnosis, "delayed-ack"), "it says so");
}

#[test]
fn kinds_of_time_are_in_order_and_mixed_says_why() {
    let mut run = run();
    let diagnosis = judged(&run);
    assert_eq!(diagnosis.kinds.map(|(kind, _)| kind)[0], TimeKind::Waiting);
    assert!((diagnosis.kinds[0].1 - 0.9).abs() < 1e-9);
    assert_eq!(diagnosis.mixed, None);
    run.bound.class = Class::Mixed;
    run.bound.margin_points = 9.9;
    assert_eq!(judged(&run).mixed, Some(Mixed::NoneLeads));
    run.bound.margin_points = 10.0;
    assert_eq!(judged(&run).mixed, Some(Mixed::WaitingBelowHalf));
}

#[test]
fn time_without_a_cpu_is_worth_a_word_from_a_tenth_on() {
    let mut run = run();
    assert_eq!(judged(&run).held_up_ns, None);
    let waited = run.account.iter().position(|part| part.state == State::Network).expect("it waits");
    run.account[waited].state = State::Runqueue;
    assert_eq!(judged(&run).held_up_ns, Some(900 * US));
    run.account[waited].ns = run.wall_ns / 10 - 1;
    assert_eq!(judged(&run).held_up_ns, None);
}

#[test]
fn most_of_the_kernels_work_is_half_of_it() {
    let mut run = run();
    let step = |run: &Run, state, reason: &str, us| model::Step {
        together: None,
        state,
        reason: model::Reason::read(state, reason),
        ns: us * US,
        ..run.path[0].clone()
    };
    run.path = vec![
        step(&run, State::Kernel, "read", 30),
        step(&run, State::Kernel, "write", 30),
        step(&run, State::Kernel, "read", 10),
        step(&run, State::User, "", 500),
    ];
    let read = KernelWork::Calls(model::Reason::read(State::Kernel, "read"));
    assert_eq!(judged(&run).kernel_work, Some(read));
    run.path.push(step(&run, State::Fault, "", 75));
    assert_eq!(judged(&run).kernel_work, Some(KernelWork::Faults));
    run.path[4].ns = 20 * US;
    assert_eq!(judged(&run).kernel_work, None);
}

fn costs() -> Costs {
    let ns = |median| Seen::Value(MedianInterval { median, lo: median, hi: median });
    Costs {
        from: "a ladder".into(),
        measured_at: String::new(),
        quick: false,
        memory_access_ns: ns(100.0),
        call_ns: ns(200.0),
        fault_ns: ns(500.0),
        switch_ns: ns(2_000.0),
        open_ns: ns(1_000.0),
        stat_ns: ns(1_000.0),
        fsync_ns: ns(1e6),
        disk_read_ns: ns(1e5),
        process_ns: ns(3e5),
        connect_ns: ns(3e4),
        load_ns: Seen::unseen("the ladder has no curve of latency against size"),
        disk_read_32_ns: Seen::unseen("not measured"),
        sequential_read_ns: Seen::unseen("not measured"),
        sequential_write_ns: Seen::unseen("not measured"),
        tls_handshake_ns: Seen::unseen("not measured"),
    }
}

#[test]
fn the_longest_wait_is_compared_with_an_operation_of_its_kind() {
    let mut run = run();
    assert_eq!(judged(&run).yardstick, None);
    run.costs = Seen::Value(costs());
    let worth = |run: &Run| judged(run).yardstick.map(|yardstick| yardstick.worth).unwrap_or_default();
    assert_eq!(worth(&run), [(Operation::Connect, 30)], "a peer's time has nothing to do with memory");
    run.waits[0].reason = State::Lock;
    assert_eq!(worth(&run), [(Operation::ThreadSwitch, 450), (Operation::MemoryAccess, 9000)]);
    run.waits[0].reason = State::Disk;
    assert_eq!(worth(&run)[0], (Operation::DiskRead, 9));
    // Time that was asked for is not worth anything, nor is a small part of the path.
    run.waits[0].reason = State::Sleep;
    assert_eq!(worth(&run), []);
    run.waits[0].reason = State::Pipe;
    run.waits[0].path_ns = run.wall_ns / 10 - 1;
    assert_eq!(worth(&run), []);
}

#[test]
fn figures_are_doubtful_where_others_had_the_cpus_or_time_has_no_evidence() {
    let mut run = run();
    run.coverage.host_busy = Seen::Value(0.2);
    assert_eq!(judged(&run).doubts, Doubts { host_busy: true, ..Doubts::default() });
    run.coverage.host_busy = Seen::Value(0.19);
    run.coverage.steal_ns = Seen::Value(20 * US);
    assert_eq!(judged(&run).doubts, Doubts { steal: true, ..Doubts::default() });
    run.coverage.steal_ns = Seen::Value(19 * US);
    run.coverage.unexplained_ns = 11 * US;
    assert_eq!(judged(&run).doubts, Doubts { unexplained: true, ..Doubts::default() });
    run.coverage.unexplained_ns = 10 * US;
    assert_eq!(judged(&run).doubts, Doubts::default());
}

#[test]
fn a_lock_is_told_by_the_function_that_released_it() {
    let mut run = run();
    let ended = |run: &mut Run| {
        judge(Tier::Bpf, run, &mut Profile::default(), &Seen::unseen("nobody asks"));
        run.waits.iter().map(|wait| wait.ended).collect::<Vec<_>>()
    };
    assert_eq!(ended(&mut run), [WaitEnd::Woken]);
    let frame = StackFrame::from("pthread_mutex_unlock");
    let unlocked = |wait: &mut WaitRow| wait.by[0].stack = Seen::Value(vec![frame]);
    unlocked(&mut run.waits[0]);
    assert_eq!(ended(&mut run), [WaitEnd::Unlocked]);
}

#[test]
fn metrics_that_moved_are_in_the_order_of_what_they_matter() {
    let mut run = run();
    let disk = DiskSeries {
        name: "vda".into(),
        requests: 10,
        bytes: 40_960,
        reads_per_s: vec![1.0],
        writes_per_s: vec![0.0],
        read_bytes_per_s: vec![1.0],
        written_bytes_per_s: vec![0.0],
        busy_share: vec![0.01],
        queue_mean: vec![0.0],
        latency_ns_mean: vec![None],
        at_limit_share: 0.0,
    };
    let busy = DiskSeries { busy_share: vec![0.02], ..disk.clone() };
    let cpu = CpuSeries {
        cpus: 2,
        busy_share: vec![0.5],
        others_share: vec![0.1],
        steal_share: vec![0.0],
        interrupt_share: vec![0.0],
        iowait_share: vec![0.0],
    };
    run.series = Seen::Value(Series {
        step_ns: 100_000_000,
        disks: Seen::Value(vec![disk, busy]),
        links: Seen::Absent,
        memory: Seen::unseen("no access"),
        nfs: Seen::Absent,
        cpu: Seen::Value(vec![cpu]),
        verdicts: Vec::new(),
    });
    run.bound.resource = State::User;
    assert_eq!(judged(&run).metrics, [Metric::Cpu(0), Metric::Disk(1)]);
    run.bound.resource = State::Disk;
    assert_eq!(judged(&run).metrics, [Metric::Disk(0), Metric::Disk(1), Metric::Cpu(0)]);
}
