//! `docs/hazards.md` has every hazard and every report once, and what it says is tested is a test.
#![cfg(not(target_arch = "wasm32"))]

use std::collections::BTreeSet;
use std::path::Path;

/// Hazards by kind: how many there are of each.
const KINDS: [(char, u32); 7] = [('I', 21), ('L', 14), ('T', 14), ('N', 17), ('S', 10), ('W', 12), ('K', 21)];
/// Hazards for which "cannot be helped" is no answer.
const TESTED: &str = "I2 I4 I5 I6 I7 I8 I9 I11 I13 I15 L1 L2 L3 L4 L5 L6 L7 L9 L10 T1 T2 T3 T4 T5 T6 T7 T8 T9 T10 T11 T12 T13 T14 \
    N1 N2 N3 N4 N5 N6 N11 N12 N14 W1 W2 W3 W4 K13 K15 K18 K19 K20 K21";
const NOTHING_YET: &str = "not in this version";
const REPORTS: usize = 50;

/// A row's first and last cell.
type Row = (String, String);

/// The rows of the hazards, and those of the reports.
fn tables() -> (Vec<Row>, Vec<Row>) {
    let page = std::fs::read_to_string(root().join("docs/hazards.md")).unwrap();
    let (hazards, reports) = page.split_once("\n## Reports\n").expect("two tables");
    (rows(hazards, 4), rows(reports, 3))
}

fn rows(text: &str, columns: usize) -> Vec<Row> {
    let lines = text.lines().filter(|line| line.starts_with("| ") && !line.ends_with("| tested by |"));
    let cells = lines.map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect::<Vec<_>>());
    cells
        .map(|cells| {
            assert_eq!(cells.len(), columns, "{cells:?}");
            (cells[0].to_owned(), cells[columns - 1].to_owned())
        })
        .collect()
}

/// The tests that a cell names: `` `file`: `name`, `name` ``, several files after semicolons.
fn named(cell: &str) -> Vec<(&str, &str)> {
    let mut file = None;
    let mut named = Vec::new();
    for quoted in cell.split('`').skip(1).step_by(2) {
        match Path::new(quoted).extension() {
            Some(_) if quoted.contains('/') => file = Some(quoted),
            _ => named.push((file.expect("a file comes first"), quoted)),
        }
    }
    named
}

#[track_caller]
fn assert_exists(file: &str, name: &str) {
    let source = std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let written = match file.ends_with(".rs") {
        true => format!("fn {name}("),
        false => format!("test('{name}'"),
    };
    // A macro makes a test of each engine of a function that takes what it needs.
    assert!(source.contains(&written), "{file} has no test `{name}`");
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn every_hazard_is_there_once_and_its_tests_exist() {
    let (hazards, _) = tables();
    let ids: BTreeSet<&str> = hazards.iter().map(|(id, _)| id.as_str()).collect();
    let wanted: BTreeSet<String> =
        KINDS.iter().flat_map(|(kind, count)| (1..=*count).map(move |number| format!("{kind}{number}"))).collect();
    assert_eq!(ids, wanted.iter().map(String::as_str).collect());
    assert_eq!(hazards.len(), wanted.len(), "one of them is there twice");
    for (id, cell) in &hazards {
        let tests = named(cell);
        assert!(!tests.is_empty() || cell == NOTHING_YET, "{id} names no test: {cell}");
        assert!(!tests.is_empty() || !TESTED.split_whitespace().any(|tested| tested == id), "{id} has to be tested");
        tests.into_iter().for_each(|(file, name)| assert_exists(file, name));
    }
}

#[test]
fn every_report_is_a_test() {
    let (_, reports) = tables();
    let names: BTreeSet<&str> = reports.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((reports.len(), names.len()), (REPORTS, REPORTS));
    for (report, cell) in &reports {
        assert!(report.contains('#') && report.contains('/'), "{report} is not repository#issue");
        let tests = named(cell);
        assert!(!tests.is_empty(), "{report} names no test: {cell}");
        tests.into_iter().for_each(|(file, name)| assert_exists(file, name));
    }
}
