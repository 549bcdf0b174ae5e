//! Detects that another server became primary.
//!
//! A primary that is frozen or cut off does not answer, and the driver waits for it until its own
//! monitor gives up, many seconds after the other members have elected a new primary. Operations
//! therefore watch for the election themselves.

use std::sync::{Mutex, PoisonError};

use mongodb::ServerType;
use mongodb::event::EventHandler;
use mongodb::event::sdam::SdamEvent;
use mongodb::options::ServerAddress;
use tokio::sync::watch;

/// Returns an SDAM event handler and the number of elections that it has observed.
pub(crate) fn monitor() -> (EventHandler<SdamEvent>, watch::Receiver<u64>) {
    let (elections, seen) = watch::channel(0);
    let last = Mutex::new(None);
    let handler = EventHandler::callback(move |event| {
        let SdamEvent::TopologyDescriptionChanged(event) = event else {
            return;
        };
        let servers = event.new_description.servers();
        let primary = servers
            .into_iter()
            .find(|(_, server)| server.server_type() == ServerType::RsPrimary)
            .map(|(address, _)| address.clone());
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if is_new_primary(&mut last, primary) {
            elections.send_modify(|count| *count += 1);
        }
    });
    (handler, seen)
}

/// Stores the primary; returns whether it differs from the last known one.
fn is_new_primary(last: &mut Option<ServerAddress>, primary: Option<ServerAddress>) -> bool {
    // Having no primary, as during an election, says nothing about the previous one.
    let Some(primary) = primary else {
        return false;
    };
    let before = last.replace(primary);
    before.is_some() && before != *last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_primary_is_an_election() {
        let server = |port: u16| ServerAddress::parse(format!("localhost:{port}")).ok();
        let mut last = None;
        let seen = [
            None,
            server(1),
            server(1),
            None,
            server(1),
            None,
            server(2),
            server(1),
        ];
        let elections = seen.map(|primary| is_new_primary(&mut last, primary));
        assert_eq!(
            elections,
            [false, false, false, false, false, false, true, true]
        );
    }
}
