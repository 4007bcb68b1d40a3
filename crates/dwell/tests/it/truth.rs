//! dwell's account of programs whose truth is known, against their own clocks.
//!
//! The programs are those of `dwell-work`. Waits are compared with what the program's clock said
//! around the call, less the time that its thread then stood in the run queue, as dwell has it: no
//! program can tell the two apart. Work is compared with the thread's own CPU clock. The tolerance
//! is 1 % or 1 ms, whichever is larger, or the interval that dwell gives where it only samples.

use crate::support;
use crate::support::{
    BLOCKED, CPU, Claims, MS, Told, Truth, fresh, hold, hold_with, holds, run, run_as, work,
};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A thread's time in the run queue.
fn queued(told: &Told, tid: u64) -> u64 {
    told.thread(tid, &["runqueue"])
}

/// `who`'s sleep is on the path and as long as it says.
fn sleeps_on_path(told: &Told, truth: &Truth, claims: &mut Claims, who: &str, how_long: &str) {
    let tid = truth.id(who);
    let what = format!("sleep of {who} on the path");
    claims.waited(&what, told.path(Some(tid), &["sleep"]), truth.ns(how_long), queued(told, tid));
}

/// `who`'s work is on the path and as long as it says, give or take starting and ending.
fn works_on_path(told: &Told, truth: &Truth, claims: &mut Claims, who: &str, how_long: &str) {
    let spun = truth.ns(&format!("{how_long}_cpu"));
    let got = told.path(Some(truth.id(who)), CPU);
    claims.worked(&format!("work of {who} on the path"), got, spun);
}

/// `main` was blocked in `state` for as long as it says, and none of that is on the path.
fn waits_off_path(told: &Told, truth: &Truth, claims: &mut Claims, state: &str) {
    let tid = truth.id("main");
    let what = format!("{state} in main's own ledger");
    claims.waited(&what, told.thread(tid, &[state]), truth.ns("waited"), queued(told, tid));
    claims.little(&format!("{state} on the path"), told.parts(&[state]));
}

/// `main` was blocked in `state` for as long as it says, and all of that is on the path.
fn waits_on_path(told: &Told, truth: &Truth, claims: &mut Claims, state: &str) {
    let tid = truth.id("main");
    let what = format!("{state} of main on the path");
    claims.waited(&what, told.path(Some(tid), &[state]), truth.ns("waited"), queued(told, tid));
}

#[test]
fn a_sleep_is_sleep() {
    holds("sleep", &["200"], |told, truth, claims| {
        sleeps_on_path(told, truth, claims, "main", "slept");
        claims.equal("all of the path is main's", told.path(Some(truth.id("main")), &[]), told.wall());
        claims.class(told, &["idle"]);
    });
}

#[test]
fn a_spin_is_user_time() {
    holds("spin", &["300"], |told, truth, claims| {
        works_on_path(told, truth, claims, "main", "spun");
        // It reads its own CPU clock all along, which is the kernel's work.
        let (user, kernel) = (told.interval("user"), told.interval("kernel"));
        let (lo, hi) = (user.0 + kernel.0, user.1 + kernel.1);
        claims.between("user and kernel time within their intervals", truth.ns("spun_cpu"), lo, hi);
        let off = truth.ns("spun") - truth.ns("spun_cpu");
        claims.between("run queue", told.parts(&["runqueue"]), off, off + MS);
        claims.class(told, &["cpu"]);
        let queued_most = told.parts(&["runqueue"]) > told.parts(&["user"]);
        claims.equal("resource", told.resource(), if queued_most { "runqueue" } else { "user" });
    });
}

#[test]
fn a_lock_held_asleep_is_the_holders_sleep() {
    holds("lock-sleep", &["50"], |told, truth, claims| {
        waits_off_path(told, truth, claims, "lock");
        sleeps_on_path(told, truth, claims, "holder", "held");
    });
}

#[test]
fn a_lock_held_at_work_is_the_holders_work() {
    holds("lock-spin", &["50"], |told, truth, claims| {
        waits_off_path(told, truth, claims, "lock");
        works_on_path(told, truth, claims, "holder", "held");
    });
}

#[test]
fn a_file_lock_is_a_lock() {
    holds("flock-sleep", &["50"], |told, truth, claims| {
        waits_off_path(told, truth, claims, "lock");
        sleeps_on_path(told, truth, claims, "holder", "held");
    });
}

#[test]
fn a_pipe_fed_late_by_a_sleeper_is_its_sleep() {
    holds("pipe-sleep", &[], |told, truth, claims| {
        waits_off_path(told, truth, claims, "pipe");
        sleeps_on_path(told, truth, claims, "feeder", "passed");
    });
}

#[test]
fn a_pipe_fed_late_by_a_worker_is_its_work() {
    holds("pipe-spin", &[], |told, truth, claims| {
        waits_off_path(told, truth, claims, "pipe");
        works_on_path(told, truth, claims, "feeder", "passed");
    });
}

/// Runs `program` on a named pipe that this process feeds after a while.
fn fed_from_outside(program: &str) -> Told {
    let path = fresh("fifo");
    let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo starts");
    assert!(made.success(), "mkfifo {} ended with {made}", path.display());
    let feeder = std::thread::spawn({
        let path = path.clone();
        move || {
            std::thread::sleep(Duration::from_millis(400));
            // Waits until the program has opened its end, however late a busy machine starts it;
            // then the program waits.
            let mut pipe = std::fs::OpenOptions::new().write(true).open(path)?;
            std::thread::sleep(Duration::from_millis(200));
            pipe.write_all(b"x")
        }
    });
    let told = run(&[work(), program, path.to_str().expect("plain characters")]);
    feeder.join().expect("the feeder does not panic").expect("the pipe can be written");
    std::fs::remove_file(path).expect("the pipe can be removed");
    told
}

#[test]
fn a_pipe_fed_from_outside_the_tree_is_a_pipe_wait() {
    hold_with(
        || fed_from_outside("fifo-read"),
        |told, claims| {
            let truth = told.truth("fifo-read");
            waits_on_path(told, &truth, claims, "pipe");
            claims.class(told, &["io"]);
            claims.resource(told, "pipe");
        },
    );
}

#[test]
fn the_opening_of_a_pipe_without_a_writer_is_a_wait_with_a_name() {
    hold_with(
        || fed_from_outside("fifo-open"),
        |told, claims| {
            let truth = told.truth("fifo-open");
            let (got, tid) = (told.path(Some(truth.id("main")), BLOCKED), truth.id("main"));
            claims.waited("blocked", got, truth.ns("waited"), queued(told, tid));
        },
    );
}

#[test]
fn waiting_for_a_child_is_what_the_child_does() {
    holds("child-sleep", &[], |told, truth, claims| sleeps_on_path(told, truth, claims, "child", "passed"));
    holds("child-spin", &[], |told, truth, claims| works_on_path(told, truth, claims, "child", "passed"));
}

#[test]
fn a_vforked_child_that_executes_another_program_is_followed() {
    holds("vfork-exec", &["100"], |told, truth, claims| {
        let spin = told.truth("spin");
        claims.equal("the child", spin.id("main"), truth.id("child"));
        let got = told.path(Some(truth.id("child")), CPU);
        claims.between("work of the child on the path", got, spin.ns("spun_cpu"), spin.cpu());
    });
}

#[test]
fn an_orphan_still_belongs_to_the_tree() {
    holds("orphan", &["100"], |told, truth, claims| works_on_path(told, truth, claims, "orphan", "passed"));
}

#[test]
fn a_child_that_outlives_the_root_is_listed_and_not_waited_for() {
    holds("outlive", &["50", "400"], |told, truth, claims| {
        sleeps_on_path(told, truth, claims, "main", "slept");
        claims.that(told.wall() < 300 * MS, "the wall goes on after the root's end");
        let outlived = told.thread_row(truth.id("child")).map(|row| row["outlived"].clone());
        claims.equal("the child outlived the root", outlived, Some(true.into()));
        claims.little("the child on the path", told.path(Some(truth.id("child")), &[]));
    });
}

#[test]
fn a_thread_that_executes_takes_its_leaders_place() {
    // The line is that of `spin`, which the thread executes.
    hold(&[work(), "exec-thread", "50"], |told, claims| {
        let truth = told.truth("spin");
        let got = told.steps(|step| {
            step["pid"] == truth.id("main") && CPU.contains(&step["state"].as_str().unwrap_or_default())
        });
        claims.between("work on the path", got, truth.ns("spun_cpu"), truth.cpu());
    });
}

#[test]
fn touching_fresh_memory_is_fault_time() {
    holds("fault", &["256"], |told, truth, claims| {
        let (lo, hi) = told.interval("fault");
        let faults = truth.ns("touched_cpu").saturating_sub(truth.ns("again_cpu"));
        claims.between("what the faults took, within its interval", faults, lo, hi);
        let unmapped = told.steps(|step| {
            step["state"] == "kernel"
                && step["reason"].as_str().is_some_and(|reason| reason.contains("munmap"))
        });
        claims.near("kernel time in munmap", unmapped, truth.ns("unmapped_cpu"));
        let minor = told.run["faults"]["minor"].as_u64().unwrap_or(0);
        let pages = truth.count("pages");
        claims
            .that(minor >= pages && minor < pages + pages / 10, format!("{minor} faults for {pages} pages"));
        claims.class(told, &["kernel"]);
    });
}

#[test]
fn of_two_threads_at_once_the_longer_is_on_the_path() {
    holds("overlap", &["100", "200"], |told, truth, claims| {
        works_on_path(told, truth, claims, "long", "long");
        claims.little("the shorter on the path", told.path(Some(truth.id("short")), &[]));
    });
}

#[test]
fn of_two_children_at_once_the_longer_is_on_the_path() {
    holds("fork-join-spin", &[], |told, truth, claims| {
        works_on_path(told, truth, claims, "long", "long");
        claims.little("the shorter on the path", told.path(Some(truth.id("short")), &[]));
    });
    holds("fork-join-sleep", &[], |told, truth, claims| {
        sleeps_on_path(told, truth, claims, "long", "long");
        claims.little("the shorter on the path", told.path(Some(truth.id("short")), &[]));
    });
}

#[test]
fn the_slow_stage_of_a_pipeline_is_the_path_in_each_place() {
    for (program, slow) in [("pipeline-1", "first"), ("pipeline-2", "second"), ("pipeline-3", "third")] {
        holds(program, &[], |told, truth, claims| {
            works_on_path(told, truth, claims, slow, slow);
            for stage in ["first", "second", "third"].into_iter().filter(|stage| *stage != slow) {
                // One item passes before and behind the slow stage's own; the rest happens beside
                // it.
                let got = told.path(Some(truth.id(stage)), CPU);
                claims.that(
                    got < truth.ns(&format!("{slow}_cpu")) / 10,
                    format!("{stage} is on the path: {got} ns"),
                );
            }
        });
    }
}

#[test]
fn a_server_in_the_tree_is_the_path_over_loopback() {
    for program in ["tcp-thread-sleep", "tcp-process-sleep"] {
        holds(program, &[], |told, truth, claims| {
            waits_off_path(told, truth, claims, "network");
            sleeps_on_path(told, truth, claims, "server", "served");
        });
    }
    for program in ["tcp-thread-spin", "tcp-process-spin"] {
        holds(program, &[], |told, truth, claims| {
            waits_off_path(told, truth, claims, "network");
            works_on_path(told, truth, claims, "server", "served");
        });
    }
}

#[test]
fn a_server_in_the_tree_is_the_path_over_a_socket_pair() {
    for program in ["unix-thread-sleep", "unix-process-sleep"] {
        holds(program, &[], |told, truth, claims| {
            waits_off_path(told, truth, claims, "pipe");
            sleeps_on_path(told, truth, claims, "server", "served");
        });
    }
    for program in ["unix-thread-spin", "unix-process-spin"] {
        holds(program, &[], |told, truth, claims| {
            waits_off_path(told, truth, claims, "pipe");
            works_on_path(told, truth, claims, "server", "served");
        });
    }
}

#[test]
fn a_server_outside_the_tree_is_the_network() {
    let client = || {
        let mut server = Command::new(work())
            .args(["serve", "20"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut out = BufReader::new(server.stdout.take().expect("a pipe was asked for"));
        let mut port = String::new();
        out.read_line(&mut port).expect("the server prints its port");
        let told = run(&[work(), "client", port.trim(), "10"]);
        server.wait().expect("the server ends with its client");
        told
    };
    hold_with(client, |told, claims| {
        waits_on_path(told, &told.truth("client"), claims, "network");
        claims.class(told, &["io"]);
        claims.resource(told, "network");
    });
}

#[test]
fn a_wait_for_readiness_is_the_wait_for_what_becomes_ready() {
    holds("epoll-server", &[], |told, truth, claims| {
        sleeps_on_path(told, truth, claims, "server", "served");
    });
    holds("poll-pipe", &[], |told, truth, claims| sleeps_on_path(told, truth, claims, "feeder", "passed"));
}

#[test]
fn a_wait_that_ends_by_its_time_is_sleep() {
    for program in ["epoll-timeout", "poll-timeout"] {
        holds(program, &["100"], |told, truth, claims| waits_on_path(told, truth, claims, "sleep"));
    }
}

#[test]
fn a_job_stopped_by_its_sibling_is_stopped_meanwhile() {
    holds("stopped", &["100"], |told, truth, claims| {
        let worker = truth.id("worker");
        let stopped = told.thread(worker, &["stopped"]);
        claims.waited("stopped in the worker's ledger", stopped, truth.ns("gap"), queued(told, worker));
        // On the path it is either the stop itself or what the sibling did before it let the worker
        // go on.
        let path = told.path(Some(worker), &["stopped"]) + told.path(Some(truth.id("sibling")), &["sleep"]);
        claims.that(path + 3 * MS >= stopped, format!("of {stopped} ns stopped, {path} ns are on the path"));
    });
}

#[test]
fn a_job_stopped_from_outside_is_stopped_on_the_path() {
    let stop = |pid: &str| {
        std::thread::sleep(Duration::from_millis(100));
        for (signal, then_ms) in [("-STOP", 100), ("-CONT", 0)] {
            let sent = Command::new("kill").args([signal, pid]).status().expect("kill starts");
            assert!(sent.success(), "kill {signal} {pid} ended with {sent}");
            std::thread::sleep(Duration::from_millis(then_ms));
        }
    };
    let run = || {
        let mut launcher = Command::new("timeout");
        run_as(launcher.args(["-k", "5", "60"]), &[work(), "stoppable", "300"], Stdio::null(), stop)
    };
    hold_with(run, |told, claims| {
        let truth = told.truth("stoppable");
        let worker = truth.id("worker");
        let got = told.path(Some(worker), &["stopped"]);
        claims.waited("stopped on the path", got, truth.ns("gap"), queued(told, worker));
        works_on_path(told, &truth, claims, "worker", "spun");
    });
}

#[test]
fn five_thousand_children_are_followed() {
    // One call makes a child, and it is `clone` or `fork` by the library's choice.
    let made =
        |told: &Told| ["clone", "clone3", "fork", "vfork"].map(|call| told.calls(call).0).iter().sum::<u64>();
    holds("forks", &["5000"], |told, truth, claims| {
        claims.equal("children made", made(told), truth.count("children"));
        claims.equal("children waited for", told.calls("wait4").0, truth.count("children"));
    });
    holds("spawns", &["1000"], |told, truth, claims| {
        claims.equal("children made", made(told), truth.count("children"));
        claims.equal("programs executed", told.calls("execve").0, truth.count("children") + 1);
    });
}

#[test]
fn two_thousand_threads_are_followed() {
    holds("threads", &["2000"], |told, truth, claims| {
        // A row may stand for several.
        let threads = told.rows("threads").iter();
        let threads = threads.map(|row| row["together"]["threads"].as_u64().unwrap_or(1)).sum::<u64>();
        claims.equal("threads", threads, 2001);
        claims.equal("threads that met", truth.count("threads"), 2000);
    });
}

#[test]
fn of_waits_for_another_thread_all_ends_are_seen() {
    // Also where the kernel does not trace the switch of an idle CPU to the woken thread.
    holds("turns", &["20000"], |told, truth, claims| {
        claims.equal("turns", truth.count("turns"), 20_000);
        let waits = told.run["waits"].as_array().into_iter().flatten();
        let unseen = waits.filter(|wait| wait["reason"] == "unexplained");
        claims.equal(
            "waits without an end",
            unseen.filter_map(|wait| wait["calls"].as_u64()).sum::<u64>(),
            0,
        );
        claims.little("unexplained", told.parts(&["unexplained"]));
    });
}

#[test]
fn threads_that_share_a_cpu_stand_in_its_queue() {
    holds("crowd", &["50"], |told, truth, claims| {
        for index in 0..4 {
            let tid = truth.id(&format!("thread_{index}"));
            let queue = truth.ns(&format!("runqueue_{index}"));
            claims.near(&format!("run queue of thread {index}, as /proc has it"), queued(told, tid), queue);
            let spun = truth.ns(&format!("spun_{index}_cpu"));
            claims.worked(&format!("work of thread {index}"), told.thread(tid, CPU), spun);
        }
        claims
            .that(told.parts(&["runqueue"]) > 100 * MS, "four threads on one CPU, and no queue on the path");
    });
}

#[test]
fn every_call_that_gives_way_is_counted() {
    holds("yield", &[], |told, truth, claims| {
        claims.equal("calls of sched_yield", told.calls("sched_yield").0, truth.count("yields"));
        let spun = truth.ns("spun_cpu");
        let got = told.thread(truth.id("worker"), CPU);
        claims.worked("work of the worker", got, spun);
    });
}

#[test]
fn names_that_are_terminal_codes_stay_text() {
    holds("hostile", &[], |told, truth, claims| {
        claims.that(told.thread_row(truth.id("thread")).is_some(), "the thread is not listed");
        let harmless = |c: char| c == '\n' || !c.is_control();
        claims.that(told.page.chars().all(harmless), format!("control codes on the page: {:?}", told.page));
        claims.that(told.page.lines().all(|line| !line.starts_with("wall 0")), "a name became a line");
    });
}

#[test]
#[cfg(target_arch = "x86_64")]
fn calls_through_the_32_bit_table_have_its_names() {
    holds("calls-32", &["1000"], |told, truth, claims| {
        claims.equal("32:getpid", told.calls("32:getpid"), (truth.count("getpid"), 0));
        claims.equal("32:close", told.calls("32:close"), (truth.count("close"), truth.count("close")));
    });
}

#[test]
fn a_million_small_reads_are_counted() {
    holds("one-byte-reads", &["1000000"], |told, truth, claims| {
        let (reads, more) = (told.calls("read").0, truth.count("reads"));
        // The library's start reads a few files of its own.
        claims.that((more..more + 50).contains(&reads), format!("{reads} reads of {more}"));
        claims.class(told, &["kernel"]);
    });
}

#[test]
fn a_ping_pong_is_followed_switch_by_switch() {
    holds("ping-pong", &["20000"], |told, truth, claims| {
        let (trips, writes) = (truth.count("trips"), told.calls("write").0);
        claims.that(
            (2 * trips..2 * trips + 50).contains(&writes),
            format!("{writes} writes for {trips} trips"),
        );
        // Each half of a trip is one side's: the path goes to and fro, and no wait stays on it.
        claims.little("pipe on the path", told.parts(&["pipe"]));
        let both = told.path(Some(truth.id("child")), &[]) + told.path(Some(truth.id("main")), &[]);
        claims.near("both sides on the path", both, told.wall());
        claims.that(
            told.path(Some(truth.id("child")), &[]) > truth.ns("loop") / 5,
            "the child is not on the path",
        );
    });
}

#[test]
fn a_disk_that_is_waited_for_is_disk_time() {
    let disk = |told: &Told, truth: &Truth, claims: &mut Claims, spans: &[&str]| {
        let off = |span: &&str| truth.ns(span) - truth.ns(&format!("{span}_cpu"));
        let main = truth.id("main");
        let waited = spans.iter().map(off).sum();
        // Each wait ends with a switch, which is the kernel's work to dwell and none of the
        // thread's time to the scheduler: some 25 us where an idle CPU sleeps in its hypervisor.
        let switching = waited / 20;
        let off = queued(told, main) + switching;
        claims.waited("disk on the path", told.path(Some(main), &["disk"]), waited, off);
    };
    let dir = support::scratch().to_str().expect("plain characters");
    holds("disk-write", &[dir, "64"], |told, truth, claims| {
        disk(told, truth, claims, &["written", "synced", "removed"])
    });
    holds("disk-read", &[dir, "16"], |told, truth, claims| {
        disk(told, truth, claims, &["written", "synced", "read", "removed"]);
        let waits = told.run["waits"].as_array().into_iter().flatten();
        let reads = waits.filter(|row| row["reason"] == "disk" && row["call"] == "read");
        claims.that(reads.count() > 0, "no row says that a read waited for the disk");
    });
}

#[test]
fn cpu_time_is_what_getrusage_says_of_the_reaped_tree() {
    let commands: [&[&str]; 3] = [
        &[work(), "fork-join-spin"],
        &["sh", "-c", "for i in 1 2 3 4 5; do ls -lR /usr/include >/dev/null; done"],
        &["python3", "-c", "print(sum(len([j for j in range(i % 500)]) for i in range(8000)))"],
    ];
    for command in commands {
        let args: Vec<&str> = [work(), "tree"].iter().chain(command).copied().collect();
        hold(&args, |told, claims| {
            let truth = told.truth("tree");
            claims.equal("status", truth.count("status"), 0);
            let (user, kernel) = (told.run["user_ns"].as_u64(), told.run["kernel_ns"].as_u64());
            let got = user.unwrap_or(0) + kernel.unwrap_or(0);
            let (want, slack) = (truth.cpu(), (truth.cpu() / 50).max(10 * MS));
            // The kernel leaves out what was stolen; see `worked`.
            let near = (want.saturating_sub(slack)..=want + slack + claims.stolen_ns).contains(&got);
            claims.that(near, format!("user + kernel {got} ns, getrusage {want} ns"));
        });
    }
}

#[test]
fn every_program_of_known_truth_is_put_to_the_test() {
    let listed = Command::new(work()).output().expect("dwell-work starts");
    let names = String::from_utf8(listed.stdout).expect("names are text");
    let here = concat!(include_str!("truth.rs"), include_str!("results.rs"));
    // The latter runs others of these, on other kernels (`cargo xtask kernels`).
    let without_truth = |name: &&str| ["nothing", "series"].contains(name);
    for name in names.lines().filter_map(|line| line.split('\t').next()).filter(|name| !without_truth(name)) {
        assert!(here.contains(&format!("\"{name}\"")), "no test runs `dwell-work {name}`");
    }
    assert!(names.lines().count() > 40, "{names}");
}
