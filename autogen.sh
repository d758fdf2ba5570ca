#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes configure and what goes with it; needed once in a checkout, never in a release.
set -e
cd "$(dirname "$0")"
exec autoreconf --install --force --warnings=all
