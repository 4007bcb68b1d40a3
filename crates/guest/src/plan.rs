//! The steps of a plan, and what each is.

use crate::run;
use anyhow::{Context, Result};
use observe::Verified;
use rustix::fs::XattrFlags;
use rustix::mount::{MountFlags, mount, mount_remount};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
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
    Write { path: PathBuf, text: String },
    /// Mounts a file system, of a device or of none; `remount` changes the options of one.
    Mount {
        kind: String,
        at: PathBuf,
        #[serde(default)]
        from: Option<PathBuf>,
        #[serde(default)]
        data: String,
        #[serde(default)]
        remount: bool,
    },
    /// Tells all of a file, in hexadecimal.
    Send { path: PathBuf },
    /// A copy of a program that has the capabilities that an earlier command recommended: its first
    /// `setcap …+ep`.
    Capable { from: PathBuf, to: PathBuf, said_by: String },
}

impl Step {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Verify => "verify",
            Self::Run(run) => &run.name,
            Self::Write { .. } => "write",
            Self::Mount { .. } => "mount",
            Self::Send { .. } => "send",
            Self::Capable { .. } => "setcap",
        }
    }
}

/// Capabilities that dwell may ask for, by their bits in linux/capability.h.
const CAPABILITIES: &[(&str, u32)] = &[
    ("cap_dac_read_search", 2),
    ("cap_net_admin", 12),
    ("cap_ipc_lock", 14),
    ("cap_sys_ptrace", 19),
    ("cap_sys_admin", 21),
    ("cap_sys_nice", 23),
    ("cap_sys_resource", 24),
    ("cap_syslog", 34),
    ("cap_perfmon", 38),
    ("cap_bpf", 39),
    ("cap_checkpoint_restore", 40),
];

/// What commands said, by their names.
pub(crate) type Earlier = BTreeMap<String, String>;

/// Does it, and gives what is to be told of it.
pub(crate) fn done(step: &Step, earlier: &mut Earlier) -> Vec<Value> {
    if matches!(step, Step::Verify) {
        return observe::verify().iter().map(verified).collect();
    }
    vec![one(step, earlier).unwrap_or_else(|error| json!({"error": format!("{error:#}")}))]
}

fn one(step: &Step, earlier: &mut Earlier) -> Result<Value> {
    match step {
        Step::Verify => {}
        Step::Run(command) => {
            let done = run::run(command)?;
            earlier.insert(command.name.clone(), done["said"].as_str().unwrap_or_default().to_owned());
            return Ok(done);
        }
        Step::Write { path, text } => {
            fs::write(path, text).with_context(|| format!("{}", path.display()))?;
        }
        Step::Mount { kind, at, from, data, remount } => {
            // Directories of sysfs cannot be made, and need not be.
            let _ = fs::create_dir_all(at);
            let data = CString::new(data.as_str())?;
            let from = from.clone().unwrap_or_else(|| kind.into());
            let mounted = match remount {
                true => mount_remount(at, MountFlags::empty(), data.as_c_str()),
                false => mount(from, at, kind.as_str(), MountFlags::empty(), data.as_c_str()),
            };
            mounted.with_context(|| format!("{kind} at {}", at.display()))?;
        }
        Step::Send { path } => {
            let bytes = fs::read(path).with_context(|| format!("{}", path.display()))?;
            return Ok(json!({"hex": hex(&bytes)}));
        }
        Step::Capable { from, to, said_by } => {
            let said = earlier.get(said_by).map(String::as_str).unwrap_or_default();
            let names = recommended(said).context("no setcap …+ep was recommended")?;
            fs::copy(from, to).with_context(|| format!("{}", to.display()))?;
            fs::set_permissions(to, Permissions::from_mode(0o755))?;
            let value = file_capabilities(&bits(&names)?);
            rustix::fs::setxattr(to, "security.capability", &value, XattrFlags::empty())?;
            return Ok(json!({"capabilities": names}));
        }
    }
    Ok(json!({}))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The capabilities of the first `setcap …+ep`, which may be broken over lines.
fn recommended(said: &str) -> Option<Vec<String>> {
    let words: Vec<&str> = said.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "setcap")?;
    let list = words.get(at + 1)?.trim_matches('\'').strip_suffix("+ep")?;
    Some(list.split(',').map(str::to_owned).collect())
}

fn bits(names: &[String]) -> Result<Vec<u32>> {
    let bit = |name: &String| {
        let known = CAPABILITIES.iter().find(|(known, _)| known == name);
        known.map(|(_, bit)| *bit).with_context(|| format!("{name} has no bit here"))
    };
    names.iter().map(bit).collect()
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
    fn capabilities_are_those_that_are_recommended() {
        let names = recommended("try sudo\nsetcap cap_bpf,cap_perfmon+ep /bin/dwell").unwrap();
        assert_eq!(bits(&names).unwrap(), [39, 38]);
        assert!(recommended("nothing").is_none() && bits(&["cap_x".to_owned()]).is_err());
    }

    #[test]
    fn bytes_have_two_digits_each() {
        assert_eq!(hex(&[0, 10, 255]), "000aff");
    }

    #[test]
    fn a_plan_is_a_list_of_steps() {
        let plan = r#"[{"do":"verify"},{"do":"write","path":"/a","text":"1"},
            {"do":"run","name":"x","argv":["/bin/x"],"limit_s":5}]"#;
        let steps: Vec<Step> = serde_json::from_str(plan).unwrap();
        assert_eq!(steps.iter().map(Step::name).collect::<Vec<_>>(), ["verify", "write", "x"]);
    }
}
