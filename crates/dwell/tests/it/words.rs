//! Words that people bring, and the first things that they type: names of scripts, ports, options
//! of other tools, typing errors, `dwell` alone, `dwell doctor`. Nothing here is measured.

use crate::support;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

fn dwell(args: &[&str]) -> Command {
    let mut command = Command::new(support::dwell());
    command.args(args).stdin(Stdio::null());
    command
}

fn said(args: &[&str]) -> (Option<i32>, String, String) {
    parts(&dwell(args).output().unwrap())
}

fn parts(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// A Python script that serves at a port of its own, until it is killed.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(script: &Path) -> Self {
        let text = "import socket, sys\ns = socket.create_server(('127.0.0.1', 0))\n\
                    print(s.getsockname()[1], flush=True)\nsys.stdin.read()\n";
        std::fs::write(script, text).unwrap();
        let mut python = Command::new("python3");
        python.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = python.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Server { child, port: line.trim().parse().unwrap() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_server_is_found_by_its_script_its_port_and_p() {
    let name = format!("server-{}.py", std::process::id());
    let server = Server::start(&support::scratch().join(&name));
    let (pid, port) = (server.child.id().to_string(), format!(":{}", server.port));
    for by in [&[name.as_str()][..], &[port.as_str()], &["-p", &pid], &["--pid", &pid]] {
        let line = [&["attach", "--source", "proc", "--for", "100ms", "--json", "-", "-q"], by].concat();
        let (status, json, errors) = said(&line);
        assert_eq!(status, Some(0), "{by:?}: {errors}");
        let run: Value = serde_json::from_str(&json).unwrap();
        let pids: Vec<String> =
            run["threads"].as_array().unwrap().iter().map(|thread| thread["tid"].to_string()).collect();
        assert!(pids.contains(&pid), "{by:?}: {pids:?}");
    }
}

#[test]
fn a_target_that_is_none_is_told_what_would_be_one() {
    let (status, _, errors) = said(&["attach", ":1", "--for", "100ms"]);
    assert!(status == Some(125) && errors.contains("nothing listens at port 1"), "{errors}");
    let (_, _, errors) = said(&["attach", ":http"]);
    assert!(errors.contains("not a port") && errors.contains("try: :8080"), "{errors}");
    let (status, _, errors) = said(&["attach", "no-such-program.py"]);
    assert!(status == Some(125) && errors.contains("none runs a script of this name"), "{errors}");
    // The largest PID is 4,194,304.
    let (status, _, errors) = said(&["attach", "-p", "4194305"]);
    assert!(status == Some(125) && errors.contains("\ntry: ps -e"), "{errors}");
}

#[test]
fn a_file_that_cannot_be_reached_is_not_said_to_be_missing() {
    let here = tempfile::tempdir().unwrap();
    let round = here.path().join("round.json");
    std::os::unix::fs::symlink("round.json", &round).unwrap();
    let round = round.to_str().unwrap();
    for line in [&["show", round][..], &["diff", round, round]] {
        let (status, _, errors) = said(line);
        assert!(status == Some(125) && errors.contains("(os error 40)"), "{errors}");
        assert!(!errors.contains("no such file"), "{errors}");
    }
}

#[test]
fn what_is_missing_is_told_with_a_line_to_type() {
    for (line, wanted) in [
        (&["run"][..], "\ntry: dwell run ls -lR /usr\n"),
        (&["attach"], "\ntry: sudo dwell attach 1234 --for 10s\n"),
        (&["show"], "\ntry: dwell show run.dwell\n"),
        (&["diff", "a.json"], "\ntry: dwell diff last-1 last\n"),
        (&["diff", "no-such.json", "no-such.json"], "\ntry: a file written by --json, or an ID"),
    ] {
        let (status, _, errors) = said(line);
        assert!(status == Some(125) && errors.contains(wanted), "{line:?}: {errors}");
    }
}

#[test]
fn a_program_without_its_verb_and_a_line_in_quotes_are_understood() {
    let (status, _, errors) = said(&["ls", "-l"]);
    assert_eq!((status, errors.lines().last()), (Some(125), Some("try: dwell run ls -l")), "{errors}");
    let (status, _, errors) = said(&["run", "ls -l | wc"]);
    assert_eq!((status, errors.lines().last()), (Some(127), Some("try: sh -c 'ls -l | wc'")), "{errors}");
    let (status, _, errors) = said(&["wake", "-D", "10s"]);
    assert!(status == Some(125) && errors.contains("--for TIME"), "{errors}");
}

#[test]
fn options_that_are_out_of_range_say_what_is_in_it() {
    for (line, wanted) in [
        (&["run", "--rate", "fast", "true"][..], "not a frequency"),
        (&["run", "--rate", "50kHz", "true"], "1 to 20000"),
        (&["run", "--max-overhead", "200", "true"], "at most 100%"),
        (&["wake", "--deadline", "1ms", "--margin", "many"], "not a percentage"),
        (&["ladder", "--png", "x.svg"], "a file that ends in .png"),
        (&["load", "memory:size=60000GiB"], "more than the"),
    ] {
        let (status, _, errors) = said(line);
        assert!(status == Some(125) && errors.contains(wanted), "{line:?}: {errors}");
    }
}

#[test]
fn dwell_alone_and_load_alone_say_what_to_type() {
    let (status, _, errors) = said(&[]);
    assert_eq!(status, Some(125));
    assert!(errors.lines().count() <= 30 && errors.contains("run CMD"), "{errors}");
    let (status, page, _) = said(&["load"]);
    assert_eq!(status, Some(0));
    for name in ["sched:", "memory:", "disk:", "network:", "cpu:", "irq:"] {
        assert!(page.contains(name), "{page}");
    }
    let (_, version, _) = said(&["--version"]);
    assert!(version.starts_with("dwell ") && version.contains("-linux-"), "{version}");
}

#[test]
fn the_doctor_says_what_works_and_names_this_binary() {
    let (status, page, errors) = said(&["doctor"]);
    assert_eq!((status, errors.as_str()), (Some(0), ""), "{page}");
    assert!(page.contains("BPF tracepoints") && page.contains(support::dwell()), "{page}");
    let (_, json, _) = said(&["doctor", "--json", "-"]);
    let doctor: Value = serde_json::from_str(&json).unwrap();
    let errors = support::errors(&support::schema("dwell.doctor/1"), &doctor);
    assert!(errors.is_empty(), "{errors:#?}");
    // Kept, it is the same page again.
    let kept = support::fresh("doctor.json");
    std::fs::write(&kept, &json).unwrap();
    let (_, again, _) = said(&["show", &kept.to_string_lossy()]);
    assert_eq!(again.lines().next(), page.lines().next());
}

#[test]
fn the_doctor_of_an_ordinary_user_has_the_command_that_gives_more() {
    use std::os::unix::process::CommandExt;
    let nobody = 65_534;
    let output = dwell(&["doctor"]).uid(nobody).gid(nobody).current_dir("/").output().unwrap();
    let (status, page, errors) = parts(&output);
    assert_eq!(status, Some(0), "{errors}");
    let remedy = format!("sudo setcap cap_bpf,cap_perfmon,cap_ipc_lock+ep {}", support::dwell());
    assert!(page.starts_with("Here, as user 65534") && page.contains(&remedy), "{page}");
}

/// The capabilities of Docker's containers by default, as setpriv(1) names them.
const OF_CONTAINERS: &str = "+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,\
                             +net_bind_service,+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap";

/// What the doctor says by ability where it is started like this: whether it works, and the remedy.
fn doctor(launcher: &[&str]) -> BTreeMap<String, (bool, String)> {
    let mut command = Command::new(launcher[0]);
    let output = command.args(&launcher[1..]).stdin(Stdio::null()).output().expect("it starts");
    let (_, json, errors) = parts(&output);
    let told: Value = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {errors}"));
    let text = |of: &Value| of.as_str().unwrap().to_owned();
    let checks = told["checks"].as_array().unwrap().iter();
    checks.map(|one| (text(&one["ability"]), (one["works"] == "full", text(&one["remedy"])))).collect()
}

#[test]
fn a_container_with_the_options_that_the_doctor_names_can_do_what_it_could_not() {
    let started = |more: &str| {
        let set = format!("-all,{OF_CONTAINERS}{more}");
        let line = ["setpriv", "--bounding-set", &set, "--inh-caps", "-all", support::dwell()];
        doctor(&[&line[..], &["doctor", "--json", "-"]].concat())
    };
    // What this host refuses root altogether is not up to a container.
    let outside = doctor(&[support::dwell(), "doctor", "--json", "-"]);
    let (mut options, mut refused) = (BTreeSet::new(), BTreeSet::new());
    // What rests on BPF says what it needs itself where there is BPF.
    for round in 0.. {
        assert!(round < 4, "always more options: {options:?}");
        let told = started(&options.iter().map(String::as_str).collect::<String>());
        let lacking: BTreeMap<_, _> =
            told.into_iter().filter(|(ability, (works, _))| !works && outside[ability].0).collect();
        let named = lacking.values().flat_map(|(_, remedy)| remedy.split([' ', ',']));
        let named = named.filter_map(|word| word.strip_prefix("--cap-add="));
        let more: BTreeSet<_> = named.map(|name| format!(",+{}", name.to_lowercase())).collect();
        if more.is_subset(&options) {
            assert!(lacking.is_empty(), "with {options:?}: {lacking:#?}");
            break;
        }
        options.extend(more);
        refused.extend(lacking.into_keys());
    }
    for ability in ["bpf", "uprobes", "kernel-samples"] {
        assert!(refused.contains(ability) || !outside[ability].0, "{ability}: {refused:?}");
    }
    // The root of a user namespace has all of them, for nothing.
    let alone = ["unshare", "--user", "--map-root-user", support::dwell(), "doctor", "--json", "-"];
    let (works, remedy) = &doctor(&alone)["bpf"];
    assert!(!works && remedy.starts_with("use ") && !remedy.contains("--cap-add"), "{remedy}");
}

#[test]
fn a_command_that_the_doctor_names_does_what_it_says() {
    let started = |commands: &str| {
        let binary = support::dwell();
        let script =
            format!("mount -t tmpfs none /sys/fs/cgroup && {commands} exec {binary} doctor --json -");
        doctor(&["unshare", "--mount", "sh", "-c", &script])
    };
    let refused = |told: &BTreeMap<String, (bool, String)>, ability: &str| {
        let (works, remedy) = &told[ability];
        assert!(!works && !remedy.is_empty(), "{ability}: {told:?}");
        remedy.clone()
    };
    let before = started("");
    let after = started(&format!("{} && ", refused(&before, "cgroup")));
    assert!(after["cgroup"].0, "{after:?}");
    // How many may be open when the programs are loaded, and when what is beside them is.
    for most in [16, 64, 88] {
        let few = started(&format!("ulimit -n {most} && "));
        let lacking = few.iter().filter(|(ability, (works, _))| !works && before[*ability].0);
        let remedies: BTreeSet<_> = lacking.map(|(_, (_, remedy))| remedy.as_str()).collect();
        assert_eq!(remedies.len(), 1, "{most}: {few:?}");
        let remedy = remedies.first().unwrap();
        let after = match remedy
            .strip_prefix("start the container with --ulimit=nofile=")
            .and_then(|more| more.split_once(','))
        {
            // It is root who may not raise it again.
            Some((more, _)) => started(&format!("ulimit -n {more} && ")),
            None => started(&format!("ulimit -n {most} && {remedy} && ")),
        };
        assert!(after["bpf"].0 && after["uprobes"] == before["uprobes"], "{remedy}: {after:?}");
    }
}

#[test]
fn a_soft_limit_of_open_files_takes_nothing_from_dwell_and_stays_the_programs() {
    let kept = support::fresh("soft-limit.json").to_string_lossy().into_owned();
    let dwell = support::dwell();
    let script = format!("ulimit -S -n 40; exec {dwell} run -q --json {kept} -- sh -c 'ulimit -n'");
    let (status, said, errors) = parts(&Command::new("sh").args(["-c", &script]).output().unwrap());
    assert!(status == Some(0) && said.trim() == "40", "{said}{errors}");
    let result: Value = serde_json::from_slice(&std::fs::read(&kept).unwrap()).unwrap();
    assert!(result["syscalls"].as_array().is_some_and(|calls| !calls.is_empty()), "{errors}");
}

#[test]
fn a_result_is_shown_again_and_a_file_that_is_not_there_is_told_its_neighbour() {
    let kept = support::fresh("kept-run.json");
    let path = kept.to_string_lossy().into_owned();
    let (status, _, live) = said(&["run", "--source", "proc", "--json", &path, "--", "sleep", "0.1"]);
    assert_eq!(status, Some(0));
    let (status, page, errors) = said(&["show", &path]);
    assert_eq!(status, Some(0), "{errors}");
    assert_eq!(page, live);
    assert!(page.lines().count() <= 30 && page.contains("-v: all tables"), "{page}");
    let (_, whole, _) = said(&["show", "-v", &path]);
    assert!(whole.lines().count() > page.lines().count() && !whole.contains("-v: all tables"), "{whole}");
    let (status, _, errors) = said(&["show", &path, "--flame"]);
    assert!(status == Some(125) && errors.contains("has no stacks") && errors.contains("--keep"), "{errors}");
    let (status, _, errors) = said(&["show", &path.replace("kept-run", "kept-rnu")]);
    assert!(status == Some(125) && errors.contains("try: ") && errors.contains("kept-run"), "{errors}");
}

#[test]
fn completions_and_manual_pages_are_of_this_command_line() {
    for shell in ["bash", "zsh", "fish"] {
        let (status, text, _) = said(&["completions", shell]);
        assert!(status == Some(0) && text.contains("max-overhead") && text.contains("doctor"), "{shell}");
    }
    let top = tempfile::tempdir().unwrap();
    let (status, _, errors) = said(&["man", &top.path().to_string_lossy()]);
    assert_eq!(status, Some(0), "{errors}");
    let page = std::fs::read_to_string(top.path().join("dwell-run.1")).unwrap();
    assert!(page.contains("max\\-overhead") && page.contains("Examples"), "{page}");
    assert!(top.path().join("dwell.1").exists() && top.path().join("dwell-wake.1").exists());
    assert_eq!(said(&["man", "/nonexistent"]).0, Some(125));
}
