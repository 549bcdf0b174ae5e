#!/usr/bin/env bash
# gql.tada 1.11.3 reads isOneOf of an input, and its types still allow both fields of it at once, and none: a query that
# every server must refuse passes the compiler.
#
# Seen:
#   introspection: isOneOf
#   both fields: compiles
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund gql.tada@1.11.3 graphql@16.15.0 typescript@5.9.3
cat >schema.graphql <<'SDL'
input TextFilter @oneOf { eq: String in: [String!] }
type Query { lamps(name: TextFilter!): String }
SDL
cat >tsconfig.json <<'JSON'
{ "compilerOptions": { "strict": true, "noEmit": true, "skipLibCheck": true, "module": "nodenext", "moduleResolution": "nodenext",
  "plugins": [{ "name": "gql.tada/ts-plugin", "schema": "./schema.graphql", "tadaOutputLocation": "./graphql-env.d.ts" }] },
  "files": ["graphql-env.d.ts", "query.ts"] }
JSON
cat >query.ts <<'TS'
import { initGraphQLTada, type VariablesOf } from "gql.tada";
import type { introspection } from "./graphql-env.d.ts";
const graphql = initGraphQLTada<{ introspection: introspection }>();
const lamps = graphql(`query ($name: TextFilter!) { lamps(name: $name) }`);
export const variables: VariablesOf<typeof lamps> = { name: { eq: "a", in: ["b"] } };
TS
npx --no-install gql.tada generate-output >/dev/null 2>&1
found="introspection: $(grep -o 'isOneOf: true' graphql-env.d.ts | head -1 | cut -d: -f1)
both fields: $(npx --no-install tsc >tsc.log && echo compiles || sed -n 1p tsc.log)"
expected='introspection: isOneOf
both fields: compiles'
printf '%s\n' "$found"
[ "$found" = "$expected" ] || { echo "this has changed" >&2; exit 1; }
