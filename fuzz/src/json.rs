//! Changes of JSON that leave it JSON, mostly of the same shape.

use crate::random::Random;
use serde_json::{Map, Number, Value};

/// Texts that parsers, escapes and widths stumble over.
const TEXTS: [&str; 8] =
    ["", "\u{1b}[31m", "a\nb", "../../x", "\u{202e}x", "wide 宽宽宽", "[libc.so.6]", "%s%n"];

/// Changes an input of libFuzzer: two results with a zero between, or one. What is no JSON, and
/// some of what is, libFuzzer changes by bytes.
pub fn mutate(bytes: &mut [u8], size: usize, most: usize, seed: u32) -> usize {
    let mut random = Random::new(seed);
    if random.below(16) > 0 {
        let parts: Vec<&[u8]> = bytes[..size].splitn(2, |byte| *byte == 0).collect();
        let values: Option<Vec<Value>> =
            parts.into_iter().map(|part| serde_json::from_slice(part).ok()).collect();
        if let Some(mut values) = values
            && !values.is_empty()
        {
            let which = random.below(values.len());
            change(&mut values[which], &mut random);
            let texts: Vec<Vec<u8>> =
                values.iter().map(|value| serde_json::to_vec(value).unwrap_or_default()).collect();
            let whole = texts.join(&0);
            if whole.len() <= most {
                bytes[..whole.len()].copy_from_slice(&whole);
                return whole.len();
            }
        }
    }
    libfuzzer_sys::fuzzer_mutate(bytes, size, most)
}

/// Changes an input of lines, each of them JSON: one of them, or their order and number. What is no
/// JSON, and some of what is, libFuzzer changes by bytes.
pub fn mutate_lines(bytes: &mut [u8], size: usize, most: usize, seed: u32) -> usize {
    let mut random = Random::new(seed);
    if size > 0 && random.below(16) > 0 {
        let mut lines: Vec<Vec<u8>> =
            bytes[..size].split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        let (which, other) = (random.below(lines.len()), random.below(lines.len()));
        match random.below(8) {
            0 => drop(lines.remove(which)),
            1 => lines.swap(which, other),
            2 => lines.insert(other, lines[which].clone()),
            _ => {
                if let Ok(mut value) = serde_json::from_slice(&lines[which]) {
                    change(&mut value, &mut random);
                    lines[which] = format!("{value}\n").into_bytes();
                } else {
                    return libfuzzer_sys::fuzzer_mutate(bytes, size, most);
                }
            }
        }
        let whole = lines.concat();
        if whole.len() <= most {
            bytes[..whole.len()].copy_from_slice(&whole);
            return whole.len();
        }
    }
    libfuzzer_sys::fuzzer_mutate(bytes, size, most)
}

/// Changes one to four places.
pub fn change(value: &mut Value, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let places = count(value);
        let mut place = random.below(places);
        let other = nth(value, random.below(places)).cloned();
        if let Some(at) = nth_mut(value, &mut place) {
            change_one(at, other, random);
        }
    }
}

fn change_one(at: &mut Value, other: Option<Value>, random: &mut Random) {
    if random.below(24) == 0 {
        *at = other.unwrap_or(Value::Null);
        return;
    }
    match at {
        Value::Number(number) => *number = changed(number, random),
        Value::String(text) => match random.below(6) {
            0 => *text = "x".repeat(random.below(5000)),
            1 => {
                if let Some(Value::String(other)) = other {
                    *text = other;
                }
            }
            2 => {
                text.pop();
            }
            _ => *text = TEXTS[random.below(TEXTS.len())].to_owned(),
        },
        Value::Bool(is) => *is = !*is,
        Value::Array(all) if all.is_empty() => *at = Value::Null,
        Value::Array(all) => {
            let which = random.below(all.len());
            match random.below(6) {
                0 => drop(all.remove(which)),
                1 => all.swap(which, 0),
                2 => all.clear(),
                3 => all.truncate(which),
                _ => all.insert(random.below(all.len()), all[which].clone()),
            }
        }
        Value::Object(map) => of_object(map, other, random),
        Value::Null => *at = other.unwrap_or(Value::from(0)),
    }
}

fn of_object(map: &mut Map<String, Value>, other: Option<Value>, random: &mut Random) {
    let Some(key) = map.keys().nth(random.below(map.len())).cloned() else { return };
    match random.below(3) {
        0 => drop(map.remove(&key)),
        1 => drop(map.insert(key, Value::Null)),
        _ => drop(map.insert(key, other.unwrap_or(Value::Null))),
    }
}

fn changed(number: &Number, random: &mut Random) -> Number {
    const FLOATS: [f64; 8] = [0.0, -0.0, 1e308, -1e308, 5e-324, 0.5, 1.0, -1.0];
    if number.is_f64() {
        let was = number.as_f64().unwrap_or(0.0);
        let to = [FLOATS[random.below(8)], was * 1000.0, was / 1000.0, -was][random.below(4)];
        return Number::from_f64(to).unwrap_or_else(|| Number::from(0));
    }
    if random.below(16) == 0 {
        return Number::from(-(random.below(1 << 40) as i64));
    }
    Number::from(random.number(number.as_u64().unwrap_or(0)))
}

fn children(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(all) => Box::new(all.iter()),
        Value::Object(map) => Box::new(map.values()),
        _ => Box::new(std::iter::empty()),
    }
}

fn count(value: &Value) -> usize {
    1 + children(value).map(count).sum::<usize>()
}

fn nth(value: &Value, mut place: usize) -> Option<&Value> {
    if place == 0 {
        return Some(value);
    }
    place -= 1;
    for child in children(value) {
        let below = count(child);
        if place < below {
            return nth(child, place);
        }
        place -= below;
    }
    None
}

fn nth_mut<'a>(value: &'a mut Value, place: &mut usize) -> Option<&'a mut Value> {
    if *place == 0 {
        return Some(value);
    }
    *place -= 1;
    let mut all: Vec<&mut Value> = match value {
        Value::Array(all) => all.iter_mut().collect(),
        Value::Object(map) => map.values_mut().collect(),
        _ => return None,
    };
    for child in all.drain(..) {
        let below = count(child);
        if *place < below {
            return nth_mut(child, place);
        }
        *place -= below;
    }
    None
}
