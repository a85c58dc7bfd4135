#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check-pure.sh LIBCOMMON              fails if common/ calls what a pure library must not
# check-pure.sh --self-test LIBCOMMON  fails if the check above would let such a call through
#
# common/ takes bytes and directory fds and returns data: it never mounts, enters namespaces, forks,
# executes, prints or exits. The linker knows what it really calls, so this reads the symbols that
# LIBCOMMON wants from elsewhere, and every one that the list below does not name is a failure.
# What to do then: move the work to hook/ or ctl/, or, if it is as harmless as its neighbours here,
# add the symbol to its group.
#
# The list has plain names. Before a symbol is looked up, the forms that a C library gives to one
# function are made plain: __memcpy_chk (FORTIFY), fstat64, __openat64_2, __isoc23_strtoll.
#
# Environment: NM and, for the self-test, CC and AR, with their options.
set -euo pipefail

allowed=(
	# Strings.
	strlen strnlen strcmp strncmp strcasecmp strncasecmp strverscmp
	strchr strrchr strchrnul strstr strpbrk strspn strcspn strsep strtok_r fnmatch
	# Bytes. Compilers write calls of some of these by themselves.
	memchr memrchr memcmp memcpy memmove memset memmem bcmp
	# Text into a buffer of the caller's, and the words for an errno.
	snprintf vsnprintf strerrordesc_np
	# Numbers and kinds of characters.
	strtod strtoll strtoull __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc tolower toupper
	# Memory, which the arena bounds.
	malloc calloc realloc free
	# Sorting and searching.
	qsort bsearch tsearch tfind tdestroy
	# Reading below a directory that was handed in. (That openat() never writes is not to be seen
	# here: the flags are numbers by now.)
	openat read pread close fdopendir readdir closedir dirfd readlinkat
	fstat fstatat statx gnu_dev_major gnu_dev_minor gnu_dev_makedev
	# errno, and what compilers want for their own purposes.
	__errno_location
	__stack_chk_fail __stack_chk_fail_local __stack_chk_guard _GLOBAL_OFFSET_TABLE_
	__udivti3 __umodti3 __multi3 __muloti4 __divdi3 __moddi3 __udivdi3 __umoddi3
)
# json-c and libyaml, but for what reads or writes files by itself.
libraries='^(json_(object|object_array|object_object|object_iter)_[a-z0-9_]+|yaml_(event|parser)_[a-z_]+)$'
library_files='(_file|_fd|_file_ext|_set_input|_set_output|_set_output_file)$'

# wanted LIBCOMMON: a line for each symbol that an object of it wants and no object of it has:
# SYMBOL OBJECT
wanted() {
	# -P: "LIBRARY[OBJECT]: SYMBOL TYPE ...".
	"${NM:-nm}" -A -P -g "$1" | awk '
		{
			object = $1
			sub(/^[^[]*\[/, "", object); sub(/\]?:$/, "", object); sub(/.*\//, "", object)
		}
		$3 ~ /^[Uwv]$/ { want[$2 " " object]; next }
		{ have[$2] }
		END {
			for (pair in want) {
				split(pair, part, " ")
				if (!(part[1] in have))
					print pair
			}
		}' | sort
}

# The function that a symbol stands for.
plain() {
	local name=$1
	if [[ $name =~ ^__(.+)_chk$ || $name =~ ^__(open.*)_2$ || $name =~ ^__isoc[0-9]+_(.+)$ ]]; then
		name=${BASH_REMATCH[1]}
	fi
	case $name in
	*[a-z]64) name=${name%64} ;;
	esac
	echo "$name"
}

is_allowed() {
	local name
	[[ $1 =~ $libraries && ! $1 =~ $library_files ]] && return 0
	for name in "${allowed[@]}"; do
		[[ $1 == "$name" || $2 == "$name" ]] && return 0
	done
	return 1
}

check() {
	local list symbol object name n=0 bad=0
	list=$(wanted "$1")
	while read -r symbol object; do
		n=$((n + 1))
		name=$(plain "$symbol")
		if ! is_allowed "$symbol" "$name"; then
			[[ $name == "$symbol" ]] || name="$name, as $symbol"
			echo "common/ must stay pure: $object wants $name"
			bad=$((bad + 1))
		fi
	done <<<"$list"
	# It cannot do without memory: a list that says so means that nothing was read.
	if ! grep -q '^free ' <<<"$list"; then
		echo "$1: nm shows no symbols that could be right"
		bad=$((bad + 1))
	fi
	((bad == 0)) && echo "$n symbols from elsewhere, all of them on the list"
}

# Each of these, planted in a copy of the library, has to be found.
self_test() {
	local dir planted name bad=0
	dir=$(mktemp -d)
	# shellcheck disable=SC2064 # now, not when it runs
	trap "rm -rf '$dir'" EXIT
	planted=(mount umount2 setns unshare mknod mknodat fork vfork execve execvp posix_spawn syscall
		open_tree move_mount mount_setattr chroot ioctl kill write writev pwrite fputs puts printf
		vfprintf perror syslog exit _exit abort getenv setenv system popen socket connect open
		fopen unlinkat mkdirat symlinkat renameat fchmod chown setuid prctl mmap dlopen
		mnt_new_table json_object_to_file json_object_to_fd yaml_parser_set_input_file
		__printf_chk __vfprintf_chk __open64_2 __assert_fail)
	{
		for name in "${planted[@]}"; do
			echo "extern void $name(void);"
		done
		echo "void planted_call(void);"
		echo "void planted_call(void) {"
		for name in "${planted[@]}"; do
			echo "	$name();"
		done
		echo "}"
	} >"$dir/planted.c"
	# It is about names: the real types would only be in the way.
	${CC:-cc} -w -fno-builtin -fno-lto -c -o "$dir/planted.o" "$dir/planted.c"
	cp "$1" "$dir/copy.a"
	# A thin archive has only the names of its objects, which mean nothing elsewhere.
	if [[ $(head -c 7 "$1") == '!<thin>' ]]; then
		rm "$dir/copy.a"
		"${AR:-ar}" t "$1" | xargs "${AR:-ar}" rcs "$dir/copy.a"
	fi
	check "$dir/copy.a" >"$dir/clean" || {
		echo "the copy fails before anything is planted:"
		cat "$dir/clean"
		return 1
	}
	"${AR:-ar}" rs "$dir/copy.a" "$dir/planted.o"
	if check "$dir/copy.a" >"$dir/said"; then
		echo "nothing was found"
		return 1
	fi
	for name in "${planted[@]}"; do
		grep -qE "^common/ must stay pure: planted\.o wants (.*, as )?$name\$" "$dir/said" ||
			{ echo "$name() was not found"; bad=1; }
	done
	if (($(wc -l <"$dir/said") != ${#planted[@]})); then
		echo "${#planted[@]} calls were planted, and this was said:"
		cat "$dir/said"
		bad=1
	fi
	((bad == 0)) && echo "${#planted[@]} planted calls, all of them found"
}

case $#:${1:-} in
2:--self-test) self_test "$2" ;;
1:*) check "$1" ;;
*)
	echo "usage: check-pure.sh [--self-test] LIBCOMMON" >&2
	exit 2
	;;
esac
