//! An algorithm reads like its paper: in one sitting.

use std::fs;
use std::path::{Path, PathBuf};

/// Files of algorithms, without tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.file_name().is_some_and(|name| name != "tests.rs") {
            found.push(path);
        }
    }
}

#[test]
fn files_of_algorithms_have_under_130_lines_at_the_median_and_300_at_most() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/algo"), &mut files);
    let mut sizes: Vec<_> =
        files.iter().map(|file| (fs::read_to_string(file).unwrap().lines().count(), file)).collect();
    sizes.sort();
    let (median, longest) = (sizes[sizes.len() / 2], sizes[sizes.len() - 1]);
    assert!(median.0 < 130, "{} lines: {}", median.0, median.1.display());
    assert!(longest.0 <= 300, "{} lines: {}", longest.0, longest.1.display());
}
