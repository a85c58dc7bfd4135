#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# The library cache in a whole distribution: a minimal Debian, made once by tests/debian-root.sh.
# Each test has a copy of its own, an overlay.

load helpers
load ldcache-helpers

debian_image() {
	local debian
	debian=$("$top/tests/debian-root.sh" 2>"$base/why") || skip "$(<"$base/why")"
	rm -r "$rootfs"
	mkdir "$base/"{upper,work} "$rootfs"
	mount -t overlay -o "lowerdir=$debian,upperdir=$base/upper,workdir=$base/work" overlay "$rootfs"
	# It goes with $base, as all other mounts of the test.
	mountinfo_before=$(mountinfo)
	cp "$BATS_FILE_TMPDIR/use" "$rootfs/usr/bin/"
	vendor_library
	options+=(--log-file="$base/log")
}

multiarch() { gcc -print-multiarch; }

# What is in the layer above the distribution, one name a line.
layer() { (cd "$base/upper" && find . -type f -printf '%P\n' | sort); }

# steps: the times that a run at --log-level=debug has logged, as comments of the test's output
steps() { sed -n 's/^.*: step: /# /p' "$base/log" >&3; }

@test "Debian: found by its soname among the distribution's own libraries, and ldconfig keeps it" {
	debian_image
	library_spec "$base/vendor/libgadget.so.1" "/usr/lib/$(multiarch)/libgadget.so.550.54"
	run -0 container 'use libgadget.so.1 libz.so.1 2>&1; ldconfig; use libgadget.so.1'
	says "gadget of the host" "undefined symbol: greeting"
	[[ $(layer) == *etc/ld.so.cache* && $(layer) != *ld.so.conf.d* ]] || fail "$(layer)"
}

@test "Debian: in a directory that no loader looks at, and ldconfig keeps it" {
	debian_image
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.550.54
	run -0 container 'use libgadget.so.1 && ldconfig && use libgadget.so.1'
	says "gadget of the host"$'\n'"gadget of the host"
	[[ $(sed 1d "$rootfs/$conf_d") == /opt/x/lib ]]
}

@test "Debian: nothing is lost of the image's cache, and nothing else is changed" {
	debian_image
	local before lost new
	before=$(cache_lists "$rootfs/etc/ld.so.cache" | sort)
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.1
	run -0 container 'use libgadget.so.1'
	lost=$(comm -23 <(echo "$before") <(cache_lists "$rootfs/etc/ld.so.cache" | sort))
	new=$(comm -13 <(echo "$before") <(cache_lists "$rootfs/etc/ld.so.cache" | sort))
	[[ -z $lost ]] || fail "lost: $lost"
	# Ours looks into /lib64 too, where Debian has its loader alone.
	[[ $(grep -v '^ld-' <<<"$new") == "libgadget.so.1 /opt/x/lib/libgadget.so.1" ]] || fail "new: $new"
	[[ $(layer | grep -v '^dev/' | paste -sd' ') == \
		"etc/ld.so.cache $conf_d opt/x/lib/libgadget.so.1 usr/bin/use" ]] || fail "$(layer)"
}

@test "Debian: with a read-only root, and the time of each step" {
	debian_image
	library_spec "$base/vendor/libgadget.so.1" /opt/x/lib/libgadget.so.1
	cat >>"$specs/library.yaml" <<-YAML
		    deviceNodes:
		    - {path: /dev/thing, hostPath: $dev1}
	YAML
	with_hook
	edit_config '.root.readonly = true'
	options+=(--log-level=debug)
	run -0 container 'use libgadget.so.1; opens /dev/thing; ldconfig 2>&1 || true; use libgadget.so.1'
	says "gadget of the host" "Read-only file system"
	[[ $(layer) != *ld.so.conf.d* && $(layer) != *etc/ld.so.cache* ]] || fail "$(layer)"
	steps
}
