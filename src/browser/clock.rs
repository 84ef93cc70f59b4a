//! Both clocks of a realm.

use crate::core::time::Moment;

/// Now, on the wall clock and on the realm's monotonic clock.
pub fn moment() -> Moment {
    Moment { wall_ms: js_sys::Date::now().max(0.0) as u64, mono_ms: super::sys::performance_now().max(0.0) as u64 }
}
