//! Subscriptions: reviews and ratings as they change, without lost or repeated events, with one
//! change stream a process.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt};
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};
use vitrine_api::execution::{ErrorCode, EventGate, Failure};
use vitrine_api::graphql::{Session, Viewer};
use vitrine_api::http::{
    Api, Capacity, RequestContext, RequestLimiter, SocketLimits, Sockets, router, serve,
};
use vitrine_domain::Catalog;
use vitrine_harness::subscriptions::Subscription;
use vitrine_harness::{App, product, review, test, test_on_own_server};
use vitrine_model::id::{GlobalId, ProductId, ReviewId};

async fn lamp(app: &App) -> String {
    app.has([product("Lamp"), product("Chair")]).await;
    let lamp = app.query("{ product(slug: \"lamp\") { id } }").await;
    lamp.text("/product/id")
}

fn reviews_of(product: &str, after: Option<&str>) -> String {
    let after = after
        .map(|after| format!(", after: \"{after}\""))
        .unwrap_or_default();
    format!(
        "subscription {{ reviewAdded(productId: \"{product}\"{after}) {{ kind cursor review {{ title product {{ name }} }} }} }}"
    )
}

fn ratings_of(product: &str, after: Option<&str>) -> String {
    let after = after
        .map(|after| format!(", after: \"{after}\""))
        .unwrap_or_default();
    format!(
        "subscription {{ ratingChanged(productId: \"{product}\"{after}) {{ kind cursor productId ratingStats {{ count average }} }} }}"
    )
}

async fn submit(app: &App, product: &str, author: &str, rating: i64) -> String {
    let written = json!({ "productId": product, "rating": rating, "title": format!("by {author}"), "body": "So it is." });
    let reply = app.mutate_by(author, "submitReview", written).await;
    reply.text("/review/id")
}

fn cursor(event: &Value) -> String {
    event["cursor"].as_str().expect("a cursor").to_owned()
}

fn title(event: &Value) -> &str {
    event["review"]["title"]
        .as_str()
        .unwrap_or_else(|| panic!("no review: {event}"))
}

async fn started(following: &mut Subscription) -> String {
    let first = following.event().await;
    assert_eq!(
        (&first["kind"], &first["review"]),
        (&json!("STARTED"), &Value::Null)
    );
    cursor(&first)
}

#[test]
fn every_review_is_delivered_once_in_order_of_publication() {
    test(async |app| {
        let lamp = lamp(app).await;
        let mut one = app.subscribe(&reviews_of(&lamp, None));
        let mut two = app.subscribe(&reviews_of(&lamp, None));
        started(&mut one).await;
        started(&mut two).await;
        app.has_reviews([review("Chair", "other", 4)]).await;
        let first = submit(app, &lamp, "ann", 5).await;
        submit(app, &lamp, "ben", 4).await;
        for following in [&mut one, &mut two] {
            let event = following.event().await;
            assert_eq!(
                (title(&event), &event["review"]["product"]["name"]),
                ("by ann", &json!("Lamp"))
            );
            assert_eq!(title(&following.event().await), "by ben");
        }
        // An edit and a vote are no new review; a hidden review is delivered again when it is
        // published.
        let edit = json!({ "id": first, "title": "better", "expectedRevision": 1 });
        app.mutate_by("ann", "editReview", edit).await.done();
        let judge =
            |decision: &str| json!({ "id": first, "decision": decision, "reason": "OTHER" });
        app.mutate("moderateReview", judge("REJECT")).await.done();
        app.mutate("moderateReview", judge("PUBLISH")).await.done();
        // Imported reviews are delivered as well.
        app.has_reviews([review("Lamp", "imported", 3)]).await;
        for following in [&mut one, &mut two] {
            assert_eq!(title(&following.event().await), "better");
            assert_eq!(title(&following.event().await), "");
        }
    });
}

#[test]
fn a_resumed_subscription_misses_and_repeats_no_event() {
    test(async |app| {
        let lamp = lamp(app).await;
        let mut following = app.subscribe(&reviews_of(&lamp, None));
        let start = started(&mut following).await;
        submit(app, &lamp, "a0", 5).await;
        let known = cursor(&following.event().await);
        drop(following);
        for n in 1..4 {
            submit(app, &lamp, &format!("a{n}"), 4).await;
        }
        // In the same process, in another one, and after a restart.
        let other = app.other_process().await;
        let mut written = 4;
        for catalog in [&app.catalog, &other] {
            for (after, from, restarted) in
                [(&known, 1, false), (&start, 0, false), (&known, 1, true)]
            {
                if restarted {
                    catalog.stop_following().await;
                }
                let mut back = app.subscribe_through(catalog, &reviews_of(&lamp, Some(after)));
                let first = back.event().await;
                assert_eq!(
                    (&first["kind"], cursor(&first)),
                    (&json!("STARTED"), after.clone())
                );
                submit(app, &lamp, &format!("a{written}"), 3).await;
                written += 1;
                // All of them, once each, and nothing before the new one.
                for n in from..written {
                    assert_eq!(title(&back.event().await), format!("by a{n}"));
                }
            }
        }
    });
}

/// Subscribes until this many events were received, resuming from the last cursor after every few.
async fn heard(
    app: &App,
    catalog: &Catalog,
    lamp: &str,
    start: String,
    most: usize,
) -> Vec<String> {
    let (mut cursor_now, mut heard) = (start, Vec::new());
    while heard.len() < most {
        let mut following = app.subscribe_through(catalog, &reviews_of(lamp, Some(&cursor_now)));
        following.event().await;
        for _ in 0..3.min(most - heard.len()) {
            let event = following.event().await;
            heard.push(title(&event).to_owned());
            cursor_now = cursor(&event);
        }
    }
    heard
}

#[test]
fn resuming_under_load_delivers_every_event_once() {
    test(async |app| {
        let lamp = lamp(app).await;
        let mut first = app.subscribe(&reviews_of(&lamp, None));
        let start = started(&mut first).await;
        let other = app.other_process().await;
        let write = async {
            for n in 0..60 {
                submit(app, &lamp, &format!("a{n}"), 1 + n % 5).await;
            }
        };
        let (near, far, ()) = tokio::join!(
            heard(app, &app.catalog, &lamp, start.clone(), 60),
            heard(app, &other, &lamp, start.clone(), 60),
            write,
        );
        let mut seen = Vec::new();
        for _ in 0..60 {
            seen.push(title(&first.event().await).to_owned());
        }
        assert_eq!(near, seen);
        assert_eq!(far, seen);
        let mut all = seen.clone();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 60);
    });
}

#[test]
fn changed_ratings_are_delivered() {
    test(async |app| {
        let lamp = lamp(app).await;
        let mut following = app.subscribe(&ratings_of(&lamp, None));
        let first = following.event().await;
        assert_eq!(
            (&first["kind"], &first["ratingStats"]["count"]),
            (&json!("STARTED"), &json!(0))
        );
        assert_eq!(first["productId"], json!(lamp));
        submit(app, &lamp, "ann", 5).await;
        let event = following.event().await;
        assert_eq!(event["kind"], "HAPPENED");
        assert_eq!(event["ratingStats"], json!({ "count": 1, "average": 5.0 }));
        let known = cursor(&event);
        // The first event has the current numbers, although nothing has changed.
        let mut same = app.subscribe(&ratings_of(&lamp, Some(&known)));
        assert_eq!(same.event().await["kind"], "STARTED");
        drop(following);
        submit(app, &lamp, "ben", 4).await;
        let other = app.other_process().await;
        for catalog in [&app.catalog, &other] {
            let mut back = app.subscribe_through(catalog, &ratings_of(&lamp, Some(&known)));
            let event = back.event().await;
            assert_eq!(event["kind"], "HAPPENED");
            assert_eq!(event["ratingStats"], json!({ "count": 2, "average": 4.5 }));
        }
        // However fast they change, the last numbers are delivered.
        for n in 0..20 {
            submit(app, &lamp, &format!("a{n}"), 3).await;
        }
        app.run_background_work().await;
        let mut last = Value::Null;
        while last["ratingStats"]["count"] != 22 {
            last = same.event().await;
        }
        submit(app, &lamp, "eve", 1).await;
        let next = same.event().await;
        assert_eq!(
            (&next["kind"], &next["ratingStats"]["count"]),
            (&json!("HAPPENED"), &json!(23))
        );
    });
}

#[test]
fn a_wrong_subscription_is_refused_with_its_argument() {
    test(async |app| {
        let lamp = lamp(app).await;
        let chair = app
            .query("{ product(slug: \"chair\") { id } }")
            .await
            .text("/product/id");
        let nobody = GlobalId::Product(ProductId::random()).encode();
        let review = GlobalId::Review(ProductId::random(), ReviewId::random()).encode();
        for (document, code) in [
            (reviews_of(&nobody, None), "NOT_FOUND"),
            (ratings_of(&nobody, None), "NOT_FOUND"),
            (reviews_of(&review, None), "BAD_USER_INPUT"),
            (ratings_of("lamp", None), "BAD_USER_INPUT"),
            (reviews_of(&lamp, Some("nonsense")), "INVALID_CURSOR"),
        ] {
            let mut following = app.subscribe(&document);
            assert_eq!(following.failure().await, code, "{document}");
            assert_eq!(following.next().await, None);
        }
        let mut following = app.subscribe(&reviews_of(&lamp, None));
        let start = started(&mut following).await;
        // A cursor of another product, or of another list, is refused.
        let mut foreign = app.subscribe(&reviews_of(&chair, Some(&start)));
        assert_eq!(foreign.failure().await, "INVALID_CURSOR");
        let mut foreign = app.subscribe(&ratings_of(&lamp, Some(&start)));
        assert_eq!(foreign.failure().await, "INVALID_CURSOR");
    });
}

#[test]
fn a_subscription_ends_when_its_product_goes_off_sale() {
    test(async |app| {
        let lamp = lamp(app).await;
        let mut ratings = app.subscribe(&ratings_of(&lamp, None));
        ratings.event().await;
        let mut reviews = app.subscribe(&reviews_of(&lamp, None));
        started(&mut reviews).await;
        let mut admin = app.subscribe_as_admin(&reviews_of(&lamp, None));
        started(&mut admin).await;
        app.mutate("archiveProduct", json!({ "id": lamp }))
            .await
            .done();
        app.has_reviews([review("Lamp", "late", 2)]).await;
        assert_eq!(ratings.failure().await, "NOT_FOUND");
        assert_eq!(admin.event().await["kind"], "HAPPENED");
        let mut late = app.subscribe(&reviews_of(&lamp, None));
        assert_eq!(late.failure().await, "NOT_FOUND");
        // No other subscriber exists meanwhile.
        app.mutate("restoreProduct", json!({ "id": lamp }))
            .await
            .done();
        submit(app, &lamp, "ann", 5).await;
        assert_eq!(title(&reviews.event().await), "by ann");
    });
}

#[test]
fn a_process_has_one_change_stream_and_reads_each_review_once() {
    test(async |app| {
        let lamp = lamp(app).await;
        app.forget_commands();
        let mut all = Vec::new();
        for _ in 0..50 {
            let mut following = app.subscribe(&reviews_of(&lamp, None));
            started(&mut following).await;
            all.push(following);
        }
        let streams = |sent: Vec<String>| sent.iter().filter(|sent| *sent == "aggregate").count();
        assert_eq!(streams(app.sent()), 1);
        let id = submit(app, &lamp, "ann", 5).await;
        app.forget_commands();
        for following in &mut all {
            assert_eq!(title(&following.event().await), "by ann");
        }
        let reads = app
            .sent()
            .iter()
            .filter(|sent| *sent == "aggregate reviews")
            .count();
        assert_eq!(reads, 1, "{:?}", app.sent());
        drop(id);
    });
}

#[test]
fn a_slow_subscriber_is_dropped_when_its_events_leave_the_buffer() {
    test(async |app| {
        let lamp = lamp(app).await;
        let forgetful = app.with_events_kept(300).await;
        let catalog = &forgetful.catalog;
        let mut slow = app.subscribe_through(catalog, &reviews_of(&lamp, None));
        let start = started(&mut slow).await;
        let mut patient = app.subscribe(&reviews_of(&lamp, None));
        started(&mut patient).await;
        let many: Vec<_> = (0..600).map(|n| review("Lamp", n, 4)).collect();
        app.has_reviews(many).await;
        // A subscriber that is slower than its own queue reads from the shared buffer.
        for _ in 0..600 {
            assert_eq!(patient.event().await["kind"], "HAPPENED");
        }
        // Wait until the other process has received all events as well.
        let mut last = app.subscribe_through(catalog, &ratings_of(&lamp, None));
        last.event().await;
        app.has_reviews([review("Lamp", "last", 4)]).await;
        last.event().await;
        assert_eq!(slow.failure().await, "UNAVAILABLE");
        assert_eq!(slow.next().await, None);
        // Nothing is lost: the cursor resumes from the database.
        let mut back = app.subscribe_through(catalog, &reviews_of(&lamp, Some(&start)));
        assert_eq!(back.event().await["kind"], "STARTED");
        submit(app, &lamp, "sentinel", 5).await;
        for (following, before) in [(&mut back, 601), (&mut patient, 1)] {
            for _ in 0..before {
                assert_eq!(title(&following.event().await), "");
            }
            assert_eq!(title(&following.event().await), "by sentinel");
        }
    });
}

#[test]
fn a_lost_change_stream_is_reported_and_can_be_resumed() {
    test_on_own_server(async |app| {
        let lamp = lamp(app).await;
        let mut following = app.subscribe(&reviews_of(&lamp, None));
        let start = started(&mut following).await;
        // An error after which the driver does not resume the stream.
        app.fail_next(1, &["getMore"], doc! { "errorCode": 286 })
            .await;
        assert_eq!(following.failure().await, "UNAVAILABLE");
        submit(app, &lamp, "ann", 5).await;
        let mut back = app.subscribe(&reviews_of(&lamp, Some(&start)));
        back.event().await;
        assert_eq!(title(&back.event().await), "by ann");
        // A position that has left the oplog.
        app.catalog.stop_following().await;
        app.fail_after(1, &["aggregate"], doc! { "errorCode": 286 })
            .await;
        let mut forgotten = app.subscribe(&reviews_of(&lamp, Some(&start)));
        assert_eq!(forgotten.failure().await, "INVALID_CURSOR");
        app.stop_failing().await;
    });
}

#[test]
fn a_cursor_resumes_as_long_as_the_oplog_reaches_back() {
    test(async |app| {
        let lamp = lamp(app).await;
        let mut following = app.subscribe(&reviews_of(&lamp, None));
        let start = started(&mut following).await;
        // Another event in between.
        let others = app.direct().collection::<Document>("elsewhere");
        for n in 0..100 {
            others.insert_one(doc! { "_id": n }).await.unwrap();
        }
        others.drop().await.unwrap();
        submit(app, &lamp, "ann", 5).await;
        let other = app.other_process().await;
        let mut back = app.subscribe_through(&other, &reviews_of(&lamp, Some(&start)));
        back.event().await;
        assert_eq!(title(&back.event().await), "by ann");
    });
}

/// Streams run only while they are polled, so everything sent after `forget_commands` is for the event.
#[test]
fn nothing_is_read_for_an_event_that_the_caller_cannot_pay() {
    test(async |app| {
        let app = &app.without_product_memory().await;
        let lamp = lamp(app).await;
        let broke = || Err(Failure::new(ErrorCode::RateLimited, "Slow down."));
        let product_reads = |sent: Vec<String>| {
            let reads = sent.iter().filter(|sent| *sent == "find products");
            reads.count()
        };
        for (gate, reads) in [(EventGate::free(), 1), (EventGate::new(broke), 0)] {
            let mut following = app.subscribe_gated(gate, &reviews_of(&lamp, None));
            started(&mut following).await;
            submit(app, &lamp, &format!("reader {reads}"), 5).await;
            app.forget_commands();
            let answer = following.next().await.unwrap();
            assert_eq!(product_reads(app.sent()), reads, "{:?}", app.sent());
            if reads == 0 {
                let code = &answer["errors"][0]["extensions"]["code"];
                assert_eq!(code, "RATE_LIMITED");
                assert_eq!(following.next().await, None);
            }
        }
    });
}

/// Returns the next message on a connection, as JSON.
async fn message(socket: &mut (impl StreamExt<Item = Result<Message, Error>> + Unpin)) -> Value {
    loop {
        let next = tokio::time::timeout(Duration::from_secs(20), socket.next()).await;
        match next
            .expect("a message comes in time")
            .expect("it goes on")
            .unwrap()
        {
            Message::Text(text) => return serde_json::from_str(&text).unwrap(),
            Message::Close(frame) => {
                let frame = frame.expect("a reason");
                return json!({ "closed": u16::from(frame.code), "reason": frame.reason.as_str() });
            }
            _ => {}
        }
    }
}

/// Serves the catalogue to anonymous callers. Dropping the sender stops it.
async fn served(
    app: &App,
    sockets: &Sockets,
) -> (
    SocketAddr,
    oneshot::Sender<()>,
    JoinSet<std::io::Result<()>>,
) {
    let catalog = app.catalog.clone();
    let api = Api::new(app.engine.clone(), RequestLimiter::new(Capacity::default()))
        .sockets(sockets.clone())
        .authenticate(move |_| {
            let session = Session::new(&catalog, &Viewer::default());
            Ok(RequestContext::new().with_context(move |request| session.attach(request)))
        });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let mut serving = JoinSet::new();
    serving.spawn(serve(listener, router(api), async { drop(stopped.await) }));
    (address, stop, serving)
}

/// Returns the data of the next event of a stream; `None` at its end.
async fn server_sent(stream: &mut (impl AsyncBufRead + Unpin)) -> Option<Value> {
    let next = async {
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await.unwrap() == 0 {
                return None;
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Some(serde_json::from_str(data).unwrap());
            }
        }
    };
    let next = tokio::time::timeout(Duration::from_secs(20), next).await;
    next.expect("an event comes in time")
}

#[test]
fn a_stream_of_events_lasts_until_the_service_stops() {
    test(async |app| {
        let lamp = lamp(app).await;
        let sockets = Sockets::new(SocketLimits::default());
        let (address, stop, mut serving) = served(app, &sockets).await;
        let body = json!({ "query": reviews_of(&lamp, None) }).to_string();
        let mut stream = BufReader::new(TcpStream::connect(address).await.unwrap());
        let request = format!(
            "POST /graphql HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let first = server_sent(&mut stream).await.unwrap();
        assert_eq!(first["data"]["reviewAdded"]["kind"], "STARTED");
        submit(app, &lamp, "ann", 5).await;
        let next = server_sent(&mut stream).await.unwrap();
        let review = &next["data"]["reviewAdded"];
        assert_eq!(title(review), "by ann");
        assert_eq!((sockets.connections(), sockets.operations()), (1, 1));
        // The listener waits for its responses; a stream without an end must not delay it.
        drop(stop);
        assert_eq!(server_sent(&mut stream).await, None);
        serving.join_next().await.unwrap().unwrap().unwrap();
        assert!(sockets.close(Duration::from_secs(20)).await);
        let other = app.other_process().await;
        let mut back = app.subscribe_through(&other, &reviews_of(&lamp, Some(&cursor(review))));
        back.event().await;
        submit(app, &lamp, "ben", 4).await;
        assert_eq!(title(&back.event().await), "by ben");
    });
}

#[test]
fn a_web_socket_subscription_lasts_until_the_service_stops() {
    test(async |app| {
        let lamp = lamp(app).await;
        let sockets = Sockets::new(SocketLimits::default());
        let (address, stop, mut serving) = served(app, &sockets).await;
        let mut request = format!("ws://{address}/graphql")
            .into_client_request()
            .unwrap();
        let protocol = "graphql-transport-ws".parse().unwrap();
        request
            .headers_mut()
            .insert("sec-websocket-protocol", protocol);
        let stream = TcpStream::connect(address).await.unwrap();
        let (mut socket, _) = client_async(request, stream).await.unwrap();
        let say = |message: Value| Message::text(message.to_string());
        socket
            .send(say(json!({ "type": "connection_init" })))
            .await
            .unwrap();
        assert_eq!(message(&mut socket).await["type"], "connection_ack");
        let query = json!({ "query": reviews_of(&lamp, None) });
        let subscribe = json!({ "id": "1", "type": "subscribe", "payload": query });
        socket.send(say(subscribe)).await.unwrap();
        let first = message(&mut socket).await;
        assert_eq!(first["payload"]["data"]["reviewAdded"]["kind"], "STARTED");
        submit(app, &lamp, "ann", 5).await;
        let next = message(&mut socket).await;
        let review = &next["payload"]["data"]["reviewAdded"];
        assert_eq!((&next["type"], title(review)), (&json!("next"), "by ann"));
        assert_eq!((sockets.connections(), sockets.operations()), (1, 1));
        drop(stop);
        let (closed, last) =
            tokio::join!(sockets.close(Duration::from_secs(20)), message(&mut socket));
        assert!(closed);
        assert_eq!(last["closed"], 1001, "{last}");
        serving.join_next().await.unwrap().unwrap().unwrap();
        // Another process continues after the last event.
        let other = app.other_process().await;
        let mut back = app.subscribe_through(&other, &reviews_of(&lamp, Some(&cursor(review))));
        back.event().await;
        submit(app, &lamp, "ben", 4).await;
        assert_eq!(title(&back.event().await), "by ben");
    });
}

#[test]
fn a_resumed_subscription_progresses_however_slow_its_start_is() {
    test_on_own_server(async |app| {
        let lamp = lamp(app).await;
        let mut following = app.subscribe(&reviews_of(&lamp, None));
        let start = started(&mut following).await;
        drop(following);
        for by in ["ann", "ben"] {
            submit(app, &lamp, by, 5).await;
        }
        let other = app.other_process().await;
        // Longer than one step of catching up.
        let slow = doc! { "blockConnection": true, "blockTimeMS": 2_300 };
        app.fail_after(0, &["aggregate"], slow).await;
        let mut back = app.subscribe_through(&other, &reviews_of(&lamp, Some(&start)));
        assert_eq!(started(&mut back).await, start);
        for title_of in ["by ann", "by ben"] {
            assert_eq!(title(&back.event().await), title_of);
        }
        app.stop_failing().await;
    });
}
