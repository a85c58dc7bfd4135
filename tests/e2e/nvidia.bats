#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Whole specs of NVIDIA's kind in a Debian container, under runc and crun: every library is found by
# its soname, every link is there, and no program of the vendor's is installed. The files of
# tests/e2e/nvidia are our own; real ones are used besides, where ../shared/cases/specs has them. The
# driver is made up by tests/e2e/nvidia/driver-tree.
#
# Where the vendor's own hook can be built, it does the same to another container, and both are
# compared.

load engines

setup_file() {
	gcc -O1 -o "$BATS_FILE_TMPDIR/found" -x c - <<-'C'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <link.h>
		#include <stdio.h>

		/* For each SONAME PATH on stdin: what dlopen(SONAME) loads. */
		int main(void)
		{
			char soname[4096], path[4096];

			while (scanf("%4095s %4095s", soname, path) == 2) {
				void *handle = dlopen(soname, RTLD_NOW);
				struct link_map *map;
				if (!handle)
					printf("%s: %s\n", soname, dlerror());
				else if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0)
					printf("%s %s\n", soname, map->l_name);
			}
			return 0;
		}
	C
	echo 'int made_up;' | gcc -c -fPIC -o "$BATS_FILE_TMPDIR/object.o" -x c -
	# What engines.bash's own image wants of this file.
	gcc -O1 -o "$BATS_FILE_TMPDIR/use" -x c - <<<'int main(void) { return 0; }'
	cp "$BATS_FILE_TMPDIR/object.o" "$BATS_FILE_TMPDIR/libgadget.so.1"
}

debian_image() {
	local debian
	debian=$("$top/tests/debian-root.sh" 2>"$base/why") || skip "$(<"$base/why")"
	rm -r "$rootfs"
	mkdir "$base/"{upper,work} "$rootfs"
	mount -t overlay -o "lowerdir=$debian,upperdir=$base/upper,workdir=$base/work" overlay "$rootfs"
	mountinfo_before=$(mountinfo)
	cp "$BATS_FILE_TMPDIR/found" "$rootfs/usr/bin/"
}

# driver SPEC DEVICE...: makes the driver for it and asks for the devices
driver() {
	[[ ! -e /usr/bin/nvidia-cdi-hook && ! -e /usr/bin/nvidia-ctk ]] || fail "the vendor's programs are installed here"
	mkdir "$base/driver"
	"$top/tests/e2e/nvidia/driver-tree" "$1" "$base/driver" "$BATS_FILE_TMPDIR/object.o"
	cp "$base/driver/spec.yaml" "$specs/nvidia.yaml"
	mkdir "$rootfs/check"
	cp "$base/driver/"{links,sonames} "$rootfs/check/"
	local kind
	kind=$(sed -n 's/^kind: *//p' "$1")
	shift
	echo "$kind=*" >>"$allow"
	request "${@/#/$kind=}"
}

shared_spec() {
	spec=$top/../shared/cases/specs/$1
	[[ -f $spec ]] || skip "there is no ../shared/cases/specs/$1"
}

# What is there of the links and libraries, in the form of the lists.
look='
	while read -r path target; do
		[ -L "$path" ] && echo "$path $(readlink "$path")" || echo "no link $path"
		[ -e "$path" ] || echo "$path" >>/check/links.dangling
	done </check/links >/check/links.seen
	found </check/sonames >/check/sonames.seen 2>&1
	ldconfig -p | while read -r soname flags arrow path; do
		[ "$arrow" != "=>" ] || echo "$soname $flags $path $(readlink -f "$path")"
	done >/check/cache
	find / -xdev -type l | sort >/check/all-links
	ls -lR /dev >/check/dev
'

# All is there: each line of the lists, and for a soname the file that was mounted. Some files have
# two libraries of one soname: then either will do.
sees_all() {
	diff "$rootfs/check/links" "$rootfs/check/links.seen" || fail "links are missing"
	dangling_as_specified
	local soname path
	[[ $(wc -l <"$rootfs/check/sonames") -ge 4 ]] || fail "no libraries"
	while read -r soname path; do
		grep -qxF "$soname $path" "$rootfs/check/sonames" || fail "$soname is $path"
	done <"$rootfs/check/sonames.seen"
	[[ $(wc -l <"$rootfs/check/sonames.seen") == $(wc -l <"$rootfs/check/sonames") ]]
}

# A link leads somewhere, unless its spec names a target that the spec does not bring: real ones do. By the target's last
# component, what comes is a library, a soname of one, another link, or a node.
dangling_as_specified() {
	local path target name
	while read -r path; do
		target=$(sed -n "s|^$path ||p" "$rootfs/check/links")
		name=${target##*/}
		! grep -qE "(^|/)${name//./\\.}( |$)" "$rootfs/check/sonames" || fail "$path leads nowhere"
		! cut -d' ' -f1 "$rootfs/check/links" | grep -qxF "${path%/*}/$name" || fail "$path leads nowhere"
	done < <(cat "$rootfs/check/links.dangling" 2>/dev/null)
}

# whole ENGINE SPEC DEVICE...
whole() {
	use_engine "$1"
	debian_image
	driver "${@:2}"
	run -0 container "$look"
	sees_all
}

desktop() {
	whole "$1" "$top/tests/e2e/nvidia/desktop.yaml" 0 GPU-01234567-89ab-cdef-0123-456789abcdef
	# The nodes, and the mode of their directory.
	grep -q ' 195, *0 .* nvidia0$' "$rootfs/check/dev"
	grep -q 'drwxr-xr-x .* dri$' "$rootfs/check/dev"
	[[ $(<"$rootfs/etc/nvidia/nvidia-application-profiles-rc.d/10-container.conf") == *'"EGLVisibleDGPUDevices",0x3]'* ]]
	logged "a-command-of-a-later-release: the command is not known"
}

jetson() { whole "$1" "$top/tests/e2e/nvidia/jetson.yaml" 0; }

shared() {
	shared_spec "$2"
	whole "$1" "$spec" "$3"
}

# The same spec, and the vendor's own programs run by the runtime: our part are mounts and nodes alone.
vendor_container() {
	local name real
	real=$("$top/tests/nvidia-cdi-hook.sh" 2>"$base/why") || skip "$(<"$base/why")"
	for name in nvidia-cdi-hook nvidia-ctk; do
		cp "$real" "$base/bin/$name"
		sed -i "s,path: /usr/bin/$name\$,path: $base/bin/$name," "$specs/nvidia.yaml"
	done
	# Its older form is the same program behind the word "hook".
	printf '#!/bin/sh\nshift\nexec %s "$@"\n' "$real" >"$base/bin/nvidia-ctk"
	options+=(--vendor-hooks=none --ldconfig=none)
	edit_config '.hooks.createContainer = $hooks' --argjson hooks "$(vendor_hooks)"
	container "$look"
}

# The hooks of the plan, as config.json has them: first those that all devices share.
vendor_hooks() {
	"$top/build/ctl/cdictl" plan --spec-dir="$specs" --bundle="$bundle" --stage=precreate -o json "${wanted[@]}" |
		jq '[.[] | select(.operation == "hook") | {path, args, env: (.env + ["PATH=/usr/bin:/bin"])}]'
}

# as_vendors_own SPEC DEVICE...: ours and theirs, one after the other, each in a fresh image
as_vendors_own() {
	local ours=$base/ours theirs=$base/theirs kind
	whole runc "$@"
	cp -r "$rootfs/check" "$ours"
	umount "$rootfs"
	rm -r "$base/"{upper,work}
	debian_image
	mkdir "$rootfs/check"
	cp "$base/driver/"{links,sonames} "$rootfs/check/"
	kind=$(sed -n 's/^kind: *//p' "$1")
	wanted=("${@:2}")
	wanted=("${wanted[@]/#/$kind=}")
	run -0 vendor_container
	cp -r "$rootfs/check" "$theirs"

	# Every link that the spec asks for is the same.
	diff "$ours/links.seen" "$theirs/links.seen" || fail "links differ"
	# All that ours has theirs has too. Theirs has more: a link for each soname, which its ldconfig
	# makes in the directories of the libraries; our cache names the mounted file itself.
	[[ -z $(comm -23 "$ours/all-links" "$theirs/all-links") ]] ||
		fail "only ours: $(comm -23 "$ours/all-links" "$theirs/all-links")"
	local path only=0
	while read -r path; do
		only=$((only + 1))
		grep -qxF "${path##*/} ${path%/*}" <(sed 's,/[^/]*$,,' "$ours/sonames") || fail "only theirs: $path"
	done < <(comm -13 "$ours/all-links" "$theirs/all-links")

	# `ldconfig -p`: the same names lead to the same files. Ours has more: libraries in directories that
	# no --folder names, with links to them, and links to a soname (libcuda.so), which lead nowhere
	# when theirs is made.
	cache_of "$ours" >"$ours/names"
	cache_of "$theirs" >"$theirs/names"
	[[ -z $(comm -13 "$ours/names" "$theirs/names") ]] ||
		fail "only theirs: $(comm -13 "$ours/names" "$theirs/names")"
	local name more=0
	while read -r name path; do
		more=$((more + 1))
		! grep -qF "/$name " "$ours/links.seen" || continue
		grep -qF "$name $path" "$ours/sonames" || fail "only ours: $name $path"
		! grep -qF -- "${path%/*}" <(folders "$1") || fail "only ours, though asked for: $name $path"
	done < <(comm -23 "$ours/names" "$theirs/names" | sed 's/ ([^)]*)//')
	echo "# $(wc -l <"$theirs/links.seen") links, $(wc -l <"$theirs/names") names of the cache are the same;" \
		"only theirs: $only soname links; only ours: $more names" >&3
}

# The first entry of each name, with the file that it leads to.
cache_of() {
	sed -E 's/\((libc6[^)]*)\)|\(ELF[^)]*\)/(\1)/; s/, /,/g' "$1/cache" |
		awk '!seen[$1 " " $2]++ {print $1, $2, $NF}' | sort
}

folders() { grep -A1 -e "--folder" "$1" | sed -n 's,^[ "'"'"'-]*\(/.*[^"'"'"']\)["'"'"']*$,\1,p'; }

@test "a desktop's file, under runc" { desktop runc; }
@test "a Jetson's file, under runc" { jetson runc; }
@test "nvidia-ctk's own desktop file, under runc" { shared runc nvidia-ctk-1.17-desktop-x86_64.yaml all; }
@test "the file of a Jetson Xavier NX, under runc" { shared runc eve-jetson-jp5-xavier-nx.yaml all; }
@test "the file of a Jetson Thor, under runc" { shared runc eve-jetson-jp7-thor.yaml all; }
@test "a desktop's file, under crun" { desktop crun; }
@test "a Jetson's file, under crun" { jetson crun; }
@test "nvidia-ctk's own desktop file, under crun" { shared crun nvidia-ctk-1.17-desktop-x86_64.yaml all; }
@test "the file of a Jetson Xavier NX, under crun" { shared crun eve-jetson-jp5-xavier-nx.yaml all; }
@test "the file of a Jetson Thor, under crun" { shared crun eve-jetson-jp7-thor.yaml all; }

@test "the same as by the vendor's own hook: a desktop's file" {
	as_vendors_own "$top/tests/e2e/nvidia/desktop.yaml" 0 GPU-01234567-89ab-cdef-0123-456789abcdef
}

@test "the same as by the vendor's own hook: a Jetson's file" {
	as_vendors_own "$top/tests/e2e/nvidia/jetson.yaml" 0
}

@test "the same as by the vendor's own hook: nvidia-ctk's own desktop file" {
	shared_spec nvidia-ctk-1.17-desktop-x86_64.yaml
	as_vendors_own "$spec" all
}

@test "the same as by the vendor's own hook: the file of a Jetson Thor" {
	shared_spec eve-jetson-jp7-thor.yaml
	as_vendors_own "$spec" all
}
