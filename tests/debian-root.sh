#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tests/debian-root.sh [SUITE [ARCHITECTURE]]
#
# Prints the directory of a minimal Debian, by default Debian 12 of this machine's architecture, which nobody may change: take
# a copy, or mount it as the lower directory of an overlay. It is made once, by debootstrap from wherever
# this machine's apt takes its packages, and kept below /var/cache/oci-cdi-hook-tests.
set -euo pipefail

cache=/var/cache/oci-cdi-hook-tests
suite=${1:-bookworm}
arch=${2:-$(dpkg --print-architecture)}
base=$cache/$suite-$arch

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
	# A mirror of one release has the others too. Its security and updates stand elsewhere.
	mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' \
		"Origin: Debian" | awk '$2 !~ /-/ && $3 == "main" {print $1; exit}')
	[[ -n $mirror ]] || die "this machine's apt has no source for Debian"
	proxy=$(apt-config dump --format '%v%n' Acquire::http::Proxy)
	echo "debian-root: makes a bare system (once)" >&2
	rm -rf "$base.new"
	http_proxy=${http_proxy:-$proxy} debootstrap --variant=minbase --arch="$arch" --cache-dir="$cache/archives" \
		"$suite" "$base.new" "$mirror" >"$cache/debootstrap.log" 2>&1 ||
		{ tail -n 20 "$cache/debootstrap.log" >&2; die "debootstrap did not work"; }
	mv "$base.new" "$base"
fi
echo "$base"
