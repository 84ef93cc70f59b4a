//! Where a tab and a server can die in the life of one payment, and what can befall its messages.

use intento::core::change::{Applied, Change, TakeClaim};
use intento::core::contract::Observation;
use intento::core::input::Input;
use intento::core::intent::Purpose;

use crate::world::{Event, RealmNo, World};

/// A moment in the life of a tab that makes one payment, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClientPoint {
    /// The decision waits for the transaction before it to end.
    Unstored,
    /// Its transaction was issued, and has not committed.
    Storing,
    /// It is stored, and nobody was told.
    Stored,
    /// The transaction of a claim to send was issued.
    Claiming,
    /// The claim is in, and nothing has left.
    Claimed,
    /// The request is on its way.
    Leaving,
    /// The request has arrived, or is lost, and nothing has come back.
    Waiting,
    /// The answer that settles it was read, and its transaction was issued.
    Recording,
    /// The outcome is in, and nobody was told.
    Recorded,
    /// The app has the outcome, and its word that it has taken it is not in.
    Delivered,
}

impl ClientPoint {
    pub const ALL: [Self; 10] = [
        Self::Unstored,
        Self::Storing,
        Self::Stored,
        Self::Claiming,
        Self::Claimed,
        Self::Leaving,
        Self::Waiting,
        Self::Recording,
        Self::Recorded,
        Self::Delivered,
    ];
}

/// A moment in the life of a server that runs one payment, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServerPoint {
    /// The request has arrived.
    Unreserved,
    /// The key is reserved, and nothing runs.
    Reserved,
    /// The handler runs.
    Running,
    /// The effect is written in a transaction that is still open.
    Uncommitted,
    /// Effect and answer are in, and nothing was answered.
    Committed,
    /// Half of the answer has left.
    Answering,
    /// The handler has failed for now, and the reservation is not let go yet.
    Releasing,
    /// The answer is past its retention and erased, and its tombstone not written.
    Sweeping,
}

impl ServerPoint {
    pub const ALL: [Self; 8] = [
        Self::Unreserved,
        Self::Reserved,
        Self::Running,
        Self::Uncommitted,
        Self::Committed,
        Self::Answering,
        Self::Releasing,
        Self::Sweeping,
    ];
}

/// What befalls the next message of its kind, whosever it is; each once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mishaps {
    /// The request never arrives, and nothing tells.
    pub request_lost: bool,
    /// Of the answers that somebody still waits for.
    pub answer_lost: bool,
    /// The request is delivered again after so long, and this delivery succeeds.
    pub repeated_after_ms: Option<u64>,
    /// The server dies of the request that arrives next.
    pub crash: Option<ServerPoint>,
}

impl World {
    /// Is this tab, which makes the only payment there is, at this very moment of its life?
    pub fn is_at(&self, tab: RealmNo, point: ClientPoint) -> bool {
        let nothing_stored = self.ledger.intents().is_empty();
        match point {
            ClientPoint::Unstored => nothing_stored && !self.issued(tab, |change| matches!(change, Change::Submit(_))),
            ClientPoint::Storing => self.issued(tab, |change| matches!(change, Change::Submit(_))),
            ClientPoint::Stored => self.hears(tab, |applied| matches!(applied, Applied::Submitted { .. })),
            ClientPoint::Claiming => self.issued(
                tab,
                |change| matches!(change, Change::Claim(TakeClaim { purpose, .. }) if *purpose == Purpose::Send),
            ),
            ClientPoint::Claimed => {
                self.hears(tab, |applied| matches!(applied, Applied::Claimed(grant) if grant.attempt.is_some()))
            }
            ClientPoint::Leaving => self.server.in_flight(tab) > 0 && self.is_leaving(tab),
            ClientPoint::Waiting => self.server.in_flight(tab) > 0 && !self.is_leaving(tab),
            ClientPoint::Recording => self.issued(tab, is_settling),
            ClientPoint::Recorded => {
                self.hears(tab, |applied| matches!(applied, Applied::Recorded { intent, .. } if intent.has_ended()))
            }
            ClientPoint::Delivered => {
                self.pending().any(|event| matches!(event, Event::Input(of, Input::Delivered { .. }) if *of == tab))
            }
        }
    }

    /// Is a transaction with such a change under way?
    fn issued(&self, tab: RealmNo, is: impl Fn(&Change) -> bool) -> bool {
        self.pending().any(|event| {
            matches!(event, Event::Transaction(of, batch) if *of == tab
                && batch.iter().any(|(_, change)| is(change)))
        })
    }

    /// Is it in, and the tab about to hear of it?
    fn hears(&self, tab: RealmNo, is: impl Fn(&Applied) -> bool) -> bool {
        self.pending().any(|event| {
            matches!(event, Event::Input(of, Input::Committed { results, .. }) if *of == tab
                && results.iter().any(|(_, result)| result.as_ref().is_ok_and(&is)))
        })
    }

    fn is_leaving(&self, tab: RealmNo) -> bool {
        self.pending().any(|event| matches!(event, Event::Arrive(packet) if packet.is_first_of(tab)))
    }
}

/// Facts of an answer that settles a payment.
fn is_settling(change: &Change) -> bool {
    match change {
        Change::Record(facts) => matches!(&facts.observation, Observation::Reply(reply) if reply.status == 201),
        _ => false,
    }
}
