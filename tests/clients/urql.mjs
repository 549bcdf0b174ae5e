// urql: persisted queries, and subscriptions over its own requests.

import assert from "node:assert/strict";
import { Client, cacheExchange, fetchExchange, gql } from "@urql/core";
import { persistedExchange } from "@urql/exchange-persisted";
import { ask } from "./ask.mjs";
import { CLICK, FACETS, clickAll } from "./click.mjs";

function open(service, sent = []) {
  const noting = (url, options) => {
    sent.push(options.body ?? String(url));
    return fetch(url, options);
  };
  return new Client({
    url: service,
    fetch: noting,
    fetchSubscriptions: true,
    preferGetMethod: false,
    exchanges: [cacheExchange, persistedExchange({ preferGetForPersistedQueries: false }), fetchExchange],
  });
}

export function* urql({ service, product }) {
  yield [
    "a persisted query is sent once, then named",
    async () => {
      const query = gql(`query Asked${Date.now()} { viewer { subject } }`);
      const [first, second] = [[], []];
      const answer = await open(service, first).query(query, {}).toPromise();
      assert.equal(answer.error, undefined);
      assert.equal(first.length, 2);
      await open(service, second).query(query, {}).toPromise();
      assert.equal(second.length, 1);
      assert.equal(JSON.parse(second[0]).query, undefined);
    },
  ];

  yield [
    "filters of facets can be sent back",
    async () => {
      const client = open(service);
      const { data, error } = await client.query(gql(FACETS), {}).toPromise();
      assert.equal(error, undefined);
      await clickAll(assert, data.products.facets, async (chosen) => {
        const clicked = await client.query(gql(CLICK), { chosen }).toPromise();
        assert.equal(clicked.error, undefined);
        return clicked.data.products.totalCount.value;
      });
    },
  ];

  yield [
    "a subscription arrives as server-sent events",
    async () => {
      const query = "query ($slug: String!) { product(slug: $slug) { id } }";
      const { data } = await ask(service, query, { slug: product });
      const text = `subscription { ratingChanged(productId: "${data.product.id}") { kind } }`;
      const kind = await new Promise((resolve, reject) => {
        const following = open(service)
          .subscription(gql(text), {})
          .subscribe(({ data, error }) => {
            if (error) reject(error);
            else resolve(data.ratingChanged.kind);
            queueMicrotask(() => following.unsubscribe());
          });
      });
      assert.equal(kind, "STARTED");
    },
  ];
}
