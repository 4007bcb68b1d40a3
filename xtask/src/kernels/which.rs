//! The kernels that are tested: what Debian's suites have, by pattern, so that a newer package of
//! the same series takes the place of an older one.

use anyhow::{Result, bail};

/// A kernel of a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kernel {
    /// What it is called here, and in the table.
    pub(crate) name: &'static str,
    pub(crate) suite: &'static str,
    /// How the version in the name of its package begins; any where this is empty.
    pub(crate) series: &'static str,
    /// `cloud`, small and with the drivers of virtual machines built in, or `rt`: PREEMPT_RT.
    pub(crate) flavour: &'static str,
    pub(crate) arch: &'static str,
}

const fn cloud(name: &'static str, suite: &'static str, series: &'static str) -> Kernel {
    Kernel { name, suite, series, flavour: "cloud", arch: "x86_64" }
}

const fn rt(name: &'static str, suite: &'static str, series: &'static str) -> Kernel {
    Kernel { name, suite, series, flavour: "rt", arch: "x86_64" }
}

const fn arm(name: &'static str, suite: &'static str, series: &'static str) -> Kernel {
    Kernel { name, suite, series, flavour: "cloud", arch: "aarch64" }
}

/// All of them. No suite has 5.11 to 6.0, 6.2 to 6.11, and 6.13 to 6.15.
pub(crate) const ALL: &[Kernel] = &[
    cloud("5.10", "bullseye", "5.10"),
    rt("5.10-rt", "bullseye", "5.10"),
    cloud("6.1", "bookworm", "6.1"),
    rt("6.1-rt", "bookworm", "6.1"),
    cloud("6.12", "trixie", "6.12"),
    rt("6.12-rt", "trixie", "6.12"),
    cloud("6.16", "trixie-backports", "6.16"),
    cloud("6.17", "trixie-backports", "6.17"),
    cloud("6.18", "trixie-backports", "6.18"),
    cloud("6.19", "trixie-backports", "6.19"),
    cloud("7.0", "trixie-backports", "7.0"),
    cloud("7.1", "trixie-backports", "7.1"),
    cloud("7.2", "trixie-backports", "7.2"),
    rt("7.2-rt", "trixie-backports", "7.2"),
    cloud("7.3", "trixie-backports", "7.3"),
    rt("7.3-rt", "trixie-backports", "7.3"),
    cloud("forky", "forky", ""),
    cloud("sid", "sid", ""),
    arm("6.1-arm64", "bookworm", "6.1"),
    arm("6.12-arm64", "trixie", "6.12"),
    arm("7.2-arm64", "trixie-backports", "7.2"),
    arm("7.3-arm64", "trixie-backports", "7.3"),
];

/// Those of the whole lane: the oldest that most people have, and a new one.
pub(crate) const WHOLE: &[&str] = &["6.1", "7.2"];

impl Kernel {
    /// As Debian calls the architecture.
    pub(crate) fn debian_arch(&self) -> &'static str {
        if self.arch == "aarch64" { "arm64" } else { "amd64" }
    }

    /// Whether a package of this name is this kernel. Until 6.18 it is in `linux-image-…`; from
    /// 6.19 on that is empty, and the kernel is in `linux-binary-…`.
    pub(crate) fn is_in(&self, package: &str) -> bool {
        let names = ["linux-image-", "linux-binary-"];
        let Some(version) = names.iter().find_map(|begin| package.strip_prefix(begin)) else { return false };
        let end = format!("-{}-{}", self.flavour, self.debian_arch());
        let Some(version) = version.strip_suffix(&end) else { return false };
        let rest = version.strip_prefix(self.series).unwrap_or("x");
        let whole_number = self.series.is_empty() || rest.starts_with('.') || rest.is_empty();
        whole_number && version.starts_with(|c: char| c.is_ascii_digit())
    }

    /// Whether it is new enough for dwell's BPF programs; doctor recommends no capabilities where
    /// they would not help.
    pub(crate) fn takes_bpf(&self) -> bool {
        !self.is_up_to(5, 10)
    }

    /// The version of the series, as far as it is known before it boots.
    pub(crate) fn is_up_to(&self, major: u32, minor: u32) -> bool {
        let mut numbers = self.series.split('.').map(|number| number.parse().unwrap_or(u32::MAX));
        let of_it = (numbers.next().unwrap_or(u32::MAX), numbers.next().unwrap_or(u32::MAX));
        of_it <= (major, minor)
    }
}

/// The kernels of these names, all without one.
///
/// # Errors
/// For a name that is none.
pub(crate) fn named(names: &[&str]) -> Result<Vec<Kernel>> {
    if names.is_empty() {
        return Ok(ALL.to_vec());
    }
    let find = |name: &&str| ALL.iter().find(|kernel| kernel.name == *name).copied();
    if let Some(unknown) = names.iter().find(|name| find(name).is_none()) {
        let all: Vec<_> = ALL.iter().map(|kernel| kernel.name).collect();
        bail!("no kernel {unknown}; there are {}", all.join(", "));
    }
    Ok(names.iter().filter_map(find).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(name: &str, package: &str) -> bool {
        named(&[name]).unwrap()[0].is_in(package)
    }

    #[test]
    fn a_package_is_known_by_its_name() {
        assert!(is("6.1", "linux-image-6.1.0-56-cloud-amd64"));
        assert!(!is("6.1", "linux-image-6.12.117+deb12-cloud-amd64"));
        assert!(!is("6.1", "linux-image-6.1.0-56-cloud-amd64-unsigned"));
        assert!(!is("6.1", "linux-image-6.1.0-56-rt-amd64"));
        assert!(is("6.1-rt", "linux-image-6.1.0-56-rt-amd64"));
        assert!(is("7.2", "linux-binary-7.2.12+deb13-cloud-amd64"));
        assert!(!is("7.2", "linux-modules-7.2.12+deb13-cloud-amd64"));
        assert!(is("sid", "linux-binary-7.2.13+deb14-cloud-amd64"));
        assert!(!is("sid", "linux-binary-unsigned-7.2.13+deb14-cloud-amd64"));
        assert!(is("7.2-arm64", "linux-binary-7.2.12+deb13-cloud-arm64"));
    }

    #[test]
    fn names_are_those_of_the_table() {
        assert_eq!(named(&[]).unwrap().len(), ALL.len());
        assert_eq!(named(WHOLE).unwrap().len(), WHOLE.len());
        assert!(named(&["2.6"]).is_err());
        assert!(named(&["6.1"]).unwrap()[0].is_up_to(6, 1) && !named(&["sid"]).unwrap()[0].is_up_to(6, 1));
    }
}
