//! Numbers that commands print, found by a pattern.

use regex::bytes::{Captures, Regex};

/// A pattern whose first group, or all of which where it has none, is a number.
#[derive(Debug, Clone)]
pub struct Metric(Regex);

impl Metric {
    /// The metric of a regular expression, in the syntax of the `regex` crate.
    ///
    /// # Errors
    /// What is wrong with the expression.
    pub fn new(pattern: &str) -> Result<Self, String> {
        Regex::new(pattern).map(Self).map_err(|error| error.to_string())
    }

    /// As it was given.
    pub fn pattern(&self) -> &str {
        self.0.as_str()
    }

    /// The numbers of all matches, those of the first text first.
    ///
    /// # Errors
    /// There is no match, or one is no number.
    pub(crate) fn numbers(&self, texts: [&[u8]; 2]) -> Result<Vec<f64>, String> {
        let matches = texts.into_iter().flat_map(|text| self.0.captures_iter(text));
        let numbers: Vec<f64> = matches.map(|captures| number(&captures)).collect::<Result<_, _>>()?;
        if numbers.is_empty() {
            return Err(format!("it printed nothing that matches {:?}", self.pattern()));
        }
        Ok(numbers)
    }
}

fn number(captures: &Captures<'_>) -> Result<f64, String> {
    let found = captures.get(1).or_else(|| captures.get(0)).map_or(&b""[..], |found| found.as_bytes());
    let text = String::from_utf8_lossy(found);
    let number: Option<f64> = text.trim().parse().ok();
    number.filter(|number| number.is_finite()).ok_or_else(|| format!("{text:?} in its output is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_or_the_match_is_the_number_in_both_streams() {
        let grouped = Metric::new(r"took (\S+) ms").unwrap();
        let texts = [&b"took 1.5 ms\n\xff took 2e3 ms"[..], b"took -7 ms"];
        assert_eq!(grouped.numbers(texts), Ok(vec![1.5, 2000.0, -7.0]));
        assert_eq!(Metric::new(r"\d+").unwrap().numbers([b"a 12 b", b""]), Ok(vec![12.0]));
    }

    #[test]
    fn what_is_no_number_is_named() {
        let metric = Metric::new(r"took (\S+)").unwrap();
        assert_eq!(
            metric.numbers([b"took long", b""]),
            Err("\"long\" in its output is no number".to_owned())
        );
        assert!(metric.numbers([b"took inf", b""]).is_err());
        let none = metric.numbers([b"", b"nothing"]).unwrap_err();
        assert!(none.contains("nothing that matches"), "{none}");
        assert!(Metric::new("(").is_err());
    }
}
