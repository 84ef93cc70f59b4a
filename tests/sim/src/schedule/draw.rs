//! What happens in a life, drawn from its seed.

use super::{Act, Kind, ORDERS, Step};
use crate::chance::Dice;
use crate::world::{DAY, MINUTE, SECOND};

/// What a life is full of, beside a little of everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trait {
    Mixed,
    /// Wrong clocks, sleep, and long absences.
    Clocks,
    /// Pages frozen and thawed while people steer.
    Freezing,
    /// Guests that sign in.
    Guests,
    /// The network comes and goes.
    Travel,
}

/// Do intents have lanes in this life? A throw of its own, so that the others are as they were without lanes.
pub fn has_lanes(seed: u64) -> bool {
    Dice::new(seed ^ 0x00_1a_4e).one_in(5)
}

/// Does anybody sign out for good in this life, or is the device left alone for long? As [`has_lanes`].
fn has_ends(seed: u64) -> bool {
    Dice::new(seed ^ 0x00_e7_a5).one_in(8)
}

/// The steps that a seed draws.
pub fn draw(seed: u64) -> Vec<Step> {
    let mut dice = Dice::new(seed ^ 0x00_ac_75);
    let life = match dice.roll(12) {
        0..=2 => Trait::Clocks,
        3..=5 => Trait::Freezing,
        6 | 7 => Trait::Guests,
        8 => Trait::Travel,
        _ => Trait::Mixed,
    };
    let (lanes, ends) = (has_lanes(seed), has_ends(seed));
    let count = 3 + dice.roll(17);
    let mut steps = Vec::with_capacity(2 + count as usize);
    steps.push(Step { after_ms: 0, pick: 0, act: Act::Open { scope: 0 } });
    steps.push(Step { after_ms: 0, pick: 0, act: Act::Submit { order: 0, kind: Kind::Plain } });
    for _ in 0..count {
        let after_ms = match dice.roll(64) {
            0..=23 => dice.roll(200),
            24..=39 => dice.roll(5 * SECOND),
            // Leases end about then.
            40..=55 if life == Trait::Freezing => 30 * SECOND + dice.roll(12 * SECOND),
            40..=47 => dice.roll(5 * SECOND),
            48..=55 => dice.roll(MINUTE),
            56..=59 => dice.roll(10 * MINUTE),
            60..=62 if life != Trait::Clocks => dice.roll(10 * MINUTE),
            // The device lies in a drawer.
            _ => dice.roll(3 * DAY),
        };
        let pick = dice.roll(1 << 16) as usize;
        let own = life != Trait::Mixed && dice.one_in(2);
        let act = match lanes {
            _ if ends && dice.one_in(4) => draw_end(&mut dice),
            true if dice.one_in(3) => draw_act_in_lanes(&mut dice),
            _ if own => draw_act_of(life, &mut dice),
            _ => draw_act(&mut dice),
        };
        steps.push(Step { after_ms, pick, act });
    }
    steps
}

fn draw_act_of(life: Trait, dice: &mut Dice) -> Act {
    let acts: &[fn(&mut Dice) -> Act] = match life {
        Trait::Mixed => return draw_act(dice),
        Trait::Clocks => &[
            step_clock,
            step_clock,
            |_| Act::WildReading,
            submit,
            |_| Act::Close,
            |_| Act::Open { scope: 0 },
            |_| Act::Freeze,
            sleep,
            draw_power_off,
            draw_power_off,
            |dice| Act::WaitOverStep { behind: dice.roll(12 * 60) },
        ],
        Trait::Freezing => &[
            |_| Act::Freeze,
            |_| Act::Freeze,
            |_| Act::Thaw,
            |_| Act::Open { scope: 0 },
            |_| Act::Reconcile,
            |_| Act::Abandon,
            |_| Act::Offline,
        ],
        Trait::Guests => {
            &[|_| Act::Open { scope: 1 }, |_| Act::Open { scope: 0 }, submit, |_| Act::Adopt, |_| Act::Adopt]
        }
        Trait::Travel => &[|_| Act::Offline, |_| Act::Online, submit, |_| Act::Reload],
    };
    let drawn = dice.roll(acts.len() as u64) as usize;
    acts.get(drawn).map_or(Act::Thaw, |act| act(dice))
}

fn draw_end(dice: &mut Dice) -> Act {
    match dice.roll(8) {
        0..=2 => Act::Purge,
        3 => Act::MoveOut,
        4 => Act::Resume,
        5 | 6 => Act::Prune { after_days: 8 + dice.roll(30) },
        _ => Act::Prune { after_days: 98 },
    }
}

fn draw_act_in_lanes(dice: &mut Dice) -> Act {
    match dice.roll(6) {
        0 => Act::Skip,
        1 => Act::Replace,
        2 => submit(dice),
        _ => Act::Submit { order: dice.roll(ORDERS), kind: Kind::Unnamed },
    }
}

fn draw_act(dice: &mut Dice) -> Act {
    match dice.roll(44) {
        0..=8 => submit(dice),
        9..=13 => Act::Open { scope: usize::from(dice.one_in(5)) },
        14..=16 => Act::Reload,
        17..=19 => Act::Close,
        20..=22 => Act::Freeze,
        23..=26 => Act::Thaw,
        27 => Act::Offline,
        28 | 29 => Act::Online,
        30 => step_clock(dice),
        31 | 32 => Act::Cancel,
        33 => Act::Resume,
        34 | 35 => Act::Reconcile,
        36 => Act::Abandon,
        37 | 38 => Act::Replace,
        39 | 40 => Act::Stop,
        41 => Act::StealLocks(dice.roll(MINUTE)),
        42 => Act::KillBrowser(dice.roll(MINUTE)),
        _ => Act::Adopt,
    }
}

fn sleep(dice: &mut Dice) -> Act {
    Act::Sleep(dice.roll(20 * 60))
}

fn draw_power_off(dice: &mut Dice) -> Act {
    const HOUR_MIN: u64 = 60;
    let off = match dice.roll(3) {
        0 => dice.roll(40 * HOUR_MIN),
        1 => 24 * HOUR_MIN + dice.roll(12 * HOUR_MIN),
        _ => 10 * HOUR_MIN + dice.roll(6 * HOUR_MIN),
    };
    let behind = match dice.roll(3) {
        0 => 0,
        1 => dice.roll(40 * HOUR_MIN),
        // The clock stood still, or starts where it was last set.
        _ => off + dice.roll(2 * HOUR_MIN),
    };
    if dice.one_in(2) {
        // By the next start nothing shows of it any more.
        return Act::PowerOff { off, behind: dice.roll(off + 1), seen: true };
    }
    Act::PowerOff { off, behind, seen: false }
}

fn step_clock(dice: &mut Dice) -> Act {
    match dice.roll(4) {
        0 => Act::StepWall(12 * 3_600),
        1 => Act::StepWall(-(dice.roll(48 * 3_600) as i64)),
        2 => Act::WildReading,
        _ => Act::StepWall(dice.roll(240) as i64 - 120),
    }
}

fn submit(dice: &mut Dice) -> Act {
    let kind = match dice.roll(24) {
        0..=2 => Kind::Expiring,
        3 | 4 => Kind::OtherPayload,
        5 | 6 => Kind::Unnamed,
        7 => Kind::Poisoned,
        _ => Kind::Plain,
    };
    Act::Submit { order: dice.roll(ORDERS), kind }
}
