//! The terminal page, against golden files and against what must hold for every page.
//!
//! `BLESS=1 cargo test -p dwell-report` writes the golden files anew; review them as a diff.

// The golden files are read and written here, by the tests, not by the crate.
#![allow(clippy::disallowed_methods)]

use crate::samples;
use crate::support::{check_lines, check_page};
use dwell_report::Look;
use model::coverage::{Extent, Interval};
use model::finding::{CauseName, RowRef, SavedTime, Saving, SavingBasis, Shared};
use model::recording::Runtime;
use model::requests::{RequestTime, Unit};
use model::run::UnnamedRow;
use model::sentence::Piece;
use model::{Finding, Reason, Seen, State, say};

/// The page of a run with what it means.
fn terminal(run: &model::Run, look: Look) -> String {
    let result = samples::result(run, None);
    dwell_report::terminal(&result.run, &result.diagnosis, look)
}

const PLAIN: Look = Look { width: 80, colour: false, unicode: true, height: Look::HEIGHT };

/// The page that fits a screen.
fn screen(run: &model::Run, look: Look) -> String {
    let result = samples::result(run, None);
    dwell_report::screen(&result.run, &result.diagnosis, look)
}

/// The page without its colours.
#[test]
fn pages_are_as_they_were() {
    for (name, run) in samples::all() {
        for width in [80, 120] {
            check_page(&format!("{name}-{width}"), &terminal(&run, Look { width, ..PLAIN }));
        }
    }
    let ls = samples::ls();
    check_page("ls-40", &terminal(&ls, Look { width: 40, ..PLAIN }));
    check_page("ls-ascii-100", &terminal(&ls, Look { width: 100, unicode: false, ..PLAIN }));
    let coloured = terminal(&ls, Look { width: 60, colour: true, ..PLAIN });
    check_page("ls-colour-60", &coloured.replace('\x1b', "\\e"));
}

#[test]
fn no_line_is_wider_than_the_terminal_and_nothing_is_left_to_obey() {
    for (name, run) in samples::all() {
        for width in (40..=124).step_by(3) {
            for (colour, unicode) in [(false, true), (true, true), (true, false), (false, false)] {
                let look = Look { width, colour, unicode, height: Look::HEIGHT };
                check_lines(name, &terminal(&run, look), look);
            }
        }
    }
}

#[test]
fn colour_changes_nothing_but_colour_and_is_always_switched_off() {
    for (name, run) in samples::all() {
        let page = terminal(&run, Look { width: 100, colour: true, unicode: false, height: Look::HEIGHT });
        for line in page.lines() {
            let (on, off) = (line.matches("\x1b[").count(), line.matches("\x1b[0m").count());
            assert_eq!(on, off * 2, "{name}: {line:?}");
        }
    }
}

#[test]
fn the_page_for_a_screen_fits_it_whatever_the_run() {
    for (name, run) in samples::all() {
        check_page(&format!("{name}-screen-80"), &screen(&run, PLAIN));
        for width in [80, 81, 97, 120, 200] {
            for (colour, unicode) in [(false, true), (true, true), (true, false), (false, false)] {
                let look = Look { width, colour, unicode, height: Look::HEIGHT };
                let page = screen(&run, look);
                assert!(page.lines().count() <= 30, "{name} at {width}\n{page}");
                check_lines(name, &page, look);
            }
        }
    }
}

#[test]
fn what_qualifies_the_figures_stands_below_the_sentence() {
    let mut run = samples::ls();
    run.coverage.host_busy = Seen::Value(0.6);
    run.coverage.lost_events = Seen::Value(12);
    let page = screen(&run, PLAIN);
    let at = |said: &str| {
        let line = page.lines().position(|line| line.contains(said));
        line.unwrap_or_else(|| panic!("{said:?} is not on\n{page}"))
    };
    let sentence = at("kernel-bound: in the kernel ");
    assert!(at("! a busy host: other programs used 60 % of the CPUs") <= sentence + 2, "{page}");
    assert!(at("! 12 events lost") <= sentence + 3, "{page}");
    assert!(page.contains("-v: all tables"), "{page}");
    let degraded = screen(&samples::degraded(), PLAIN);
    assert!(degraded.contains("no data: system calls") && degraded.contains("\ntry: "), "{degraded}");
}

/// Sources that saw all, and a buffer that was full at times.
#[test]
fn data_of_which_events_were_lost_are_not_complete() {
    let mut run = samples::ls();
    run.coverage.sources.retain(|source| source.seen == Extent::Full);
    for (lost, complete) in [(0, true), (12, false)] {
        run.coverage.lost_events = Seen::Value(lost);
        for page in [screen(&run, PLAIN), terminal(&run, PLAIN)] {
            assert_eq!(page.contains("complete data"), complete, "{page}");
            assert_eq!(page.contains("with gaps"), !complete, "{page}");
        }
    }
}

#[test]
fn a_usual_page_with_all_tables_is_not_much_more() {
    for (name, run) in samples::all() {
        // What is missing is named at length, and hostile notes are as long as they like.
        if !matches!(name, "hostile" | "degraded") {
            let lines = terminal(&run, Look { width: 100, ..PLAIN }).lines().count();
            assert!(lines <= 60, "{name} has {lines} lines");
        }
    }
}

#[test]
fn what_was_not_seen_is_said_and_not_shown_as_zero() {
    let page = terminal(&samples::degraded(), Look { width: 100, ..PLAIN });
    for said in [
        "kernel no data: the program was not reaped by dwell",
        "no data: system calls: BPF was refused",
        "no data: lost events: without BPF",
        "no data: dwell's overhead: the cost of looking",
        "try: sudo sysctl kernel.perf_event_paranoid=1",
        "mismatch: CPU time against getrusage",
        "killed by signal 9 (SIGKILL)",
    ] {
        assert!(page.contains(said), "{said:?} is not on\n{page}");
    }
    assert!(!page.contains("no events lost"), "{page}");
}

#[test]
fn memory_that_is_unknown_is_said_with_its_reason() {
    let mut run = samples::ls();
    run.host.memory_bytes = Seen::unseen("cannot read /proc/meminfo: permission denied");
    let page = unwrapped(&run);
    assert!(page.contains(" CPUs, unknown memory"), "{page}");
    assert!(page.contains("no data: the host's memory: cannot read /proc/meminfo"), "{page}");
}

#[test]
fn who_had_the_cpus_instead_is_named_with_the_limits() {
    let page = unwrapped(&samples::starved());
    for said in [
        "starved: ready to run for 81 % of the wall clock, but had no CPU",
        "other programs ran for 69 % (most: cc1, PID 31)",
        "its CPU quota was used up for 12 % (control group /system.slice/db.service: 20.0 ms of each 100 ms, 20 % of a CPU)",
        "used up in 48 of 80 periods",
        "memory limit of control group /system.slice/db.service: 512 MiB, up to 510 MiB in use, reached 12 times",
        "the program may run on 1 of 2 CPUs",
    ] {
        assert!(page.contains(said), "{said:?} is not in\n{page}");
    }
    assert!(!page.contains("a hypervisor ran"), "{page}");
    let page = unwrapped(&samples::crowded());
    for said in [
        "CPU-bound: 50 % of the wall clock is user code",
        "48 % is waiting for a CPU behind its own threads, which used 2.0 of 2 CPUs and needed 3.9",
        "own thread encode ran",
        "rcu_preempt ran",
    ] {
        assert!(page.contains(said), "{said:?} is not in\n{page}");
    }
}

#[test]
fn many_processes_of_one_name_are_one_place() {
    let page = terminal(&samples::build(), Look { width: 100, ..PLAIN });
    assert_eq!(
        page.lines().filter(|line| line.contains("cc1 ×512") && line.contains("user")).count(),
        1,
        "{page}"
    );
}

/// The page with its paragraphs on one line each.
fn unwrapped(run: &model::Run) -> String {
    terminal(run, Look { width: 120, ..PLAIN }).replace("\n  ", " ")
}

#[test]
fn a_class_that_does_not_lead_says_so() {
    let mut run = samples::ls();
    run.bound.shares = model::run::Shares { waiting: 0.45, kernel: 0.31, user: 0.2 };
    let page = unwrapped(&run);
    assert!(page.contains("kernel-bound: 31 %") && page.contains("(waiting 45 %, less than half)"), "{page}");
}

#[test]
fn waiting_that_leads_below_one_half_is_said_to() {
    let mut run = samples::ls();
    run.bound.class = model::run::Class::Mixed;
    run.bound.shares = model::run::Shares { waiting: 0.45, kernel: 0.3, user: 0.25 };
    run.bound.margin_points = 15.0;
    let page = unwrapped(&run);
    assert!(
        page.contains(
            "mixed: waiting 45 %, kernel 30 %, user 25 %; waiting is the largest part, but less than half"
        ),
        "{page}"
    );
}

#[test]
fn a_program_that_was_stopped_is_said_to_be_that_and_of_no_class() {
    let mut run = samples::crunch();
    run.bound.class = model::run::Class::Mixed;
    let runqueue = run.account.iter_mut().find(|row| row.state == model::State::Runqueue).unwrap();
    (runqueue.state, runqueue.ns) = (model::State::Stopped, 9_917_000_000);
    run.wall_ns = run.account.iter().map(|row| row.ns).sum();
    let page = unwrapped(&run);
    let said = "stopped: 50 % of the wall clock, by a signal, a debugger or a frozen control group";
    assert!(page.contains(said) && !page.contains("no part leads"), "{page}");
    assert!(!page.contains("waiting for a CPU, or stopped"), "{page}");
}

#[test]
fn time_runnable_without_a_cpu_is_in_the_headline() {
    let page = unwrapped(&samples::crunch());
    assert!(page.contains("; 12 % is waiting for a CPU, or stopped"), "{page}");
    let page = unwrapped(&samples::ls());
    assert!(!page.contains("runnable"), "{page}");
}

/// What says most about its class comes first, the rest after it.
#[test]
fn all_tables_are_those_of_any_class() {
    for (name, run) in samples::all() {
        let page = terminal(&run, Look { width: 120, ..PLAIN });
        let at = |title: &str| page.lines().position(|line| line.starts_with(title));
        for title in ["waits", "system calls", "functions"] {
            assert!(at(title).is_some(), "{name}: {title}\n{page}");
        }
        if run.bound.class == model::run::Class::Cpu {
            assert!(at("functions") < at("system calls"), "{name}\n{page}");
        }
    }
}

#[test]
fn a_path_of_fifty_thousand_places_stays_one_page() {
    let mut run = samples::build();
    let step = run.path[0].clone();
    run.path.extend((0..50_000).map(|pid| model::Step {
        together: None,
        pid,
        tid: pid,
        reason: Reason::Text(format!("{pid}")),
        ..step.clone()
    }));
    let lines = terminal(&run, Look { width: 100, ..PLAIN }).lines().count();
    assert!(lines <= 58, "{lines} lines");
}

#[test]
fn a_window_speaks_of_one_number_of_threads_that_did_something() {
    let page = terminal(&samples::attached(), Look { width: 120, ..PLAIN });
    let head: Vec<&str> = page.lines().take(2).collect();
    assert!(head[0].ends_with("(1 process, 44 threads) for 2.00 s: 41 threads active"), "{page}");
    // Most of the 41 are too short for the table of threads, and yet their time is in these sums.
    assert!(head[1].contains("(sum of all threads)"), "{page}");
    assert!(!head[1].contains("(sum of 1"), "{page}");
}

#[test]
fn waits_are_compared_with_a_kept_ladder_only() {
    let page = |run: &model::Run| terminal(run, Look { width: 120, ..PLAIN });
    let mut journal = samples::journal();
    let told = page(&journal);
    let line = "longest wait in fsync: 18.4 ms (about 13 fsyncs or 140,000 memory accesses on this \
                host; kept quick ladder of 2026-11-21)";
    assert!(unwrapped(&journal).lines().any(|found| found == line), "{told}");
    // What was not measured is left out, not counted; and a peer's time has nothing to do with this
    // host's memory.
    let download = page(&samples::download());
    assert!(!download.contains("longest wait"), "{download}");
    journal.costs = Seen::unseen("no ladder of this host is kept\ntry: dwell ladder");
    let without = page(&journal);
    assert!(!without.contains("longest wait") && !without.contains("ladder"), "{without}");
    let mut sleep = samples::sleep();
    sleep.costs = samples::journal().costs;
    assert!(!page(&sleep).contains("longest wait"), "{}", page(&sleep));
}

#[test]
fn a_finding_is_said_with_what_can_be_done_about_it() {
    let run = samples::journal();
    let model::RunResult { run, mut diagnosis, .. } = samples::result(&run, None);
    let half = run.wall_ns / 2;
    let share_ns = Interval { lo: half, hi: half };
    let finding = |id, saving| Finding {
        cause: CauseName::new(id, "small syncs"),
        share_ns,
        saving,
        place: RowRef::Wait(0),
        what: say!(Piece::Name("fsync\x1b[31m".into()), " is called ", Piece::Count(12, "time".into())),
        change: say!("sync once for many records"),
        evidence: vec![say!(Piece::Count(12, "call".into()))],
        assumes: vec![say!("nobody minds")],
        verify: Vec::new(),
        explains: vec![CauseName::new("disk-latency", "slow disk")],
        belief: None,
    };
    let saving = Saving {
        ns: share_ns,
        of: SavedTime::Wall,
        part: (1.0, 1.0),
        known: SavingBasis::Counted,
        queued_ns: 0,
        shared: None,
        learnt: None,
    };
    diagnosis.findings = vec![finding("sync-writes", Seen::Value(saving))];
    let wide = Look { width: 120, ..PLAIN };
    let told = dwell_report::terminal(&run, &diagnosis, wide);
    let line = " 1. fsync\\x1b[31m is called 12 times: sync once for many records";
    assert!(told.lines().any(|found| found == line), "{told}");
    assert!(told.contains("(50 %, counted)   sync-writes, which explains disk-latency"), "{told}");
    assert!(!told.contains("or more of this"), "{told}");
    let shared = Some(Shared { finding: 0, ns: 500_000_000 });
    diagnosis.findings.push(finding("cpu-contention", Seen::Value(Saving { shared, ..saving })));
    for told in [dwell_report::terminal, dwell_report::causes].map(|page| page(&run, &diagnosis, wide)) {
        let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("(50 %, counted); finding 1 also saves 500 ms or more of this"), "{told}");
    }
    diagnosis.findings = (0..5).map(|_| finding("sync-writes", Seen::unseen("why"))).collect();
    let told = dwell_report::terminal(&run, &diagnosis, wide);
    assert!(told.contains(" 3. fsync") && !told.contains(" 4. fsync"), "{told}");
    assert!(told.contains("2 more with --causes") && told.contains("is not known: why"), "{told}");
    let all = dwell_report::causes(&run, &diagnosis, wide);
    assert!(all.contains(" 5. fsync") && all.contains("assumed  nobody minds"), "{all}");
    diagnosis.findings.clear();
    diagnosis.ruled_out = vec![(CauseName::new("sync-writes", ""), say!("it did not sync").into())];
    let told = dwell_report::terminal(&run, &diagnosis, wide);
    assert!(told.contains("no known cause"), "{told}");
    assert!(dwell_report::causes(&run, &diagnosis, wide).contains("it did not sync"));
}

#[test]
fn code_of_a_jit_without_names_is_one_row_with_the_command_that_names_it() {
    let mut run = samples::crunch();
    let Seen::Value(functions) = &mut run.tables.functions else { panic!("no functions") };
    functions[0].name = Runtime::HotSpot.mark().into();
    functions[0].unnamed = Some(UnnamedRow { runtime: Runtime::HotSpot, pids: vec![77] });
    let page = unwrapped(&run);
    assert!(page.contains("JIT code, not named (Java)"), "{page}");
    assert!(page.contains("for names: java -XX:+UnlockDiagnosticVMOptions"), "{page}");
    assert!(!page.contains("[jit:"), "{page}");
}

/// The page that fits a screen, with these findings' diagnosis changed.
fn screen_with(run: &model::Run, change: impl Fn(&mut model::Diagnosis)) -> String {
    let mut result = samples::result(run, None);
    change(&mut result.diagnosis);
    dwell_report::screen(&result.run, &result.diagnosis, PLAIN)
}

#[test]
fn a_server_that_was_run_is_said_to_be_one_with_what_to_type() {
    let page = screen_with(&samples::crawler(), |diagnosis| diagnosis.serves_at = Some(8000));
    let words: Vec<&str> = page.split_whitespace().collect();
    let said = words.join(" ");
    assert!(said.contains("a server: it waited for work at port 8000"), "{page}");
    assert!(said.contains("dwell attach :8000") && !page.contains("-bound"), "{page}");
}

#[test]
fn a_peer_on_this_host_is_called_by_its_process_and_what_it_does() {
    let mut run = samples::crawler();
    let whole_ns = run.whole_ns();
    let Seen::Value(rows) = &mut run.tables.connections else { panic!("they are there") };
    rows[0].waited_ns = whole_ns;
    let remote = rows[0].remote.clone();
    rows[0].process = Some(model::network::PeerProcess {
        remote: remote.clone(),
        pid: 29_417,
        name: "postgres\u{1b}".into(),
        processes: vec![29_417],
        meanwhile: Some(model::network::PeerUse {
            ns: 2_000_000_000,
            cpu_ns: 1_900_000_000,
            disk_bytes: None,
        }),
    });
    rows[0].process_does = Some(model::peers::PeerDoes::Computes);
    let words = |page: &str| page.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = format!(
        "{remote} is postgres\\x1b (PID 29417), which computes meanwhile (1.90 s of CPU time in 2.00 s)"
    );
    for page in [screen(&run, PLAIN), terminal(&run, PLAIN)] {
        assert!(words(&page).contains(&said), "{page}");
    }
}

#[test]
fn the_programs_own_work_has_a_row_though_waits_have_nearly_all_of_the_time() {
    let mut run = samples::crawler();
    let whole_ns = run.whole_ns();
    let place = |state, function: &str, ns| model::CodePlace {
        state,
        code: Some(model::wait::StackFrame {
            function: function.into(),
            source: Some(("shop.py".into(), 7)),
            language: model::recording::Language::Python,
            kind: model::wait::FrameKind::Function,
        }),
        reason: Reason::None,
        other_reasons: 0,
        process: "python3".into(),
        threads: 1,
        ns,
        count: 1,
        sampled: false,
    };
    let mut places: Vec<_> =
        (0..8).map(|at| place(model::State::Network, &format!("waits{at}"), whole_ns / 9)).collect();
    places.push(place(model::State::User, "price", whole_ns / 12));
    run.places = Seen::Value(places);
    let page = dwell_report::screen(&run, &samples::result(&run, None).diagnosis, PLAIN);
    assert!(page.contains("price"), "{page}");
}

#[test]
fn what_names_code_of_a_jit_is_on_the_screen_that_lacks_the_names() {
    let mut run = samples::crunch();
    let Seen::Value(functions) = &mut run.tables.functions else { panic!("they are there") };
    functions[0].share.value = 0.5;
    functions[0].unnamed = Some(UnnamedRow { runtime: Runtime::Node, pids: vec![77] });
    assert!(screen(&run, PLAIN).contains("node --perf-basic-prof"), "{}", screen(&run, PLAIN));
}

#[test]
fn what_requests_wait_for_others_that_are_at_a_part_is_told_with_it() {
    let mut run = samples::served();
    let sentence = |run: &model::Run| {
        let page = unwrapped(run);
        page.lines().find(|line| line.starts_with("slow requests wait")).map(str::to_owned)
    };
    assert!(sentence(&run).is_some_and(|told| !told.contains("others")));
    run.tables.requests.value_mut().expect("it has some").parts[0].awaited_slow_ns = 6_000_000;
    let told = sentence(&run).expect("a finding");
    let holder = "api.py:26 price takes, whose holder is at api.py:20 ask (recvfrom, timer)";
    assert!(told.contains(&format!("{holder}, and wait 6.00 ms more for others that do: p99")), "{told}");
}

#[test]
fn the_legend_of_a_screen_names_every_state_however_narrow() {
    for (name, run) in samples::all() {
        for width in [60, 80] {
            let page = screen(&run, Look { width, ..PLAIN }).replace('\n', " ");
            for part in run.account.iter().filter(|part| part.ns > 0) {
                let state = match part.state {
                    State::Runqueue => "waiting for a CPU",
                    State::Fault => "page faults",
                    state => state.name(),
                };
                assert!(page.contains(state), "{name} at {width} lacks {state}: {page}");
            }
        }
    }
}

#[test]
fn what_a_thread_is_at_meanwhile_is_another_of_what_is_followed() {
    let mut run = samples::served();
    let all = run.tables.requests.value_mut().expect("it has some");
    all.unit = Unit::Cycle;
    all.parts.iter_mut().for_each(|part| part.at = RequestTime::OtherRequest);
    let page = terminal(&run, PLAIN);
    assert!(page.contains("another cycle") && !page.contains("another request"), "{page}");
}
