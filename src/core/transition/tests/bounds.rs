//! Each bound on what is stored, at its edge: what is at it is taken, one more is refused with nothing stored, and nothing
//! that is there goes for it.

use super::*;
use crate::core::limits::{ADOPT_MAX, ANSWER_KEPT_MAX_BYTES, JOURNAL_MAX, LANE_LENGTH_MAX, OPEN_INTENTS_MAX};
use crate::core::record::{Counters, LaneName};
use crate::core::shared::Shared;
use crate::core::submission::adoption;

fn asked(submit: Submit) -> Change {
    Change::Submit(Box::new(submit))
}

fn in_lane(number: u8) -> Submit {
    Submit { lane: Some("table-7".to_owned()), ..submit(number) }
}

fn json(status: u16) -> Observation {
    Observation::Reply(crate::core::contract::Facts {
        status,
        media_type: Some("application/json".to_owned()),
        document: true,
        ..Default::default()
    })
}

impl Bench {
    fn put(&mut self, key: RecordKey, record: Record) {
        self.records.insert(key, Versioned { version: 1, record: Some(record) });
    }

    fn open(&self) -> u64 {
        match self.record(&RecordKey::Counters(submit(1).scope)) {
            Some(Record::Counters(counters)) => counters.open,
            _ => 0,
        }
    }
}

#[test]
fn law_10_new_work_is_refused_at_its_bound_and_nothing_is_stored() {
    let open = |bench: &mut Bench, count: u64| {
        let counters = Counters { submitted: count, open: count };
        bench.put(RecordKey::Counters(submit(1).scope), Record::Counters(counters));
    };
    let lane = |bench: &mut Bench, count: u64| {
        let queue = (0..count).map(|place| (place, IntentId::from(format!("intent-{place}")))).collect();
        let name = LaneName::new(&submit(1).scope, "table-7");
        bench.put(RecordKey::Lane(name), Record::Lane(queue));
    };
    type Fill<'a> = &'a dyn Fn(&mut Bench, u64);
    type Work = fn(u8) -> Submit;
    let rows: [(Fill<'_>, u64, Work, Refusal); 2] = [
        (&open, OPEN_INTENTS_MAX, submit, Refusal::LedgerFull),
        (&lane, LANE_LENGTH_MAX as u64, in_lane, Refusal::LaneFull),
    ];
    for (fill, bound, submit, refusal) in rows {
        let mut bench = Bench::new();
        fill(&mut bench, bound - 1);
        assert!(bench.apply(&asked(submit(1))).is_ok(), "{refusal:?}: the last that fits");
        let before = bench.records.clone();
        assert_eq!(bench.apply(&asked(submit(2))), Err(refusal));
        assert_eq!(bench.records, before, "nothing of it is stored, and nothing goes for it");
    }
}

/// Law 8: finished intents, their outcomes still to be handed over, take no room from new work.
#[test]
fn law_8_what_has_ended_does_not_count_and_neither_does_its_undelivered_outcome() {
    let mut bench = Bench::new();
    for number in 1..=5 {
        bench.apply(&asked(submit(number))).unwrap();
    }
    assert_eq!(bench.open(), 5);
    for (number, status) in [(1, 201), (2, 422), (3, 401)] {
        bench.attempt(&submit(number).intent, json(status));
    }
    bench.apply(&Change::Cancel(submit(4).intent)).unwrap();
    assert!(bench.intent(&submit(1).intent).delivery.due_at_ms.is_some(), "not handed over yet");
    let unfinished = (1..=5).filter(|number| !bench.intent(&submit(*number).intent).has_ended()).count();
    assert_eq!(bench.open(), unfinished as u64, "held and queued ones");
    assert!(bench.open() < 4);
}

#[test]
fn an_answer_is_kept_up_to_its_bound_and_settles_beyond_it() {
    for (bytes, kept) in [(ANSWER_KEPT_MAX_BYTES, true), (ANSWER_KEPT_MAX_BYTES + 1, false)] {
        let mut bench = Bench::with(&submit(1));
        let grant = bench.claim(&submit(1).intent, "nonce");
        let mut facts = facts(&grant, "fact", json(201));
        facts.answer.as_mut().unwrap().body = Some("x".repeat(bytes));
        bench.apply(&Change::Record(Box::new(facts))).unwrap();
        assert!(matches!(bench.only().state, State::Succeeded { .. }), "{bytes} bytes");
        let Some(Record::Payload(payload)) = bench.record(&RecordKey::Payload(submit(1).intent)) else { panic!() };
        let (_, answer) = payload.answer.as_ref().unwrap();
        assert_eq!((answer.status, answer.body.is_some()), (201, kept), "{bytes} bytes");
    }
}

/// What was tried and waited for is only counted then; the attempts are in the record, and what decides is still written.
#[test]
fn law_10_a_journal_ends_and_loses_no_decision() {
    let mut bench = Bench::with(&submit(1));
    let id = submit(1).intent;
    let mut round = 0;
    while bench.only().journal_entries < JOURNAL_MAX {
        round += 1;
        let grant = bench.claim(&id, &format!("nonce-{round}"));
        bench.apply(&not_sent(&grant)).unwrap();
        bench.wait(BACKOFF_CAP_MS);
    }
    assert_eq!(bench.journal(&id).len() as u64, JOURNAL_MAX, "up to its bound it is whole");
    let before = bench.only().journal_entries;
    let grant = bench.claim(&id, "the last");
    let settled = bench.tell(&grant, json(201));
    assert!(settled.journal_entries >= before + 3, "claimed, told and settled are counted");
    let written = bench.journal(&id);
    assert_eq!(written.len() as u64, JOURNAL_MAX + 1);
    assert_eq!(written.last(), Some(&JournalEvent::Settled { state: "succeeded".to_owned() }));
    assert!(matches!(settled.history.attempts.last().unwrap().state, AttemptState::Ended { .. }));
    assert_eq!(settled.history.total, round + 1, "no attempt is lost");
}

#[test]
fn law_10_a_scope_of_more_than_one_call_takes_is_not_adopted() {
    let intent = Shared::new(Bench::with(&submit(1)).only());
    let [from, to] = ["guest-7", "user-1"].map(ScopeHash::of);
    for (count, fits) in [(0, true), (ADOPT_MAX, true), (ADOPT_MAX + 1, false)] {
        let adopt = adoption(from.clone(), to.clone(), &vec![intent.clone(); count]);
        assert_eq!(adopt.map(|adopt| adopt.intents.len()).ok(), fits.then_some(count));
    }
    assert!(adoption(to.clone(), to, &[]).is_err(), "itself");
}
