//! Thin adapters to the platform: the only place that names `web_sys` and `js_sys` beside the exported surface.

pub mod channel;
pub mod clock;
pub mod codec;
pub mod driver;
pub mod entropy;
pub mod fetch;
pub mod indexeddb;
pub mod lifecycle;
pub mod locks;
pub mod probe;
pub mod sys;
pub mod url;
