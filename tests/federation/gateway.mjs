// Queries the running service and two other subgraphs through a gateway.
//
// Reads { service, token, knows, queries } from standard input: the address of the service, a token
// or null, what the other subgraphs know, and the queries. Prints for each query { data, errors,
// asked }, where `asked` has the requests that the gateway sent, as { subgraph, query,
// representations }.

import { readFileSync } from "node:fs";
import { composeServices } from "@apollo/composition";
import { ApolloGateway, LocalGraphQLDataSource, RemoteGraphQLDataSource } from "@apollo/gateway";
import { parse } from "graphql";
import { subgraphs } from "./subgraphs.mjs";

const { service, token, knows, queries } = JSON.parse(readFileSync(0, "utf8"));
const headers = { "content-type": "application/json" };
if (token) headers.authorization = `Bearer ${token}`;

const local = subgraphs(knows);
const introspected = await fetch(service, {
  method: "POST",
  headers,
  body: JSON.stringify({ query: "{ _service { sdl } }" }),
});
const { sdl } = (await introspected.json()).data._service;
const composed = composeServices([
  { name: "catalogue", typeDefs: parse(sdl), url: service },
  ...local.map(({ name, sdl }) => ({ name, typeDefs: parse(sdl), url: "local" })),
]);
if (composed.errors) throw composed.errors;

let asked = [];
const noting = (name, source) => ({
  process(options) {
    const { query, variables } = options.request;
    const { representations } = variables ?? {};
    asked.push({ subgraph: name, query, representations });
    return source.process(options);
  },
});

const silent = () => {};
const logger = { debug: silent, info: silent, warn: silent, error: silent };
const gateway = new ApolloGateway({
  supergraphSdl: composed.supergraphSdl,
  logger,
  buildService({ name, url }) {
    const here = local.find((one) => one.name === name);
    if (here) return noting(name, new LocalGraphQLDataSource(here.schema));
    const willSendRequest = ({ request }) => {
      if (token) request.http.headers.set("authorization", headers.authorization);
    };
    return noting(name, new RemoteGraphQLDataSource({ url, willSendRequest }));
  },
});
const { schema, executor } = await gateway.load();

const answers = [];
for (const query of queries) {
  asked = [];
  const { data, errors } = await executor({
    request: { query, variables: {} },
    document: parse(query),
    operationName: null,
    queryHash: query,
    schema,
    logger,
    context: {},
    metrics: {},
    cache: new Map(),
  });
  const problems = (errors ?? []).map((error) => error.message);
  answers.push({ data, errors: problems, asked });
}
await gateway.stop();
console.log(JSON.stringify(answers));
