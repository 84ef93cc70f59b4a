//! A ledger of which one record was damaged: what cannot be read causes no send and keeps its bytes (law 8), and what can
//! still be read is sent under the rules.

use std::collections::BTreeMap;

use intento::core::attempt::AttemptState;
use intento::core::backoff::Jitter;
use intento::core::change::{
    Adopt, Applied, Change, ContractSnapshot, Delivered, Found, MoveOut, NotSent, Reconciled, RecordFacts, Refusal,
    Replace, Submit, TakeClaim,
};
use intento::core::contract::{Answer, Contract, Facts, Fault, Finding, Observation};
use intento::core::effect::{Dispatch, Effect};
use intento::core::engine::{Engine, Settings};
use intento::core::input::{Authorized, CommitError, Credentials, DuePage, Input, Lock, Ticket};
use intento::core::intent::{HeldReason, Purpose};
use intento::core::json::{from_text, to_text};
use intento::core::key::{ChangeId, ContractHash, IntentId, RandomBits, RealmId, ScopeHash};
use intento::core::limits::ATTEMPT_DEADLINE_MS;
use intento::core::record::{Overlay, Record, RecordKey, Versioned};
use intento::core::submission::{Destinations, ExpiresIn, Reference, StatedBody, Submission, SubmitContext};
use intento::core::time::{LedgerClock, Moment, Observed, Reading};
use intento::ledger::batch::decide;
use intento::ledger::format::{FORMAT, Row, checksum};
use proptest::prelude::*;
use proptest::sample::select;

use super::damage::damaged;
use super::{ORIGIN, config, target};

const START_MS: u64 = 1_800_000_000_000;
const HOUR_MS: u64 = 3_600_000;
/// Inputs after which a realm has done what it can.
const INPUTS_MAX: usize = 40;

/// Rows as a store keeps them, read anew at each transaction.
#[derive(Clone, Debug, Default)]
struct Ledger {
    rows: BTreeMap<RecordKey, Row>,
    wall_ms: u64,
}

impl Ledger {
    fn read(&self, key: &RecordKey) -> Versioned {
        let row = self.rows.get(key);
        row.map_or(Versioned::ABSENT, |row| Versioned {
            version: row.version,
            record: Some(Record::from_row(key, row.v, &row.record, &row.checksum)),
        })
    }

    fn commit(&mut self, changes: &[Change], reading: Reading) -> (Vec<Result<Applied, Refusal>>, Option<Observed>) {
        let mut overlay = Overlay::default();
        let decided = loop {
            match decide(&mut overlay, changes, reading) {
                Ok(decided) => break decided,
                Err(unread) => unread.into_iter().for_each(|key| {
                    let found = self.read(&key);
                    overlay.insert(key, found);
                }),
            }
        };
        for (key, record) in overlay.into_commit().1 {
            let old = self.read(&key);
            if record == Record::Gone {
                self.rows.remove(&key);
                continue;
            }
            assert_ne!(old.record, Some(Record::Undecodable), "{key:?} was rewritten unread");
            let row = Row::new(&key, old.version + 1, &record).expect("what was not read is not written");
            self.rows.insert(key.clone(), row);
            assert_eq!(self.read(&key).record, Some(record), "what is written is read");
        }
        (decided.results, decided.clock)
    }

    fn apply(&mut self, change: Change) -> Result<Applied, Refusal> {
        let reading = Reading::alone(self.wall_ms);
        self.commit(&[change], reading).0.pop().unwrap()
    }

    /// What a store finds by its columns, which stand beside the record: one that cannot be read is passed over.
    fn due(&self) -> DuePage {
        let intents = self.rows.keys().filter_map(|key| match self.read(key).record {
            Some(Record::Intent(intent)) => Some(intent),
            _ => None,
        });
        DuePage { due: intents.filter(|intent| intent.due_at_ms.is_some()).collect(), ..DuePage::default() }
    }

    fn clock(&self) -> Option<LedgerClock> {
        match self.read(&RecordKey::Clock).record {
            Some(Record::Clock(clock)) => Some(clock),
            _ => None,
        }
    }
}

fn contract() -> ContractSnapshot {
    let contract: Contract = from_text(include_str!("../../contracts/generic.json")).unwrap();
    ContractSnapshot { hash: ContractHash::of(&to_text(&contract)), contract: contract.into() }
}

fn submit(number: u8) -> Submit {
    let target = target("/payments");
    let context = SubmitContext {
        scope: &ScopeHash::of("user-1"),
        realm: &realm(),
        contract: &contract(),
        destinations: &Destinations::new(&target, &[]).unwrap(),
    };
    let submission = Submission {
        operation: "authorize-payment".to_owned(),
        reference: Reference::Named("order-842".to_owned()),
        lane: None,
        method: "POST".to_owned(),
        target: target.clone(),
        headers: vec![("x-tenant".to_owned(), "7".to_owned())],
        body: Some(StatedBody::json("{\"amount\":15000}")),
        expires_in: ExpiresIn::Default,
        card_data: false,
    };
    submission.into_change(context, RandomBits([number; 16]), RandomBits([number; 16])).unwrap()
}

fn id() -> IntentId {
    submit(1).intent
}

fn realm() -> RealmId {
    RealmId::from("realm-a")
}

fn take(purpose: Purpose) -> Change {
    Change::Claim(TakeClaim {
        intent: id(),
        nonce: ChangeId::from(format!("nonce-{purpose:?}")),
        owner: realm(),
        scope: ScopeHash::of("user-1"),
        purpose,
        lock: None,
        attempt_ms: ATTEMPT_DEADLINE_MS,
        windows: contract().contract.windows(),
        fresh_credentials: true,
    })
}

fn facts(fact: &str, observation: Observation) -> Box<RecordFacts> {
    Box::new(RecordFacts {
        intent: id(),
        attempt: 1,
        fence: 1,
        fact: ChangeId::from(fact),
        observation,
        answer: Some(Answer { status: 201, media_type: None, body: Some("{}".to_owned()), resource: None }),
        jitter: Jitter(0),
    })
}

fn reply(status: u16, location: Option<&str>) -> Observation {
    let headers = location.map(|url| ("location".to_owned(), url.to_owned())).into_iter().collect();
    let media_type = Some("application/json".to_owned());
    Observation::Reply(Facts { status, media_type, headers, document: true, ..Facts::default() })
}

/// Everything that anybody can ask about the intent.
fn changes() -> Vec<Change> {
    let (intent, fence, fact, jitter) = (id(), 1, ChangeId::from("late"), Jitter(0));
    let scope = ScopeHash::of;
    vec![
        take(Purpose::Send),
        take(Purpose::Poll),
        take(Purpose::Reconcile),
        take(Purpose::Deliver),
        Change::Submit(Box::new(submit(1))),
        Change::Submit(Box::new(submit(2))),
        Change::Record(facts("late", reply(201, None))),
        Change::Record(facts("later", reply(402, None))),
        Change::Polled(facts("seen", reply(201, None))),
        Change::NotSent(NotSent { intent: id(), attempt: 1, fence, jitter }),
        Change::Cancel(id()),
        Change::Resume(id()),
        Change::Skip(id()),
        Change::Reconcile(id()),
        Change::Reconciled(Box::new(Reconciled {
            intent,
            fence,
            fact,
            found: Found::ByApp(Finding::NotApplied),
            answer: None,
            jitter,
        })),
        Change::Adopt(Adopt { from: scope("user-1"), to: scope("user-2"), intents: vec![id()] }),
        Change::Replace(Box::new(Replace { predecessor: id(), successor: submit(3), reason: "r".to_owned() })),
        Change::Abandon { intent: id(), reason: "r".to_owned() },
        Change::Delivered(Delivered { intent: id(), fence: 2, ok: true, jitter }),
        Change::Acknowledge(id()),
        Change::Hold { intent: id(), reason: HeldReason::Config },
        Change::Probed { origin: ORIGIN.to_owned(), ok: true },
        // A purge is none of these: it is to take away what cannot be read, too.
        Change::Prune(vec![id()]),
        Change::MoveOut(MoveOut { scope: scope("user-1"), intents: vec![id()] }),
        Change::Tick,
    ]
}

/// A ledger with one intent: never sent, or after an attempt that brought this, or nothing.
fn ledger(attempt: Option<Option<Observation>>) -> Ledger {
    let mut ledger = Ledger { wall_ms: START_MS, ..Ledger::default() };
    ledger.apply(Change::Submit(Box::new(submit(1)))).unwrap();
    ledger.apply(Change::Probed { origin: ORIGIN.to_owned(), ok: true }).unwrap();
    if let Some(observation) = attempt {
        ledger.apply(take(Purpose::Send)).unwrap();
        if let Some(observation) = observation {
            ledger.apply(Change::Record(facts("first", observation))).unwrap();
        }
    }
    ledger.wall_ms += HOUR_MS;
    ledger
}

fn ledgers() -> impl Strategy<Value = Ledger> {
    let result = format!("{ORIGIN}/payments/1");
    let brought = vec![
        None,
        Some(None),
        Some(Some(Observation::Fault(Fault::Timeout))),
        Some(Some(Observation::Fault(Fault::Redirected))),
        Some(Some(reply(202, Some(&result)))),
        Some(Some(reply(401, None))),
        Some(Some(reply(402, None))),
        Some(Some(reply(201, None))),
    ];
    select(brought).prop_map(ledger)
}

/// What became of a row.
#[derive(Clone, Debug)]
enum Damage {
    /// Another text was written in its place, as by a build with a mistake.
    Rewritten(String),
    /// Its text is not what was written.
    Text(String),
    /// A later build wrote it.
    Newer,
}

impl Damage {
    fn strike(self, key: &RecordKey, row: &mut Row) {
        match self {
            Self::Rewritten(text) => {
                row.checksum = checksum(key, &text);
                row.record = text;
            }
            Self::Text(text) => row.record = text,
            Self::Newer => row.v = FORMAT + 1,
        }
    }
}

/// A ledger, and which record of it was damaged.
fn damaged_ledgers() -> impl Strategy<Value = (Ledger, RecordKey)> {
    let pick = ledgers().prop_flat_map(|ledger| {
        let keys: Vec<RecordKey> = ledger.rows.keys().cloned().collect();
        (Just(ledger), select(keys))
    });
    pick.prop_flat_map(|(ledger, key)| {
        let text = damaged(Just(ledger.rows[&key].record.clone())).boxed();
        let damage = prop_oneof![
            4 => text.clone().prop_map(Damage::Rewritten),
            1 => text.prop_map(Damage::Text),
            1 => Just(Damage::Newer),
        ];
        (Just(ledger), Just(key), damage)
    })
    .prop_map(|(mut ledger, key, damage)| {
        damage.strike(&key, ledger.rows.get_mut(&key).unwrap());
        (ledger, key)
    })
}

/// Without one of these nothing can be decided about an intent.
fn is_vital(key: &RecordKey) -> bool {
    use RecordKey::{Clock, Contract, Intent, Origin, Payload};
    matches!(key, Clock | Contract(_) | Intent(_) | Origin(_) | Payload(_))
}

/// One realm over a ledger, whose network answers nothing. Says what it sent.
fn run(ledger: &mut Ledger) -> Vec<Dispatch> {
    let settings = Settings {
        scope: ScopeHash::of("user-1"),
        owner: RealmId::from("realm-b"),
        jitter_seed: 7,
        attempt_ms: ATTEMPT_DEADLINE_MS,
        windows: contract().contract.windows(),
        origins: vec![ORIGIN.to_owned()],
        online: true,
        can_refresh: false,
        can_reconcile: false,
        prepares: false,
        handled: vec!["authorize-payment".to_owned()],
    };
    let mut now = Moment { wall_ms: ledger.wall_ms, mono_ms: 1 };
    let mut engine = Engine::new(settings, now);
    let mut inputs = vec![Input::Started { clock: ledger.clock(), origins: Vec::new() }];
    let mut sent = Vec::new();
    for _ in 0..INPUTS_MAX {
        let input = inputs.pop().unwrap_or_else(|| {
            let sleep_ms = engine.wake_in_ms();
            now = Moment { wall_ms: now.wall_ms + sleep_ms, mono_ms: now.mono_ms + sleep_ms };
            Input::Wake(intento::core::input::Wake::Timer)
        });
        engine.handle(input, now);
        for effect in engine.take_effects() {
            match effect {
                Effect::Commit { batch } => {
                    let reading = engine.reading(now);
                    let (tickets, changes): (Vec<Ticket>, Vec<Change>) = batch.into_iter().unzip();
                    let (results, clock) = ledger.commit(&changes, reading);
                    let results = results.into_iter().map(|result| result.map_err(CommitError::Refused));
                    inputs.push(Input::Committed { results: tickets.into_iter().zip(results).collect(), clock });
                }
                Effect::LoadDue { .. } => inputs.push(Input::Due(ledger.due())),
                Effect::LoadInbox { .. } => inputs.push(Input::Inbox(DuePage::default())),
                Effect::Deliver { intent, .. } => inputs.push(Input::Delivered { intent: intent.id.clone(), ok: true }),
                Effect::Lock { intent, .. } => inputs.push(Input::Lock { intent, lock: Lock::Held }),
                Effect::Probe { origin } => inputs.push(Input::Probed { origin, ok: true }),
                Effect::Authorize { intent, .. } => {
                    inputs.push(Input::Authorized { intent, outcome: Authorized::Granted(Credentials::default()) });
                }
                Effect::Send(dispatch) => {
                    assert_recorded(ledger, &dispatch);
                    let observation = Observation::Fault(Fault::Timeout);
                    inputs.push(Input::Fetched { intent: dispatch.intent.clone(), observation, answer: None });
                    sent.push(*dispatch);
                }
                _ => {}
            }
        }
    }
    sent
}

/// Law 1, of what is read back.
fn assert_recorded(ledger: &Ledger, dispatch: &Dispatch) {
    let Some(Record::Intent(intent)) = ledger.read(&RecordKey::Intent(dispatch.intent.clone())).record else {
        panic!("sent without a record");
    };
    assert_eq!(intent.id, dispatch.intent);
    let is_open = |attempt: &intento::core::attempt::Attempt| attempt.state == AttemptState::Open;
    let recorded = intent.history.attempts.iter().any(|it| it.number == dispatch.attempt && is_open(it));
    assert!(recorded || dispatch.method == "GET", "attempt {} is not recorded as open", dispatch.attempt);
}

/// Otherwise no damage would matter.
#[test]
fn a_ledger_that_is_whole_is_sent_from() {
    let mut fresh = ledger(None);
    let sent = run(&mut fresh);
    assert!(sent.len() > 1, "{sent:?}");
    assert!(sent.iter().all(|dispatch| dispatch.url == format!("{ORIGIN}/payments")));
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn law_8_what_cannot_be_read_is_never_sent_and_keeps_its_bytes((mut ledger, key) in damaged_ledgers()) {
        let row = ledger.rows[&key].clone();
        let unread = ledger.read(&key).record == Some(Record::Undecodable);
        let sent = run(&mut ledger);
        if unread {
            prop_assert_eq!(&ledger.rows[&key], &row);
            prop_assert!(sent.is_empty() || !is_vital(&key), "{sent:?}");
        }
    }

    #[test]
    fn law_8_no_change_writes_over_what_it_cannot_read((ledger, key) in damaged_ledgers()) {
        let unread = ledger.read(&key).record == Some(Record::Undecodable);
        for change in changes() {
            let mut ledger = ledger.clone();
            let row = ledger.rows[&key].clone();
            let applied = ledger.apply(change.clone());
            if let (true, Ok(Applied::Claimed(_))) = (unread && is_vital(&key), &applied) {
                prop_assert!(false, "{:?} was granted", change);
            }
            if unread {
                prop_assert_eq!(&ledger.rows[&key], &row, "{:?}", change);
            }
            if let Ok(Applied::Claimed(grant)) = applied {
                prop_assert_eq!(&grant.intent.id, &id(), "a claim on one intent is of no other");
            }
        }
    }
}
