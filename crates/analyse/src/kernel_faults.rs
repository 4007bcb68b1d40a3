//! What is known to be wrong in kernels and makes programs slow: the one table of it.
//!
//! By the version that the kernel gives itself (`uname -r`). A distribution that takes a mend from
//! a later version keeps the old number, so this says what a kernel may do, not what it does.

/// A fault of some versions, from the first to the last that has it.
struct KernelFault {
    first: [u32; 3],
    last: [u32; 3],
    /// What it does, and since when it no longer does.
    what: &'static str,
    /// Where it keeps threads from CPUs, which may be what a busy host looks like: a line on that.
    starves: Option<&'static str>,
}

const FAULTS: [KernelFault; 1] = [KernelFault {
    first: [6, 18, 0],
    last: [6, 18, 44],
    what: "may leave threads that are ready without a CPU when the weights of control groups change \
           (reweight_entity of the fair scheduler; reverted in 6.18.45)",
    starves: Some("Linux 6.18.0 to 6.18.44 can starve ready threads; fixed in 6.18.45"),
}];

/// What is known of this kernel, a sentence each.
pub(crate) fn known(kernel: &str) -> Vec<String> {
    faults_of(kernel).map(|fault| format!("Linux {kernel} {}", fault.what)).collect()
}

/// A line on each that keeps threads from CPUs.
pub(crate) fn starving(kernel: &str) -> impl Iterator<Item = String> {
    faults_of(kernel).filter_map(|fault| fault.starves).map(str::to_owned)
}

fn faults_of(kernel: &str) -> impl Iterator<Item = &'static KernelFault> {
    let version = version(kernel);
    FAULTS
        .iter()
        .filter(move |fault| version.is_some_and(|version| (fault.first..=fault.last).contains(&version)))
}

/// The three numbers that a release begins with. Where there are fewer, or the last is a package's
/// own (`6.1.0-50`), the stable version is not known; a fault of such versions is not told.
fn version(release: &str) -> Option<[u32; 3]> {
    let numbers = release.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
    let mut numbers = numbers.split('.').map(|number| number.parse().ok());
    let version = [numbers.next()??, numbers.next()??, numbers.next()??];
    numbers.next().is_none().then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_with_a_fault_are_told_from_those_before_and_after() {
        for with in ["6.18.44-fc-v657", "6.18.0", "6.18.15+deb13-cloud-amd64"] {
            let known = known(with);
            assert!(known[0].starts_with(&format!("Linux {with} may leave threads")), "{known:?}");
            assert_eq!(starving(with).count(), 1);
        }
        for without in [
            "6.18.45",
            "6.17.13+deb13-amd64",
            "6.19.6",
            "6.1.0-50-cloud-amd64",
            "6.18",
            "",
            "6.18.x",
            "6.18.1.2",
        ] {
            assert!(known(without).is_empty(), "{without}");
        }
    }
}
