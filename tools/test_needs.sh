#!/bin/sh
# What the tests use beside Python packages: the embedded model's weights, and Chromium for the report.
# Chromium is installed only where that needs no question (root on Debian or Ubuntu); tests say so where it is absent.
set -eu
bin=$1
"$bin/isogloss" models pull smollm2
if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
    else
        echo "no Chromium here: tests that look at the report in a browser will be skipped"
    fi
fi
