// Apollo Client: its cache, and queries that are named by their hash.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { ApolloClient, ApolloLink, HttpLink, InMemoryCache, gql } from "@apollo/client";
import { PersistedQueryLink } from "@apollo/client/link/persisted-queries";
import { CLICK, FACETS, clickAll } from "./click.mjs";

const sha256 = (text) => createHash("sha256").update(text).digest("hex");

// A client that notes the requests it sends.
function open(service) {
  const sent = [];
  const noting = (url, options) => {
    sent.push({ method: options.method, url: String(url), body: options.body });
    return fetch(url, options);
  };
  const link = ApolloLink.from([
    new PersistedQueryLink({ sha256, useGETForHashedQueries: true }),
    new HttpLink({ uri: service, fetch: noting }),
  ]);
  return { client: new ApolloClient({ link, cache: new InMemoryCache() }), sent };
}

export function* apollo({ service, product }) {
  yield [
    "a persisted query is sent once, then named",
    async () => {
      // A text that no other run has sent.
      const name = `Asked${Date.now()}`;
      const query = gql`query ${name} { viewer { subject } }`;
      const [first, second] = [open(service), open(service)];
      await first.client.query({ query });
      assert.deepEqual(first.sent.map((one) => one.method), ["GET", "POST"]);
      await second.client.query({ query });
      assert.deepEqual(second.sent.map((one) => one.method), ["GET"]);
      assert(!second.sent[0].url.includes(name + "%20"), "only the hash is sent");
    },
  ];

  yield [
    "the cache answers what it knows",
    async () => {
      const { client, sent } = open(service);
      const query = gql`
        query Page($slug: String!) {
          product(slug: $slug) { id name ratingStats { count } topReviews { id title } supplier { id name } }
        }`;
      const variables = { slug: product };
      const { data } = await client.query({ query, variables });
      const requests = sent.length;
      const again = await client.query({ query, variables });
      assert.deepEqual(again.data, data);
      assert.equal(sent.length, requests);
    },
  ];

  yield [
    "filters of facets can be sent back",
    async () => {
      const { client } = open(service);
      const { data } = await client.query({ query: gql(FACETS) });
      await clickAll(assert, data.products.facets, async (chosen) => {
        const clicked = await client.query({ query: gql(CLICK), variables: { chosen } });
        return clicked.data.products.totalCount.value;
      });
    },
  ];

  yield [
    "errors have their codes",
    async () => {
      const { client } = open(service);
      const failed = client.query({ query: gql`{ workers { name } }` });
      await assert.rejects(failed, (error) => error.errors[0].extensions.code === "UNAUTHENTICATED");
    },
  ];
}
