#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check-hardening.sh PROGRAM OBJECT_DIR...   fails if the program or its objects were built weaker
#                                            than meson.build says
# check-hardening.sh --self-test             fails if the check above would let weak ones through
#
# A linker or a compiler that does not know a flag may drop it in silence, and a program works as
# well without. So this looks at what came out: static-pie, read-only relocations bound before
# main(), no executable stack; and in our own objects, since the C library has them anyway, the
# stack protector and FORTIFY.
#
# Environment: NM, READELF and, for the self-test, CC, with their options.
set -euo pipefail

bad=0
missing() {
	echo "$1"
	bad=$((bad + 1))
}

# check_program PROGRAM
check_program() {
	local header segments dynamic stack
	# The texts that are compared are English.
	header=$(LC_ALL=C "${READELF:-readelf}" -hW "$1")
	segments=$(LC_ALL=C "${READELF:-readelf}" -lW "$1")
	dynamic=$(LC_ALL=C "${READELF:-readelf}" -dW "$1")

	grep -qE '^ *Type: +DYN' <<<"$header" ||
		missing "$1: no PIE: its ELF type is not DYN, so it is always loaded at one address"
	! grep -qE '^ *INTERP' <<<"$segments" ||
		missing "$1: not static: it asks for a dynamic loader (PT_INTERP)"
	! grep -qE '\(NEEDED\)' <<<"$dynamic" ||
		missing "$1: not static: it wants shared libraries (NEEDED)"
	grep -qE '^ *GNU_RELRO' <<<"$segments" ||
		missing "$1: no RELRO: what is relocated stays writable"
	grep -qE '\(BIND_NOW\)|\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*NOW' <<<"$dynamic" ||
		missing "$1: no BIND_NOW: functions are bound when they are first called"
	stack=$(awk '$1 == "GNU_STACK" { print $7 }' <<<"$segments")
	[[ $stack == RW ]] ||
		missing "$1: its stack is not said to be without execution (GNU_STACK: ${stack:-not there})"
	! awk '$1 == "LOAD" { print $7 $8 }' <<<"$segments" | grep -q 'WE' ||
		missing "$1: a part of it is writable and executable"
	! grep -qE '\((RPATH|RUNPATH)\)' <<<"$dynamic" ||
		missing "$1: it says where libraries are to be found (RPATH)"
	! grep -qE '\(TEXTREL\)|\(FLAGS\).*TEXTREL' <<<"$dynamic" ||
		missing "$1: its code is relocated, so it is writable for a time (TEXTREL)"
}

# check_objects DIR...
check_objects() {
	local objects symbols
	mapfile -t objects < <(find "$@" -name '*.o')
	((${#objects[@]})) || { missing "$*: no objects"; return 0; }
	symbols=$("${NM:-nm}" -u "${objects[@]}")
	grep -q '__stack_chk_fail' <<<"$symbols" ||
		missing "$*: no stack protector: no object wants __stack_chk_fail"
	grep -qE ' __[a-z0-9_]+_chk$' <<<"$symbols" ||
		missing "$*: no FORTIFY: no object wants a function like __memcpy_chk"
}

# expect TEXT...: each of these was said, and nothing else
expect() {
	local text failed=0
	for text in "$@"; do
		grep -qF -- "$text" "$dir/said" || { echo "not noticed: $text"; failed=1; }
	done
	(($(wc -l <"$dir/said") == $#)) || { echo "$# things are wrong with it, and this was said:"; failed=1; }
	((failed == 0)) || cat "$dir/said"
	return $failed
}

self_test() {
	local cc=(${CC:-cc}) failed=0
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	mkdir "$dir/weak" "$dir/text" "$dir/empty"

	echo 'int main(void) { return 0; }' >"$dir/weak.c"
	"${cc[@]}" -O0 -fno-stack-protector -U_FORTIFY_SOURCE -fno-pie -c -o "$dir/weak/weak.o" "$dir/weak.c"
	"${cc[@]}" -no-pie -Wl,-z,norelro -Wl,-z,execstack -Wl,-z,lazy -Wl,-rpath,/tmp \
		-o "$dir/weak.bin" "$dir/weak/weak.o" 2>"$dir/linker" || { cat "$dir/linker"; return 1; }
	(check_program "$dir/weak.bin" && check_objects "$dir/weak") >"$dir/said"
	expect 'no PIE' PT_INTERP NEEDED 'no RELRO' 'no BIND_NOW' 'GNU_STACK: RWE' RPATH \
		'no stack protector' 'no FORTIFY' || failed=1

	# An address in the middle of code, and a section for everything.
	cat >"$dir/text.c" <<-'END'
		__asm__(".text\n.globl place\nplace: .quad main\n");
		__asm__(".section .both,\"awx\",%progbits\n.globl both\nboth: .quad 0\n.text\n");
		int main(void) { return 0; }
	END
	"${cc[@]}" -fPIE -c -o "$dir/text/text.o" "$dir/text.c"
	"${cc[@]}" -pie -Wl,-z,notext -Wl,-z,relro,-z,now -Wl,-z,noexecstack \
		-o "$dir/text.bin" "$dir/text/text.o" 2>"$dir/linker" || { cat "$dir/linker"; return 1; }
	(check_program "$dir/text.bin") >"$dir/said"
	expect PT_INTERP NEEDED 'writable and executable' TEXTREL || failed=1

	(check_objects "$dir/empty") >"$dir/said"
	expect 'no objects' || failed=1
	((failed == 0)) && echo "weak programs and objects are told, each with what is missing"
}

case ${1:-} in
--self-test) self_test ;;
'' | -*)
	echo "usage: check-hardening.sh PROGRAM OBJECT_DIR... | --self-test" >&2
	exit 2
	;;
*)
	check_program "$1"
	shift
	check_objects "$@"
	((bad == 0)) && echo "as meson.build says"
	;;
esac
