//! A way through the search, for people; and what its worlds show, for the count of what was reached.

use std::fmt;

use intento::core::intent::State;

use super::network::{Packet, Stage};
use super::world::{Event, START_MS, Side, World};

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Left => "left",
            Self::Right => "right",
        })
    }
}

impl World {
    /// An event of this world, for people.
    pub(super) fn describe(&self, event: Event) -> String {
        let packet = |place: u8| self.packets.get(usize::from(place)).map_or_else(String::new, Packet::to_string);
        let name = || format!("{event:?}").split('(').next().unwrap_or_default().to_owned();
        match event {
            Event::Pass(ms) => format!("{ms} ms pass"),
            Event::Jump(ms) => format!("{ms} ms pass over what waits"),
            Event::Freed => "the browser has noticed that the lock's holder is dead".to_owned(),
            Event::Prune => "the server forgets the answer".to_owned(),
            Event::Complete(place, end) => format!("{}: the run ends, {end:?}", packet(place)),
            Event::Arrive(place)
            | Event::Answer(place)
            | Event::Deadline(place)
            | Event::LoseRequest(place)
            | Event::LoseAnswer(place)
            | Event::Double(place)
            | Event::Delay(place)
            | Event::RefuseUnstored(place)
            | Event::ServerDies(place) => format!("{}: {}", packet(place), name()),
            Event::Open(side)
            | Event::Crash(side)
            | Event::Freeze(side)
            | Event::Stop(side)
            | Event::Thaw(side)
            | Event::Granted(side)
            | Event::Commit(side)
            | Event::Committed(side)
            | Event::Due(side)
            | Event::Inbox(side)
            | Event::Handled(side)
            | Event::Timer(side)
            | Event::Ask(side)
            | Event::LookUp(side)
            | Event::Found(side) => format!("{side}: {}", name()),
        }
    }

    /// Where it stands, for people.
    pub(super) fn standing(&self) -> String {
        let state =
            self.intent.as_ref().map_or_else(|| "not stored".to_owned(), |intent| format!("{:?}", intent.state));
        format!("+{} ms, {state}, {} effects", self.now_ms - START_MS, self.server.effects)
    }

    /// Names of what it shows, for the count of what was reached.
    pub(super) fn shows(&self) -> Vec<String> {
        let mut shown = Vec::new();
        shown.extend(self.intent.as_ref().map(|intent| match &intent.state {
            State::Held { reason } => format!("intent held, {reason:?}"),
            State::Rejected { evidence, replaceable } => {
                format!("intent rejected, {evidence:?}, replaceable {replaceable}")
            }
            State::Succeeded { replay, evidence } => format!("intent succeeded, {replay:?} by {evidence:?}"),
            state => format!("intent {}", state.name()),
        }));
        shown.push(format!("server {}", self.server.standing(self.now_ms)));
        let running = self.packets.iter().filter(|packet| matches!(packet.stage, Stage::Running { .. })).count();
        if running > 1 {
            shown.push("two runs at once".to_owned());
        }
        let alive = |packet: &&Packet| self.side_of(packet.waiter).is_some();
        if self.packets.iter().filter(alive).count() > 1 {
            shown.push("both realms wait for an answer".to_owned());
        }
        if self.intent.as_ref().is_some_and(|intent| intent.contradicted) {
            shown.push("intent contradicted".to_owned());
        }
        shown
    }
}
