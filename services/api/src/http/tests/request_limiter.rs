//! Work outlives the connection that started it, and its amount is limited.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::{sync::Semaphore, task::JoinSet};

use super::{JSON, STRICT, Server, post, query, read, sockets::until};
use crate::http::{AtDeadline, Capacity, RequestLimiter, RequestUse, Size};

/// Long enough for anything that is not stuck.
const TIMEOUT: Duration = Duration::from_secs(20);

fn capacity(running: usize, waiting: usize) -> Capacity {
    Capacity {
        running,
        waiting,
        large: 1,
        large_waiting: 1,
        large_queue_timeout: TIMEOUT,
        queue_timeout: TIMEOUT,
        deadline: TIMEOUT,
    }
}

/// Lets the tasks of the server run until none of them is executing a request.
async fn idle(server: &Server) {
    while server.request_limiter.unfinished() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_disconnected_client_does_not_stop_its_mutation() {
    let server = Server::plain().await;
    let mut clients = Vec::new();
    for _ in 0..20 {
        clients.push(server.send(&post(JSON, &query("mutation { gated }"))).await);
        server.gate.started().await;
    }
    drop(clients);
    // The server notices closed connections while it serves other requests.
    assert_eq!(server.post(JSON, &query("{ ok }")).await.status, 200);
    assert_eq!(server.gate.finished(), 0);
    assert_eq!(server.request_limiter.unfinished(), 20);
    server.gate.open(20);
    assert!(server.request_limiter.drain(TIMEOUT).await);
    assert_eq!(server.gate.finished(), 20);
}

#[tokio::test]
async fn a_disconnected_client_stops_its_query() {
    let server = Server::plain().await;
    for _ in 0..20 {
        let client = server.send(&post(JSON, &query("{ gated }"))).await;
        server.gate.started().await;
        drop(client);
    }
    idle(&server).await;
    assert_eq!(server.gate.finished(), 0);
}

#[tokio::test]
async fn at_its_deadline_a_mutation_continues_and_a_query_stops() {
    let deadline = Duration::ZERO;
    let server = Server::start(
        Capacity {
            deadline,
            ..capacity(1, 0)
        },
        |api| api,
    )
    .await;
    for (operation, finished) in [("mutation { gated }", 2), ("{ gated }", 2)] {
        for headers in [JSON, STRICT] {
            let answer = server.post(headers, &query(operation)).await;
            assert_eq!((answer.status, answer.code().as_str()), (504, "TIMEOUT"));
            assert_eq!(answer.json()["errors"][0]["extensions"]["retryable"], true);
            assert!(answer.json().get("data").is_none());
            if operation.starts_with("mutation") {
                server.gate.started().await;
                server.gate.open(1);
            }
            idle(&server).await;
        }
        assert_eq!(server.gate.finished(), finished, "{operation}");
    }
}

#[tokio::test]
async fn excess_requests_are_refused() {
    let server = Server::start(capacity(1, 0), |api| api).await;
    let first = server.send(&post(JSON, &query("{ gated }"))).await;
    server.gate.started().await;
    let shed = server.post(JSON, &query("{ ok }")).await;
    assert_eq!((shed.status, shed.code().as_str()), (503, "UNAVAILABLE"));
    assert_eq!(shed.header("retry-after"), Some("1"));
    assert_eq!(shed.json()["errors"][0]["extensions"]["retryable"], true);
    server.gate.open(1);
    assert_eq!(read(first).await.body, r#"{"data":{"gated":1}}"#);
    assert_eq!(server.post(JSON, &query("{ ok }")).await.status, 200);
}

#[tokio::test]
async fn the_queue_is_in_order_and_waiting_can_be_cancelled() {
    let request_limiter = RequestLimiter::new(capacity(1, 1));
    let (release, held) = tokio::sync::oneshot::channel::<()>();
    let first = request_limiter.run(AtDeadline::Continue, Size::Small, async move {
        drop(held.await);
    });
    let second = request_limiter.run(AtDeadline::Continue, Size::Small, async { 2 });
    let mut second = Box::pin(second);
    tokio::pin!(first);
    assert!(futures_util::poll!(&mut first).is_pending());
    assert!(futures_util::poll!(&mut second).is_pending());
    let third = request_limiter
        .run(AtDeadline::Continue, Size::Small, async { 3 })
        .await;
    assert_eq!(third.unwrap_err().code().as_str(), "UNAVAILABLE");
    drop(second);
    let mut fourth = Box::pin(request_limiter.run(AtDeadline::Continue, Size::Small, async { 4 }));
    assert!(futures_util::poll!(&mut fourth).is_pending());
    release.send(()).unwrap();
    first.await.unwrap();
    assert_eq!(fourth.await.unwrap(), 4);
    assert!(request_limiter.drain(TIMEOUT).await);
}

/// Large queries wait for each other for longer than the queue is, and small ones pass them.
#[tokio::test(start_paused = true)]
async fn small_requests_pass_large_ones() {
    let limiter = RequestLimiter::new(Capacity {
        queue_timeout: Duration::ZERO,
        ..capacity(4, 4)
    });
    let run = |size, work| limiter.run(AtDeadline::Stop, size, work);
    let (release, held) = tokio::sync::oneshot::channel::<()>();
    let first: BoxFuture<'static, ()> = Box::pin(async move { drop(held.await) });
    let mut first = Box::pin(run(Size::Large, first));
    let mut second = Box::pin(run(Size::Large, Box::pin(async {})));
    assert!(futures_util::poll!(&mut first).is_pending());
    assert!(futures_util::poll!(&mut second).is_pending());
    run(Size::Small, Box::pin(async {})).await.unwrap();
    tokio::time::advance(TIMEOUT / 2).await;
    assert!(futures_util::poll!(&mut second).is_pending());
    release.send(()).unwrap();
    first.await.unwrap();
    second.await.unwrap();
    assert!(limiter.drain(TIMEOUT).await);
}

#[tokio::test(start_paused = true)]
async fn a_large_query_that_waits_too_long_is_refused() {
    let large_queue_timeout = Duration::from_secs(15);
    let limiter = RequestLimiter::new(Capacity {
        large_queue_timeout,
        ..capacity(4, 4)
    });
    let run = |work| limiter.run(AtDeadline::Stop, Size::Large, work);
    let pending = || -> BoxFuture<'static, ()> { Box::pin(std::future::pending()) };
    let mut stuck = Box::pin(run(pending()));
    assert!(futures_util::poll!(&mut stuck).is_pending());
    let mut waiting = Box::pin(run(pending()));
    assert!(futures_util::poll!(&mut waiting).is_pending());
    let start = tokio::time::Instant::now();
    let third = run(pending()).await.unwrap_err();
    assert_eq!(third.code().as_str(), "UNAVAILABLE");
    assert_eq!(start.elapsed(), Duration::ZERO);
    let second = waiting.await.unwrap_err();
    assert_eq!(second.code().as_str(), "UNAVAILABLE");
    assert_eq!(start.elapsed(), large_queue_timeout);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_a_large_query_begins_when_it_runs() {
    let deadline = Duration::from_secs(5);
    let limiter = RequestLimiter::new(Capacity {
        deadline,
        ..capacity(4, 4)
    });
    let run = |work| limiter.run(AtDeadline::Stop, Size::Large, work);
    let four_seconds =
        || -> BoxFuture<'static, ()> { Box::pin(tokio::time::sleep(Duration::from_secs(4))) };
    let (first, second) = tokio::join!(run(four_seconds()), run(four_seconds()));
    assert!(first.is_ok() && second.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waits_too_long_is_refused() {
    let queue_timeout = Duration::from_millis(250);
    let request_limiter = RequestLimiter::new(Capacity {
        queue_timeout,
        ..capacity(1, 10)
    });
    let mut stuck = Box::pin(request_limiter.run(
        AtDeadline::Continue,
        Size::Small,
        std::future::pending::<()>(),
    ));
    assert!(futures_util::poll!(&mut stuck).is_pending());
    let start = tokio::time::Instant::now();
    let shed = request_limiter
        .run(AtDeadline::Continue, Size::Small, async { 2 })
        .await
        .unwrap_err();
    assert_eq!(shed.code().as_str(), "UNAVAILABLE");
    assert_eq!(start.elapsed(), queue_timeout);
}

#[tokio::test]
async fn a_panic_in_a_task_is_an_internal_failure_and_frees_its_slot() {
    let request_limiter = RequestLimiter::new(capacity(1, 0));
    for _ in 0..3 {
        let outcome = request_limiter
            .run(AtDeadline::Continue, Size::Small, async { boom() })
            .await;
        assert_eq!(outcome.unwrap_err().code().as_str(), "INTERNAL");
    }
    assert_eq!(
        request_limiter
            .run(AtDeadline::Continue, Size::Small, async { 1 })
            .await
            .unwrap(),
        1
    );
}

#[tokio::test]
async fn draining_has_a_time_limit() {
    let request_limiter = RequestLimiter::new(capacity(1, 0));
    let stuck = request_limiter.run(
        AtDeadline::Continue,
        Size::Small,
        std::future::pending::<()>(),
    );
    tokio::pin!(stuck);
    assert!(futures_util::poll!(&mut stuck).is_pending());
    assert!(!request_limiter.drain(Duration::ZERO).await);
}

fn boom() -> i32 {
    panic!("a fault in a task")
}

#[tokio::test]
async fn what_runs_and_what_waits_is_known() {
    let limiter = RequestLimiter::new(capacity(1, 4));
    let gate = Arc::new(Semaphore::new(0));
    let mut requests = JoinSet::new();
    for (size, expected) in [
        (Size::Large, [1, 0, 1, 0]),
        (Size::Large, [1, 0, 1, 1]),
        (Size::Small, [1, 1, 1, 1]),
        (Size::Small, [1, 2, 1, 1]),
    ] {
        let (limited, opened) = (limiter.clone(), Arc::clone(&gate));
        requests.spawn(async move {
            let work = async move { opened.acquire().await.unwrap().forget() };
            limited.run(AtDeadline::Continue, size, work).await
        });
        let [running, waiting, large, large_waiting] = expected;
        let expected = RequestUse {
            running,
            waiting,
            large,
            large_waiting,
        };
        until(|| limiter.usage() == expected).await;
    }
    gate.add_permits(4);
    for outcome in requests.join_all().await {
        outcome.unwrap();
    }
    let usage = limiter.usage();
    assert_eq!((usage.running, usage.waiting), (0, 0));
    assert_eq!((usage.large, usage.large_waiting), (0, 0));
}
