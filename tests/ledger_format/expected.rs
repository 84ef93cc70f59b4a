//! What the rows of the fixture say.

use std::rc::Rc;

use intento::core::attempt::{Attempt, AttemptState, History};
use intento::core::contract::{
    Answer, AnswerClass, AttemptReading, Carrier, CarrierPlace, ConclusiveWhen, Contract, Fault, Finding, HeaderIs,
    HeaderName, KeyFormat, KeyRules, Lookup, LookupMethod, LookupRule, Method, PathRetention, Place, PointerIs, Poll,
    Refusal, ReplayMarker, RetryHint, Rule, Success, When,
};
use intento::core::intent::{
    Cause, Claim, Delivery, Evidence, HeldReason, IntentRecord, LanePlace, Polling, Purpose, Reconciling, Replay,
    Request, State,
};
use intento::core::journal::{JournalEntry, JournalEvent};
use intento::core::json::from_text;
use intento::core::key::{ChangeId, ContractHash, Fingerprint, IntentId, Key, RealmId, ScopeHash};
use intento::core::reach::{OriginRecord, ProbeStanding};
use intento::core::record::{Body, Content, Counters, LaneName, Payload, Record, RecordKey, ReferenceName};
use intento::core::shared::Shared;
use intento::core::time::{LedgerClock, Stamp};
use intento::core::window::{ServerDate, WindowStart};

const NOW_MS: u64 = 1_796_000_000_000;
const ORIGIN: &str = "https://api.shop.example";
const CONTRACT: &str = "contract-hash";

pub(crate) fn records() -> Vec<(RecordKey, Record)> {
    let mut records = meta();
    records.push((RecordKey::Contract(ContractHash::from(CONTRACT)), Record::Contract(Rc::new(contract()))));
    let intents = intents().into_iter();
    records.extend(intents.map(|it| (RecordKey::Intent(it.id.clone()), Record::Intent(Shared::new(it)))));
    let payloads = payloads().into_iter();
    records.extend(payloads.map(|(id, it)| (RecordKey::Payload(IntentId::from(id)), Record::Payload(Shared::new(it)))));
    let entries = events().into_iter().zip(0..).map(|(event, sequence)| JournalEntry {
        intent: IntentId::from("accepted"),
        sequence,
        at: stamp(sequence),
        event,
    });
    records.extend(
        entries.map(|it| (RecordKey::Journal(it.intent.clone(), it.sequence), Record::Journal(Shared::new(it)))),
    );
    records
}

fn meta() -> Vec<(RecordKey, Record)> {
    let clock = LedgerClock { at_ms: NOW_MS, wall_ms: NOW_MS - 1_000, epoch: 2, unexplained_ms: 250 };
    let name = ReferenceName::new(&scope(), "authorize-payment", "order-842");
    let origin = OriginRecord {
        last_answer: Some(stamp(1)),
        answered: true,
        network_fault: true,
        probe: ProbeStanding::Works,
        probe_failing_since: Some(stamp(2)),
        gated_until: Some(stamp(3)),
        server: Some(ServerDate { date_ms: NOW_MS - 40, read: stamp(4) }),
    };
    vec![
        (RecordKey::Clock, Record::Clock(clock)),
        (RecordKey::Counters(scope()), Record::Counters(Counters { submitted: 8, open: 4 })),
        (RecordKey::Reference(name), Record::Reference(IntentId::from("successor"))),
        (RecordKey::Lane(LaneName::new(&scope(), "table-7")), Record::Lane(vec![(13, IntentId::from("in-lane"))])),
        (RecordKey::Origin(ORIGIN.to_owned()), Record::Origin(Shared::new(origin))),
    ]
}

/// One in each state that stores something of its own.
fn intents() -> Vec<IntentRecord> {
    let queued = queued("queued", 1);
    let waiting = IntentRecord {
        state: State::Waiting { cause: Cause::RateLimited },
        due_at_ms: Some(NOW_MS + 30_000),
        floor_at_ms: Some(NOW_MS + 20_000),
        claim: Some(Claim {
            owner: RealmId::from("realm-b"),
            nonce: ChangeId::from("nonce-21"),
            purpose: Purpose::Send,
            lease_until_ms: NOW_MS + 35_000,
            lock_held: true,
            unexplained_ms: 250,
        }),
        fence: 21,
        history: attempts(),
        ..sent(self::queued("waiting", 2))
    };
    let accepted = IntentRecord {
        state: State::Accepted,
        due_at_ms: Some(NOW_MS + 5_000),
        polling: Some(Polling {
            url: format!("{ORIGIN}/payments/7?expand=ação"),
            looks: 2,
            last: Some(ChangeId::from("look-2")),
        }),
        ..sent(self::queued("accepted", 3))
    };
    let held = IntentRecord {
        state: State::Held { reason: HeldReason::ConflictingAnswers },
        due_at_ms: None,
        renewed: Some(stamp(9)),
        reconciling: Reconciling { asked: true, looks: 3, last: Some(ChangeId::from("finding-3")) },
        ..sent(self::queued("held", 4))
    };
    let succeeded = IntentRecord {
        state: State::Succeeded { replay: Replay::Replayed, evidence: Evidence::Reply },
        due_at_ms: None,
        delivery: Delivery {
            submitted_by: RealmId::from("realm-a"),
            due_at_ms: Some(NOW_MS + 60_000),
            tries: 1,
            acknowledged: None,
        },
        contradicted: true,
        ..sent(self::queued("succeeded", 5))
    };
    let rejected = IntentRecord {
        state: State::Rejected { evidence: Evidence::Stored, replaceable: true },
        reference: Some("order-842".to_owned()),
        due_at_ms: None,
        delivery: Delivery { acknowledged: Some(stamp(11)), ..succeeded.delivery.clone() },
        successor: Some(IntentId::from("successor")),
        ..sent(self::queued("rejected", 6))
    };
    let successor = IntentRecord {
        reference: Some("order-842".to_owned()),
        head_reference: Some(ReferenceName::new(&scope(), "authorize-payment", "order-842").0),
        predecessor: Some(IntentId::from("rejected")),
        ..self::queued("successor", 7)
    };
    let abandoned = IntentRecord { state: State::Abandoned, due_at_ms: None, ..sent(self::queued("abandoned", 8)) };
    let ended = [State::Mismatched, State::NotApplied, State::Cancelled, State::Expired].into_iter().zip(9..);
    let ended = ended.map(|(state, sequence)| IntentRecord {
        state: state.clone(),
        due_at_ms: None,
        ..self::queued(state.name(), sequence)
    });
    let in_lane =
        IntentRecord { lane: Some(LanePlace { lane: "table-7".to_owned(), place: 13 }), ..self::queued("in-lane", 13) };
    let tombstone = IntentRecord {
        state: State::Succeeded { replay: Replay::Fresh, evidence: Evidence::Reply },
        key: from_text::<Key>("\"3f0c1d5e-8a44-4c0e-9b1a-6f2f7d1f0a55\"").unwrap().erased(),
        due_at_ms: None,
        erased: Some(stamp(40)),
        blocks: Some(ScopeHash::from("account")),
        ..sent(self::queued("tombstone", 14))
    };
    let moved = IntentRecord {
        state: State::Held { reason: HeldReason::Moved },
        due_at_ms: None,
        moved_from: Some((State::Waiting { cause: Cause::Network }, Some(NOW_MS))),
        ..sent(self::queued("moved", 15))
    };
    let first = [queued, waiting, accepted, held, succeeded, rejected, successor, abandoned];
    first.into_iter().chain(ended).chain([in_lane, tombstone, moved]).collect()
}

fn queued(id: &str, sequence: u64) -> IntentRecord {
    IntentRecord {
        id: IntentId::from(id),
        scope: scope(),
        operation: "authorize-payment".to_owned(),
        reference: None,
        head_reference: None,
        sequence,
        lane: None,
        created: stamp(0),
        renewed: None,
        key: from_text("\"3f0c1d5e-8a44-4c0e-9b1a-6f2f7d1f0a55\"").unwrap(),
        carrier: Shared::new(carrier()),
        has_lookup: true,
        contract: ContractHash::from(CONTRACT),
        fingerprint: Fingerprint("fingerprint".to_owned().into()),
        request: Shared::new(Request {
            method: Method::Post,
            url: format!("{ORIGIN}/payments"),
            origin: ORIGIN.to_owned(),
            headers: vec![("x-shop".to_owned(), "\"1\"\u{1f}".to_owned())],
        }),
        expires_in_ms: Some(86_400_000),
        state: State::Queued,
        due_at_ms: Some(NOW_MS),
        floor_at_ms: None,
        claim: None,
        fence: 0,
        history: History::default(),
        first_sent: None,
        window: None,
        polling: None,
        reconciling: Reconciling::default(),
        delivery: Delivery { submitted_by: RealmId::from("realm-a"), due_at_ms: None, tries: 0, acknowledged: None },
        predecessor: None,
        successor: None,
        contradicted: false,
        journal_entries: 1,
        erased: None,
        blocks: None,
        moved_from: None,
    }
}

/// The same after its first attempt.
fn sent(intent: IntentRecord) -> IntentRecord {
    let reading =
        AttemptReading::Answer { class: AnswerClass::Succeeded, status: 201, conclusive: true, replayed: None };
    IntentRecord {
        fence: 1,
        history: History { total: 1, attempts: vec![ended(1, reading, None)], ..History::default() },
        first_sent: Some(stamp(1)),
        window: Some(WindowStart { at: stamp(1), server_from_ms: Some(NOW_MS - 90), server_to_ms: Some(NOW_MS + 90) }),
        journal_entries: 3,
        ..intent
    }
}

fn attempts() -> History {
    let limited = AttemptReading::Answer {
        class: AnswerClass::RateLimited,
        status: 429,
        conclusive: false,
        replayed: Some(false),
    };
    let not_sent = AttemptState::NotSent { ended: stamp(20) };
    History {
        total: 21,
        attempts: vec![
            ended(18, AttemptReading::Fault { fault: Fault::Timeout }, None),
            ended(19, limited, Some(20_000)),
            Attempt { state: not_sent, ..open(20) },
            open(21),
        ],
        folded_left: 17,
        folded_unknown: 12,
        folded_open: vec![3, 5],
    }
}

fn open(number: u32) -> Attempt {
    Attempt {
        number,
        fence: u64::from(number),
        correlation: ChangeId::from(format!("nonce-{number}")),
        started: stamp(u64::from(number)),
        state: AttemptState::Open,
    }
}

fn ended(number: u32, reading: AttemptReading, retry_after_ms: Option<u64>) -> Attempt {
    let fact = ChangeId::from(format!("fact-{number}"));
    let ended = stamp(u64::from(number) + 1);
    Attempt { state: AttemptState::Ended { ended, fact, reading, retry_after_ms }, ..open(number) }
}

fn payloads() -> Vec<(&'static str, Payload)> {
    let body = |media_type: &str, content| Some(Body { media_type: media_type.to_owned(), content });
    let json = Content::Text("{\"amount\":15000,\"note\":\"ação \\\"1\\\" \u{1f4b3}\"}".to_owned());
    let answer = Answer {
        status: 201,
        media_type: Some("application/json".to_owned()),
        body: Some("{\"id\":\"pay_1\"}\n".to_owned()),
        resource: Some("pay_1".to_owned()),
    };
    let bare = Answer { status: 204, media_type: None, body: None, resource: None };
    vec![
        ("queued", Payload { body: body("application/json", json), answer: None }),
        (
            "succeeded",
            Payload {
                body: body("application/octet-stream", Content::Bytes((0..=u8::MAX).collect())),
                answer: Some((1, answer)),
            },
        ),
        ("rejected", Payload { body: None, answer: Some((1, bare)) }),
    ]
}

fn events() -> Vec<JournalEvent> {
    use JournalEvent::*;
    let text = str::to_owned;
    let fault = AttemptReading::Fault { fault: Fault::Network };
    let answer =
        AttemptReading::Answer { class: AnswerClass::Accepted, status: 202, conclusive: false, replayed: None };
    vec![
        Submitted,
        Claimed { attempt: 1, fence: 1, owner: RealmId::from("realm-a"), correlation: ChangeId::from("nonce-1") },
        NotSent { attempt: 1 },
        Facts { attempt: 2, fence: 2, stale: true, reading: fault },
        Waits { cause: Cause::Network, due_at_ms: NOW_MS + 500 },
        Held { reason: HeldReason::Auth },
        Resumed { from: HeldReason::Auth },
        Accepted,
        Polled { fence: 3, reading: answer },
        ReconcileAsked,
        Reconciled { fence: 4, finding: Finding::NotFound },
        Adopted { from: ScopeHash::from("guest") },
        Abandoned { reason: text("the customer left") },
        Replaces { predecessor: IntentId::from("before") },
        Replaced { successor: IntentId::from("after"), reason: text("another card") },
        Settled { state: text("succeeded") },
        Delivered { ok: false },
        Acknowledged,
        Contradicted { attempt: 2, reading: answer },
        Skipped,
        Erased { purged: true },
        Received,
        CardDataAllowed,
    ]
}

/// Every member that a contract can have.
fn contract() -> Contract {
    let text = str::to_owned;
    let pointer = |at: &str, is: &[&str]| PointerIs { at: text(at), is: is.iter().copied().map(text).collect() };
    let when = When {
        status: vec![409, 422],
        replayed: Some(true),
        header: Some(HeaderIs { name: text("x-why"), is: vec![text("conflict")] }),
        pointer: Some(pointer("/error/*/code", &["taken", "done"])),
    };
    Contract {
        id: text("shop"),
        carrier: carrier(),
        key: KeyRules {
            format: KeyFormat::Alphabet,
            alphabet: Some(text("0123456789abcdef")),
            min_length: Some(32),
            max_length: Some(64),
        },
        echo: Some(Place { header: Some(text("Idempotency-Key")), pointer: Some(text("/key")) }),
        retention_ms: 86_400_000,
        retention_by_path: vec![PathRetention { prefix: text("/payments"), retention_ms: 3_600_000 }],
        margin_ms: 60_000,
        window_start: Some(HeaderName { header: text("x-first-seen") }),
        methods: vec![Method::Post, Method::Put, Method::Patch, Method::Delete],
        success: Success {
            statuses: vec![(200, 201), (203, 205)],
            media_types: vec![text("application/json"), text("+json")],
            pointer: Some(pointer("/status", &["paid"])),
        },
        replay: Some(ReplayMarker {
            header: Some(text("Idempotent-Replayed")),
            values: vec![text("true")],
            status: vec![208],
        }),
        refusal: Refusal { conclusive: ConclusiveWhen::Stored, single_delivery: true },
        before_layer: vec![401, 403, 429],
        rules: vec![
            Rule { when: when.clone(), then: AnswerClass::AlreadyDone, conclusive: false, resource: Some(text("/id")) },
            Rule {
                when: When { status: vec![402], ..When::default() },
                then: AnswerClass::Rejected,
                conclusive: true,
                resource: None,
            },
        ],
        retry_hints: vec![RetryHint {
            header: text("x-should-retry"),
            retry: vec![text("true")],
            stop: vec![text("false")],
        }],
        poll: Some(Poll { path: Some(text("/payments/{key}")) }),
        reconcile: Some(Lookup {
            method: LookupMethod::Get,
            path: Some(text("/payments/by-key/{key}")),
            rules: vec![LookupRule { when, then: Finding::Applied }],
            response_at: Some(text("/response")),
        }),
    }
}

fn carrier() -> Carrier {
    Carrier {
        place: CarrierPlace::Header,
        name: "Idempotency-Key".to_owned(),
        quoted: true,
        first_sent: Some("Idempotency-First-Sent".to_owned()),
    }
}

fn scope() -> ScopeHash {
    ScopeHash::from("scope-hash")
}

fn stamp(after_ms: u64) -> Stamp {
    Stamp { at_ms: NOW_MS + after_ms, epoch: 2, wall_ms: NOW_MS - 1_000 + after_ms }
}
