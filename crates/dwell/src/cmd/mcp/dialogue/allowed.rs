//! What the user allowed: commands by their words, and targets by their names.

use anyhow::bail;

/// The last word of a command that may have more words.
const MORE: &str = "...";

/// What may be started and looked at.
#[derive(Debug, Default)]
pub(crate) struct Allowed {
    commands: Vec<Vec<String>>,
    /// An empty one is any.
    targets: Vec<String>,
    /// Whether the user is asked about the rest.
    pub(crate) confirm: bool,
}

impl Allowed {
    /// What the options say: commands, targets, and whether the user is asked about the rest.
    ///
    /// # Errors
    /// A command has no words, or cannot be split.
    pub(crate) fn of(allow: &[String], targets: &[String], confirm: bool) -> anyhow::Result<Self> {
        let mut commands = Vec::new();
        for text in allow {
            match shlex::split(text) {
                Some(words) if words.first().is_some_and(|first| first != MORE) => commands.push(words),
                _ => bail!("--allow {text:?} is no command\ntry: --allow 'make -j2'"),
            }
        }
        Ok(Self { commands, targets: targets.to_vec(), confirm })
    }

    /// Whether this command may be started.
    pub(crate) fn command(&self, words: &[String]) -> bool {
        self.commands.iter().any(|allowed| match allowed.split_last() {
            Some((last, first)) if last == MORE => words.starts_with(first),
            _ => words == allowed,
        })
    }

    /// Whether this target may be attached to.
    pub(crate) fn target(&self, target: &str) -> bool {
        self.targets.iter().any(|allowed| allowed.is_empty() || allowed == target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(texts: &[&str]) -> anyhow::Result<Allowed> {
        let allow: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        Allowed::of(&allow, &[], false)
    }

    #[test]
    fn a_command_is_allowed_by_all_its_words() {
        let allowed = allowed(&["make -j2", "python3 job.py ...", "'a b'"]).unwrap();
        let may = |words: &[&str]| {
            allowed.command(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        assert!(may(&["make", "-j2"]) && may(&["a b"]));
        assert!(may(&["python3", "job.py"]) && may(&["python3", "job.py", "-v", "x"]));
        for refused in [
            &[][..],
            &["make"],
            &["make", "-j2", "x"],
            &["make -j2"],
            &["a", "b"],
            &["python3"],
            &["python3", "job.pyx"],
            &["python3", "-c", "job.py"],
            &["sh", "-c", "make -j2"],
        ] {
            assert!(!may(refused), "{refused:?}");
        }
    }

    #[test]
    fn what_allows_everything_is_no_command() {
        for wrong in ["", "...", "'", "  "] {
            assert!(allowed(&[wrong]).is_err(), "{wrong:?}");
        }
        assert!(!allowed(&[]).unwrap().command(&["true".to_owned()]));
    }

    #[test]
    fn targets_are_named_or_any() {
        let with = |targets: &[&str]| Allowed {
            targets: targets.iter().map(|target| (*target).to_owned()).collect(),
            ..Allowed::default()
        };
        assert!(!with(&[]).target("nginx"));
        assert!(with(&["nginx"]).target("nginx") && !with(&["nginx"]).target("1"));
        assert!(with(&[""]).target("1"));
    }
}
