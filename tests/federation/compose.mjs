// Composes supergraphs. Reads a JSON list from standard input, in which each supergraph is the list
// of its subgraphs, as { name, sdl }. Prints for each supergraph { errors: ["CODE: message"],
// supergraph, api }: its schema and what its clients see of it, or null after errors.

import { readFileSync } from "node:fs";
import { composeServices } from "@apollo/composition";
import { Supergraph } from "@apollo/federation-internals";
import { parse, printSchema } from "graphql";

function compose(subgraphs) {
  const services = subgraphs.map(({ name, sdl }) => ({ name, typeDefs: parse(sdl) }));
  const composed = composeServices(services);
  const errors = composed.errors ?? [];
  const supergraph = composed.supergraphSdl ?? null;
  return {
    errors: errors.map((error) => `${error.extensions.code}: ${error.message}`),
    supergraph,
    api: supergraph && clientSchema(supergraph),
  };
}

function clientSchema(supergraph) {
  return printSchema(Supergraph.build(supergraph).apiSchema().toGraphQLJSSchema());
}

const supergraphs = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(supergraphs.map(compose)));
