//! Targets: processes by PID, name or tree, from `/proc`.

use model::{Pid, Tid};
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;

/// The properties by which a process is selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its PID.
    pub pid: Pid,
    /// Its parent's PID.
    pub parent: Pid,
    /// Its name (`comm`), up to 15 bytes.
    pub name: String,
}

/// All processes.
pub fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| process(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// This one, if it is alive: a zombie is not, unless it is the first thread of a process whose
/// others run on.
pub fn process(pid: Pid) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The name may contain anything, also parentheses.
    let (front, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let threads: u32 = fields.nth(15)?.parse().ok()?;
    let name = front.split_once('(')?.1.to_owned();
    (threads > 1 || !matches!(state, "Z" | "X")).then_some(Process { pid, parent, name })
}

/// The processes with this name, or with an executable of this name; if there are none, those that
/// run a script of this name (`server.py`); if there are none either, those of a version of it
/// (`python3.12` for `python`), or else the interpreters on whose command line it stands
/// (`shop:app`), if only by the file that it is (`/srv/shop.py`).
pub fn named(name: &str) -> Vec<Process> {
    let own = std::process::id();
    let all: Vec<Process> = processes().into_iter().filter(|process| process.pid != own).collect();
    let fits = |names: fn(&Process, &str) -> bool| -> Vec<Process> {
        all.iter().filter(|process| names(process, name)).cloned().collect()
    };
    let rules = [is_called, runs_script, is_version, stands_on_line];
    rules.into_iter().map(fits).find(|found| !found.is_empty()).unwrap_or_default()
}

fn executable(process: &Process) -> Option<String> {
    let exe = fs::read_link(format!("/proc/{}/exe", process.pid)).ok()?;
    Some(exe.file_name()?.to_str()?.to_owned())
}

fn is_called(process: &Process, name: &str) -> bool {
    process.name == name
        || executable(process).is_some_and(|file| file == name)
        || (name.starts_with('/')
            && fs::read_link(format!("/proc/{}/exe", process.pid)).is_ok_and(|file| file == Path::new(name)))
}

/// Whether its first argument that is no option is a script of this name. Of programs that are not
/// interpreters that is an ordinary file: an editor that has it open is not meant.
fn runs_script(process: &Process, name: &str) -> bool {
    let words = arguments(process.pid).unwrap_or_default();
    let interpreter = executable(process).unwrap_or_else(|| process.name.clone());
    runs_it(&interpreter, &words, name)
}

/// Programs that execute the script that is their argument.
const INTERPRETERS: &[&str] = &[
    "bash", "bun", "busybox", "dash", "deno", "java", "ksh", "lua", "node", "nodejs", "perl", "php", "pypy",
    "python", "Rscript", "ruby", "sh", "uv", "zsh",
];

fn is_interpreter(file: &str) -> bool {
    INTERPRETERS.iter().any(|known| file == *known || is_version_of(file, known))
}

fn runs_it(interpreter: &str, words: &[String], name: &str) -> bool {
    let base = |word: &str| word.rsplit('/').next() == Some(name);
    let script = words.iter().skip(1).find(|word| !word.starts_with('-'));
    is_interpreter(interpreter)
        && (script.is_some_and(|word| word == name || base(word))
            // java -jar, python -m, deno run: what follows is what people call it by.
            || words.windows(2).any(|two| ["-jar", "-m", "run"].contains(&two[0].as_str()) && base(&two[1])))
}

/// Whether it is an interpreter, and one of its arguments is this word, or the same file.
fn stands_on_line(process: &Process, name: &str) -> bool {
    let interpreter = executable(process).unwrap_or_else(|| process.name.clone());
    let within = fs::read_link(format!("/proc/{}/cwd", process.pid)).unwrap_or_default();
    is_interpreter(&interpreter)
        && arguments(process.pid).unwrap_or_default().iter().skip(1).any(|word| is_word(word, &within, name))
}

/// Whether an argument of a program that runs in a directory is what a name says: the word itself,
/// the file of a module (`shop:app` of `shop.py`), or their path.
fn is_word(word: &str, within: &Path, name: &str) -> bool {
    let module = word.split_once(':').map(|(module, _)| format!("{}.py", module.replace('.', "/")));
    let is = |file: &str| {
        file == name
            || file.rsplit('/').next() == Some(name)
            || (name.contains('/') && same_file(&within.join(file), Path::new(name)))
    };
    is(word) || module.is_some_and(|file| is(&file))
}

fn same_file(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| fs::canonicalize(path).or_else(|_| std::path::absolute(path)).ok();
    whole(one).is_some_and(|one| Some(one) == whole(other))
}

fn is_version(process: &Process, name: &str) -> bool {
    is_version_of(&process.name, name) || executable(process).is_some_and(|file| is_version_of(&file, name))
}

/// `python3.12` of `python`, `nginx-1.24` of `nginx`.
fn is_version_of(file: &str, name: &str) -> bool {
    let rest = file.strip_prefix(name).filter(|_| !name.is_empty()).unwrap_or_default();
    let number = rest.trim_start_matches('-');
    number.starts_with(|char: char| char.is_ascii_digit())
        && number.chars().all(|char| char.is_ascii_digit() || char == '.')
}

/// Who listens at a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listeners {
    /// Nobody.
    Nobody,
    /// Somebody whose descriptors this user may not read.
    Hidden,
    /// These processes.
    These(Vec<Process>),
}

/// The processes that have a TCP socket that listens at this port, or a UDP socket bound to it, in
/// dwell's network namespace.
pub fn listening(port: u16) -> Listeners {
    let tables = [("tcp", true), ("tcp6", true), ("udp", false), ("udp6", false)];
    let inodes: BTreeSet<u64> = tables
        .into_iter()
        .filter_map(|(table, tcp)| Some((fs::read_to_string(format!("/proc/net/{table}")).ok()?, tcp)))
        .flat_map(|(text, tcp)| bound(&text, port, tcp))
        .collect();
    if inodes.is_empty() {
        return Listeners::Nobody;
    }
    let own = std::process::id();
    let found: Vec<Process> = processes()
        .into_iter()
        .filter(|process| process.pid != own && has_socket(process.pid, &inodes))
        .collect();
    if found.is_empty() { Listeners::Hidden } else { Listeners::These(found) }
}

/// Inodes of the sockets of `/proc/net/tcp` or `udp` that are bound to a port; of TCP, those that
/// listen.
fn bound(table: &str, port: u16, tcp: bool) -> Vec<u64> {
    /// `TCP_LISTEN`.
    const LISTENS: &str = "0A";
    let inode = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (_, local) = fields.get(1)?.rsplit_once(':')?;
        let here = u16::from_str_radix(local, 16).ok()? == port && (!tcp || *fields.get(3)? == LISTENS);
        here.then(|| fields.get(9)?.parse().ok()).flatten()
    };
    table.lines().skip(1).filter_map(inode).collect()
}

fn has_socket(pid: Pid, inodes: &BTreeSet<u64>) -> bool {
    sockets(pid).any(|inode| inodes.contains(&inode))
}

/// Inodes of the sockets of a process.
pub(crate) fn sockets(pid: Pid) -> impl Iterator<Item = u64> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let socket = |link: std::path::PathBuf| -> Option<u64> {
        link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    entries.filter_map(move |entry| socket(fs::read_link(entry.path()).ok()?))
}

/// The topmost of these: those without an ancestor among them.
pub fn roots_of(some: &[Process]) -> Vec<&Process> {
    let parents: HashMap<Pid, Pid> =
        processes().iter().map(|process| (process.pid, process.parent)).collect();
    let all: BTreeSet<Pid> = some.iter().map(|process| process.pid).collect();
    let descends = |process: &&Process| {
        let mut at = process.parent;
        // A PID may be reused in the meantime: at most as many steps as processes.
        for _ in 0..=parents.len() {
            if all.contains(&at) {
                return true;
            }
            match parents.get(&at) {
                Some(parent) => at = *parent,
                None => return false,
            }
        }
        false
    };
    some.iter().filter(|process| !descends(process)).collect()
}

/// The living ones of these processes, and all their descendants.
pub(crate) fn trees(roots: &[Pid]) -> Vec<Pid> {
    let mut children: HashMap<Pid, Vec<Pid>> = HashMap::new();
    let mut alive = BTreeSet::new();
    for process in processes() {
        alive.insert(process.pid);
        children.entry(process.parent).or_default().push(process.pid);
    }
    let mut found = BTreeSet::new();
    let mut next: Vec<Pid> = roots.to_vec();
    while let Some(pid) = next.pop() {
        if found.insert(pid) {
            next.extend(children.get(&pid).into_iter().flatten());
        }
    }
    found.intersection(&alive).copied().collect()
}

/// The descendants of a process.
pub fn descendants(pid: Pid) -> Vec<Pid> {
    trees(&[pid]).into_iter().filter(|other| *other != pid).collect()
}

/// Whether all of these processes ignore a signal.
pub(crate) fn all_ignore(processes: &[Pid], signal: i32) -> bool {
    let known: Vec<bool> = processes
        .iter()
        .filter_map(|pid| host::own::is_ignored_by(host::here().proc, *pid, signal))
        .collect();
    !known.is_empty() && known.iter().all(|ignored| *ignored)
}

/// Whether a process and all its descendants ignore a signal.
pub fn tree_ignores(root: Pid, signal: i32) -> bool {
    all_ignore(&trees(&[root]), signal)
}

/// The threads of a process; none when it has exited.
pub(crate) fn threads(pid: Pid) -> Vec<Tid> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A process's command line, or its name in brackets where it has none.
pub fn command(pid: Pid) -> Vec<String> {
    arguments(pid).unwrap_or_else(|| {
        let name = process(pid).map(|process| process.name).unwrap_or_default();
        vec![format!("[{name}]")]
    })
}

/// A process's arguments; none where it has none, or is gone.
pub(crate) fn arguments(pid: Pid) -> Option<Vec<String>> {
    let text = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    // Programs that write a title there leave zeros behind it.
    let end = text.iter().rposition(|byte| *byte != 0)? + 1;
    let words = text[..end].split(|byte| *byte == 0);
    Some(words.map(|word| String::from_utf8_lossy(word).into_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn scripts_are_found_by_their_name_and_only_behind_an_interpreter() {
        let runs = |line: &str, name: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            runs_it(&words[0], &words, name)
        };
        for line in [
            "python3 server.py",
            "python3.12 -u /srv/server.py --port 1",
            "node server.py",
            "python -m server.py",
        ] {
            assert!(runs(line, "server.py"), "{line}");
        }
        for line in [
            "vim server.py",
            "python3 other.py server.py",
            "python3 -u",
            "python3x server.py",
            "tail server.py",
        ] {
            assert!(!runs(line, "server.py"), "{line}");
        }
        assert!(runs("java -Xmx1g -jar /opt/app.jar", "app.jar"));
    }

    #[test]
    fn a_word_of_a_command_line_is_found_as_people_write_it() {
        let directory = tempfile::tempdir().unwrap();
        let within = directory.path();
        fs::write(within.join("serv.py"), "").unwrap();
        let is = |word: &str, name: &str| is_word(word, within, name);
        assert!(is("shop:app", "shop:app") && is("shop:app", "shop.py") && is("web.shop:app", "shop.py"));
        assert!(is("serv.py", within.join("serv.py").to_str().unwrap()));
        assert!(is("./serv.py", "serv.py"));
        assert!(!is("shop:app", "app") && !is("shop:app", "op.py") && !is("serv.py", "/serv.py"));
    }

    #[test]
    fn a_version_is_a_name_and_a_number() {
        for file in ["python3", "python3.12", "python-3"] {
            assert!(is_version_of(file, "python"), "{file}");
        }
        for file in ["python", "python3-config", "pythonista", "py", ""] {
            assert!(!is_version_of(file, "python"), "{file}");
        }
        assert!(!is_version_of("123", ""));
    }

    #[test]
    fn a_port_is_that_of_a_socket_that_listens() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
                     0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4711 1 x\n   \
                     1: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000 0 0 4712 1 x\n";
        assert_eq!(bound(table, 8080, true), [4711]);
        assert_eq!(bound(table, 8080, false), [4711, 4712]);
        assert!(bound(table, 8081, true).is_empty());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        // Its process is this one, which is left out as dwell's own is.
        assert_eq!(listening(listener.local_addr().unwrap().port()), Listeners::Hidden);
        assert_eq!(listening(1), Listeners::Nobody);
    }

    #[test]
    fn a_child_is_found_by_its_parent_and_no_longer_when_it_is_a_zombie() {
        let mut child = Command::new("sleep").arg("100").spawn().unwrap();
        let own = std::process::id();
        assert_eq!(process(child.id()).unwrap().parent, own);
        assert!(trees(&[own]).contains(&child.id()));
        // `spawn` returns as soon as the child has its own memory, before its arguments are set.
        while command(child.id()) == ["[sleep]"] {
            std::thread::yield_now();
        }
        assert_eq!(command(child.id()), ["sleep", "100"]);
        let both = [process(own).unwrap(), process(child.id()).unwrap()];
        assert_eq!(roots_of(&both), [&both[0]]);
        assert!(named("sleep").iter().any(|process| process.pid == child.id()));
        child.kill().unwrap();
        while process(child.id()).is_some() {
            std::thread::yield_now();
        }
        assert!(!trees(&[own]).contains(&child.id()));
        child.wait().unwrap();
    }
}
