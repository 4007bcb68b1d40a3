//! A command: run to its end or its limit, with what it said and wrote.

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// As much of what it said is told.
const SAID_MAX: usize = 64 << 10;
/// A command that is asked to end has this long.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// A command, and what goes with it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    pub(crate) name: String,
    argv: Vec<String>,
    limit_s: u64,
    /// The user, with the group of the same number; root without it.
    #[serde(default)]
    user: Option<u32>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    /// Written at these times after the start, such as a CPU that goes.
    #[serde(default)]
    meanwhile: Vec<Meanwhile>,
    /// A command that runs beside it; `{}` in `argv` is its process.
    #[serde(default)]
    beside: Vec<String>,
    /// A file that is to be read afterwards: JSON.
    #[serde(default)]
    result: Option<PathBuf>,
    /// As much of it as is told: all where this is empty.
    #[serde(default)]
    fields: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Meanwhile {
    after_ms: u64,
    path: PathBuf,
    text: String,
}

/// Runs it.
///
/// # Errors
/// It cannot be started.
pub(crate) fn run(what: &Run) -> Result<Value> {
    let beside = (!what.beside.is_empty()).then(|| start(what, &what.beside, "beside")).transpose()?;
    let process = beside.as_ref().map(|child| child.id().to_string()).unwrap_or_default();
    let argv: Vec<String> = what.argv.iter().map(|word| word.replace("{}", &process)).collect();
    let begun = Instant::now();
    let mut child = start(what, &argv, "said")?;
    let all = what.meanwhile.clone();
    let writer = thread::spawn(move || {
        for Meanwhile { after_ms, path, text } in all {
            thread::sleep(Duration::from_millis(after_ms).saturating_sub(begun.elapsed()));
            // What the machine refuses shows in the result.
            let _ = fs::write(path, text);
        }
    });
    let (status, late) = wait(&mut child, Duration::from_secs(what.limit_s))?;
    let seconds = begun.elapsed().as_secs_f64();
    let _ = writer.join();
    if let Some(mut beside) = beside {
        beside.kill()?;
        beside.wait()?;
    }
    let result = what.result.as_ref().and_then(|path| fs::read(path).ok());
    let mut result: Option<Value> = result.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    if let Some(all) = result.as_mut().and_then(Value::as_object_mut).filter(|_| !what.fields.is_empty()) {
        all.retain(|name, _| what.fields.contains(name));
    }
    Ok(json!({
        "status": status.code(), "ended": status.to_string(), "late": late, "seconds": seconds,
        "said": said(), "result": result,
    }))
}

fn start(what: &Run, argv: &[String], output: &str) -> Result<Child> {
    let (program, rest) = argv.split_first().context("a command without words")?;
    let output = File::create(format!("/run/{output}"))?;
    let mut command = Command::new(program);
    command.args(rest).envs(&what.environment).current_dir("/tmp").stdin(Stdio::null());
    command.env("PATH", "/bin").env("HOME", "/tmp").env("DWELL_STORE", "off");
    command.stdout(output.try_clone()?).stderr(output);
    if let Some(user) = what.user {
        command.uid(user).gid(user);
    }
    command.spawn().with_context(|| format!("cannot start {program}"))
}

/// Its end, and whether it had to be asked for it.
fn wait(child: &mut Child, limit: Duration) -> Result<(ExitStatus, bool)> {
    let begun = Instant::now();
    let mut asked = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((status, asked));
        }
        let passed = begun.elapsed();
        if passed > limit && !asked {
            asked = true;
            if let Some(process) = Pid::from_raw(child.id().cast_signed()) {
                let _ = kill_process(process, Signal::INT);
            }
        }
        if passed > limit + PATIENCE {
            child.kill()?;
        }
        thread::sleep(PAUSE);
    }
}

/// The end of what it said.
fn said() -> String {
    let bytes = fs::read("/run/said").unwrap_or_default();
    String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(SAID_MAX)..]).into_owned()
}
