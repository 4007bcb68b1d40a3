//! Names that are another in each run although they mean the same: of temporary files, of what has
//! a number of its own, of what lies at an address.
//!
//! A row is matched by its key as it is. Only where one side lacks it, parts of its name that look
//! as if a program had made them up are replaced by `*`, and it is added to the rows of either side
//! that then have the same key.

use model::network::Endpoint;
use model::wait::{TargetKind, WaitTarget};
use model::{Reason, Seen};

/// What stands for a part that was made up.
const ANY: &str = "*";
/// Of words that are made up at random, the shortest: mkstemp(3) replaces six characters.
const RANDOM_MIN: usize = 6;
/// Outside of places where names are made up, shorter numbers are part of a name.
const DIGITS_MIN: usize = 5;
/// Directories in which names are made up.
const TRANSIENT: [&str; 8] = ["tmp", "temp", ".tmp", ".temp", "shm", "proc", "run", "pts"];
/// Ports from here on are given out by the kernel (`net.ipv4.ip_local_port_range`).
const EPHEMERAL: u16 = 32_768;

/// The key without what was made up; none where nothing was.
pub(super) trait Varying: Sized {
    fn constant(&self) -> Option<Self>;
}

impl Varying for Reason {
    fn constant(&self) -> Option<Self> {
        match self {
            Reason::Wait(call, on) => Some(Reason::Wait(call.clone(), on.constant()?)),
            Reason::PreemptedByOwn(name) => Some(Reason::PreemptedByOwn(numbered(name)?)),
            _ => None,
        }
    }
}

impl Varying for WaitTarget {
    fn constant(&self) -> Option<Self> {
        let named = |name: &Seen<String>| name.value().and_then(|name| path(name)).map(Seen::Value);
        Some(match self {
            WaitTarget::File(name) => WaitTarget::File(named(name)?),
            WaitTarget::Unix(name) => WaitTarget::Unix(named(name)?),
            WaitTarget::Pipe(name) => WaitTarget::Pipe(named(name)?),
            WaitTarget::Tty(name) => WaitTarget::Tty(named(name)?),
            WaitTarget::Child(name) => WaitTarget::Child(Seen::Value(numbered(name.value()?)?)),
            WaitTarget::Task(name) => WaitTarget::Task(numbered(name)?),
            WaitTarget::Tcp(end) => WaitTarget::Other(TargetKind::Tcp, Seen::Value(any_port(end)?)),
            WaitTarget::Udp(end) => WaitTarget::Other(TargetKind::Udp, Seen::Value(any_port(end)?)),
            _ => return None,
        })
    }
}

/// A peer as a table of connections has it: an address, mostly with a port.
pub(super) fn peer(remote: &str) -> Option<String> {
    any_port(&Endpoint::read(remote)?)
}

/// A thread or process with its number replaced.
pub(super) fn numbered(name: &str) -> Option<String> {
    replaced(name, digits)
}

/// The reason as it means the same in any run: a futex is an address, and who had the CPU instead
/// is chance.
pub(super) fn of_any_run(reason: &Reason) -> Reason {
    match reason {
        Reason::Wait(call, on) => Reason::Wait(call.clone(), target_of_any_run(on)),
        Reason::Preempted(_) => Reason::Preempted(OTHERS.to_owned()),
        other => other.clone(),
    }
}

/// No task of Linux can have a name of that length.
const OTHERS: &str = "other programs";

/// The same of a wait target.
pub(crate) fn target_of_any_run(on: &WaitTarget) -> WaitTarget {
    match on {
        WaitTarget::Futex(Seen::Value(_)) => WaitTarget::Futex(Seen::Absent),
        other => other.clone(),
    }
}

/// `127.0.0.1:*` for a port that the kernel chose.
fn any_port(end: &Endpoint) -> Option<String> {
    let text = end.to_string();
    let (address, _) = text.rsplit_once(':').filter(|_| end.port >= EPHEMERAL)?;
    Some(format!("{address}:{ANY}"))
}

/// A path, or a name that is none, with the made-up parts replaced.
fn path(name: &str) -> Option<String> {
    let transient = !name.contains('/') || name.split('/').any(|part| TRANSIENT.contains(&part));
    replaced(name, |word| made_up(word, transient))
}

/// The text with the words replaced for which `is` holds; none where it holds for none. A word is
/// of letters, digits and `_`.
fn replaced(name: &str, is: impl Fn(&str) -> bool) -> Option<String> {
    let mut made = String::with_capacity(name.len());
    let mut any = false;
    let mut put = |word: &str, made: &mut String| {
        let replace = !word.is_empty() && is(word);
        any |= replace;
        made.push_str(if replace { ANY } else { word });
    };
    let mut rest = name;
    while let Some(at) = rest.find(|char: char| !char.is_alphanumeric() && char != '_') {
        put(&rest[..at], &mut made);
        let length = rest[at..].chars().next().map_or(1, char::len_utf8);
        made.push_str(&rest[at..at + length]);
        rest = &rest[at + length..];
    }
    put(rest, &mut made);
    any.then_some(made)
}

fn made_up(word: &str, transient: bool) -> bool {
    if digits(word) {
        return transient || word.len() >= DIGITS_MIN;
    }
    if word.len() < RANDOM_MIN {
        return false;
    }
    let has = |is: fn(&char) -> bool| word.chars().any(|char| is(&char));
    let (digit, lower, upper) =
        (has(char::is_ascii_digit), has(char::is_ascii_lowercase), has(char::is_ascii_uppercase));
    // Python's have no capitals.
    let python = word.len() > RANDOM_MIN && word.starts_with("tmp");
    digit && (lower || upper) || transient && (lower && upper || python)
}

fn digits(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::wait::WaitCall;

    #[test]
    fn what_programs_make_up_is_told_from_names() {
        for (name, without) in [
            // mktemp(1), mkstemp(3) as gcc uses it, Python's tempfile.
            ("/tmp/tmp.k3JfQx81Zb", Some("/tmp/tmp.*")),
            ("/tmp/ccQzXwAb.s", Some("/tmp/*.s")),
            ("/var/tmp/tmpabcdefgh/out.txt", Some("/var/tmp/*/out.txt")),
            ("/srv/data/sortA8fj2K", Some("/srv/data/*")),
            ("/proc/4321/stat", Some("/proc/*/stat")),
            ("/home/a/.lock.123456", Some("/home/a/.lock.*")),
            // Names.
            ("/srv/data/OldInput.csv", None),
            ("/srv/data/2024.csv", None),
            ("/usr/lib/libc.so.6", None),
            ("/tmp/cache/index", None),
            ("", None),
        ] {
            assert_eq!(path(name).as_deref(), without, "{name}");
        }
        assert_eq!(numbered("kworker/0:1").as_deref(), Some("kworker/*:*"));
        assert_eq!(numbered("worker"), None);
    }

    #[test]
    fn ports_that_the_kernel_chose_mean_nothing() {
        let tcp = |text: &str| WaitTarget::Tcp(Endpoint::read(text).unwrap());
        assert_eq!(tcp("127.0.0.1:40123").constant(), tcp("127.0.0.1:51234").constant());
        assert_eq!(tcp("127.0.0.1:5432").constant(), None);
        assert_eq!(peer("[::1]:40000").as_deref(), Some("[::1]:*"));
        assert_eq!(peer("192.0.2.1"), None);
    }

    #[test]
    fn an_address_and_who_had_the_cpu_are_no_part_of_a_reason() {
        let lock = |at: u64| {
            let on = WaitTarget::Futex(Seen::Value(at));
            of_any_run(&Reason::Wait(WaitCall::Syscall("futex".into()), on))
        };
        assert_eq!(lock(1), lock(2));
        let ran = |name: &str| of_any_run(&Reason::Preempted(name.into()));
        assert_eq!(ran("a"), ran("b"));
    }
}
