//! Everything that can go wrong, as a closed set of codes: whose fault it is and what to do.

use super::contract::ContractFault;
use super::intent::IntentRecord;
use super::shared::Shared;

/// Who can mend it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The code that calls intento.
    App,
    /// The browser, its settings, or the page's policy.
    Platform,
    /// The device's storage.
    Storage,
    /// intento itself.
    Intento,
}

impl Blame {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::App => "app",
            Self::Platform => "platform",
            Self::Storage => "storage",
            Self::Intento => "intento",
        }
    }
}

macro_rules! codes {
    ($($(#[doc = $cause:literal])* $name:ident = $code:literal, $blame:ident, $remedy:literal;)*) => {
        /// A stable code. The JavaScript face has the same union; a test compares them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ErrorCode {
            $($(#[doc = $cause])* $name,)*
        }

        impl ErrorCode {
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// What brings it about.
            pub fn cause(self) -> &'static str {
                match self { $(Self::$name => concat!($($cause),*).trim_ascii(),)* }
            }

            pub fn blame(self) -> Blame {
                match self { $(Self::$name => Blame::$blame,)* }
            }

            /// What to do, in one sentence.
            pub fn remedy(self) -> &'static str {
                match self { $(Self::$name => $remedy,)* }
            }
        }
    };
}

codes! {
    /// No contract was given.
    ContractMissing = "contract_missing", App, "Pass contract: how your server speaks idempotency. Import one from 'intento/contracts'.";
    /// A field of the contract is wrong; the detail names it.
    ContractInvalid = "contract_invalid", App, "Correct the field that the detail names.";
    /// No scope was given, or an empty one.
    ScopeMissing = "scope_missing", App, "Pass scope: the account, tenant or signed-in user whose intents these are.";
    /// The scope is longer than 512 bytes.
    ScopeTooLong = "scope_too_long", App, "Pass an identifier of at most 512 bytes as scope.";
    /// An option has the wrong type or is out of range; the detail names it.
    OptionInvalid = "option_invalid", App, "Correct the option that the detail names.";
    /// A queue for this scope is open with other options.
    OptionsConflict = "options_conflict", App, "Close the open queue of this scope first, or open it with the same options.";
    /// No operation, or one that is not 1 to 64 of `A-Z a-z 0-9 . _ : -`.
    OperationInvalid = "operation_invalid", App, "Name the operation with 1 to 64 letters, digits, '.', '_', ':' or '-'.";
    /// No reference was given.
    ReferenceMissing = "reference_missing", App, "Pass reference: your stable name for this decision, such as the order's id; null opts out.";
    /// The reference is empty or holds a control character.
    ReferenceInvalid = "reference_invalid", App, "Use a reference of 1 to 256 bytes without control characters.";
    /// The reference is longer than 256 bytes.
    ReferenceTooLong = "reference_too_long", App, "Use a reference of at most 256 bytes.";
    /// The reference already names another payload, or an intent of another scope. The error carries that intent; after
    /// `adopt`, the other scope's as well.
    ReferenceConflict = "reference_conflict", App, "Show the existing intent, or use another reference for another decision.";
    /// The lane is empty, longer than 128 bytes, or holds a control character.
    LaneInvalid = "lane_invalid", App, "Use a lane of 1 to 128 bytes without control characters, or none.";
    /// The contract does not take this method.
    MethodNotAllowed = "method_not_allowed", App, "Use a method that the contract lists: POST, PUT, PATCH or DELETE.";
    /// Not a URL, or one with a user name or password.
    UrlInvalid = "url_invalid", App, "Pass a URL that is absolute or relative to baseUrl, without user name or password; baseUrl itself is the origin of your API.";
    /// Neither https nor http on loopback.
    UrlCleartext = "url_cleartext", App, "Use https; http is accepted on loopback only.";
    /// The URL's origin is neither baseUrl's nor one of extraOrigins.
    UrlForeignOrigin = "url_foreign_origin", App, "Send to baseUrl's origin, or list the origin in extraOrigins.";
    /// The contract's key has no place in this request, or the place is taken; the detail names it.
    KeyPlaceInvalid = "key_place_invalid", App, "Give the key its place: a JSON object without that member, a query without that parameter, or its name in braces once in the path.";
    /// The header carries credentials, or is set by intento or the browser.
    HeaderForbidden = "header_forbidden", App, "Return credentials from authorize; leave the key and transport headers to intento.";
    /// A header name or value that cannot be sent.
    HeaderInvalid = "header_invalid", App, "Use a header name and printable ASCII values that HTTP can carry, at most 32 of them.";
    /// The body holds something that JSON cannot carry exactly; the detail says where.
    BodyUnstorable = "body_unstorable", App, "Pass a plain JSON value: finite numbers, integers up to 2^53 - 1, well-formed strings, no cycles.";
    /// The body is larger than 256 KiB.
    BodyTooLarge = "body_too_large", App, "Send less than 256 KiB; upload files first and send their name.";
    /// The request or the reference holds what looks like a card number or its security code; the detail says where.
    CardData = "card_data", App, "Tokenise the card with your payment provider, and send the token; if this is no card data, list the operation in allowCardData.";
    /// `expiresIn` is neither null nor a number of milliseconds.
    ExpiresInInvalid = "expires_in_invalid", App, "Pass expiresIn as milliseconds above 0, or null for never.";
    /// The intent may still have an effect, or had one. The error carries it.
    NotReplaceable = "not_replaceable", App, "Wait until safeToReplace is true: while anything is unknown, a second decision could be a second charge.";
    /// The intent is not held, or sending again is not its remedy. The error carries it.
    NotResumable = "not_resumable", App, "Look at the intent's state: only a held intent is resumed, and one that the server accepted is looked up.";
    /// Nothing about the intent is unknown: it was never sent, or its outcome is known. The error carries it.
    NotReconcilable = "not_reconcilable", App, "Look at the intent's state: only one that may have been sent, and whose outcome is not known, can be asked about.";
    /// Neither the app nor the contract knows how to find out what became of an intent.
    ReconcileUnavailable = "reconcile_unavailable", App, "Pass reconcile to openQueue, or use a contract that has a lookup.";
    /// No reason was given, or one that is longer than 256 bytes.
    ReasonInvalid = "reason_invalid", App, "Say why, in 1 to 256 bytes: the reason goes into the journal.";
    /// The parcel was sealed with another secret, or was changed on the way, or is none.
    ParcelInvalid = "parcel_invalid", App, "Pass the parcel as move() gave it, and the secret that it was sealed with; move again if it is lost.";
    /// The parcel holds the intents of another scope.
    ParcelForeign = "parcel_foreign", App, "Receive the parcel with a queue of the scope that it was moved from.";
    /// There is no intent with that id in this scope.
    UnknownIntent = "unknown_intent", App, "Use an id that this scope's queue handed out.";
    /// The queue was closed.
    Closed = "closed", App, "Open the queue again; nothing that was submitted is lost.";
    /// 10 000 unfinished intents.
    LedgerFull = "ledger_full", App, "Finish or cancel intents first; nothing is evicted to make room.";
    /// 256 unfinished intents in this lane.
    LaneFull = "lane_full", App, "Finish, cancel or skip what the lane waits for first; nothing is evicted to make room.";
    /// WebAssembly is missing, the page's policy forbids it, or there is no memory for it; `cause` is what the browser said.
    WasmUnavailable = "wasm_unavailable", Platform, "Add 'wasm-unsafe-eval' to script-src; where WebAssembly is missing (iOS Lockdown Mode), show another way to pay.";
    /// `crypto.getRandomValues` is missing or failed. There is no fallback.
    EntropyUnavailable = "entropy_unavailable", Platform, "Run where crypto.getRandomValues works; keys are never made from weaker randomness.";
    /// IndexedDB does not exist here, or the browser refuses it.
    StorageUnavailable = "storage_unavailable", Platform, "Allow site data for this origin; a page without an origin needs one: in a React Native WebView, give source a baseUrl. On a server, open the queue in the browser only, or with minDurability 'volatile'.";
    /// What can be stored in here promises less than `minDurability` asks for.
    DurabilityTooLow = "durability_too_low", Platform, "Show the customer another way to pay, or ask for less with minDurability.";
    /// A ledger exists, or may exist, and cannot be read.
    LedgerUnreadable = "ledger_unreadable", Storage, "Reload, or restart the browser; do not pay again before the ledger can be read.";
    /// The transaction was aborted: quota, or the disk. Nothing was stored by it.
    StorageFailed = "storage_failed", Storage, "Free space for this site and submit again.";
    /// The storage went away before it said whether the change is in. The detail is the intent's id.
    CommitUnknown = "commit_unknown", Storage, "Submit the same reference again after a reload: it finds the intent if it was stored.";
    /// The engine stopped after an internal error. What was stored is safe.
    EngineDead = "engine_dead", Intento, "Look with intents() what was stored before you submit anew, and reload the page if this comes again. Please report this.";
}

/// An error as the app gets it. Holds neither key nor payload (law 11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub code: ErrorCode,
    /// A name from the app's own code: an option, a field, a header.
    pub detail: Option<String>,
    /// The intent that the error is about.
    pub existing: Option<Shared<IntentRecord>>,
    /// The one that stands against it.
    pub conflicting: Option<Shared<IntentRecord>>,
}

impl Error {
    pub fn new(code: ErrorCode) -> Self {
        Self { code, detail: None, existing: None, conflicting: None }
    }

    #[must_use]
    pub fn detail(self, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }
}

impl From<ErrorCode> for Error {
    fn from(code: ErrorCode) -> Self {
        Self::new(code)
    }
}

impl From<ContractFault> for Error {
    fn from(fault: ContractFault) -> Self {
        Self::new(ErrorCode::ContractInvalid).detail([fault.field, " must ", fault.must].concat())
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_code_is_unique_and_says_what_to_do() {
        let codes: BTreeSet<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(codes.len(), ErrorCode::ALL.len());
        for code in ErrorCode::ALL {
            let name = code.as_str();
            assert!(!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
            assert!(code.remedy().len() > 10 && code.remedy().ends_with('.'), "{name}: a remedy is a sentence");
            assert!(!code.blame().as_str().is_empty());
        }
    }

    #[test]
    fn every_held_reason_has_a_remedy_of_its_own() {
        use super::super::intent::HeldReason;
        let remedies: BTreeSet<&str> = HeldReason::ALL.iter().map(|reason| reason.remedy()).collect();
        assert_eq!(remedies.len(), HeldReason::ALL.len());
        assert!(remedies.iter().all(|remedy| remedy.ends_with('.')));
    }
}
