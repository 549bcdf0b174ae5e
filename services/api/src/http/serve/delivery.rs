//! The delivery of a response.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::{Body, Bytes};
use hyper::body::{Frame, SizeHint};

use super::activity::Request;

/// The size of the pieces in which a body is handed over, in bytes.
const PIECE: usize = 64 * 1024;

/// A response body that keeps its request under way until it is delivered.
///
/// It is handed over in pieces, each after room was made by sending earlier ones. In one piece, a
/// body of any size would lie in the send buffer of a client that does not read, and the request
/// would seem to be answered.
#[derive(Debug)]
pub(super) struct Delivery {
    body: Body,
    rest: Bytes,
    request: Request,
    /// Whether the response lasts as long as the client reads it, like a stream of events.
    lasting: bool,
}

impl Delivery {
    pub(super) fn new(body: Body, request: Request) -> Self {
        Self {
            body,
            rest: Bytes::new(),
            request,
            lasting: false,
        }
    }

    /// Restarts the response timeout with each piece. A client that does not read takes no
    /// pieces.
    pub(super) fn lasting(mut self, lasting: bool) -> Self {
        self.lasting = lasting;
        self
    }

    /// Returns the next piece of what was taken from the body.
    fn piece(&mut self) -> Frame<Bytes> {
        let length = self.rest.len().min(PIECE);
        Frame::data(self.rest.split_to(length))
    }
}

impl hyper::body::Body for Delivery {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if !self.rest.is_empty() {
            return Poll::Ready(Some(Ok(self.piece())));
        }
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if self.lasting && polled.is_ready() {
            self.request.renew();
        }
        polled.map_ok(|frame| match frame.into_data() {
            Ok(data) if data.len() > PIECE => {
                self.rest = data;
                self.piece()
            }
            Ok(data) => Frame::data(data),
            Err(trailers) => trailers,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = u64::try_from(self.rest.len()).unwrap_or(u64::MAX);
        let body = self.body.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(body.lower().saturating_add(rest));
        if let Some(upper) = body.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use axum::body::{HttpBody as _, to_bytes};

    use super::{super::activity::Activity, *};

    #[tokio::test]
    async fn a_large_body_is_handed_over_in_pieces_and_keeps_its_request_under_way() {
        let activity = Activity::new();
        let bytes: Vec<u8> = (0..=250).cycle().take(2 * PIECE + 7).collect();
        let mut delivery = Delivery::new(Body::from(bytes.clone()), activity.begin(false));
        let mut received = Vec::new();
        for length in [PIECE, PIECE, 7] {
            let left = u64::try_from(bytes.len() - received.len()).unwrap();
            assert_eq!(delivery.size_hint().exact(), Some(left));
            assert!(!delivery.is_end_stream());
            let frame = std::future::poll_fn(|cx| Pin::new(&mut delivery).poll_frame(cx)).await;
            let data = frame.unwrap().unwrap().into_data().unwrap();
            assert_eq!(data.len(), length);
            received.extend_from_slice(&data);
        }
        assert_eq!(received, bytes);
        assert!(delivery.is_end_stream() && activity.is_busy());
        drop(delivery);
        assert!(!activity.is_busy());
        let lasting = Delivery::new(Body::from("small"), activity.begin(false)).lasting(true);
        assert_eq!(to_bytes(Body::new(lasting), 10).await.unwrap(), "small");
        let small = Delivery::new(Body::from("small"), activity.begin(false));
        assert_eq!(to_bytes(Body::new(small), 10).await.unwrap(), "small");
    }
}
