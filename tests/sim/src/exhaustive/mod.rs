//! Everything that can happen within a small scope, to the core that ships: engine, attempt sequence, `apply`, the store in
//! memory, and a server that decides by the reference server's own `decide.rs`.
//!
//! One intent, two realms, one key. What waits happens in every order: transactions that decide and are told of, locks that
//! come to who waited for them, timers, requests that arrive, run and are answered, late ones too, at any time. What goes
//! wrong is counted ([`Scope`]). The server has not seen the key, is running it, has let its lease lapse, has applied or
//! refused it, knows only that it was used, or has sealed it.
//!
//! Every step is judged by the laws that lives are judged by ([`crate::laws`]), at every send, commit and effect; and from
//! every state a fair world, in which nothing more goes wrong and who sleeps sleeps on, must bring the intent to its end.
//!
//! Not here: more than one intent, clocks that are stepped, storage that fails, other servers than the conforming one, other
//! scopes and credentials, polling, windows that close: those are the lives' and the stories'. The first probe of an origin
//! is behind it, and chance makes no waits.
//!
//! | module | what it is |
//! |---|---|
//! | `world` | a device as a value: what can happen in it, and what it is afterwards |
//! | `realm`, `locks`, `network` | the driver's part of each effect, the lock, the wire and the server |
//! | `likeness` | when two worlds count as one |
//! | `search` | following everything, once; ends when nothing is new |
//! | `story`, `command` | what was found, told; the command line |

mod command;
mod likeness;
mod locks;
mod network;
mod realm;
mod search;
mod story;
mod world;

pub use command::main;
pub use search::{Report, Twins, search};

/// What can go wrong, and how often. What waits may happen in any order all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Realms that die. Each may be opened again at any time.
    pub crashes: u8,
    /// Requests lost, doubled, delayed past everything or refused by what stores nothing; answers lost; runs of the server
    /// that die; answers that it forgets.
    pub faults: u8,
    /// Realms that sleep, told so before or not. Each may wake at any time, or never.
    pub freezes: u8,
    /// Times that time passes while something waits: a timer, a transaction, a message.
    pub jumps: u8,
    /// Times that the app has a realm find out what became of the intent, which seals the key if nothing did.
    pub asks: u8,
    /// Of all these together, at most so many.
    pub at_most: u8,
    /// Does the app have a handler for outcomes?
    pub delivers: bool,
    /// Does the browser have Web Locks?
    pub locks: bool,
    /// May a query for what is due wait, like everything else? Else it is answered at once, and what comes of it waits.
    pub queries_wait: bool,
}

impl Scope {
    /// Nothing goes wrong.
    pub const CALM: Self = Self {
        crashes: 0,
        faults: 0,
        freezes: 0,
        jumps: 0,
        asks: 0,
        at_most: 0,
        delivers: false,
        locks: true,
        queries_wait: false,
    };
    /// Two crashes and three faults, of the server's as well as of the network's.
    pub const DEEP: Self = Self { crashes: 2, faults: 3, at_most: 5, ..Self::CALM };
    /// Everything, but only so much of it at a time as [`at_most`](Self::at_most) says.
    pub const WIDE: Self = Self { freezes: 1, jumps: 1, asks: 1, ..Self::DEEP };

    /// This, but no more than so much of it at a time.
    #[must_use]
    pub const fn at_most(self, at_most: u8) -> Self {
        Self { at_most, ..self }
    }

    fn kinds(&mut self) -> [&mut u8; 5] {
        [&mut self.crashes, &mut self.faults, &mut self.freezes, &mut self.jumps, &mut self.asks]
    }

    /// One more thing has gone wrong.
    fn spend(&mut self, kind: impl Fn(&mut Self) -> &mut u8) {
        *kind(self) -= 1;
        self.at_most -= 1;
        let at_most = self.at_most;
        self.kinds().into_iter().for_each(|left| *left = (*left).min(at_most));
    }

    /// Can everything that goes wrong in the other go wrong in this?
    fn covers(mut self, mut other: Self) -> bool {
        let each = self.kinds().into_iter().zip(other.kinds()).all(|(ours, theirs)| *ours >= *theirs);
        each && self.at_most >= other.at_most
    }
}
