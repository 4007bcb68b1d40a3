//! For how long some thread of the tree was under way, whichever it was: on a CPU, else in the run
//! queue, else waiting for a device or a peer.
//!
//! A thread that only lets time pass says nothing of what the program is bound by while others
//! work. What they did meanwhile is a difference of two readings of this clock.

use model::Ns;

/// How a thread is under way; the first that any thread is counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Progress {
    OnCpu,
    Runnable,
    /// In a wait that a device or a peer ends.
    Outside,
}

/// Time by progress.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ProgressTimes([Ns; Progress::ALL.len()]);

/// The clock.
#[derive(Debug, Default)]
pub(crate) struct ProgressClock {
    /// Threads by progress.
    threads: [u32; Progress::ALL.len()],
    sums: ProgressTimes,
    at: Ns,
}

impl Progress {
    pub(crate) const ALL: [Self; 3] = [Self::OnCpu, Self::Runnable, Self::Outside];
}

impl ProgressTimes {
    pub(crate) fn of(&self, progress: Progress) -> Ns {
        self.0[progress as usize]
    }

    /// What was added since an earlier reading.
    pub(crate) fn since(self, earlier: ProgressTimes) -> ProgressTimes {
        let mut difference = self.0;
        difference.iter_mut().zip(earlier.0).for_each(|(now, then)| *now = now.saturating_sub(then));
        ProgressTimes(difference)
    }

    /// No more than this in all: what is below the first is cut first.
    pub(crate) fn within(self, most: Ns) -> ProgressTimes {
        let mut room = most;
        ProgressTimes(self.0.map(|ns| {
            let ns = ns.min(room);
            room -= ns;
            ns
        }))
    }
}

impl ProgressClock {
    /// A thread goes from one progress to another.
    pub(crate) fn change(&mut self, at: Ns, from: Option<Progress>, to: Option<Progress>) {
        if from == to {
            return;
        }
        self.advance(at);
        if let Some(from) = from {
            let threads = &mut self.threads[from as usize];
            *threads = threads.saturating_sub(1);
        }
        if let Some(to) = to {
            self.threads[to as usize] += 1;
        }
    }

    /// The reading at `at`.
    pub(crate) fn read(&mut self, at: Ns) -> ProgressTimes {
        self.advance(at);
        self.sums
    }

    fn advance(&mut self, at: Ns) {
        // Clocks of two CPUs may be a few hundred nanoseconds apart.
        let Some(ns) = at.checked_sub(self.at) else { return };
        self.at = at;
        if let Some(first) = self.threads.iter().position(|threads| *threads > 0) {
            self.sums.0[first] += ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Progress::{OnCpu, Outside, Runnable};

    #[test]
    fn the_first_progress_of_any_thread_counts() {
        let mut cover = ProgressClock::default();
        cover.change(100, None, Some(OnCpu));
        cover.change(110, None, Some(Outside));
        let before = cover.read(115);
        cover.change(120, Some(OnCpu), None);
        cover.change(150, None, Some(Runnable));
        cover.change(155, Some(Runnable), Some(OnCpu));
        cover.change(160, Some(Outside), None);
        cover.change(170, Some(OnCpu), None);
        let of = |covered: ProgressTimes| Progress::ALL.map(|progress| covered.of(progress));
        assert_eq!(of(cover.read(1000)), [20 + 15, 5, 30], "nobody is under way from 170 on");
        assert_eq!(of(cover.read(1000).since(before)), [5 + 15, 5, 30]);
        assert_eq!(of(cover.read(1000).within(37)), [35, 2, 0]);
    }

    #[test]
    fn a_clock_that_is_behind_adds_nothing() {
        let mut cover = ProgressClock::default();
        cover.change(100, None, Some(OnCpu));
        cover.change(200, Some(OnCpu), None);
        cover.change(190, None, Some(OnCpu));
        assert_eq!(cover.read(195).of(OnCpu), 100);
        assert_eq!(cover.read(230).of(OnCpu), 130);
    }
}
