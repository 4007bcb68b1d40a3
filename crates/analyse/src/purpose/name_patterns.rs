//! Functions of libraries, runtimes and databases, by what a wait in them is for.

use model::wait::StackFrame;

/// How a function is known by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamePattern {
    /// A C function of this name, however decorated: `__pthread_mutex_lock`, `take_gil.part.0`.
    Is(&'static str),
    /// A qualified name with this in it.
    Has(&'static str),
    /// A qualified name with both of these: a class and its method. Runtimes write them in several
    /// ways.
    Method(&'static str, &'static str),
    /// A function of a script, by its file.
    Script(&'static str, &'static str),
}

use NamePattern::{Has, Is, Method, Script};

impl NamePattern {
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
pub(super) fn undecorated(name: &str) -> &str {
    let name = name.trim_start_matches('_');
    let name = name.strip_prefix("GI_").unwrap_or(name).trim_start_matches('_');
    name.split(['.', '@']).next().unwrap_or(name)
}

/// Whether the list has the frame's function.
pub(super) fn is_in(list: &[NamePattern], frame: &StackFrame) -> bool {
    list.iter().any(|known| known.names(frame))
}

/// Functions that sleep for a lock and for nothing else.
pub(super) const LOCKS: &[NamePattern] = &[
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
pub(super) const LOCKS_APART: &[NamePattern] = &[
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

/// What a runtime has between its lock and the method that takes it: stubs of the JVM's compilers.
pub(super) const LOCK_STUBS: &[NamePattern] = &[
    Is("complete_monitor_locking_Java"),
    Has("Runtime1::monitorenter"),
    Method("monitorenter", "Runtime1 stub"),
    Has("SharedRuntime::"),
    Has("InterpreterRuntime::"),
];

/// Semaphores: functions that sleep for a lock, unless those that called them wait for work with
/// it.
pub(super) const SEMAPHORES: &[NamePattern] = &[
    Is("sem_wait"),
    Is("sem_timedwait"),
    Is("sem_clockwait"),
    // The first two of these jump to it.
    Is("new_sem_wait_slow64"),
    Is("new_sem_wait_slow"),
    Is("uv_sem_wait"),
];

/// Functions of scripts' runtimes that take the locks of scripts, with the same exception.
pub(super) const SCRIPT_LOCKS: &[NamePattern] = &[
    Is("PyThread_acquire_lock"),
    Is("PyThread_acquire_lock_timed"),
    Is("lock_PyThread_acquire_lock"),
    Is("rlock_acquire"),
];

/// Functions that sleep with a lock for something else: for a notice, or the end of a thread.
pub(super) const NO_LOCKS: &[NamePattern] = &[
    Script("wait", "threading.py"),
    Script("join", "threading.py"),
    Script("_wait_for_tstate_lock", "threading.py"),
];

/// Functions that sleep for work and for nothing else: what waits in them has none.
pub(super) const WORK: &[NamePattern] = &[
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
    Script("_handle_results", "pool.py"),
    Script("_wait_for_updates", "pool.py"),
    Script("wait_result_broken_or_wakeup", "process.py"),
    Is("queue_SimpleQueue_get_impl"),
    Is("queue_SimpleQueue_get"),
    // The same without symbols: there is nothing else in the module that waits. Whoever takes a
    // piece of work wakes the next one, which finds nothing: no waker tells it from a lock.
    Has("_queue.cpython-"),
    Script("serve_forever", "socketserver.py"),
    // postgres: the next command, and its processes in the background.
    Is("SocketBackend"),
    Is("ReadCommand"),
    // Erlang.
    Is("scheduler_wait"),
];

/// Functions that sleep for work and do it too: only what they sleep in themselves is for work.
pub(super) const LOOPS: &[NamePattern] = &[
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
    Script("_handle_tasks", "pool.py"),
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

/// Functions that only sleep; their callers decide the purpose.
pub(super) const SLEEPS: &[NamePattern] = &[
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
pub(super) const CONDITIONS: &[NamePattern] = &[
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
pub(super) const BEGINS: &[NamePattern] = &[
    Is("main"),
    Is("start"),
    Is("start_thread"),
    Is("clone"),
    Is("clone3"),
    Is("libc_start_main"),
    Is("libc_start_call_main"),
    Is("libc_start_main_impl"),
];

/// Functions that take CPython's lock: what waits for it, and, where there are no symbols, what is
/// exported and calls that.
pub(super) const TAKES: [&str; 4] =
    ["take_gil", "PyEval_RestoreThread", "PyEval_AcquireThread", "_PyThreadState_Attach"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_are_of_others_are_part_of_them() {
        let missing = |part: &[NamePattern], of: &[NamePattern]| -> Vec<NamePattern> {
            part.iter().copied().filter(|known| !of.contains(known)).collect()
        };
        assert_eq!(missing(CONDITIONS, SLEEPS), []);
        assert_eq!(missing(LOCKS_APART, LOCKS), []);
    }
}
