//! One tab with the app of `pages/`.

use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use thirtyfour::{By, WebDriver, WindowHandle};

use crate::PATIENCE;
use crate::told::{Failure, Settled, Snapshot, Submitted, Told, standings};

/// A tab. Calls go to it whichever tab is in front.
#[derive(Debug)]
pub struct Page {
    driver: WebDriver,
    window: WindowHandle,
    url: String,
    options: Value,
}

/// A script's end, as it travels.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Ended {
    Ok(Value),
    Error(Box<Failure>),
}

impl Page {
    /// Loads the test page into a window. Nothing of intento is loaded yet.
    pub async fn visit(driver: &WebDriver, window: WindowHandle, url: String) -> Result<Self> {
        let page = Self { driver: driver.clone(), window, url, options: json!({}) };
        page.front().await?;
        page.driver.goto(page.url.as_str()).await?;
        page.is_loaded().await?;
        Ok(page)
    }

    /// A tab that this one opens by a script, at a click of its user: it begins with a copy of what this one keeps in
    /// sessionStorage. Nothing of intento is loaded yet.
    pub async fn opens_another(&self) -> Result<Self> {
        let before = self.driver.windows().await?;
        let link = "const another = document.createElement('button');
             another.id = another.textContent = 'another';
             another.onclick = () => window.open(location.href);
             document.body.append(another);";
        self.call::<Value>(link, json!([])).await?;
        self.driver.find(By::Id("another")).await?.click().await?;
        let window = crate::eventually("a tab is opened", async || {
            Ok(self.driver.windows().await?.into_iter().find(|window| !before.contains(window)))
        })
        .await?;
        Self::visit(&self.driver, window, self.url.clone()).await
    }

    /// Opens the queue.
    pub async fn open(&mut self, options: Value) -> Result<()> {
        self.options = options;
        self.call("await app.open(args[0])", json!([self.options])).await
    }

    /// Loads the page again and opens the queue as before.
    pub async fn reload(&self) -> Result<()> {
        self.front().await?;
        self.driver.refresh().await?;
        self.is_loaded().await?;
        self.call("await app.open(args[0])", json!([self.options])).await
    }

    /// Loads the page again and opens the queue with other options.
    pub async fn load_again(&mut self, options: Value) -> Result<()> {
        self.options = options;
        self.reload().await
    }

    /// The tab's process dies on the spot.
    pub async fn crash(&self) -> Result<()> {
        self.front().await?;
        // The driver reports the crash as the command's failure.
        let _ = self.driver.cdp().send_raw("Page.crash", ()).await;
        Ok(())
    }

    /// The browser stops the tab, as it does with one that has been hidden for long, or lets it go on.
    pub async fn set_frozen(&self, frozen: bool) -> Result<()> {
        self.front().await?;
        // A tab is frozen minutes after it was last in front, and has ended by then what it does when it comes there.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let state = json!({ "state": if frozen { "frozen" } else { "active" } });
        self.driver.cdp().send_raw("Page.setWebLifecycleState", state).await?;
        Ok(())
    }

    /// The browser ends every service worker.
    pub async fn end_service_workers(&self) -> Result<()> {
        self.front().await?;
        self.driver.cdp().send_raw("ServiceWorker.enable", ()).await?;
        self.driver.cdp().send_raw("ServiceWorker.stopAllWorkers", ()).await?;
        Ok(())
    }

    /// A command of the DevTools protocol, to this tab.
    pub async fn command(&self, name: &str, parameters: Value) -> Result<()> {
        self.front().await?;
        self.driver.cdp().send_raw(name, parameters).await?;
        Ok(())
    }

    /// Shows the test page again, as on a later visit. Nothing of intento is loaded yet.
    pub async fn returns(&self) -> Result<()> {
        self.leave_for(&self.url).await?;
        self.is_loaded().await
    }

    /// The browser evicts storage of the page's origin: `indexeddb`, `local_storage`, or several, after commas.
    pub async fn evict(&self, kinds: &str) -> Result<()> {
        self.front().await?;
        let origin: String = self.call("return location.origin", json!([])).await?;
        let what = json!({ "origin": origin, "storageTypes": kinds });
        self.driver.cdp().send_raw("Storage.clearDataForOrigin", what).await?;
        Ok(())
    }

    /// Shows something else in the window.
    pub async fn leave_for(&self, url: &str) -> Result<()> {
        self.front().await?;
        Ok(self.driver.goto(url).await?)
    }

    /// Goes back to what was shown before.
    pub async fn back(&self) -> Result<()> {
        self.front().await?;
        Ok(self.driver.back().await?)
    }

    pub async fn submit(&self, submission: Value) -> Result<Submitted> {
        self.call("return app.submit(args[0])", json!([submission])).await
    }

    /// Waits for the intent to be finished or held.
    pub async fn settled(&self, id: &str) -> Result<Settled> {
        self.settled_within(id, PATIENCE).await
    }

    /// Waits at most this long, and gets what is known then.
    pub async fn settled_within(&self, id: &str, within: Duration) -> Result<Settled> {
        self.call("return app.settled(args[0], args[1])", json!([id, within.as_millis() as u64])).await
    }

    /// Waits for the intent to be finished, however often it is held on the way.
    pub async fn settled_by_itself(&self, id: &str) -> Result<Settled> {
        crate::eventually("the intent is finished", async || {
            let known = self.settled(id).await?;
            Ok(Some(known).filter(|known| known.kind != "held"))
        })
        .await
    }

    /// Asks what became of the intent, and gets what is known then.
    pub async fn reconcile(&self, id: &str) -> Result<Settled> {
        self.call("return app.reconcile(args[0], args[1])", json!([id, PATIENCE.as_millis() as u64])).await
    }

    /// The page that is loaded next sees a clock that is ahead by so much.
    pub async fn set_clock_ahead(&self, ahead: Duration) -> Result<()> {
        self.call("sessionStorage.setItem('clock_ahead_ms', args[0])", json!([ahead.as_millis() as u64])).await
    }

    /// This tab's browser has no such thing from now on: `indexedDB`, `navigator.locks`.
    pub async fn do_without(&self, name: &str) -> Result<()> {
        self.call("app.without(args[0])", json!([name])).await
    }

    pub async fn cancel(&self, id: &str) -> Result<bool> {
        self.call("return app.cancel(args[0])", json!([id])).await
    }

    pub async fn snapshot(&self, id: &str) -> Result<Snapshot> {
        let found: Option<Snapshot> = self.call("return app.snapshot(args[0])", json!([id])).await?;
        found.context("the queue knows no such intent")
    }

    pub async fn intents(&self) -> Result<Vec<Snapshot>> {
        self.call("return app.intents()", json!([])).await
    }

    /// Everything this tab's app was told, across reloads.
    pub async fn told(&self) -> Result<Vec<Told>> {
        self.call("return app.told()", json!([])).await
    }

    /// The standings this tab's app was told of one intent.
    pub async fn standings(&self, id: &str) -> Result<Vec<String>> {
        Ok(standings(&self.told().await?, id))
    }

    /// Waits until the queue shows the intent in that standing: `waiting:server_error`.
    pub async fn reaches(&self, id: &str, standing: &str) -> Result<Snapshot> {
        crate::eventually(&format!("the intent is {standing}"), async || {
            Ok(Some(self.snapshot(id).await?).filter(|snapshot| snapshot.standing() == standing))
        })
        .await
    }

    /// From now on the page keeps the module's instances, as `instances`, and what nobody caught. For a page that has loaded
    /// nothing of intento yet.
    pub async fn watch_instances(&self) -> Result<()> {
        let watch = "window.instances = [];
            const instantiate = WebAssembly.instantiate;
            WebAssembly.instantiate = async (...call) => {
                const made = await instantiate(...call);
                instances.push(made);
                return made;
            };
            window.uncaught = [];
            window.addEventListener('error', ({ error }) => uncaught.push(error?.code ?? String(error)));
            window.addEventListener('unhandledrejection', ({ reason }) => uncaught.push(`unhandled ${reason}`));";
        self.call(watch, json!([])).await
    }

    pub async fn instances(&self) -> Result<u32> {
        self.call("return instances.length", json!([])).await
    }

    pub async fn uncaught(&self) -> Result<Vec<String>> {
        self.call("return uncaught", json!([])).await
    }

    pub async fn go_offline(&self) -> Result<()> {
        self.set_network(true).await
    }

    pub async fn go_online(&self) -> Result<()> {
        self.set_network(false).await
    }

    /// Runs the body of an async function; `app` is the page's and `args` are these. An error of the page is an
    /// error here.
    pub async fn call<T: DeserializeOwned>(&self, body: &str, args: Value) -> Result<T> {
        match self.run(body, args).await? {
            Ended::Ok(value) => Ok(serde_json::from_value(value)?),
            Ended::Error(failure) => Err(anyhow!("the page threw: {}", failure.printed)),
        }
    }

    /// Runs the body of an async function that must throw.
    pub async fn failure(&self, body: &str, args: Value) -> Result<Failure> {
        match self.run(body, args).await? {
            Ended::Ok(value) => Err(anyhow!("`{body}` did not throw, it came to {value}")),
            Ended::Error(failure) => Ok(*failure),
        }
    }

    async fn run(&self, body: &str, args: Value) -> Result<Ended> {
        self.front().await?;
        let script = format!(
            "const [args, app] = [arguments, window.app];
             return (async () => {{ {body} }})().then((ok) => ({{ ok: ok ?? null }}), (error) => ({{ error: app.failure(error) }}));"
        );
        let Value::Array(args) = args else { return Err(anyhow!("arguments are a list")) };
        let ended = self.driver.execute(script, args).await?;
        serde_json::from_value(ended.json().clone()).context("a script came to neither a value nor an error")
    }

    async fn set_network(&self, offline: bool) -> Result<()> {
        self.front().await?;
        let conditions = json!({ "offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1 });
        self.driver.cdp().send_raw("Network.enable", ()).await?;
        self.driver.cdp().send_raw("Network.emulateNetworkConditions", conditions).await?;
        Ok(())
    }

    /// WebKit's driver does not wait for what the page's script imports (seen).
    async fn is_loaded(&self) -> Result<()> {
        crate::eventually("the app is loaded", async || {
            let loaded = self.driver.execute("return window.app !== undefined", vec![]).await?;
            Ok((loaded.json() == true).then_some(()))
        })
        .await
    }

    async fn front(&self) -> Result<()> {
        Ok(self.driver.switch_to_window(self.window.clone()).await?)
    }
}
