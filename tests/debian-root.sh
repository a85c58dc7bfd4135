#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tests/debian-root.sh
#
# Prints the directory of a minimal Debian 12, which nobody may change: take a copy, or mount it as
# the lower directory of an overlay. It is made once, by debootstrap from wherever this machine's
# apt takes its packages, and kept below /var/cache/oci-cdi-hook-tests.
set -euo pipefail

cache=/var/cache/oci-cdi-hook-tests
suite=bookworm
base=$cache/$suite-$(dpkg --print-architecture)

die() { echo "debian-root: $*" >&2; exit 1; }

if [[ ! -d $base ]]; then
	((EUID == 0)) || die "needs root"
	command -v debootstrap >/dev/null || die "there is no debootstrap"
	mkdir -p "$cache/archives/partial"
	# Several tests may want it at once.
	exec {lock}>"$cache/lock"
	flock "$lock"
fi
if [[ ! -d $base ]]; then
	mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
		'Identifier: Packages' "Origin: Debian" | awk -v s="$suite" '$2 == s && $3 == "main" {print $1; exit}')
	[[ -n $mirror ]] || die "this machine's apt has no source for Debian $suite"
	proxy=$(apt-config dump --format '%v%n' Acquire::http::Proxy)
	echo "debian-root: makes a bare system (once)" >&2
	rm -rf "$base.new"
	http_proxy=${http_proxy:-$proxy} debootstrap --variant=minbase --cache-dir="$cache/archives" \
		"$suite" "$base.new" "$mirror" >"$cache/debootstrap.log" 2>&1 ||
		{ tail -n 20 "$cache/debootstrap.log" >&2; die "debootstrap did not work"; }
	mv "$base.new" "$base"
fi
echo "$base"
