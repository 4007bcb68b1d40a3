//! Joins the outlines of lakes into one chain: each is turned and moved, in three steps,
//! to fit to the one before.
use std::fs::{self, File};
use std::io::{BufReader, Read, Seek, SeekFrom};

type Point = [f32; 2];

struct Shapes {
    file: BufReader<File>,
    index: Vec<u64>,
    at: u64,
    always: bool,
}

impl Shapes {
    fn read(&mut self, n: usize) -> Vec<Point> {
        let start = self.index[n];
        if self.always || start != self.at {
            self.file.seek(SeekFrom::Start(start)).unwrap();
        }
        let mut head = [0; 8];
        self.file.read_exact(&mut head).unwrap();
        let points = u32::from_le_bytes(head[4..].try_into().unwrap()) as usize;
        let mut body = vec![0; points * 8];
        self.file.read_exact(&mut body).unwrap();
        self.at = start + 8 + body.len() as u64;
        body.chunks_exact(8)
            .map(|p| [0, 4].map(|i| f32::from_le_bytes(p[i..i + 4].try_into().unwrap())))
            .collect()
    }
}

#[inline(never)]
fn centre(shape: &[Point]) -> Point {
    let n = shape.len() as f32;
    [0, 1].map(|i| shape.iter().map(|p| p[i]).sum::<f32>() / n)
}

#[inline(never)]
fn turn(shape: &mut [Point], to: Point) {
    let c = centre(shape);
    for p in shape.iter_mut() {
        let angle = (to[0] - p[0]).atan2(to[1] - p[1]) * 0.01;
        let (s, o) = angle.sin_cos();
        let (x, y) = (p[0] - c[0], p[1] - c[1]);
        *p = [x * o - y * s + to[0], x * s + y * o + to[1]];
    }
}

#[inline(never)]
fn area(shape: &[Point]) -> f32 {
    let next = shape.iter().cycle().skip(1);
    shape.iter().zip(next).map(|(a, b)| a[0] * b[1] - a[1] * b[0]).sum::<f32>() / 2.0
}

#[inline(never)]
fn length(shape: &[Point]) -> f32 {
    shape.windows(2).map(|w| (w[0][0] - w[1][0]).hypot(w[0][1] - w[1][1])).sum()
}

#[inline(never)]
fn nearest(shape: &[Point], last: &[Point]) -> Point {
    let mut best = (f32::MAX, last[0]);
    for a in shape {
        for b in last {
            let d = (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2);
            if d < best.0 {
                best = (d, *b);
            }
        }
    }
    best.1
}

fn main() {
    let index = fs::read("lakes.idx").unwrap();
    let index = index.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect();
    let always = std::env::args().nth(1).as_deref() == Some("always");
    let file = BufReader::new(File::open("lakes.shp").unwrap());
    let mut shapes = Shapes { file, index, at: 0, always };
    let mut last: Vec<Point> = vec![[0.0, 0.0]; 40];
    let mut total = (0.0, 0.0);
    for n in 0..shapes.index.len() {
        let mut shape = shapes.read(n);
        for _ in 0..3 {
            let to = nearest(&shape, &last);
            turn(&mut shape, to);
        }
        total = (total.0 + area(&shape).abs(), total.1 + length(&shape));
        last = shape;
    }
    println!("{:.0} {:.0}", total.0, total.1);
}
