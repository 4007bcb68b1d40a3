//! What a thread does, as far as it is known: the one vocabulary of both producers.

/// A thread's state between two things heard of it; `B` is what is known of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThreadState<B> {
    /// On a CPU.
    Running,
    /// In the run queue.
    Runnable,
    /// Off its CPU until something wakes it.
    Blocked(B),
    /// Stopped by job control or a tracer.
    Stopped,
    /// It ended.
    Dead,
    /// It lives, but nothing says what it does.
    Unknown,
}

impl<B> ThreadState<B> {
    pub(crate) fn is_dead(&self) -> bool {
        matches!(self, ThreadState::Dead)
    }

    /// On a CPU, or it would be if there were one.
    pub(crate) fn is_active(&self) -> bool {
        matches!(self, ThreadState::Running | ThreadState::Runnable)
    }
}
