// Asks a running service with the client libraries that storefronts use, and with the audits of the
// specifications.
//
// Reads { service, sdl, product } from standard input: the address of the service, its
// schema, and the slug of a product that has a brand. Prints a list of { check, error }, where
// `error` is null if the check passed. By hand, against a service that `cargo run` has started:
//
//   npm ci --prefix tests/clients
//   node -p 'JSON.stringify({
//     service: "http://127.0.0.1:8080/graphql", product: "karst-strata-700-monitor-68-6-cm",
//     sdl: fs.readFileSync("schema/vitrine.graphql", "utf8") })' | node tests/clients/run.mjs

import { readFileSync } from "node:fs";
import { apollo } from "./apollo.mjs";
import { audits } from "./audits.mjs";
import { introspection } from "./introspection.mjs";
import { relay } from "./relay.mjs";
import { serverSentEvents, webSocket } from "./subscriptions.mjs";
import { urql } from "./urql.mjs";

const input = JSON.parse(readFileSync(0, "utf8"));
const results = [];
for (const check of [audits, introspection, relay, serverSentEvents, webSocket, apollo, urql]) {
  for await (const [name, run] of check(input)) {
    const error = await run().then(
      () => null,
      (error) => String(error?.stack ?? error),
    );
    results.push({ check: `${check.name}: ${name}`, error });
  }
}
console.log(JSON.stringify(results));
// Clients keep connections open.
process.exit(0);
