// @ts-check
// Subscriptions, with the protocol graphql-transport-ws. After a lost connection they continue behind
// the last cursor.
import * as operations from "../operations.js";
import { person } from "./session.js";

const MAX_PAUSE = 30_000;

/** Follows a product; `arrived` is called for every new review. Returns a function that ends it.
 * @param {string} id
 * @param {(reviewId: string) => void} arrived
 * @returns {() => void} */
export function followReviews(id, arrived) {
  /** @type {WebSocket | undefined} */
  let socket;
  /** @type {string | null} */
  let after = null;
  let ended = false;
  let failures = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let pause;

  const connect = () => {
    const url = new URL("/graphql", location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    socket = new WebSocket(url, "graphql-transport-ws");
    /** @param {any} message */
    const send = (message) => socket?.send(JSON.stringify(message));
    socket.onopen = () => {
      const token = person.value?.token;
      send({ type: "connection_init", payload: token ? { authorization: `Bearer ${token}` } : {} });
    };
    socket.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      if (message.type === "connection_ack") {
        const payload = { query: operations.ReviewAdded, variables: { id, after } };
        send({ id: "1", type: "subscribe", payload });
      } else if (message.type === "ping") {
        send({ type: "pong" });
      } else if (message.type === "next") {
        const event = message.payload.data?.reviewAdded;
        if (!event) return lost(message.payload.errors);
        failures = 0;
        after = event.cursor;
        document.documentElement.dataset.live = "true";
        if (event.kind === "HAPPENED" && event.review) arrived(event.review.id);
      } else if (message.type === "error") {
        lost(message.payload);
      }
    };
    socket.onclose = again;
  };

  /** A cursor that is too old is forgotten: the page then shows what it reads next.
   * @param {any[] | undefined} errors */
  const lost = (errors) => {
    if (errors?.some((error) => error.extensions?.code === "INVALID_CURSOR")) after = null;
    socket?.close(1000);
  };
  const again = () => {
    delete document.documentElement.dataset.live;
    if (ended) return;
    failures += 1;
    pause = setTimeout(connect, Math.min(MAX_PAUSE, 500 * 2 ** failures) * (0.5 + Math.random()));
  };
  connect();
  return () => {
    ended = true;
    clearTimeout(pause);
    socket?.close(1000);
  };
}
