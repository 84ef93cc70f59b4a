//! A service worker that drains when the browser wakes it, and what came of its wake-ups.

use anyhow::Result;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::page::Page;

/// The first registration that a browser makes on a fresh profile.
const REGISTRATION: &str = "0";

/// What came of one wake-up.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Wake {
    pub tag: String,
    pub last_chance: bool,
    /// `resolved`, or `rejected` and why.
    pub end: String,
    /// The tags that waited for a wake-up when this one ended.
    pub tags: Vec<String>,
}

impl Page {
    /// Registers the worker, as one who can do so much: `anyone`, `nobody`, `without_credentials`.
    pub async fn has_sync_worker(&self, able: &str) -> Result<()> {
        let register = "await navigator.serviceWorker.register(`/sync-worker.js?api=${app.api}&as=${args[0]}`, { type: 'module' });
             await navigator.serviceWorker.ready;";
        self.call::<Value>(register, json!([able])).await?;
        Ok(())
    }

    /// The browser wakes the worker of that origin, whatever this tab shows.
    pub async fn wake(&self, origin: &str, last_chance: bool) -> Result<()> {
        let event =
            json!({ "origin": origin, "registrationId": REGISTRATION, "tag": "intento", "lastChance": last_chance });
        self.command("ServiceWorker.enable", json!({})).await?;
        self.command("ServiceWorker.dispatchSyncEvent", event).await
    }

    /// The wake-ups that have ended, oldest first.
    pub async fn wakes(&self) -> Result<Vec<Wake>> {
        let read = "const wakes = await caches.open('wakes');
             const all = await Promise.all((await wakes.matchAll()).map((wake) => wake.json()));
             return all.sort((one, other) => one.at - other.at);";
        self.call(read, json!([])).await
    }
}
