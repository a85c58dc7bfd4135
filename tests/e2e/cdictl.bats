# SPDX-License-Identifier: Apache-2.0
#
# cdictl as people see it. Needs nothing but the program: CDICTL, or the one in build/.

bats_require_minimum_version 1.5.0

setup() {
	local top=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	cdictl=${CDICTL:-$top/build/ctl/cdictl}
	[[ -x $cdictl ]] || { echo "no cdictl at $cdictl: build it first" >&2; return 1; }
	umask 077
	((EUID == 0)) || { echo "needs root: the files must lie where nobody else may write" >&2; return 1; }
	base=$(mktemp -d /run/cdictl-test.XXXXXX)
	chmod 0755 "$base"
	dir=$base/oci-cdi-hook
	file=$dir/allow
}

teardown() { rm -rf "$base"; }

# says TEXT: $output is exactly that
says() {
	[[ $output == "$1" ]] || { diff <(echo "$1") <(echo "$output") >&2; return 1; }
}

allow() { "$cdictl" allow --allow-file="$file" "$@"; }

# Nothing but the file itself may be left in its directory.
alone() { [[ $(ls -A "$dir") == allow ]]; }

@test "--version and --help" {
	run -0 "$cdictl" --version
	[[ $output =~ ^cdictl\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
	run -0 "$cdictl" --help
	[[ $output == "Usage: cdictl COMMAND"* && $output == *"  allow "* ]]
	run -0 "$cdictl" allow --help
	[[ $output == "Usage: cdictl allow"* ]]
}

@test "usage errors end with 2 and one line" {
	run -2 "$cdictl"
	says "cdictl: no command given; cdictl --help lists them"
	run -2 "$cdictl" alow
	says 'cdictl: unknown command "alow": is allow meant?'
	run -2 "$cdictl" frobnicate
	says 'cdictl: unknown command "frobnicate"; cdictl --help lists them'
	run -2 "$cdictl" $'a\nb'
	says 'cdictl: unknown command "a\x0ab"; cdictl --help lists them'
	run -2 "$cdictl" --frobnicate
	says 'cdictl: unknown option --frobnicate; cdictl --help lists what there is'
	run -2 "$cdictl" allow --frobnicate
	says 'cdictl: allow: unknown option --frobnicate; cdictl allow --help lists them'
	run -2 "$cdictl" allow -xy
	says 'cdictl: allow: unknown option -x; cdictl allow --help lists them'
	run -2 "$cdictl" allow --allow-file
	says 'cdictl: allow: --allow-file needs a value'
	run -2 "$cdictl" allow --allow-file=
	says 'cdictl: allow: --allow-file needs a value'
	run -2 "$cdictl" allow --alow-file=x
	says 'cdictl: allow: unknown option --alow-file; did you mean --allow-file?'
	run -2 "$cdictl" allow --allow=x
	says 'cdictl: allow: unknown option --allow; cdictl allow --help lists them'
	run -2 "$cdictl" allow --help=x
	says 'cdictl: allow: --help takes no value'
}

@test "a full disk is no success" {
	[[ -c /dev/full ]] || skip "no /dev/full"
	run -1 sh -c "'$cdictl' --help >/dev/full"
	says "cdictl: write to standard output: No space left on device"
}

@test "show: udev's names of a node, and the driver of its major number" {
	# libudev's database, in a /run of our own
	run -0 unshare --mount --propagation private sh -c '
		mount -t tmpfs -o mode=0755 tmpfs /run
		mkdir -p /run/udev/data /run/specs
		printf "I:1\nS:gadget/by-path/pci-0\nS:gadget/by-id/one\nE:A=b\nV:1\n" >/run/udev/data/c1:3
		cat >/run/specs/gadget.json
		mknod /run/pty c 136 77
		exec "$0" show --spec-dir=/run/specs 0' "$cdictl" <<-JSON
		{"cdiVersion": "0.6.0", "kind": "vendor.example/gadget", "devices": [{"name": "0", "containerEdits":
		 {"deviceNodes": [{"path": "/dev/a", "hostPath": "/dev/null"}, {"path": "/dev/b", "hostPath": "/run/pty"}]}}]}
	JSON
	[[ $output == *"/dev/a from /dev/null  c 1:3, subsystem mem, also /dev/gadget/by-id/one, /dev/gadget/by-path/pci-0  2:"* ]]
	[[ $output == *"/dev/b from /run/pty   c 136:77, driver pts  "* ]]
}

@test "allow: a missing file and an empty one allow nothing" {
	run -0 allow
	says "cdictl: $file does not exist: nothing is allowed"
	mkdir "$dir"
	echo '# none' >"$file"
	run -0 allow
	says "cdictl: $file has no patterns: nothing is allowed"
}

@test "allow: the first pattern makes directory and file, readable for all" {
	run -0 allow 'vendor.com/gpu=*'
	says "$file: vendor.com/gpu=* added"
	[[ $(stat -c %a "$dir" "$file") == $'755\n644' ]]
	[[ $(stat -c %u "$file") == "$EUID" ]]
	alone
	run -0 allow
	says 'vendor.com/gpu=*'
}

@test "allow: root's file is root's, in a directory of another group too" {
	mkdir "$dir"
	chgrp 4711 "$dir"
	chmod 2755 "$dir"
	allow 'v/c=*'
	[[ $(stat -c %u:%g:%a "$file") == 0:0:644 ]]
}

@test "allow: comments, blank lines and order stay" {
	mkdir "$dir"
	printf '# mine\n\n  a/b=*  # why\r\nno newline behind me' >"$file"
	run -0 allow 'v/c=*' 'w/c=1'
	says "$file: v/c=* added"$'\n'"$file: w/c=1 added"
	diff "$file" <(printf '# mine\n\n  a/b=*  # why\r\nno newline behind me\nv/c=*\nw/c=1\n')
	alone
}

@test "allow: a pattern that is there changes nothing" {
	mkdir "$dir"
	printf 'v/c=*' >"$file"
	local before=$(stat -c '%i %Y %a' "$file")
	run -0 allow 'v/c=*'
	says "$file: v/c=* is there already"
	[[ $(stat -c '%i %Y %a' "$file") == "$before" ]]
	alone
}

@test "allow: twice in one call is once in the file" {
	run -0 allow 'v/c=*' 'v/c=*' 'w/c=*'
	[[ $(grep -c 'v/c' "$file") == 1 ]]
	run -0 allow
	says 'v/c=*'$'\n''w/c=*'
}

@test "allow: malformed patterns are refused, and then none is added" {
	local name='a device is named vendor.com/class=name'

	run -2 allow 'v/c=*' ''
	says 'cdictl: pattern "": is empty'
	run -2 allow '  '
	says 'cdictl: pattern "  ": is empty'
	run -2 allow $'v/c=*\n*'
	says 'cdictl: pattern "v/c=*\x0a*": contains "\x0a", which no device'\''s name does'
	run -2 allow 'v/c=* w/c=*'
	says 'cdictl: pattern "v/c=* w/c=*": contains " ", which no device'\''s name does'
	run -2 allow 'v/c=ä'
	says 'cdictl: pattern "v/c=\xc3\xa4": contains "\xc3", which no device'\''s name does'
	run -2 allow '#v/c=*'
	says 'cdictl: pattern "#v/c=*": a line with # is a comment'
	run -2 allow 'vendor.com/gpu'
	says "cdictl: pattern \"vendor.com/gpu\": allows nothing, since $name; for all devices of a kind: 'vendor.com/gpu=*'"
	run -2 allow 'gpu0'
	says "cdictl: pattern \"gpu0\": allows nothing, since $name"
	run -2 allow "$(printf '%01025d' 0)*"
	[[ $output == *'": is longer than 1024 bytes' ]]
	[[ ! -e $dir ]]

	# What matches something is nobody's mistake.
	run -0 allow '*' 'vendor.com*' "$(printf '%01023d' 0)*"
}

@test "allow: symbolic links stay, and what they lead to is changed" {
	mkdir "$dir"
	echo 'v/c=*' >"$dir/real"
	ln -s real "$file"
	allow 'w/c=*'
	[[ -L $file && $(cat "$dir/real") == $'v/c=*\nw/c=*' ]]
}

@test "allow: a relative file" {
	cd "$base"
	run -0 "$cdictl" allow --allow-file=here 'v/c=*'
	says "here: v/c=* added"
	[[ -f here ]]
}

@test "allow: options may stand behind the pattern, as in the hook's sentence" {
	run -0 "$cdictl" allow 'v/c=*' --allow-file "$file"
	says "$file: v/c=* added"
}

@test "allow: what is no plain file is left alone" {
	mkdir "$dir" "$dir/directory"
	mkfifo "$dir/fifo"
	run -1 timeout 10 "$cdictl" allow --allow-file="$dir/directory" 'v/c=*'
	says "cdictl: read $dir/directory: Is a directory"
	run -1 timeout 10 "$cdictl" allow --allow-file="$dir/fifo" 'v/c=*'
	says "cdictl: read $dir/fifo: not a regular file"
	run -1 timeout 10 "$cdictl" allow --allow-file="$dir/fifo"
	says "cdictl: read $dir/fifo: not a regular file"
	run -1 "$cdictl" allow --allow-file="$dir/none/of/these" 'v/c=*'
	says "cdictl: make the directory $dir/none/of: No such file or directory"
	[[ $(ls -A "$dir") == $'directory\nfifo' ]]
}

@test "allow: a file that others may write is neither shown nor made trustworthy" {
	mkdir "$dir"
	echo 'v/c=*' >"$file"
	chmod 0646 "$file"
	run -5 allow
	says "cdictl: $file: not trusted: writable by others (mode 0646), who can have written any of its lines: read them, then chmod go-w $file"
	run -5 allow 'w/c=*'
	says "cdictl: $file: not trusted: writable by others (mode 0646), who can have written any of its lines: read them, then chmod go-w $file"
	chmod 0664 "$file"
	run -5 allow 'w/c=*'
	[[ $output == *"writable by its group (mode 0664)"* ]]
	chmod 0644 "$file"
	chown 4711 "$file"
	run -5 allow 'w/c=*'
	says "cdictl: $file: not trusted: it belongs to user 4711, who can have written any of its lines: read them, then chown root $file"
	[[ $(<"$file") == 'v/c=*' && $(stat -c %u "$file") == 4711 ]]
	alone
}

@test "allow: a directory that others may write gets a warning" {
	mkdir -m 0777 "$dir"
	chmod 0777 "$dir"
	run -0 allow 'v/c=*'
	says "$file: v/c=* added
cdictl: warning: the hook does not read this file: $dir: not trusted: writable by its group and others (mode 0777): chmod go-w $dir"
	run -0 allow
	[[ $output == *"cdictl: warning: the hook does not read this file: $dir: not trusted"* ]]
}

@test "allow: a broken file is told by its line, and stays" {
	mkdir "$dir"
	printf 'v/c=*\nv/\0c=*\n' >"$file"
	run -5 allow
	says "cdictl: $file:2: a NUL byte"
	run -5 allow 'w/c=*'
	says "cdictl: $file:2: a NUL byte"
	[[ $(stat -c %s "$file") == 13 ]]
	alone
}

@test "allow: a file never grows beyond what the hook reads" {
	mkdir "$dir"
	head -c 262140 /dev/zero | tr '\0' '\n' >"$file"
	run -1 allow 'vendor.com/gpu=*'
	says "cdictl: $file would be larger than 262144 bytes"
	[[ $(stat -c %s "$file") == 262140 ]]
	alone
}

@test "allow: a second cdictl keeps away" {
	mkdir "$dir"
	touch "$file.cdictl-new"
	run -1 allow 'v/c=*'
	says "cdictl: $file.cdictl-new is there: another cdictl is at work, or one was killed; remove it then"
	[[ ! -e $file && -e $file.cdictl-new ]]
}
