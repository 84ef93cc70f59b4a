//! What this realm knows of its own credentials, in memory only (P7.3): for which intents they were refused.

use crate::core::key::IntentId;
use crate::core::map::SortedMap;

#[derive(Clone, Debug, Default)]
pub(super) struct CredentialsKnown(SortedMap<IntentId, Standing>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Refused once; the app is asked for new ones, once.
    ToRefresh,
    /// Those were refused too, or belong to another scope.
    Refused,
}

impl CredentialsKnown {
    /// The server refused the credentials that this realm sent.
    pub(super) fn refused(&mut self, intent: &IntentId, can_refresh: bool) {
        let first = can_refresh && !self.0.contains_key(intent);
        self.0.insert(intent.clone(), if first { Standing::ToRefresh } else { Standing::Refused });
    }

    /// Nothing this realm has will do for this intent.
    pub(super) fn useless(&mut self, intent: &IntentId) {
        self.0.insert(intent.clone(), Standing::Refused);
    }

    pub(super) fn forget(&mut self, intent: &IntentId) {
        self.0.remove(intent);
    }

    pub(super) fn are_useless(&self, intent: &IntentId) -> bool {
        self.0.get(intent) == Some(&Standing::Refused)
    }

    pub(super) fn need_refresh(&self, intent: &IntentId) -> bool {
        self.0.get(intent) == Some(&Standing::ToRefresh)
    }
}
