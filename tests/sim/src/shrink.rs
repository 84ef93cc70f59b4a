//! A life that failed, made as short as it can be and fail still.

use std::collections::BTreeSet;

use crate::profile::Profile;
use crate::run::guarded;
use crate::schedule::{Step, draw, live_in};
use crate::story::Story;
use crate::world::World;

/// More than any life draws.
const FAULTS_MAX: u32 = 100_000;

/// The steps and faults that the failure takes, an event a line; how it ends; and the command that lives the whole of it.
pub(crate) fn retell(seed: u64, profile: Profile) -> String {
    let mut steps = draw(seed);
    let mut faults: BTreeSet<u32> = (0..FAULTS_MAX).collect();
    // First fewer steps, then fewer faults, until neither can be spared.
    loop {
        let before = (steps.len(), faults.len());
        shrink(&mut steps, |steps| fails(seed, profile, steps, &faults));
        // Those that did not strike are spared at once.
        let (_, story) = relive(seed, profile, &steps, &faults);
        let mut struck: Vec<u32> = story.faults().into_iter().collect();
        shrink(&mut struck, |struck| fails(seed, profile, &steps, &struck.iter().copied().collect()));
        faults = struck.into_iter().collect();
        if (steps.len(), faults.len()) == before {
            break;
        }
    }
    let (failure, story) = relive(seed, profile, &steps, &faults);
    let failure = failure.unwrap_or_default();
    let profile = profile.name();
    format!("{story}    and so: {failure}\n    cargo xtask sim --seed {seed} --profile {profile}\n")
}

fn fails(seed: u64, profile: Profile, steps: &[Step], faults: &BTreeSet<u32>) -> bool {
    relive(seed, profile, steps, faults).0.is_some()
}

/// How it fails, if it does, and what happened until then.
fn relive(seed: u64, profile: Profile, steps: &[Step], faults: &BTreeSet<u32>) -> (Option<String>, Story) {
    let story = Story::default();
    let mut world = World::stormy(seed, profile);
    world.storm.story = Some(story.clone());
    let failure = match guarded(|| live_in(world, steps, Some(faults))) {
        Ok(ended) => ended.stuck.into_iter().next(),
        Err(why) => Some(why),
    };
    (failure, story)
}

/// Leaves out what can be left out: halves first, then single items.
fn shrink<T: Clone>(items: &mut Vec<T>, fails: impl Fn(&[T]) -> bool) {
    let mut size = items.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        while at < items.len() {
            let mut fewer = items.clone();
            fewer.drain(at..(at + size).min(items.len()));
            if fails(&fewer) {
                *items = fewer;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_takes_is_what_is_left() {
        let mut items: Vec<u32> = (0..1_000).collect();
        shrink(&mut items, |items| items.contains(&17) && items.contains(&630));
        assert_eq!(items, [17, 630]);
    }

    #[test]
    fn a_story_tells_every_step_and_only_the_faults_that_may_happen() {
        let all = (0..FAULTS_MAX).collect();
        let lives = (0..100).map(|seed| (seed, relive(seed, Profile::Conforming, &draw(seed), &all)));
        let (seed, (failure, story)) = { lives }.find(|(_, (_, story))| story.faults().len() > 1).unwrap();
        assert_eq!(failure, None);
        let (steps, faults) = (draw(seed), story.faults());
        assert_eq!(story.to_string().lines().count(), steps.len() + faults.len());
        let some = faults.into_iter().take(1).collect();
        let (_, story) = relive(seed, Profile::Conforming, &steps, &some);
        assert_eq!(story.faults(), some);
    }
}
