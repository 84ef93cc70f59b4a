//! Mistakes that this library could have been built with. With the feature `deliberate-bugs`, which only the simulator turns
//! on, one of them can be switched on at run time, in one thread; the laws must catch it. Without the feature the question
//! whether one is on is a constant, and nothing of it is compiled in.

#[cfg(all(feature = "deliberate-bugs", target_arch = "wasm32"))]
compile_error!("deliberate bugs are for the simulator on the host: a module must not have them");

macro_rules! bugs {
    ($($bug:ident: $what:literal,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Bug {
            $(#[doc = $what] $bug,)*
        }

        #[cfg(feature = "deliberate-bugs")]
        impl Bug {
            pub const ALL: &[Self] = &[$(Self::$bug),*];

            /// The mistake, in one sentence.
            pub fn what(self) -> &'static str {
                match self {
                    $(Self::$bug => $what,)*
                }
            }
        }
    };
}

bugs! {
    NewKeyOnRetry: "Every retry gets another key.",
    AttemptRecordedAfterSend: "An attempt is recorded with its facts only, after it was sent.",
    DoneAtRequestSuccess: "Writes count as durable before their transaction is, and it may yet abort.",
    NoFenceAtRecord: "Facts under an old fence move the intent on.",
    LiveLeaseStolen: "A claim is granted while another realm's lease lives.",
    InheritedWithoutLock: "A claim made under a lock passes on to who does not hold it.",
    PollInheritedAsSend: "Who takes over a look at the result sends the request again.",
    LockAskedForIsHeld: "A claim counts as made under a lock that its realm has let go of since.",
    ReadingsOfThePast: "A transaction that has waited is decided by the clocks of when it was asked for.",
    ReleaseWithoutFence: "What an old claim gives back ends the claim of another.",
    GuardSkipped: "An attempt goes out as soon as it is claimed, whatever has happened since.",
    MaySendAfterFreeze: "A realm that was frozen sends what it had claimed before.",
    LeaseShorterThanAttempt: "The lease ends before the attempt may.",
    ScopeUnchecked: "A claim does not ask whose credentials are at hand.",
    InProgressIsRefusal: "A 409 that means `in progress` is a refusal.",
    BeforeLayerIsRefusal: "A 4xx from in front of the idempotency layer is a refusal.",
    ServerErrorIsRefusal: "A 5xx is a refusal.",
    PortalIsServer: "An answer in a media type that the server does not speak is the server's.",
    RedirectIsSuccess: "A redirect is followed, and the page behind it is a success.",
    MarkerIgnored: "An answer without a visible replay marker is a fresh one.",
    EveryRefusalConclusive: "Every refusal counts as stored under the key.",
    UnstoredRefusalReplaceable: "A refusal that nothing stores licenses a successor.",
    RefusalBesideUnknown: "A refusal settles while another attempt is unknown.",
    OutcomeOverwritten: "A later fact overwrites a definite outcome.",
    LateSuccessIgnored: "A success that comes after the app gave up is dropped.",
    SuccessNeedsFence: "A success under an old fence is dropped.",
    NotFoundIsSealed: "`not_found` is taken for a sealed `not_applied`.",
    WindowFromLastSend: "The window is measured from the last attempt, not from the first.",
    EpochIgnored: "Two moments of different epochs have a distance.",
    ClockBackUnnoticed: "A clock set back with nobody there to see it starts no epoch.",
    BridgedStepUnpublished: "A realm that sees the wall clock step keeps it to itself.",
    LeaseEndsUnseen: "A lease ends by time that its holder never saw.",
    ReaderKeepsItsClock: "A realm that only reads does not follow the ledger's clock.",
    FloorIgnored: "A server's `Retry-After` is no floor.",
    RetryAfterUnclamped: "A server may ask for any wait.",
    PatienceUnbounded: "An intent is tried for ever.",
    ParkedForEver: "An intent that a realm leaves alone for a while is never taken up again.",
    QuestionOutlivesReason: "A question what became of an intent stays when nothing is unknown any more, and it is not sent.",
    GivenUpStaysDue: "What was given up and proved never sent stays due.",
    OfflineIsAnAttempt: "An intent is sent without asking whether its origin can be reached.",
    ProbeForbidsForEver: "A probe that never worked forbids sending for ever.",
    AuthHeldForEver: "What is held for credentials is not tried with others.",
    CancelAfterSend: "What may have been sent can be cancelled.",
    ExpireAfterSend: "What may have been sent can expire.",
    SuccessorWhileUnknown: "A successor is granted whatever is unknown.",
    TwoSuccessors: "An intent can be replaced twice.",
    ReferenceIgnored: "A submit does not look whether its reference is taken.",
    FingerprintIgnored: "Another payload under a known reference is the same decision.",
    RerunCreatesAgain: "A submit whose fate was unknown is made again, over itself.",
    AbortDropsNeighbours: "A batch that aborts is given up as a whole.",
    AdoptTakesSent: "What a guest may have sent is adopted.",
    AdoptLeavesReference: "The reference of what cannot be adopted stays free in the account.",
    PurgeForgetsSent: "A purge leaves no tombstone of what may have been sent.",
    PurgeKeepsPayload: "What is erased keeps its body and its answer.",
    PrunedUndelivered: "What nobody was told the outcome of is pruned.",
    MovedGoesOn: "What was moved to another ledger can be resumed where it was.",
    OpenCountKept: "An intent that ends is still counted as open.",
    LaneOvertakes: "What waits behind another in its lane is sent beside it.",
    LaneForgotten: "What ends or is skipped does not pass its turn on.",
    SuccessorOutOfLane: "A successor does not take its predecessor's place in its lane.",
    DeliveredWithoutLease: "Handing over an outcome takes no lease.",
}

#[cfg(feature = "deliberate-bugs")]
mod switch {
    use super::Bug;
    use core::cell::Cell;

    std::thread_local! {
        static ON: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    /// From now on this thread makes that mistake, or none.
    pub fn switch(bug: Option<Bug>) {
        ON.set(bug);
    }

    pub(crate) fn bug(bug: Bug) -> bool {
        ON.get() == Some(bug)
    }
}

#[cfg(feature = "deliberate-bugs")]
pub(crate) use switch::bug;
#[cfg(feature = "deliberate-bugs")]
pub use switch::switch;

/// Is this mistake to be made?
#[cfg(not(feature = "deliberate-bugs"))]
pub(crate) const fn bug(_: Bug) -> bool {
    false
}

#[cfg(not(feature = "deliberate-bugs"))]
const _: () = assert!(!bug(Bug::NewKeyOnRetry), "without the feature the question is a constant");
