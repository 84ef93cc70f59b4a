//! What will happen, in order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events by their time; those of one time in the order they were added.
#[derive(Debug)]
pub struct Agenda<E> {
    /// Time, number, and where the event is: events are large, and these are moved about.
    order: BinaryHeap<Reverse<(u64, u64, usize)>>,
    places: Vec<Option<E>>,
    free: Vec<usize>,
    added: u64,
}

impl<E> Default for Agenda<E> {
    fn default() -> Self {
        Self { order: BinaryHeap::new(), places: Vec::new(), free: Vec::new(), added: 0 }
    }
}

impl<E> Agenda<E> {
    pub fn add(&mut self, at_ms: u64, event: E) {
        let place = self.free.pop().unwrap_or(self.places.len());
        match self.places.get_mut(place) {
            Some(free) => *free = Some(event),
            None => self.places.push(Some(event)),
        }
        self.added += 1;
        self.order.push(Reverse((at_ms, self.added, place)));
    }

    /// Ever.
    pub fn added(&self) -> u64 {
        self.added
    }

    pub fn next_ms(&self) -> Option<u64> {
        self.order.peek().map(|Reverse((at_ms, ..))| *at_ms)
    }

    pub fn pop(&mut self) -> Option<E> {
        let Reverse((.., place)) = self.order.pop()?;
        self.free.push(place);
        self.places[place].take()
    }

    /// In no order.
    pub fn iter(&self) -> impl Iterator<Item = &E> {
        self.places.iter().flatten()
    }
}
