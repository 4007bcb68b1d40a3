//! Lists of CPUs as the kernel, taskset(1) and `--cpus` write them: `0-3,7`. See cpuset(7), "List
//! format". Which CPUs exist is left to others.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// No kernel has more CPUs: `NR_CPUS` of Linux is 8192 at most.
pub const CPUS_MAX: u32 = 8192;

/// CPUs in the order in which they were given, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct CpuList(Vec<u32>);

/// A text that is not a list of CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CpuListError {
    /// Something other than numbers, `-` and `,`, or a range that runs backwards.
    #[error("not a list of CPUs: {0:?}; try: 0-3,6")]
    Malformed(String),
    /// Beyond [`CPUS_MAX`].
    #[error("there is no CPU {0}: the last one that a kernel can have is {last}", last = CPUS_MAX - 1)]
    TooLarge(u32),
    /// Listed more than once.
    #[error("CPU {0} is listed twice")]
    Twice(u32),
}

impl CpuList {
    /// The CPUs.
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }

    /// The CPUs, without the list.
    pub fn into_vec(self) -> Vec<u32> {
        self.0
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it has this one.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }
}

impl From<&[u32]> for CpuList {
    fn from(cpus: &[u32]) -> Self {
        Self(cpus.to_vec())
    }
}

impl FromIterator<u32> for CpuList {
    fn from_iter<T: IntoIterator<Item = u32>>(cpus: T) -> Self {
        Self(cpus.into_iter().collect())
    }
}

impl FromStr for CpuList {
    type Err = CpuListError;

    /// An empty text is an empty list, as the kernel writes one.
    fn from_str(text: &str) -> Result<Self, CpuListError> {
        let malformed = || CpuListError::Malformed(text.to_owned());
        let mut listed = vec![false; CPUS_MAX as usize];
        let mut cpus = Vec::new();
        if text.trim().is_empty() {
            return Ok(Self(cpus));
        }
        for range in text.trim().split(',') {
            let (from, to) = range.split_once('-').unwrap_or((range, range));
            let (Ok(from), Ok(to)) = (from.parse::<u32>(), to.parse::<u32>()) else {
                return Err(malformed());
            };
            if from > to {
                return Err(malformed());
            }
            if to >= CPUS_MAX {
                return Err(CpuListError::TooLarge(to));
            }
            for cpu in from..=to {
                if std::mem::replace(&mut listed[cpu as usize], true) {
                    return Err(CpuListError::Twice(cpu));
                }
                cpus.push(cpu);
            }
        }
        Ok(Self(cpus))
    }
}

impl fmt::Display for CpuList {
    /// In order of number, with ranges.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted.dedup();
        let ranges = sorted.chunk_by(|before, after| before + 1 == *after);
        for (at, range) in ranges.enumerate() {
            let comma = if at > 0 { "," } else { "" };
            match range {
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
                _ => write!(f, "{comma}{}", range[0])?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_ranges_and_holes_and_keep_their_order() {
        let cpus = |text: &str| text.parse().map(CpuList::into_vec);
        assert_eq!(cpus("0-2,5\n"), Ok(vec![0, 1, 2, 5]));
        assert_eq!(cpus("7,0-1"), Ok(vec![7, 0, 1]));
        assert_eq!(cpus("\n"), Ok(vec![]));
        assert_eq!(cpus("0-8191").map(|cpus| cpus.len()), Ok(8192));
    }

    #[test]
    fn what_is_no_list_is_refused_with_what_is_wrong() {
        for text in ["x", "3-1", "1,,2", "-1", "1-", "0-4294967296", "0-3:1/2"] {
            assert_eq!(text.parse::<CpuList>(), Err(CpuListError::Malformed(text.to_owned())));
        }
        assert_eq!("0-4294967295".parse::<CpuList>(), Err(CpuListError::TooLarge(u32::MAX)));
        assert_eq!("0-3,2".parse::<CpuList>(), Err(CpuListError::Twice(2)));
        let error = "3-1".parse::<CpuList>().unwrap_err().to_string();
        assert_eq!(error, "not a list of CPUs: \"3-1\"; try: 0-3,6");
    }

    #[test]
    fn a_list_is_printed_as_the_kernel_prints_it() {
        for (cpus, text) in [(&[][..], ""), (&[3], "3"), (&[6, 0, 1, 3, 2], "0-3,6"), (&[1, 2], "1-2")] {
            assert_eq!(CpuList::from(cpus).to_string(), text);
        }
    }
}
