#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tests/newer-engine.sh runc|youki|crun|podman
#
# Prints the path of an engine that is newer than this Debian's: a release of runc or youki, each
# built from wherever this machine's Go or cargo takes its sources, or Debian forky's crun or podman,
# with the libraries that they need from there. Made once, kept below /var/cache/oci-cdi-hook-tests.
# runc is made within a minute. The others take longer, and are made only where LONG=1 asks for that.
#
# Exits 77 and says why when this machine cannot have it, or LONG=1 was not given.
set -euo pipefail

cache=/var/cache/oci-cdi-hook-tests
runc=v1.5.3
youki=0.7.0
debian=forky

# Where tools are that a system without a login shell does not look for.
PATH=$PATH:/usr/local/go/bin:${CARGO_HOME:-${HOME:-/root}/.cargo}/bin

die() { echo "newer-engine: $1: $2" >&2; exit 77; }
last_line_of() { grep -v '^ *$' "$1" | tail -n 1; }

# build_runc DIRECTORY
build_runc() {
	command -v go >/dev/null || die runc "there is no Go to build it with"
	(cd / && GOTOOLCHAIN=auto GOFLAGS=-modcacherw GOCACHE=$cache/go/build GOMODCACHE=$cache/go/mod GOBIN=$1 \
		go install -tags seccomp -ldflags '-s -w' "github.com/opencontainers/runc@$runc" >"$cache/runc.log" 2>&1) ||
		die runc "it cannot be built: $(last_line_of "$cache/runc.log")"
}

# build_youki DIRECTORY: the features are those that a distribution builds it with. One core at a
# low priority: it takes minutes, and nobody waits for it.
build_youki() {
	local version
	command -v cargo >/dev/null || die youki "there is no cargo to build it with"
	version=$(cargo --version | awk '{print $2}')
	[[ $(printf '%s\n' 1.85.0 "$version" | sort -V | head -n 1) == 1.85.0 ]] ||
		die youki "cargo $version is too old to build it, it wants 1.85"
	CARGO_TARGET_DIR=$cache/youki.build nice -n 19 cargo install youki --version "$youki" --locked --jobs 1 \
		--features v1,v2,systemd,cgroupsv2_devices,seccomp --root "$1.tree" >"$cache/youki.log" 2>&1 ||
		die youki "it cannot be built: $(last_line_of "$cache/youki.log")"
	mv "$1.tree/bin" "$1"
	rm -rf "$1.tree" "$cache/youki.build"
}

# forky DIRECTORY: Debian's packages of crun and podman with all that they need, down to libc, unpacked
# beside the system. The programs are told where their libraries are: they call themselves again by
# /proc/self/exe, which a loader that is called by hand does not survive.
forky() {
	local apt=$cache/apt-$debian package mirror file libraries
	command -v patchelf >/dev/null || die "$name" "there is no patchelf"
	mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' \
		"Origin: Debian" | awk '$2 !~ /-/ && $3 == "main" {print $1; exit}')
	[[ -n $mirror ]] || die "$name" "this machine's apt has no source for Debian"

	rm -rf "$apt"
	mkdir -p "$apt"/{lists,archives}/partial
	: >"$apt/status"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $debian main" >"$apt/sources"
	local options=(-o "Dir::State=$apt" -o "Dir::State::Lists=$apt/lists" -o "Dir::State::status=$apt/status"
		-o "Dir::Cache=$apt" -o "Dir::Cache::Archives=$apt/archives" -o "Dir::Etc::SourceList=$apt/sources"
		-o Dir::Etc::SourceParts=/dev/null -o APT::Sandbox::User=root)
	{
		apt-get "${options[@]}" update &&
			apt-get "${options[@]}" install --download-only --no-install-recommends -y crun podman
	} >"$cache/$debian.log" 2>&1 || die "$name" "Debian $debian cannot be fetched: $(last_line_of "$cache/$debian.log")"
	for package in "$apt"/archives/*.deb; do
		dpkg-deb --extract "$package" "$1"
	done
	rm -rf "$apt"

	# Where they will stand, which is not where they are now.
	libraries=$cache/$debian/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || gcc -print-multiarch)
	for file in crun podman conmon; do
		patchelf --set-interpreter "$(realpath -m "$libraries/$(basename "$(patchelf --print-interpreter "$1/usr/bin/$file")")")" \
			--force-rpath --set-rpath "$libraries" "$1/usr/bin/$file"
	done
}

# once NAME WHERE COMMAND: WHERE is there, made by `COMMAND TEMPORARY`
once() {
	local name=$1 where=$2 command=$3 lock
	[[ ! -e $where ]] || return 0
	((EUID == 0)) || die "$name" "needs root"
	[[ $name == runc || -n ${LONG:-} ]] || die "$name" "made only by a long run (LONG=1)"
	mkdir -p "$cache"
	exec {lock}>"$cache/lock-$(basename "$where")"
	flock "$lock"
	[[ ! -e $where ]] || return 0
	rm -rf "$where.new"
	"$command" "$where.new"
	mv "$where.new" "$where"
}

case ${1:-} in
runc)
	once runc "$cache/runc-$runc" build_runc
	echo "$cache/runc-$runc/runc"
	;;
youki)
	once youki "$cache/youki-$youki" build_youki
	echo "$cache/youki-$youki/youki"
	;;
crun | podman)
	once "$1" "$cache/$debian" forky
	echo "$cache/$debian/usr/bin/$1"
	;;
*)
	echo "usage: newer-engine.sh runc|youki|crun|podman" >&2
	exit 2
	;;
esac
