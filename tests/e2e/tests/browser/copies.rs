//! Two builds of the package in one page: two realms (P8.4) on one ledger.

use anyhow::Result;
use e2e::bench::Bench;
use e2e::told::{Settled, Submitted};
use serde_json::{Value, json};

use crate::{MANY, assert_each_was_sent_once, charged_once, payment};

#[tokio::test(flavor = "multi_thread")]
async fn p8_4_a_click_that_both_builds_hear_is_one_intent() -> Result<()> {
    let bench = Bench::start().await?;
    bench.shop.arm(json!({ "drop_after_commit": 1 })).await?;
    let page = bench.page().await?;
    let script = "await app.openCopy();
        const handles = await Promise.all([app.queue().submit(args[0]), app.copy().submit(args[0])]);
        const receipts = handles.map(app.receipt);
        const settled = await Promise.all(handles.map((handle) => handle.settled({ within: 30_000 })));
        return [receipts, settled, app.queue() === app.copy()];";
    let (receipts, settled, same): ([Submitted; 2], [Settled; 2], bool) =
        page.call(script, json!([payment("order-842")])).await?;
    assert!(!same, "the page has one copy only");
    assert_eq!(receipts[0].intent.id, receipts[1].intent.id);
    assert_ne!(receipts[0].created, receipts[1].created);
    for settled in &settled {
        assert_eq!((settled.kind.as_str(), settled.replay.as_deref()), ("succeeded", Some("replayed")));
    }
    let ledger = bench.shop.ledger()?;
    assert_eq!(ledger.tally(), charged_once(2));
    ledger.assert_one_key_per_intent(&[&settled[0].intent]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn p8_4_both_builds_decide_and_drain_at_once() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.page().await?;
    let both = "await app.openCopy();
        const at = Date.now() + 200;
        return Promise.all([app.submitMany(args[0], args[1], at), app.submitManyToCopy(args[0], args[1], at)]);";
    let decided = page.call(both, json!([payment("any"), MANY])).await?;
    assert_each_was_sent_once(&bench, decided).await
}

/// Each tells the other what it does, and ends alone.
#[tokio::test(flavor = "multi_thread")]
async fn p8_4_each_build_hears_of_the_other_s_intents_and_outlives_it() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.page().await?;
    // Nobody there waits for the intent: what is heard is the nudge.
    let heard = "await app.openCopy();
        const heard = [];
        app.copy().on('change', ({ id, state }) => heard.push([id, state]));
        const intent = await app.queue().submit(args[0]);
        await intent.settled({ within: 30_000 });
        for (let n = 0; n < 50 && heard.at(-1)?.[1] !== 'succeeded'; n += 1) await new Promise((done) => setTimeout(done, 20));
        return [intent.id, heard];";
    let (id, heard): (String, Vec<(String, String)>) = page.call(heard, json!([payment("order-842")])).await?;
    assert_eq!(heard.last(), Some(&(id, "succeeded".to_owned())), "{heard:?}");

    let outlives = "app.queue().close();
        const intent = await app.copy().submit(args[0]);
        return intent.settled({ within: 30_000 });";
    let settled: Settled = page.call(outlives, json!([payment("order-843")])).await?;
    assert_eq!(settled.kind, "succeeded");
    let closed = page.failure("await app.submit(args[0])", json!([payment("order-844")])).await?;
    assert_eq!(closed.code.as_deref(), Some("closed"));
    page.call::<Value>("app.copy().close()", json!([])).await?;
    assert_eq!(bench.shop.ledger()?.tally().wire, 2);
    Ok(())
}
