//! The app in a worker.

use anyhow::Result;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::PATIENCE;
use crate::page::Page;
use crate::told::{Failure, Settled, Submitted};

/// A worker of the page's origin, asked through that page.
#[derive(Clone, Copy, Debug)]
pub struct Worker<'a> {
    page: &'a Page,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Belongs to the page.
    Dedicated,
    /// Belongs to the origin.
    Service,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Dedicated => "dedicated",
            Self::Service => "service",
        }
    }
}

impl<'a> Worker<'a> {
    /// Loads the app into a worker; its queue is not open.
    pub async fn start(page: &'a Page, kind: Kind) -> Result<Self> {
        page.call::<Value>("await app.startWorker(args[0])", json!([kind.name()])).await?;
        Ok(Self { page, kind })
    }

    /// Opens the worker's queue. `api` is where payments are taken.
    pub async fn open(&self, api: &str, mut options: Value) -> Result<()> {
        options["baseUrl"] = api.into();
        self.ask("open", json!([options])).await
    }

    /// As [`open`](Self::open), where that must fail.
    pub async fn open_failure(&self, api: &str) -> Result<Failure> {
        let options = json!({ "baseUrl": api });
        self.page.failure("return app.ask(args[0], 'open', args[1])", json!([self.kind.name(), options])).await
    }

    pub async fn submit(&self, submission: Value) -> Result<Submitted> {
        self.ask("submit", json!([submission])).await
    }

    pub async fn settled(&self, id: &str) -> Result<Settled> {
        self.ask("settled", json!([id, PATIENCE.as_millis() as u64])).await
    }

    /// This worker's browser has no such global from now on.
    pub async fn do_without(&self, name: &str) -> Result<()> {
        self.ask("without", json!([name])).await
    }

    /// It ends on the spot: by `worker.terminate()`, or by the browser, as it ends a service worker that it has no use for.
    pub async fn terminate(self) -> Result<()> {
        match self.kind {
            Kind::Dedicated => self.page.call("app.endWorker()", json!([])).await,
            Kind::Service => self.page.end_service_workers().await,
        }
    }

    /// The name of its kind, as the page's `app.ask` takes it.
    pub fn name(&self) -> &'static str {
        self.kind.name()
    }

    async fn ask<T: DeserializeOwned>(&self, name: &str, args: Value) -> Result<T> {
        let asked = json!([self.kind.name(), name, args]);
        self.page.call("return app.ask(args[0], args[1], ...args[2])", asked).await
    }
}
