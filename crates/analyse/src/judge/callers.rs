//! Where in the program's own code time in system calls comes from: what a finding names.
//!
//! Samples in the kernel have its frames below those of the program. Which call they are of is told
//! by the function that the kernel begins it with, or by the C library's wrapper. Waits have only
//! the wrapper.

use super::Evidence;
use super::own_code::{is_door, is_linked};
use crate::code::{is_of_library, is_of_runtime};
use model::profile::{Activity, Frame, Profile, Weight};
use model::recording::Language;
use model::run::WaitRow;
use model::sentence::Piece::Name;
use model::wait::SyscallName;
use model::{Sentence, say};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// With fewer samples and waits the caller is not named.
const COUNT_MIN: u64 = 5;
/// A function is named that has this part of their time, and a line that has this part of the
/// function's.
const PART: u64 = 2;

impl Evidence<'_> {
    /// ` in load (app.py:12)`: the code that most of the time in these calls comes from. Empty
    /// where no function has half of it.
    pub(super) fn caller(&self, calls: &[&SyscallName]) -> Sentence {
        self.caller_of(calls, |weight| matches!(weight.doing, Activity::Kernel | Activity::Waiting(_)))
    }

    /// The same of such a wait in the call: by the threads that waited so, where they did.
    pub(super) fn caller_waiting(&self, wait: &WaitRow) -> Sentence {
        let waited = |tid| wait.threads.iter().any(|thread| thread.tid == tid);
        let call: Vec<_> = wait.call.syscall().into_iter().collect();
        self.caller_of(&call, |weight| {
            weight.doing == Activity::Waiting(wait.reason)
                && self.profile.threads.get(weight.thread as usize).is_some_and(|thread| waited(thread.tid))
        })
    }

    fn caller_of(&self, calls: &[&SyscallName], counts: impl Fn(&Weight) -> bool) -> Sentence {
        let calls = InCalls::new(self.profile, calls);
        let of_calls = |weight: &&Weight| counts(weight) && calls.holds(weight);
        most(&calls, self.profile.weights.iter().filter(of_calls)).unwrap_or_default()
    }
}

/// Which stacks are in some calls, or in their wrappers.
#[derive(Debug)]
pub(super) struct InCalls<'a> {
    profile: &'a Profile,
    /// Each by its name and what it has in common with the wrapper's.
    calls: Vec<(&'a str, &'a str)>,
    /// The stacks that were asked for, by their innermost node: many threads have the same.
    known: RefCell<FxHashMap<u32, bool>>,
}

impl<'a> InCalls<'a> {
    pub(super) fn new(profile: &'a Profile, calls: &[&'a SyscallName]) -> Self {
        let calls = calls.iter().map(|call| (&*call.name, stem(&call.name))).collect();
        Self { profile, calls, known: RefCell::default() }
    }

    pub(super) fn holds(&self, weight: &Weight) -> bool {
        let look = || is_in(self.profile, weight.node, &self.calls);
        *self.known.borrow_mut().entry(weight.node).or_insert_with(look)
    }

    /// The program's own code in a stack: the innermost script, else the innermost code that is in
    /// no library of the system, nor in one that is linked into the program.
    fn own(&self, node: u32) -> Option<&'a Frame> {
        let mut native = None;
        let mut frames = outwards(self.profile, node).filter(is_user).peekable();
        while let Some(frame) = frames.next() {
            if frame.language == Language::Python {
                return Some(frame);
            }
            let mut linked = || self.is_wrapper(frame) || is_linked(frame, frames.peek().copied());
            let library = frame.broke || is_of_library(&frame.module) || is_of_runtime(&frame.function);
            if native.is_none() && !library && !linked() {
                native = Some(frame);
            }
        }
        native
    }

    /// Whether this is the C library's function for one of the calls.
    fn is_wrapper(&self, frame: &Frame) -> bool {
        let wrapper = stem(&frame.function);
        self.calls.iter().any(|(_, stem)| *stem == wrapper)
    }
}

/// The frames of a stack, the innermost first.
fn outwards(profile: &Profile, node: u32) -> impl Iterator<Item = &Frame> {
    let nodes = std::iter::successors(profile.nodes.get(node as usize), |node| {
        profile.nodes.get(node.caller? as usize)
    });
    nodes.filter_map(|node| profile.frames.get(node.frame as usize))
}

fn is_user(frame: &&Frame) -> bool {
    frame.language != Language::Kernel
}

/// Whether a stack is in one of these calls, each by the kernel's function or its wrapper's.
fn is_in(profile: &Profile, node: u32, calls: &[(&str, &str)]) -> bool {
    for frame in outwards(profile, node) {
        if frame.language != Language::Kernel {
            if is_door(frame) {
                continue;
            }
            let wrapper = stem(&frame.function);
            return calls.iter().any(|(_, stem)| *stem == wrapper);
        }
        if calls.iter().any(|(call, _)| begins(&frame.function, call)) {
            return true;
        }
    }
    false
}

/// Whether the kernel begins a call with this function, or what it calls first, as
/// `__x64_sys_newstat` and `ksys_read`. Some calls have another name there (`SYSCALL_DEFINE` in
/// `fs/stat.c`, `kernel/sys.c`, `fs/namespace.c`, `fs/read_write.c`).
pub(super) fn begins(function: &str, call: &str) -> bool {
    let Some((_, name)) = function.rsplit_once("sys_") else { return false };
    let name = name.split('.').next().unwrap_or(name);
    let of = match call {
        "stat" => "newstat",
        "lstat" => "newlstat",
        "fstat" => "newfstat",
        "uname" => "newuname",
        "umount2" => "umount",
        "sendfile" => "sendfile64",
        _ => call,
    };
    name == of
}

/// What the name of a call and that of its wrapper have in common: `newfstatat` and `__fstatat64`.
fn stem(name: &str) -> &str {
    const STARTS: &[&str] = &["GI___libc_", "GI___", "GI_", "libc_", "new"];
    let name = name.trim_start_matches('_');
    let name = STARTS.iter().find_map(|start| name.strip_prefix(start)).unwrap_or(name);
    let name = name.strip_suffix("_nocancel").unwrap_or(name);
    let name = name.strip_suffix("64").unwrap_or(name);
    name.strip_suffix("at").filter(|stem| stem.len() > 2).unwrap_or(name)
}

/// The program's own function that has most of their time, and its line.
fn most<'a>(calls: &InCalls<'a>, weights: impl Iterator<Item = &'a Weight>) -> Option<Sentence> {
    let (mut all_ns, mut count) = (0, 0);
    let mut functions = FxHashMap::<&str, u64>::default();
    let mut lines = FxHashMap::<(&str, &str, u32), u64>::default();
    for weight in weights {
        all_ns += weight.ns;
        count += weight.count;
        let Some(frame) = calls.own(weight.node) else { continue };
        *functions.entry(&frame.function).or_default() += weight.ns;
        if let Some((file, line)) = frame.source.as_ref().filter(|(_, line)| *line > 0) {
            *lines.entry((&frame.function, file, *line)).or_default() += weight.ns;
        }
    }
    let (function, ns) = functions.into_iter().max_by_key(|(name, ns)| (*ns, *name))?;
    if count < COUNT_MIN || ns * PART < all_ns {
        return None;
    }
    let of_function = lines.into_iter().filter(|((of, ..), _)| *of == function);
    let line = of_function.max_by_key(|(line, ns)| (*ns, *line)).filter(|(_, of_line)| of_line * PART >= ns);
    let place = line.map(|((_, file, line), _)| {
        let file = file.rsplit('/').next().unwrap_or(file);
        say!(" (", Name(format!("{file}:{line}")), ")")
    });
    Some(say!(" in ", Name(function.to_owned())).and(place.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::file_samples::profile_of;
    use crate::judge::samples::run;
    use model::recording::Tier;
    use model::sentence::Piece;
    use model::{Sentence, State};

    fn text(sentence: &Sentence) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone().into_owned(),
            Piece::Name(name) => name.clone(),
            other => panic!("{other:?}"),
        };
        sentence.0.iter().map(piece).collect()
    }

    fn caller(stacks: &[(&[&str], u64)], call: &'static str) -> String {
        let run = run(&[(State::Kernel, 100)]);
        let profile = profile_of(Activity::Kernel, stacks);
        text(&Evidence::of(Tier::Bpf, &run, &profile).caller(&[&call.into()]))
    }

    #[test]
    fn the_innermost_code_outside_of_libraries_makes_the_call() {
        let read = ["main", "load@7", "libc:read", "k:do_syscall_64", "k:ksys_read", "k:vfs_read"];
        assert_eq!(caller(&[(&read, 9)], "read"), " in load (x.c:7)");
        assert_eq!(caller(&[(&read, 9)], "write"), "", "another call");
        assert_eq!(caller(&[(&read, 4)], "read"), "", "too few to tell");
        let script = ["main", "app.py:load@12", "python3.11+0x10", "libc:read", "k:ksys_read"];
        assert_eq!(caller(&[(&script, 9)], "read"), " in load (app.py:12)");
    }

    #[test]
    fn a_call_is_known_by_its_wrapper_where_the_kernel_was_at_its_door() {
        let entering = ["main@3", "libc:__fstatat64", "k:entry_SYSCALL_64_after_hwframe"];
        assert_eq!(caller(&[(&entering, 9)], "newfstatat"), " in main (x.c:3)");
        assert_eq!(caller(&[(&entering, 9)], "openat"), "");
    }

    #[test]
    fn a_call_is_known_by_the_function_that_the_kernel_begins_it_with() {
        for (function, call) in [
            ("__x64_sys_newstat", "stat"),
            ("__do_sys_newfstatat", "newfstatat"),
            ("__arm64_sys_newfstat", "fstat"),
            ("ksys_read", "read"),
            ("__se_sys_openat.constprop.0", "openat"),
            ("__x64_sys_sendfile64", "sendfile"),
        ] {
            assert!(begins(function, call), "{function} of {call}");
        }
        for (function, call) in
            [("__x64_sys_readlink", "read"), ("__x64_sys_newstat", "newfstatat"), ("vfs_read", "read")]
        {
            assert!(!begins(function, call), "{function} of {call}");
        }
        let musl = ["main", "load@7", "stat", "fstatat_kstat", "k:do_syscall_64", "k:__do_sys_newstat"];
        assert_eq!(caller(&[(&musl, 9)], "stat"), " in load (x.c:7)");
    }

    #[test]
    fn a_c_library_that_is_linked_in_is_no_code_of_the_program() {
        let musl = ["main", "load@7", "sccp", "k:do_syscall_64", "k:ksys_write"];
        assert_eq!(caller(&[(&musl, 9)], "write"), " in load (x.c:7)");
        let wrapped = ["main", "load@7", "open", "__syscall_cp_c", "k:do_syscall_64", "k:__x64_sys_open"];
        assert_eq!(caller(&[(&wrapped, 9)], "open"), " in load (x.c:7)");
        let rust = ["main", "crate::load@7", "std::fs::read_dir", "opendir", "sccp", "k:__x64_sys_open"];
        assert_eq!(caller(&[(&rust, 9)], "open"), " in crate::load (x.c:7)");
        let own = ["main", "std::rt::lang_start", "main", "crate::main", "c_code@7", "sccp", "k:ksys_write"];
        assert_eq!(caller(&[(&own, 9)], "write"), " in c_code (x.c:7)", "no library calls it");
    }

    #[test]
    fn code_that_has_less_than_half_is_not_named_and_no_line_with_less_than_half_of_it() {
        let at = |line: &'static str| vec!["main", line, "libc:read", "k:ksys_read"];
        let (a, b, c) = (at("a@1"), at("a@2"), at("a@3"));
        assert_eq!(caller(&[(&a, 6), (&b, 5), (&c, 5)], "read"), " in a");
        let (b, c) = (at("b@2"), at("c@3"));
        assert_eq!(caller(&[(&a, 6), (&b, 5), (&c, 5)], "read"), "");
    }
}
