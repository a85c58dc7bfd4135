#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# A program in the container finds the mounted libraries by their sonames. The images here hold
# little more than a C library; ldcache-debian.bats has a whole distribution, ldcache-errors.bats
# an ldconfig that fails and images that mean harm.

load helpers
load ldcache-helpers

@test "a library is found by its soname, also where no loader looks" {
	glibc_image
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.1
	run -0 container 'use libgadget.so.1 && stat -c "%a %u:%g" /etc/ld.so.cache'
	says "gadget of the host" "644 0:0"
}

@test "with a read-only root: found, and the image's cache stays as it is" {
	glibc_image
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.1
	edit_config '.root.readonly = true'
	echo 'of the image' >"$rootfs/etc/ld.so.cache"
	run -0 container 'use libgadget.so.1; echo x >/etc/ld.so.cache || true'
	says "gadget of the host" "Read-only file system"
	[[ $(<"$rootfs/etc/ld.so.cache") == "of the image" ]]
}

@test "with a read-only root and no cache in the image: an empty file is made to mount it on" {
	glibc_image
	includes_conf_d
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.1
	edit_config '.root.readonly = true'
	run -0 container 'use libgadget.so.1'
	says "gadget of the host"
	[[ -f $rootfs/etc/ld.so.cache && ! -s $rootfs/etc/ld.so.cache ]]
	[[ ! -e $rootfs/$conf_d ]]
}

@test "a file's name may be another than its soname, as drivers have it" {
	glibc_image
	includes_conf_d
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.550.54.14
	run -0 container 'use libgadget.so.1 && ldconfig && use libgadget.so.1'
	says "gadget of the host"$'\n'"gadget of the host"
}

@test "a mounted directory of libraries" {
	glibc_image
	library "$base/vendor/libwidget.so.3.14" libwidget.so.3 "widget of the host"
	ln -s libwidget.so.3.14 "$base/vendor/libwidget.so.3"
	library_spec "$base/vendor" /opt/x/lib
	run -0 container 'use libgadget.so.1 libwidget.so.3'
	says "gadget of the host" "widget of the host"
}

@test "several releases in a mounted directory: the link of the soname's name decides" {
	glibc_image
	library "$base/vendor/libwidget.so.3.9" libwidget.so.3 "widget 3.9"
	library "$base/vendor/libwidget.so.3.10" libwidget.so.3 "widget 3.10"
	ln -s libwidget.so.3.10 "$base/vendor/libwidget.so.3"
	library_spec "$base/vendor" /opt/x/lib
	run -0 container 'use libwidget.so.3'
	says "widget 3.10"
	ln -sfn libwidget.so.3.9 "$base/vendor/libwidget.so.3"
	run -0 container 'use libwidget.so.3'
	says "widget 3.9"
}

@test "several releases in a mounted directory and no such link: the newest, as ldconfig has it" {
	glibc_image
	library "$base/vendor/libwidget.so.3.9" libwidget.so.3 "widget 3.9"
	library "$base/vendor/libwidget.so.3.10" libwidget.so.3 "widget 3.10"
	library_spec "$base/vendor" /opt/x/lib
	run -0 container 'use libwidget.so.3'
	says "widget 3.10"
}

@test "the image has an older library of that soname where its loader looks: ours wins" {
	local dir
	glibc_image
	includes_conf_d
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.1
	for dir in "$libdir" /lib /usr/lib; do
		library "$rootfs$dir/libgadget.so.1" libgadget.so.1 "gadget of the image"
		run -0 container 'use libgadget.so.1; ldconfig; use libgadget.so.1'
		says "gadget of the host"$'\n'"gadget of the host"
		rm "$rootfs$dir/libgadget.so.1"
	done
}

@test "the image's own libraries are still in the cache, those of its configuration too" {
	glibc_image
	includes_conf_d
	library "$rootfs/usr/lib/libown.so.1" libown.so.1 "own library"
	library "$rootfs/srv/lib/libfar.so.1" libfar.so.1 "far library"
	echo /srv/lib >"$rootfs/etc/ld.so.conf.d/far.conf"
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.1
	run -0 container 'use libgadget.so.1 libown.so.1 libfar.so.1'
	says "gadget of the host" "own library" "far library"

	# All that an ldconfig of the image would find, and ours.
	run cache_lists "$rootfs/etc/ld.so.cache"
	says "libgadget.so.1 /opt/x/lib/libgadget.so.1"
	local ours=$output
	rm -r "$rootfs/opt"
	"$host_ldconfig" -X -r "$rootfs"
	run cache_lists "$rootfs/etc/ld.so.cache"
	[[ -z $(comm -13 <(sort <<<"$ours") <(sort <<<"$output")) ]] ||
		fail "$(diff <(sort <<<"$output") <(sort <<<"$ours"))"
}

@test "ldconfig that is run in the container keeps what it found" {
	glibc_image
	includes_conf_d
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.1
	run -0 container 'ldconfig && ldconfig -p | grep -c gadget && use libgadget.so.1'
	says "1" "gadget of the host"
}

@test "what is made in the image: mount point, cache and conf.d file, nothing else" {
	local before
	glibc_image
	includes_conf_d
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.1
	runtime_alone
	before=$(tree)
	run -0 container 'use libgadget.so.1'
	[[ $(appeared "$before" | paste -sd' ') == \
		"etc/ld.so.cache $conf_d opt opt/x opt/x/lib opt/x/lib/libgadget.so.1" ]] ||
		fail "$(appeared "$before")"
	run cat "$rootfs/$conf_d"
	[[ $output == '# Written by oci-cdi-hook: directories of mounted libraries.'$'\n'/opt/x/lib ]] ||
		fail "$output"
	[[ $(stat -c '%a %u:%g' "$rootfs/$conf_d") == "644 0:0" ]]
}

@test "no conf.d file where the image's own configuration names the directory" {
	glibc_image
	includes_conf_d
	echo /opt/x/lib >"$rootfs/etc/ld.so.conf.d/own.conf"
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.1
	run -0 container 'use libgadget.so.1 && ldconfig && use libgadget.so.1'
	[[ ! -e $rootfs/$conf_d ]]
}

@test "no conf.d file where every ldconfig looks" {
	glibc_image
	includes_conf_d
	library_spec "$base/vendor/libgadget.so.1" /usr/lib/libgadget.so.1
	run -0 container 'use libgadget.so.1 && ldconfig && use libgadget.so.1'
	[[ ! -e $rootfs/$conf_d ]]
}

@test "no conf.d file, and no directory for it, where ld.so.conf does not include it" {
	local conf
	glibc_image
	options+=(--log-level=info)
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.1
	for conf in '' 'include /etc/ld.so.conf.d/own-*.conf' '# include /etc/ld.so.conf.d/*.conf'; do
		echo "$conf" >"$rootfs/etc/ld.so.conf"
		run -0 container 'use libgadget.so.1'
		says "gadget of the host"
		[[ ! -e $rootfs/etc/ld.so.conf.d ]]
	done
	logged "ld.so.conf does not include /etc/ld.so.conf.d"
}

@test "the folders that a hook asks for are in the cache too" {
	glibc_image
	includes_conf_d
	library "$rootfs/srv/lib/libfar.so.1" libfar.so.1 "far library"
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.1
	with_hook /srv/lib
	run -0 container 'use libgadget.so.1 libfar.so.1'
	says "gadget of the host" "far library"
	run sed 1d "$rootfs/$conf_d"
	[[ $output == /srv/lib$'\n'/opt/x/lib ]] || fail "$output"
}

@test "a restart: works, and nothing accumulates" {
	local before
	glibc_image
	includes_conf_d
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.1
	run -0 container 'use libgadget.so.1'
	before=$(tree)
	run -0 container 'use libgadget.so.1 && ldconfig && use libgadget.so.1'
	[[ -z $(appeared "$before") ]] || fail "$(appeared "$before")"
	[[ $(sed 1d "$rootfs/$conf_d") == /opt/x/lib ]]
}

@test "a restart with one more library: the conf.d file names the directories of both" {
	glibc_image
	includes_conf_d
	library "$base/vendor/libwidget.so.3" libwidget.so.3 "widget of the host"
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.1
	run -0 container 'use libgadget.so.1'
	cat >>"$specs/library.yaml" <<-YAML
		    - {hostPath: $base/vendor/libwidget.so.3, containerPath: /opt/y/libwidget.so.3}
	YAML
	run -0 container 'ldconfig && use libgadget.so.1 libwidget.so.3'
	says "gadget of the host" "widget of the host"
	[[ $(sed 1d "$rootfs/$conf_d" | sort | paste -sd' ') == "/opt/x/lib /opt/y" ]] ||
		fail "$(<"$rootfs/$conf_d")"
}

@test "the hook is called twice: the second call changes nothing" {
	local before readonly
	glibc_image
	includes_conf_d
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.1
	for readonly in true false; do
		edit_config ".root.readonly = $readonly"
		process_with_namespace
		run -0 by_hand --no-cgroup
		before=$(cat "/proc/$pid/mountinfo"; tree)
		run -0 by_hand --no-cgroup
		[[ $(cat "/proc/$pid/mountinfo"; tree) == "$before" ]] ||
			fail "$(diff <(echo "$before") <(cat "/proc/$pid/mountinfo"; tree))"
		kill "$pid"
		wait "$pid" || true
	done
}

@test "an image without a loader: no cache appears, also when a hook asks for it" {
	vendor_library
	options+=(--log-file="$base/log" --log-level=info)
	library_spec "$base/vendor/libgadget.so.1" /usr/lib/libgadget.so.1
	run -0 container 'ls /usr/lib/libgadget.so.1'
	with_hook
	run -0 container 'ls /usr/lib/libgadget.so.1'
	[[ -z $(ls -A "$rootfs/etc") ]]
	logged "no loader"
}

@test "--ldconfig=none leaves the image's cache alone, also when a hook asks for it" {
	glibc_image
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.1
	with_hook
	options+=(--ldconfig=none)
	run -0 container 'use /opt/x/lib/libgadget.so.1; use libgadget.so.1 || echo not by its name'
	says "gadget of the host" "not by its name"
	[[ -z $(ls -A "$rootfs/etc") ]]
}

@test "--ldconfig=PATH uses that one" {
	glibc_image
	mkdir "$base/sbin"
	cp "$host_ldconfig" "$base/sbin/other"
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.1
	options+=(--ldconfig="$base/sbin/other")
	run -0 container 'use libgadget.so.1'
	says "gadget of the host"
}

@test "a device without libraries: the cache is left alone" {
	glibc_image
	simple_spec
	request vendor.example/thing=node
	run -0 container 'opens /dev/thing'
	[[ -z $(ls -A "$rootfs/etc") ]]
}

@test "libraries on a file system that the container brings along, which the sandbox does not see" {
	glibc_image
	edit_config '.mounts += [{destination: "/opt", type: "tmpfs", source: "tmpfs"}]'
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.550.54
	run -0 container 'use libgadget.so.1'
	says "gadget of the host"
	library "$base/vendor/libwidget.so.3" libwidget.so.3 "widget of the host"
	library_spec "$base/vendor" /opt/x/lib
	run -0 container 'use libgadget.so.1 libwidget.so.3'
	says "gadget of the host" "widget of the host"
}
