//! Least that goes wrong first, and then breadth first, until there is nothing new.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::panic::{self, AssertUnwindSafe};

use super::Scope;
use super::world::{Event, World};

/// Violations that are kept; the rest is only counted.
const KEPT_MAX: usize = 3;
/// No state: the first has no parent, and one that rests no fair step.
const NONE: u32 = u32::MAX;
/// The fair step from here breaks a law.
const BROKEN: u32 = u32::MAX - 1;

/// What is to be checked besides the laws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twins {
    Trusted,
    /// Every two worlds that count as one are followed both, and must lead to the same worlds.
    Compared,
}

/// What a search has found.
#[derive(Debug, Default)]
pub struct Report {
    pub states: usize,
    pub transitions: u64,
    /// Of the state that is farthest from the first.
    pub depth: u32,
    /// States that were found and not followed.
    pub frontier: usize,
    pub unsafe_count: u64,
    pub stuck: u64,
    /// Pairs that count as one and do not lead to the same.
    pub unlike: u64,
    /// The longest way that a fair world takes to its end.
    pub longest_way: u32,
    /// The first few violations, each with the way to it.
    pub found: Vec<String>,
    /// In how many states something showed.
    pub reached: BTreeMap<String, u64>,
    /// How many states were known when the first violation was found, and how many steps led to it.
    pub first_at: Option<(usize, u32)>,
}

/// A state that was found: how, and what a fair world does from there.
#[derive(Clone, Copy, Debug)]
struct Node {
    parent: u32,
    event: Event,
    fair: u32,
    rests: bool,
    depth: u32,
}

struct Search {
    scope: Scope,
    nodes: Vec<Node>,
    /// The states of each likeness: with what may still go wrong in it, none of which covers another's.
    known: HashMap<u128, Vec<(Scope, u32)>>,
    /// By how much has gone wrong: least first.
    waiting: Vec<VecDeque<(World, u32)>>,
    /// What each state leads to, as one number.
    leads_to: HashMap<u32, u128>,
    report: Report,
}

/// Follows everything that can happen within a scope, up to so many states.
pub fn search(scope: Scope, twins: Twins, states_max: usize) -> Report {
    let first = World::new(scope);
    let root = Node { parent: NONE, event: Event::Pass(0), fair: NONE, rests: false, depth: 0 };
    let mut search = Search {
        scope,
        nodes: vec![root],
        known: HashMap::from([(first.likeness(), vec![(scope, 0)])]),
        waiting: vec![VecDeque::new(); usize::from(scope.at_most) + 1],
        leads_to: HashMap::new(),
        report: Report::default(),
    };
    search.waiting[0].push_back((first, 0));
    while let Some((world, number)) = search.waiting.iter_mut().find_map(VecDeque::pop_front) {
        if search.nodes.len() > states_max {
            search.report.frontier = search.waiting.iter().map(VecDeque::len).sum::<usize>() + 1;
            break;
        }
        search.follow(&world, number, twins);
    }
    search.conclude()
}

impl Search {
    fn follow(&mut self, world: &World, number: u32, twins: Twins) {
        // A twin: its first was followed before.
        let twin = self.leads_to.contains_key(&number);
        let enabled = world.enabled();
        let mut leads_to: Vec<u128> = Vec::with_capacity(enabled.events.len());
        for (place, event) in enabled.events.iter().enumerate() {
            let after = panic::catch_unwind(AssertUnwindSafe(|| {
                let after = world.after(*event);
                let likeness = after.likeness();
                (after, likeness)
            }));
            let (after, likeness) = match after {
                Ok(found) => found,
                Err(panic) => {
                    if !twin {
                        self.broken(number, *event, &*panic);
                        if place == 0 && enabled.fair {
                            self.nodes[number as usize].fair = BROKEN;
                        }
                    }
                    continue;
                }
            };
            leads_to.push(likeness);
            if twin {
                continue;
            }
            self.report.transitions += 1;
            let next = self.arrive(after, likeness, number, *event, twins);
            if place == 0 && enabled.fair {
                self.nodes[number as usize].fair = next;
            }
        }
        leads_to.sort_unstable();
        leads_to.dedup();
        let sum = leads_to.iter().fold(0_u128, |sum, one| sum.rotate_left(7) ^ one);
        if twin {
            if self.leads_to.get(&number) != Some(&sum) {
                self.unlike(world, number);
            }
        } else {
            self.nodes[number as usize].rests = enabled.rests;
            for shown in world.shows() {
                *self.report.reached.entry(shown).or_default() += 1;
            }
            if twins == Twins::Compared {
                self.leads_to.insert(number, sum);
            }
        }
    }

    /// The number of a state; a new one is to be followed.
    fn arrive(&mut self, world: World, likeness: u128, parent: u32, event: Event, twins: Twins) -> u32 {
        let spent = usize::from(self.scope.at_most - world.left.at_most);
        let known = self.known.entry(likeness).or_default();
        if let Some((left, number)) = known.iter().find(|(left, _)| left.covers(world.left)) {
            if twins == Twins::Compared && *left == world.left {
                self.waiting[spent].push_back((world, *number));
            }
            return *number;
        }
        let number = u32::try_from(self.nodes.len()).expect("fewer states than four thousand million");
        let depth = self.nodes[parent as usize].depth + 1;
        self.report.depth = self.report.depth.max(depth);
        known.push((world.left, number));
        self.nodes.push(Node { parent, event, fair: NONE, rests: false, depth });
        self.waiting[spent].push_back((world, number));
        number
    }

    fn broken(&mut self, number: u32, event: Event, panic: &(dyn core::any::Any + Send)) {
        self.report.unsafe_count += 1;
        self.report.first_at = self.report.first_at.or(Some((self.nodes.len(), self.nodes[number as usize].depth + 1)));
        if self.report.found.len() < KEPT_MAX {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let why = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
            let mut way = self.way_to(number);
            way.push(event);
            let told = self.tell(&way);
            self.report.found.push(format!("unsafe: {}\n{told}", why.lines().next().unwrap_or_default()));
        }
    }

    fn unlike(&mut self, world: &World, number: u32) {
        self.report.unlike += 1;
        if self.report.found.len() < KEPT_MAX {
            let told = self.tell(&self.way_to(number));
            self.report
                .found
                .push(format!("counts as one with another that leads elsewhere: {}\n{told}", world.standing()));
        }
    }

    /// Every state must come to its end by fair steps alone.
    fn conclude(mut self) -> Report {
        self.report.states = self.nodes.len();
        if self.report.frontier > 0 {
            return self.report;
        }
        // Fair steps to the end, where they are known.
        let mut steps_from: Vec<Option<u32>> = vec![None; self.nodes.len()];
        for start in 0..self.nodes.len() {
            let mut walked = Vec::new();
            let mut at = start;
            let mut steps = loop {
                let node = self.nodes[at];
                if steps_from[at].is_some() || node.rests || node.fair == BROKEN {
                    break steps_from[at].or(Some(0));
                }
                if node.fair == NONE || walked.contains(&at) {
                    break None;
                }
                walked.push(at);
                at = node.fair as usize;
            };
            if steps.is_none() {
                self.stuck(start, walked.len());
                continue;
            }
            steps_from[at] = steps;
            for node in walked.into_iter().rev() {
                steps = steps.map(|steps| steps + 1);
                steps_from[node] = steps;
            }
            self.report.longest_way = self.report.longest_way.max(steps.unwrap_or_default());
        }
        self.report
    }

    fn stuck(&mut self, start: usize, steps: usize) {
        self.report.stuck += 1;
        if self.report.found.len() < KEPT_MAX {
            let told = self.tell(&self.way_to(start as u32));
            self.report.found.push(format!("stuck, and after {steps} fair steps as well\n{told}"));
        }
    }

    fn way_to(&self, number: u32) -> Vec<Event> {
        let mut way = Vec::new();
        let mut at = number;
        while self.nodes[at as usize].parent != NONE {
            way.push(self.nodes[at as usize].event);
            at = self.nodes[at as usize].parent;
        }
        way.reverse();
        way
    }

    /// A way, one event a line. Replayed, since only the first of the worlds that count as one is followed.
    fn tell(&self, way: &[Event]) -> String {
        let mut world = World::new(self.scope);
        let mut told = String::new();
        for event in way {
            told.push_str(&format!("  {:<28} {}\n", world.standing(), world.describe(*event)));
            let next = panic::catch_unwind(AssertUnwindSafe(|| world.after(*event)));
            let Ok(next) = next else { break };
            world = next;
        }
        told
    }
}
