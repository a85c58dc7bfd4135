#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tests/cri-tools.sh [--if-cached] crictl|containerd|debian-containerd|docker
#
# Prints the directory of programs that a few tests run, and that no machine should have installed for
# them: crictl, by which the tests speak to a container engine as a kubelet does, and a containerd that
# knows CDI itself, with its shim and ctr, which no package of Debian 12 has; and the programs of Debian's own
# packages of containerd and docker, which start services, and before which docker's own packages
# would have to go. They are made once, by `go install` from wherever this machine's Go takes its
# modules or by apt-get, and kept below /var/cache/oci-cdi-hook-tests; with --if-cached nothing is made.
set -euo pipefail

cache=/var/cache/oci-cdi-hook-tests

# Where Go is that a system without a login shell does not look for.
PATH=$PATH:/usr/local/go/bin

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
debian-containerd) version=bookworm package=containerd packages=() ;;
docker) version=bookworm package=docker.io packages=() ;;
*) die "usage: cri-tools.sh [--if-cached] crictl|containerd|debian-containerd|docker" ;;
esac
bin=$cache/$1-$version

if [[ ! -d $bin ]]; then
	[[ -n $build ]] || die "$1 $version is not here yet, and takes minutes or much room: LONG=1 gets it"
	((EUID == 0)) || die "needs root"
	((${#packages[@]} == 0)) || command -v go >/dev/null || die "there is no Go to build $1 with"
	mkdir -p "$cache/go"
	exec {lock}>"$cache/lock-$1"
	flock "$lock"
fi

from_go() {
	cd / && CGO_ENABLED=0 GOTOOLCHAIN=auto GOFLAGS=-modcacherw GOCACHE=$cache/go/build GOMODCACHE=$cache/go/mod \
		GOBIN=$bin.new go install "${packages[@]/%/@$version}"
}

# Debian's package, unpacked beside the system.
from_debian() {
	mkdir "$bin.new" && cd "$bin.new" && apt-get -qq update && apt-get -qq download "$package" && dpkg -x ./*.deb root &&
		find root/usr -path '*bin/*' -type f -exec mv -t . {} + && rm -r root ./*.deb
}

if [[ ! -d $bin ]]; then
	rm -rf "$bin.new"
	if ((${#packages[@]})); then from=from_go; else from=from_debian; fi
	($from) >"$cache/$1.log" 2>&1 || die "$1 cannot be had: $(tail -n 1 "$cache/$1.log")"
	mv "$bin.new" "$bin"
fi
echo "$bin"
