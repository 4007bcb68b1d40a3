//! `dwell attach` with less access: as an ordinary user on programs of his own, and as root where
//! BPF is refused. By really being refused; from perf events, and from looks at `/proc` alone.

use crate::support;
use crate::support::window;
use crate::support::window::{Alive, count, ensure, hold, lasted, lives, threads, whole};
use crate::support::{BLOCKED, CPU, MS, Told};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// nobody's number.
const NOBODY: &str = "65534";
/// What is left without BPF.
const SOURCES: [&str; 2] = ["perf", "proc"];

/// The watcher and the watched: programs that both can be reached by.
struct Place {
    dir: PathBuf,
    launcher: &'static [&'static str],
}

const AS_NOBODY: &[&str] = &["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"];
/// Root as in a container: without what BPF needs.
const AS_CONTAINED: &[&str] =
    &["setpriv", "--bounding-set", "-bpf,-sys_admin,-perfmon", "--inh-caps", "-all"];

impl Place {
    fn new(launcher: &'static [&'static str]) -> Self {
        use std::os::unix::fs::PermissionsExt;
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("dwell-attach-{}-{number}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::copy(support::dwell(), dir.join("dwell")).unwrap();
        std::fs::copy(lives(), dir.join("lives")).unwrap();
        for path in [&dir, &dir.join("dwell"), &dir.join("lives")] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
        }
        Self { dir, launcher }
    }

    fn command(&self, program: &str) -> Command {
        let own = self.dir.join(program);
        let mut command = Command::new(self.launcher[0]);
        command.args(&self.launcher[1..]).current_dir(&self.dir);
        command.arg(if own.exists() { own } else { program.into() });
        command
    }

    fn alive(&self, program: &str, args: &[&str]) -> Alive {
        Alive::launch(self.command(program).args(args))
    }

    fn attach(&self, args: &[&str], meanwhile: impl FnOnce(u32)) -> Told {
        let mut command = self.command("dwell");
        window::attach(command.arg("attach"), &self.dir.join("attach.json"), args, meanwhile)
    }

    fn refused(&self, args: &[&str]) -> (String, Option<i32>) {
        let output = self.command("dwell").arg("attach").args(args).output().unwrap();
        (String::from_utf8_lossy(&output.stderr).into_owned(), output.status.code())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// What is missing is named, with something to do about it, and not shown as none.
fn admits(told: &Told, source: &str) {
    let sources = told.run["coverage"]["sources"].as_array().unwrap();
    let row = sources.iter().find(|row| row["name"] == source).unwrap_or_else(|| panic!("{sources:#?}"));
    assert_ne!(row["seen"], "full", "{row}");
    assert!(!row["why"].as_str().unwrap().is_empty() && !row["remedy"].as_str().unwrap().is_empty(), "{row}");
    assert!(told.page.contains("try: "), "{}", told.page);
    assert!(told.run["syscalls"]["unseen"].is_string(), "calls are not counted, and not shown as none");
}

fn counts(told: &Told) -> [u64; 2] {
    [count(told, "threads_active"), count(told, "threads_idle")]
}

#[test]
fn a_users_sleeper_sleeps() {
    let _alone = support::alone();
    let place = Place::new(AS_NOBODY);
    let alive = place.alive("sh", &["-c", "echo ready; exec sleep 1000"]);
    for source in SOURCES {
        hold(|| {
            let told = place.attach(&[&alive.name(), "--for", "300ms", "--source", source], |_| ());
            ensure(told.parts(&["sleep"]) == whole(&told), "it sleeps and nothing else", &told)?;
            ensure(counts(&told) == [0, 1] && told.class() == "idle", "it is idle", &told)?;
            ensure(lasted(&told, 300) && whole(&told) == told.wall(), "for the time asked for", &told)
        });
    }
}

#[test]
fn a_users_spinner_has_the_cpu_time_that_the_kernel_counts() {
    let _alone = support::alone();
    let place = Place::new(AS_NOBODY);
    let alive = place.alive("lives", &["spins"]);
    for source in SOURCES {
        hold(|| {
            let (began, before) = (Instant::now(), alive.cpu_ns());
            let told = place.attach(&[&alive.name(), "--for", "500ms", "--source", source], |_| ());
            let (outer, lasted) = (alive.cpu_ns() - before, began.elapsed().as_nanos() as u64);
            let cpu = told.parts(CPU);
            // The counter moves with the clock tick.
            ensure(cpu <= outer + 10 * MS, &format!("more than the {outer} that were counted"), &told)?;
            let beside = lasted - told.wall();
            ensure(cpu + beside + 10 * MS >= outer, &format!("less than was counted: {outer}"), &told)?;
            ensure(told.parts(BLOCKED) == 0, "it never waits", &told)?;
            // On a busy machine looks may come too late to speak for all the time between them.
            ensure(told.parts(&["unexplained"]) * 50 < whole(&told), "all is explained", &told)?;
            ensure(told.parts(&["user"]) * 10 > cpu * 8, "it is its own code", &told)?;
            let functions = told.run["functions"].as_array().cloned().unwrap_or_default();
            let named = functions.first().is_some_and(|row| row["name"] == "spins");
            ensure(named == (source == "perf"), "its function is named where there are samples", &told)
        });
    }
}

#[test]
fn a_users_server_in_accept_waited_for_work() {
    let _alone = support::alone();
    let place = Place::new(AS_NOBODY);
    let script = "import socket\n\
        s = socket.create_server(('127.0.0.1', 0))\n\
        open('port', 'w').write(str(s.getsockname()[1]))\n\
        print('ready', flush=True)\n\
        while True:\n  c, _ = s.accept()\n  c.recv(1)\n  sum(range(50000))\n  c.sendall(b'y')\n  c.close()\n";
    let alive = place.alive("/usr/bin/python3", &["-c", script]);
    let port: u16 = std::fs::read_to_string(place.dir.join("port")).unwrap().parse().unwrap();
    for source in SOURCES {
        hold(|| {
            let told = place.attach(&[&alive.name(), "--for", "1s", "--source", source], |dwell| {
                window::while_it_lasts(dwell, || {
                    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
                    stream.write_all(b"x").unwrap();
                    assert_eq!(stream.read(&mut [0]).unwrap(), 1);
                });
            });
            let waits = told.run["waits"].as_array().unwrap();
            let accept = waits.iter().find(|row| row["reason"] == "idle").cloned().unwrap_or_default();
            let total = accept["total_ns"].as_u64().unwrap_or(0);
            ensure(total > 300 * MS && total <= told.wall(), "it counts from the window's start", &told)?;
            ensure(told.parts(&["idle"]) * 2 > whole(&told), "waiting for work leads", &told)?;
            ensure(told.parts(CPU) > 0 && counts(&told) == [1, 0], "it did something", &told)
        });
    }
}

#[test]
fn the_server_of_a_local_socket_is_known_by_its_name() {
    let _alone = support::alone();
    let place = Place::new(AS_NOBODY);
    let script = "import os, socket, time\n\
        s = socket.socket(socket.AF_UNIX)\n\
        s.bind('/proc/self/cwd/socket')\n\
        s.listen()\n\
        if os.fork() == 0:\n  c = socket.socket(socket.AF_UNIX)\n  c.connect('/proc/self/cwd/socket')\n\
        \x20 while True:\n    time.sleep(0.2)\n    c.sendall(b'x')\n    c.recv(1)\n\
        c, _ = s.accept()\n\
        print('ready', flush=True)\n\
        while True:\n  c.recv(1)\n  time.sleep(0.1)\n  c.sendall(b'y')\n";
    let alive = place.alive("/usr/bin/python3", &["-c", script]);
    for source in SOURCES {
        hold(|| {
            let told = place.attach(&[&alive.name(), "--for", "1s", "--source", source], |_| ());
            let waits = told.run["waits"].as_array().unwrap();
            let on = |row: &&Value| row["on"] == json!({"kind": "unix", "name": "/proc/self/cwd/socket"});
            let row = waits.iter().find(on).cloned().unwrap_or_default();
            ensure(row["reason"] == "idle", "it waits for work", &told)?;
            // Its child waits for an answer: whose, the table of sockets does not say.
            let unknown = waits.iter().find(|row| row["reason"] == "pipe").cloned().unwrap_or_default();
            ensure(unknown["on"] == json!({"kind": "unix", "name": null}), "the client does not", &told)
        });
    }
}

#[test]
fn thirty_idle_threads_are_set_apart_from_two_busy_ones() {
    let _alone = support::alone();
    let place = Place::new(AS_NOBODY);
    let alive = place.alive("lives", &["few"]);
    for source in SOURCES {
        hold(|| {
            let told = place.attach(&[&alive.name(), "--for", "500ms", "--source", source], |_| ());
            ensure(counts(&told) == [2, 31], &format!("{:?}", counts(&told)), &told)?;
            ensure(whole(&told) == 2 * told.wall(), "the account is that of two threads", &told)?;
            ensure(told.parts(BLOCKED) == 0, "no idle wait is in it", &told)?;
            ensure(told.page.contains("idle 31 threads"), "the idle ones are one line", &told)?;
            ensure(told.page.contains("(sum of all threads)"), "and no third number of threads", &told)
        });
    }
}

#[test]
fn without_a_choice_an_ordinary_user_gets_the_best_and_is_told_what_is_missing() {
    let _alone = support::alone();
    let place = Place::new(AS_NOBODY);
    let script = "sleep 1000 & sleep 1001 & echo ready; while :; do :; done";
    let alive = place.alive("sh", &["-c", script]);
    let told = place.attach(&[&alive.name(), "--for", "300ms"], |_| ());
    assert_eq!(count(&told, "processes"), 3, "children are of the tree\n{}", told.account());
    for child in threads(&told).iter().filter(|row| row["name"] == "sleep") {
        let _ = Command::new("kill").arg(child["pid"].to_string()).status();
    }
    admits(&told, "calls and wake-ups");
    assert!(told.page.contains("CAP_BPF"), "{}", told.page);
    let (message, code) = place.refused(&[&alive.name(), "--for", "1s", "--source", "bpf"]);
    assert_eq!(code, Some(125));
    assert!(message.contains("cannot record from bpf") && message.contains("try: "), "{message}");
}

#[test]
fn root_without_the_capabilities_for_bpf_is_treated_like_a_container() {
    let _alone = support::alone();
    let place = Place::new(AS_CONTAINED);
    let alive = place.alive("lives", &["few"]);
    hold(|| {
        let told = place.attach(&[&alive.name(), "--for", "500ms"], |_| ());
        admits(&told, "calls and wake-ups");
        ensure(counts(&told) == [2, 31], "idle threads are set apart", &told)?;
        ensure(told.parts(&["unexplained"]) * 100 < whole(&told), "all is explained", &told)
    });
}

#[test]
fn another_users_program_is_refused_with_what_to_do() {
    let place = Place::new(AS_NOBODY);
    let alive = Alive::start("sh", &["-c", "echo ready; exec sleep 1000"]);
    for source in ["auto", "perf", "proc"] {
        let (message, code) = place.refused(&[&alive.name(), "--for", "1s", "--source", source]);
        assert_eq!(code, Some(125), "{message}");
        assert!(message.contains("belongs to user 0") && message.contains(&alive.name()), "{message}");
        // With the path of this dwell, which is not in PATH.
        assert!(message.contains("try: sudo /") && message.contains("/dwell attach"), "{message}");
    }
}

#[test]
fn a_program_that_ends_ends_the_window() {
    let _alone = support::alone();
    let place = Place::new(AS_NOBODY);
    for source in SOURCES {
        let alive = place.alive("lives", &["waits", "2000"]);
        let told = place.attach(&[&alive.name(), "--for", "60s", "--source", source], |_| ());
        assert_eq!(told.run["exit"]["window"], "target-gone", "{}", told.page);
        assert!(told.wall() < 10_000 * MS, "{}", told.account());
        assert!(threads(&told).iter().all(|thread| thread["outlived"] == false), "{}", told.account());
        assert_eq!(threads(&told).len(), 1, "{}", told.account());
    }
}

#[test]
fn ctrl_c_ends_the_window_and_leaves_the_program_alone() {
    let _alone = support::alone();
    let place = Place::new(AS_NOBODY);
    let mut alive = place.alive("lives", &["spins"]);
    for source in SOURCES {
        let told = place.attach(&[&alive.name(), "--source", source], |dwell| {
            std::thread::sleep(Duration::from_millis(700));
            assert!(Command::new("kill").args(["-INT", &dwell.to_string()]).status().unwrap().success());
        });
        assert_eq!(told.run["exit"]["window"], "signal", "{}", told.page);
    }
    assert!(alive.0.try_wait().unwrap().is_none(), "it lives");
}

#[test]
fn threads_born_in_the_window_are_of_it() {
    let _alone = support::alone();
    let place = Place::new(AS_NOBODY);
    let alive = place.alive("lives", &["births"]);
    for source in SOURCES {
        let told = place.attach(&[&alive.name(), "--for", "500ms", "--source", source], |_| ());
        let young = threads(&told).iter().filter(|row| row["life_ns"].as_u64().unwrap() < told.wall());
        assert!(young.count() > 5, "{source}: {}", told.account());
    }
}

#[test]
fn a_hundred_threads_that_run_and_wait_are_all_explained() {
    let _alone = support::alone();
    let place = Place::new(AS_NOBODY);
    let alive = place.alive("lives", &["busy"]);
    for source in SOURCES {
        hold(|| {
            let told = place.attach(&[&alive.name(), "--for", "500ms", "--source", source], |_| ());
            ensure(threads(&told).len() == 101, "every thread is found", &told)?;
            ensure(told.parts(&["unexplained"]) * 100 < whole(&told), "all is explained", &told)?;
            ensure(told.parts(&["sleep"]) * 2 > whole(&told), "most of it is sleep", &told)?;
            let checks = told.run["coverage"]["checks"].as_array().unwrap();
            ensure(checks.iter().all(|check| check["agrees"] == true), "the kernel agrees", &told)?;
            ensure((source == "perf") != checks.is_empty(), "where there is something to check", &told)
        });
    }
}

#[test]
fn a_window_that_was_kept_is_shown_as_it_was() {
    let _alone = support::alone();
    let place = Place::new(AS_NOBODY);
    let alive = place.alive("lives", &["few"]);
    for source in SOURCES {
        let kept = place.dir.join(source);
        let args = [&alive.name(), "--for", "200ms", "--source", source, "--keep", kept.to_str().unwrap()];
        let told = place.attach(&args, |_| ());
        let output = place.command("dwell").args(["show", "--json", "-"]).arg(&kept).output().unwrap();
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap(), told.run);
    }
}

#[test]
fn dwell_is_none_of_what_it_watches() {
    let _alone = support::alone();
    let place = Place::new(AS_NOBODY);
    for source in SOURCES {
        let script =
            format!("./dwell attach $$ --for 200ms --quiet --source {source} --json attach.json; exit $?");
        assert!(place.command("sh").args(["-c", &script]).status().unwrap().success());
        let text = std::fs::read_to_string(place.dir.join("attach.json")).unwrap();
        let run: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(run["window"]["processes"], 1, "{}", run["threads"]);
        assert_eq!(run["threads"].as_array().unwrap().len(), 1, "{}", run["threads"]);
    }
}

#[test]
fn few_open_files_leave_looks_and_say_so() {
    let _alone = support::alone();
    let place = Place::new(AS_NOBODY);
    let alive = place.alive("lives", &["few"]);
    hold(|| {
        let json = place.dir.join("attach.json");
        let limited = "ulimit -n 80 && exec ./dwell attach \"$@\"";
        let mut command = place.command("sh");
        command.args(["-c", limited, "dwell"]);
        let told = window::attach(&mut command, &json, &[&alive.name(), "--for", "300ms"], |_| ());
        admits(&told, "switches");
        ensure(
            told.page.contains("try: sudo prlimit --pid $$ --nofile=65536"),
            "what would help is named",
            &told,
        )?;
        ensure(counts(&told) == [2, 31], "and every thread is seen all the same", &told)
    });
}

#[test]
fn of_a_group_that_users_share_each_sees_into_his_own() {
    let _alone = support::alone();
    let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(std::path::Path::new);
    let place = Place::new(AS_NOBODY);
    let Some(root) = roots.into_iter().find(|root| root.join("cgroup.procs").exists()) else {
        assert!(place.refused(&["--cgroup", "/", "--for", "1s"]).0.contains("no cgroup"));
        return;
    };
    let group = root.join(format!("dwell-shared-{}", std::process::id()));
    std::fs::create_dir_all(&group).unwrap();
    let own = place.alive("lives", &["spins"]);
    let others = Alive::start("sh", &["-c", "echo ready; exec sleep 1000"]);
    let join = |alive: &Alive| std::fs::write(group.join("cgroup.procs"), alive.name()).unwrap();
    join(&others);
    let name = group.file_name().unwrap().to_str().unwrap();
    let (message, code) = place.refused(&["--cgroup", name, "--for", "1s"]);
    join(&own);
    let told = place.attach(&["--cgroup", name, "--for", "300ms"], |_| ());
    drop((own, others));
    let until = Instant::now() + Duration::from_secs(10);
    while std::fs::remove_dir(&group).is_err() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(code == Some(125) && message.contains("belongs to user 0"), "{message}");
    assert_eq!(counts(&told), [1, 1], "{}", told.account());
    admits(&told, "other users' processes");
    assert!(told.page.contains("1 of 2 processes may not be inspected"), "{}", told.page);
}
