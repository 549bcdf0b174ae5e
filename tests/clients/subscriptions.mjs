// The reference clients of the two protocols for subscriptions.

import assert from "node:assert/strict";
import { createClient as createEventsClient } from "graphql-sse";
import { createClient as createSocketClient } from "graphql-ws";
import WebSocket from "ws";
import { ask } from "./ask.mjs";

async function idOf(service, slug) {
  const query = "query ($slug: String!) { product(slug: $slug) { id } }";
  const found = await ask(service, query, { slug });
  return found.data.product.id;
}

// Queries, mutations, subscriptions and refusals work alike in both clients.
function* operations(open, { service, product }) {
  const first = async (query) => {
    const client = open();
    const results = client.iterate({ query });
    const { value } = await results.next();
    return { value, results, client };
  };

  yield [
    "a query has one result",
    async () => {
      const { value, results } = await first("{ __typename }");
      assert.equal(value.data.__typename, "Query");
      assert.equal((await results.next()).done, true);
    },
  ];

  yield [
    "a mutation has one result",
    async () => {
      const event = `{ productId: "${await idOf(service, product)}", kind: VIEW }`;
      const input = `{ events: [${event}] }`;
      const { value, results } = await first(
        `mutation { recordActivity(input: ${input}) { counted ignored { reason } } }`,
      );
      // Of one address, a view counts once an hour.
      const { counted, ignored } = value.data.recordActivity;
      assert.equal(counted + ignored.length, 1);
      assert.equal((await results.next()).done, true);
    },
  ];

  yield [
    "a subscription delivers events until it is ended",
    async () => {
      const id = await idOf(service, product);
      const { value, results } = await first(
        `subscription { ratingChanged(productId: "${id}") { kind ratingStats { count } } }`,
      );
      assert.equal(value.data.ratingChanged.kind, "STARTED");
      assert.equal((await results.return()).done, true);
    },
  ];

  yield [
    "an invalid query is refused with its errors",
    async () => {
      const refused = await first("{ nowhere }").then(
        ({ value }) => value.errors,
        (errors) => errors,
      );
      assert.equal(refused[0].extensions.code, "GRAPHQL_VALIDATION_FAILED");
    },
  ];
}

export function* serverSentEvents(input) {
  const { service } = input;
  yield* operations(() => createEventsClient({ url: service, retryAttempts: 0 }), input);

  yield [
    "a forged token is an HTTP error",
    async () => {
      const headers = { authorization: "Bearer forged" };
      const client = createEventsClient({ url: service, headers, retryAttempts: 0 });
      const refused = client.iterate({ query: "{ __typename }" }).next();
      await assert.rejects(refused, (error) => error.response?.status === 401);
    },
  ];
}

export function* webSocket(input) {
  const url = input.service.replace(/^http/, "ws");
  const client = (connectionParams) =>
    createSocketClient({ url, webSocketImpl: WebSocket, retryAttempts: 0, connectionParams });
  yield* operations(() => client({}), input);

  yield [
    "a forged token closes the connection",
    async () => {
      const refused = client({ authorization: "Bearer forged" }).iterate({ query: "{ __typename }" });
      await assert.rejects(refused.next(), (event) => event.code === 4403);
    },
  ];
}
