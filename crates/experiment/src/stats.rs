//! The few statistics that claims and comparisons need.

/// The mean, if there are values.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// A quantile by linear interpolation between order statistics (Hyndman and Fan's type 7, numpy's default).
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let at = q * last as f64;
    let (below, above) = (sorted[at as usize], sorted[(at as usize + 1).min(last)]);
    Some(below + (above - below) * at.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_numpy() {
        let values = [3.0, 1.0, 2.0, 4.0];
        assert_eq!(quantile(&values, 0.5), Some(2.5));
        assert!((quantile(&values, 0.2).unwrap() - 1.6).abs() < 1e-12);
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(mean(&values), Some(2.5));
    }
}
