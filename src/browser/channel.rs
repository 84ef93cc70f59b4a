//! Nudges between realms: "this intent changed". Hints only; the truth is in the ledger (hazard T13).

use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{BroadcastChannel, MessageEvent};

use super::codec::from_js;
use super::sys::global;
use crate::core::json::to_text;
use crate::core::key::IntentId;

#[derive(Debug)]
pub struct Channel {
    channel: BroadcastChannel,
    _listener: Closure<dyn FnMut(MessageEvent)>,
}

impl Channel {
    /// Opens the channel of a ledger, where the platform has channels.
    pub fn open(name: &str, mut heard: impl FnMut(IntentId) + 'static) -> Option<Self> {
        global("BroadcastChannel")?;
        let channel = BroadcastChannel::new(name).ok()?;
        let listener = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            let changed: Option<Vec<IntentId>> = from_js(&event.data());
            changed.unwrap_or_default().into_iter().for_each(&mut heard);
        });
        channel.set_onmessage(Some(listener.as_ref().unchecked_ref()));
        Some(Self { channel, _listener: listener })
    }

    /// What changed in one turn, in one message: each costs as much as a small transaction.
    pub fn nudge(&self, changed: &[IntentId]) {
        let _ = self.channel.post_message(&to_text(changed).into());
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.channel.set_onmessage(None);
        self.channel.close();
    }
}
