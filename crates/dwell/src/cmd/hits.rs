//! `dwell run --hits`: exact executions of each line of a Python program, by the interpreter's own
//! monitoring.
//!
//! It measures no times: Python calls a function for each line. The code that runs inside Python is
//! in `hits/`.

use crate::cli::RunArgs;
use crate::cmd::count::{counts_only, outputs, words};
use crate::exit;
use crate::keep::ResultStore;
use crate::output;
use anyhow::{Context, bail};
use counts::{Counts, Function};
use exchange::Exchange;
use model::hits::{FunctionLine, HitFunction, Hits, HotLine, OtherLines, SCHEMA_HITS};
use model::recording::{Ending, WindowEnd};
use observe::targets::tree_ignores;
use observe::{LeftProgram, Sources};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use sys::clock::{monotonic_ns, rfc3339, unix_s};
use sys::policy::RtBoost;
use sys::poll;
use sys::rights;
use sys::signals::Signals;
use sys::spawn::{Command, HeldProgram, Patience};
use sys::untrusted_file::Rights;
use sys::user::User;

mod counts;
mod exchange;

/// Lines in the table, functions of one name that are shown whole, lines of each, and the
/// characters of a line: no page has more of one.
const TABLE: usize = 20;
const FUNCTIONS: usize = 5;
const LINES: u32 = 2_000;
const COLUMNS: usize = 400;

/// Runs the program and counts; returns the exit status. `asked` is the function, empty for the
/// table only.
pub(crate) fn run(args: &RunArgs, asked: &str, keeper: &mut ResultStore) -> anyhow::Result<u8> {
    counts_only("--hits", args)?;
    rights::give_up();
    // Opening waits for the reader of a pipe: a signal ends that.
    let outputs = outputs::<Hits>(args)?;
    let mut signals = Signals::take_over().context("cannot handle signals")?;
    let user = args.user.as_deref().map(User::look_up).transpose()?;
    let (program, arguments) = args.command.split_first().context("no program")?;
    if let Some(option) = isolating(program, arguments) {
        bail!("{option} keeps Python from loading the counting module\ntry: without {option}");
    }
    let exchange = Exchange::make()?;
    let rights = user.as_ref().map_or_else(Rights::own, Rights::of_user);
    let command = Command { program: program.clone(), args: arguments.to_vec(), user };
    let held = HeldProgram::spawn_with(
        &command,
        &[("PYTHONPATH".into(), python_path(exchange.path(), command.user.as_ref())?)],
    )
    .map_err(observe::Error::Start)?;
    let root = held.pid();
    // From this file a Python process knows whether it is the program itself.
    exchange.write("root", &root.to_string())?;
    // Only now: what its owner makes of it is not written to any more.
    command.user.as_ref().map_or(Ok(()), |user| exchange.give(user))?;
    let (started_at, begun_ns) = (rfc3339(unix_s()), monotonic_ns());
    let end = wait(held, &mut signals)?;
    let elapsed_ns = monotonic_ns() - begun_ns;
    signals.outlast_one();
    let _hurry = end.asked.then(RtBoost::begin);
    output::complain_of_left(end.left, "counted");

    let counts = Counts::read(exchange.opened(), root)?;
    let sources = Sources::of(rights, &BTreeSet::new());
    if let Some(why) = &counts.refused {
        bail!("{}\n{NEWER}", report::clean(why, false));
    }
    let status = exit::of_left(end.left, exit::of_program(end.ending));
    if counts.versions.is_empty() {
        // The program may have succeeded, but there are no counts.
        let (why, remedy) = nothing(&counts);
        output::complain(&format!("nothing was counted: {}\n{remedy}", report::clean(&why, false)));
        return Ok(if status == 0 { exit::DWELL_FAILED } else { status });
    }
    let table = table(&counts, &sources);
    let result = Hits {
        schema: SCHEMA_HITS.to_owned(),
        host: observe::this_host(),
        started_at,
        command: words(args),
        function: (!asked.is_empty()).then(|| asked.to_owned()),
        functions: functions(&counts, asked)
            .into_iter()
            .map(|(function, lines)| whole(function, lines, &sources))
            .collect(),
        lines: table.lines,
        other: table.other,
        import_hits: table.import_hits,
        hits: counts.total(),
        versions: counts.versions,
        elapsed_ns,
        went_on: end.left.is_some(),
        lost: counts.lost,
        disturbed: counts.disturbed,
        uncounted: counts.uncounted,
    };
    let mut failed = outputs.write(&result, &args.page.look).complain();
    keeper.offer(&result, None);
    if !asked.is_empty() && result.functions.is_empty() {
        output::complain(&format!("no function called {asked:?} was executed\ntry: a name from the table"));
        failed = true;
    }
    Ok(if status == 0 && failed { exit::DWELL_FAILED } else { status })
}

const NEWER: &str = "try: a newer Python (3.12 or later), as in: dwell run --hits python3.13 script.py";
const PLAIN: &str =
    "try: a Python program, without -I, -E and -S, as in: dwell run --hits python3.13 script.py";

/// The option before the script that makes Python ignore PYTHONPATH or `sitecustomize`, if any.
fn isolating(program: &OsStr, arguments: &[OsString]) -> Option<String> {
    let name = Path::new(program).file_name()?.as_bytes();
    if !name.starts_with(b"python") {
        return None;
    }
    let mut arguments = arguments.iter().map(|argument| argument.to_string_lossy());
    while let Some(argument) = arguments.next() {
        let letters = argument.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
        for (at, letter) in letters.char_indices() {
            match letter {
                'I' | 'E' | 'S' => return Some(format!("-{letter}")),
                'c' | 'm' => return None,
                'X' | 'W' => {
                    if at + 1 == letters.len() {
                        arguments.next();
                    }
                    break;
                }
                _ => {}
            }
        }
        if letters.is_empty() {
            return None;
        }
    }
    None
}

/// `PYTHONPATH` with the directory in front of its present value, which another user does not get.
fn python_path(directory: &Path, user: Option<&User>) -> anyhow::Result<OsString> {
    if directory.as_os_str().as_bytes().contains(&b':') {
        bail!("cannot add {directory:?} to PYTHONPATH: it contains a colon\ntry: TMPDIR=/tmp");
    }
    let mut path = directory.as_os_str().to_owned();
    let own = user.is_none_or(|user| !user.is_another());
    if let Some(before) = env::var_os("PYTHONPATH").filter(|before| own && !before.is_empty()) {
        path.push(":");
        path.push(before);
    }
    Ok(path)
}

/// How the counting ended.
struct CountingEnd {
    /// That of the program, or of the window in which it was counted.
    ending: Ending,
    /// The program, if it goes on in spite of a signal.
    left: Option<LeftProgram>,
    /// A signal asked for the end.
    asked: bool,
}

/// Starts the held program and waits for its end, passing on signals; or until it goes on in spite
/// of one that asked for its end.
fn wait(held: HeldProgram, signals: &mut Signals) -> anyhow::Result<CountingEnd> {
    let mut running = held.release().map_err(observe::Error::Start)?;
    let pid = running.pid();
    let mut patience = Patience::default();
    loop {
        let asked = running.asked_to_end();
        let most = asked.and_then(|asked| patience.left(&asked, monotonic_ns()));
        let ready = poll::wait(&[signals.as_fd(), running.as_fd()], most).context("cannot wait")?;
        if ready.contains(&true)
            && let Some(ended) = running.attend(signals).context("cannot wait for the program")?
        {
            let asked = running.was_asked_to_end();
            return Ok(CountingEnd { ending: ended.ending, left: None, asked });
        }
        if let Some(asked) = running.asked_to_end()
            && patience.is_over(&asked, monotonic_ns(), || tree_ignores(pid, asked.signal))
        {
            let left = Some(LeftProgram { pid, signal: asked.signal });
            return Ok(CountingEnd { ending: Ending::Window(WindowEnd::Signal), left, asked: true });
        }
    }
}

/// Why there are no counts, and the remedy.
fn nothing(counts: &Counts) -> (String, &'static str) {
    match counts.uncounted.keys().next() {
        Some(why) => (why.clone(), NEWER),
        None => ("no Python started, or it ignores PYTHONPATH".to_owned(), PLAIN),
    }
}

/// The functions whose qualified name, or its last part, is `asked`, with their lines; most hits
/// first.
fn functions<'a>(counts: &'a Counts, asked: &str) -> Vec<(&'a Function, &'a BTreeMap<u32, u64>)> {
    let named = |name: &str| name == asked || name.rsplit('.').next() == Some(asked);
    let mut found: Vec<_> =
        counts.functions.iter().filter(|(function, _)| !asked.is_empty() && named(&function.name)).collect();
    // A match of the qualified name takes precedence.
    if found.iter().any(|(function, _)| function.name == asked) {
        found.retain(|(function, _)| function.name == asked);
    }
    found.sort_by_key(|(_, lines)| std::cmp::Reverse(lines.values().sum::<u64>()));
    found.truncate(FUNCTIONS);
    found
}

/// The function from its first line to its last.
fn whole(function: &Function, hits: &BTreeMap<u32, u64>, sources: &Sources) -> HitFunction {
    let ends = (hits.keys().next(), hits.keys().next_back());
    let first = ends.0.map_or(function.first_line, |line| function.first_line.min(*line));
    let last = ends.1.map_or(first, |line| (*line).min(first.saturating_add(LINES)));
    let text = sources.text(&function.file).map(|source| source.text).unwrap_or_default();
    let mut source = text.lines().skip(first.saturating_sub(1) as usize);
    let lines = (first..=last)
        .map(|line| FunctionLine {
            line,
            // The line of the `def` is part of the function, but the surrounding code executes it.
            hits: hits.get(&line).copied().filter(|hits| *hits > 0 || line > function.first_line),
            source: source.next().map(text_of),
        })
        .collect();
    HitFunction { name: function.name.clone(), file: function.file.clone(), lines }
}

/// A line of a source, as much of it as a page may show.
fn text_of(line: &str) -> String {
    line.chars().take(COLUMNS).collect()
}

/// The lines with the most hits, and the rest.
struct Table {
    lines: Vec<HotLine>,
    other: OtherLines,
    import_hits: u64,
}

/// The lines with the most hits. Python's start-up and import system are only summed up.
fn table(counts: &Counts, sources: &Sources) -> Table {
    let mut lines: Vec<(u64, &Function, u32)> = Vec::new();
    for (function, of_function) in &counts.functions {
        let hit = of_function.iter().filter(|(_, hits)| **hits > 0);
        lines.extend(hit.map(|(line, hits)| (*hits, function, *line)));
    }
    let (mut own, frozen): (Vec<_>, Vec<_>) =
        lines.into_iter().partition(|(_, function, _)| !function.file.starts_with("<frozen "));
    own.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    let shown = if own.len() == TABLE + 1 { own.len() } else { own.len().min(TABLE) };
    let mut texts: BTreeMap<&str, Option<String>> = BTreeMap::new();
    let hot = own[..shown].iter().map(|(hits, function, line)| {
        let text = texts
            .entry(&function.file)
            .or_insert_with(|| sources.text(&function.file).map(|source| source.text));
        let nth = (*line as usize).saturating_sub(1);
        HotLine {
            file: function.file.clone(),
            line: *line,
            function: function.name.clone(),
            hits: *hits,
            source: text.as_deref().and_then(|text| text.lines().nth(nth)).map(str::trim).map(text_of),
        }
    });
    // The files are the program's: sums may be of any figures.
    let sum =
        |lines: &[(u64, &Function, u32)]| lines.iter().fold(0_u64, |sum, line| sum.saturating_add(line.0));
    Table {
        lines: hot.collect(),
        other: OtherLines { lines: (own.len() - shown) as u64, hits: sum(&own[shown..]) },
        import_hits: sum(&frozen),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn isolating_options_are_found_before_the_script_only() {
        let isolating = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            isolating(&words[0], &words[1..])
        };
        for (line, option) in [
            ("python3 -I a.py", Some("-I")),
            ("/usr/bin/python3.13 -uE a.py", Some("-E")),
            ("python -W error -bS a.py", Some("-S")),
            ("python3 -Xdev -s -c -I", None),
            ("python3 a.py -I", None),
            ("python3 -m mod -S", None),
            ("python3 -W E -X S a.py", None),
            ("python3 --version -I", None),
            ("python3 - -I", None),
            ("./tool -I", None),
        ] {
            assert_eq!(isolating(line).as_deref(), option, "{line}");
        }
    }
}
