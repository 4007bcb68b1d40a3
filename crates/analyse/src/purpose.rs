//! What a wait is for, by the functions that it is in: a lock, or the next piece of work.
//!
//! System calls do not tell: a thread sleeps on a futex for a lock, and also when a pool has
//! nothing for it. Runtimes tell by where they sleep: their functions are listed in [`known`]. What
//! follows from it is up to the account and `judge`.

mod name_patterns;

use model::recording::Language;
use model::wait::StackFrame;
use name_patterns::{
    BEGINS, CONDITIONS, LOCK_STUBS, LOCKS, LOCKS_APART, LOOPS, NO_LOCKS, SCRIPT_LOCKS, SEMAPHORES, SLEEPS,
    TAKES, WORK, is_in, undecorated,
};

/// What a wait is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    /// Something that another thread has taken and will give back.
    Lock,
    /// The next piece of work: a request, a task, a timer of an event loop.
    Work,
}

/// A function that waits is among this many of the innermost frames.
const FRAMES: usize = 16;
/// One that takes an interpreter's lock is among this many of them.
const INTERPRETER_FRAMES: usize = 8;

/// Whether the wait is for the next piece of work, by its stack, the innermost first.
pub(crate) fn waits_for_work(stack: &[StackFrame]) -> bool {
    classify(stack).is_some_and(|(purpose, _)| purpose == Purpose::Work)
}

/// Whether it sleeps on a condition that another thread will make true, by its stack. Locks made of
/// conditions are known by the functions that take them.
pub(crate) fn is_on_condition(stack: &[StackFrame]) -> bool {
    stack.iter().take_while(|frame| is_in(SLEEPS, frame)).any(|frame| is_in(CONDITIONS, frame))
}

/// The function that sleeps for a lock and for nothing else, where the wait is in one, by its
/// stack, the innermost first.
pub(crate) fn lock_function(stack: &[StackFrame]) -> Option<&str> {
    let lock = classify(stack).filter(|(purpose, _)| *purpose == Purpose::Lock);
    let frame = stack.iter().find(|frame| lock.is_some_and(|(_, function)| frame.function == function))?;
    is_in(LOCKS, frame).then_some(frame.function.as_str())
}

/// What is taken that a wait is for, where that is no lock for certain: a notice may be sent by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Taken {
    Semaphore,
    /// A lock of a script, which takes it itself.
    OfScript,
}

/// Whether a wait takes something that may be a lock, by its stack, the innermost first.
pub(crate) fn taken_otherwise(stack: &[StackFrame]) -> Option<Taken> {
    let (_, function) = classify(stack).filter(|(purpose, _)| *purpose == Purpose::Lock)?;
    let frame = stack.iter().find(|frame| frame.function == function)?;
    match (is_in(SCRIPT_LOCKS, frame), is_in(SEMAPHORES, frame)) {
        (true, _) => Some(Taken::OfScript),
        (false, true) => Some(Taken::Semaphore),
        (false, false) => None,
    }
}

/// Where a lock is taken that a wait is for, by its stack, the innermost first: the function that
/// called the one that takes it, of a script its own. None where the wait may be for something
/// else: a semaphore can be a notice, and locks of a script's conditions are.
pub(crate) fn takes_lock_in(stack: &[StackFrame]) -> Option<&StackFrame> {
    let (purpose, _) = classify(stack)?;
    let takes = |frame: &StackFrame| is_in(LOCKS, frame) || is_in(SCRIPT_LOCKS, frame);
    let taken = stack.iter().take(FRAMES).rposition(takes).filter(|_| purpose == Purpose::Lock)?;
    let callers = &stack[taken + 1..];
    let of_script = stack.iter().take(FRAMES).find(|frame| frame.is_script());
    let of_method = callers.iter().take(FRAMES).find(|frame| !is_in(LOCK_STUBS, frame));
    of_script.or(of_method).or_else(|| callers.first())
}

/// Whether it waits for a lock whose threads each sleep on a futex of their own.
pub(crate) fn sleeps_apart(stack: &[StackFrame]) -> bool {
    stack.iter().take(FRAMES).any(|frame| is_in(LOCKS_APART, frame))
}

/// What a wait is for, and the function that tells.
fn classify(stack: &[StackFrame]) -> Option<(Purpose, &str)> {
    let (mut sleeps_itself, mut otherwise, mut in_script) = (true, None, false);
    for frame in stack.iter().take(FRAMES) {
        let is = |list| is_in(list, frame);
        let function = frame.function.as_str();
        if is(LOCKS) {
            return Some((Purpose::Lock, function));
        }
        // What is native below a script is its interpreter's: there a lock is taken for the loop.
        let takes_itself = otherwise.is_some() && frame.is_script() && !in_script;
        if is(WORK) || ((sleeps_itself || takes_itself) && is(LOOPS)) {
            return Some((Purpose::Work, function));
        }
        // Unless those that called it wait for work with it.
        if is(SEMAPHORES) || is(SCRIPT_LOCKS) {
            otherwise = Some((Purpose::Lock, function));
        }
        if is(NO_LOCKS) {
            otherwise = None;
        }
        sleeps_itself &= is(SLEEPS);
        in_script |= frame.is_script();
    }
    otherwise
}

/// The functions that a wait was called from, the innermost first and no more than `most`: without
/// those that only sleep, and those that any thread begins with. Of a script, its own.
pub(crate) fn called_from(stack: &[StackFrame], most: usize) -> Vec<String> {
    let callers = callers(stack).filter(|frame| !is_in(BEGINS, frame));
    callers.take(most).map(|frame| frame.function.clone()).collect()
}

/// The innermost of them, whichever function that is, with its line.
pub(crate) fn caller(stack: &[StackFrame]) -> Option<&StackFrame> {
    callers(stack).next()
}

fn callers(stack: &[StackFrame]) -> impl Iterator<Item = &StackFrame> {
    let script = stack.iter().take(FRAMES).position(StackFrame::is_script).unwrap_or(0);
    stack[script..].iter().skip_while(|frame| is_in(SLEEPS, frame))
}

/// Whose interpreter's lock a wait is for, by its stack, the innermost first.
pub(crate) fn interpreter_lock(stack: &[StackFrame]) -> Option<Language> {
    let mut names = stack.iter().take(INTERPRETER_FRAMES).map(|frame| &frame.function);
    let taken = names.any(|name| TAKES.iter().any(|takes| name.starts_with(takes)));
    (taken || sleeps_in_stripped_python(stack)).then_some(Language::Python)
}

/// Whether an interpreter without symbols sleeps on a condition by itself. CPython does so for its
/// lock alone: other locks of it are semaphores, and taken by an exported function.
fn sleeps_in_stripped_python(stack: &[StackFrame]) -> bool {
    let inner = stack.iter().take_while(|frame| is_in(SLEEPS, frame));
    let on_condition = inner.clone().any(|frame| undecorated(&frame.function).starts_with("pthread_cond_"));
    let caller = stack.get(inner.count()).map_or("", |frame| frame.function.as_str());
    let of_interpreter = ["python3", "libpython3"].iter().any(|module| caller.starts_with(module));
    on_condition && of_interpreter && caller.contains("+0x")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::wait::FrameKind;

    fn native(function: &str) -> StackFrame {
        StackFrame {
            function: function.to_owned(),
            source: None,
            language: Language::Native,
            kind: FrameKind::Function,
        }
    }

    fn purpose(stack: &[StackFrame]) -> Option<Purpose> {
        let lock = interpreter_lock(stack).map(|_| Purpose::Lock);
        lock.or_else(|| classify(stack).map(|(purpose, _)| purpose))
    }

    fn of(functions: &[&str]) -> Option<Purpose> {
        let stack: Vec<_> = functions.iter().map(|function| native(function)).collect();
        purpose(&stack)
    }

    #[test]
    fn a_condition_is_waited_for_by_itself() {
        let on_condition = |functions: &[&str]| {
            let stack: Vec<_> = functions.iter().map(|function| native(function)).collect();
            is_on_condition(&stack)
        };
        assert!(on_condition(&["__futex_abstimed_wait_common", "__pthread_cond_wait", "Pool::run"]));
        assert!(!on_condition(&["futex_wait", "__lll_lock_wait", "pthread_mutex_lock", "pthread_cond_wait"]));
        assert!(!on_condition(&["futex_wait", "app::sleep", "pthread_cond_wait"]));
    }

    #[test]
    fn a_lock_is_known_by_what_takes_it() {
        for stack in [
            &["__lll_lock_wait", "___pthread_mutex_lock", "main"][..],
            &["futex_wait", "__GI___pthread_rwlock_wrlock", "worker"],
            &["runtime.futex.abi0", "runtime.futexsleep", "runtime.lock2", "runtime.findRunnable"],
            &["std::sys::sync::mutex::futex::Mutex::lock_contended", "app::main"],
            &["__futex_abstimed_wait_common", "PlatformEvent::park", "ObjectMonitor::EnterI"],
            &["do_futex_wait", "__new_sem_wait_slow64", "PGSemaphoreLock", "LWLockAcquire", "XLogFlush"],
            &["epoll_wait", "WaitEventSetWait", "WaitLatch", "ProcSleep", "WaitOnLock", "PostgresMain"],
            &["__futex_abstimed_wait_common", "pthread_cond_timedwait", "take_gil.part.0"],
        ] {
            assert_eq!(of(stack), Some(Purpose::Lock), "{stack:?}");
        }
        let stack = ["epoll_wait", "WaitLatch", "ProcSleep", "PostgresMain"].map(native);
        assert_eq!(lock_function(&stack), Some("ProcSleep"));
        assert_eq!(lock_function(&["epoll_wait", "WaitLatch", "WalWriterMain"].map(native)), None);
    }

    #[test]
    fn waiting_for_work_is_known_by_what_has_none() {
        for stack in [
            &["runtime.futex", "runtime.futexsleep", "runtime.notesleep", "runtime.mPark", "runtime.stopm"][..],
            &["epoll_pwait", "uv__io_poll", "uv_run", "node::SpinEventLoop"],
            &["__futex_abstimed_wait_common", "pthread_cond_wait", "uv_cond_wait", "worker", "start_thread"],
            &["epoll_wait", "aeApiPoll", "aeProcessEvents", "main"],
            &["epoll_wait", "WaitEventSetWait", "WaitLatch", "WalWriterMain", "PostmasterMain"],
            &[
                "pthread_cond_wait",
                "Parker::park",
                "Unsafe_Park",
                "java.util.concurrent.ForkJoinPool.awaitWork",
            ],
            &["Unsafe_Park", "Ljava/util/concurrent/ThreadPoolExecutor;::getTask"],
            &[
                "do_futex_wait",
                "sem_wait",
                "PosixSemaphore::wait",
                "WorkerTaskDispatcher::worker_wait_for_task",
            ],
            &["syscall", "tokio::runtime::scheduler::multi_thread::worker::Context::park_timeout"],
        ] {
            assert_eq!(of(stack), Some(Purpose::Work), "{stack:?}");
        }
    }

    #[test]
    fn what_a_worker_does_is_not_waiting_for_work() {
        assert_eq!(of(&["pthread_cond_wait", "wait_for_reply", "worker", "start_thread"]), None);
        assert_eq!(of(&["pread64", "tokio::runtime::blocking::pool::Inner::run"]), None);
        assert_eq!(of(&["pthread_cond_wait", "main"]), None);
        assert_eq!(of(&["__lll_lock_wait", "pthread_mutex_lock", "malloc", "worker"]), Some(Purpose::Lock));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn a_semaphore_is_a_lock_unless_work_comes_by_it() {
        assert_eq!(of(&["do_futex_wait", "sem_wait", "take_turn", "main"]), Some(Purpose::Lock));
        let script = |function: &str, file: &str| StackFrame {
            function: function.to_owned(),
            source: Some((file.to_owned(), 171)),
            language: Language::Python,
            kind: FrameKind::Function,
        };
        let lock = [native("PyThread_acquire_lock_timed"), script("work", "app.py")];
        assert_eq!(purpose(&lock), Some(Purpose::Lock));
        assert_eq!(lock_function(&lock), None, "with a limit it may as well be a pause");
        let queue = [native("lock_PyThread_acquire_lock"), script("Condition.wait", "threading.py")];
        assert_eq!(purpose(&queue), None);
        let pool = [&lock[..1], &[script("_worker", "thread.py"), script("run", "threading.py")]].concat();
        assert_eq!(purpose(&pool), Some(Purpose::Work), "by a lock that its queue takes");
        let taken =
            [&lock[..1], &[native("_queue.cpython-311-x86_64-linux-gnu.so+0x2880")], &lock[1..]].concat();
        assert_eq!(purpose(&taken), Some(Purpose::Work), "SimpleQueue.get, called by a script");
        let inside = [&lock[..], &[script("run", "thread.py"), script("_worker", "thread.py")]].concat();
        assert_eq!(purpose(&inside), Some(Purpose::Lock), "a lock of what it was given to do");
        let queue = [&queue[..], &[script("Queue.get", "queue.py"), script("work", "app.py")]].concat();
        assert_eq!(purpose(&queue), Some(Purpose::Work));
    }

    #[test]
    fn a_lock_is_taken_by_what_calls_the_function_that_takes_it() {
        let taken = |functions: &[&str]| {
            let stack: Vec<_> = functions.iter().map(|name| native(name)).collect();
            takes_lock_in(&stack).map(|frame| frame.function.clone())
        };
        let mutex =
            ["futex_wait", "__lll_lock_wait", "lll_mutex_lock_optimized", "pthread_mutex_lock", "put"];
        assert_eq!(taken(&mutex).as_deref(), Some("put"));
        assert_eq!(taken(&["futex_wait", "__lll_lock_wait_private", "malloc"]).as_deref(), Some("malloc"));
        assert_eq!(taken(&["do_futex_wait", "sem_wait", "next", "main"]), None, "it may be a notice");
        assert_eq!(taken(&["futex_wait", "pthread_cond_wait", "get", "main"]), None);
        let python = |function: &str, file: &str| {
            let source = Some((file.to_owned(), 17));
            let script = StackFrame { source, language: Language::Python, ..native(function) };
            let inner = ["do_futex_wait", "PyThread_acquire_lock_timed", "lock_PyThread_acquire_lock"];
            let stack = [&inner.map(native)[..], &[script]].concat();
            takes_lock_in(&stack).map(|frame| frame.function.clone())
        };
        assert_eq!(python("put", "app.py").as_deref(), Some("put"));
        assert_eq!(python("Condition.wait", "threading.py"), None);
    }

    #[test]
    fn monitors_have_a_futex_for_each_thread_that_waits() {
        let apart =
            |functions: &[&str]| sleeps_apart(&functions.iter().map(|name| native(name)).collect::<Vec<_>>());
        assert!(apart(&[
            "futex_wait",
            "pthread_cond_wait",
            "AwareLock::EnterEpilogHelper",
            "AwareLock::Enter"
        ]));
        assert!(apart(&["futex_wait", "PlatformEvent::park", "ObjectMonitor::EnterI(JavaThread*)"]));
        assert!(!apart(&["futex_wait", "__lll_lock_wait", "pthread_mutex_lock", "put"]));
    }

    #[test]
    fn a_wait_is_called_from_what_does_not_only_sleep() {
        let from = |functions: &[&str]| {
            called_from(&functions.iter().map(|name| native(name)).collect::<Vec<_>>(), 2)
        };
        let sleep = ["epoll_wait", "WaitEventSetWait", "WaitLatch", "pg_sleep", "ExecInterpExpr", "main"];
        assert_eq!(from(&sleep), ["pg_sleep", "ExecInterpExpr"]);
        let script = StackFrame {
            function: "pace".to_owned(),
            source: Some(("app.py".to_owned(), 3)),
            language: Language::Python,
            kind: FrameKind::Function,
        };
        let scripted = ["clock_nanosleep", "time_sleep", "PyObject_Vectorcall"].map(native);
        let scripted = [&scripted[..], &[script, native("_PyFunction_Vectorcall")]].concat();
        assert_eq!(called_from(&scripted, 1), ["pace"]);
        assert_eq!(from(&["nanosleep", "rest", "main", "__libc_start_main@@GLIBC_2.34", "_start"]), ["rest"]);
    }

    #[test]
    fn an_interpreters_lock_is_known_by_what_takes_it() {
        let python = |functions: &[&str]| {
            interpreter_lock(&functions.iter().map(|name| native(name)).collect::<Vec<_>>())
        };
        let with = ["pthread_cond_timedwait", "take_gil.part.0", "_PyEval_EvalFrameDefault"];
        assert_eq!(python(&with), Some(Language::Python));
        let exported = ["__futex_abstimed_wait_common", "PyEval_RestoreThread", "time_sleep"];
        assert_eq!(python(&exported), Some(Language::Python));
        assert_eq!(python(&["pthread_mutex_lock", "lock_PyThread_acquire_lock"]), None);
        let stripped = ["__futex_abstimed_wait_common", "pthread_cond_timedwait", "python3.11+0x4f92c0"];
        assert_eq!(python(&stripped), Some(Language::Python));
        assert_eq!(python(&["pthread_cond_timedwait", "libuv.so.1.0.0+0x1f0", "python3.11+0x4f9"]), None);
        assert_eq!(python(&["epoll_wait", "python3.11+0x5897a0"]), None);
        // Far out it is what the thread does beside, and not what it waits in.
        let far: Vec<&str> = std::iter::repeat_n("f", INTERPRETER_FRAMES).chain(["take_gil"]).collect();
        assert_eq!(python(&far), None);
    }
}
