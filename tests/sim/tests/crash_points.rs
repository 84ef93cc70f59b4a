//! A tab dies at every point of a payment's life, the server at every point of its own, and messages are lost, doubled or
//! delivered: 320 combinations of one payment, before the conforming server. None pays twice, loses what was
//! acknowledged, or ends otherwise than the server says.

use std::collections::BTreeMap;

use intento::core::change::Change;
use intento::core::intent::State;
use intento::core::key::IntentId;
use sim::crash::{ClientPoint, Mishaps, ServerPoint};
use sim::schedule::CALM_MS;
use sim::{DAY, HOUR, MINUTE, RealmNo, SECOND, World};

/// What becomes of the messages. The first of its kind is meant, whosever it is: a tab that dies before its request leaves
/// is followed by one whose request is lost; an answer counts as lost only where somebody still waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    RequestLost,
    AnswerLost,
    Delivered,
    Doubled,
}

const FATES: [Fate; 4] = [Fate::RequestLost, Fate::AnswerLost, Fate::Delivered, Fate::Doubled];
/// The second delivery comes at once; when the next attempt may be under way; after the reservation of a server that died;
/// and while the sweeper is at work, where it is.
const DOUBLED_AFTER_MS: [u64; 4] = [5, 2 * SECOND, 61 * SECOND, SWEPT_AFTER_MS + MINUTE];
/// The retention of the conforming server is a day.
const SWEPT_AFTER_MS: u64 = DAY + MINUTE;
/// A tab that hears nothing looks around once an hour.
const HANDING_OVER_MS: u64 = 2 * HOUR;
const WORK_MS: u64 = 400;
const ORDER: u32 = 1;
const CASES: usize = ClientPoint::ALL.len() * ServerPoint::ALL.len() * FATES.len();

#[test]
fn every_crash_of_the_tab_by_every_crash_of_the_server_by_every_fate_of_the_messages() {
    let mut reached = 0;
    let mut by_client: BTreeMap<ClientPoint, usize> = BTreeMap::new();
    let mut by_server: BTreeMap<ServerPoint, usize> = BTreeMap::new();
    for client in ClientPoint::ALL {
        for server in ServerPoint::ALL {
            for fate in FATES {
                for repeated_after_ms in delays(server, fate) {
                    Payment::new(client, server, fate, repeated_after_ms).live();
                }
                reached += 1;
                *by_client.entry(client).or_default() += 1;
                *by_server.entry(server).or_default() += 1;
            }
        }
    }
    println!("{reached} combinations: {by_client:?} {by_server:?}");
    // None is impossible: what a dead tab can no longer bring about, the tab after it does.
    assert_eq!((reached, CASES), (320, 320));
    assert!(by_client.values().all(|cases| *cases == 32) && by_server.values().all(|cases| *cases == 40));
}

/// Nothing is said to this tab, and it lives on: what the other one leaves behind it must find by itself.
#[test]
fn a_tab_that_was_open_all_along_finds_what_the_dead_one_left() {
    let mut reached = 0;
    for client in ClientPoint::ALL {
        for server in ServerPoint::ALL.into_iter().filter(|server| *server != ServerPoint::Sweeping) {
            for fate in FATES {
                for repeated_after_ms in delays(server, fate) {
                    let mut payment = Payment::new(client, server, fate, repeated_after_ms);
                    payment.world.messages_lost = true;
                    payment.heir = Some(payment.world.open());
                    payment.live();
                }
                reached += 1;
            }
        }
    }
    assert_eq!(reached, 280);
}

fn delays(server: ServerPoint, fate: Fate) -> Vec<Option<u64>> {
    let sweeps = server == ServerPoint::Sweeping;
    match fate {
        Fate::Doubled => {
            let fit = DOUBLED_AFTER_MS.into_iter().filter(|delay_ms| sweeps || *delay_ms < SWEPT_AFTER_MS);
            fit.map(Some).collect()
        }
        _ => vec![None],
    }
}

/// One payment that meets two crashes and a fate.
struct Payment {
    world: World,
    client: ClientPoint,
    server: ServerPoint,
    fate: Fate,
    /// A tab that is open all along.
    heir: Option<RealmNo>,
}

impl Drop for Payment {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{:?} by {:?} by {:?}", self.client, self.server, self.fate);
        }
    }
}

impl Payment {
    fn new(client: ClientPoint, server: ServerPoint, fate: Fate, repeated_after_ms: Option<u64>) -> Self {
        let mut world = World::new(1);
        world.server.asks = true;
        world.server.work_ms = WORK_MS;
        world.server.mishaps = Mishaps {
            request_lost: fate == Fate::RequestLost,
            answer_lost: fate == Fate::AnswerLost,
            repeated_after_ms,
            crash: Some(server).filter(|server| *server != ServerPoint::Sweeping),
        };
        Self { world, client, server, fate, heir: None }
    }

    fn live(mut self) {
        let acknowledged = self.die_in_the_tab();
        if self.server == ServerPoint::Sweeping {
            self.die_in_the_sweeper();
        }
        let tab = self.open_again();
        let end_ms = self.world.now_ms + CALM_MS;
        assert!(self.world.run_until(end_ms, World::is_settled), "stuck: {:?}", self.world.ledger.intents());
        self.world.run_for(HANDING_OVER_MS);
        self.all_came_about();
        self.it_ended_well(acknowledged, tab);
    }

    /// The tab dies at its point. Whether its app had been told that the payment is stored.
    fn die_in_the_tab(&mut self) -> bool {
        let world = &mut self.world;
        let tab = world.open();
        if self.client == ClientPoint::Unstored {
            // A transaction is under way, and the decision has to wait for the next.
            world.steer(tab, Change::Cancel(IntentId::from("nobody")));
        }
        let ticket = world.submit(tab, ORDER);
        let (client, end_ms) = (self.client, world.now_ms + HOUR);
        assert!(world.run_until(end_ms, |world| world.is_at(tab, client)), "the tab never came there");
        let acknowledged = world.done.get(&ticket).is_some_and(Result::is_ok);
        assert_eq!(acknowledged, client > ClientPoint::Stored);
        world.crash(tab);
        assert_eq!(world.ledger.intents().len(), usize::from(client > ClientPoint::Storing));
        acknowledged
    }

    /// The payment is made, a tab that is not needed dies too, a day passes, and the server dies as it sweeps.
    fn die_in_the_sweeper(&mut self) {
        let made = |world: &World| {
            let Mishaps { request_lost, answer_lost, .. } = world.server.mishaps;
            world.effects_of(ORDER) == 1 && !request_lost && !answer_lost
        };
        self.world.run_for(2 * WORK_MS);
        if !made(&self.world) {
            let tab = self.open_again();
            let end_ms = self.world.now_ms + HOUR;
            assert!(self.world.run_until(end_ms, made), "never made");
            self.world.crash(tab);
        }
        self.world.run_for(SWEPT_AFTER_MS);
        let now_ms = self.world.now_ms;
        self.world.server.prune(now_ms);
        assert_eq!(self.world.server.pruned(), 1);
        self.world.server.crashes.push(ServerPoint::Sweeping);
        self.world.run_for(HOUR);
        self.world.server.bury();
    }

    /// The tab after it: the next page load, unless there is one. What was not stored is decided again; all else must be known.
    fn open_again(&mut self) -> RealmNo {
        let tab = self.heir.unwrap_or_else(|| self.world.open());
        if self.world.ledger.intents().is_empty() {
            assert!(self.client <= ClientPoint::Storing, "lost");
            self.world.submit(tab, ORDER);
        }
        tab
    }

    fn all_came_about(&self) {
        assert_eq!(self.world.server.crashes, [self.server]);
        assert_eq!(self.world.server.mishaps, Mishaps::default());
        if self.fate == Fate::Doubled {
            assert!(self.world.server.arrivals > 1, "delivered twice");
        }
    }

    fn it_ended_well(&mut self, acknowledged: bool, tab: RealmNo) {
        self.world.check_the_end();
        let intents = self.world.ledger.intents();
        assert_eq!(intents.len(), 1);
        let intent = &intents[0];
        assert!(matches!(intent.state, State::Succeeded { .. }), "{intent:?}");
        assert_eq!((self.world.effects_of(ORDER), self.world.keys_of(ORDER).len()), (1, 1));
        assert!(!intent.contradicted);
        assert!(intent.delivery.acknowledged.is_some(), "the app has it");
        if acknowledged {
            let ticket = self.world.submit(tab, ORDER);
            self.world.run_for(SECOND);
            assert_eq!(self.world.intent_of(ticket).id, intent.id, "the same decision still");
        }
        // Once; and again where the app's word was lost with its tab.
        let times = 1 + usize::from(self.client == ClientPoint::Delivered);
        assert_eq!(self.world.delivered.len(), times, "{:?}", self.world.delivered);
    }
}
