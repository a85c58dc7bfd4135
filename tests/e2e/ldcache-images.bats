#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Every kind of image, and what is done for it: merge (our libraries into the image's cache), ldconfig (the host's, in
# its sandbox), new (a cache of ours alone), musl-path, or nothing. In each a program in the container proves that it
# finds the library. Each row is printed, so that the table of README.md can be looked up in a run.

load helpers
load ldcache-helpers

triplet=$(gcc -print-multiarch)

setup_image() {
	glibc_image
	includes_conf_d
	options+=(--log-level=info)
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.550.54
}

with_cache() { "$host_ldconfig" -X -r "$rootfs"; }

# distribution SUITE: a whole Debian in place of the small image
distribution() {
	local debian
	debian=$("$top/tests/debian-root.sh" "$@" 2>"$base/why") || skip "$(<"$base/why")"
	rm -r "$rootfs"
	mkdir "$base/"{upper,work} "$rootfs"
	mount -t overlay -o "lowerdir=$debian,upperdir=$base/upper,workdir=$base/work" overlay "$rootfs"
	mountinfo_before=$(mountinfo)
	cp "$BATS_FILE_TMPDIR/use" "$rootfs/usr/bin/"
	vendor_library
	options+=(--log-file="$base/log" --log-level=info)
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.550.54
}

# On a small musl: the loader is its C library.
musl_image() {
	local libc=/usr/lib/$triplet/../${triplet%-gnu}-musl/libc.so
	mkdir -p "$rootfs/lib" "$rootfs/usr/lib" "$rootfs/usr/local/lib"
	cp "$libc" "$rootfs/lib/ld-musl-$(uname -m).so.1"
	musl-gcc -o "$rootfs/bin/use" -x c - <<-'C'
		#include <dlfcn.h>
		#include <stdio.h>

		int main(int argc, char **argv)
		{
			void *lib = dlopen(argv[1], RTLD_NOW);
			const char **greeting = lib ? dlsym(lib, "greeting") : NULL;
			puts(greeting ? *greeting : dlerror());
			return !greeting;
		}
	C
	musl=etc/ld-musl-$(uname -m).path
	vendor_library
	options+=(--log-file="$base/log" --log-level=info)
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.1
}

# host_sbin: the directory where the host has ldconfig, as containers' hooks will see it: a copy that tests change
host_sbin() {
	local dir
	dir=$(dirname "$(readlink -f "$host_ldconfig")")
	mkdir -p "$base/sbin/"{upper,work}
	cat >"$base/sbin/runtime" <<-SH
		#!/bin/sh
		exec unshare --mount sh -c 'mount -t overlay -o lowerdir=$dir,upperdir=$base/sbin/upper,workdir=$base/sbin/work \\
			overlay $dir && exec $(command -v "$runtime") "\$@"' - "\$@"
	SH
	chmod +x "$base/sbin/runtime"
	runtime=$base/sbin/runtime
}

host_without_ldconfig() {
	host_sbin
	mknod "$base/sbin/upper/ldconfig" c 0 0
}

# row WAY WHAT [COMMAND [NAME]]: COMMAND in the container, by default `use`, must say "gadget of the host"
row() {
	local command=${3:-use libgadget.so.1}
	: >"$base/log"
	run -0 container "$command"
	says "gadget of the host"
	way "$1"
	printf '# table: %-58s %-10s %s\n' "$2" "$1" "${4:-$command}" >&3
}

# way WAY: what was done, by the hook's own word
way() {
	case $1 in
	musl-path) logged "$musl: the directories of the mounted libraries are added" ;;
	*) logged "library cache: $1, since" ;;
	esac
}

@test "images with glibc" {
	printf '# table: %-58s %-10s %s\n' "Image" "is done" "proved in the container by" >&3
	setup_image
	row ldconfig "glibc, no ld.so.cache"
	with_cache
	row merge "glibc, with ld.so.cache"
	# No conf.d, no ld.so.conf, nothing but a loader and its C library.
	rm -r "$rootfs"/etc/*
	row ldconfig "glibc, nothing in /etc"
	with_cache
	rm -f "$rootfs"/etc/ld.so.conf
	row merge "glibc, nothing in /etc but ld.so.cache"
	with_hook
	row merge "the same, a hook of the spec asks for it"
}

@test "whole distributions" {
	local suite
	[[ $(dpkg --print-architecture) == amd64 ]] || skip "these are distributions of amd64"
	# Programs that were made here need a newer C library than the oldest of these has: so its loader is asked.
	local which='path=$(/lib64/ld-linux-x86-64.so.2 --preload libgadget.so.1 --list /bin/true |
		sed -n "s/.*libgadget.so.1 => \(.*\) (.*/\1/p"); grep -ao "gadget of the host" "$path"'
	for suite in bullseye bookworm trixie; do
		distribution $suite amd64
		row merge "Debian $suite, multiarch" "$which" "its loader, and the file that it finds"
		umount "$rootfs"
		mountinfo_before=$(mountinfo)
		rm -r "$base/upper" "$base/work" "$specs/library.yaml"
	done
}

@test "32-bit libraries beside 64-bit ones" {
	[[ $(dpkg --print-architecture) == amd64 ]] || skip "these are distributions of amd64"
	local i386
	i386=$("$top/tests/debian-root.sh" bookworm i386 2>"$base/why") || skip "$(<"$base/why")"
	distribution bookworm amd64
	cp -a "$i386/usr/lib/i386-linux-gnu" "$rootfs/usr/lib/"
	ln -s i386-linux-gnu/ld-linux.so.2 "$rootfs/usr/lib/ld-linux.so.2"
	cp -a "$i386/bin/true" "$rootfs/bin/true32"
	cp "$i386"/etc/ld.so.conf.d/i386*.conf "$rootfs/etc/ld.so.conf.d/"
	echo 'const char *greeting = "32 bits";' |
		gcc -m32 -shared -fPIC -nostdlib -Wl,-soname,libgadget.so.1 -o "$base/vendor/lib32.so" -x c -
	cat >>"$specs/library.yaml" <<-YAML
		    - {hostPath: $base/vendor/lib32.so, containerPath: /opt/x/lib32/libgadget.so.550.54}
	YAML
	local trace='use libgadget.so.1; /lib/ld-linux.so.2 --preload libgadget.so.1 --list /bin/true32'
	row ldconfig "the cache does not know the 32-bit libraries" "$trace" "use, and the 32-bit loader"
	says /opt/x/lib32/libgadget.so.550.54
	row merge "the cache knows both" "$trace" "use, and the 32-bit loader"
	says /opt/x/lib32/libgadget.so.550.54
}

@test "other places for libraries" {
	setup_image
	mkdir -p "$rootfs/usr/lib64"
	library_spec "$base/vendor/libgadget.so.1" /usr/lib64/libgadget.so.550.54
	row ldconfig "lib64 as in Fedora"
	with_cache
	row merge "lib64 as in Fedora, with ld.so.cache"
	library_spec "$base/vendor/libgadget.so.1" /usr/lib/libgadget.so.550.54
	row merge "/usr/lib as in Arch"
	library "$base/vendor/v2.so" libgadget.so.1 "for an old processor"
	spec library.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/thing
		devices:
		- name: lib
		  containerEdits:
		    mounts:
		    - {hostPath: $base/vendor/v2.so, containerPath: /opt/x/lib/libgadget.so.1}
		    - {hostPath: $base/vendor/libgadget.so.1, containerPath: /opt/x/lib/glibc-hwcaps/x86-64-v2/libgadget.so.1}
	YAML
	[[ $(uname -m) != x86_64 ]] || row merge "glibc-hwcaps"
}

@test "musl" {
	musl_image
	row musl-path "musl, no path file"
	[[ $(<"$rootfs/$musl") == /opt/x/lib$'\n'/lib:/usr/local/lib:/usr/lib ]] || fail "$(<"$rootfs/$musl")"
	[[ ! -e $rootfs/etc/ld.so.cache ]]
	# The start after this one finds that it is done.
	: >"$base/log"
	run -0 container 'use libgadget.so.1'
	logged "$musl: it has the directories of the mounted libraries"
	echo "/lib:/usr/lib" >"$rootfs/$musl"
	row musl-path "musl, with a path file"
	[[ $(<"$rootfs/$musl") == /opt/x/lib$'\n'/lib:/usr/lib ]]
	# Its own libraries are still found, and come second.
	library "$rootfs/usr/lib/libown.so.1" libown.so.1 "own library"
	run -0 container 'use libown.so.1'
	says "own library"

	rm "$rootfs/$musl"
	edit_config '.root.readonly = true'
	row musl-path "musl, no path file, read-only root"
	[[ $(<"$rootfs/$musl") == /lib:/usr/local/lib:/usr/lib ]] || fail "left: $(<"$rootfs/$musl")"
	runtime_alone
	run -0 container 'use libown.so.1'
}

@test "musl: a path file that is none" {
	musl_image
	mkfifo "$rootfs/$musl"
	with_hook
	refused 10
	says "/$musl in the container is no regular file"
	rm "$rootfs/$musl"
	truncate -s 1G "$rootfs/$musl"
	refused 10
	says "/$musl"
	rm "$rootfs/$musl"
	ln -s /proc/1/root/etc/passwd "$rootfs/$musl"
	refused 10
	says "/$musl"
}

@test "images without a loader" {
	vendor_library
	options+=(--log-file="$base/log" --log-level=info)
	library_spec "$base/vendor/libgadget.so.1" /usr/lib/libgadget.so.1
	row nothing "static programs alone" 'grep -o "gadget of the host" /usr/lib/libgadget.so.1'
	[[ -z $(ls -A "$rootfs/etc") ]]
	with_hook
	row nothing "static programs alone, a hook asks for the cache" 'grep -o "gadget of the host" /usr/lib/libgadget.so.1'
	[[ -z $(ls -A "$rootfs/etc") ]]
}

# A library of another machine: one of ours with its number in the header. EM_AARCH64 is 183, EM_X86_64 62.
foreign_library() {
	cp "$base/vendor/libgadget.so.1" "$base/vendor/foreign.so"
	if [[ $(uname -m) == x86_64 ]]; then
		foreign_loader=/lib/ld-linux-aarch64.so.1 foreign_number='\267\0'
	else
		foreign_loader=/lib64/ld-linux-x86-64.so.2 foreign_number='\76\0'
	fi
	printf "$foreign_number" | dd of="$base/vendor/foreign.so" bs=1 seek=18 conv=notrunc status=none
}

@test "images of another architecture" {
	vendor_library
	foreign_library
	mkdir -p "$rootfs/$(dirname "$foreign_loader")"
	touch "$rootfs$foreign_loader"
	options+=(--log-file="$base/log" --log-level=info)
	library_spec "$base/vendor/libgadget.so.1" /usr/lib/libgadget.so.1
	local greeting='grep -o "gadget of the host" /usr/lib/libgadget.so.1'
	row nothing "another machine's loader, a library of the host's" "$greeting"
	[[ -z $(ls -A "$rootfs/etc") ]]
	library_spec "$base/vendor/foreign.so" /usr/lib/libgadget.so.1
	row new "another machine's loader, a library of that machine" "$greeting"
	run -0 cache_lists "$rootfs/etc/ld.so.cache"
	[[ $output == "libgadget.so.1 /usr/lib/libgadget.so.1" ]]
}

@test "places that cannot be written to" {
	setup_image
	with_cache
	edit_config '.root.readonly = true'
	row merge "read-only root"
	edit_config '.root.readonly = false'

	mkdir "$base/volume"
	cp -a "$rootfs/etc/." "$base/volume/"
	local before
	before=$(find "$base/volume" -printf '%p %i %s %T@\n' | sort)
	edit_config '.mounts += [{destination: "/etc", type: "bind", source: $s, options: ["bind", "ro"]}]' --arg s "$base/volume"
	row ldconfig "/etc mounted read-only"
	edit_config '.mounts[-1].options = ["bind", "rw"]'
	row ldconfig "/etc on a volume of the host"
	[[ $(find "$base/volume" -printf '%p %i %s %T@\n' | sort) == "$before" ]]
	edit_config 'del(.mounts[-1])'

	mkdir -p "$rootfs/var/lib"
	mv "$rootfs/etc/ld.so.cache" "$rootfs/var/lib/"
	ln -s /var/lib/ld.so.cache "$rootfs/etc/ld.so.cache"
	before=$(sha1sum "$rootfs/var/lib/ld.so.cache")
	row merge "ld.so.cache is a link"
	[[ ! -L $rootfs/etc/ld.so.cache && $(sha1sum "$rootfs/var/lib/ld.so.cache") == "$before" ]]
}

@test "hosts with another ldconfig, or none" {
	setup_image
	with_cache
	cp "$rootfs/etc/ld.so.cache" "$base/cache"
	host_without_ldconfig
	row merge "no ldconfig on the host"
	rm "$rootfs/etc/ld.so.cache"
	row new "no ldconfig on the host, no ld.so.cache"
	logged "the image has no library cache, and the host has no ldconfig that could be used"
	head -c 100 "$base/cache" >"$rootfs/etc/ld.so.cache"
	row new "no ldconfig on the host, a cache that is cut off"
	with_hook
	rm "$rootfs/etc/ld.so.cache"
	row new "no ldconfig on the host, and a hook asks"

	rm "$base/sbin/upper/ldconfig" "$rootfs/etc/ld.so.cache"
	cp "$host_ldconfig" "$base/sbin/upper/ldconfig.real"
	printf '#!/bin/sh\nexec /sbin/ldconfig.real "$@"\n' >"$base/sbin/upper/ldconfig"
	chmod +x "$base/sbin/upper/ldconfig"
	row ldconfig "ldconfig is a script, and ldconfig.real beside it"
	rm "$base/sbin/upper/ldconfig.real" "$rootfs/etc/ld.so.cache"
	row new "ldconfig is a script alone"
	cp "$BATS_FILE_TMPDIR/use" "$base/sbin/upper/ldconfig"
	rm "$rootfs/etc/ld.so.cache"
	row new "ldconfig is a dynamic program"
	cp "$base/cache" "$rootfs/etc/ld.so.cache"
	row merge "ldconfig is a dynamic program, with ld.so.cache"
}

@test "--dry-run says which way, and why" {
	setup_image
	local config
	run -0 dry_run
	says "refresh ldconfig /etc/ld.so.cache  # the image has no library cache"
	with_cache
	run -0 dry_run
	says "refresh merge /etc/ld.so.cache  # the image's cache is whole and sorted"
	run -0 dry_run --ldconfig=/sbin/ldconfig
	says "refresh ldconfig /etc/ld.so.cache  # --ldconfig names a program"
	run -0 dry_run --ldconfig=none
	says_not refresh
	head -c 1000 /dev/urandom >"$rootfs/etc/ld.so.cache"
	run -0 dry_run
	says "refresh ldconfig /etc/ld.so.cache  # the image's cache is no base: ld.so.cache: not a library cache"
	# And nothing was touched.
	[[ $(stat -c %s "$rootfs/etc/ld.so.cache") == 1000 && ! -e $rootfs/opt && ! -e $rootfs/$conf_d ]]
}

dry_run() { pid=1 by_hand --dry-run "$@"; }

#
# What comes later
#

@test "ldconfig and dpkg in the container keep what it found, and its own new libraries" {
	setup_image_debian
	run -0 container 'use libgadget.so.1; ldconfig; use libgadget.so.1; dpkg -i /added.deb >/dev/null; use libgadget.so.1 libadded.so.1'
	says "gadget of the host"$'\n'"gadget of the host"$'\n'"gadget of the host"$'\n'"of the package"
	# The package's trigger has written the cache, not we.
	run -0 cache_lists "$rootfs/etc/ld.so.cache"
	says "libadded.so.1 /lib/libadded.so.1" "libgadget.so.1 /opt/x/lib/libgadget.so.1"
}

# A small package with a library, whose trigger is ldconfig.
setup_image_debian() {
	distribution
	mkdir -p "$base/package/DEBIAN"
	library "$base/package/usr/lib/libadded.so.1" libadded.so.1 "of the package"
	printf 'Package: added\nVersion: 1\nArchitecture: all\nMaintainer: nobody <nobody@example.com>\nDescription: a library\n' \
		>"$base/package/DEBIAN/control"
	echo 'activate-noawait ldconfig' >"$base/package/DEBIAN/triggers"
	dpkg-deb --build "$base/package" "$rootfs/added.deb" >/dev/null
}

@test "a second container from the same image, at the same time" {
	setup_image_debian
	run -0 container 'use libgadget.so.1'
	local first
	first=$(sha1sum <"$rootfs/etc/ld.so.cache")
	# Another copy of the image, with another driver: neither sees the other's.
	id=$id-second
	library "$base/vendor/libwidget.so.3" libwidget.so.3 "widget of the host"
	cp -a "$base/upper" "$base/upper2"
	library_spec "$base/vendor/libwidget.so.3" /opt/x/lib/libwidget.so.3
	row merge "an image that was a container with another device" 'use libwidget.so.3; echo gadget of the host'
	says "widget of the host"
	[[ $(sha1sum <"$base/upper2/etc/ld.so.cache") == "$first" ]]
}

@test "an image that was committed with the driver, and is started without" {
	setup_image_debian
	library "$rootfs/usr/lib/libown.so.1" libgadget.so.1 "gadget of the image"
	chroot "$rootfs" ldconfig
	run -0 container 'use libgadget.so.1'
	says "gadget of the host"
	# All that is left is what was written to the layer: the cache, the conf.d file, a mount point.
	edit_config 'del(.hooks)'
	run -0 timeout 60 "$runtime" --root "$base/runc" run --bundle "$bundle" "$id" </dev/null
	says "gadget of the image"
	rm "$rootfs/opt/x/lib/"*
	run -0 timeout 60 "$runtime" --root "$base/runc" run --bundle "$bundle" "$id" </dev/null
	says "gadget of the image"
	chroot "$rootfs" ldconfig
	run -0 timeout 60 "$runtime" --root "$base/runc" run --bundle "$bundle" "$id" </dev/null
	says "gadget of the image"
}
