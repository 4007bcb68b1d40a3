//! Asking a Java virtual machine for the names of its code: its attach mechanism, as jcmd uses it,
//! and the command `Compiler.perfmap`, which makes it write its perf map.
//!
//! It is asked only where the user wants that. A machine that nobody has asked before opens its
//! socket when it gets SIGQUIT, which ends every other program. So the signal is sent only to a
//! process that has mapped `libjvm.so` and catches it, through a descriptor of that process.

use model::Pid;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fmt;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// How long a machine may take to open its socket and to write its map.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// How often it is looked for the socket.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The limit of an answer that is read.
const ANSWER_MAX: u64 = 4096;

/// `jcmd PID Compiler.perfmap` in the protocol: version, command, and three arguments.
const REQUEST: &[u8] = b"1\0jcmd\0Compiler.perfmap\0\0\0";

/// Why a machine was not asked, or did not answer.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// It has ended, or has not mapped `libjvm.so`.
    NotAMachine,
    /// The signal would end it (`-Xrs`), or it is stopped.
    NotReady(&'static str),
    /// It belongs to another user.
    OtherUser,
    /// What stands in place of its files is not its own.
    InTheWay(&'static str),
    /// No answer in time.
    Silent,
    /// It does not have the command, or the command failed.
    Failed(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NotAMachine => f.write_str("it is no longer a Java virtual machine"),
            Refusal::NotReady(why) => f.write_str(why),
            Refusal::OtherUser => f.write_str("it belongs to another user"),
            Refusal::InTheWay(what) => write!(f, "{what} is not its own file"),
            Refusal::Silent => write!(f, "no answer in {} s", ANSWER_WITHIN.as_secs()),
            Refusal::Failed(why) => f.write_str(why),
        }
    }
}

impl From<Errno> for Refusal {
    fn from(error: Errno) -> Self {
        io::Error::from(error).into()
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Refusal::Silent,
            _ => Refusal::Failed(error.to_string()),
        }
    }
}

/// Makes a machine write its perf map. Returns within about `within`.
pub(crate) fn write_perf_map(pid: Pid, within: Duration) -> Result<(), Refusal> {
    let deadline = Instant::now() + within;
    let number = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    let process = pidfd_open(number.ok_or(Refusal::NotAMachine)?, PidfdFlags::empty())?;
    let machine = Machine::find(pid)?;
    machine.may_write_map()?;
    if !machine.listens()? {
        machine.start_listening(&process, deadline)?;
    }
    let (answers, answer) = mpsc::channel();
    // Connecting may block where others are asking: then the thread is left behind.
    std::thread::Builder::new().spawn(move || answers.send(machine.ask(within)))?;
    answer.recv_timeout(deadline.saturating_duration_since(Instant::now())).unwrap_or(Err(Refusal::Silent))
}

/// A Java virtual machine.
struct Machine {
    /// Its PID in its own namespace.
    own_pid: u32,
    uid: u32,
    /// Its `/tmp`.
    directory: Arc<OwnedFd>,
}

impl Machine {
    /// Certain that the process is one, and that the signal does it no harm.
    fn find(pid: Pid) -> Result<Self, Refusal> {
        let mapped = code::executable_mappings(pid).map_err(|_| Refusal::NotAMachine)?;
        if !mapped.iter().any(|mapping| mapping.path.ends_with(b"/libjvm.so")) {
            return Err(Refusal::NotAMachine);
        }
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let (own_pid, uid) = ready(&status)?;
        let us = rustix::process::geteuid();
        if !us.is_root() && us.as_raw() != uid {
            return Err(Refusal::OtherUser);
        }
        let path = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, format!("/proc/{pid}/root"), path, Mode::empty())?;
        let directory = openat2(root, "tmp", path, Mode::empty(), ResolveFlags::IN_ROOT)?;
        Ok(Machine { own_pid, uid, directory: Arc::new(directory) })
    }

    /// What stands at a name in its `/tmp`; none where nothing does.
    fn at(&self, name: &str) -> Result<Option<Stat>, Refusal> {
        match statat(&*self.directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The machine opens its map as any program does: through a link it would write elsewhere.
    fn may_write_map(&self) -> Result<(), Refusal> {
        let found = self.at(&format!("perf-{}.map", self.own_pid))?;
        let own = |file: Stat| {
            FileType::from_raw_mode(file.st_mode) == FileType::RegularFile && file.st_uid == self.uid
        };
        if found.is_none_or(own) { Ok(()) } else { Err(Refusal::InTheWay("its perf map")) }
    }

    /// Its socket, if it is there: the one that was looked at, whatever stands at the name later.
    fn socket(&self) -> Result<Option<OwnedFd>, Refusal> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let socket =
            match openat(&*self.directory, format!(".java_pid{}", self.own_pid), flags, Mode::empty()) {
                Err(Errno::NOENT) => return Ok(None),
                opened => opened?,
            };
        let found = fstat(&socket)?;
        let own = FileType::from_raw_mode(found.st_mode) == FileType::Socket && found.st_uid == self.uid;
        if own { Ok(Some(socket)) } else { Err(Refusal::InTheWay("its socket")) }
    }

    /// Whether its socket is there.
    fn listens(&self) -> Result<bool, Refusal> {
        self.socket().map(|socket| socket.is_some())
    }

    /// Has it open its socket: a file that says that someone wants to attach, and the signal.
    fn start_listening(&self, process: &OwnedFd, deadline: Instant) -> Result<(), Refusal> {
        let name = format!(".attach_pid{}", self.own_pid);
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::WRONLY | OFlags::CLOEXEC;
        let made = openat(&*self.directory, &name, flags, Mode::RUSR | Mode::WUSR);
        // Where it is there already, another tool is attaching as well, and removes it.
        let is_ours = made.is_ok();
        if made.is_err_and(|error| error != Errno::EXIST) {
            return Err(Refusal::InTheWay("the file that asks it to listen"));
        }
        let asked = pidfd_send_signal(process, Signal::QUIT).map_err(Refusal::from);
        let listens = asked.and_then(|()| self.await_socket(deadline));
        if is_ours {
            let _ = unlinkat(&*self.directory, &name, AtFlags::empty());
        }
        listens
    }

    fn await_socket(&self, deadline: Instant) -> Result<(), Refusal> {
        while !self.listens()? {
            if Instant::now() >= deadline {
                return Err(Refusal::Silent);
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// Sends the command, and reads the answer.
    fn ask(&self, within: Duration) -> Result<(), Refusal> {
        let socket = self.socket()?.ok_or(Refusal::Silent)?;
        let mut stream = UnixStream::connect(format!("/proc/self/fd/{}", socket.as_raw_fd()))?;
        stream.set_read_timeout(Some(within))?;
        stream.set_write_timeout(Some(within))?;
        stream.write_all(REQUEST)?;
        let mut text = Vec::new();
        stream.take(ANSWER_MAX).read_to_end(&mut text)?;
        answer(&String::from_utf8_lossy(&text))
    }
}

/// The process's PID in its own namespace and its user, of proc_pid_status(5), if SIGQUIT does it
/// no harm.
fn ready(status: &str) -> Result<(u32, u32), Refusal> {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let caught = field("SigCgt:").and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0);
    if caught & (1 << (Signal::QUIT.as_raw() - 1)) == 0 {
        return Err(Refusal::NotReady("it does not catch SIGQUIT (-Xrs), which would end it"));
    }
    if field("State:").is_none_or(|state| state.starts_with(['T', 't', 'Z', 'X'])) {
        return Err(Refusal::NotReady("it is stopped"));
    }
    let own_pid = field("NSpid:").or_else(|| field("Pid:"));
    let own_pid = own_pid.and_then(|pids| pids.split_ascii_whitespace().last()?.parse().ok());
    let uid = field("Uid:").and_then(|uids| uids.split_ascii_whitespace().nth(1)?.parse().ok());
    own_pid.zip(uid).ok_or(Refusal::NotAMachine)
}

/// Reads a text as the status of a process and as an answer.
#[cfg(any(test, fuzzing))]
pub(crate) fn texts(text: &str) {
    let _ = (ready(text), answer(text));
}

/// The answer: a line with 0, or with a number that is not 0 and lines that say why.
fn answer(text: &str) -> Result<(), Refusal> {
    let (code, rest) = text.split_once('\n').unwrap_or((text, ""));
    match code.trim() {
        "0" => Ok(()),
        _ if rest.contains("Unknown diagnostic command") => {
            Err(Refusal::Failed("it has no Compiler.perfmap; JDK 17 has".to_owned()))
        }
        _ => Err(Refusal::Failed(rest.lines().next().unwrap_or("it gave no answer").to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_that_catches_the_signal_gets_it() {
        let status = |caught: &str, state: &str| {
            format!("State:\t{state}\nPid:\t70\nNSpid:\t70\t7\nUid:\t1\t2\t3\t4\nSigCgt:\t{caught}\n")
        };
        assert_eq!(ready(&status("2000000181005ccf", "S (sleeping)")).unwrap(), (7, 2));
        for (caught, state) in
            [("fffffffffffffffb", "S (sleeping)"), ("0", "R"), ("4", "T (stopped)"), ("x", "S")]
        {
            assert!(matches!(ready(&status(caught, state)), Err(Refusal::NotReady(_))), "{caught} {state}");
        }
        assert!(ready("").is_err());
    }

    #[test]
    fn this_process_is_no_machine_and_gets_no_signal() {
        let refused = write_perf_map(std::process::id(), ANSWER_WITHIN);
        assert!(matches!(refused, Err(Refusal::NotAMachine)), "{refused:?}");
        assert!(write_perf_map(u32::MAX, ANSWER_WITHIN).is_err());
    }

    #[test]
    fn an_answer_is_understood() {
        assert!(answer("0\nfine").is_ok());
        assert!(answer("0").is_ok());
        let said = |text| answer(text).unwrap_err().to_string();
        assert_eq!(
            said("1\njava.lang.X: Unknown diagnostic command\n"),
            "it has no Compiler.perfmap; JDK 17 has"
        );
        assert_eq!(said("101\nAttach disabled"), "Attach disabled");
        assert_eq!(said(""), "it gave no answer");
    }

    /// A machine whose `/tmp` is this directory.
    fn machine(directory: &std::path::Path) -> Machine {
        let path = OFlags::PATH | OFlags::DIRECTORY;
        let opened = openat(CWD, directory, path, Mode::empty()).unwrap();
        let uid = rustix::process::geteuid().as_raw();
        Machine { own_pid: 7, uid, directory: Arc::new(opened) }
    }

    #[test]
    fn a_socket_that_answers_is_asked_for_the_map() {
        let bench = tempfile::tempdir().unwrap();
        let machine = machine(bench.path());
        assert!(!machine.listens().unwrap());
        let listener = std::os::unix::net::UnixListener::bind(bench.path().join(".java_pid7")).unwrap();
        assert!(machine.listens().unwrap());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = vec![0; REQUEST.len()];
            stream.read_exact(&mut request).unwrap();
            stream.write_all(b"0\n").unwrap();
            request
        });
        machine.ask(ANSWER_WITHIN).unwrap();
        assert_eq!(server.join().unwrap(), REQUEST);
    }

    #[test]
    fn one_that_does_not_answer_is_waited_for_no_longer_than_said() {
        let bench = tempfile::tempdir().unwrap();
        let machine = machine(bench.path());
        let _listener = std::os::unix::net::UnixListener::bind(bench.path().join(".java_pid7")).unwrap();
        let began = Instant::now();
        let silent = machine.ask(Duration::from_millis(50));
        assert!(matches!(silent, Err(Refusal::Silent)), "{silent:?}");
        assert!(began.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn files_that_are_not_its_own_are_in_the_way() {
        let bench = tempfile::tempdir().unwrap();
        let machine = machine(bench.path());
        machine.may_write_map().unwrap();
        std::os::unix::fs::symlink("/etc/passwd", bench.path().join("perf-7.map")).unwrap();
        assert!(matches!(machine.may_write_map(), Err(Refusal::InTheWay(_))));
        std::fs::write(bench.path().join(".java_pid7"), "").unwrap();
        assert!(matches!(machine.listens(), Err(Refusal::InTheWay(_))));
    }
}
