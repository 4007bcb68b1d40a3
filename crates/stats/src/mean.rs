//! The arithmetic mean.

/// The mean of the points of a series; 0 of a series without points.
pub fn mean(points: &[f64]) -> f64 {
    points.iter().sum::<f64>() / points.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::mean;

    #[test]
    fn a_mean_is_the_sum_by_the_number_of_points() {
        assert_eq!([mean(&[1.0, 2.0, 6.0]), mean(&[0.5]), mean(&[])], [3.0, 0.5, 0.0]);
    }
}
