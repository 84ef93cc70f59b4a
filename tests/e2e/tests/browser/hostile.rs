//! Pages whose other scripts have written to what everybody shares: nothing is sent that was not asked for.

use anyhow::Result;
use e2e::bench::Bench;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::charged_once;

/// Members that the platform's own dictionaries would inherit, and this package's options.
const POLLUTE: &str = "
    const polluted = {
        body: 'evil', headers: { 'X-Evil': '1' }, method: 'DELETE', credentials: 'include', mode: 'no-cors', redirect: 'follow',
        cache: 'force-cache', keepalive: true, integrity: 'sha256-evil', referrer: 'about:client', signal: AbortSignal.abort(),
        reference: 'evil', scope: 'evil', expiresIn: 1, within: 1, toJSON: () => 'evil', steal: true, ifAvailable: true,
        authorize: () => ({ scope: 'evil', headers: { Authorization: 'evil' } }), session: 'cookie', version: 7, due: 7,
    };
    const pollute = () => {
        for (const [name, value] of Object.entries(polluted)) {
            Object.defineProperty(Object.prototype, name, { configurable: true, writable: true, value });
        }
    };
    const clean = () => Object.keys(polluted).forEach((name) => delete Object.prototype[name]);";

#[derive(Debug, PartialEq, Deserialize)]
struct Sent {
    own: Vec<String>,
    inherited: Vec<String>,
    headers: Vec<String>,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_polluted_prototype_is_no_part_of_a_request() -> Result<()> {
    let bench = Bench::start().await?;
    let page = bench.blank_page().await?;
    let run = format!(
        "{POLLUTE}
         const {{ openQueue, generic }} = await app.load();
         const sent = [];
         const real = window.fetch;
         window.fetch = (url, init) => {{
             if (init.method === 'POST') {{
                 const inherited = Object.keys(polluted).filter((name) => name in init && !Object.hasOwn(init, name));
                 sent.push({{ own: Object.keys(init).sort(), inherited, headers: init.headers.map(([name]) => name).sort() }});
             }}
             return real(url, init);
         }};
         const body = args[0].request.body;
         pollute();
         try {{
             const queue = await openQueue({{ scope: 'shopper', contract: generic, baseUrl: app.api }});
             const decision = {{ operation: 'authorize-payment', reference: 'order-842' }};
             const paid = await queue.submit({{ ...decision, request: {{ method: 'POST', url: '/payments', body }} }});
             const settled = await paid.settled();
             const bare = await queue.fetch('/payments', {{ operation: 'authorize-payment', reference: null, method: 'POST' }});
             return [sent, settled.kind, paid.reference, bare.kind, bare.answer?.status ?? null];
         }} finally {{
             clean();
         }}"
    );
    let told: (Vec<Sent>, String, String, String, Value) =
        page.call(&run, json!([crate::payment("order-842")])).await?;
    let (sent, kind, reference, bare, status) = told;
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let init = ["body", "cache", "credentials", "headers", "method", "redirect", "signal"];
    let expected = [
        Sent { own: names(&init), inherited: vec![], headers: names(&["Idempotency-Key", "content-type"]) },
        Sent { own: names(&init[1..]), inherited: vec![], headers: names(&["Idempotency-Key"]) },
    ];
    assert_eq!(sent, expected);
    assert_eq!((kind.as_str(), reference.as_str()), ("succeeded", "order-842"));
    // The reference server takes no payment without a body, and gets none.
    assert_eq!(bare, "rejected", "{status}");
    let ledger = bench.shop.ledger()?;
    assert_eq!((ledger.tally().effects, ledger.tally().wire), (charged_once(2).effects, 2));
    Ok(())
}
