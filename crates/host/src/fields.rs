//! Lines of a name and a value, as meminfo, vmstat, memory.stat, status and fdinfo have them.

/// The number in the line of this name: `MemTotal: 16303428 kB`, `pgfault 912331233`. The colon
/// belongs to the name.
pub fn number(text: &str, name: &str) -> Option<u64> {
    value(text, name)?.split_ascii_whitespace().next()?.parse().ok()
}

/// The same of a field that counts units of 1024 bytes (`kB`), in bytes.
pub fn kib(text: &str, name: &str) -> Option<u64> {
    number(text, name)?.checked_mul(1024)
}

/// What follows the name in the first line that begins with it.
pub fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let rest = |line: &'a str| {
        line.strip_prefix(name).filter(|rest| rest.starts_with(|char: char| char.is_ascii_whitespace()))
    };
    text.lines().find_map(rest).map(str::trim)
}

/// The value of `name : value` in cpuinfo, of the first CPU that has it.
pub fn cpuinfo<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let pair = |line: &'a str| line.split_once(':').filter(|(key, _)| key.trim_end() == name);
    text.lines().find_map(pair).map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_whole_word() {
        let text = "SwapCached:  7 kB\nCached:\t  12 kB\nCached: 13 kB\npgfault 5\nbad: x\nhuge: 18446744073709551615\n";
        assert_eq!(number(text, "Cached:"), Some(12));
        assert_eq!((kib(text, "Cached:"), number(text, "pgfault")), (Some(12 << 10), Some(5)));
        assert_eq!((number(text, "pg"), number(text, "bad:"), number(text, "none:")), (None, None, None));
        assert_eq!(kib(text, "huge:"), None);
    }

    #[test]
    fn cpuinfo_names_may_have_blanks() {
        let text = "processor\t: 0\nmodel\t\t: 85\nmodel name\t: A CPU: fast\n";
        assert_eq!(cpuinfo(text, "model name"), Some("A CPU: fast"));
        assert_eq!(cpuinfo(text, "model"), Some("85"));
        assert_eq!(cpuinfo(text, "flags"), None);
    }
}
