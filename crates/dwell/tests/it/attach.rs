//! `dwell attach`: what already runs, over a window. On real programs that live before dwell does,
//! by each way to name them, ended in each way.

use crate::support;
use crate::support::window;
use crate::support::window::{Alive, count, ensure, hold, lasted, lives, threads, whole};
use crate::support::{BLOCKED, CPU, MS, Told};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// What dwell says of this window, with all that root may.
fn attach(args: &[&str], meanwhile: impl FnOnce(u32)) -> Told {
    let mut command = Command::new(support::dwell());
    window::attach(command.arg("attach"), &support::fresh("attach.json"), args, meanwhile)
}

/// dwell's error, and its status.
fn refused(args: &[&str]) -> (String, Option<i32>) {
    let output = Command::new(support::dwell()).arg("attach").args(args).output().unwrap();
    (String::from_utf8_lossy(&output.stderr).into_owned(), output.status.code())
}

#[test]
fn a_sleeper_sleeps_and_nothing_else() {
    let _alone = support::alone();
    let alive = Alive::start("sh", &["-c", "echo ready; exec sleep 1000"]);
    let told = attach(&[&alive.name(), "--for", "300ms"], |_| ());
    assert_eq!(told.parts(&["sleep"]), whole(&told), "{}", told.account());
    assert_eq!([count(&told, "threads_active"), count(&told, "threads_idle")], [0, 1]);
    assert_eq!(told.run["exit"]["window"], "for");
    assert_eq!(told.class(), "idle");
    assert!(lasted(&told, 300) && whole(&told) == told.wall(), "{}", told.account());
    assert!(told.page.starts_with("attached to sleep"), "{}", told.page);
}

/// What the target prints goes elsewhere, so a pager or a file gets the page.
#[test]
fn the_page_goes_to_standard_output_and_one_that_is_lost_is_no_success() {
    let alive = Alive::start("sh", &["-c", "echo ready; exec sleep 1000"]);
    let attach = |out: std::process::Stdio| {
        let mut command = Command::new(support::dwell());
        command.args(["attach", &alive.name(), "--source", "proc", "--for", "100ms"]);
        command.stdout(out).output().unwrap()
    };
    let output = attach(std::process::Stdio::piped());
    let (page, errors) = (support::text(&output.stdout), support::text(&output.stderr));
    assert!(page.starts_with("attached to sleep") && errors.is_empty(), "{page}\n{errors}");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = attach(full.into());
    let errors = support::text(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{errors}");
    assert!(errors.contains("cannot write to standard output"), "{errors}");
    let (reader, gone) = std::io::pipe().unwrap();
    drop(reader);
    let output = attach(gone.into());
    assert_eq!(output.status.code(), Some(0), "{}", support::text(&output.stderr));
}

#[test]
fn a_spinner_is_its_own_code_as_the_kernel_counts_it() {
    let _alone = support::alone();
    let alive = Alive::start(lives(), &["spins"]);
    hold(|| {
        let before = alive.cpu_ns();
        let told = attach(&[&alive.name(), "--for", "500ms"], |_| ());
        let outer = alive.cpu_ns() - before;
        let cpu = told.parts(CPU);
        ensure(lasted(&told, 500), "it is as long as was asked for", &told)?;
        ensure(cpu <= outer + 10 * MS, "no more than what the kernel counted around it", &told)?;
        ensure(told.parts(BLOCKED) == 0, "it never waits", &told)?;
        ensure(told.parts(&["unexplained"]) < MS, "all is explained", &told)?;
        ensure(told.parts(&["user"]) * 10 > cpu * 8, "it is its own code", &told)?;
        let check = told.run["coverage"]["checks"].as_array().unwrap().first().cloned().unwrap_or_default();
        ensure(check["theirs_ns"].as_u64() > Some(10 * MS), "the kernel's counter was read", &told)?;
        ensure(check["agrees"] == true, "and agrees", &told)?;
        let functions = told.run["functions"].as_array().cloned().unwrap_or_default();
        ensure(functions.first().is_some_and(|row| row["name"] == "spins"), "its function is named", &told)
    });
}

#[test]
fn a_server_that_was_in_accept_when_it_began_waited_for_work() {
    let _alone = support::alone();
    let script = "import socket\n\
        s = socket.create_server(('127.0.0.1', 0))\n\
        open(PATH, 'w').write(str(s.getsockname()[1]))\n\
        print('ready', flush=True)\n\
        while True:\n  c, _ = s.accept()\n  c.recv(1)\n  sum(range(20000))\n  c.sendall(b'y')\n  c.close()\n";
    let port = support::fresh("port");
    let alive = Alive::start("python3", &["-c", &script.replace("PATH", &format!("{:?}", port))]);
    let port: u16 = std::fs::read_to_string(&port).unwrap().parse().unwrap();
    hold(|| {
        let told = attach(&[&alive.name(), "--for", "1s"], |dwell| {
            window::while_it_lasts(dwell, || {
                let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
                stream.write_all(b"x").unwrap();
                assert_eq!(stream.read(&mut [0]).unwrap(), 1);
            });
        });
        let waits = told.run["waits"].as_array().unwrap();
        let accept = waits.iter().find(|row| row["call"].as_str().unwrap_or_default().starts_with("accept"));
        let accept = accept.cloned().unwrap_or_default();
        ensure(accept["reason"] == "idle", "waiting in accept is waiting for work", &told)?;
        let total = accept["total_ns"].as_u64().unwrap_or(0);
        ensure(total > 100 * MS && total <= told.wall(), "and counts from the window's start", &told)?;
        ensure(told.parts(&["idle"]) * 2 > whole(&told), "it leads", &told)?;
        ensure(told.parts(&["unexplained"]) < whole(&told) / 100 + MS, "all is explained", &told)?;
        // A call counts where it returns: the one that it was found in, too, of unknown length.
        let (calls, answers) = (told.calls("accept4").0, told.calls("sendto").0);
        ensure(calls >= 1 && calls == answers, "each accepted connection is answered once", &told)
    });
}

/// Serves one client of a local socket: works for 200 ms, and answers.
const LOCAL_SERVER: &str = "import select, socket, time\n\
    s = socket.socket(socket.AF_UNIX)\n\
    s.bind(PATH)\n\
    s.listen()\n\
    print('ready', flush=True)\n\
    c, _ = s.accept()\n\
    e = select.epoll()\n\
    e.register(c, select.EPOLLIN)\n\
    while True:\n  WAITS\n  c.recv(1)\n  time.sleep(0.2)\n  c.sendall(b'y')\n";

/// Its client, which asks 200 ms after each answer.
const LOCAL_CLIENT: &str = "import socket, time\n\
    c = socket.socket(socket.AF_UNIX)\n\
    c.connect(PATH)\n\
    print('ready', flush=True)\n\
    while True:\n  time.sleep(0.2)\n  c.sendall(b'x')\n  c.recv(1)\n";

#[test]
fn the_server_of_a_local_socket_waits_for_work_and_its_client_for_the_server() {
    let _alone = support::alone();
    for (waits, call) in [("pass", "recvfrom"), ("e.poll()", "epoll_wait")] {
        // A name may be hostile.
        let path = support::fresh("socket\u{1b}[31m");
        let quoted = format!("{path:?}").replace("\\u{1b}", "\\x1b");
        let start = |script: &str| {
            let script = script.replace("PATH", &quoted).replace("WAITS", waits);
            Alive::start("python3", &["-c", &script])
        };
        let (server, client) = (start(LOCAL_SERVER), start(LOCAL_CLIENT));
        // Half of the time it waits for the other; what the window cuts of a poll has no name.
        let check = |alive: &Alive, state: &str, call: &str| {
            let told = attach(&[&alive.name(), "--for", "1500ms"], |_| ());
            let rows = told.run["waits"].as_array().cloned().unwrap_or_default();
            let row = rows.iter().find(|row| row["on"]["kind"] == "unix").cloned().unwrap_or_default();
            ensure(row["call"] == call && row["reason"] == state, "what the wait is for", &told)?;
            ensure(row["on"]["name"] == *path.to_str().unwrap(), "by the server's name", &told)?;
            let waited = row["total_ns"].as_u64().unwrap_or(0);
            ensure(waited > 400 * MS && waited < 1000 * MS, "as long as it waits", &told)?;
            ensure(!told.page.contains("\u{1b}[31m"), "the name is clean on the page", &told)?;
            let other = if state == "idle" { "pipe" } else { "idle" };
            ensure(told.parts(&[other]) == 0, "and nothing else", &told)
        };
        hold(|| check(&server, "idle", call));
        hold(|| check(&client, "pipe", "recvfrom"));
        let _ = std::fs::remove_file(path);
    }
}

#[test]
fn two_hundred_idle_threads_do_not_drown_two_busy_ones() {
    let _alone = support::alone();
    let alive = Alive::start(lives(), &["crowd"]);
    hold(|| {
        let told = attach(&[&alive.name(), "--for", "500ms"], |_| ());
        let counts = [count(&told, "threads_active"), count(&told, "threads_idle")];
        ensure(counts == [2, 201], &format!("{counts:?}"), &told)?;
        ensure(whole(&told) == 2 * told.wall(), "the account is that of two threads", &told)?;
        ensure(told.parts(&["lock"]) == 0, "no idle wait is in it", &told)?;
        // On a machine that others keep busy they hardly get a CPU, and no class leads.
        let starved = told.parts(&["runqueue"]) * 4 > whole(&told) * 3;
        ensure(starved || told.class() == "cpu", "what they do decides the class", &told)?;
        ensure(told.page.contains("idle 201 threads"), "the idle ones are one line", &told)
    });
}

/// The kernel half takes the stack of a wait when its call returns: of this one it never does.
#[test]
fn a_thread_that_wants_a_lock_all_along_is_known_by_its_stack() {
    let _alone = support::alone();
    let alive = Alive::start(lives(), &["wants"]);
    hold(|| {
        let told = attach(&[&alive.name(), "--for", "300ms"], |_| ());
        let counts = [count(&told, "threads_active"), count(&told, "threads_idle")];
        ensure(counts == [1, 1], &format!("{counts:?}: who has the lock waits for a signal"), &told)?;
        ensure(told.parts(&["lock"]) == whole(&told), "all of its time is for the lock", &told)?;
        let lock = &told.run["waits"][0];
        let stack = lock["stack"].as_array().cloned().unwrap_or_default();
        let named = |name: &str| stack.iter().any(|frame| frame.as_str().is_some_and(|f| f.contains(name)));
        ensure(
            lock["reason"] == "lock" && named("pthread_mutex_lock") && named("wants"),
            "with its stack",
            &told,
        )
    });
}

/// Workers that get their work by a semaphore, or by what is taken like a lock, and work for 2 ms
/// each 20 ms; and a lock that one thread has nearly all the time, and another one wants.
const POOL: &str = "\
import sys, threading, time\n\
from concurrent.futures import ThreadPoolExecutor\n\
from queue import SimpleQueue\n\
def job(n): time.sleep(0.002)\n\
print('ready', flush=True)\n\
if sys.argv[1] == 'pool':\n\
\x20 pool = ThreadPoolExecutor(4)\n\
\x20 while True: pool.submit(job, 1); time.sleep(0.02)\n\
elif sys.argv[1] == 'queue':\n\
\x20 queue = SimpleQueue()\n\
\x20 def takes():\n\
\x20\x20 while True: job(queue.get())\n\
\x20 for _ in range(4): threading.Thread(target=takes, daemon=True).start()\n\
\x20 while True: queue.put(1); time.sleep(0.02)\n\
else:\n\
\x20 lock = threading.Lock()\n\
\x20 def wants():\n\
\x20\x20 while True:\n\
\x20\x20\x20 with lock: time.sleep(0.001)\n\
\x20 threading.Thread(target=wants, daemon=True).start()\n\
\x20 while True:\n\
\x20\x20 with lock: time.sleep(0.02)\n\
\x20\x20 time.sleep(0.001)\n";

#[test]
fn workers_of_a_pool_wait_for_work_however_that_comes_and_who_wants_a_lock_does_not() {
    let _alone = support::alone();
    for (how, idle) in [("pool", true), ("queue", true), ("lock", false)] {
        let alive = Alive::start("/usr/bin/python3", &["-S", "-c", POOL, how]);
        hold(|| {
            let told = attach(&[&alive.name(), "--for", "1s"], |_| ());
            let of = |reason: &str| -> u64 {
                let rows = told.run["waits"].as_array().into_iter().flatten();
                let futexes = rows.filter(|row| row["call"] == "futex" && row["reason"] == reason);
                futexes.filter_map(|row| row["total_ns"].as_u64()).sum()
            };
            let (work, locks) = (of("idle"), of("lock"));
            ensure(work + locks > 500 * MS, "they wait", &told)?;
            ensure(if idle { locks * 20 < work } else { work * 20 < locks }, how, &told)
        });
    }
}

#[test]
fn a_thread_of_the_kernel_is_in_no_call() {
    let _alone = support::alone();
    // The first of them, which creates the others, and one that has work at times.
    let told = attach(&["2", "--for", "300ms"], |_| ());
    let calls: Vec<&Value> = told.run["waits"].as_array().unwrap().iter().map(|row| &row["call"]).collect();
    assert!(calls.iter().all(|call| *call != "read"), "{calls:?}");
}

#[test]
fn a_hundred_threads_that_run_and_wait_while_they_are_found_are_all_explained() {
    let _alone = support::alone();
    let alive = Alive::start(lives(), &["busy"]);
    for _ in 0..4 {
        hold(|| {
            let told = attach(&[&alive.name(), "--for", "200ms"], |_| ());
            ensure(threads(&told).len() == 101, "every thread is found", &told)?;
            for thread in threads(&told) {
                let states = &thread["states"];
                let unexplained = states["unexplained"].as_u64().unwrap_or(0);
                ensure(unexplained < 2 * MS, &format!("a thread is unexplained: {thread}"), &told)?;
                let life = thread["life_ns"].as_u64();
                ensure(life == Some(told.wall()), &format!("it lives throughout: {thread}"), &told)?;
            }
            ensure(told.parts(&["sleep"]) > 0, "they sleep", &told)?;
            let checks = told.run["coverage"]["checks"].as_array().unwrap();
            ensure(checks.iter().all(|check| check["agrees"] == true), "the kernel agrees", &told)
        });
    }
}

#[test]
fn threads_born_in_the_window_are_of_it() {
    let _alone = support::alone();
    let alive = Alive::start(lives(), &["births"]);
    let told = attach(&[&alive.name(), "--for", "500ms"], |_| ());
    let young = threads(&told).iter().filter(|row| row["life_ns"].as_u64().unwrap() < told.wall());
    assert!(young.count() > 10, "{}", told.account());
}

#[test]
fn a_program_that_ends_ends_the_window() {
    let _alone = support::alone();
    let alive = Alive::start(lives(), &["waits", "4000"]);
    let told = attach(&[&alive.name(), "--for", "60s"], |_| ());
    assert_eq!(told.run["exit"]["window"], "target-gone", "{}", told.page);
    assert!(told.wall() < 10_000 * MS, "{}", told.account());
    assert!(threads(&told).iter().all(|thread| thread["outlived"] == false), "{}", told.account());
}

#[test]
fn ctrl_c_ends_the_window_and_leaves_the_program_alone() {
    let _alone = support::alone();
    let mut alive = Alive::start(lives(), &["spins"]);
    for signal in ["-INT", "-TERM"] {
        let told = attach(&[&alive.name()], |dwell| {
            window::until_it_records(dwell);
            let dwell = dwell.to_string();
            assert!(Command::new("kill").args([signal, &dwell]).status().unwrap().success());
        });
        assert_eq!(told.run["exit"]["window"], "signal", "{}", told.page);
    }
    assert!(alive.0.try_wait().unwrap().is_none(), "it lives");
}

/// A copy of `sleep` under a name that nothing else has.
fn sleeper() -> PathBuf {
    let path = support::scratch().join(format!("slp{}", std::process::id()));
    if !path.exists() {
        std::fs::copy("/bin/sleep", &path).unwrap();
    }
    path
}

#[test]
fn a_name_that_is_one_trees_will_do_and_one_of_two_is_refused_with_both() {
    let _alone = support::alone();
    let path = sleeper();
    let name = path.file_name().unwrap().to_str().unwrap();
    let (message, code) = refused(&[name, "--for", "1s"]);
    assert!(message.contains("no process is called") && code == Some(125), "{message}");
    let script = format!("echo ready; exec {} 1000", path.display());
    let first = Alive::start("sh", &["-c", &script]);
    let told = attach(&[name, "--for", "100ms"], |_| ());
    assert_eq!(threads(&told)[0]["pid"], first.pid());
    let second = Alive::start("sh", &["-c", &script]);
    let (message, code) = refused(&[name, "--for", "1s"]);
    assert_eq!(code, Some(125));
    assert!(message.contains(&first.name()) && message.contains(&second.name()), "{message}");
    // Both by number, and what they start.
    let told = attach(&[&first.name(), &second.name(), "--for", "100ms"], |_| ());
    assert_eq!(count(&told, "processes"), 2);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn children_that_live_already_are_of_the_tree() {
    let _alone = support::alone();
    let alive = Alive::start("sh", &["-c", "sleep 1000 & sleep 1001 & echo ready; wait"]);
    let told = attach(&[&alive.name(), "--for", "100ms"], |_| ());
    assert_eq!(count(&told, "processes"), 3, "{}", told.account());
    for child in threads(&told).iter().filter(|row| row["name"] == "sleep") {
        let _ = Command::new("kill").arg(child["pid"].to_string()).status();
    }
}

#[test]
fn who_is_not_there_is_said_plainly() {
    let (message, code) = refused(&["4194999", "--for", "1s"]);
    let said = "dwell: no process has the PID 4194999\ntry: ps -e; or a name, a script's name such as server.py, or :PORT\n";
    assert_eq!((message.as_str(), code), (said, Some(125)));
    let (message, code) = refused(&["--service", "no-such-unit-of-ours", "--for", "1s"]);
    assert!(message.contains("is not running") && code == Some(125), "{message}");
    let (message, code) = refused(&["--container", "0123456789ab", "--for", "1s"]);
    assert!(message.contains("no running container") && code == Some(125), "{message}");
    let (message, code) = refused(&["--cgroup", "/no/such/group", "--for", "1s"]);
    assert!(message.contains("no cgroup") && code == Some(125), "{message}");
}

#[test]
fn a_python_program_that_runs_already_has_its_lines() {
    let _alone = support::alone();
    let path = support::fresh("busy.py");
    std::fs::write(
        &path,
        "def inner(n):\n    total = 0\n    for i in range(n):\n        total += i * i\n    return total\n\nprint('ready', flush=True)\nwhile True:\n    inner(10000)\n",
    )
    .unwrap();
    let alive = Alive::start("python3", &[path.to_str().unwrap()]);
    hold(|| {
        let told = attach(&[&alive.name(), "--for", "1s"], |_| ());
        let lines = told.run["lines"].as_array().cloned().unwrap_or_default();
        let file = |row: &Value| row["file"].as_str().is_some_and(|file| file.ends_with("busy.py"));
        ensure(
            lines.first().is_some_and(|row| file(row) && row["function"] == "inner"),
            "its lines lead",
            &told,
        )
    });
}

#[test]
fn a_window_that_was_kept_is_shown_as_it_was() {
    let _alone = support::alone();
    let alive = Alive::start(lives(), &["crowd"]);
    let kept = support::fresh("window.dwell");
    let told = attach(&[&alive.name(), "--for", "200ms", "--keep", kept.to_str().unwrap()], |_| ());
    let output = Command::new(support::dwell()).args(["show", "--json", "-"]).arg(&kept).output().unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), told.run);
    let output = Command::new(support::dwell()).arg("show").arg(&kept).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("attached to "));
    std::fs::remove_file(&kept).unwrap();
}

#[test]
fn nothing_is_left_in_the_kernel() {
    let _alone = support::alone();
    let alive = Alive::start(lives(), &["spins"]);
    attach(&[&alive.name(), "--for", "100ms"], |_| ());
    // A program is freed some time after the last that held it.
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let output = Command::new("bpftool").args(["prog", "show"]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !text.contains("name find_alive") && !text.contains("name look_here") {
            return;
        }
        assert!(Instant::now() < until, "{text}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Where control groups are; none where there are none.
fn groups() -> Option<&'static Path> {
    let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].into_iter().map(Path::new);
    roots.into_iter().find(|root| root.join("cgroup.procs").exists())
}

/// A control group with a program in it, gone with the test.
struct Group {
    path: PathBuf,
    alive: Option<Alive>,
}

impl Group {
    fn new(path: PathBuf) -> Self {
        std::fs::create_dir_all(&path).unwrap();
        let inside =
            format!("echo $$ > {}/cgroup.procs; sleep 1000 & echo ready; exec sleep 1000", path.display());
        Self { alive: Some(Alive::start("sh", &["-c", &inside])), path }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let members = std::fs::read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
        for pid in members.lines() {
            let _ = Command::new("kill").args(["-KILL", pid]).status();
        }
        drop(self.alive.take());
        let until = Instant::now() + Duration::from_secs(10);
        while std::fs::remove_dir(&self.path).is_err() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_control_group_is_watched_whole() {
    let _alone = support::alone();
    let Some(root) = groups() else {
        // Where there are no groups, the page says so.
        assert!(refused(&["--cgroup", "/", "--for", "1s"]).0.contains("no cgroup"));
        return;
    };
    let group = Group::new(root.join(format!("dwell-test-{}", std::process::id())));
    let name = group.path.file_name().unwrap().to_str().unwrap();
    for path in [group.path.to_str().unwrap(), &format!("/{name}"), name] {
        let told = attach(&["--cgroup", path, "--for", "100ms"], |_| ());
        assert_eq!(count(&told, "processes"), 2, "{}", told.account());
    }
    // Looks alone watch it whole as well.
    let told = attach(&["--cgroup", name, "--for", "100ms", "--source", "proc"], |_| ());
    assert_eq!(count(&told, "processes"), 2, "{}", told.account());
}

#[test]
fn a_service_and_a_container_are_found_by_name() {
    let _alone = support::alone();
    let Some(root) = groups() else {
        assert!(refused(&["--container", "3f2a91", "--for", "1s"]).0.contains("no running container"));
        return;
    };
    let slice = root.join(format!("dwelltest{}.slice", std::process::id()));
    let unit = format!("dwell-test-{}@a.service", std::process::id());
    let begins = format!("{:08x}", std::process::id());
    let [service, container] =
        [unit.clone(), format!("docker-{begins:e<64}.scope")].map(|name| Group::new(slice.join(name)));
    let by_unit = attach(&["--service", unit.trim_end_matches(".service"), "--for", "100ms"], |_| ());
    let by_id = attach(&["--container", &begins, "--for", "100ms"], |_| ());
    for (told, group) in [(by_unit, service), (by_id, container)] {
        let first = group.alive.as_ref().unwrap().pid();
        assert!(threads(&told).iter().any(|row| row["pid"] == first), "{}", told.account());
        assert_eq!(count(&told, "processes"), 2, "{}", told.account());
    }
    std::fs::remove_dir(&slice).unwrap();
}

/// A program with a name that no other process has.
fn of_its_own_name(name: &str) -> PathBuf {
    let path = support::fresh(name);
    std::fs::copy("/bin/sleep", &path).unwrap();
    path
}

#[test]
fn each_interval_has_a_window_with_a_result_and_a_signal_ends_them_in_order() {
    let program = of_its_own_name("every-one");
    let mut sleeper = Command::new(&program).arg("1000").spawn().unwrap();
    let store = support::fresh("every.sqlite");
    let every = ["--for", "200ms", "--every", "1s", "--quiet", "--store"];
    let mut dwell = Command::new(support::dwell());
    let name = program.file_name().unwrap();
    let mut dwell = dwell.arg("attach").arg(name).args(every).arg(&store).spawn().unwrap();
    let kept = || {
        let mut list = Command::new(support::dwell());
        let output = list.args(["list", "--verb", "attach", "--store"]).arg(&store).output().unwrap();
        String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.contains(" attach ")).count()
    };
    let until = Instant::now() + Duration::from_secs(60);
    while kept() < 3 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(kept() >= 3, "{}", kept());
    assert!(dwell.try_wait().unwrap().is_none(), "it goes on");
    assert!(sleeper.try_wait().unwrap().is_none(), "and so does the program");
    let ended = Command::new("kill").arg(dwell.id().to_string()).status().unwrap();
    assert!(ended.success() && dwell.wait().unwrap().code() == Some(0));
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
}

#[test]
fn windows_again_and_again_are_of_what_outlives_a_process_and_have_room() {
    let again = ["--for", "1s", "--every"];
    let refused = |target: &str, every: &str| {
        let (said, status) = refused(&[&[target], &again[..], &[every]].concat());
        assert_eq!(status, Some(125), "{said}");
        said
    };
    assert!(refused("1", "2s").contains("not PID 1"));
    assert!(refused("no-such-program-anywhere", "2s").contains("no process is called"));
    assert!(refused("sh", "1s").contains("is not longer than --for"));
}

#[test]
fn a_pod_that_is_not_here_is_named() {
    let (said, status) = refused(&["--pod", "0f1e2d3c-aaaa-bbbb-cccc-000000000001", "--for", "1s"]);
    assert!(said.contains("no pod \"0f1e2d3c") && said.contains("crictl pods"), "{said}");
    assert_eq!(status, Some(125));
}
