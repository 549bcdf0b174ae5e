#!/usr/bin/env bash
# A collector of prometheus-client for Rust that gives f64::MAX as the last bound of a histogram has a bucket +Inf with
# 0.25.1, and with the patch release 0.25.2 one that ends at the largest float. Prometheus answers NaN for quantiles then.
# promtool 2.42.0 (Debian 12) says nothing of it; the OpenMetrics parser of prometheus-client 0.26.0 for Python does.
#
# Seen:
#   0.25.1: +Inf
#   0.25.2: 1.7976931348623157e308
#   promtool: accepted
#   Python: +Inf bucket missing
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir -p metrics/src
cat >metrics/src/main.rs <<'RUST'
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{text::encode, DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

#[derive(Debug)]
struct Waits;

impl Collector for Waits {
    fn encode(&self, mut all: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let mut metric = all.encode_descriptor("wait_seconds", "How long callers wait", None, MetricType::Histogram)?;
        metric.encode_histogram::<NoLabelSet>(3.0, 1, &[(0.1, 0), (f64::MAX, 1)], None)
    }
}

fn main() {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Waits));
    let mut page = String::new();
    encode(&mut page, &registry).unwrap();
    print!("{page}");
}
RUST
page() {
    printf '[package]\nname = "metrics"\nversion = "1.0.0"\nedition = "2021"\n[dependencies]\nprometheus-client = "=%s"\n[workspace]\n' "$1" >metrics/Cargo.toml
    rm -f metrics/Cargo.lock
    (cd metrics && cargo run --quiet) >"page-$1"
    grep -o 'le="[^"]*"' "page-$1" | tail -1 | cut -d'"' -f2
}
first=$(page 0.25.1)
second=$(page 0.25.2)
apt-get download prometheus >/dev/null 2>&1
dpkg -x prometheus_2.42*.deb debian
debian/usr/bin/promtool check metrics <page-0.25.2 >promtool.log 2>&1 && checked=accepted || checked=$(cat promtool.log)
python3 -m venv venv
venv/bin/pip --quiet install --disable-pip-version-check prometheus-client==0.26.0
parsed=$(venv/bin/python - page-0.25.2 <<'PYTHON'
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
try:
    list(text_string_to_metric_families(open(sys.argv[1]).read()))
    print("accepted")
except ValueError as wrong:
    print(str(wrong).split(":")[0])
PYTHON
)
found="0.25.1: $first
0.25.2: $second
promtool: $checked
Python: $parsed"
expected='0.25.1: +Inf
0.25.2: 1.7976931348623157e308
promtool: accepted
Python: +Inf bucket missing'
printf '%s\n' "$found"
[ "$found" = "$expected" ] || { echo "this has changed" >&2; exit 1; }
