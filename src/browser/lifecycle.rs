//! What the page is told of itself. No event is trusted alone: each is one more reason to look (hazard T14).

use js_sys::Reflect;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::EventTarget;

use super::sys::global;
use crate::core::input::Wake;

/// Events of the window or worker, and of the document.
const WINDOW: [(&str, Wake); 5] = [
    ("online", Wake::Online),
    ("offline", Wake::Offline),
    ("focus", Wake::Visible),
    ("pageshow", Wake::Resumed),
    ("pagehide", Wake::Suspended),
];
const DOCUMENT: [(&str, Wake); 3] =
    [("visibilitychange", Wake::Visible), ("freeze", Wake::Suspended), ("resume", Wake::Resumed)];

/// Listens until it is dropped.
#[derive(Debug)]
pub struct Lifecycle {
    _subscriptions: Vec<Subscription>,
}

#[derive(Debug)]
struct Subscription {
    target: EventTarget,
    event: &'static str,
    listener: Closure<dyn FnMut()>,
}

impl Lifecycle {
    pub fn listen(woken: impl Fn(Wake) + Clone + 'static) -> Self {
        let window: Option<EventTarget> = js_sys::global().dyn_into().ok();
        let document = global("document").and_then(|document| document.dyn_into::<EventTarget>().ok());
        let on_window = WINDOW.iter().map(|(event, wake)| (window.clone(), *event, *wake));
        let on_document = DOCUMENT.iter().map(|(event, wake)| (document.clone(), *event, *wake));
        let all = on_window.chain(on_document);
        let subscribe =
            |(target, event, wake): (Option<EventTarget>, _, _)| Subscription::new(target?, event, wake, woken.clone());
        Self { _subscriptions: all.filter_map(subscribe).collect() }
    }
}

impl Subscription {
    fn new(target: EventTarget, event: &'static str, wake: Wake, woken: impl Fn(Wake) + 'static) -> Option<Self> {
        let listener = Closure::<dyn FnMut()>::new(move || {
            // A page that is being hidden may be frozen next: no time to begin anything.
            if wake != Wake::Visible || !is_hidden() {
                woken(wake);
            }
        });
        target.add_event_listener_with_callback(event, listener.as_ref().unchecked_ref()).ok()?;
        Some(Self { target, event, listener })
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let listener = self.listener.as_ref().unchecked_ref();
        let _ = self.target.remove_event_listener_with_callback(self.event, listener);
    }
}

/// False in a worker, which has no document.
fn is_hidden() -> bool {
    let state = global("document").and_then(|document| Reflect::get(&document, &JsValue::from_str("hidden")).ok());
    state.and_then(|hidden| hidden.as_bool()).unwrap_or(false)
}

/// The browser's hint. True where there is none.
pub fn is_online() -> bool {
    let navigator = global("navigator");
    let on_line = navigator.and_then(|navigator| Reflect::get(&navigator, &JsValue::from_str("onLine")).ok());
    on_line.and_then(|value| value.as_bool()).unwrap_or(true)
}
