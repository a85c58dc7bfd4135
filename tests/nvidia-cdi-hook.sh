#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tests/nvidia-cdi-hook.sh
#
# Prints the path of the vendor's own nvidia-cdi-hook, the release that the built-in hooks are
# compared with. It is built once, by `go install` from wherever this machine's Go takes its modules,
# and kept below /var/cache/oci-cdi-hook-tests. Tests run it; nothing that is shipped does.
set -euo pipefail

version=v1.20.2
cache=/var/cache/oci-cdi-hook-tests
bin=$cache/nvidia-cdi-hook-$version

die() { echo "nvidia-cdi-hook: $*" >&2; exit 1; }

if [[ ! -x $bin/nvidia-cdi-hook ]]; then
	((EUID == 0)) || die "needs root"
	command -v go >/dev/null || die "there is no Go to build the vendor's hook with"
	mkdir -p "$cache/go"
	exec {lock}>"$cache/lock-nvidia"
	flock "$lock"
fi
if [[ ! -x $bin/nvidia-cdi-hook ]]; then
	rm -rf "$bin.new"
	(cd / && GOTOOLCHAIN=auto GOFLAGS=-modcacherw GOCACHE=$cache/go/build GOMODCACHE=$cache/go/mod GOBIN=$bin.new \
		go install "github.com/NVIDIA/nvidia-container-toolkit/cmd/nvidia-cdi-hook@$version" >"$cache/nvidia.log" 2>&1) ||
		die "the vendor's hook cannot be built: $(tail -n 1 "$cache/nvidia.log")"
	mv "$bin.new" "$bin"
fi
echo "$bin/nvidia-cdi-hook"
