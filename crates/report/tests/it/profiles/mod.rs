//! Profiles to show: each a kind of program, built from stacks written as text.

// Each test binary uses some of it.
#![allow(dead_code)]

use model::profile::{Activity, Frame, Moment, Node, Owner, Profile, Weight};
use model::recording::Language;
use model::{Ns, State};
use std::collections::HashMap;

pub(crate) const MS: Ns = 1_000_000;

/// All samples by name.
pub(crate) fn all() -> Vec<(&'static str, Profile)> {
    vec![
        ("parser", parser()),
        ("grid", grid()),
        ("server", server()),
        ("recursion", recursion()),
        ("sleeper", sleeper()),
        ("hostile", hostile()),
        ("stripped", stripped()),
        ("empty", Profile::default()),
    ]
}

/// A profile in the making.
#[derive(Default)]
pub(crate) struct Build {
    profile: Profile,
    frames: HashMap<Frame, u32>,
    nodes: HashMap<(Option<u32>, u32), u32>,
    at: Ns,
}

/// A frame from text: `name`, `name@file:line`; in brackets before it what it is: `k:` kernel, `p:`
/// Python, `i:` inlined, `j:` jitted, `!:` where the stack broke.
pub(crate) fn frame(text: &str) -> Frame {
    let (kind, text) = match text.split_once(':') {
        Some((kind @ ("k" | "p" | "i" | "j" | "!"), text)) => (kind, text),
        _ => ("", text),
    };
    let (name, source) = match text.rsplit_once('@') {
        Some((name, source)) => {
            let (file, line) = source.rsplit_once(':').expect("a source is file:line");
            (name, Some((file.to_owned(), line.parse().expect("a line is a number"))))
        }
        None => (text, None),
    };
    let (language, module) = match kind {
        "k" => (Language::Kernel, "[kernel]"),
        "p" => (Language::Python, source.as_ref().map_or("", |(file, _)| file.as_str())),
        "j" => (Language::Jit, "[jit]"),
        _ => (Language::Native, "program"),
    };
    let first_line = source.as_ref().map_or(0, |(_, line): &(String, u32)| line / 10 * 10);
    let frame = Frame {
        first_line,
        inlined: kind == "i",
        address: (kind.is_empty()).then_some(0x1000 + name.len() as u64),
        broke: kind == "!",
        own: kind == "p",
        ..Frame::new(name, module, language)
    };
    Frame { source, ..frame }
}

impl Build {
    pub(crate) fn thread(&mut self, pid: u32, tid: u32, name: &str) -> u32 {
        self.profile.threads.push(Owner { pid, tid, name: name.into() });
        self.profile.threads.len() as u32 - 1
    }

    /// Adds time of a stack: frames parted by ` | `, outermost first.
    pub(crate) fn add(&mut self, thread: u32, stack: &str, doing: Activity, ms: u64) {
        self.add_frames(thread, stack.split(" | ").map(frame).collect(), doing, ms);
    }

    /// So long a wait in a stack, which that thread ended.
    pub(crate) fn add_woken(&mut self, thread: u32, stack: &str, doing: Activity, ms: u64, by: u32) {
        self.add(thread, stack, doing, ms);
        self.profile.moments.last_mut().expect("a wait").by = Some(by);
    }

    pub(crate) fn add_frames(&mut self, thread: u32, frames: Vec<Frame>, doing: Activity, ms: u64) {
        let mut caller = None;
        for frame in frames {
            let next = self.profile.frames.len() as u32;
            let number = *self.frames.entry(frame.clone()).or_insert(next);
            if number == next {
                self.profile.frames.push(frame);
            }
            let next = self.profile.nodes.len() as u32;
            let node = *self.nodes.entry((caller, number)).or_insert(next);
            if node == next {
                self.profile.nodes.push(Node { caller, frame: number });
            }
            caller = Some(node);
        }
        let node = caller.expect("a stack has a frame");
        // A wait is one stack, time on a CPU one each millisecond.
        let waits = matches!(doing, Activity::Waiting(_));
        let (count, ns) = if waits { (1, ms * MS) } else { (ms, MS) };
        for _ in 0..count {
            self.at += ns;
            self.profile.moments.push(Moment { at_ns: self.at, node, thread, doing, ns, by: None });
        }
        self.profile.stacks += count;
        self.profile.weights.push(Weight { node, thread, doing, ns: ms * MS, count });
    }

    pub(crate) fn done(self) -> Profile {
        Profile { thinned: 1, ..self.profile }
    }
}

const LOCK: Activity = Activity::Waiting(State::Lock);
const DISK: Activity = Activity::Waiting(State::Disk);
const SLEEP: Activity = Activity::Waiting(State::Sleep);
const PIPE: Activity = Activity::Waiting(State::Pipe);
const NETWORK: Activity = Activity::Waiting(State::Network);

const START: &str = "_start | __libc_start_main_impl | __libc_start_call_main | main@src/main.cpp:212";

/// C++ that reads a file and parses it: templates, inlined frames, the kernel, one disk wait.
pub(crate) fn parser() -> Profile {
    let mut build = Build::default();
    let main = build.thread(100, 100, "parser");
    let push = "std::vector<parser::Token<char, std::char_traits<char> >, std::allocator<parser::Token<char, \
                std::char_traits<char> > > >::push_back(parser::Token<char, std::char_traits<char> > const&)\
                @/usr/include/c++/12/bits/stl_vector.h:1281";
    let parse = format!(
        "{START} | parser::run(int, char**)@src/main.cpp:88 | parser::Document::parse(std::string const&)@src/parse.cpp:141"
    );
    let mut add = |stack: &str, doing, ms| build.add(main, stack, doing, ms);
    add(&format!("{parse} | parser::Lexer::next()@src/lex.cpp:52"), Activity::User, 610);
    add(
        &format!("{parse} | parser::Lexer::next()@src/lex.cpp:57 | i:parser::is_space(char)@src/lex.cpp:12"),
        Activity::User,
        340,
    );
    add(&format!("{parse} | {push}"), Activity::User, 120);
    let grow = format!(
        "{parse} | {push} | void std::vector<parser::Token<char, std::char_traits<char> >, std::allocator<parser::Token<char, std::char_traits<char> > > >::_M_realloc_insert<parser::Token<char, std::char_traits<char> > const&>(__gnu_cxx::__normal_iterator<parser::Token<char, std::char_traits<char> >*, std::vector<parser::Token<char, std::char_traits<char> >, std::allocator<parser::Token<char, std::char_traits<char> > > > >, parser::Token<char, std::char_traits<char> > const&)"
    );
    add(&format!("{grow} | operator new(unsigned long) | malloc | sysmalloc"), Activity::User, 60);
    add(
        &format!(
            "{grow} | operator new(unsigned long) | malloc | sysmalloc | k:asm_exc_page_fault | k:do_user_addr_fault | k:handle_mm_fault | k:clear_page_erms"
        ),
        Activity::Kernel,
        290,
    );
    add(&format!("{grow} | memmove"), Activity::User, 170);
    let load = format!(
        "{START} | parser::run(int, char**)@src/main.cpp:71 | parser::load(char const*)@src/load.cpp:30"
    );
    add(&format!("{load} | read"), Activity::Kernel, 80);
    add(
        &format!(
            "{load} | read | k:entry_SYSCALL_64_after_hwframe | k:do_syscall_64 | k:vfs_read | k:ext4_file_read_iter | k:copy_page_to_iter"
        ),
        Activity::Kernel,
        150,
    );
    add(&format!("{load} | read"), DISK, 420);
    add(
        &format!("{START} | parser::report(parser::Document const&)@src/main.cpp:101 | fprintf | write"),
        PIPE,
        95,
    );
    add(
        &format!("{START} | parser::report(parser::Document const&)@src/main.cpp:101 | fprintf | vfprintf"),
        Activity::User,
        25,
    );
    add("!:no unwind information in libfoo.so | helper", Activity::User, 30);
    let mut profile = build.done();
    profile.broken = 30;
    profile
}

/// Python over C: one hot line, some native code below it.
pub(crate) fn grid() -> Profile {
    let mut build = Build::default();
    let main = build.thread(200, 200, "python3");
    let python = "_start | __libc_start_main_impl | Py_BytesMain | Py_RunMain | p:<module>@/home/me/grid.py:90 | p:main@/home/me/grid.py:81";
    let mut add = |stack: &str, doing, ms| build.add(main, stack, doing, ms);
    add(&format!("{python} | p:step@/home/me/grid.py:34"), Activity::User, 320);
    add(
        &format!("{python} | p:step@/home/me/grid.py:36 | p:<listcomp>@/home/me/grid.py:36"),
        Activity::User,
        910,
    );
    add(
        &format!(
            "{python} | p:step@/home/me/grid.py:36 | p:<listcomp>@/home/me/grid.py:36 | list_resize | realloc | k:clear_page_erms"
        ),
        Activity::Kernel,
        505,
    );
    add(&format!("{python} | p:step@/home/me/grid.py:38"), Activity::User, 210);
    add(&format!("{python} | p:save@/home/me/grid.py:60 | os_fsync"), DISK, 300);
    add(&format!("{python} | p:save@/home/me/grid.py:68"), Activity::User, 44);
    add(&format!("{python} | p:pause@/home/me/grid.py:71 | time_sleep"), SLEEP, 250);
    build.done()
}

/// A pool of threads that mostly wait, two that work, and one that only waits for them.
pub(crate) fn server() -> Profile {
    let mut build = Build::default();
    let main = build.thread(300, 300, "server");
    build.add(main, "_start | main | server::accept_loop | epoll_wait", NETWORK, 20_000);
    build.add(main, "_start | main | server::accept_loop | accept4", Activity::Kernel, 40);
    for tid in 301..313 {
        let idle = build.thread(300, tid, "pool");
        build.add(
            idle,
            "clone3 | start_thread | pool::worker | pool::take | pthread_cond_wait",
            LOCK,
            19_900,
        );
        build.add(idle, "clone3 | start_thread | pool::worker | pool::take", Activity::User, 3);
    }
    for tid in 313..315 {
        let busy = build.thread(300, tid, "pool");
        let work = "clone3 | start_thread | pool::worker | server::handle_request";
        build.add(busy, &format!("{work} | json::encode | json::escape_string"), Activity::User, 5_400);
        build.add(busy, &format!("{work} | json::encode"), Activity::User, 900);
        build.add(
            busy,
            &format!("{work} | cache::lookup | cache::Shard::lock | pthread_mutex_lock"),
            LOCK,
            4_100,
        );
        build.add(busy, &format!("{work} | cache::lookup | hash::siphash"), Activity::User, 1_400);
        build.add(busy, &format!("{work} | send"), Activity::Kernel, 1_200);
        build.add(busy, "clone3 | start_thread | pool::worker | pool::take | pthread_cond_wait", LOCK, 6_500);
    }
    build.done()
}

/// A function that calls itself 30 deep, and two that call each other.
pub(crate) fn recursion() -> Profile {
    let mut build = Build::default();
    let main = build.thread(400, 400, "fib");
    for depth in 1..30 {
        let fib = vec!["fib@fib.c:4"; depth].join(" | ");
        build.add(main, &format!("_start | main | {fib}"), Activity::User, 20);
        let pair = vec!["is_even@even.c:3 | is_odd@even.c:9"; depth].join(" | ");
        build.add(main, &format!("_start | main | {pair}"), Activity::User, 5);
    }
    build.done()
}

/// A program that only sleeps: nothing else fills its time, so its waiting is the answer.
pub(crate) fn sleeper() -> Profile {
    let mut build = Build::default();
    let main = build.thread(500, 500, "sleep");
    build.add(main, "main | xnanosleep | clock_nanosleep", SLEEP, 2_000);
    build.done()
}

/// Two threads that wait for each other in turn, the first one of this name, and a third one that
/// only sleeps.
pub(crate) fn turns(name: &str) -> Profile {
    let mut build = Build::default();
    let [make, take, timer] =
        [(100, name), (101, "take"), (102, "timer")].map(|(tid, name)| build.thread(100, tid, name));
    for turn in 1..5 {
        build.add(make, "main | produce", Activity::User, turn);
        build.add_woken(take, "start_thread | consume | read", PIPE, turn, make);
        build.add(take, "start_thread | consume", Activity::User, 2);
        build.add_woken(make, "main | produce | write", PIPE, 2, take);
    }
    build.add(timer, "start_thread | tick | nanosleep", SLEEP, 12);
    build.done()
}

/// Names chosen to do harm.
pub(crate) fn hostile() -> Profile {
    let mut build = Build::default();
    let main = build.thread(600, 600, "\x1b[2J\"evil\";\n\u{202e}txt");
    let mut names = vec![
        "\x1b]0;owned\x07".to_owned(),
        "a;b\nc 12".into(),
        "\"quote\\ <script>alert(1)</script>".into(),
        "cod\u{202e}gpj.exe\u{2069}".into(),
        "日本語の関数名".into(),
        "#comment".into(),
        String::new(),
        "e\u{301}\u{301}\u{301}\u{301}".into(),
        format!("std::map<{}>::operator[](int)", "std::pair<int, ".repeat(40) + &">".repeat(40)),
        "<".repeat(3000),
        "x".repeat(300),
    ];
    names.extend((0..40).map(|number| format!("small_{number}")));
    for (index, name) in names.iter().enumerate() {
        let source = Some((format!("/tmp/\x1b[31m{index}\n.c"), u32::MAX - index as u32));
        let named = Frame { function: name.clone(), source, ..frame("x") };
        let doing = if index % 3 == 0 { LOCK } else { Activity::User };
        build.add_frames(main, vec![frame("main"), named.clone()], doing, 40 - (index as u64).min(39));
        build.add_frames(main, vec![named, frame("main")], Activity::Kernel, 7);
    }
    build.done()
}

/// A program without symbols.
pub(crate) fn stripped() -> Profile {
    let mut build = Build::default();
    let main = build.thread(700, 700, "stripped");
    build.add(
        main,
        "!:no unwind information at program+0x1f00 | program+0x1f00 | program+0x2040",
        Activity::User,
        500,
    );
    build.add(main, "program+0x1000 | program+0x1180 | program+0x2040", Activity::User, 400);
    build.add(main, "program+0x1000 | program+0x1180 | libc.so.6+0x9a2f0", Activity::Kernel, 100);
    let mut profile = build.done();
    profile.broken = 500;
    profile
}
