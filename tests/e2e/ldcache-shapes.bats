#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# What programs find after the hook, compared with what they find after ldconfig itself, over many shapes of an image: whole
# distributions by debootstrap, and what can be made of them by removing, linking and moving. Each is refreshed three times:
#
#   ours      the hook as it is: by a merge where it can
#   sandbox   the hook with --ldconfig=PATH, which makes it run the host's ldconfig
#   native    the image's own ldconfig in a chroot, with our libraries mounted
#
# Then the image's own loader is asked for every name that any of the caches has, and for ours. Where the answers
# differ from each other the difference must be one of these, each of them intended:
#
#   driver    a name of ours: it is found, and ldconfig would have chosen the image's library of that name, or does not
#             look into our directory since the image's ld.so.conf includes no other files
#   stale     a library of the image that its own cache does not have (so programs do not find it today either), or
#             has from elsewhere: a merge leaves the image as it is. Allowed only where a shape says so

load helpers
load ldcache-helpers

setup_file() {
	local tool=$BATS_FILE_TMPDIR
	library "$tool/libgadget.so.1" libgadget.so.1 "gadget of the host"
	library "$tool/libimage.so.1" libimage.so.1 "of the image"
	mkdir -p "$tool/32"
	echo 'const char *greeting = "32 bits";' |
		gcc -m32 -shared -fPIC -nostdlib -Wl,-soname,libgadget.so.1 -o "$tool/32/libgadget.so.1" -x c -
}

teardown() {
	[[ -z ${shape_mounted:-} ]] || umount -l "$rootfs"
	[[ -z ${pid:-} ]] || kill "$pid" 2>/dev/null || true
	pid=
	umount -l "$base" && rmdir "$base"
}

triplet=x86_64-linux-gnu

# distribution SUITE ARCHITECTURE: a fresh copy of it as $rootfs
distribution() {
	[[ -z ${shape_mounted:-} ]] || umount -l "$rootfs"
	rm -rf "$base/upper" "$base/work"
	mkdir -p "$base/upper" "$base/work"
	mount -t overlay -o "lowerdir=$("$top/tests/debian-root.sh" "$1" "$2"),upperdir=$base/upper,workdir=$base/work" \
		overlay "$rootfs"
	shape_mounted=yes
	loader=/lib64/ld-linux-x86-64.so.2 program=/bin/true
	[[ $2 != i386 ]] || loader=/lib/ld-linux.so.2
	rm -f "$specs"/*
	mounts=() allowed='driver' expected=merge asked_for=libgadget.so.1 loader_options='' folders=''
}
debian12() { distribution bookworm amd64; }

# bring FILE DESTINATION: a library of the vendor's, by its name in $BATS_FILE_TMPDIR, or a directory
bring() { mounts+=("$1 $2"); }
in_image() { chroot "$rootfs" "$@"; }
image_library() { install -D "$BATS_FILE_TMPDIR/$1" "$rootfs/$2"; }

write_spec() {
	local line
	{
		printf 'cdiVersion: "0.6.0"\nkind: vendor.example/thing\ndevices:\n- name: lib\n  containerEdits:\n    mounts:\n'
		for line in "${mounts[@]}"; do
			printf '    - {hostPath: %s, containerPath: %s, options: [ro, nosuid, nodev, rbind]}\n' $line
		done
		[[ -z $folders ]] || printf '    hooks:\n    - {hookName: createContainer, path: /usr/bin/nvidia-cdi-hook, args: [nvidia-cdi-hook, update-ldcache, --folder, %s]}\n' "$folders"
	} >"$specs/library.yaml"
}

in_container() { nsenter --mount --target "$pid" "$@"; }

# The names of the loader's answers, for all caches that there were.
ask_loader() {
	NAMES=$asked_for LOADER_OPTIONS=$loader_options in_container "$BATS_TEST_DIRNAME/loader-view.py" \
		"$rootfs" "$loader" "$program" "$base"/cache.* | sort >"$1"
}

# as_it_was: the image's files that the hook and ldconfig may have changed, back again
as_it_was() {
	rm -rf "${rootfs:?}/etc/ld.so.cache" "$rootfs/$conf_d"
	[[ ! -e $base/cache.image && ! -L $base/cache.image ]] || cp -a "$base/cache.image" "$rootfs/etc/ld.so.cache"
}

# refresh NAME OPTION...: the hook in a fresh mount namespace, whose process stays
refresh() {
	local name=$1
	as_it_was
	process_with_namespace
	: >"$base/log"
	by_hand --no-cgroup --device=vendor.example/thing=lib "${@:2}" 2>"$base/said" || { cat "$base/said"; return 1; }
	cp -L "$rootfs/etc/ld.so.cache" "$base/cache.$name" 2>/dev/null || true
}

over() { kill "$pid" && wait "$pid" || true; }

# The image's own, or where it has none the host's over it.
native_ldconfig() {
	if [[ -x $rootfs/sbin/ldconfig ]]; then
		in_container chroot "$rootfs" /sbin/ldconfig
	else
		in_container "$host_ldconfig" -r "$rootfs"
	fi 2>/dev/null
}

# classify: stdin is lines "NAME OURS OTHER BEFORE", each an inode or "-"
classify() {
	local name ours other before kind
	while read -r name ours other before; do
		kind=unexplained
		if [[ " $asked_for " == *" $name "* && $ours != - ]]; then
			kind=driver
		elif [[ $ours == "$before" ]]; then
			kind=stale
		fi
		[[ " $allowed " == *" $kind "* ]] || echo "$name: ours $ours, other $other, before $before ($kind)" >&2
		echo "$kind"
	done
}

# compare OTHER: the kinds of differences between what the loader answered, one a line
compare() {
	join <(cut -d' ' -f1,2 "$base/view.ours") <(cut -d' ' -f1,2 "$1") | join - <(cut -d' ' -f1,2 "$base/view.before") |
		awk '$2 != $3' | classify
}

# Each injected name is found at one of our mounts.
check_asked_for() {
	local name path mount
	for name in $asked_for; do
		path=$(awk -v n="$name" '$1 == n {print $3}' "$base/view.ours")
		for mount in "${mounts[@]}"; do
			[[ $path != "${mount#* }"* ]] || continue 2
		done
		fail "$shape: $name is found at $path"
	done
}

# check SHAPE: all of it for the image as it is now
check() {
	shape=$1
	local way native sandbox all
	((${#mounts[@]})) || bring "$BATS_FILE_TMPDIR/libgadget.so.1" /opt/x/lib/libgadget.so.1
	write_spec
	rm -f "$base"/cache.* "$base"/view.*
	[[ ! -e $rootfs/etc/ld.so.cache && ! -L $rootfs/etc/ld.so.cache ]] || cp -a "$rootfs/etc/ld.so.cache" "$base/cache.image"

	refresh ours || fail "$shape: the hook failed"
	way=$(sed -n 's/.*library cache: \([a-z]*\), since.*/\1/p' "$base/log")
	cp "$base/log" "$base/log.ours"
	over
	refresh sandbox --ldconfig="$host_ldconfig" || fail "$shape: the hook failed with ldconfig"
	! grep -q warning "$base/said" || fail "$shape: $(<"$base/said")"
	[[ -z $expected || $way == "$expected" ]] || fail "$shape: $way" "$(<"$base/log.ours")"
	native_ldconfig
	cp -L "$rootfs/etc/ld.so.cache" "$base/cache.native"
	# Now that all names are known, each is asked for again.
	ask_loader "$base/view.native"
	cp "$base/cache.sandbox" "$rootfs/etc/ld.so.cache"
	ask_loader "$base/view.sandbox"
	as_it_was
	ask_loader "$base/view.before"
	rm -f "$rootfs/etc/ld.so.cache"
	cp "$base/cache.ours" "$rootfs/etc/ld.so.cache"
	ask_loader "$base/view.ours"
	check_asked_for
	over
	as_it_was

	native=$(compare "$base/view.native" 2>"$base/why.native")
	sandbox=$(compare "$base/view.sandbox" 2>"$base/why.sandbox")
	[[ ! -s $base/why.native ]] || fail "$shape, compared with the image's ldconfig:" "$(<"$base/why.native")"
	[[ ! -s $base/why.sandbox ]] || fail "$shape, compared with the sandbox:" "$(<"$base/why.sandbox")"
	all=$(grep . <<<"$native"$'\n'"$sandbox" | sort | uniq -c | awk '{printf "%s%s %s", (NR > 1 ? ", " : ""), $1, $2}') || true
	shapes=$((shapes + 1))
	names=$((names + $(wc -l <"$base/view.ours")))
	printf '# table: %-58s %-9s %4d  %s\n' "$shape" "$way" "$(wc -l <"$base/view.ours")" "${all:-none}" >&3
}

@test "ours and ldconfig's: what the loader finds, over all shapes" {
	shapes=0 names=0
	local suite log_option=(--log-file="$base/log" --log-level=info)
	options+=("${log_option[@]}")
	[[ $(dpkg --print-architecture) == amd64 ]] || skip "the distributions are those of amd64"
	printf '# table: %-58s %-9s %4s  %s\n' "Shape of the image" "by" "names" "differences from ldconfig" >&3

	for suite in bullseye bookworm trixie; do
		distribution $suite amd64
		check "$suite"
		distribution $suite amd64
		bring "$BATS_FILE_TMPDIR/libgadget.so.1" /usr/lib/$triplet/libgadget.so.550.54
		check "$suite, the library in the multiarch directory"
		distribution $suite amd64
		bring "$BATS_FILE_TMPDIR/libgadget.so.1" /usr/lib/libgadget.so.550.54
		image_library libgadget.so.1 /usr/local/lib/libgadget.so.1
		in_image ldconfig
		check "$suite, its own library of that name comes first"
		distribution $suite amd64
		rm "$rootfs/etc/ld.so.cache"
		expected=ldconfig
		check "$suite, no ld.so.cache"
	done

	distribution bookworm i386
	bring "$BATS_FILE_TMPDIR/32/libgadget.so.1" /opt/x/lib/libgadget.so.1
	check "bookworm i386"
	distribution bookworm i386
	bring "$BATS_FILE_TMPDIR/32/libgadget.so.1" /usr/lib/i386-linux-gnu/libgadget.so.1.2
	bring "$BATS_FILE_TMPDIR/libgadget.so.1" /opt/64/libgadget.so.1
	check "bookworm i386, and a library of 64 bits"

	debian12
	i386_beside
	check "bookworm amd64 and i386, 64-bit programs"
	debian12
	i386_beside
	loader=/lib/ld-linux.so.2 program=/bin/true32
	check "bookworm amd64 and i386, 32-bit programs"

	other_shapes
	((shapes >= 30)) || fail "only $shapes shapes"
	echo "# table: $shapes shapes, $names names, twice each: no difference that is not named" >&3
}

# The libraries of both architectures in one image.
i386_beside() {
	local i386
	i386=$("$top/tests/debian-root.sh" bookworm i386)
	cp -a "$i386/usr/lib/i386-linux-gnu" "$rootfs/usr/lib/"
	ln -sf i386-linux-gnu/ld-linux.so.2 "$rootfs/usr/lib/ld-linux.so.2"
	cp -a "$i386/bin/true" "$rootfs/bin/true32"
	cp "$i386/etc/ld.so.conf.d/"i386* "$rootfs/etc/ld.so.conf.d/"
	in_image ldconfig
	bring "$BATS_FILE_TMPDIR/libgadget.so.1" /usr/lib/$triplet/libgadget.so.1.2
	bring "$BATS_FILE_TMPDIR/32/libgadget.so.1" /usr/lib/i386-linux-gnu/libgadget.so.1.2
}

other_shapes() {
	local file dir
	debian12
	mkdir "$base/vendor"
	cp "$BATS_FILE_TMPDIR/libgadget.so.1" "$base/vendor/libgadget.so.550.54"
	ln -s libgadget.so.550.54 "$base/vendor/libgadget.so.1"
	ln -s libgadget.so.1 "$base/vendor/libgadget.so"
	bring "$base/vendor" /opt/x/lib
	asked_for='libgadget.so.1 libgadget.so'
	check "a mounted directory with links"

	debian12
	bring "$BATS_FILE_TMPDIR/libgadget.so.1" /opt/x/lib/libgadget.so.1
	bring "$base/vendor/libgadget.so.550.54" /opt/y/lib/libgadget.so.550.54
	check "one name in two directories"

	debian12
	image_library libgadget.so.1 /usr/lib/$triplet/libgadget.so.1
	in_image ldconfig
	check "the image has the library in the multiarch directory"

	debian12
	rm "$rootfs/etc/ld.so.conf"
	in_image ldconfig
	check "no ld.so.conf"

	debian12
	cat "$rootfs"/etc/ld.so.conf.d/*.conf >"$rootfs/etc/ld.so.conf"
	rm -r "$rootfs/etc/ld.so.conf.d"
	in_image ldconfig
	check "no ld.so.conf.d"

	debian12
	mv "$rootfs/etc/ld.so.conf" "$rootfs/etc/ld.so.conf.real"
	ln -s ld.so.conf.real "$rootfs/etc/ld.so.conf"
	check "ld.so.conf is a link"

	debian12
	mv "$rootfs/etc/ld.so.cache" "$rootfs/var/lib/"
	ln -s ../var/lib/ld.so.cache "$rootfs/etc/ld.so.cache"
	check "ld.so.cache is a link"

	debian12
	in_image ldconfig -c compat
	check "a cache with the old list in front"

	debian12
	in_image ldconfig -c old
	expected=ldconfig
	check "a cache with the old list alone"

	debian12
	for dir in x86-64-v2 x86-64-v3; do
		image_library libimage.so.1 /usr/lib/$triplet/glibc-hwcaps/$dir/libimage.so.1
	done
	image_library libimage.so.1 /usr/lib/$triplet/libimage.so.1
	in_image ldconfig
	check "glibc-hwcaps in the image"
	loader_options='--glibc-hwcaps-mask x86-64-v2'
	check "glibc-hwcaps in the image, an older processor"

	debian12
	image_library libgadget.so.1 /usr/lib/$triplet/glibc-hwcaps/x86-64-v3/libgadget.so.1
	in_image ldconfig
	check "glibc-hwcaps of the image for the library's name"

	debian12
	mkdir "$base/v2"
	cp "$BATS_FILE_TMPDIR/libgadget.so.1" "$base/v2/libgadget.so.1"
	bring "$BATS_FILE_TMPDIR/libgadget.so.1" /opt/x/lib/libgadget.so.1
	bring "$base/v2/libgadget.so.1" /opt/x/lib/glibc-hwcaps/x86-64-v2/libgadget.so.1
	check "glibc-hwcaps of the vendor's"
	loader_options='--glibc-hwcaps-mask none'
	check "glibc-hwcaps of the vendor's, an older processor"

	debian12
	mkdir "$rootfs/usr/lib64x"
	mv "$rootfs/usr/lib64/"* "$rootfs/usr/lib64x/"
	mv "$rootfs/usr/lib/$triplet" "$base/libraries"
	mv "$base/libraries"/* "$rootfs/usr/lib64/"
	rm -rf "$base/libraries" "$rootfs/usr/lib64x" && ln -s ../lib64 "$rootfs/usr/lib/$triplet"
	rm "$rootfs/etc/ld.so.conf.d/"*
	echo /usr/lib64 >"$rootfs/etc/ld.so.conf"
	in_image /sbin/ldconfig
	bring "$BATS_FILE_TMPDIR/libgadget.so.1" /usr/lib64/libgadget.so.550
	check "lib64 as in Fedora"

	debian12
	mv "$rootfs/usr/lib/$triplet" "$base/libraries"
	cp -an "$base/libraries"/* "$rootfs/usr/lib/"
	rm -rf "$base/libraries" && ln -s . "$rootfs/usr/lib/$triplet"
	: >"$rootfs/etc/ld.so.conf"
	rm -r "$rootfs/etc/ld.so.conf.d"
	in_image /sbin/ldconfig
	bring "$BATS_FILE_TMPDIR/libgadget.so.1" /usr/lib/libgadget.so.550
	check "all in /usr/lib as in Arch"

	debian12
	rm "$rootfs/lib"
	mkdir -p "$rootfs/lib"
	cp -a "$rootfs/usr/lib/$triplet" "$rootfs/lib/"
	in_image /sbin/ldconfig
	check "/lib beside /usr/lib"

	debian12
	image_library libimage.so.1 /srv/lib/libimage.so.1
	echo /srv/lib >"$rootfs/etc/ld.so.conf.d/srv.conf"
	in_image ldconfig
	check "a directory of the image's own configuration"

	debian12
	image_library libimage.so.1 /opt/x/lib/libimage.so.1
	expected=ldconfig
	check "libraries of the image beside the mounted one"

	debian12
	image_library libimage.so.1 /srv/lib/libimage.so.1
	folders=/srv/lib expected=ldconfig asked_for='libgadget.so.1'
	check "a hook asks for a folder of the image"

	debian12
	folders=/usr/lib/$triplet
	check "a hook asks for a folder that is in the cache"

	debian12
	image_library libimage.so.1 /usr/local/lib/libimage.so.1
	allowed='driver stale'
	check "a library came after the cache"

	debian12
	image_library libimage.so.1 /usr/local/lib/libimage.so.1
	in_image ldconfig
	rm "$rootfs/usr/local/lib/libimage.so.1"
	allowed='driver stale'
	check "a library went after the cache"

	debian12
	in_image sh -c 'echo >/etc/empty; ldconfig -f /etc/empty -C /etc/x; mkdir /e; echo /e >/etc/empty'
	printf 'glibc-ld.so.cache1.1' >"$rootfs/etc/ld.so.cache"
	head -c 28 /dev/zero >>"$rootfs/etc/ld.so.cache"
	expected=ldconfig
	check "a cache without a library"

	debian12
	truncate -s -1000 "$rootfs/etc/ld.so.cache"
	expected=ldconfig
	check "a cache that is cut off"

	debian12
	truncate -s 2G "$rootfs/etc/ld.so.cache"
	expected=ldconfig
	check "a cache of 2 GiB"

	debian12
	unsort "$rootfs/etc/ld.so.cache"
	expected=ldconfig
	check "a cache that is not sorted"

	debian12
	rm -rf "$rootfs"/{var,home,root,etc/*,usr/bin,usr/sbin,usr/share}
	mkdir -p "$rootfs/usr/bin"
	cp "$("$top/tests/debian-root.sh")/bin/true" "$rootfs/usr/bin/"
	expected=ldconfig
	check "loader and libraries alone, as in distroless images"
	"$host_ldconfig" -r "$rootfs"
	expected=merge
	check "the same with a cache"

	debian12
	write_spec_and_start
	check "the second start"
	bring "$BATS_FILE_TMPDIR/libgadget.so.1" /opt/x/lib/libgadget.so.560.1
	check "a start after another driver's"
}

# unsort FILE: exchanges the first two entries that have different names
unsort() {
	python3 - "$1" <<-'PYTHON'
		import sys
		data = bytearray(open(sys.argv[1], "rb").read())
		data[48:72], data[48 + 240 : 72 + 240] = data[48 + 240 : 72 + 240], data[48:72]
		open(sys.argv[1], "wb").write(data)
	PYTHON
}

# The image as a container leaves it that had a driver: cache, conf.d file and mount points.
write_spec_and_start() {
	mounts=("$BATS_FILE_TMPDIR/libgadget.so.1 /opt/x/lib/libgadget.so.550.54")
	write_spec
	process_with_namespace
	by_hand --no-cgroup --device=vendor.example/thing=lib 2>"$base/said"
	over
	mounts=()
}
