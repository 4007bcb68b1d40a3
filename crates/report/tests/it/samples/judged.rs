//! What samples mean.

use analyse::judge::judge;
use model::recording::Tier;
use model::{Profile, Run, RunResult, Seen};

/// A sample with what it means.
pub(crate) fn result(run: &Run, profile: Option<&Profile>) -> RunResult {
    let mut run = run.clone();
    let prediction = Seen::unseen("samples are not predicted from");
    let mut kept = profile.cloned().unwrap_or_default();
    // Samples have their functions without their stacks.
    let diagnosis = judge(Tier::Bpf, &mut run, &mut kept, &prediction);
    let profile = if profile.is_some() { Seen::Value(kept) } else { Seen::unseen("it was not kept") };
    RunResult { run, diagnosis, path_over_time: Vec::new(), profile, addresses: Vec::new(), prediction }
}
