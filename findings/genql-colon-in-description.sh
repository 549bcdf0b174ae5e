#!/usr/bin/env bash
# A colon in the description of an argument makes @genql/cli 6.3.4 require __args for a field whose arguments are all
# optional: the types of its client refuse a valid query. The same schema without the colon is right.
#
# Seen:
#   without a colon: __args?:
#   with a colon: __args:
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
(cd "$folder" && npm init --yes >/dev/null && npm install --silent --no-audit --no-fund @genql/cli@6.3.4 graphql@16.15.0)
args() {
    printf 'type Query {\n  lamps(\n    "%s"\n    unit: String\n  ): Lamp\n}\ntype Lamp { name: String }\n' "$1" >"$folder/schema.graphql"
    (cd "$folder" && npx --no-install genql --schema schema.graphql --output "$2" >/dev/null 2>&1)
    grep -A 1 'lamps?: (LampGenqlSelection & {' "$folder/$2/schema.ts" | grep -o '__args?*:' | head -1
}
found="without a colon: $(args 'The unit, such as mm' plain)
with a colon: $(args 'The unit: mm' colon)"
expected='without a colon: __args?:
with a colon: __args:'
printf '%s\n' "$found"
[ "$found" = "$expected" ] || { echo "this has changed" >&2; exit 1; }
