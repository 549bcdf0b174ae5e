#!/usr/bin/env bash
# SheetJS (npm xlsx 0.18.5) writes line breaks between the cells of a row of an OpenDocument sheet, which the format
# allows (a row has element content, in which white space means nothing). python-calamine 0.8.1 refuses such a file.
# Feeds that a program saves as ods with SheetJS cannot be read by services on calamine.
#
# Seen:
#   between cells: white space
#   calamine: refused
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
(cd "$folder" && npm init --yes >/dev/null && npm install --silent --no-audit --no-fund xlsx@0.18.5)
node -e '
const xlsx = require(process.argv[1] + "/node_modules/xlsx");
const book = xlsx.utils.book_new();
xlsx.utils.book_append_sheet(book, xlsx.utils.aoa_to_sheet([["sku", "price"], ["L1", 12.9]]), "P");
xlsx.writeFile(book, process.argv[1] + "/prices.ods");
' "$folder"
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install --disable-pip-version-check python-calamine==0.8.1
found=$("$folder/venv/bin/python" - "$folder/prices.ods" <<'PYTHON'
import re, sys, zipfile
import python_calamine
content = zipfile.ZipFile(sys.argv[1]).read("content.xml").decode()
between = re.search(r"</table:table-cell>([^<]*)<table:table-cell", content).group(1)
print("between cells:", "white space" if between and not between.strip() else repr(between))
try:
    print("calamine:", python_calamine.CalamineWorkbook.from_path(sys.argv[1]).get_sheet_by_index(0).to_python())
except Exception:
    print("calamine: refused")
PYTHON
)
expected='between cells: white space
calamine: refused'
printf '%s\n' "$found"
[ "$found" = "$expected" ] || { echo "this has changed" >&2; exit 1; }
