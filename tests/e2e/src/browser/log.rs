//! What Chromium writes down of its pages.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Deserialize;
use serde_json::Value;

use super::Browser;

impl Browser {
    /// The lines that scripts wrote to the console since the last call, uncaught errors among them. The browser's own
    /// lines about failed requests name their URLs, whoever made them.
    pub async fn console(&self) -> Result<Vec<String>> {
        let log = self.driver()?.browser_log().await?.into_iter();
        Ok(log.filter(|entry| entry.source.as_deref() != Some("network")).map(|entry| entry.message).collect())
    }

    /// The URLs whose requests left the browser since the last call, preflights included.
    pub async fn requests(&self) -> Result<Vec<String>> {
        let log = self.driver()?.get_log("performance").await?;
        let mut announced: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut sent: BTreeMap<String, usize> = BTreeMap::new();
        for entry in log {
            let event: Value = serde_json::from_str(&entry.message)?;
            let Event { method, params } = serde_json::from_value(event["message"].clone())?;
            let request = || params["requestId"].as_str().unwrap_or_default().to_owned();
            match (method.as_str(), params["request"]["url"].as_str()) {
                ("Network.requestWillBeSent", Some(url)) => {
                    announced.entry(request()).or_default().push(url.to_owned())
                }
                // Only this one comes from the network: a redirect that is not followed is announced all the same.
                ("Network.requestWillBeSentExtraInfo", _) => *sent.entry(request()).or_default() += 1,
                _ => {}
            }
        }
        let left = |(request, urls): (String, Vec<String>)| {
            let count = sent.get(&request).copied().unwrap_or_default();
            urls.into_iter().take(count)
        };
        Ok(announced.into_iter().flat_map(left).collect())
    }
}

/// One entry of the performance log, of the DevTools protocol.
#[derive(Deserialize)]
struct Event {
    method: String,
    params: Value,
}
