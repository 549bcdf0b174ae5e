#!/usr/bin/env bash
# @oneOf is a directive of GraphQL itself since September 2025. @apollo/composition 2.14.4 refuses a subgraph that uses
# it without a definition, and leaves it out of the supergraph, without an error or a hint, if there is one. Clients
# that are generated from the supergraph give { eq, in } together, and the subgraph refuses them later.
#
# Seen:
#   as GraphQL has it: Unknown directive "@oneOf".
#   with a definition: 0 errors, 0 hints, no oneOf in the supergraph
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
(cd "$folder" && npm init --yes >/dev/null && npm install --silent --no-audit --no-fund @apollo/composition@2.14.4 graphql@16.15.0)
found=$(cd "$folder" && node -e '
const { composeServices } = require("@apollo/composition");
const { parse } = require("graphql");
const sdl = `
  extend schema @link(url: "https://specs.apollo.dev/federation/v2.5", import: ["@key"])
  input TextFilter @oneOf { eq: String in: [String!] }
  type Query { lamps(name: TextFilter): [String!]! }
`;
const compose = (text) => composeServices([{ name: "lamps", url: "http://lamps", typeDefs: parse(text) }]);
console.log("as GraphQL has it:", compose(sdl).errors?.[0].message.split("\n")[0].replace("[lamps] ", "") ?? "accepted");
const { errors = [], hints = [], supergraphSdl = "" } = compose(`${sdl} directive @oneOf on INPUT_OBJECT`);
const kept = /input TextFilter[^{]*@oneOf/.test(supergraphSdl) ? "oneOf" : "no oneOf";
console.log(`with a definition: ${errors.length} errors, ${hints.length} hints, ${kept} in the supergraph`);
')
expected='as GraphQL has it: Unknown directive "@oneOf".
with a definition: 0 errors, 0 hints, no oneOf in the supergraph'
printf '%s\n' "$found"
[ "$found" = "$expected" ] || { echo "this has changed" >&2; exit 1; }
