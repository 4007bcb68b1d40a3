//! Addresses that get names one after the other, each once.

use std::sync::Arc;

/// The limit of a name in bytes.
const NAME_MAX: usize = 1024;

/// Addresses and their names as far as they are known.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// In order, each once.
    addresses: Vec<u64>,
    names: Vec<Option<Arc<str>>>,
    /// For each address the first one from it on that may have no name: chains that get shorter as
    /// they are followed.
    next: Vec<u32>,
}

impl Named {
    /// These addresses, all without names.
    pub(crate) fn new(addresses: impl Iterator<Item = u64>) -> Self {
        let mut addresses: Vec<u64> = addresses.collect();
        addresses.sort_unstable();
        addresses.dedup();
        let names = vec![None; addresses.len()];
        let next = (0..=addresses.len() as u32).collect();
        Named { addresses, names, next }
    }

    /// The name of an address.
    pub(crate) fn of(&self, address: u64) -> Option<&str> {
        self.names[self.addresses.binary_search(&address).ok()?].as_deref().filter(|name| !name.is_empty())
    }

    /// How many have no name.
    pub(super) fn missing(&self) -> usize {
        self.names.iter().filter(|name| name.is_none()).count()
    }

    /// Whether any address from `start` to before `end` is asked for.
    pub(super) fn any_in(&self, start: u64, end: u64) -> bool {
        let first = self.addresses.partition_point(|address| *address < start);
        self.addresses.get(first).is_some_and(|address| *address < end)
    }

    /// Code from `start` to before `end` has this name, unless it has one already. Returns how many
    /// addresses got it.
    pub(super) fn cover(&mut self, start: u64, end: u64, name: impl FnOnce() -> Box<str>) -> usize {
        let last = self.addresses.partition_point(|address| *address < end);
        let mut at = self.unnamed_from(self.addresses.partition_point(|address| *address < start));
        if at >= last {
            return 0;
        }
        let name: Arc<str> = shortened(&name()).into();
        let mut covered = 0;
        while at < last {
            self.names[at] = Some(Arc::clone(&name));
            self.next[at] = at as u32 + 1;
            covered += 1;
            at = self.unnamed_from(at + 1);
        }
        covered
    }

    /// The first address without a name from this position on.
    fn unnamed_from(&mut self, position: usize) -> usize {
        let mut at = position;
        while self.next[at] as usize != at {
            at = self.next[at] as usize;
        }
        let mut behind = position;
        while behind != at {
            behind = std::mem::replace(&mut self.next[behind], at as u32) as usize;
        }
        at
    }
}

/// The name, or its beginning where it is longer than any that is read by people.
fn shortened(name: &str) -> &str {
    let mut end = name.len().min(NAME_MAX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_its_first_name() {
        let mut named = Named::new([30, 10, 20, 20, u64::MAX].into_iter());
        assert_eq!(named.missing(), 4);
        assert_eq!(named.cover(20, 21, || "b".into()), 1);
        assert_eq!(named.cover(0, u64::MAX, || "a".into()), 2);
        assert_eq!(named.cover(10, 31, || unreachable!()), 0);
        assert_eq!(named.cover(31, 5, || unreachable!()), 0);
        assert_eq!(
            [10, 20, 30, u64::MAX, 11].map(|at| named.of(at)),
            [Some("a"), Some("b"), Some("a"), None, None]
        );
        assert_eq!(named.missing(), 1);
    }

    #[test]
    fn a_name_is_cut_between_its_characters() {
        let long = format!("{}é", "x".repeat(NAME_MAX - 1));
        assert_eq!(shortened(&long).len(), NAME_MAX - 1);
        assert_eq!(shortened("short"), "short");
    }
}
