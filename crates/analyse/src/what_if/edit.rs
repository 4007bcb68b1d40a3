//! Edits as people type them: `fsync=0`, `'tcp 10.0.0.7:5432'=1ms`, `cpus=8`.
//!
//! What such a name is in a recording is up to [`super::sites`].

use model::units::{duration_ns, percent};
use model::{Ns, State};

/// One edit.
#[derive(Debug, Clone, PartialEq)]
pub struct Edit {
    /// As it was typed.
    pub text: String,
    /// What changes.
    pub change: Change,
}

/// What an edit changes.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// The time of something.
    Time(SiteName, Becomes),
    /// The number of CPUs.
    Cpus(u32),
    /// The quota of the control group goes.
    NoQuota,
}

/// Something that takes time, by the name that an edit gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SiteName {
    /// A system call.
    Call(String),
    /// All futex locks.
    Locks,
    /// One futex, by its address, in whichever process.
    Lock(u64),
    /// A peer, as the page names it: `tcp 10.0.0.7:5432`.
    Peer(String),
    /// Answers to name lookups.
    NameLookups,
    /// A file, by its path.
    File(String),
    /// Processes that execute a program of this name.
    Program(String),
    /// A function, with what it calls: its user time.
    Function(String),
    /// All time in a state: one of [`STATES`].
    State(State),
}

/// What its time becomes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Becomes {
    /// A factor of what it was.
    Times(f64),
    /// A longest duration for each operation.
    AtMost(Ns),
}

/// States that have a name in edits.
pub const STATES: [State; 5] = [State::Sleep, State::Disk, State::Fault, State::Runqueue, State::Network];

/// The most CPUs that can be asked for.
const CPUS: u32 = 4096;
/// The largest factor.
const TIMES: f64 = 1000.0;

/// A text that is no edit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAnEdit {
    /// It has no value, or no name.
    #[error(
        "not an edit: {0:?}; it takes NAME=VALUE\ntry: fsync=0, lock=0, 'tcp 10.0.0.7:5432'=1ms, file:/path=0, \
         program:NAME=0, user:FUNCTION=0.5, sleep=0, cpus=8 or quota=none"
    )]
    Form(String),
    /// Its value is of no use to what it names.
    #[error("not an edit: {text:?}: {value:?} is no value for {name:?}\ntry: {try_}")]
    Value {
        /// All of it.
        text: String,
        /// Its name.
        name: String,
        /// Its value.
        value: String,
        /// Values that are.
        try_: String,
    },
    /// It names a lock by what is no address.
    #[error(
        "not an edit: {0:?}: a lock is named by its address\ntry: lock:0x7f01a2b3c4d0=0, or lock=0 for all"
    )]
    Address(String),
}

impl Edit {
    /// Reads one.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(text: &str) -> Result<Self, NotAnEdit> {
        let form = || NotAnEdit::Form(text.to_owned());
        // A file's name may have any character.
        let (name, value) = text.rsplit_once('=').ok_or_else(form)?;
        if name.is_empty() || value.is_empty() {
            return Err(form());
        }
        let given = Given { text, name, value };
        let change = match name {
            "cpus" => Change::Cpus(given.cpus()?),
            "quota" if value == "none" => Change::NoQuota,
            "quota" => return Err(given.no_value("quota=none")),
            _ => {
                let site = site(name).ok_or_else(|| match name.strip_prefix("lock:") {
                    Some(_) => NotAnEdit::Address(text.to_owned()),
                    None => form(),
                })?;
                let becomes = given.becomes(&site)?;
                Change::Time(site, becomes)
            }
        };
        Ok(Self { text: text.to_owned(), change })
    }

    /// The function whose samples it needs.
    pub(crate) fn function(&self) -> Option<&str> {
        match &self.change {
            Change::Time(SiteName::Function(name), _) => Some(name),
            _ => None,
        }
    }
}

fn site(name: &str) -> Option<SiteName> {
    let after = |prefix: &str| name.strip_prefix(prefix).filter(|rest: &&str| !rest.is_empty());
    let state = STATES.into_iter().find(|state| state.name() == name);
    let is_peer = ["tcp ", "udp ", "unix "].into_iter().any(|kind| after(kind).is_some());
    Some(match name {
        "lock" => SiteName::Locks,
        "name-lookups" => SiteName::NameLookups,
        _ if let Some(state) = state => SiteName::State(state),
        _ if let Some(address) = after("lock:") => SiteName::Lock(address_of(address)?),
        _ if let Some(path) = after("file:") => SiteName::File(path.to_owned()),
        _ if let Some(program) = after("program:") => SiteName::Program(program.to_owned()),
        _ if let Some(function) = after("user:") => SiteName::Function(function.to_owned()),
        _ if is_peer => SiteName::Peer(name.to_owned()),
        _ if is_call(name) => SiteName::Call(name.to_owned()),
        _ => return None,
    })
}

/// `read`, `32:read` of the 32-bit table, `call 999`.
fn is_call(name: &str) -> bool {
    let name = name.strip_prefix("32:").unwrap_or(name);
    name.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | ' '))
}

fn address_of(text: &str) -> Option<u64> {
    let address = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    address.ok().filter(|address| *address != 0)
}

/// An edit in its parts.
#[derive(Clone, Copy)]
struct Given<'a> {
    text: &'a str,
    name: &'a str,
    value: &'a str,
}

impl Given<'_> {
    fn no_value(self, try_: &str) -> NotAnEdit {
        let own = |text: &str| text.to_owned();
        NotAnEdit::Value {
            text: own(self.text),
            name: own(self.name),
            value: own(self.value),
            try_: own(try_),
        }
    }

    fn cpus(self) -> Result<u32, NotAnEdit> {
        let cpus = self.value.parse().ok().filter(|cpus| (1..=CPUS).contains(cpus));
        cpus.ok_or_else(|| self.no_value(&format!("a number from 1 to {CPUS}: cpus=8")))
    }

    fn becomes(self, site: &SiteName) -> Result<Becomes, NotAnEdit> {
        let Self { name, value, .. } = self;
        let number = percent(value).map(|percent| percent / 100.0).or_else(|| value.parse().ok());
        let times = number.filter(|times| (0.0..=TIMES).contains(times)).map(Becomes::Times);
        if matches!(site, SiteName::Program(_) | SiteName::Function(_)) {
            return times.ok_or_else(|| self.no_value(&format!("a factor: {name}=0.5")));
        }
        let at_most = || duration_ns(value).ok().map(Becomes::AtMost);
        times.or_else(at_most).ok_or_else(|| {
            self.no_value(&format!("a factor ({name}=0, {name}=0.5) or a duration ({name}=1ms)"))
        })
    }
}

impl SiteName {
    /// What kind of thing it names, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            SiteName::Call(_) => "system call",
            SiteName::Locks | SiteName::Lock(_) => "futex lock",
            SiteName::Peer(_) => "peer",
            SiteName::NameLookups => "name lookup",
            SiteName::File(_) => "file",
            SiteName::Program(_) => "program",
            SiteName::Function(_) => "function",
            SiteName::State(_) => "state",
        }
    }
}

impl Becomes {
    /// What becomes of one operation of this length.
    pub(crate) fn of(self, ns: Ns) -> Ns {
        match self {
            Becomes::Times(times) => scaled(ns, times),
            Becomes::AtMost(most) => ns.min(most),
        }
    }
}

/// A length times a factor.
pub(crate) fn scaled(ns: Ns, times: f64) -> Ns {
    (ns as f64 * times).round() as Ns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(text: &str) -> Change {
        Edit::read(text).unwrap_or_else(|error| panic!("{text}: {error}")).change
    }

    #[test]
    fn each_form_is_read() {
        let times = |site, times| Change::Time(site, Becomes::Times(times));
        let own = str::to_owned;
        for (text, expected) in [
            ("fsync=0", times(SiteName::Call(own("fsync")), 0.0)),
            ("32:read=50%", times(SiteName::Call(own("32:read")), 0.5)),
            ("lock=0", times(SiteName::Locks, 0.0)),
            ("lock:0x7f00=0.25", times(SiteName::Lock(0x7f00), 0.25)),
            ("tcp 10.0.0.7:5432=0", times(SiteName::Peer(own("tcp 10.0.0.7:5432")), 0.0)),
            ("file:/a=b=2", times(SiteName::File(own("/a=b")), 2.0)),
            ("program:cc1=0", times(SiteName::Program(own("cc1")), 0.0)),
            ("user:operator==(A, B)=0.5", times(SiteName::Function(own("operator==(A, B)")), 0.5)),
            ("sleep=0", times(SiteName::State(State::Sleep), 0.0)),
            ("runqueue=0", times(SiteName::State(State::Runqueue), 0.0)),
            ("name-lookups=0", times(SiteName::NameLookups, 0.0)),
            ("cpus=8", Change::Cpus(8)),
            ("quota=none", Change::NoQuota),
        ] {
            assert_eq!(change(text), expected, "{text}");
        }
        assert_eq!(
            change("fsync=1ms"),
            Change::Time(SiteName::Call(own("fsync")), Becomes::AtMost(1_000_000))
        );
    }

    #[test]
    fn what_is_no_edit_says_what_is() {
        for (text, said) in [
            ("fsync", "it takes NAME=VALUE"),
            ("=0", "it takes NAME=VALUE"),
            ("fsync=", "it takes NAME=VALUE"),
            ("rec/run.dwell=0", "it takes NAME=VALUE"),
            ("fsync=fast", "fsync=0.5) or a duration (fsync=1ms)"),
            ("fsync=-1", "\"-1\" is no value for \"fsync\""),
            ("fsync=NaN", "\"NaN\" is no value"),
            ("program:cc=1ms", "a factor: program:cc=0.5"),
            ("user:f=1ms", "a factor: user:f=0.5"),
            ("cpus=0", "from 1 to 4096"),
            ("cpus=0.5", "from 1 to 4096"),
            ("quota=2", "quota=none"),
            ("lock:mutex=0", "named by its address"),
            ("file:=0", "it takes NAME=VALUE"),
        ] {
            let error = Edit::read(text).expect_err(text).to_string();
            assert!(error.contains(said) && error.contains("try: "), "{text}: {error}");
        }
    }

    #[test]
    fn a_length_becomes_a_part_of_itself_or_is_cut() {
        assert_eq!(
            [Becomes::Times(0.0), Becomes::Times(0.5), Becomes::AtMost(3)].map(|to| to.of(9)),
            [0, 5, 3]
        );
        assert_eq!(Becomes::AtMost(30).of(9), 9);
    }
}
