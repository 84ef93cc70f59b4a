//! How many tests passed and failed, read from what the test harnesses print.

use std::ops::AddAssign;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Counts {
    /// A stage that could not run, or failed without naming a test.
    pub(crate) const BROKEN: Self = Self { passed: 0, failed: 1 };

    /// Adds what a line of output reports; other lines count nothing. Reads the summary of libtest and
    /// wasm-bindgen-test (`test result: ok. 3 passed; 0 failed; …`), of node's `spec` and `tap` reporters (`ℹ pass 3`,
    /// `# fail 0`), and of the simulator that was given mistakes to make (`bugs caught=3 of=3`).
    pub(crate) fn read_line(&mut self, line: &str) {
        let line = line.trim();
        if let Some((_, summary)) = line.split_once("test result: ") {
            self.passed += number_before(summary, "passed");
            self.failed += number_before(summary, "failed");
        } else if let Some((caught, of)) = caught(line) {
            self.passed += caught;
            self.failed += of.saturating_sub(caught);
        } else if let Some(summary) = line.strip_prefix("# ").or(line.strip_prefix("ℹ ")) {
            self.passed += number_after(summary, "pass");
            self.failed += number_after(summary, "fail");
            self.failed += number_after(summary, "cancelled");
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// N and M in `bugs caught=N of=M`.
fn caught(line: &str) -> Option<(u64, u64)> {
    let (caught, of) = line.strip_prefix("bugs caught=")?.split_once(" of=")?;
    Some((caught.parse().ok()?, of.parse().ok()?))
}

/// N in `…; N word; …`.
fn number_before(summary: &str, word: &str) -> u64 {
    let words: Vec<&str> = summary.split([' ', ';']).collect();
    words.windows(2).find(|pair| pair[1] == word).and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

/// N in `word N`.
fn number_after(summary: &str, word: &str) -> u64 {
    match summary.split_once(' ') {
        Some((first, number)) if first == word => number.parse().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(output: &str) -> Counts {
        let mut counts = Counts::default();
        output.lines().for_each(|line| counts.read_line(line));
        counts
    }

    #[test]
    fn libtest_summaries_add_up() {
        let output = "\
running 2 tests
test a ... ok
test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.20s
test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.02s";
        assert_eq!(read(output), Counts { passed: 15, failed: 2 });
    }

    #[test]
    fn wasm_bindgen_test_prints_the_same_form() {
        let output = "test result: ok. 4 passed; 0 failed; 0 ignored; 0 filtered out; finished in 0.05s";
        assert_eq!(read(output), Counts { passed: 4, failed: 0 });
    }

    #[test]
    fn both_reporters_of_node_are_read() {
        assert_eq!(read("ℹ tests 4\nℹ pass 3\nℹ fail 1\nℹ cancelled 0"), Counts { passed: 3, failed: 1 });
        assert_eq!(read("# tests 9\n# pass 7\n# fail 1\n# cancelled 1"), Counts { passed: 7, failed: 2 });
    }

    #[test]
    fn a_mistake_that_survives_is_a_failure() {
        assert_eq!(read("NewKeyOnRetry  8  law 2\nbugs caught=54 of=56"), Counts { passed: 54, failed: 2 });
        assert_eq!(read("bugs caught=all"), Counts::default());
    }

    #[test]
    fn other_lines_count_nothing() {
        let output = "10 passed; 3 failed\n# pass the salt\npass 3\ntest result: unknown\n# passed 4";
        assert_eq!(read(output), Counts::default());
    }
}
