//! Every bound of the library, by name (law 10). A bound that is not here does not exist.

/// Longest accepted scope, in bytes; stored only as a hash.
pub const SCOPE_MAX_BYTES: usize = 512;
/// Longest accepted operation name, in bytes.
pub const OPERATION_MAX_BYTES: usize = 64;
/// Longest accepted reference, in bytes.
pub const REFERENCE_MAX_BYTES: usize = 256;
/// Longest accepted name of a lane, in bytes.
pub const LANE_MAX_BYTES: usize = 128;
/// Longest accepted reason for abandoning or replacing, in bytes.
pub const REASON_MAX_BYTES: usize = 256;
/// Longest accepted absolute URL, in bytes.
pub const URL_MAX_BYTES: usize = 4096;
/// Most headers an app may store with a request.
pub const HEADERS_MAX: usize = 32;
/// Longest stored header value, in bytes.
pub const HEADER_VALUE_MAX_BYTES: usize = 4096;
/// Largest request body, in bytes of UTF-8.
pub const BODY_MAX_BYTES: usize = 256 * 1024;
/// Deepest nesting of a JSON body.
pub const BODY_DEPTH_MAX: usize = 64;
/// Deepest nesting of JSON that is read: a contract, what the face hands over, a stored record.
pub const JSON_DEPTH_MAX: usize = 32;
/// Largest answer body that is read; a longer answer is a fault, its outcome unknown.
pub const ANSWER_MAX_BYTES: usize = 1024 * 1024;
/// Largest answer body that is kept with an outcome; a longer one is settled without it.
pub const ANSWER_KEPT_MAX_BYTES: usize = 256 * 1024;

/// Unfinished intents per scope; a submit beyond it is refused, nothing is evicted.
pub const OPEN_INTENTS_MAX: u64 = 10_000;
/// Unfinished intents in one lane; a submit beyond it is refused. Each open lane has one at least, so that
/// [`OPEN_INTENTS_MAX`] bounds how many there are.
pub const LANE_LENGTH_MAX: usize = 256;
/// Attempts kept in the record itself; older ones are folded into counts and stay in the journal.
pub const ATTEMPTS_KEPT: usize = 16;
/// Entries of an intent's journal, of what was tried, waited for and handed over. Beyond it they are only counted; what decides
/// about the intent is still written, which happens a bounded number of times.
pub const JOURNAL_MAX: u64 = 1_000;
/// Attempts of one intent before patience ends and it is held as unresolved.
pub const ATTEMPTS_MAX: u32 = 200;
/// "Still in progress" answers in a row before the intent is held as unresolved.
pub const IN_PROGRESS_REPEATS_MAX: u32 = 30;
/// Looks at the result of an accepted intent before it is held.
pub const POLLS_MAX: u32 = 200;
/// The shortest pause between two looks.
pub const POLL_PAUSE_MIN_MS: u64 = 1_000;
/// Findings that settle nothing before an intent is no longer reconciled by itself.
pub const RECONCILES_MAX: u32 = 10;
/// The shortest pause between two of them.
pub const RECONCILE_PAUSE_MIN_MS: u64 = 5_000;
/// How long the app's `reconcile` may take.
pub const RECONCILE_DEADLINE_MS: u64 = 30_000;
/// Intents of another scope that one call adopts, finished ones among them; a scope of more is not adopted.
pub const ADOPT_MAX: usize = 1_000;
/// How long the app's `prepare` may take; then the attempt is put off.
pub const PREPARE_DEADLINE_MS: u32 = 4_000;
/// How long the app's `decode` may take; then the body counts as unreadable.
pub const DECODE_DEADLINE_MS: u32 = 4_000;
/// Answers of unknown standing in a row before the intent is held as unresolved.
pub const UNCLEAR_REPEATS_MAX: u32 = 5;

/// Changes that share one transaction.
pub const COMMIT_BATCH_MAX: usize = 1024;
/// Records shared by many intents that a transaction asks for because the one before it read them.
pub const USUAL_RECORDS_MAX: usize = 16;
/// Optimistic tries of one batch against a store that reports conflicts.
pub const COMMIT_CONFLICTS_MAX: usize = 16;
/// How long a transaction may stay silent before its handle is given up and its fate re-read (P1.2).
pub const COMMIT_DEADLINE_MS: u32 = 10_000;
/// How long opening the database may take: a frozen peer sends no event at all.
pub const OPEN_DEADLINE_MS: u32 = 5_000;
/// Times that it is tried for so long.
pub const OPEN_TRIES_MAX: u32 = 2;
/// How late the weak tier's one writer may begin, counted from when it asked to; others take the store's lock from a holder
/// only after twice that (P6.3).
pub const SECTION_DEADLINE_MS: u32 = 2_000;
/// How long the store's lock is kept after a write to localStorage: what one process writes the others see a moment later.
pub const SECTION_KEPT_MS: u32 = 50;
/// Times the weak tier asks for its store's lock before it says that it cannot be read.
pub const SECTION_TRIES_MAX: u32 = 3;
/// What the weak tier takes of localStorage for new work, in characters; browsers give an origin some 5 Mi of them, and the
/// rest is for what was accepted already and for others (hazard L7).
pub const WEAK_MAX_CHARS: usize = 2 * 1024 * 1024;
/// Times the facts of one attempt are offered to a ledger that refuses them.
pub const RECORD_TRIES_MAX: u32 = 12;

/// Attempts that one realm runs at the same time, those aside whose answer is being recorded; of these, as many again.
pub const RUNS_MAX: usize = 8;
/// Runs of any kind that one realm begins within [`MINUTE_MS`]; what is due beyond it waits. No storm of retries is denser, and
/// a customer's work of a day offline is done in one go.
pub const ATTEMPTS_PER_MINUTE_MAX: usize = 6_000;
/// See [`ATTEMPTS_PER_MINUTE_MAX`].
pub const MINUTE_MS: u64 = 60_000;
/// Intents that other realms run and whose locks one realm waits for.
pub const LOCK_WAITS_MAX: usize = 32;
/// How long a browser may take to say whether a lock is to be had.
pub const LOCK_DEADLINE_MS: u32 = 2_000;
/// Due intents that one query reads.
pub const DUE_PAGE_MAX: u32 = 32;
/// As many as one query reads where nothing of a page could run. More than one transaction makes due at once, so that what is
/// due at one moment fits.
pub const DUE_PAGE_GROWN_MAX: u32 = 512;
/// Intents that one listing reads.
pub const LIST_MAX: u32 = 1_000;

/// Default length of one attempt, answer body included.
pub const ATTEMPT_DEADLINE_MS: u64 = 30_000;
/// Shortest and longest attempt an app may ask for.
pub const ATTEMPT_DEADLINE_MIN_MS: u64 = 1_000;
/// See [`ATTEMPT_DEADLINE_MIN_MS`].
pub const ATTEMPT_DEADLINE_MAX_MS: u64 = 120_000;
/// How much longer than its attempt a lease is: the commit before it and the record after it fit in.
pub const LEASE_SLACK_MS: u64 = 5_000;
/// How long an app's handler of an outcome may take before it is told again (P7.1).
pub const DELIVER_DEADLINE_MS: u64 = 30_000;
/// How long the realm that submitted an intent is the first to deliver its outcome (P7.1).
pub const DELIVER_PRECEDENCE_MS: u64 = 2_000;
/// The shortest pause before an outcome is delivered again.
pub const DELIVER_AGAIN_MIN_MS: u64 = 1_000;
/// Outcomes that one realm delivers at the same time.
pub const DELIVERIES_MAX: usize = 4;
/// How long `authorize` may take before the attempt is put off.
pub const AUTHORIZE_DEADLINE_MS: u32 = 15_000;

/// Full-jitter backoff: first ceiling, and the ceiling it grows to.
pub const BACKOFF_BASE_MS: u64 = 500;
/// See [`BACKOFF_BASE_MS`].
pub const BACKOFF_CAP_MS: u64 = 60_000;
/// The longest wait that a `Retry-After` can ask for.
pub const RETRY_AFTER_MAX_MS: u64 = 24 * 60 * 60 * 1_000;

/// Default lifetime of an intent that was never sent.
pub const EXPIRES_IN_MS: u64 = 24 * 60 * 60 * 1_000;
/// Longest retention a contract may declare.
pub const RETENTION_MAX_MS: u64 = 366 * 24 * 60 * 60 * 1_000;
/// A wall clock that steps back further than this starts a new epoch, unless a monotonic clock bridges it (P3.1).
pub const CLOCK_STEP_BACK_MS: u64 = 60_000;

/// How long what belongs to a finished intent is kept after its outcome was delivered: body, answer, headers, key and journal.
/// Longer, where its contract's retention is.
pub const FINISHED_KEPT_MS: u64 = 7 * 24 * 60 * 60 * 1_000;
/// How long the tombstone is kept after that: the same reference is the same intent until then.
pub const TOMBSTONE_KEPT_MS: u64 = 90 * 24 * 60 * 60 * 1_000;
/// Intents that one transaction purges or prunes: a thousand journal entries of each may go.
pub const ERASED_PAGE_MAX: u32 = 32;

/// How long any answer from an origin licenses sending without a probe (P4.1).
pub const REACHABLE_FRESH_MS: u64 = 30_000;
/// How long a probe that has never succeeded may forbid a claim while the browser says it is online (P4.2).
pub const PROBE_FORBIDS_MAX_MS: u64 = 10 * 60 * 1_000;
/// How long one probe may take.
pub const PROBE_DEADLINE_MS: u32 = 5_000;

/// The longest timer that is set: browsers overflow at 2^31 ms, and what another realm left behind without a word must not
/// wait for the page to be looked at.
pub const TIMER_MAX_MS: u64 = 60 * 60 * 1_000;
/// How often a page that waits for an intent looks at the ledger, in case no peer message arrives.
pub const WATCH_INTERVAL_MS: u64 = 2_000;
/// Default patience of `settled()`.
pub const SETTLED_WITHIN_MS: u32 = 30_000;

/// Longest key that a contract may ask for, in characters.
pub const KEY_MAX_LENGTH: u32 = 255;
/// Longest JSON pointer in a contract, in bytes.
pub const POINTER_MAX_BYTES: usize = 256;
/// Values that one pointer with a `*` brings.
pub const POINTER_VALUES_MAX: usize = 64;
/// Rules, statuses or names in one list of a contract.
pub const CONTRACT_LIST_MAX: usize = 64;
