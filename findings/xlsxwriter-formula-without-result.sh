#!/usr/bin/env bash
# XlsxWriter 3.2.9 stores the number 0 as the result of every formula that it writes, and says in the workbook that all
# of them are still to be computed (fullCalcOnLoad). Readers that do not look at that mark return 0 as if it were a
# value: openpyxl 3.1.5 with data_only, and python-calamine 0.8.1. The price of a price list is 0.00.
#
# Seen:
#   fullCalcOnLoad="1"
#   openpyxl: 0
#   calamine: 0.0
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install --disable-pip-version-check XlsxWriter==3.2.9 openpyxl==3.1.5 python-calamine==0.8.1
found=$("$folder/venv/bin/python" - "$folder/prices.xlsx" <<'PYTHON'
import re, sys, zipfile
import openpyxl, python_calamine, xlsxwriter
book = xlsxwriter.Workbook(sys.argv[1])
sheet = book.add_worksheet()
sheet.write_row(0, 0, ["sku", "net", "price"])
sheet.write_row(1, 0, ["L1", 10.75])
sheet.write_formula(1, 2, "=B2*1.2")
book.close()
workbook = zipfile.ZipFile(sys.argv[1]).read("xl/workbook.xml").decode()
print(re.search(r'fullCalcOnLoad="\d"', workbook).group())
print("openpyxl:", openpyxl.load_workbook(sys.argv[1], data_only=True).active["C2"].value)
rows = python_calamine.CalamineWorkbook.from_path(sys.argv[1]).get_sheet_by_index(0).to_python()
print("calamine:", rows[1][2])
PYTHON
)
expected='fullCalcOnLoad="1"
openpyxl: 0
calamine: 0.0'
printf '%s\n' "$found"
[ "$found" = "$expected" ] || { echo "this has changed" >&2; exit 1; }
