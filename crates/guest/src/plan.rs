//! The steps of a plan, and what each is.

use crate::run;
use anyhow::{Context, Result};
use observe::Verified;
use rustix::fs::XattrFlags;
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_remount, unmount};
use serde::Deserialize;
use serde_json::{Value, json};
use std::ffi::CString;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// What is to be done.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Step {
    /// Loads every program of dwell's kernel halves.
    Verify,
    /// Runs a command.
    Run(run::Run),
    /// Writes to a file that exists, such as a setting of the kernel.
    Write {
        path: PathBuf,
        text: String,
    },
    /// Mounts a file system; `remount` changes the options of one.
    Mount {
        kind: String,
        at: PathBuf,
        #[serde(default)]
        data: String,
        #[serde(default)]
        remount: bool,
    },
    Unmount {
        at: PathBuf,
    },
    /// A copy of a program that has these capabilities (their bits in linux/capability.h).
    Capable {
        from: PathBuf,
        to: PathBuf,
        capabilities: Vec<u32>,
    },
    /// Loads kernel modules, in this order.
    Modules {
        paths: Vec<PathBuf>,
    },
}

impl Step {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Verify => "verify",
            Self::Run(run) => &run.name,
            Self::Write { .. } => "write",
            Self::Mount { .. } => "mount",
            Self::Unmount { .. } => "unmount",
            Self::Capable { .. } => "capable",
            Self::Modules { .. } => "modules",
        }
    }
}

/// Does it, and gives what is to be told of it.
pub(crate) fn done(step: &Step) -> Vec<Value> {
    if matches!(step, Step::Verify) {
        return observe::verify().iter().map(verified).collect();
    }
    vec![one(step).unwrap_or_else(|error| json!({"error": format!("{error:#}")}))]
}

fn one(step: &Step) -> Result<Value> {
    match step {
        Step::Verify => {}
        Step::Run(command) => return run::run(command),
        Step::Write { path, text } => {
            fs::write(path, text).with_context(|| format!("{}", path.display()))?;
        }
        Step::Mount { kind, at, data, remount } => {
            // Directories of sysfs cannot be made, and need not be.
            let _ = fs::create_dir_all(at);
            let data = CString::new(data.as_str())?;
            let mounted = match remount {
                true => mount_remount(at, MountFlags::empty(), data.as_c_str()),
                false => mount(kind.as_str(), at, kind.as_str(), MountFlags::empty(), data.as_c_str()),
            };
            mounted.with_context(|| format!("{kind} at {}", at.display()))?;
        }
        Step::Unmount { at } => {
            unmount(at, UnmountFlags::DETACH).with_context(|| format!("{}", at.display()))?;
        }
        Step::Capable { from, to, capabilities } => {
            fs::copy(from, to).with_context(|| format!("{}", to.display()))?;
            fs::set_permissions(to, Permissions::from_mode(0o755))?;
            let value = file_capabilities(capabilities);
            rustix::fs::setxattr(to, "security.capability", &value, XattrFlags::empty())?;
        }
        Step::Modules { paths } => {
            for path in paths {
                let module = fs::read(path).with_context(|| format!("{}", path.display()))?;
                rustix::system::init_module(&module, c"").with_context(|| format!("{}", path.display()))?;
            }
        }
    }
    Ok(json!({}))
}

/// `struct vfs_cap_data` of linux/capability.h, version 2: permitted and effective.
fn file_capabilities(bits: &[u32]) -> Vec<u8> {
    let mask = |word: u32| bits.iter().filter(|bit| *bit / 32 == word).map(|bit| 1 << (bit % 32)).sum();
    let words: [u32; 5] = [0x0200_0001, mask(0), 0, mask(1), 0];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn verified(one: &Verified) -> Value {
    let (loaded, instructions, why) = match &one.result {
        Ok(instructions) => (true, *instructions, None),
        Err(why) => (false, None, Some(why)),
    };
    json!({
        "step": "verify", "object": one.object, "program": one.program, "loaded": loaded,
        "instructions": instructions, "why": why,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_stand_in_two_words() {
        let bytes = file_capabilities(&[38, 39, 19]);
        assert_eq!(bytes[..8], [1, 0, 0, 2, 0, 0, 8, 0]);
        assert_eq!(bytes[12..], [0xc0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_plan_is_a_list_of_steps() {
        let plan = r#"[{"do":"verify"},{"do":"write","path":"/a","text":"1"},
            {"do":"run","name":"x","argv":["/bin/x"],"limit_s":5}]"#;
        let steps: Vec<Step> = serde_json::from_str(plan).unwrap();
        assert_eq!(steps.iter().map(Step::name).collect::<Vec<_>>(), ["verify", "write", "x"]);
    }
}
