//! Looks at the parts of each word: in new strings for each, or in buffers that are kept.
fn candidates(word: &str) -> Vec<String> {
    let mut v = Vec::new();
    for i in 1..=word.len() {
        v.push(word[..i].to_uppercase());
    }
    v
}

fn candidates_into(word: &str, kept: &mut Vec<String>) {
    for i in 1..=word.len() {
        if kept.len() < i {
            kept.push(String::new());
        }
        kept[i - 1].clear();
        kept[i - 1].extend(word[..i].chars().map(|c| c.to_ascii_uppercase()));
    }
}

fn score(v: &[String]) -> u64 {
    v.iter().map(|s| s.bytes().cycle().take(240).fold(7u64, |a, b| a.wrapping_mul(31) + b as u64) % 1000).sum()
}

fn main() {
    let reuse = std::env::args().nth(1).as_deref() == Some("reuse");
    let words = ["analysis", "of", "words", "in", "sentences", "without", "spaces", "and"];
    let mut kept = Vec::new();
    let mut total = 0u64;
    for i in 0..450_000 {
        let word = words[i % words.len()];
        if reuse {
            candidates_into(word, &mut kept);
            total += score(&kept[..word.len()]);
        } else {
            total += score(&candidates(word));
        }
    }
    println!("{total}");
}
