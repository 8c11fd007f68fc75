//! An algorithm reads like its paper, in one sitting, and is held to numbers from it.

use std::fs;
use std::path::{Path, PathBuf};

/// Files of algorithms, without tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().is_some_and(|name| name == "tests") {
            continue;
        } else if path.is_dir() {
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

/// Tests in files of an algorithm or of tests next door.
fn tests(place: &Path) -> usize {
    if place.is_dir() {
        return fs::read_dir(place).unwrap().map(|entry| tests(&entry.unwrap().path())).sum();
    }
    fs::read_to_string(place).map_or(0, |text| text.matches("#[test]").count())
}

#[test]
fn every_algorithm_is_held_to_two_checks_of_its_own() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/algo");
    for entry in cc::ALGORITHMS {
        let place = folder.join(entry.about.name);
        let found = tests(&place) + tests(&place.with_extension("rs"));
        assert!(found >= 2, "{} has {found}", entry.about.name);
    }
}
