//! Parameters of commands: `-P VAR MIN MAX`, `-D DELTA`, `-L VAR VALUES`, their combinations, and
//! `{VAR}` in texts.

use crate::cli::CommandArgs;
use anyhow::bail;

/// Values of one parameter at most.
const VALUES_MAX: i128 = 1_000;
/// Digits after the point at most.
const DIGITS_MAX: usize = 12;

/// A parameter and its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) values: Vec<String>,
}

/// The parameters of the command line.
pub(super) fn parameters(args: &CommandArgs) -> anyhow::Result<Vec<Parameter>> {
    let mut all = Vec::new();
    for [name, least, most] in args.parameter_scan.as_chunks::<3>().0 {
        let step = args.parameter_step_size.as_deref().unwrap_or("1");
        all.push(Parameter { name: name.clone(), values: scanned(name, least, most, step)? });
    }
    for [name, values] in args.parameter_list.as_chunks::<2>().0 {
        all.push(Parameter { name: name.clone(), values: listed(values) });
    }
    for (at, Parameter { name, .. }) in all.iter().enumerate() {
        if name_at_start(name) != Some(name) {
            bail!("{name:?} is no name of a parameter\ntry: letters, digits, - and _");
        }
        if all[..at].iter().any(|other| other.name == *name) {
            bail!("the parameter {name} is given twice\ntry: another name for one of them");
        }
    }
    Ok(all)
}

/// All combinations of values; the first parameter changes fastest. One without values where there
/// are no parameters.
pub(super) fn combinations(parameters: &[Parameter]) -> Vec<Vec<(String, String)>> {
    let mut all = vec![Vec::new()];
    for Parameter { name, values } in parameters {
        let with = |value: &String| {
            let add = |before: &Vec<(String, String)>| {
                let mut combination = before.clone();
                combination.push((name.clone(), value.clone()));
                combination
            };
            all.iter().map(add).collect::<Vec<_>>()
        };
        all = values.iter().flat_map(with).collect();
    }
    all
}

/// A text with its parameters filled in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Substituted {
    pub(super) text: String,
    /// Names in braces that are no parameters.
    pub(super) unknown: Vec<String>,
}

/// Replaces each `{NAME}` by its value, once: a value may have braces. `${NAME}` is a shell's.
pub(super) fn substituted(text: &str, values: &[(String, String)]) -> Substituted {
    let mut done = Substituted { text: String::with_capacity(text.len()), unknown: Vec::new() };
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, after) = rest.split_at(open);
        done.text.push_str(before);
        let name = name_at_start(&after[1..]).filter(|name| after[1 + name.len()..].starts_with('}'));
        let value = name.and_then(|name| values.iter().find(|(known, _)| known == name));
        let taken = match (name, value) {
            (Some(name), Some((_, value))) => {
                done.text.push_str(value);
                name.len() + 2
            }
            (name, _) => {
                done.unknown.extend(name.filter(|_| !before.ends_with('$')).map(str::to_owned));
                done.text.push('{');
                1
            }
        };
        rest = &after[taken..];
    }
    done.text.push_str(rest);
    done
}

/// The name that a text begins with.
fn name_at_start(text: &str) -> Option<&str> {
    let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '-';
    let name = &text[..text.find(|char| !is_part(char)).unwrap_or(text.len())];
    name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_').then_some(name)
}

/// Values between commas; `\,` is a comma in a value.
fn listed(text: &str) -> Vec<String> {
    let mut values = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let last = values.len() - 1;
        match char {
            '\\' if chars.next_if_eq(&',').is_some() => values[last].push(','),
            ',' => values.push(String::new()),
            char => values[last].push(char),
        }
    }
    values
}

/// The values from `least` to `most`: exact decimals.
fn scanned(name: &str, least: &str, most: &str, step: &str) -> anyhow::Result<Vec<String>> {
    let digits = [least, most, step].map(|text| text.split_once('.').map_or(0, |(_, after)| after.len()));
    let digits = digits.into_iter().max().unwrap_or(0);
    let [Some(first), Some(last), Some(delta)] = [least, most, step].map(|text| scaled(text, digits)) else {
        bail!(
            "-P {name} {least} {most} with steps of {step} has no numbers\ntry: -P {name} 1 8, or -L {name} a,b"
        );
    };
    if delta <= 0 || last < first {
        bail!(
            "-P {name} {least} {most} with steps of {step} has no values\ntry: -P {name} MIN MAX -D DELTA above 0"
        );
    }
    if (last - first) / delta >= VALUES_MAX {
        bail!("-P {name} {least} {most} with steps of {step} has too many values\ntry: -D with larger steps");
    }
    let values = (0..=(last - first) / delta).map(|at| first + at * delta);
    Ok(values.map(|value| unscaled(value, digits)).collect())
}

/// A decimal number times ten to the power of `digits`.
fn scaled(text: &str, digits: usize) -> Option<i128> {
    let (sign, unsigned) = text.strip_prefix('-').map_or((1, text), |unsigned| (-1, unsigned));
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let is_number = |text: &str| text.chars().all(|char| char.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) || whole.len() + fraction.len() == 0 || digits > DIGITS_MAX {
        return None;
    }
    let number: i128 = format!("{whole}{fraction:0<digits$}").parse().ok()?;
    (number < i128::from(i64::MAX)).then_some(sign * number)
}

fn unscaled(value: i128, digits: usize) -> String {
    let (sign, value) = (if value < 0 { "-" } else { "" }, value.unsigned_abs());
    let scale = 10_u128.pow(digits as u32);
    match digits {
        0 => format!("{sign}{value}"),
        _ => format!("{sign}{}.{:0digits$}", value / scale, value % scale),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(least: &str, most: &str, step: &str) -> Option<Vec<String>> {
        scanned("n", least, most, step).ok()
    }

    #[test]
    fn scans_are_exact() {
        assert_eq!(scan("1", "4", "1").unwrap(), ["1", "2", "3", "4"]);
        assert_eq!(scan("0.3", "0.7", "0.2").unwrap(), ["0.3", "0.5", "0.7"]);
        assert_eq!(scan("-1", "1", "0.5").unwrap(), ["-1.0", "-0.5", "0.0", "0.5", "1.0"]);
        assert_eq!(scan("1", "2", "5").unwrap(), ["1"]);
        for (least, most, step) in [
            ("2", "1", "1"),
            ("1", "2", "0"),
            ("1", "2", "-1"),
            ("a", "2", "1"),
            ("1", "1e3", "1"),
            ("", "1", "1"),
        ] {
            assert_eq!(scan(least, most, step), None, "{least} {most} {step}");
        }
        assert!(scan("0", "1", "0.0000000000001").is_none() && scan("0", "1000", "1").is_none());
        assert_eq!(scan("1", "1000", "1").unwrap().len(), 1_000);
    }

    #[test]
    fn lists_are_split_at_commas() {
        assert_eq!(listed("a,b c,"), ["a", "b c", ""]);
        assert_eq!(listed(r"a\,b,c\d"), ["a,b", r"c\d"]);
    }

    #[test]
    fn names_are_replaced_once() {
        let values = [("a".to_owned(), "{b}".to_owned()), ("b".to_owned(), "1".to_owned())];
        let done = substituted("{a} {b} {c} {{a}} ${d} {} {a", &values);
        assert_eq!(done.text, "{b} 1 {c} {{b}} ${d} {} {a");
        assert_eq!(done.unknown, ["c"]);
    }

    #[test]
    fn a_parameter_has_one_name() {
        let args = |list: &[&str]| CommandArgs {
            parameter_list: list.iter().map(|word| (*word).to_owned()).collect(),
            ..CommandArgs::default()
        };
        assert!(parameters(&args(&["a", "1", "a", "2"])).unwrap_err().to_string().contains("twice"));
        assert!(parameters(&args(&["{a}", "1"])).unwrap_err().to_string().contains("no name"));
        let scan = ["n", "1", "2"].map(str::to_owned).to_vec();
        let both = parameters(&CommandArgs { parameter_scan: scan, ..args(&["a", "x,y"]) }).unwrap();
        assert_eq!(combinations(&both).len(), 4);
        assert_eq!(combinations(&[]), [vec![]]);
    }
}
