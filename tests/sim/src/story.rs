//! What happened in a life, in order: for people to read, once the life has ended in a failure.

use core::fmt;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::schedule::Step;

/// Shared with its reader, who has it even if the life ends in a panic.
#[derive(Clone, Debug, Default)]
pub struct Story(Rc<RefCell<Vec<Line>>>);

#[derive(Clone, Debug)]
struct Line {
    /// Virtual time.
    at_ms: u64,
    event: Event,
}

#[derive(Clone, Debug)]
enum Event {
    Step(Step),
    Fault { number: u32, what: String },
}

impl Story {
    pub(crate) fn step(&self, at_ms: u64, step: Step) {
        self.0.borrow_mut().push(Line { at_ms, event: Event::Step(step) });
    }

    pub(crate) fn fault(&self, at_ms: u64, number: u32, what: String) {
        self.0.borrow_mut().push(Line { at_ms, event: Event::Fault { number, what } });
    }

    /// The numbers of the faults that struck.
    pub fn faults(&self) -> BTreeSet<u32> {
        let lines = self.0.borrow();
        lines
            .iter()
            .filter_map(|line| if let Event::Fault { number, .. } = line.event { Some(number) } else { None })
            .collect()
    }
}

/// An event a line.
impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.borrow().iter().try_for_each(|Line { at_ms, event }| match event {
            Event::Step(step) => writeln!(f, "{at_ms:>12} ms  {step}"),
            Event::Fault { number, what } => writeln!(f, "{at_ms:>12} ms  fault {number}: {what}"),
        })
    }
}
