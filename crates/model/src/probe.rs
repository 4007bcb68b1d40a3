//! Probes: runs of the same command in which the fix of a finding is imposed from outside, before
//! anything is changed. What they gave stands with the finding.
//!
//! Which finding has which probe is up to `analyse`, how a fix is imposed to `probes`.

use crate::compare::why::Came;
use crate::{JsonSchema, Ns};
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// What is imposed on a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Probe {
    /// Calls that have the disk confirm what was written return at once.
    SkipFlushes,
    /// `TCP_NODELAY` is set on its sockets.
    NoDelay,
    /// Files that it reads from a disk are in memory before it starts.
    WarmFiles,
    /// It runs outside of the control groups that have a CPU quota.
    LiftQuota,
    /// It goes before other programs on the CPUs.
    RaisePriority,
    /// The C library's allocator keeps memory that the program gives back.
    KeepMemory,
}

impl Probe {
    /// All of them, as they are listed.
    pub const ALL: [Self; 6] = [
        Self::NoDelay,
        Self::WarmFiles,
        Self::RaisePriority,
        Self::KeepMemory,
        Self::SkipFlushes,
        Self::LiftQuota,
    ];

    /// On the command line and in JSON. It never changes.
    pub fn id(self) -> &'static str {
        self.into()
    }

    /// The probe of this name.
    pub fn named(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|probe| probe.id() == id)
    }

    /// Whether it is imposed only where it was asked for by its name: it may cost the user's data,
    /// or takes what somebody else decided about.
    pub fn by_name_only(self) -> bool {
        matches!(self, Self::SkipFlushes | Self::LiftQuota)
    }
}

/// What pairs of runs gave, one of each pair as the program is, one with the probe; none of them is
/// observed otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Probed {
    /// What was imposed.
    pub probe: Probe,
    /// How many pairs.
    #[schemars(range(min = 1))]
    pub pairs: u32,
    /// The median wall clock of the runs without the probe.
    pub plain_ns: Ns,
    /// The same with it.
    pub probed_ns: Ns,
    /// By how much the runs with it are shorter; negative where they are longer.
    pub saving_ns: MeasuredSaving,
    /// Whether the predicted saving came.
    pub held: Came,
    /// Whether runs without the probe took at least half as long as the one that was observed. Else
    /// what made that one slow was mostly not there any more.
    pub slow_again: bool,
}

/// A saving that was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredSaving {
    /// The middle; negative where the probe made the program slower.
    pub estimate: i64,
    /// Low end of the 95 % interval (signed ranks); null with fewer than six pairs.
    pub lo: Option<i64>,
    /// The high end, likewise.
    pub hi: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_probe_has_one_name_on_the_command_line_and_in_json() {
        for probe in Probe::ALL {
            assert_eq!(Probe::named(probe.id()), Some(probe));
            assert_eq!(serde_json::to_string(&probe).unwrap(), format!("{:?}", probe.id()));
        }
        assert_eq!(Probe::named("everything"), None);
    }
}
