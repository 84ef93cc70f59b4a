//! A tab that the browser has stopped stands in nobody's way.

use anyhow::Result;
use e2e::bench::Bench;
use serde_json::json;

use crate::{charged_once, payment};

/// With a handle that a frozen tab keeps, another version is neither opened nor told that it is blocked (hazard I5). The
/// version here stands for the browser's own needs of the database, and for a later build's.
#[tokio::test(flavor = "multi_thread")]
async fn i5_a_frozen_tab_keeps_no_handle_of_the_ledger() -> Result<()> {
    let bench = Bench::start().await?;
    let frozen = bench.page().await?;
    let id = frozen.submit(payment("order-842")).await?.intent.id;
    assert_eq!(frozen.settled(&id).await?.kind, "succeeded");
    let other = bench.blank_tab().await?;
    frozen.set_frozen(true).await?;
    let opened = "return new Promise((told) => {
            const request = indexedDB.open('intento', 2);
            request.onsuccess = () => { request.result.close(); told('opened'); };
            request.onblocked = () => told('blocked');
            request.onerror = () => told('failed');
            setTimeout(() => told('silence'), 3_000);
        });";
    assert_eq!(other.call::<String>(opened, json!([])).await?, "opened");

    // What comes back finds the ledger, whatever version it has by now.
    frozen.set_frozen(false).await?;
    let id = frozen.submit(payment("order-843")).await?.intent.id;
    assert_eq!(frozen.settled(&id).await?.kind, "succeeded");
    assert_eq!(bench.shop.ledger()?.tally(), e2e::ledger::Tally { effects: 2, executions: 2, ..charged_once(2) });
    Ok(())
}
