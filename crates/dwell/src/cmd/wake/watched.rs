//! A listener that also has the kernel watched for what makes wake-ups late.

use model::wake::Asked;
use model::wake::spike::SpikeSeen;
use model::{Ns, Seen, Tid};
use observe::spikes::Spikes;
use wakes::{Late, Listener, Progress};

/// What the caller listens with, and the instruments, where they are wanted and can be had.
pub(super) struct Watched<'a> {
    listener: &'a mut dyn Listener,
    spikes: Seen<Spikes>,
}

impl<'a> Watched<'a> {
    /// Attaches the instruments, if they are `wanted`.
    pub(super) fn new(asked: &Asked, wanted: bool, listener: &'a mut dyn Listener) -> Self {
        let spikes = if !wanted {
            Seen::Absent
        } else {
            match Spikes::open(&asked.cpus, asked.spike_ns) {
                Ok(spikes) => Seen::Value(spikes),
                Err(wall) => Seen::Unseen(format!("{}; try: {}", wall.why, wall.remedy)),
            }
        };
        Self { listener, spikes }
    }

    /// What was seen, and what the kernel does not tell: sentences without a full stop.
    pub(super) fn finish(self) -> (Seen<Vec<SpikeSeen>>, Vec<String>) {
        match self.spikes {
            Seen::Value(spikes) => {
                let limits = spikes.limits().to_vec();
                (Seen::Value(spikes.finish()), limits)
            }
            Seen::Absent => (Seen::Absent, Vec::new()),
            Seen::Unseen(why) => (Seen::Unseen(why), Vec::new()),
        }
    }
}

impl Listener for Watched<'_> {
    fn begins(&mut self, begun_ns: Ns, threads: &[(u32, Tid)]) {
        if let Seen::Value(spikes) = &mut self.spikes {
            spikes.begin(begun_ns, threads);
        }
        self.listener.begins(begun_ns, threads);
    }

    fn progress(&mut self, progress: Progress) {
        if let Seen::Value(spikes) = &mut self.spikes {
            spikes.look();
        }
        self.listener.progress(progress);
    }

    fn late(&mut self, late: Late) {
        if let Seen::Value(spikes) = &mut self.spikes {
            spikes.late(late.cpu, late.expected_ns, late.awake_ns);
        }
        self.listener.late(late);
    }
}
