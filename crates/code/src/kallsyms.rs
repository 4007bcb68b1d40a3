//! Names of kernel functions, from `/proc/kallsyms`.

use std::io::{BufRead, BufReader};

use model::Seen;

/// The limit of symbols; a kernel has 100,000 to 300,000.
const SYMBOLS_MAX: usize = 2_000_000;

/// The kernel's functions by address. 16 bytes each, and their names: 10 MB for most kernels.
pub struct Kallsyms {
    /// Address, and the offset of the name in `names`.
    symbols: Vec<(u64, u32)>,
    /// Names one after another; a module's as `name [module]`.
    names: String,
}

impl Kallsyms {
    /// Reads them: 30 to 40 ms. Unseen, with the reason, where the kernel hides its addresses.
    pub fn read() -> Seen<Kallsyms> {
        match std::fs::File::open("/proc/kallsyms") {
            Ok(file) => Kallsyms::parse(BufReader::with_capacity(1 << 16, file)),
            Err(error) => Seen::Unseen(format!("cannot open /proc/kallsyms: {error}")),
        }
    }

    pub(crate) fn parse(mut lines: impl BufRead) -> Seen<Kallsyms> {
        let mut all = Kallsyms { symbols: Vec::new(), names: String::new() };
        let (mut line, mut any) = (String::new(), false);
        loop {
            line.clear();
            match lines.read_line(&mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => any |= all.take(&line),
            }
            if all.symbols.len() >= SYMBOLS_MAX {
                break;
            }
        }
        if all.symbols.is_empty() {
            return Seen::Unseen(
                match any {
                    true => "the kernel hides its addresses; try: sudo sysctl kernel.kptr_restrict=1, and run dwell as root",
                    false => "/proc/kallsyms is empty: a sandbox hides it, or this kernel was built without CONFIG_KALLSYMS",
                }
                .to_owned(),
            );
        }
        // A stable sort, so that the first of several names for an address stays: the one without a
        // prefix.
        all.symbols.sort_by_key(|(address, _)| *address);
        all.symbols.dedup_by_key(|(address, _)| *address);
        Seen::Value(all)
    }

    /// Adds a line `ADDRESS TYPE NAME[\tMODULE]`; returns whether it is valid.
    fn take(&mut self, line: &str) -> bool {
        let mut fields = line.split_ascii_whitespace();
        let (Some(address), Some(kind), Some(name)) = (fields.next(), fields.next(), fields.next()) else {
            return false;
        };
        let Ok(address) = u64::from_str_radix(address, 16) else { return false };
        if address != 0 && matches!(kind, "t" | "T" | "w" | "W") {
            let Ok(start) = u32::try_from(self.names.len()) else { return true };
            self.symbols.push((address, start));
            self.names.push_str(name);
            if let Some(module) = fields.next() {
                self.names.push(' ');
                self.names.push_str(module);
            }
            self.names.push('\n');
        }
        true
    }

    /// The function that an address is in: `do_sys_openat2`, `ext4_readdir [ext4]`.
    pub fn name(&self, address: u64) -> Option<&str> {
        let next = self.symbols.partition_point(|(start, _)| *start <= address);
        let (_, start) = self.symbols.get(next.checked_sub(1)?)?;
        self.names.get(*start as usize..)?.lines().next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_function_below_is_named_with_its_module() {
        let text =
            "ffff00 T _stext\nffff00 t alias\nffff80 D data\nffff90 t second\nffffc0 t third\t[ext4]\nbad\n";
        let Seen::Value(all) = Kallsyms::parse(text.as_bytes()) else { panic!() };
        assert_eq!(all.name(0xffff00), Some("_stext"));
        assert_eq!(all.name(0xffff8f), Some("_stext"));
        assert_eq!(all.name(0xffff95), Some("second"));
        assert_eq!(all.name(0xffffff), Some("third [ext4]"));
        assert_eq!(all.name(0xfffe00), None);
    }

    #[test]
    fn hidden_addresses_are_distinguished_from_none() {
        let hidden = Kallsyms::parse("0000000000000000 T _stext\n0000000000000000 T x\n".as_bytes());
        let Seen::Unseen(why) = hidden else { panic!() };
        assert!(why.contains("kptr_restrict"));
        let Seen::Unseen(why) = Kallsyms::parse("".as_bytes()) else { panic!() };
        assert!(why.contains("CONFIG_KALLSYMS"));
    }
}
