//! Which frame of a stack is the program's own.
//!
//! By where its source is: a script outside the directories of its language, native code with lines
//! that are not a library's. The innermost frame of the best kind is it: the script's function and
//! not the interpreter's, the caller of a library and not the library.

use super::frames::{is_of_library, is_of_runtime};
use crate::names::base_name;
use model::Profile;
use model::profile::Frame;
use model::recording::Language;
use model::run::LineRow;
use model::wait::{FrameKind, StackFrame};
use rustc_hash::FxHashMap;

/// How likely a person can change a function: what comes later is the better name of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Own {
    /// Nobody's: the kernel, the C library, an interpreter, code without a name.
    No,
    /// Native code of others that has lines: a library that was built with the program.
    Vendored,
    /// A function of the program's file, of which no line is known.
    Unplaced,
    /// Native code with lines.
    Native,
    /// A script of a library.
    Library,
    /// A script, or code of a JIT that is no library's.
    Script,
}

impl Own {
    /// Whether it is of the program itself.
    pub(crate) fn is_own(self) -> bool {
        matches!(self, Own::Unplaced | Own::Native | Own::Script)
    }
}

/// Function, and file and line where they are known, as stacks of waits have them.
type TextKey<'a> = (&'a str, Option<(&'a str, u32)>);

/// The frames of a profile by the names that stacks of waits have.
#[derive(Debug)]
pub(crate) struct OwnFrames<'a> {
    by_text: FxHashMap<TextKey<'a>, Own>,
    by_function: FxHashMap<(&'a str, &'a str), Own>,
}

impl<'a> OwnFrames<'a> {
    pub(crate) fn of(profile: &'a Profile) -> Self {
        let (mut by_text, mut by_function) = (FxHashMap::default(), FxHashMap::default());
        for frame in &profile.frames {
            let own = of_frame(frame);
            let source = frame.source.as_ref().filter(|(_, line)| *line > 0);
            let source = source.map(|(file, line)| (base_name(file), *line));
            by_text.insert((frame.function.as_str(), source), own);
            let best = by_function.entry((frame.function.as_str(), frame.module.as_str())).or_insert(own);
            *best = own.max(*best);
        }
        Self { by_text, by_function }
    }

    /// The frame of the stack of a wait that is the program's own, by its index.
    pub(crate) fn own_in(&self, stack: &[StackFrame]) -> Option<usize> {
        let own = |frame: &StackFrame| {
            let source = frame.source.as_ref().map(|(file, line)| (file.as_str(), *line));
            let known = self.by_text.get(&(frame.function.as_str(), source));
            known.copied().unwrap_or_else(|| of_text(frame))
        };
        best(stack.iter().map(own))
    }

    pub(crate) fn function(&self, name: &str, module: &str) -> Own {
        self.by_function.get(&(name, module)).copied().unwrap_or(Own::No)
    }
}

/// The innermost of the best kind, by its index; none where none is the program's.
pub(crate) fn best(owns: impl Iterator<Item = Own>) -> Option<usize> {
    let mut best = None;
    for (at, own) in owns.enumerate() {
        if own >= Own::Unplaced && best.is_none_or(|(_, so_far)| own > so_far) {
            best = Some((at, own));
        }
    }
    best.map(|(at, _)| at)
}

pub(crate) fn of_frame(frame: &Frame) -> Own {
    if frame.broke || frame.unnamed.is_some() {
        return Own::No;
    }
    let file = frame.source.as_ref().filter(|(_, line)| *line > 0).map(|(file, _)| file.as_str());
    match frame.language {
        Language::Kernel => Own::No,
        Language::Python => of_script(file.unwrap_or_default()),
        Language::Jit => of_jit(&frame.function),
        Language::Native if is_of_library(&frame.module) || is_of_runtime(&frame.function) => Own::No,
        Language::Native if runs_others(&frame.module) => Own::No,
        Language::Native if RUNTIMES.iter().any(|name| frame.module.starts_with(name)) => Own::No,
        Language::Native if frame.module.contains(".so") => Own::No,
        Language::Native => match file {
            Some(file) if is_anyones(file) => Own::No,
            Some(file) if is_vendored(file) => Own::Vendored,
            Some(_) => Own::Native,
            None if is_named(frame) && !is_begin(&frame.function) => Own::Unplaced,
            None => Own::No,
        },
    }
}

/// Judges a frame that is in no profile, by its text.
fn of_text(frame: &StackFrame) -> Own {
    match (frame.kind, frame.language, &frame.source) {
        (FrameKind::Function, Language::Python, Some((file, _))) => of_script(file),
        (FrameKind::Function, Language::Jit, _) => of_jit(&frame.function),
        _ => Own::No,
    }
}

pub(crate) fn of_line(row: &LineRow) -> Own {
    match row.language.as_str() {
        "python" => of_script(&row.file),
        _ if is_anyones(&row.file) || is_of_runtime(&row.function) => Own::No,
        _ if is_vendored(&row.file) => Own::Vendored,
        _ => Own::Native,
    }
}

/// Judges a script, by where it is.
fn of_script(file: &str) -> Own {
    let library = ["/lib/python", "/lib64/python", "/site-packages/", "/dist-packages/"];
    if file.starts_with("<frozen") || file.ends_with(".pyc") {
        return Own::Library;
    }
    // Names of standard modules alone: the stacks of stored results have no directories.
    let standard = !file.contains('/') && STANDARD.contains(&file);
    if standard || library.iter().any(|part| file.contains(part)) { Own::Library } else { Own::Script }
}

/// Files of Python's own library that waits are in.
const STANDARD: &[&str] = &[
    "threading.py",
    "socket.py",
    "ssl.py",
    "selectors.py",
    "queue.py",
    "subprocess.py",
    "base_events.py",
    "runners.py",
    "client.py",
    "request.py",
    "thread.py",
    "connection.py",
    "pool.py",
];

/// Of code that a JIT made, by its name: `LazyCompile:*f /src/a.js:3:1`, `int Hot.scatter(int)`,
/// `void [app] Program::Main()[Optimized]`.
fn of_jit(name: &str) -> Own {
    if js_place(name).is_some() {
        let others = ["node:", "/node_modules/"].iter().any(|part| name.contains(part));
        return if others { Own::Library } else { Own::Script };
    }
    let method = bare_method(name);
    if !method.contains('.') && !name.contains("::") {
        return Own::No;
    }
    let java = ["java.", "javax.", "jdk.", "sun.", "com.sun."];
    let dotnet = ["[System.", "[Microsoft."];
    let others =
        java.iter().any(|start| method.starts_with(start)) || dotnet.iter().any(|part| name.contains(part));
    if others { Own::Library } else { Own::Script }
}

/// A method without its return type and its arguments: `Hot.scatter`.
fn bare_method(name: &str) -> &str {
    let name = name.split('(').next().unwrap_or(name).trim();
    name.rsplit(' ').next().unwrap_or(name)
}

/// Function, file and line of code of V8: `LazyCompile:*f /src/a.js:3:1`.
fn js_place(name: &str) -> Option<(&str, &str, u32)> {
    let kinds = ["LazyCompile:", "JS:", "Function:", "Script:", "Eval:"];
    let rest = kinds.iter().find_map(|kind| name.strip_prefix(kind))?;
    let rest = rest.trim_start_matches(['*', '~', '^', '+']);
    let (function, place) = rest.rsplit_once(' ').unwrap_or(("", rest));
    let mut parts = place.rsplitn(3, ':');
    let (last, before, first) = (parts.next()?, parts.next()?, parts.next());
    let (file, line) = match (first, before.parse()) {
        (Some(file), Ok(line)) => (file, line),
        _ => (place.rsplit_once(':')?.0, last.parse().ok()?),
    };
    let function = if function.is_empty() { "(anonymous)" } else { function };
    Some((function, file, line))
}

/// The frame as a place has it: with the source that the name of JIT code tells.
pub(crate) fn shown(frame: &Frame) -> StackFrame {
    let mut function = frame.function.as_str();
    let mut source = frame.source.as_ref().filter(|(_, line)| *line > 0).map(|(file, line)| (&**file, *line));
    if frame.language == Language::Jit {
        match js_place(function) {
            Some((name, file, line)) => (function, source) = (name, Some((file, line))),
            None => function = bare_method(function),
        }
    }
    StackFrame {
        function: function.to_owned(),
        source: source.map(|(file, line)| (base_name(file).to_owned(), line)),
        language: frame.language,
        kind: FrameKind::Function,
    }
}

/// Whether the code of a file runs programs in another language: what it does it does for these.
pub(crate) fn runs_others(file: &str) -> bool {
    const FILES: &[&str] = &["python", "libpython", "perl", "libperl", "ruby", "libruby", "php", "lua"];
    FILES.iter().any(|start| file.starts_with(start))
}

/// Whether it has a name of its own, and not only its file's and an address.
pub(crate) fn is_named(frame: &Frame) -> bool {
    let address = frame.function.strip_prefix(&*frame.module);
    frame.unnamed.is_none() && !frame.broke && !address.is_some_and(|rest| rest.starts_with("+0x"))
}

/// Files that run code of other languages and are no interpreters of `runs_others`.
const RUNTIMES: &[&str] = &["node", "libnode", "libjvm", "java", "libcoreclr", "dotnet", "pypy", "luajit"];

/// Whether a source file is of what every program of its language is linked with.
fn is_anyones(file: &str) -> bool {
    let of_languages = ["/rustc/", "/csu/", "/sysdeps/", "/nptl/", "/glibc", "/musl"];
    of_languages.iter().any(|part| file.contains(part)) || is_of_go(file)
}

/// Go's own library: `/usr/local/go/src/net/http/server.go`, but not `…/go/src/example.org/a.go`.
fn is_of_go(file: &str) -> bool {
    let root = ["/go/src/", "/libexec/src/"].iter().find_map(|part| file.split_once(part));
    let versioned = || file.split_once("/go-1.").and_then(|(_, rest)| rest.split_once("/src/"));
    let below = root.or_else(versioned).map(|(_, rest)| rest.split('/').next().unwrap_or_default());
    below.is_some_and(|first| file.ends_with(".go") && !first.contains('.'))
        || (file.ends_with(".s") && below.is_some())
}

/// Whether a source file is of others, built with the program.
fn is_vendored(file: &str) -> bool {
    let parts = ["/registry/src/", "/pkg/mod/", "/vendor/", "/usr/include/", "/build/reproducible-path/"];
    parts.iter().any(|part| file.contains(part))
}

/// Whether any program begins with it.
fn is_begin(function: &str) -> bool {
    ["_start", "start_thread", "clone", "clone3"].contains(&function)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn native(module: &str, function: &str) -> Frame {
        Frame { address: Some(1), ..Frame::new(function, module, Language::Native) }
    }

    fn at(frame: Frame, file: &str, line: u32) -> Frame {
        Frame { source: Some((file.into(), line)), ..frame }
    }

    fn script(function: &str, file: &str, line: u32) -> Frame {
        Frame { language: Language::Python, ..at(native("python3.11", function), file, line) }
    }

    fn jit(function: &str) -> Frame {
        Frame { language: Language::Jit, ..native("[jit]", function) }
    }

    #[test]
    fn what_a_person_wrote_is_told_from_what_it_was_built_on() {
        for (frame, own) in [
            (script("price", "/home/me/fetch.py", 3), Own::Script),
            (script("get", "/usr/lib/python3.11/queue.py", 3), Own::Library),
            (script("get", "/home/me/venv/lib/python3.12/site-packages/requests/api.py", 3), Own::Library),
            (script("_find", "<frozen importlib._bootstrap>", 3), Own::Library),
            (at(native("python3.11", "_PyEval_EvalFrame"), "ceval.h", 73), Own::No),
            (at(native("app", "work"), "/src/app.c", 3), Own::Native),
            (at(native("app", "recv"), "/build/glibc-2.36/socket/recv.c", 3), Own::No),
            (at(native("app", "core::ptr::read"), "/rustc/1/library/core/src/ptr.rs", 3), Own::No),
            (at(native("app", "regex::exec"), "/root/.cargo/registry/src/x/regex/exec.rs", 3), Own::Vendored),
            (at(native("app", "main.work"), "/root/app/main.go", 3), Own::Native),
            (at(native("app", "net/http.Get"), "/usr/local/go/src/net/http/get.go", 3), Own::No),
            (at(native("app", "example.org/a.F"), "/root/go/src/example.org/a.go", 3), Own::Native),
            (at(native("app", "runtime.futex"), "/usr/lib/go-1.19/src/runtime/sys.s", 3), Own::No),
            (native("app", "work"), Own::Unplaced),
            (native("app", "app+0x12"), Own::No),
            (native("libssl.so.3", "SSL_read"), Own::No),
            (native("node", "uv_run"), Own::No),
            (jit("LazyCompile:*spin /src/a.js:3:14"), Own::Script),
            (jit("JS:*made /src/a.js:1"), Own::Script),
            (jit("LazyCompile:~emit node:events:500:44"), Own::Library),
            (jit("int Hot.scatter(int)"), Own::Script),
            (jit("int java.util.HashMap.hash(java.lang.Object)"), Own::Library),
            (jit("void [app] Program::Main()[Optimized]"), Own::Script),
            (jit("void [System.Private.CoreLib] System.Span::Fill()[Optimized]"), Own::Library),
            (jit("call_stub"), Own::No),
        ] {
            assert_eq!(of_frame(&frame), own, "{frame:?}");
        }
    }

    #[test]
    fn the_innermost_of_the_best_kind_names_a_stack() {
        assert_eq!(best([Own::No, Own::Library, Own::Script, Own::Script].into_iter()), Some(2));
        assert_eq!(best([Own::No, Own::Vendored].into_iter()), None);
        assert_eq!(best([Own::No, Own::Unplaced, Own::Native].into_iter()), Some(2));
    }

    #[test]
    fn names_of_code_that_was_made_have_their_places() {
        let frame = |name: &str| shown(&jit(name)).to_string();
        assert_eq!(frame("LazyCompile:*spin /src/a.js:3:14"), "spin (a.js:3)");
        assert_eq!(frame("JS:*made a.js:1"), "made (a.js:1)");
        assert_eq!(frame("Function:~ /src/a.js:3:14"), "(anonymous) (a.js:3)");
        assert_eq!(frame("int Hot.scatter(int)"), "Hot.scatter");
    }
}
