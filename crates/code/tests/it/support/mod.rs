//! Programs compiled in the test, stopped in a call that blocks, and their raw stacks: registers by
//! ptrace(2), memory from `/proc/PID/mem`.
#![allow(unreachable_pub, clippy::print_stderr)]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::ptrace;
use nix::unistd::Pid;

use dwell_code::{Processes, RawFrame, Registers, UnwindFailure};

/// How much of a stack is copied, as dwell does.
pub const COPIED: usize = 16 << 10;

/// A temporary directory with its programs.
pub struct Bench {
    pub dir: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Self {
        Bench { dir: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a source file and compiles it with `compiler … -o NAME FILE`. None, with a message,
    /// where there is no such compiler.
    pub fn compiled(&self, name: &str, source: &str, compiler: &[&str]) -> Option<PathBuf> {
        let ending = match compiler[0] {
            "gcc" => "c",
            "g++" => "cc",
            "rustc" => "rs",
            _ => "go",
        };
        let file = self.path(&format!("{name}.{ending}"));
        std::fs::write(&file, source).unwrap();
        let to = self.path(name);
        let mut command = Command::new(compiler[0]);
        // A library must follow its users, but go requires all options first.
        let (before, after) = compiler[1..].split_at(if ending == "go" { compiler.len() - 1 } else { 0 });
        command.args(before).arg("-o").arg(&to).arg(&file).args(after).current_dir(self.dir.path());
        let cache = std::env::var_os("GOCACHE").unwrap_or_else(|| "/tmp/go-cache".into());
        let output = command.env("GOCACHE", cache).env("GO111MODULE", "off").output();
        match output {
            Err(error) => {
                eprintln!("NOT TESTED, no {}: {error}", compiler[0]);
                None
            }
            Ok(output) => {
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                Some(to)
            }
        }
    }

    /// Runs a tool that must succeed; false, with a message, where there is none.
    pub fn tool(&self, command: &[&str]) -> bool {
        match Command::new(command[0]).args(&command[1..]).current_dir(self.dir.path()).status() {
            Err(error) => {
                eprintln!("NOT TESTED, no {}: {error}", command[0]);
                false
            }
            Ok(status) => {
                assert!(status.success(), "{command:?}");
                true
            }
        }
    }
}

/// A running program that ends with the test.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The call numbers in which the programs block: read, nanosleep, pause, clock_nanosleep,
/// rt_sigsuspend, ppoll; and none, for one that runs.
#[cfg(target_arch = "x86_64")]
const BLOCKING: [&str; 5] = ["0", "34", "35", "230", "130"];
#[cfg(target_arch = "aarch64")]
const BLOCKING: [&str; 5] = ["63", "73", "101", "115", "133"];

/// Those in which a thread without work waits: futex, epoll_wait, epoll_pwait.
#[cfg(target_arch = "x86_64")]
const IDLE: [&str; 3] = ["202", "232", "281"];
#[cfg(target_arch = "aarch64")]
const IDLE: [&str; 2] = ["98", "22"];

/// A thread's raw stack.
pub struct Raw {
    pub registers: Registers,
    pub stack: Vec<u8>,
}

impl Running {
    pub fn start(program: &Path, arguments: &[&str]) -> Running {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null());
        Running(command.spawn().unwrap())
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Waits until its first thread blocks in one of the calls above, twice at the same address,
    /// and copies its stack.
    pub fn blocked(&self) -> Raw {
        self.blocked_in(&BLOCKING)
    }

    /// The same once it waits for work, which it may have done for a moment before.
    pub fn idle(&self) -> Raw {
        std::thread::sleep(Duration::from_millis(500));
        self.blocked_in(&IDLE)
    }

    fn blocked_in(&self, calls: &[&str]) -> Raw {
        let mut last = String::new();
        for _ in 0..3_000 {
            std::thread::sleep(Duration::from_millis(5));
            let call = std::fs::read_to_string(format!("/proc/{}/syscall", self.pid())).unwrap_or_default();
            let fields: Vec<&str> = call.split_whitespace().collect();
            if fields.len() == 9 && calls.contains(&fields[0]) && call == last {
                return self.stopped();
            }
            last = call;
        }
        panic!("the program did not come to block: {last}");
    }

    /// The current stack of its first thread.
    pub fn stopped(&self) -> Raw {
        let pid = Pid::from_raw(self.pid() as i32);
        ptrace::attach(pid).unwrap();
        nix::sys::wait::waitpid(pid, None).unwrap();
        let registers = registers(pid);
        let memory = File::open(format!("/proc/{}/mem", self.pid())).unwrap();
        let mut stack = Vec::new();
        let mut piece = [0; 256];
        let at = |len: usize| registers.sp() + len as u64;
        while stack.len() < COPIED && memory.read_exact_at(&mut piece, at(stack.len())).is_ok() {
            stack.extend_from_slice(&piece);
        }
        ptrace::detach(pid, None).unwrap();
        Raw { registers, stack }
    }
}

#[cfg(target_arch = "x86_64")]
fn registers(pid: Pid) -> Registers {
    let all = ptrace::getregs(pid).unwrap();
    Registers::x86_64(all.rip, all.rsp, all.rbp)
}

#[cfg(target_arch = "aarch64")]
fn registers(pid: Pid) -> Registers {
    let all = ptrace::getregset::<ptrace::regset::NT_PRSTATUS>(pid).unwrap();
    Registers::aarch64(all.pc, all.sp, all.regs[29], all.regs[30])
}

/// An unwound stack with names.
pub struct Followed {
    pub frames: Vec<RawFrame>,
    pub names: Vec<String>,
    pub broke: Option<UnwindFailure>,
}

/// Unwinds and symbolizes a stack; inlined functions come before their caller.
pub fn follow(processes: &mut Processes, pid: u32, raw: &Raw) -> Followed {
    let mut frames = Vec::new();
    let broke = processes.unwind(pid, &raw.registers, &raw.stack, &mut frames);
    let names = named(processes, &frames);
    Followed { frames, names, broke }
}

pub fn named(processes: &Processes, frames: &[RawFrame]) -> Vec<String> {
    let found = processes.names(frames, Duration::from_secs(20));
    assert!(found.unfinished.is_empty());
    let all = found.functions.into_iter().flatten();
    all.map(|function| function.name.unwrap_or_else(|| "?".to_owned())).collect()
}

impl Followed {
    /// The functions from `first` on.
    pub fn from(&self, first: &str) -> &[String] {
        let at = self.names.iter().position(|name| name == first);
        &self.names[at.unwrap_or_else(|| panic!("no {first} in {:?}, {:?}", self.names, self.broke))..]
    }
}
