//! What a wait is for, by the functions that it is in: a lock, or the next piece of work.
//!
//! System calls do not tell: a thread sleeps on a futex for a lock, and also when a pool has
//! nothing for it. Runtimes tell by where they sleep. The two lists stand side by side here; what
//! follows from them is up to the account and `judge`.

use model::recording::Language;
use model::wait::StackFrame;

/// What a wait is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    /// Something that another thread has taken and will give back.
    Lock,
    /// The next piece of work: a request, a task, a timer of an event loop.
    Work,
}

/// How a function is known by its name.
#[derive(Debug, Clone, Copy)]
enum Known {
    /// A C function of this name, however decorated: `__pthread_mutex_lock`, `take_gil.part.0`.
    Is(&'static str),
    /// A qualified name with this in it.
    Has(&'static str),
    /// The same with both of these: a class and its method. Runtimes write them in several ways.
    Method(&'static str, &'static str),
    /// A function of a script, by its file.
    Script(&'static str, &'static str),
}

use Known::{Has, Is, Method, Script};

/// Functions that sleep for a lock and for nothing else.
const LOCKS: &[Known] = &[
    // The C library.
    Is("pthread_mutex_lock"),
    Is("pthread_mutex_timedlock"),
    Is("pthread_mutex_clocklock"),
    Is("pthread_mutex_cond_lock"),
    Is("pthread_rwlock_rdlock"),
    Is("pthread_rwlock_wrlock"),
    Is("pthread_rwlock_timedrdlock"),
    Is("pthread_rwlock_timedwrlock"),
    Is("pthread_rwlock_clockrdlock"),
    Is("pthread_rwlock_clockwrlock"),
    Is("lll_lock_wait"),
    Is("lll_lock_wait_private"),
    Is("mtx_lock"),
    Is("mtx_timedlock"),
    Is("flock"),
    Is("lockf"),
    Is("lockf64"),
    Is("semop"),
    Is("semtimedop"),
    // C++ and Rust.
    Method("Mutex", "lock_contended"),
    Method("RwLock", "read_contended"),
    Method("RwLock", "write_contended"),
    Method("RawMutex", "lock_slow"),
    Method("RawRwLock", "_slow"),
    Method("absl", "Mutex::Lock"),
    Has("v8::base::Mutex::Lock"),
    // Go: its runtime's own locks. A goroutine that waits for a `sync.Mutex` leaves its thread.
    Has("runtime.lock2"),
    Has("sync.(*Mutex).lockSlow"),
    Has("sync.(*RWMutex).Lock"),
    Has("sync.(*RWMutex).RLock"),
    Has("sync.runtime_SemacquireMutex"),
    Has("sync.runtime_SemacquireRWMutex"),
    // The JVM's monitors, those of its own, and locks of java.util.concurrent.
    Has("ObjectMonitor::enter"),
    Has("ObjectMonitor::EnterI"),
    Has("ObjectMonitor::ReenterI"),
    Has("ObjectSynchronizer::enter"),
    Has("SharedRuntime::complete_monitor_locking"),
    Has("SharedRuntime::monitor_enter_helper"),
    Has("InterpreterRuntime::monitorenter"),
    Has("Mutex::lock_contended"),
    Method("ReentrantLock", "lock"),
    Method("ReentrantReadWriteLock", "lock"),
    Method("StampedLock", "acquire"),
    Method("AbstractQueuedSynchronizer", "acquireQueued"),
    Method("AbstractQueuedSynchronizer", "acquireInterruptibly"),
    // .NET.
    Has("JIT_MonEnter"),
    Has("AwareLock::Enter"),
    // Ruby's interpreter lock.
    Is("thread_sched_to_running"),
    Is("thread_sched_to_running_common"),
    Is("thread_sched_wait_running_turn"),
    Is("gvl_acquire"),
    // Databases.
    Is("LWLockAcquire"),
    Is("LWLockAcquireOrWait"),
    Is("LWLockWaitForVar"),
    Is("PGSemaphoreLock"),
    Is("ProcSleep"),
    Is("WaitOnLock"),
    Is("LockAcquire"),
    Is("LockAcquireExtended"),
    Is("LockBufferForCleanup"),
    Is("XactLockTableWait"),
    Is("lock_wait_suspend_thread"),
    Is("rw_lock_s_lock_spin"),
    Is("rw_lock_x_lock_func"),
    Is("sync_array_wait_event"),
    Has("MDL_wait::timed_wait"),
];

/// Those of them whose threads each sleep on a futex of their own.
const LOCKS_APART: &[Known] = &[
    Has("AwareLock::Enter"),
    Has("JIT_MonEnter"),
    Has("ObjectMonitor::enter"),
    Has("ObjectMonitor::EnterI"),
    Has("ObjectMonitor::ReenterI"),
    Method("AbstractQueuedSynchronizer", "acquireQueued"),
    Method("AbstractQueuedSynchronizer", "acquireInterruptibly"),
    Method("RawMutex", "lock_slow"),
    Method("RawRwLock", "_slow"),
];

/// Functions that sleep for a lock, unless those that called them wait for work with it.
const MAYBE_LOCKS: &[Known] = &[
    Is("sem_wait"),
    Is("sem_timedwait"),
    Is("sem_clockwait"),
    Is("uv_sem_wait"),
    Is("PyThread_acquire_lock"),
    Is("PyThread_acquire_lock_timed"),
    Is("lock_PyThread_acquire_lock"),
    Is("rlock_acquire"),
];

/// Functions that sleep with a lock for something else: for a notice, or the end of a thread.
const NO_LOCKS: &[Known] = &[
    Script("wait", "threading.py"),
    Script("join", "threading.py"),
    Script("_wait_for_tstate_lock", "threading.py"),
];

/// Functions that sleep for work and for nothing else: what waits in them has none.
const WORK: &[Known] = &[
    // Go's scheduler, its poller and its monitor.
    Has("runtime.stopm"),
    Has("runtime.findRunnable"),
    Has("runtime.findrunnable"),
    Has("runtime.stoplockedm"),
    Has("runtime.sysmon"),
    Has("runtime.templateThread"),
    Has("os/signal.signal_recv"),
    // libuv, Node and V8.
    Is("uv__io_poll"),
    Has("node::TaskQueue"),
    Has("node::DelayedTaskScheduler"),
    Has("v8::platform::DelayedTaskQueue::GetNext"),
    // Event loops of C.
    Is("aeApiPoll"),
    Is("ngx_epoll_process_events"),
    Is("ngx_poll_process_events"),
    Is("ngx_select_process_events"),
    Is("epoll_dispatch"),
    Is("g_main_context_poll"),
    Is("g_async_queue_pop"),
    Is("g_async_queue_timeout_pop"),
    Is("g_thread_pool_wait_for_new_task"),
    Is("apr_pollset_poll"),
    Method("boost::asio", "epoll_reactor::run"),
    // Rust.
    Method("tokio::runtime", "Context::park"),
    Method("tokio::runtime", "Parker::park"),
    Method("tokio::runtime", "Driver::park"),
    Has("tokio::runtime::park::CachedParkThread::park"),
    Has("mio::poll::Poll::poll"),
    Has("polling::Poller::wait"),
    Has("rayon_core::sleep::Sleep::sleep"),
    Method("std::sync::mpsc", "::recv"),
    Method("std::sync::mpmc", "::recv"),
    Method("crossbeam_channel", "::recv"),
    // Threads of the JVM.
    Has("CompileQueue::get"),
    Has("VMThread::wait_for_vm_operation"),
    Has("WatcherThread::sleep"),
    Has("worker_wait_for_task"),
    Has("GangWorker::wait_for_task"),
    Has("ServiceThread::service_thread_entry"),
    Has("wait_for_completed_buffers"),
    Has("wait_for_next_cycle"),
    Has("G1ServiceThread::wait_for_task"),
    Has("MonitorDeflationThread::monitor_deflation_thread_entry"),
    Has("NotificationThread::notification_thread_entry"),
    Has("signal_thread_entry"),
    Has("JVM_WaitForReferencePendingList"),
    // Pools and queues of Java.
    Method("ForkJoinPool", "awaitWork"),
    Method("ForkJoinPool", "idleAwaitWork"),
    Method("ThreadPoolExecutor", "getTask"),
    Method("BlockingQueue", "take"),
    Method("BlockingQueue", "poll"),
    Method("BlockingDeque", "take"),
    Method("BlockingDeque", "poll"),
    Method("DelayedWorkQueue", "take"),
    Method("DelayedWorkQueue", "poll"),
    Method("SynchronousQueue", "take"),
    Method("SynchronousQueue", "poll"),
    Method("LinkedTransferQueue", "take"),
    Method("LinkedTransferQueue", "poll"),
    Method("DelayQueue", "take"),
    Method("ReferenceQueue", "remove"),
    Method("TimerThread", "mainLoop"),
    Method("java.util.concurrent.locks.LockSupport", "parkIdle"),
    // .NET.
    Has("FinalizerThread::WaitForFinalizerEvent"),
    Has("LowLevelLifoSemaphore"),
    // Python's queues and loops.
    Script("get", "queue.py"),
    Script("get", "queues.py"),
    Is("queue_SimpleQueue_get_impl"),
    Is("queue_SimpleQueue_get"),
    Script("serve_forever", "socketserver.py"),
    // postgres: the next command, and its processes in the background.
    Is("SocketBackend"),
    Is("ReadCommand"),
    // Erlang.
    Is("scheduler_wait"),
];

/// Functions that sleep for work and do it too: only what they sleep in themselves is for work.
const LOOPS: &[Known] = &[
    // A function of this name that sleeps on a condition by itself: libuv's, and many others.
    Is("worker"),
    Is("worker_main"),
    Is("worker_thread"),
    Has("node::WorkerThreadsTaskRunner"),
    Has("v8::platform::"),
    Is("bioProcessBackgroundJobs"),
    Is("thread_pool_cycle"),
    Is("ngx_thread_pool_cycle"),
    Is("ev_run"),
    Is("event_base_loop"),
    Is("gomp_thread_start"),
    Has("tokio::runtime::blocking::pool::Inner::run"),
    Has("rayon_core::registry::WorkerThread::wait_until"),
    Method("std::thread", "park"),
    Script("_run_once", "base_events.py"),
    Script("_worker", "thread.py"),
    Script("worker", "pool.py"),
    Is("ServerLoop"),
    Is("WalWriterMain"),
    Is("BackgroundWriterMain"),
    Is("CheckpointerMain"),
    Is("AutoVacLauncherMain"),
    Is("PgArchiverMain"),
    Is("pgarch_MainLoop"),
    Is("ApplyLauncherMain"),
    Is("SysLoggerMain"),
    Is("WalSndLoop"),
    Is("WalReceiverMain"),
    Is("io_handler_thread"),
    Is("srv_worker_thread"),
    Is("srv_purge_coordinator_thread"),
    Has("Per_thread_connection_handler::block_until_new_connection"),
];

/// Functions that only sleep: what for is known by those that call them.
const SLEEPS: &[Known] = &[
    Is("futex_wait"),
    Is("futex_abstimed_wait"),
    Is("futex_abstimed_wait_common"),
    Is("futex_abstimed_wait_common64"),
    Is("futex_abstimed_wait_cancelable64"),
    Is("futex_abstimed_wait64"),
    Is("internal_syscall_cancel"),
    Is("syscall_cancel"),
    Is("syscall_cancel_arch"),
    Is("syscall_cancel_arch_end"),
    Is("syscall"),
    Is("do_futex_wait"),
    Is("new_sem_wait_slow64"),
    Is("pthread_cond_wait"),
    Is("pthread_cond_timedwait"),
    Is("pthread_cond_clockwait"),
    Is("pthread_cond_wait_common"),
    Is("cnd_wait"),
    Is("cnd_timedwait"),
    Is("sem_wait"),
    Is("sem_timedwait"),
    Is("epoll_wait"),
    Is("epoll_pwait"),
    Is("poll"),
    Is("ppoll"),
    Is("select"),
    Is("pselect"),
    Is("uv_cond_wait"),
    Is("uv_cond_timedwait"),
    Is("uv_sem_wait"),
    Is("gomp_simple_barrier_wait"),
    Is("gomp_barrier_wait"),
    Is("gomp_barrier_wait_end"),
    Is("do_wait"),
    Is("WaitLatch"),
    Is("WaitEventSetWait"),
    Is("WaitEventSetWaitBlock"),
    Is("clock_nanosleep"),
    Is("nanosleep"),
    Is("usleep"),
    Is("pg_usleep"),
    Is("select_epoll_poll"),
    Is("select_epoll_poll_impl"),
    Script("select", "selectors.py"),
    Has("v8::base::ConditionVariable::Wait"),
    Has("std::condition_variable::wait"),
    Has("ConditionVariableImpl"),
    Method("condvar", "wait"),
    Method("Condvar", "wait"),
    Method("std::sys", "futex_wait"),
    Method("std::sys", "Parker::park"),
];

/// Those of them that wait until another thread says that a condition is true.
const CONDITIONS: &[Known] = &[
    Is("pthread_cond_wait"),
    Is("pthread_cond_timedwait"),
    Is("pthread_cond_clockwait"),
    Is("cnd_wait"),
    Is("cnd_timedwait"),
    Is("uv_cond_wait"),
    Is("uv_cond_timedwait"),
    Has("v8::base::ConditionVariable::Wait"),
    Has("std::condition_variable::wait"),
    Method("condvar", "wait"),
    Method("Condvar", "wait"),
];

/// Functions that threads begin with.
const BEGINS: &[Known] = &[
    Is("main"),
    Is("start"),
    Is("start_thread"),
    Is("clone"),
    Is("clone3"),
    Is("libc_start_main"),
    Is("libc_start_call_main"),
    Is("libc_start_main_impl"),
];

/// A function that waits is among this many of the innermost frames.
const FRAMES: usize = 16;
/// One that takes an interpreter's lock is among this many of them.
const INTERPRETER_FRAMES: usize = 8;

/// Functions that take CPython's lock: what waits for it, and, where there are no symbols, what is
/// exported and calls that.
const TAKES: [&str; 4] =
    ["take_gil", "PyEval_RestoreThread", "PyEval_AcquireThread", "_PyThreadState_Attach"];

/// Whether the wait is for the next piece of work, by its stack, the innermost first.
pub(crate) fn waits_for_work(stack: &[StackFrame]) -> bool {
    told(stack).is_some_and(|(purpose, _)| purpose == Purpose::Work)
}

/// Whether it sleeps on a condition that another thread will make true, by its stack. Locks made of
/// conditions are known by the functions that take them.
pub(crate) fn is_on_condition(stack: &[StackFrame]) -> bool {
    let sleeps = |frame: &&StackFrame| SLEEPS.iter().any(|known| known.names(frame));
    stack.iter().take_while(sleeps).any(|frame| CONDITIONS.iter().any(|known| known.names(frame)))
}

/// The function that sleeps for a lock and for nothing else, where the wait is in one, by its
/// stack, the innermost first.
pub(crate) fn lock_function(stack: &[StackFrame]) -> Option<&str> {
    let told = told(stack).filter(|(purpose, _)| *purpose == Purpose::Lock);
    let frame = stack.iter().find(|frame| told.is_some_and(|(_, function)| frame.function == function))?;
    LOCKS.iter().any(|known| known.names(frame)).then_some(frame.function.as_str())
}

/// Functions of scripts' runtimes that take the locks of scripts.
const SCRIPT_LOCKS: &[Known] = &[
    Is("PyThread_acquire_lock"),
    Is("PyThread_acquire_lock_timed"),
    Is("lock_PyThread_acquire_lock"),
    Is("rlock_acquire"),
];

/// Where a lock is taken that a wait is for, by its stack, the innermost first: the function that
/// called the one that takes it, of a script its own. None where the wait may be for something
/// else: a semaphore can be a notice, and locks of a script's conditions are.
pub(crate) fn takes_lock_in(stack: &[StackFrame]) -> Option<&StackFrame> {
    let (purpose, _) = told(stack)?;
    let is = |frame: &StackFrame, list: &[Known]| list.iter().any(|known| known.names(frame));
    let takes = |frame: &StackFrame| is(frame, LOCKS) || is(frame, SCRIPT_LOCKS);
    let taken = stack.iter().take(FRAMES).rposition(takes).filter(|_| purpose == Purpose::Lock)?;
    let callers = &stack[taken + 1..];
    let of_script = stack.iter().take(FRAMES).find(|frame| frame.is_script());
    of_script.or_else(|| callers.first())
}

/// Whether it waits for a lock whose threads each sleep on a futex of their own.
pub(crate) fn sleeps_apart(stack: &[StackFrame]) -> bool {
    stack.iter().take(FRAMES).any(|frame| LOCKS_APART.iter().any(|known| known.names(frame)))
}

/// What a wait is for, and the function that tells.
fn told(stack: &[StackFrame]) -> Option<(Purpose, &str)> {
    let (mut sleeps_itself, mut otherwise) = (true, None);
    for frame in stack.iter().take(FRAMES) {
        let is = |list: &[Known]| list.iter().any(|known| known.names(frame));
        let function = frame.function.as_str();
        if is(LOCKS) {
            return Some((Purpose::Lock, function));
        }
        if is(WORK) || (sleeps_itself && is(LOOPS)) {
            return Some((Purpose::Work, function));
        }
        if is(MAYBE_LOCKS) {
            otherwise = Some((Purpose::Lock, function));
        }
        if is(NO_LOCKS) {
            otherwise = None;
        }
        sleeps_itself &= is(SLEEPS);
    }
    otherwise
}

/// The functions that a wait was called from, the innermost first and no more than `most`: without
/// those that only sleep, and those that any thread begins with. Of a script, its own.
pub(crate) fn called_from(stack: &[StackFrame], most: usize) -> Vec<String> {
    let is = |frame: &StackFrame, list: &[Known]| list.iter().any(|known| known.names(frame));
    let script = stack.iter().take(FRAMES).position(StackFrame::is_script).unwrap_or(0);
    let callers = stack[script..].iter().skip_while(|frame| is(frame, SLEEPS));
    let callers = callers.filter(|frame| !is(frame, BEGINS));
    callers.take(most).map(|frame| frame.function.clone()).collect()
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
    let sleeps = |frame: &&StackFrame| SLEEPS.iter().any(|known| known.names(frame));
    let inner = stack.iter().take_while(sleeps);
    let on_condition = inner.clone().any(|frame| undecorated(&frame.function).starts_with("pthread_cond_"));
    let caller = stack.get(inner.count()).map_or("", |frame| frame.function.as_str());
    let of_interpreter = ["python3", "libpython3"].iter().any(|module| caller.starts_with(module));
    on_condition && of_interpreter && caller.contains("+0x")
}

impl Known {
    fn names(self, frame: &StackFrame) -> bool {
        let name = frame.function.as_str();
        match self {
            Is(function) => undecorated(name) == function,
            Has(part) => name.contains(part),
            Method(class, method) => name.contains(class) && name.contains(method),
            Script(function, file) => {
                frame.is_script()
                    && name.rsplit('.').next() == Some(function)
                    && frame.source.as_ref().is_some_and(|(of, _)| of == file)
            }
        }
    }
}

/// A C function's name without the marks of libraries and compilers.
fn undecorated(name: &str) -> &str {
    let name = name.trim_start_matches('_');
    let name = name.strip_prefix("GI_").unwrap_or(name).trim_start_matches('_');
    name.split(['.', '@']).next().unwrap_or(name)
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
        lock.or_else(|| told(stack).map(|(purpose, _)| purpose))
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
