//! When two worlds count as one: when everything that can still happen in them is the same.
//!
//! Of the ledger and the wire it is said member by member what counts. A realm is what its `Debug` shows, rewritten so that
//! it names no moment and no realm: moments become lengths from now, realms become "this", "the other" and "a dead one".
//! The two realms being alike, a world and its mirror image count as one. What decides nothing is left out:
//!
//! - names of changes (`ChangeId`): each is made once, and nothing here runs a change twice;
//! - a moment that has come is one that has come, whenever it came. How long ago the origin answered is kept while that can
//!   still matter ([`REACHABLE_FRESH_MS`], and only for what was never sent);
//! - clocks: nobody steps them, so that the ledger's clock and a realm's differ by what is kept, and run alike;
//! - windows and the ages they are measured by: a search ends long before a window does ([`super::world`] sees to it);
//! - fences: a claim has the current one or a stale one, and a stale one stays stale;
//! - attempts that nobody will tell any more of, but for what they say together; how many there were, since chance makes
//!   no waits here ([`super::realm`]);
//! - copies of the intent that a realm keeps of what it has claimed: nothing is decided by them any more;
//! - when a realm began its runs, since none begins as many as it may in a minute;
//! - the journal's length, versions of records, and what never changes.
//!
//! That this leaves out nothing of consequence is checked, not only argued: in a smaller scope every two worlds that count
//! as one are shown to lead to the same worlds ([`super::search::Twins`]).

use core::fmt::{Debug, Write};

use intento::core::attempt::{Attempt, AttemptState};
use intento::core::change::Applied;
use intento::core::contract::AttemptReading;
use intento::core::input::CommitError;
use intento::core::intent::IntentRecord;
use intento::core::limits::{DELIVER_PRECEDENCE_MS, PROBE_FORBIDS_MAX_MS, REACHABLE_FRESH_MS};
use intento::core::record::{Record, RecordKey};
use intento::core::shared::Shared;
use xxhash_rust::xxh3::xxh3_128;

use super::locks::Holder;
use super::network::{Packet, Stage};
use super::realm::Realm;
use super::world::{Side, World};
use crate::world::{ORIGIN, RealmNo};

/// Numbers from here on are moments, not lengths.
const MOMENTS_FROM: u64 = 1_000_000_000_000;
/// Members that decide nothing in this search, or never change.
const LEFT_OUT: [&str; 41] = [
    "ran_ms",
    "begun",
    "settings",
    "jitter",
    "names_made",
    "now",
    "contract",
    "windows",
    "window",
    "carrier",
    "request",
    "key",
    "fingerprint",
    "journal_entries",
    "version",
    "correlation",
    "nonce",
    "fact",
    "id",
    "operation",
    "reference",
    "head_reference",
    "scope",
    "expires_in_ms",
    "submitted_by",
    "server",
    "has_lookup",
    "watched_at_ms",
    "limit",
    "intent",
    "attempt",
    "failures",
    "sequence",
    "created",
    "renewed",
    "first_sent",
    "predecessor",
    "successor",
    "answer",
    "owner",
    "body",
];

/// What the likeness of a realm depends on besides the realm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    now_ms: u64,
    /// This realm's number, and the other's.
    numbers: [RealmNo; 2],
    /// The intent's current fence.
    fence: u64,
    /// Can it still matter how lately the origin answered?
    aged: bool,
}

impl World {
    /// The same for worlds that count as one.
    pub(super) fn likeness(&self) -> u128 {
        let numbers = Side::BOTH.map(|side| self.realm(side).number);
        let may_be_unsent =
            |intent: &Shared<IntentRecord>| !intent.history.attempts.iter().any(|it| stays(it, numbers));
        let seen = |numbers| Seen {
            now_ms: self.now_ms,
            numbers,
            fence: self.intent.as_ref().map_or(0, |intent| intent.fence),
            aged: self.intent.as_ref().is_none_or(may_be_unsent)
                || Side::BOTH.into_iter().any(|side| self.realm(side).takes_it_for_unsent()),
        };
        let mirrored = [numbers[1], numbers[0]];
        let left = self.realm(Side::Left).likeness(seen(numbers));
        let right = self.realm(Side::Right).likeness(seen(mirrored));
        self.whole([left, right], seen(numbers)).min(self.whole([right, left], seen(mirrored)))
    }

    fn whole(&self, realms: [u128; 2], seen: Seen) -> u128 {
        let numbers = seen.numbers;
        let mut text = format!("{realms:?}{}", self.server.effects);
        let sealed = self.server.record.as_ref().map(|record| record.sealed);
        let lease_ms = self.server.lease_until_ms().map(|until_ms| until_ms.saturating_sub(self.now_ms));
        let who = |number: &RealmNo| numbers.iter().position(|of| of == number);
        let holder = match self.locks.holder {
            Holder::Realm(number) => format!("held by {:?}", who(&number)),
            holder => format!("{holder:?}"),
        };
        let waiters: Vec<_> = self.locks.waiters.iter().map(who).collect();
        let mut packets: Vec<String> = self.packets.iter().map(|packet| self.packet(packet, numbers)).collect();
        packets.sort_unstable();
        let server = self.server.standing(self.now_ms);
        let _ = write!(text, "{server}{sealed:?}{lease_ms:?}{holder}{waiters:?}{packets:?}");
        if let Some(intent) = &self.intent {
            show(intent, seen, &mut text);
        }
        if let Some(Record::Origin(origin)) = self.ledger.record(&RecordKey::Origin(ORIGIN.to_owned())) {
            let shown = rewritten(&format!("{origin:?}"), seen);
            text.push_str(core::str::from_utf8(&shown).unwrap_or_default());
        }
        xxh3_128(text.as_bytes())
    }

    fn packet(&self, packet: &Packet, numbers: [RealmNo; 2]) -> String {
        let who = numbers.iter().position(|number| *number == packet.waiter && *number != 0);
        let ahead_ms = |at_ms: u64| if who.is_some() { at_ms.saturating_sub(self.now_ms) } else { 0 };
        let stage = match packet.stage {
            Stage::Running { token } => format!("runs, holds {}", self.server.holds(token)),
            stage => format!("{stage:?}"),
        };
        // The number of an attempt tells only whose answer it is, and each waits for one.
        format!(
            "{who:?} {stage} {} {} {}",
            who.is_some() && packet.locked,
            ahead_ms(packet.lease_until_ms),
            ahead_ms(packet.deadline_ms)
        )
    }
}

/// What counts of the intent. Whoever adds a member says here whether it does.
fn show(intent: &IntentRecord, seen: Seen, text: &mut String) {
    let IntentRecord {
        id: _,
        scope: _,
        operation: _,
        reference: _,
        head_reference: _,
        sequence: _,
        lane: _,
        created: _,
        renewed: _,
        key: _,
        carrier: _,
        has_lookup: _,
        contract: _,
        fingerprint: _,
        request: _,
        expires_in_ms: _,
        state,
        due_at_ms,
        floor_at_ms,
        claim,
        fence: _,
        history,
        first_sent: _,
        window: _,
        polling: _,
        reconciling,
        delivery,
        predecessor: _,
        successor: _,
        contradicted,
        journal_entries: _,
        erased: _,
        blocks: _,
        moved_from: _,
    } = intent;
    let ahead = |at_ms: &Option<u64>| at_ms.map(|at_ms| at_ms.saturating_sub(seen.now_ms));
    let _ = write!(text, "{state:?}{:?}{:?}{contradicted}", ahead(due_at_ms), ahead(floor_at_ms));
    let _ = write!(text, "{}{}", reconciling.asked, reconciling.looks);
    // Who submitted it comes first for a while, and nobody here did.
    let for_others = delivery.due_at_ms.map(|at_ms| at_ms + DELIVER_PRECEDENCE_MS);
    let _ = write!(text, "{:?}{:?}{}", ahead(&delivery.due_at_ms), ahead(&for_others), delivery.tries);
    if let Some(claim) = claim {
        let left_ms = claim.lease_until_ms.saturating_sub(seen.now_ms);
        let _ =
            write!(text, "{:?}{:?}{left_ms}{}", which(&claim.owner.0, seen.numbers), claim.purpose, claim.lock_held);
    }
    let mut kinds: Vec<String> = history.attempts.iter().filter_map(|it| kind(it, intent, seen)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let _ = write!(text, "{kinds:?}");
}

/// Will it be said of this attempt for ever that it may have left?
fn stays(attempt: &Attempt, numbers: [RealmNo; 2]) -> bool {
    match attempt.state {
        AttemptState::Open => teller(attempt, numbers).is_none(),
        AttemptState::NotSent { .. } => false,
        AttemptState::Ended { .. } => true,
    }
}

/// The realm that made an attempt, which alone can tell what came of it.
fn teller(attempt: &Attempt, numbers: [RealmNo; 2]) -> Option<usize> {
    which(attempt.correlation.0.rsplit_once('-')?.0, numbers)
}

/// 0: this realm, 1: the other; `None`: a dead one.
fn which(owner: &str, numbers: [RealmNo; 2]) -> Option<usize> {
    let number: RealmNo = owner.strip_prefix("realm-")?.parse().ok()?;
    numbers.iter().position(|of| *of == number)
}

/// What counts of an attempt.
fn kind(attempt: &Attempt, intent: &IntentRecord, seen: Seen) -> Option<String> {
    let teller = teller(attempt, seen.numbers);
    match &attempt.state {
        AttemptState::NotSent { .. } => None,
        AttemptState::Open if teller.is_some() => {
            let last = intent.history.attempts.last().is_some_and(|last| last.number == attempt.number);
            Some(format!("{teller:?} {} {last}", attempt.fence == intent.fence))
        }
        // What is told is told for good.
        _ if intent.state.is_definite() => None,
        AttemptState::Open => Some("unknown".to_owned()),
        AttemptState::Ended { reading, .. } if reading.leaves_unknown() => Some("unknown".to_owned()),
        AttemptState::Ended { reading: AttemptReading::Answer { class, conclusive, .. }, .. } => {
            Some(format!("{class:?} {conclusive}"))
        }
        AttemptState::Ended { .. } => Some("nothing".to_owned()),
    }
}

impl Realm {
    /// What it is yet to be told of a transaction shows an intent that was never sent.
    fn takes_it_for_unsent(&self) -> bool {
        let unsent = |result: &Result<Applied, CommitError>| match result {
            Ok(applied) => applied.intent().is_some_and(|intent| !intent.maybe_sent()),
            Err(_) => false,
        };
        self.committed.as_ref().is_some_and(|(results, _)| results.iter().any(|(_, result)| unsent(result)))
    }

    fn likeness(&self, seen: Seen) -> u128 {
        if let Some((of, likeness)) = self.likeness.get()
            && of == seen
        {
            return likeness;
        }
        let pages = [self.due, self.inbox].map(|page| page.map(|page| page.until_ms.wrapping_sub(seen.now_ms)));
        let flags = (self.sleep, self.told, self.granted, self.handling, self.asking, self.found);
        let shown = (&self.engine, self.wake_at_ms, &self.commit, &self.committed, pages, flags);
        let likeness = xxh3_128(&rewritten(&format!("{shown:?}"), seen));
        self.likeness.set(Some((seen, likeness)));
        likeness
    }
}

fn rewritten(shown: &str, seen: Seen) -> Vec<u8> {
    let mut rewriting =
        Rewriting { text: shown.as_bytes(), at: 0, out: Vec::with_capacity(shown.len()), member: "", locks_lost: 0 };
    while let Some(byte) = rewriting.peek() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => rewriting.word(shown, seen),
            b'0'..=b'9' => rewriting.number(seen),
            b'"' => rewriting.name(seen),
            b' ' => rewriting.at += 1,
            other => {
                if other == b',' {
                    rewriting.member = "";
                }
                rewriting.out.push(other);
                rewriting.at += 1;
            }
        }
    }
    rewriting.out
}

struct Rewriting<'a> {
    text: &'a [u8],
    at: usize,
    out: Vec<u8>,
    /// The member whose value this is.
    member: &'a str,
    /// How often the realm has let go of locks: a claim was made since the last time, or before.
    locks_lost: u64,
}

impl<'a> Rewriting<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn word(&mut self, shown: &'a str, seen: Seen) {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            self.at += 1;
        }
        let word = &shown[start..self.at];
        let rest = &self.text[self.at..];
        if rest.starts_with(b": ") {
            if rest.starts_with(b": IntentRecord {") {
                if self.is_sent(start) {
                    return self.copy(seen);
                }
                return self.out.extend_from_slice(word.as_bytes());
            }
            match word {
                "history" => return self.history(),
                "tries" => return self.tries(),
                _ => {}
            }
            if LEFT_OUT.contains(&word) {
                self.skip_value();
                return;
            }
            self.member = word;
        } else if rest.starts_with(b" {") {
            match word {
                "Moment" => return self.skip_value(),
                "Stamp" => return self.stamp(seen),
                "LedgerClock" => return self.clock(),
                _ => {}
            }
        }
        self.out.extend_from_slice(word.as_bytes());
    }

    /// Up to the end of a member's value, or of a struct whose name was just read.
    fn skip_value(&mut self) {
        let (mut depth, mut quoted) = (0_u32, false);
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' if quoted => self.at += 1,
                b'"' => quoted = !quoted,
                b'{' | b'(' | b'[' if !quoted => depth += 1,
                b'}' | b')' | b']' if !quoted && depth == 0 => return,
                b'}' | b')' | b']' if !quoted => depth -= 1,
                b',' if !quoted && depth == 0 => return,
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Is the copy of an intent that stands here one that a realm has claimed, and sends?
    fn is_sent(&self, start: usize) -> bool {
        [&b"Flight { "[..], b"Grant { "].iter().any(|of| self.text[..start].ends_with(of))
    }

    /// Whether anything of it may have left: that is asked before the next attempt.
    fn history(&mut self) {
        let start = self.at;
        self.skip_value();
        let history = core::str::from_utf8(&self.text[start..self.at]).unwrap_or_default();
        let left = ["state: Open", "state: Ended"].iter().any(|state| history.contains(state));
        self.write(format_args!("left{}", left || !history.contains("folded_left: 0")));
    }

    /// Whether it is the first time.
    fn tries(&mut self) {
        let start = self.at;
        self.skip_value();
        let first = self.text[start..self.at] == *b": 0";
        self.write(format_args!("first{first}"));
    }

    /// Of such a copy, the name of the state, and when there is something to do about it: that is news.
    fn copy(&mut self, seen: Seen) {
        let start = self.at;
        self.skip_value();
        let record = core::str::from_utf8(&self.text[start..self.at]).unwrap_or_default();
        let state = record.split_once("state: ").map_or("", |(_, state)| state);
        let end = state.find(|character: char| !character.is_ascii_alphabetic()).unwrap_or(state.len());
        self.out.extend_from_slice(&state.as_bytes()[..end]);
        for due in record.split("due_at_ms: Some(").skip(1) {
            let digits = due.find(|character: char| !character.is_ascii_digit()).unwrap_or(due.len());
            let at_ms: u64 = due[..digits].parse().unwrap_or_default();
            self.write(format_args!("+{}", at_ms.saturating_sub(seen.now_ms)));
        }
    }

    fn stamp(&mut self, seen: Seen) {
        let at_ms = self.member_of("at_ms");
        self.skip_value();
        let age_ms = seen.now_ms.saturating_sub(at_ms);
        match self.member {
            "last_answer" if seen.aged && age_ms <= REACHABLE_FRESH_MS => self.write(format_args!("-{age_ms}")),
            "probe_failing_since" | "blocked_since" if age_ms < PROBE_FORBIDS_MAX_MS => {
                self.write(format_args!("-{age_ms}"));
            }
            _ => {}
        }
    }

    /// How far it is ahead of the wall clock that it was read with: that is kept, whenever it was read.
    fn clock(&mut self) {
        let (at_ms, wall_ms) = (self.member_of("at_ms"), self.member_of("wall_ms"));
        let (epoch, unexplained_ms) = (self.member_of("epoch"), self.member_of("unexplained_ms"));
        self.skip_value();
        let ahead = at_ms.wrapping_sub(wall_ms);
        self.write(format_args!("clock{ahead},{epoch},{unexplained_ms}"));
    }

    /// The number that is the next member of this name.
    fn member_of(&self, name: &str) -> u64 {
        let rest = core::str::from_utf8(&self.text[self.at..]).unwrap_or_default();
        let value = rest.split_once(name).and_then(|(_, rest)| rest.strip_prefix(": ")).unwrap_or_default();
        let digits = value.find(|character: char| !character.is_ascii_digit()).unwrap_or(value.len());
        value[..digits].parse().unwrap_or_default()
    }

    fn number(&mut self, seen: Seen) {
        let start = self.at;
        let mut number = 0_u64;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            number = number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        match self.member {
            "locks_lost" => self.locks_lost = number,
            "lock" => self.write(format_args!("{}", number == self.locks_lost)),
            "fence" => self.write(format_args!("{}", number == seen.fence)),
            _ if number < MOMENTS_FROM || number == u64::MAX => self.out.extend_from_slice(&self.text[start..self.at]),
            _ if number > seen.now_ms => self.write(format_args!("+{}", number - seen.now_ms)),
            _ => self.out.extend_from_slice(b"past"),
        }
    }

    /// Text. What a realm is called becomes which one it is; what it has named becomes nothing.
    fn name(&mut self, seen: Seen) {
        self.at += 1;
        let start = self.at;
        while self.peek().is_some_and(|byte| byte != b'"') {
            self.at += if self.peek() == Some(b'\\') { 2 } else { 1 };
        }
        let name = core::str::from_utf8(&self.text[start..self.at]).unwrap_or_default();
        self.at += 1;
        if name.starts_with("realm-") {
            self.write(format_args!("{:?}", which(name, seen.numbers)));
        } else {
            self.out.extend_from_slice(name.as_bytes());
        }
    }

    fn write(&mut self, shown: core::fmt::Arguments<'_>) {
        std::io::Write::write_fmt(&mut self.out, shown).expect("memory takes everything");
    }
}
