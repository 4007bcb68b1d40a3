//! What another user does to a dwell of root's, or with one that has rights of its own: each attack
//! once. They run as root, with [`NOBODY`] on the other side.

use crate::support::{Gone, fresh, luck, text};
use serde_json::Value;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;

const NOBODY: u32 = 65_534;
const SECRET: &str = "only-root-reads-this";

/// A directory that everybody can reach, with a dwell in it, and one that only root can read.
struct Place {
    open: TempDir,
    closed: TempDir,
}

impl Place {
    fn new() -> Self {
        assert!(rustix::process::geteuid().is_root(), "these tests need root");
        let place = Place { open: tempfile::tempdir().unwrap(), closed: tempfile::tempdir().unwrap() };
        mode(place.open.path(), 0o755);
        fs::copy(crate::support::dwell(), place.at("dwell")).unwrap();
        fs::write(place.secret(), format!("{SECRET}\n").repeat(9)).unwrap();
        mode(&place.secret(), 0o600);
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.open.path().join(name)
    }

    fn secret(&self) -> PathBuf {
        self.closed.path().join("secret.py")
    }

    /// A directory of the other user's.
    fn theirs(&self, name: &str) -> PathBuf {
        let path = self.at(name);
        fs::create_dir(&path).unwrap();
        chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        path
    }

    /// dwell as root, ended after a while.
    fn dwell(&self, words: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command.args(["-k", "5", "60"]).arg(self.at("dwell")).args(words);
        command.current_dir(self.open.path()).stdin(Stdio::null());
        command.env_remove("SUDO_UID").env_remove("SUDO_GID");
        command
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn ok(command: &mut Command) -> Output {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, text(&output.stderr));
    output
}

/// Waits for half a minute at most.
fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..3_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("not within 30 s: {what}");
}

fn running(command: &mut Command) -> Gone {
    Gone(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts"))
}

fn as_nobody() -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    command
}

/// A Python that everybody may execute: the first one of root's `PATH` may lie in a directory of
/// root's own.
fn python() -> &'static str {
    static FOUND: OnceLock<String> = OnceLock::new();
    FOUND.get_or_init(|| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let places = std::env::split_paths(&path).chain(["/usr/bin".into()]);
        let mut found = places.map(|place| place.join("python3")).filter(|python| {
            let tried = as_nobody().arg(python).args(["-c", ""]).stderr(Stdio::null()).status();
            tried.is_ok_and(|status| status.success())
        });
        let found = found.next().expect("a python3 that everybody may execute");
        found.to_str().expect("a path of plain characters").to_owned()
    })
}

// ---- rights

/// What stood behind the names of libraries when `--names` looked at them.
fn libraries(place: &Place, pid: u32, json: &str) -> String {
    let told = place.at(json);
    let words = ["attach", "--names", "--for", "300ms", "-q", "--json"];
    let mut dwell = place.dwell(&words);
    ok(dwell.arg(&told).arg(pid.to_string()));
    let run: Value = serde_json::from_str(&read(&told)).unwrap();
    run["coverage"]["sources"].to_string()
}

/// The C library of this machine and its loader.
fn c_library() -> (PathBuf, PathBuf) {
    let maps = ok(Command::new("cat").arg("/proc/self/maps"));
    let maps = text(&maps.stdout);
    let named = |part: &str| {
        let line = maps.lines().find(|line| line.contains(part)).expect("a C library");
        PathBuf::from(&line[line.find('/').expect("a path")..])
    };
    (named("/libc.so"), named("/ld-linux"))
}

#[test]
fn nothing_is_put_into_a_library_that_another_user_can_change() {
    let place = Place::new();
    let theirs = place.theirs("theirs");
    let (library, loader) = c_library();
    let copy = theirs.join("libc.so.6");
    fs::copy(&library, &copy).unwrap();
    chown(&copy, Some(NOBODY), Some(NOBODY)).unwrap();
    let mut command = as_nobody();
    command.arg(loader).arg("--library-path").arg(&theirs).args(["/bin/sleep", "100"]);
    let running = running(&mut command);
    let pid = running.0.id();
    let maps = format!("/proc/{pid}/maps");
    until("the library is mapped", || read(Path::new(&maps)).contains(copy.to_str().unwrap()));
    let said = libraries(&place, pid, "one.json");
    assert!(said.contains("it belongs to user 65534"), "{said}");
    // A pipe in its place: opening that would wait for ever.
    for name in ["libc.so.6", "libc.so.6 (deleted)"] {
        let _ = fs::remove_file(theirs.join(name));
        rustix::fs::mknodat(
            rustix::fs::CWD,
            theirs.join(name),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
    }
    let said = libraries(&place, pid, "two.json");
    assert!(said.contains("it is not a regular file"), "{said}");
}

#[test]
fn a_traced_program_gets_no_rights_from_a_dwell_that_has_some() {
    let place = Place::new();
    let program = place.at("luck");
    fs::copy(luck(), &program).unwrap();
    mode(&program, 0o4755);
    let mut command = as_nobody();
    command.args(["--inh-caps", "+sys_ptrace", "--ambient-caps", "+sys_ptrace"]).arg(place.at("dwell"));
    let output =
        ok(command.args(["run", "-o", "/dev/null", "--count-blocks=main", "--"]).arg(&program).arg("who"));
    let who: Value = serde_json::from_str(text(&output.stdout).lines().next().unwrap()).unwrap();
    assert!(who.to_string().contains("\"effective\":65534"), "{who}");
}

#[test]
fn a_program_with_rights_of_its_own_is_not_stopped_where_its_caller_says() {
    let place = Place::new();
    let program = place.at("luck");
    fs::copy(luck(), &program).unwrap();
    mode(&program, 0o4755);
    for asked in ["--count-blocks=main", "--count-blocks"] {
        let output = ok(place.dwell(&["run", "--user", "nobody", asked, "--"]).arg(&program).arg("who"));
        let (who, said) = (text(&output.stdout), text(&output.stderr));
        assert!(who.contains("\"effective\":0"), "{who}");
        assert!(said.contains("stopped at a program with rights of its own"), "{said}");
    }
}

/// Waits for the directory of `--hits` and puts links to a file of root's where root will write.
const LINKS: &str = r"
import os, sys
victim = sys.argv[1]
open(sys.argv[2], 'w').close()
while True:
    for name in os.listdir('/tmp'):
        if name.startswith('dwell-hits-'):
            for inner in ['', '/python']:
                at = '/tmp/' + name + inner
                for file in ['root', 'monitor.py', '1.hits']:
                    try:
                        os.symlink(victim, at + '/' + file)
                    except OSError:
                        pass
";

#[test]
fn root_writes_nothing_through_a_link_of_the_user_that_it_counts() {
    let place = Place::new();
    let theirs = place.theirs("theirs");
    let (victim, ready) = (place.at("victim"), theirs.join("ready"));
    fs::write(&victim, SECRET).unwrap();
    let mut command = as_nobody();
    let running = running(command.args([python(), "-c", LINKS]).arg(&victim).arg(&ready));
    until("the other user waits for dwell", || ready.exists());
    for _ in 0..6 {
        let mut dwell =
            place.dwell(&["run", "-q", "--hits", "--user", "nobody", "--", python(), "-c", "x = 1"]);
        let _ = dwell.env("TMPDIR", "/tmp").output().unwrap();
    }
    drop(running);
    assert_eq!(read(&victim), SECRET);
}

/// Counts as a counted Python would write them, of three lines of a file with this name.
const FORGED: &str = r"
import os, struct, sys
text = b'3.13.0\t/p\n' + sys.argv[1].encode() + b'\tf\t1\t8\t1,2,3\n'
with open(os.environ['PYTHONPATH'] + '/7-1.hits', 'wb') as file:
    file.write(struct.pack('=12Q', 0x6477656C6C683031, len(text), 0, 1, 0, 0, 0, 0, 5, 5, 5, 0))
    file.seek(32 << 20)
    file.write(text)
";

#[test]
fn a_source_is_shown_only_if_the_user_who_named_it_may_read_it() {
    let place = Place::new();
    let secret = place.secret();
    let body = "f()".to_owned();
    let program = format!(
        "import time\n\
         text = 'def f():\\n    end = time.monotonic() + 0.6\\n    while time.monotonic() < end: pass\\n'\n\
         exec(compile(text, {secret:?}, 'exec'))\n{body}\n"
    );
    let hits = |words: &[&str]| {
        let mut dwell = place.dwell(&["run", "--hits"]);
        let forge = format!("{} -c \"$0\" \"$1\"", python());
        let output = ok(dwell.args(words).args(["--", "sh", "-c", &forge, FORGED]).arg(&secret));
        text(&output.stderr)
    };
    let lines = |words: &[&str], launcher: &[&str]| {
        let mut dwell = place.dwell(&["run", "--lines", "f"]);
        let output = ok(dwell.args(words).arg("--").args(launcher).args([python(), "-c", &program]));
        text(&output.stderr)
    };
    let own = hits(&[]);
    assert!(own.contains(SECRET), "root's own program may name root's files\n{own}");
    let theirs = hits(&["--user", "nobody"]);
    assert!(theirs.contains("secret.py") && !theirs.contains(SECRET), "{theirs}");
    let theirs = lines(&["--user", "nobody"], &[]);
    assert!(theirs.contains("secret.py") && !theirs.contains(SECRET), "{theirs}");
    // Root's own program that becomes another user's.
    let lowered = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let theirs = lines(&[], &lowered);
    assert!(theirs.contains("secret.py") && !theirs.contains(SECRET), "{theirs}");
    let own = lines(&[], &[]);
    assert!(own.contains(SECRET), "root's own program may name root's files\n{own}");
    // The recording of another user's program, shown by root.
    let kept = fresh("kept");
    let mut dwell = place.dwell(&["run", "-q", "--user", "nobody", "--keep"]);
    ok(dwell.arg(&kept).args(["--", python(), "-c", &program]));
    let shown = text(&ok(place.dwell(&["show", "--lines", "f"]).arg(&kept)).stdout);
    fs::remove_file(&kept).unwrap();
    assert!(shown.contains("secret.py") && !shown.contains(SECRET), "{shown}");
}

/// Compiles the program that puts a link in its own place, with this in its code.
fn swaps(at: &Path, key: &str) {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/swaps.c");
    let made =
        Command::new("cc").arg(format!("-DKEY={key}")).args(["-O1", "-g", source, "-o"]).arg(at).status();
    assert!(made.is_ok_and(|made| made.success()), "cc cannot compile swaps.c");
}

#[test]
fn code_is_listed_only_if_the_user_who_named_its_file_may_read_it() {
    let place = Place::new();
    let (theirs, roots) = (place.theirs("theirs"), place.closed.path().join("roots"));
    let program = theirs.join("program");
    swaps(&roots, "0x7ec2e75");
    mode(&roots, 0o700);
    let fresh_program = || {
        let _ = fs::remove_file(&program);
        swaps(&program, "0x1111111");
        chown(&program, Some(NOBODY), Some(NOBODY)).unwrap();
    };
    let annotate = ["run", "--user", "nobody", "--annotate", "spin"];
    // Its own code is there to be seen, with what it does.
    fresh_program();
    let said = text(&ok(place.dwell(&annotate).arg("--").arg(&program)).stderr);
    assert!(said.contains("0x1111111"), "{said}");
    // A file of root's at that path is not: neither by the run nor by its recording.
    fresh_program();
    let kept = fresh("kept");
    let mut dwell = place.dwell(&annotate);
    let output = ok(dwell.arg("--keep").arg(&kept).arg("--").arg(&program).arg(&roots));
    let shown = ok(place.dwell(&["show", "--annotate", "spin"]).arg(&kept));
    fs::remove_file(&kept).unwrap();
    for said in [text(&output.stderr), text(&shown.stdout), text(&shown.stderr)] {
        assert!(!said.contains("0x7ec2e75"), "{said}");
    }
    // Root's own program may name it: nothing else than who named it keeps it from being shown.
    fresh_program();
    chown(&program, Some(0), Some(0)).unwrap();
    let said = text(&ok(place.dwell(&["run", "--annotate", "spin", "--"]).arg(&program).arg(&roots)).stderr);
    assert!(said.contains("0x7ec2e75"), "{said}");
}

#[test]
fn results_of_root_are_roots_or_the_callers_of_sudo() {
    let place = Place::new();
    let whose = |name: &str| {
        let found = place.at(name).metadata().unwrap();
        (found.uid(), found.mode() & 0o777)
    };
    ok(&mut place.dwell(&["run", "-o", "page", "--json", "json", "--keep", "kept", "true"]));
    for name in ["page", "json", "kept"] {
        assert_eq!(whose(name), (0, 0o600), "{name}");
    }
    let mut sudo = place.dwell(&["run", "-q", "--json", "callers", "true"]);
    ok(sudo.env("SUDO_UID", NOBODY.to_string()).env("SUDO_GID", NOBODY.to_string()));
    assert_eq!(whose("callers"), (NOBODY, 0o600));
}

#[test]
fn no_result_is_written_through_a_link_of_another_user() {
    let place = Place::new();
    let common = place.at("common");
    fs::create_dir(&common).unwrap();
    mode(&common, 0o1777);
    let victim = place.at("victim");
    fs::write(&victim, SECRET).unwrap();
    for (name, option) in [("json", "--json"), ("page", "-o"), ("kept", "--keep")] {
        let link = common.join(name);
        symlink(&victim, &link).unwrap();
        lchown(&link, Some(NOBODY), Some(NOBODY)).unwrap();
        let output = place.dwell(&["run", option]).arg(&link).arg("true").output().unwrap();
        assert_eq!(output.status.code(), Some(125), "{option}: {}", text(&output.stderr));
        assert_eq!(read(&victim), SECRET, "{option}");
    }
}

#[test]
fn no_manual_page_is_written_through_a_link_of_another_user() {
    let place = Place::new();
    let (theirs, victim) = (place.theirs("theirs"), place.at("victim"));
    fs::write(&victim, SECRET).unwrap();
    symlink(&victim, theirs.join("dwell-run.1")).unwrap();
    let output = place.dwell(&["man"]).arg(&theirs).output().unwrap();
    assert_eq!(output.status.code(), Some(125), "{}", text(&output.stderr));
    assert_eq!(read(&victim), SECRET);
}

#[test]
fn no_result_is_written_to_where_a_link_of_another_user_leads() {
    let place = Place::new();
    let (theirs, roots) = (place.theirs("theirs"), place.closed.path().join("roots"));
    fs::create_dir(&roots).unwrap();
    symlink(&roots, theirs.join("results")).unwrap();
    lchown(theirs.join("results"), Some(NOBODY), None).unwrap();
    for (name, option) in [("report", "--json"), ("report", "--keep"), ("new", "-o")] {
        fs::write(roots.join("report"), SECRET).unwrap();
        let mut dwell = place.dwell(&["run", "-q", option]);
        let output = dwell.arg(theirs.join("results").join(name)).arg("true").output().unwrap();
        let said = text(&output.stderr);
        assert!(said.contains("is a link of user 65534"), "{option}: {said}");
        assert_eq!(read(&roots.join("report")), SECRET, "{option}");
        assert!(!roots.join("new").exists(), "{option}");
    }
}

#[test]
fn no_program_of_the_lab_is_made_where_another_user_could_put_his_own() {
    let place = Place::new();
    let theirs = place.theirs("theirs");
    let lab = || {
        let mut dwell = place.dwell(&["lab", "heat-grid", "--run", "swapped", "--size", "1"]);
        dwell.current_dir(&theirs);
        dwell
    };
    let output = lab().output().unwrap();
    let said = text(&output.stderr);
    assert!(!output.status.success() && said.contains("it belongs to the user 65534"), "{said}");
    assert!(said.contains("try: the current directory set to"), "{said}");
    // The caller of sudo may be that user.
    ok(lab().env("SUDO_UID", NOBODY.to_string()).env("SUDO_GID", NOBODY.to_string()));
}

#[test]
fn what_lies_in_a_cache_of_another_users_is_not_believed() {
    let place = Place::new();
    let cache = place.at("cache");
    fs::create_dir_all(cache.join("dwell")).unwrap();
    chown(cache.join("dwell"), Some(NOBODY), Some(NOBODY)).unwrap();
    let sheet = place.at("sheet.toml");
    fs::write(&sheet, "[[case]]\nname = \"idle\"\n").unwrap();
    let mut dwell = place.dwell(&["wake", "--sheet", "--for", "1s", "--resume"]);
    let _ = dwell.env("XDG_CACHE_HOME", &cache).env("HOME", place.closed.path()).output().unwrap();
    let mut dwell = place.dwell(&["wake", "--resume"]);
    let output = dwell.env("XDG_CACHE_HOME", &cache).env("HOME", place.closed.path()).output().unwrap();
    let said = text(&output.stderr);
    assert!(!said.contains(cache.to_str().unwrap()), "{said}");
}

// ---- another user's program

#[test]
fn another_users_program_gets_nothing_of_roots() {
    let place = Place::new();
    let script = "echo session $(cut -d' ' -f6 /proc/$$/stat) pid $$; echo fds $(ls /proc/$$/fd); \
                  grep CapInh /proc/$$/status; env";
    let secret = place.secret();
    let launch = format!(
        "exec 7<'{}' 8>>'{}'; exec setpriv --inh-caps +sys_ptrace '{}' run -q --user nobody -- sh -c \"$0\"",
        secret.display(),
        secret.display(),
        place.at("dwell").display()
    );
    let mut command = Command::new("timeout");
    command.args(["-k", "5", "60", "sh", "-c", &launch, script]).env("ROOTS_TOKEN", SECRET);
    let said = text(&ok(command.env_remove("SUDO_UID").stdin(Stdio::null())).stdout);
    let words: Vec<&str> = said.lines().next().unwrap().split(' ').collect();
    assert_eq!(words[1], words[3], "it leads a session of its own: {said}");
    let fds = said.lines().find(|line| line.starts_with("fds")).unwrap();
    assert!(!fds.contains(" 7") && !fds.contains(" 8"), "{fds}");
    assert!(said.contains("CapInh:\t0000000000000000"), "{said}");
    assert!(!said.contains("ROOTS_TOKEN") && said.contains("USER=nobody"), "{said}");
}

#[test]
fn another_user_gets_the_program_that_this_user_may_execute() {
    let place = Place::new();
    for (at, mode_of) in [("roots", 0o700), ("all", 0o755)] {
        let directory = place.at(at);
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("tool"), format!("#!/bin/sh\necho of {at}\n")).unwrap();
        mode(&directory.join("tool"), 0o755);
        mode(&directory, mode_of);
    }
    let path = format!("{}:{}:/usr/bin:/bin", place.at("roots").display(), place.at("all").display());
    for (words, from) in [(&["run", "-q"][..], "roots"), (&["run", "-q", "--user", "nobody"], "all")] {
        let said = text(&ok(place.dwell(words).args(["--", "tool"]).env("PATH", &path)).stdout);
        assert_eq!(said, format!("of {from}\n"));
    }
}

/// `cap_bpf,cap_perfmon+ep`, as setcap(8) writes it: the version with the bit that makes them
/// effective, and the second word of those permitted.
fn give_capabilities(path: &Path) {
    let words: [u32; 5] = [0x0200_0001, 0, 0, 1 << 6 | 1 << 7, 0];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    rustix::fs::setxattr(path, "security.capability", &bytes, rustix::fs::XattrFlags::empty()).unwrap();
}

#[test]
fn a_dwell_with_capabilities_gives_the_program_the_environment_that_it_would_have_had() {
    let place = Place::new();
    give_capabilities(&place.at("dwell"));
    mode(&place.at("dwell"), 0o755);
    let mut command = as_nobody();
    command.arg(place.at("dwell")).args(["run", "-q", "--", "env"]);
    // The loader of a program with capabilities removes these.
    command.env("TMPDIR", "/var/tmp").env("LD_LIBRARY_PATH", "/nowhere").env("PLAIN", "kept");
    let said = text(&ok(&mut command).stdout);
    for line in ["TMPDIR=/var/tmp", "LD_LIBRARY_PATH=/nowhere", "PLAIN=kept"] {
        assert!(said.lines().any(|said| said == line), "{line}: {said}");
    }
}

// ---- it always ends

/// Sends SIGTERM until dwell has ended, and returns its status. One that does not end is killed.
fn ended_by_sigterm(mut dwell: Child) -> std::process::ExitStatus {
    for _ in 0..100 {
        let _ = Command::new("kill").args(["-TERM", &dwell.id().to_string()]).status();
        std::thread::sleep(std::time::Duration::from_millis(100));
        if let Some(status) = dwell.try_wait().unwrap() {
            return status;
        }
    }
    dwell.kill().unwrap();
    dwell.wait().unwrap()
}

fn start(place: &Place, words: &[&str]) -> Child {
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP,INT,TERM").arg(place.at("dwell")).args(words);
    command.current_dir(place.open.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

fn fifo(path: &Path) {
    let status = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(status.success());
}

#[test]
fn a_signal_ends_the_wait_for_who_reads_the_result() {
    const TERM: i32 = 15;
    let place = Place::new();
    fifo(&place.at("nobody-reads"));
    let dwell = start(&place, &["run", "-q", "--json", "nobody-reads", "true"]);
    assert_eq!(ended_by_sigterm(dwell).signal(), Some(TERM));
    // One that is open and full.
    fifo(&place.at("full"));
    let held = File::options().read(true).write(true).open(place.at("full")).unwrap();
    let capacity = rustix::pipe::fcntl_getpipe_size(&held).unwrap();
    rustix::io::write(&held, &vec![b'x'; capacity]).unwrap();
    let dwell = start(&place, &["run", "-q", "--json", "full", "touch", "ran"]);
    until("the program has run", || place.at("ran").exists());
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(ended_by_sigterm(dwell).signal(), Some(TERM));
}

#[test]
fn a_signal_ends_the_wait_for_who_opens_a_pipe() {
    const TERM: i32 = 15;
    let place = Place::new();
    fs::write(place.at("sheet"), r#"{"name": "s", "cases": [{"name": "idle"}]}"#).unwrap();
    let verbs = [
        "ladder --quick --json",
        "compare true true --json",
        "run --count-blocks -q --json PIPE true",
        "run --hits -q --json PIPE true",
        "lab small-files --json",
        "lab --score --json",
        "wake --sheet sheet --for 1s --json",
    ];
    fifo(&place.at("pipe"));
    let begun = verbs.map(|verb| {
        let pipe = place.at("pipe").to_str().unwrap().to_owned();
        let verb = if verb.contains("PIPE") { verb.replace("PIPE", &pipe) } else { format!("{verb} {pipe}") };
        (start(&place, &verb.split(' ').collect::<Vec<_>>()), verb)
    });
    for (dwell, verb) in begun {
        // The kernel's name of waiting for the other end.
        let at = format!("/proc/{}/wchan", dwell.id());
        until(&verb, || read(Path::new(&at)) == "wait_for_partner");
        assert_eq!(ended_by_sigterm(dwell).signal(), Some(TERM), "{verb}");
    }
}

#[test]
fn after_the_recording_root_has_its_rights_over_files_only() {
    // CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, SETGID, SETUID, SYSLOG.
    const OVER_FILES: u64 = 0b1100_1111 | 1 << 34;
    let place = Place::new();
    fifo(&place.at("full"));
    let held = File::options().read(true).write(true).open(place.at("full")).unwrap();
    let capacity = rustix::pipe::fcntl_getpipe_size(&held).unwrap();
    rustix::io::write(&held, &vec![b'x'; capacity]).unwrap();
    let dwell = start(&place, &["run", "-q", "--json", "full", "true"]);
    let status = format!("/proc/{}/status", dwell.id());
    let sets = || -> Vec<u64> {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let of =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next());
        let set = |name| of(name).and_then(|hex| u64::from_str_radix(hex, 16).ok()).unwrap_or(u64::MAX);
        ["CapEff:", "CapPrm:", "CapBnd:", "CapInh:", "CapAmb:"].map(set).to_vec()
    };
    until("rights are given up", || sets().iter().all(|set| set & !OVER_FILES == 0));
    assert_ne!(sets()[0], 0, "it writes to files of others");
    ended_by_sigterm(dwell);
}

#[test]
fn a_hang_up_that_is_ignored_ends_nothing() {
    let place = Place::new();
    let mut command = Command::new("env");
    command.arg("--ignore-signal=HUP").arg(place.at("dwell"));
    command.args(["wake", "-q", "--cpus", "0", "--for", "2s", "--json", "json"]);
    command.current_dir(place.open.path()).stdin(Stdio::null()).stderr(Stdio::null());
    let mut dwell = command.spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    let _ = Command::new("kill").args(["-HUP", &dwell.id().to_string()]).status();
    assert!(dwell.wait().unwrap().success());
    let wake: Value = serde_json::from_str(&read(&place.at("json"))).unwrap();
    assert_eq!(wake["interrupted"], false, "{wake}");
}

#[test]
fn a_file_that_may_not_grow_is_an_error_in_words() {
    let place = Place::new();
    let mut command = Command::new("env");
    // Some parents ignore it, and that is inherited.
    command
        .args(["--default-signal=XFSZ", "prlimit", "--fsize=1000"])
        .arg(place.at("dwell"))
        .args(["run", "-q", "--json", "json", "true"]);
    let output = command.current_dir(place.open.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(125), "{:?}", output.status);
    let said = text(&output.stderr);
    assert!(said.contains("cannot write \"json\"") && said.contains("File too large"), "{said}");
}

// ---- what stood where a result goes

/// Files without a name that a process has open.
fn nameless(pid: u32) -> usize {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    files.filter(|file| file.to_string_lossy().ends_with(" (deleted)")).count()
}

#[test]
fn what_ends_before_its_result_is_there_leaves_what_stood_there() {
    let place = Place::new();
    ok(&mut place.dwell(&["run", "-q", "--keep", "kept", "true"]));
    fs::write(place.at("old"), "before").unwrap();
    fifo(&place.at("nobody-reads"));
    let before = fs::read_dir(place.open.path()).unwrap().count();
    let words = ["show", "kept", "--json", "new", "--html", "old", "-o", "nobody-reads"];
    for signal in ["-TERM", "-KILL"] {
        let mut dwell = start(&place, &words);
        until("the outputs are open", || nameless(dwell.id()) >= 2);
        assert!(Command::new("kill").args([signal, &dwell.id().to_string()]).status().unwrap().success());
        assert!(dwell.wait().unwrap().signal().is_some());
        assert_eq!(fs::read_dir(place.open.path()).unwrap().count(), before);
        assert_eq!(read(&place.at("old")), "before");
    }
}

/// A file, one by a link, and none.
const ON_A_FULL_DISK: &str = r#"
mount -t tmpfs -o size=64k none disk && cd disk && echo before > old && echo before > by-link && ln -s by-link link
cat /dev/zero > fill 2> /dev/null
for name in old link new; do "$0" show ../kept --json $name; echo $?; done
cat old by-link; ls -A
"#;

#[test]
fn a_full_disk_keeps_what_stood_there() {
    let place = Place::new();
    ok(&mut place.dwell(&["run", "-q", "--keep", "kept", "true"]));
    fs::create_dir(place.at("disk")).unwrap();
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", ON_A_FULL_DISK]).arg(place.at("dwell"));
    let output = ok(command.current_dir(place.open.path()).stdin(Stdio::null()));
    let (said, errors) = (text(&output.stdout), text(&output.stderr));
    let lines: Vec<&str> = said.lines().filter(|line| !line.starts_with(' ')).collect();
    assert!(lines.ends_with(&["before", "before", "by-link", "fill", "link", "old"]), "{said}");
    assert_eq!(lines.iter().filter(|line| **line == "125").count(), 3, "{said}");
    assert_eq!(errors.matches("No space left on device").count(), 3, "{errors}");
}
