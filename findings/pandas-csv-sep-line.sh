#!/usr/bin/env bash
# pandas 2.3.3 reads a CSV file whose first line is `sep=;`, as users of Excel write it, without an error: that line
# is its header. With `sep=";"` the first column becomes the index and the true header a row of values; with the
# delimiter left to it (sep=None, engine="python") as well. A feed loses the names of its columns.
#
# Seen:
#   columns: ['sep=', 'Unnamed: 1']
#   index: ['sku', 'L1', 'L2']
#   first row: ['name', 'price']
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install --disable-pip-version-check pandas==2.3.3
printf 'sep=;\nsku;name;price\nL1;Lamp;12,90\nL2;Clip;6,00\n' > "$folder/prices.csv"
found=$("$folder/venv/bin/python" - "$folder/prices.csv" <<'PYTHON'
import sys
import pandas
table = pandas.read_csv(sys.argv[1], sep=";")
print("columns:", list(table.columns))
print("index:", list(table.index))
print("first row:", list(table.iloc[0]))
PYTHON
)
expected="columns: ['sep=', 'Unnamed: 1']
index: ['sku', 'L1', 'L2']
first row: ['name', 'price']"
printf '%s\n' "$found"
[ "$found" = "$expected" ] || { echo "this has changed" >&2; exit 1; }
