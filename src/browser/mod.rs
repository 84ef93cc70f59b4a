//! Thin adapters to the platform: the only place that names `web_sys` and `js_sys` beside the exported surface.

pub mod app_store;
pub mod channel;
pub mod clock;
pub mod codec;
pub mod driver;
pub mod entropy;
pub mod fetch;
pub mod indexeddb;
pub mod lifecycle;
pub mod local_storage;
pub mod locks;
pub mod probe;
pub mod replies;
pub mod sys;
pub mod tiers;
pub mod url;
