//! Law 11: nothing sensitive in strings.

use super::*;
use crate::core::attempt_run::Terms;
use crate::core::contract::FactValue;
use crate::core::contract::tests::{echoing, json, with_header, with_value};
use crate::core::effect::{Dispatch, Effect};
use crate::core::input::{Authorized, Credentials, DuePage, Input, Ticket};
use crate::core::shared::Shared;
use crate::core::snapshot::Snapshot;

const CANARY: &str = "canary";

fn secret_submit() -> Submit {
    let mut submit = submit(1);
    submit.request.url = format!("{ORIGIN}/payments?token={CANARY}-url");
    submit.request.headers = vec![("x-note".to_owned(), format!("{CANARY}-header"))];
    submit.body = Some(Body {
        media_type: "application/json".to_owned(),
        content: Content::Text(format!("{{\"card\":\"{CANARY}-body\"}}")),
    });
    submit
}

fn secret_answer(grant: &Grant) -> RecordFacts {
    let reply = echoing(json(402), &grant.intent.key);
    let reply = with_header(reply, "location", &format!("{CANARY}-location"));
    let reply = with_value(reply, "/type", FactValue::Text(format!("{CANARY}-pointer")));
    let mut facts = facts(grant, "fact-1", Observation::Reply(reply));
    if let Some(answer) = &mut facts.answer {
        answer.body = Some(format!("{CANARY}-answer"));
    }
    facts
}

#[test]
fn law_11_debug_shows_no_secret() {
    let submit = secret_submit();
    let mut bench = Bench::with(&submit);
    let grant = bench.claim(&submit.intent, "nonce-1");
    let facts = secret_answer(&grant);
    let recorded = bench.apply(&Change::Record(Box::new(facts.clone())));
    let record = bench.only();
    let answer = facts.answer.clone();
    let stamp = bench.clock().stamp(bench.wall_ms);
    let now = Snapshot::of(&record, &stamp);
    let credentials = Credentials(vec![("authorization".to_owned(), format!("Bearer {CANARY}-token"))]);
    let terms = Terms {
        owner: RealmId::from("realm-a"),
        scope: ScopeHash::of("user-1"),
        nonce: ChangeId::from("nonce-1"),
        attempt_ms: ATTEMPT_DEADLINE_MS,
        windows: generic().windows(),
        prepares: false,
        locks_lost: 0,
    };
    let mut run = crate::core::attempt_run::AttemptRun::new(record.id.clone(), crate::core::attempt_run::Errand::Send);
    let mut shown = vec![format!("{run:?}"), format!("{:?}", run.reached(true))];
    shown.push(format!("{:?} {run:?}", run.authorized(credentials.clone(), terms.clone())));
    shown.push(format!("{:?} {run:?}", run.claimed(grant.clone(), &terms, &stamp, Jitter(0))));
    shown.push(format!("{:?}", run.fetched(facts.observation.clone(), answer.clone(), ChangeId::from("f"), Jitter(0))));
    let dispatch = Dispatch {
        intent: record.id.clone(),
        attempt: 1,
        method: "POST",
        url: submit.request.url.clone(),
        headers: submit.request.headers.clone(),
        body: submit.body.clone().map(|body| body.content),
        deadline_ms: 1,
        contract: grant.contract.clone(),
        response_at: None,
    };
    let change = Change::Record(Box::new(facts));
    let batch = vec![(Ticket::Engine, change.clone()), (Ticket::Caller(1), Change::Submit(Box::new(submit.clone())))];
    shown.extend([
        format!("{run:?}"),
        format!("{bench:?}"),
        format!("{:?}", Overlay::default()),
        format!("{submit:?} {grant:?} {recorded:?} {now:?}"),
        format!("{:?}", Effect::Send(Box::new(dispatch))),
        format!("{:?}", Effect::Commit { batch }),
        format!("{:?}", Effect::Done { ticket: 1, result: Ok(Applied::Claimed(Box::new(grant.clone()))) }),
        format!(
            "{:?}",
            Effect::Changed { intent: Shared::new(record.clone()), durable: false, answer: answer.clone() }
        ),
        format!("{:?}", Input::Authorized { intent: record.id.clone(), outcome: Authorized::Granted(credentials) }),
        format!("{:?}", Input::Submit { ticket: 1, submit: Box::new(submit.clone()) }),
        format!("{:?}", Input::Due(DuePage { due: vec![Shared::new(record.clone())], ..DuePage::default() })),
        format!("{:?}", Input::Loaded { intent: Shared::new(record.clone()), clock: None }),
        format!("{:?}", Refusal::ReferenceConflict(Shared::new(record.clone()))),
    ]);
    let observation = match change {
        Change::Record(facts) => facts.observation,
        _ => unreachable!("made above"),
    };
    shown.push(format!("{:?}", Input::Fetched { intent: record.id.clone(), observation, answer }));
    for text in shown {
        assert!(!text.contains(CANARY), "{text}");
        assert!(!text.contains(submit.key.expose()), "the key: {text}");
    }
    assert!(format!("{record:?}").contains(&submit.key.short_hash()), "the hash of the key may be shown");
}
