//! What once broke dwell, hung it, or made it say what was not so.

use crate::support::kit::{build, source};
use crate::support::{Gone, json, read_json, text};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn dwell(words: &[&str], directory: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.args(["-k", "5", "60"]).arg(crate::support::dwell()).args(words);
    command.current_dir(directory).stdin(Stdio::null());
    command
}

/// Its page is on one of both.
fn said(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

/// A program written in C, in a directory of its own.
fn program(name: &str, code: &str, directory: &TempDir) -> std::path::PathBuf {
    let path = directory.path().join(format!("{name}.c"));
    fs::write(&path, code).unwrap();
    build(&["cc", "-O1", "-g"], &[&path], &["-pthread"], name)
}

/// Computes in `work` for 40 s.
const COMPUTES: &str = "#include <time.h>\n\
    __attribute__((noinline)) void work(long n) { for (volatile long at = 0; at < n; at++); }\n\
    int main(void) { time_t end = time(0) + 40; while (time(0) < end) work(1000000); return 0; }\n";

/// What is mounted there, until it goes.
struct Mounted<'a>(&'a Path);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn a_file_system_that_ceases_to_answer_keeps_no_window_from_its_end() {
    let top = tempfile::tempdir().unwrap();
    let at = |name: &str| top.path().join(name);
    let content = program("silent", COMPUTES, &top);
    // Longer than what the kernel has read of it once it runs, with what dwell reads first at its
    // end: where its sections are.
    fs::write(at("pad"), vec![7; 8 << 20]).unwrap();
    let mut padded = Command::new("objcopy");
    padded.arg("--add-section").arg(format!("pad={}", at("pad").display())).arg(&content);
    assert!(padded.status().unwrap().success());
    fs::create_dir(at("mnt")).unwrap();
    let mut server = Command::new("python3");
    server.arg(source("silent_fs.py")).arg(at("mnt")).arg(&content).arg(at("flag"));
    let mut server = Gone(server.stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "mounted\n", "this test needs root and FUSE");
    let _mounted = Mounted(&at("mnt"));
    let program = Gone(Command::new(at("mnt/f")).spawn().unwrap());
    std::thread::sleep(Duration::from_millis(200));
    fs::write(at("flag"), "").unwrap();
    let pid = program.0.id().to_string();
    // With all that reads the file once more.
    let words = ["attach", &pid, "--for", "300ms", "--json", "json", "--lines", "work", "--annotate", "work"];
    let mut attach = dwell(&words, top.path());
    let output = attach.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let run = read_json(&at("json"));
    let sources = run["coverage"]["sources"].as_array().unwrap();
    let code = sources.iter().find(|source| source["name"] == "code").unwrap();
    assert!(code["why"].as_str().unwrap().contains("does not answer"), "{code}");
    assert!(!said(&output).contains("complete data"), "{}", said(&output));
}

#[test]
fn a_program_may_make_standard_output_non_blocking() {
    let top = tempfile::tempdir().unwrap();
    let script =
        "import fcntl, os; fcntl.fcntl(1, fcntl.F_SETFL, fcntl.fcntl(1, fcntl.F_GETFL) | os.O_NONBLOCK)";
    let mut run = dwell(&["run", "-q", "--json", "-", "python3", "-c", script], top.path());
    let mut child = run.stdout(Stdio::piped()).spawn().unwrap();
    // Until dwell has filled the pipe: it has written all that it can, and waits for room.
    let full = Instant::now() + Duration::from_secs(20);
    let mut out = child.stdout.take().unwrap();
    while rustix::io::ioctl_fionread(&out).unwrap() < 65_536 && child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < full, "the pipe does not fill");
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut all = Vec::new();
    out.read_to_end(&mut all).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(serde_json::from_slice::<serde_json::Value>(&all).is_ok(), "{} bytes", all.len());
}

#[test]
fn a_process_whose_first_thread_has_ended_is_attached_to_and_its_code_named() {
    let top = tempfile::tempdir().unwrap();
    let code = COMPUTES
        .replace("int main(void) {", "static void *other(void *x) {")
        .replace("return 0; }", "return x; }")
        + "int main(void) { pthread_t it; pthread_create(&it, 0, other, 0); pthread_exit(0); }\n";
    let path = program("headless", &format!("#include <pthread.h>\n{code}"), &top);
    let running = Gone(Command::new(path).spawn().unwrap());
    let pid = running.0.id().to_string();
    let stat = format!("/proc/{pid}/stat");
    while !fs::read_to_string(&stat).unwrap().contains(") Z ") {
        std::thread::sleep(Duration::from_millis(5));
    }
    for target in [pid.as_str(), "headless"] {
        let mut attach = dwell(&["attach", target, "--for", "300ms", "-q", "--json", "-"], top.path());
        let output = attach.output().unwrap();
        assert!(output.status.success(), "{target}: {}", said(&output));
        let functions = json(&output)["functions"].clone();
        assert!(functions.as_array().unwrap().iter().any(|row| row["name"] == "work"), "{functions}");
    }
}

#[test]
fn sources_are_those_that_the_process_itself_sees() {
    let top = tempfile::tempdir().unwrap();
    let at = |name: &str| top.path().join(name);
    for (directory, mark) in [("app", "host"), ("inside", "guest")] {
        fs::create_dir(at(directory)).unwrap();
        let text = format!(
            "import time\ndef hot():\n    return sum(range(200000))  # {mark}\n\
             end = time.monotonic() + 40\nwhile time.monotonic() < end: hot()\n"
        );
        fs::write(at(directory).join("main.py"), text).unwrap();
    }
    let (app, inside) = (at("app"), at("inside"));
    let (over, under) = (inside.display(), app.display());
    let start = format!("mount --bind {over} {under} && exec python3 {under}/main.py");
    let running = Gone(Command::new("unshare").args(["-m", "sh", "-c", &start]).spawn().unwrap());
    let pid = running.0.id().to_string();
    let comm = format!("/proc/{pid}/comm");
    while !fs::read_to_string(&comm).unwrap().starts_with("python") {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(100));
    let attach = |more: &[&str]| {
        let words = [&["attach", &pid, "--for", "500ms", "--lines", "hot"], more].concat();
        said(&dwell(&words, top.path()).output().unwrap())
    };
    let page = attach(&[]);
    assert!(page.contains("# guest") && !page.contains("# host"), "{page}");
    assert!(!page.contains("was changed after"), "{page}");
    // A line more at the beginning: what is at the numbers that ran is another line now.
    let text = fs::read_to_string(inside.join("main.py")).unwrap();
    fs::write(inside.join("main.py"), format!("# new\n{text}")).unwrap();
    let page = attach(&[]);
    assert!(page.contains("was changed after the program began"), "{page}");
}

#[test]
fn two_outputs_to_one_pipe_are_refused_by_any_name() {
    let top = tempfile::tempdir().unwrap();
    let output =
        dwell(&["run", "--keep", "/dev/stdout", "--json", "-", "true"], top.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(said(&output).contains("two outputs are the same file"), "{}", said(&output));
}

#[test]
fn a_pair_of_the_lab_is_not_run_at_any_size() {
    let top = tempfile::tempdir().unwrap();
    let words = ["lab", "list-nodes", "--size", "18446744073709551615"];
    for more in [&[][..], &["--run", "malloc"]] {
        let output = dwell(&[&words[..], more].concat(), top.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(125));
        assert!(said(&output).contains("more than list-nodes can do"), "{}", said(&output));
    }
}
