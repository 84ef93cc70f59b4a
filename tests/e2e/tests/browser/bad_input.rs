//! Bad input: a typed error with a remedy, before anything is stored or sent.

use anyhow::Result;
use e2e::bench::Bench;
use e2e::page::Page;
use e2e::told::Failure;
use serde_json::json;

use crate::untouched;

/// Rows in every shelf of the ledger but its clock.
const COUNT_ROWS: &str = "
    const database = await new Promise((resolve, reject) => {
        const opening = indexedDB.open('intento');
        opening.onsuccess = () => resolve(opening.result);
        opening.onerror = () => reject(opening.error);
    });
    let rows = 0;
    for (const shelf of ['intents', 'payloads', 'journal']) {
        rows += await new Promise((resolve) => {
            const counting = database.transaction(shelf).objectStore(shelf).count();
            counting.onsuccess = () => resolve(counting.result);
        });
    }
    database.close();
    return rows";

pub(crate) fn assert_typed(failure: &Failure, code: &str, what: &str) {
    assert_eq!(failure.name, "IntentoError", "{what}: {}", failure.printed);
    assert_eq!(failure.code.as_deref(), Some(code), "{what}: {}", failure.printed);
    assert!(failure.remedy.as_ref().is_some_and(|remedy| !remedy.is_empty()), "{what}: no remedy");
    assert!(failure.blame.is_some() && failure.message.starts_with(code), "{what}: {}", failure.message);
}

/// A submission whose parts are JavaScript: much of what must be refused does not survive JSON.
fn submit(part: &str) -> String {
    format!(
        "const good = {{ operation: 'pay', reference: 'order-842', request: {{ method: 'POST', url: '/payments', body: {{ amount: 1 }} }} }};
         const request = (change) => ({{ ...good, request: {{ ...good.request, ...change }} }});
         const body = (body) => request({{ body }});
         await app.queue().submit({part})"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_submission_is_refused() -> Result<()> {
    let bad = [
        ("reference_missing", "{ ...good, reference: undefined }"),
        ("reference_too_long", "{ ...good, reference: 'x'.repeat(257) }"),
        ("reference_too_long", "{ ...good, reference: 'ã'.repeat(129) }"),
        ("reference_invalid", "{ ...good, reference: '' }"),
        ("reference_invalid", "{ ...good, reference: 842 }"),
        ("operation_invalid", "{ ...good, operation: 'pay now' }"),
        ("expires_in_invalid", "{ ...good, expiresIn: -1 }"),
        ("expires_in_invalid", "{ ...good, expiresIn: NaN }"),
        ("method_not_allowed", "request({ method: 'GET' })"),
        ("url_cleartext", "request({ url: 'http://shop.example/payments' })"),
        ("url_foreign_origin", "request({ url: 'https://elsewhere.example/payments' })"),
        ("url_foreign_origin", "request({ url: '//localhost:1/payments' })"),
        ("url_invalid", "request({ url: 'javascript:alert(1)' })"),
        ("url_invalid", "request({ url: app.api.replace('//', '//user:secret@') })"),
        ("header_forbidden", "request({ headers: { Authorization: 'Bearer x' } })"),
        ("header_forbidden", "request({ headers: { cookie: 'a=b' } })"),
        ("header_forbidden", "request({ headers: { 'idempotency-key': '0123456789abcdef' } })"),
        ("header_forbidden", "request({ headers: { 'X-Api-Key': 'x' } })"),
        ("header_invalid", "request({ headers: { 'X-Note': 'a\\r\\nb: c' } })"),
        ("header_invalid", "request({ headers: { 'X-Note': 'ação' } })"),
        ("header_invalid", "request({ headers: { 'X-Note': 1 } })"),
        ("body_unstorable", "body({ amount: NaN })"),
        ("body_unstorable", "body({ amount: Infinity })"),
        ("body_unstorable", "body({ amount: 2 ** 53 })"),
        ("body_unstorable", "body({ amount: 1n })"),
        ("body_unstorable", "body((() => { const it = {}; it.self = it; return it; })())"),
        ("body_unstorable", "body(new Map([['amount', 1]]))"),
        ("body_unstorable", "body({ when: new Date() })"),
        ("body_unstorable", "body({ pay() {} })"),
        ("body_unstorable", "body({ note: undefined })"),
        ("body_unstorable", "body([1, , 3])"),
        ("body_unstorable", "body({ note: '\\uD800' })"),
        ("body_unstorable", "body({ '\\uDC00': 1 })"),
        ("body_too_large", "body({ note: 'x'.repeat(256 * 1024) })"),
    ];
    let bench = Bench::start().await?;
    let page = bench.page().await?;
    for (code, part) in bad {
        assert_typed(&page.failure(&submit(part), json!([])).await?, code, part);
    }
    assert_eq!(page.intents().await?, []);
    assert_eq!(page.told().await?, []);
    assert_eq!(page.call::<u64>(COUNT_ROWS, json!([])).await?, 0, "something was stored");
    assert_eq!(bench.shop.ledger()?.tally(), untouched(0));

    // The queue is none the worse for it, and counting finds what is there.
    page.call::<()>(&submit("good"), json!([])).await?;
    assert!(page.call::<u64>(COUNT_ROWS, json!([])).await? >= 3);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_option_is_refused() -> Result<()> {
    let bad = [
        ("contract_missing", "{ ...good, contract: undefined }"),
        ("contract_invalid", "{ ...good, contract: { id: 'mine' } }"),
        ("contract_invalid", "{ ...good, contract: { ...generic, retentionMs: -1 } }"),
        ("scope_missing", "{ ...good, scope: undefined }"),
        ("scope_missing", "{ ...good, scope: '' }"),
        ("scope_too_long", "{ ...good, scope: 'x'.repeat(513) }"),
        ("url_cleartext", "{ ...good, baseUrl: 'http://shop.example' }"),
        ("url_cleartext", "{ ...good, extraOrigins: ['http://shop.example'] }"),
        ("url_invalid", "{ ...good, baseUrl: 'shop' }"),
        ("option_invalid", "{ ...good, attemptDeadlineMs: 10 }"),
        ("option_invalid", "{ ...good, authorize: 'token' }"),
        // Options are own properties: what a polluted prototype adds is not there.
        ("scope_missing", "Object.assign(Object.create({ scope: 'inherited' }), { ...good, scope: undefined })"),
    ];
    let bench = Bench::start().await?;
    let page = bench.blank_page().await?;
    for (code, options) in bad {
        let open = format!(
            "const {{ openQueue, generic }} = await app.load();
             const good = {{ scope: 'shopper', contract: generic, baseUrl: app.api }};
             await openQueue({options})"
        );
        assert_typed(&page.failure(&open, json!([])).await?, code, options);
    }
    assert_nothing_happened(&bench, &page).await
}

#[tokio::test(flavor = "multi_thread")]
async fn entropy_that_goes_away_stores_nothing() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.page().await?;
    page.call::<()>("crypto.getRandomValues = () => { throw new Error('no entropy') }", json!([])).await?;
    assert_typed(&page.failure(&submit("good"), json!([])).await?, "entropy_unavailable", "submit");
    assert_eq!(page.call::<u64>(COUNT_ROWS, json!([])).await?, 0);
    assert_eq!(bench.shop.ledger()?.tally(), untouched(0));
    Ok(())
}

pub(crate) async fn assert_nothing_happened(bench: &Bench, page: &Page) -> Result<()> {
    let databases: Vec<String> =
        page.call("return (await indexedDB.databases()).map(({ name }) => name)", json!([])).await?;
    assert_eq!(databases, [""; 0], "something was stored");
    assert_eq!(bench.shop.ledger()?.tally(), untouched(0));
    Ok(())
}
