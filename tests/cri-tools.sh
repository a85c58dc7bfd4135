#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tests/cri-tools.sh [--if-cached] crictl|containerd
#
# Prints the directory of programs that no package of Debian 12 has: crictl, by which the tests speak
# to a container engine as a kubelet does, or a containerd that knows CDI itself, with its shim and
# ctr. They are built once, by `go install` from wherever this machine's Go takes its modules, and
# kept below /var/cache/oci-cdi-hook-tests; with --if-cached nothing is built. Tests run them; nothing
# that is shipped does.
set -euo pipefail

cache=/var/cache/oci-cdi-hook-tests

die() { echo "cri-tools: $*" >&2; exit 1; }

build=yes
if [[ ${1:-} == --if-cached ]]; then
	build=
	shift
fi
case ${1:-} in
crictl) version=v1.37.0 packages=(sigs.k8s.io/cri-tools/cmd/crictl) ;;
containerd)
	version=v2.4.2
	packages=(github.com/containerd/containerd/v2/cmd/{containerd,containerd-shim-runc-v2,ctr})
	;;
*) die "usage: cri-tools.sh [--if-cached] crictl|containerd" ;;
esac
bin=$cache/$1-$version

if [[ ! -d $bin ]]; then
	[[ -n $build ]] || die "$1 $version is not built yet, which takes minutes: LONG=1 builds it"
	((EUID == 0)) || die "needs root"
	command -v go >/dev/null || die "there is no Go to build $1 with"
	mkdir -p "$cache/go"
	exec {lock}>"$cache/lock-$1"
	flock "$lock"
fi
if [[ ! -d $bin ]]; then
	rm -rf "$bin.new"
	(cd / && CGO_ENABLED=0 GOTOOLCHAIN=auto GOFLAGS=-modcacherw GOCACHE=$cache/go/build GOMODCACHE=$cache/go/mod \
		GOBIN=$bin.new go install "${packages[@]/%/@$version}" >"$cache/$1.log" 2>&1) ||
		die "$1 cannot be built: $(tail -n 1 "$cache/$1.log")"
	mv "$bin.new" "$bin"
fi
echo "$bin"
