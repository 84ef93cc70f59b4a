//! Faults by chance: each seed draws its own rates, so that a million seeds are a million kinds of bad days.

use std::collections::BTreeSet;
use std::fmt;

use intento::core::contract::Fault;
use intento::core::input::Authorized;

use crate::chance::Dice;
use crate::crash::ServerPoint;
use crate::ledger::LedgerFault;
use crate::profile::Profile;
use crate::server::{Legs, Turn, html, json, with_header};
use crate::story::Story;
use crate::world::{MINUTE, SECOND};

/// Longer than any server may ask for.
const A_WEEK_S: &str = "604800";

/// How often each thing goes wrong, of a thousand.
#[derive(Clone, Copy, Debug, Default)]
struct Rates {
    lost_on_the_way: u64,
    lost_on_return: u64,
    truncated: u64,
    late: u64,
    twice: u64,
    resent: u64,
    refused_once: u64,
    busy: u64,
    limited: u64,
    portal: u64,
    redirected: u64,
    declined: u64,
    declined_lost: u64,
    declined_unstored: u64,
    crash: u64,
    slow: u64,
    unknown: u64,
    unauthorized: u64,
    storage: u64,
    late_out: u64,
    lost_out: u64,
    again: u64,
    late_back: u64,
    lost_back: u64,
    authorize: u64,
    altered: u64,
    accepted: u64,
    look_lost: u64,
}

/// Draws what goes wrong. Off: nothing does.
#[derive(Debug)]
pub struct Storm {
    dice: Dice,
    rates: Rates,
    blows: bool,
    /// Can the server end in a state that it does not know itself?
    knows_unknown: bool,
    /// Does it take what it is yet to do?
    accepts: bool,
    drawn: u32,
    /// The server has asked to be left alone for longer than it may.
    pub asked_too_much: bool,
    /// The world's.
    pub now_ms: u64,
    /// Where faults are written down, for a failure to be told.
    pub story: Option<Story>,
    /// Only these may happen: for shrinking.
    pub only: Option<BTreeSet<u32>>,
}

impl Default for Storm {
    fn default() -> Self {
        Self {
            dice: Dice::new(0),
            rates: Rates::default(),
            blows: false,
            knows_unknown: false,
            accepts: false,
            drawn: 0,
            asked_too_much: false,
            now_ms: 0,
            story: None,
            only: None,
        }
    }
}

impl Storm {
    /// Rates that this seed draws: most faults are rare or absent, a few are common.
    pub fn new(seed: u64, profile: Profile) -> Self {
        let mut dice = Dice::new(seed ^ 0x57_0e_4d);
        let mut rate = || match dice.roll(4) {
            0 | 1 => 0,
            2 => dice.roll(60),
            _ => dice.roll(300),
        };
        let rates = Rates {
            lost_on_the_way: rate(),
            lost_on_return: rate(),
            truncated: rate() / 2,
            late: rate() / 2,
            twice: rate(),
            resent: rate() / 2,
            refused_once: rate() / 4,
            busy: rate() / 2,
            limited: rate() / 3,
            portal: rate() / 3,
            redirected: rate() / 8,
            declined: rate(),
            declined_lost: rate() / 2,
            declined_unstored: rate() / 2,
            crash: rate() / 2,
            slow: rate() / 2,
            unknown: rate() / 4,
            unauthorized: rate() / 3,
            storage: rate() / 3,
            late_out: rate() / 3,
            lost_out: rate() / 3,
            again: rate() / 3,
            late_back: rate() / 3,
            lost_back: rate() / 3,
            authorize: rate() / 4,
            altered: rate() / 6,
            accepted: rate() / 4,
            look_lost: rate(),
        };
        let knows_unknown = matches!(profile, Profile::Conforming | Profile::Stripe);
        Self { dice, rates, blows: true, knows_unknown, accepts: profile.echoes(), ..Self::default() }
    }

    /// From now on nothing goes wrong.
    pub fn calm(&mut self) {
        self.blows = false;
    }

    pub fn blows(&self) -> bool {
        self.blows
    }

    /// What becomes of the next request.
    pub fn turn(&mut self) -> Turn {
        if !self.blows {
            return Turn::Pay;
        }
        let rates = self.rates;
        let (late_ms, twice_ms) = (self.dice.roll(2 * MINUTE), self.dice.roll(3 * MINUTE));
        let (slow_ms, effect) = (self.dice.roll(3 * MINUTE), self.dice.one_in(2));
        let Self { knows_unknown, accepts, .. } = *self;
        let limit_s = if self.dice.one_in(32) { A_WEEK_S } else { "3" };
        let turns: [(u64, Turn); 19] = [
            (rates.lost_on_the_way, Turn::LostOnTheWay),
            (rates.lost_on_return, Turn::LostOnReturn),
            (rates.truncated, Turn::Truncated),
            (rates.late, Turn::Late(late_ms)),
            (rates.twice, Turn::Twice(twice_ms)),
            (rates.resent, Turn::Resent(twice_ms / 8)),
            (rates.refused_once, Turn::RefusedOnce(twice_ms)),
            (rates.busy, Turn::Says(json(503))),
            (rates.limited, Turn::Says(with_header(json(429), "retry-after", limit_s))),
            (rates.portal, Turn::Says(html(200))),
            (rates.redirected, Turn::Fails(Fault::Redirected)),
            (rates.declined, Turn::Decline),
            (rates.declined_lost, Turn::DeclineLost),
            (rates.declined_unstored, Turn::DeclineUnstored),
            (rates.crash, Turn::Crash(if effect { ServerPoint::Committed } else { ServerPoint::Reserved })),
            (rates.slow, Turn::Slow(slow_ms)),
            (if knows_unknown { rates.unknown } else { 0 }, Turn::Unknown { effect }),
            (rates.unauthorized, Turn::Says(json(401))),
            (if accepts { rates.accepted } else { 0 }, Turn::Accept),
        ];
        let struck = turns.into_iter().find_map(|(rate, turn)| self.strikes(rate).then_some(turn));
        let week = |turn: &Turn| limit_s == A_WEEK_S && matches!(turn, Turn::Says(facts) if facts.status == 429);
        self.asked_too_much |= struck.as_ref().is_some_and(week);
        struck.inspect(|turn| self.tell(format_args!("the request: {turn:?}"))).unwrap_or(Turn::Pay)
    }

    /// What the network does to the next request and its answer.
    pub fn legs(&mut self) -> Legs {
        if !self.blows {
            return Legs::default();
        }
        let rates = self.rates;
        let mut draw_ms = |longest_ms| self.dice.roll(longest_ms);
        let (out_ms, again_ms, back_ms) = (draw_ms(MINUTE), draw_ms(2 * MINUTE), draw_ms(2 * MINUTE));
        let mut leg = |rate, what: fmt::Arguments<'_>| {
            let strikes = self.strikes(rate);
            if strikes {
                self.tell(what);
            }
            strikes
        };
        let late_out = leg(rates.late_out, format_args!("the request takes {out_ms} ms more"));
        Legs {
            out_ms: if late_out { out_ms } else { 0 },
            lost_out: leg(rates.lost_out, format_args!("the request gets lost")),
            again_ms: leg(rates.again, format_args!("the request comes again after {again_ms} ms")).then_some(again_ms),
            back_ms: if leg(rates.late_back, format_args!("the answer takes {back_ms} ms more")) { back_ms } else { 0 },
            lost_back: leg(rates.lost_back, format_args!("the answer gets lost")),
            altered: leg(rates.altered, format_args!("the request's body is changed on its way")),
        }
    }

    /// Does a look at the result of what was accepted come to nothing?
    pub fn look_lost(&mut self) -> bool {
        let strikes = self.blows && self.strikes(self.rates.look_lost);
        if strikes {
            self.tell(format_args!("the look gets lost"));
        }
        strikes
    }

    /// Does the ledger fail to be read?
    pub fn read(&mut self) -> bool {
        let strikes = self.blows && self.strikes(self.rates.storage / 2);
        if strikes {
            self.tell(format_args!("a read fails"));
        }
        strikes
    }

    /// What the app says when it is asked for credentials, where it has none.
    pub fn authorize(&mut self) -> Option<Authorized> {
        if !self.blows || !self.strikes(self.rates.authorize) {
            return None;
        }
        let answer = if self.dice.one_in(3) { Authorized::OtherScope } else { Authorized::Failed };
        self.tell(format_args!("credentials: {answer:?}"));
        Some(answer)
    }

    /// What becomes of the next commit, where something goes wrong with it.
    pub fn commit(&mut self) -> Option<LedgerFault> {
        if !self.blows || !self.strikes(self.rates.storage) {
            return None;
        }
        let fault = match self.dice.roll(6) {
            0 => LedgerFault::Conflict,
            1 => LedgerFault::Aborted,
            2 => LedgerFault::UnknownIn,
            3 => LedgerFault::UnknownOut,
            4 => LedgerFault::Quota,
            _ => LedgerFault::Unreadable,
        };
        self.tell(format_args!("the commit: {fault:?}"));
        Some(fault)
    }

    /// How long a transaction, a message or an answer takes.
    pub fn latency(&mut self) -> u64 {
        if self.blows && self.dice.one_in(16) { 1 + self.dice.roll(2 * SECOND) } else { 1 + self.dice.roll(20) }
    }

    fn strikes(&mut self, per_mille: u64) -> bool {
        self.drawn += 1;
        self.dice.roll(1_000) < per_mille && self.only.as_ref().is_none_or(|only| only.contains(&self.drawn))
    }

    /// What the fault is that has just struck.
    fn tell(&self, what: fmt::Arguments<'_>) {
        if let Some(story) = &self.story {
            story.fault(self.now_ms, self.drawn, what.to_string());
        }
    }
}
