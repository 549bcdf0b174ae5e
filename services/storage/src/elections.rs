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

/// What has happened to the primary.
#[derive(Clone, Debug)]
pub(crate) struct PrimaryWatch {
    /// How often another server became primary.
    elections: watch::Receiver<u64>,
    /// How often there was another primary, or none.
    losses: watch::Receiver<u64>,
}

impl PrimaryWatch {
    /// Completes when another server becomes primary.
    pub(crate) fn next_election(&self) -> impl Future<Output = ()> + Send + 'static {
        next(self.elections.clone())
    }

    /// Completes when the driver loses the primary, or finds another one.
    pub(crate) fn next_loss(&self) -> impl Future<Output = ()> + Send + 'static {
        next(self.losses.clone())
    }
}

fn next(mut count: watch::Receiver<u64>) -> impl Future<Output = ()> + Send + 'static {
    count.mark_unchanged();
    async move {
        if count.changed().await.is_err() {
            // The client is closed, so nothing happens any more.
            std::future::pending::<()>().await;
        }
    }
}

/// Returns an SDAM event handler and what it observes.
pub(crate) fn monitor() -> (EventHandler<SdamEvent>, PrimaryWatch) {
    let (elections, seen_elections) = watch::channel(0);
    let (losses, seen_losses) = watch::channel(0);
    let (last, current) = (Mutex::new(None), Mutex::new(None));
    let handler = EventHandler::callback(move |event| {
        let SdamEvent::TopologyDescriptionChanged(event) = event else {
            return;
        };
        let servers = event.new_description.servers();
        let primary = servers
            .into_iter()
            .find(|(_, server)| server.server_type() == ServerType::RsPrimary)
            .map(|(address, _)| address.clone());
        let mut current = current.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *current, primary.clone());
        if before.is_some() && before != primary {
            losses.send_modify(|count| *count += 1);
        }
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if is_new_primary(&mut last, primary) {
            elections.send_modify(|count| *count += 1);
        }
    });
    let watch = PrimaryWatch {
        elections: seen_elections,
        losses: seen_losses,
    };
    (handler, watch)
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
