//! Records of every kind, made up member by member.

use std::rc::Rc;

use intento::core::attempt::{Attempt, AttemptState, History};
use intento::core::contract::{Answer, AnswerClass, AttemptReading, Carrier, CarrierPlace, Fault, Finding, Method};
use intento::core::intent::{
    Cause, Claim, Delivery, Evidence, HeldReason, IntentRecord, LanePlace, Polling, Purpose, Reconciling, Replay,
    Request, State,
};
use intento::core::journal::{JournalEntry, JournalEvent};
use intento::core::json::{from_text, to_text};
use intento::core::key::{ChangeId, ContractHash, Fingerprint, IntentId, Key, RealmId, ScopeHash};
use intento::core::reach::{OriginRecord, ProbeStanding};
use intento::core::record::{Body, Content, Counters, LaneName, Payload, Record, RecordKey};
use intento::core::shared::Shared;
use intento::core::time::{LedgerClock, Stamp};
use intento::core::window::{ServerDate, WindowStart};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use super::contracts;

/// A record and the key that it lies under.
pub(crate) fn record() -> BoxedStrategy<(RecordKey, Record)> {
    let id = || text().prop_map(IntentId::from);
    let hash = || text().prop_map(ScopeHash::from);
    prop_oneof![
        1 => clock().prop_map(|clock| (RecordKey::Clock, Record::Clock(clock))),
        1 => (hash(), number(), number()).prop_map(|(scope, submitted, open)| {
            (RecordKey::Counters(scope), Record::Counters(Counters { submitted, open }))
        }),
        1 => (text(), id()).prop_map(|(name, head)| {
            (RecordKey::Reference(intento::core::record::ReferenceName(name)), Record::Reference(head))
        }),
        1 => (text(), vec((number(), id()), 0..4)).prop_map(|(name, queue)| {
            (RecordKey::Lane(LaneName(name)), Record::Lane(queue))
        }),
        6 => intent().boxed().prop_map(|intent| (RecordKey::Intent(intent.id.clone()), Record::Intent(Shared::new(intent)))),
        2 => (id(), payload().boxed()).prop_map(|(id, payload)| (RecordKey::Payload(id), Record::Payload(Shared::new(payload)))),
        4 => journal_entry().boxed().prop_map(|entry| {
            (RecordKey::Journal(entry.intent.clone(), entry.sequence), Record::Journal(Shared::new(entry)))
        }),
        2 => (text(), contracts::contract()).prop_map(|(hash, contract)| {
            (RecordKey::Contract(ContractHash::from(hash)), Record::Contract(Rc::new(contract)))
        }),
        1 => (text(), origin().boxed()).prop_map(|(name, origin)| (RecordKey::Origin(name), Record::Origin(Shared::new(origin)))),
    ]
    .boxed()
}

pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[a-z0-9/._-]{0,12}", 1 => any::<String>()]
}

pub(crate) fn number() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), select(vec![0, 1, 9_007_199_254_740_993, u64::MAX])]
}

fn key() -> impl Strategy<Value = Key> {
    text().prop_map(|text| from_text(&to_text(text.as_str())).unwrap())
}

fn stamp() -> impl Strategy<Value = Stamp> {
    (number(), any::<u32>(), number()).prop_map(|(at_ms, epoch, wall_ms)| Stamp { at_ms, epoch, wall_ms })
}

fn clock() -> impl Strategy<Value = LedgerClock> {
    (number(), number(), any::<u32>(), number()).prop_map(|(at_ms, wall_ms, epoch, unexplained_ms)| LedgerClock {
        at_ms,
        wall_ms,
        epoch,
        unexplained_ms,
    })
}

fn server_date() -> impl Strategy<Value = ServerDate> {
    (number(), stamp()).prop_map(|(date_ms, read)| ServerDate { date_ms, read })
}

fn origin() -> impl Strategy<Value = OriginRecord> {
    let probe = select(vec![ProbeStanding::Untested, ProbeStanding::Works, ProbeStanding::Unusable]);
    let stamps = (of(stamp()), of(stamp()), of(stamp()));
    (stamps, any::<(bool, bool)>(), probe, of(server_date())).prop_map(
        |((last_answer, probe_failing_since, gated_until), (answered, network_fault), probe, server)| OriginRecord {
            last_answer,
            answered,
            network_fault,
            probe,
            probe_failing_since,
            gated_until,
            server,
        },
    )
}

fn payload() -> impl Strategy<Value = Payload> {
    let content =
        prop_oneof![any::<String>().prop_map(Content::Text), vec(any::<u8>(), 0..80).prop_map(Content::Bytes),];
    let body = (text(), content).prop_map(|(media_type, content)| Body { media_type, content });
    let answer = (any::<u16>(), of(text()), of(any::<String>()), of(text()))
        .prop_map(|(status, media_type, body, resource)| Answer { status, media_type, body, resource });
    (of(body), of((any::<u32>(), answer))).prop_map(|(body, answer)| Payload { body, answer })
}

pub(crate) fn class() -> impl Strategy<Value = AnswerClass> {
    use AnswerClass::*;
    select(vec![
        Succeeded,
        AlreadyDone,
        Rejected,
        Mismatched,
        Accepted,
        InProgress,
        RateLimited,
        Auth,
        Config,
        Retry,
        Uncertain,
        KeyBurnt,
        WindowClosed,
        Unclear,
        NotTheServer,
        OtherKey,
    ])
}

pub(crate) fn fault() -> impl Strategy<Value = Fault> {
    use Fault::*;
    select(vec![Network, Timeout, Redirected, Truncated, TooLarge, Forbidden])
}

pub(crate) fn reading() -> impl Strategy<Value = AttemptReading> {
    let answer = (class(), any::<u16>(), any::<bool>(), of(any::<bool>()));
    prop_oneof![
        3 => answer.prop_map(|(class, status, conclusive, replayed)| {
            AttemptReading::Answer { class, status, conclusive, replayed }
        }),
        1 => fault().prop_map(|fault| AttemptReading::Fault { fault }),
    ]
}

pub(crate) fn attempt_state() -> impl Strategy<Value = AttemptState> {
    let ended =
        (stamp(), text(), reading().boxed(), of(number())).prop_map(|(ended, fact, reading, retry_after_ms)| {
            AttemptState::Ended { ended, fact: ChangeId::from(fact), reading, retry_after_ms }
        });
    prop_oneof![
        1 => Just(AttemptState::Open),
        1 => stamp().prop_map(|ended| AttemptState::NotSent { ended }),
        3 => ended,
    ]
}

/// Whatever stands in it: numbers that do not count up, counts that fit nothing.
pub(crate) fn history() -> impl Strategy<Value = History> {
    let attempt = (any::<u32>(), number(), text(), stamp(), attempt_state().boxed()).prop_map(
        |(number, fence, correlation, started, state)| Attempt {
            number: number % 24,
            fence,
            correlation: ChangeId::from(correlation),
            started,
            state,
        },
    );
    let count = || select(vec![0, 1, 7, u32::MAX - 1, u32::MAX]);
    (count(), vec(attempt, 0..6), count(), count(), vec(any::<u32>(), 0..4)).prop_map(
        |(total, attempts, folded_left, folded_unknown, folded_open)| History {
            total,
            attempts,
            folded_left,
            folded_unknown,
            folded_open,
        },
    )
}

pub(crate) fn state() -> impl Strategy<Value = State> {
    let replay = select(vec![Replay::Fresh, Replay::Replayed, Replay::Unknown]);
    let succeeded = (replay, evidence()).prop_map(|(replay, evidence)| State::Succeeded { replay, evidence });
    let rejected =
        (evidence(), any::<bool>()).prop_map(|(evidence, replaceable)| State::Rejected { evidence, replaceable });
    prop_oneof![
        select(vec![
            State::Queued,
            State::Accepted,
            State::Mismatched,
            State::NotApplied,
            State::Cancelled,
            State::Expired,
            State::Abandoned,
        ]),
        cause().prop_map(|cause| State::Waiting { cause }),
        held().prop_map(|reason| State::Held { reason }),
        succeeded,
        rejected,
    ]
}

fn evidence() -> impl Strategy<Value = Evidence> {
    select(vec![Evidence::Reply, Evidence::Stored, Evidence::Unstored, Evidence::Reconciliation])
}

fn held() -> impl Strategy<Value = HeldReason> {
    select(HeldReason::ALL.to_vec())
}

fn cause() -> impl Strategy<Value = Cause> {
    use Cause::*;
    select(vec![
        NotSent,
        InFlight,
        Resumed,
        Processing,
        Interrupted,
        Network,
        Timeout,
        NotTheServer,
        Truncated,
        ServerError,
        InProgress,
        RateLimited,
        Unclear,
    ])
}

pub(crate) fn carrier() -> impl Strategy<Value = Carrier> {
    use CarrierPlace::*;
    let place = select(vec![Header, Body, Query, Path, CarrierPlace::None]);
    (place, text(), any::<bool>(), of(text())).prop_map(|(place, name, quoted, first_sent)| Carrier {
        place,
        name,
        quoted,
        first_sent,
    })
}

fn request() -> impl Strategy<Value = Request> {
    (select(Method::ALL.to_vec()), text(), text(), vec((text(), text()), 0..4))
        .prop_map(|(method, url, origin, headers)| Request { method, url, origin, headers })
}

fn claim() -> impl Strategy<Value = Claim> {
    let purpose = select(vec![Purpose::Send, Purpose::Poll, Purpose::Reconcile, Purpose::Deliver]);
    (text(), text(), purpose, number(), any::<bool>(), number()).prop_map(
        |(owner, nonce, purpose, lease_until_ms, lock_held, unexplained_ms)| Claim {
            owner: RealmId::from(owner),
            nonce: ChangeId::from(nonce),
            purpose,
            lease_until_ms,
            lock_held,
            unexplained_ms,
        },
    )
}

fn window() -> impl Strategy<Value = WindowStart> {
    (stamp(), of(number()), of(number())).prop_map(|(at, server_from_ms, server_to_ms)| WindowStart {
        at,
        server_from_ms,
        server_to_ms,
    })
}

fn polling() -> impl Strategy<Value = Polling> {
    (text(), any::<u32>(), of(text())).prop_map(|(url, looks, last)| Polling {
        url,
        looks,
        last: last.map(ChangeId::from),
    })
}

fn reconciling() -> impl Strategy<Value = Reconciling> {
    (any::<bool>(), any::<u32>(), of(text())).prop_map(|(asked, looks, last)| Reconciling {
        asked,
        looks,
        last: last.map(ChangeId::from),
    })
}

fn delivery() -> impl Strategy<Value = Delivery> {
    (text(), of(number()), any::<u32>(), of(stamp())).prop_map(|(realm, due_at_ms, tries, acknowledged)| Delivery {
        submitted_by: RealmId::from(realm),
        due_at_ms,
        tries,
        acknowledged,
    })
}

fn intent() -> impl Strategy<Value = IntentRecord> {
    let lane = of((text(), number()).prop_map(|(lane, place)| LanePlace { lane, place }));
    let named = (text(), text(), text(), of(text()), of(text()), number(), lane, stamp(), of(stamp()));
    let frozen = (key(), carrier(), any::<bool>(), text(), text(), request(), of(number()));
    let standing = (
        state().boxed(),
        of(number()),
        of(number()),
        of(claim().boxed()),
        number(),
        history().boxed(),
        of(stamp()),
        of(window()),
    );
    let after = (of(polling()), reconciling(), delivery(), of(text()), of(text()), any::<bool>(), number());
    let moved_from = of((state().boxed(), of(number())));
    let after = (after, (of(stamp()), of(text()), moved_from));
    (named.boxed(), frozen.boxed(), standing.boxed(), after.boxed()).prop_map(|(named, frozen, standing, after)| {
        let (id, scope, operation, reference, head_reference, sequence, lane, created, renewed) = named;
        let (key, carrier, has_lookup, contract, fingerprint, request, expires_in_ms) = frozen;
        let (state, due_at_ms, floor_at_ms, claim, fence, history, first_sent, window) = standing;
        let (polling, reconciling, delivery, predecessor, successor, contradicted, journal_entries) = after.0;
        let (erased, blocks, moved_from) = after.1;
        IntentRecord {
            id: IntentId::from(id),
            scope: ScopeHash::from(scope),
            operation,
            reference,
            head_reference,
            sequence,
            lane,
            created,
            renewed,
            key,
            carrier: Shared::new(carrier),
            has_lookup,
            contract: ContractHash::from(contract),
            fingerprint: Fingerprint(fingerprint.into()),
            request: Shared::new(request),
            expires_in_ms,
            state,
            due_at_ms,
            floor_at_ms,
            claim,
            fence,
            history,
            first_sent,
            window,
            polling,
            reconciling,
            delivery,
            predecessor: predecessor.map(IntentId::from),
            successor: successor.map(IntentId::from),
            contradicted,
            journal_entries,
            erased,
            blocks: blocks.map(ScopeHash::from),
            moved_from,
        }
    })
}

fn journal_entry() -> impl Strategy<Value = JournalEntry> {
    (text(), number(), stamp(), journal_event().boxed()).prop_map(|(intent, sequence, at, event)| JournalEntry {
        intent: IntentId::from(intent),
        sequence,
        at,
        event,
    })
}

fn journal_event() -> impl Strategy<Value = JournalEvent> {
    use JournalEvent::*;
    let finding = select(vec![Finding::Applied, Finding::NotApplied, Finding::NotFound, Finding::Unknown]);
    prop_oneof![
        select(vec![Submitted, CardDataAllowed, Received, Accepted, ReconcileAsked, Acknowledged]),
        any::<bool>().prop_map(|purged| Erased { purged }),
        (any::<u32>(), number(), text(), text()).prop_map(|(attempt, fence, owner, correlation)| Claimed {
            attempt,
            fence,
            owner: RealmId::from(owner),
            correlation: ChangeId::from(correlation),
        }),
        any::<u32>().prop_map(|attempt| NotSent { attempt }),
        (any::<u32>(), number(), any::<bool>(), reading().boxed()).prop_map(|(attempt, fence, stale, reading)| Facts {
            attempt,
            fence,
            stale,
            reading
        }),
        (cause(), number()).prop_map(|(cause, due_at_ms)| Waits { cause, due_at_ms }),
        held().prop_map(|reason| Held { reason }),
        held().prop_map(|from| Resumed { from }),
        (number(), reading().boxed()).prop_map(|(fence, reading)| Polled { fence, reading }),
        (number(), finding).prop_map(|(fence, finding)| Reconciled { fence, finding }),
        text().prop_map(|from| Adopted { from: ScopeHash::from(from) }),
        text().prop_map(|reason| Abandoned { reason }),
        (text(), text()).prop_map(|(successor, reason)| Replaced { successor: IntentId::from(successor), reason }),
        text().prop_map(|predecessor| Replaces { predecessor: IntentId::from(predecessor) }),
        text().prop_map(|state| Settled { state }),
        any::<bool>().prop_map(|ok| Delivered { ok }),
        (any::<u32>(), reading().boxed()).prop_map(|(attempt, reading)| Contradicted { attempt, reading }),
    ]
}
