# SPDX-License-Identifier: Apache-2.0
#
# cdictl check on a running container of runc, that the hook gave a device; and --repair, which gives it again.

load helpers

# rule NUMBERS: what cdictl calls the rule of such a node
rule() { set -- $1; echo "$1 $2:$3 rwm"; }

# The directory of the container's device cgroup.
device_cgroup() {
	local path
	if path=$(grep -oP ':devices:\K.*' "/proc/$pid_inside/cgroup") && [[ -d /sys/fs/cgroup/devices ]]; then
		echo "/sys/fs/cgroup/devices$path"
	else
		echo "/sys/fs/cgroup$(grep -oP '^0::\K.*' "/proc/$pid_inside/cgroup")"
	fi
}

# take_away NUMBERS [DIRECTORY [NAME]]: the container may not open such a node any more, or nobody in the cgroup of that directory. On
# v1 its entry is taken off the list; on v2, where there is no list, one more program, of that name, refuses all devices.
take_away() {
	local directory=${2:-$(device_cgroup)}
	if [[ -e $directory/devices.deny ]]; then
		set -- $1
		echo "$1 $2:$3 rwm" >"$directory/devices.deny"
		return
	fi
	attach_program "b700000000000000 9500000000000000" "$directory" "${3:-}" # r0 = 0, exit
}

# attach_program INSTRUCTIONS [DIRECTORY [NAME]]: one more device program for the container's cgroup of v2, or that one
attach_program() {
	python3 - "${2:-$(device_cgroup)}" "$1" "${3:-}" <<-'PY'
		import ctypes, os, platform, struct, sys

		LOAD, ATTACH, CGROUP_DEVICE_PROGRAM, CGROUP_DEVICE, MULTI = 5, 8, 15, 6, 2
		libc = ctypes.CDLL(None, use_errno=True)

		def bpf(command, attr):
		    attr = ctypes.create_string_buffer(attr.ljust(128, b"\0"), 128)
		    result = libc.syscall({"x86_64": 321}.get(platform.machine(), 280), command, attr, 128)
		    if result < 0:
		        sys.exit("bpf: " + os.strerror(ctypes.get_errno()))
		    return result

		instructions = bytes.fromhex(sys.argv[2])
		program = ctypes.create_string_buffer(instructions)
		text = ctypes.create_string_buffer(b"GPL")
		fd = bpf(LOAD, struct.pack("=IIQQ24x16s", CGROUP_DEVICE_PROGRAM, len(instructions) // 8, ctypes.addressof(program),
		    ctypes.addressof(text), sys.argv[3].encode()))
		cgroup = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
		bpf(ATTACH, struct.pack("=IIII", cgroup, fd, CGROUP_DEVICE, MULTI))
	PY
}

# What the container has, to compare.
everything() {
	cat "/proc/$pid_inside/mountinfo"
	stat -c '%N %F %t:%T %i %a %u:%g %Z' "/proc/$pid_inside/root"/{dev,opt}{,/*}
	cat "$(device_cgroup)/devices.list" 2>/dev/null || true
}

# start: a container with the device "all" of check.yaml, whose process waits; $pid_inside is its init
start() {
	mkdir -p "$base/lib" "$base/data"
	echo library >"$base/lib/libthing.so.1"
	spec check.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/thing
		devices:
		- name: all
		  containerEdits:
		    deviceNodes:
		    - {path: /dev/thing, hostPath: $dev1}
		    - {path: /dev/other, hostPath: $dev2}
		    mounts:
		    - {hostPath: $base/lib/libthing.so.1, containerPath: /opt/libthing.so.1, options: [ro, nosuid, bind]}
		    - {hostPath: $base/data, containerPath: /opt/data, options: [ro, bind]}
		    - {hostPath: scratch, containerPath: /opt/scratch, type: tmpfs}
	YAML
	request vendor.example/thing=all
	options+=(--ldconfig=none)
	edit_config '
		.process.args = ["sleep", "300"]
		| .process.terminal = false
		| .hooks.createRuntime = [{
			path: $hook, args: (["oci-cdi-hook"] + $ARGS.positional + ["createRuntime"]),
			env: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"], timeout: 30
		}]' --arg hook "$hook" --args -- "${options[@]}"
	"$runtime" --root "$base/runc" run --detach --pid-file "$base/pid" --bundle "$bundle" "$id" \
		</dev/null >"$base/output" 2>&1 || fail "$(<"$base/output")"
	pid_inside=$(<"$base/pid")
}

# inside COMMAND...: in the mount and pid namespace of the container
inside() { nsenter --target "$pid_inside" --mount --pid --root -- "$@"; }

repair() { check --repair --hook="$hook" "$@"; }

opens_inside() { "$runtime" --root "$base/runc" exec "$id" sh -c "$opens opens $*" </dev/null; }

check() {
	"${CDICTL:-$top/build/ctl/cdictl}" check --spec-dir="$specs" --spec-dir="$specs2" "$@"
}

@test "a container that has everything is good, by pid and by bundle" {
	start
	run -0 check --pid="$pid_inside" vendor.example/thing=all
	says "STATE  WHAT   PATH" "good   node   /dev/thing" "good   mount  /opt/libthing.so.1" \
		"good   mount  /opt/scratch" "good   rule   ${num1% *}:${num1##* } rwm"
	says_not missing differs
	run -0 check --bundle="$bundle" all
	says "good   mount  /opt/data"
	run -0 check --bundle="$bundle" --output=json all all vendor.example/thing=all
	[[ $(jq -c '[.pid, .good, (.findings | length)]' <<<"$output") == "[$pid_inside,true,7]" ]]
}

@test "a node that was removed, one with other numbers, one that is a file" {
	start
	inside /bin/busybox rm /dev/thing
	run -8 check --pid="$pid_inside" all
	says "missing  node   /dev/thing" "is not there" "good     node   /dev/other" \
		"cdictl: process $pid_inside: 1 of 7 nodes, mounts and device rules are not as they should be"
	inside /bin/busybox mknod /dev/thing $num2
	run -8 check --pid="$pid_inside" all
	set -- $num1 $num2
	says "differs  node   /dev/thing" "is $4 $5:$6 instead of $1 $2:$3: made by something else"
	inside /bin/busybox rm /dev/thing
	inside /bin/busybox touch /dev/thing
	run -8 check -o json --pid="$pid_inside" all
	json=${output%cdictl:*}
	[[ $(jq -c '.findings[] | select(.state != "good") | [.operation, .path, .state, .problem, .device, .line]' <<<"$json") == \
		'["node","/dev/thing","differs","is no device node","vendor.example/thing=all",7]' ]]
}

@test "a mount that is gone, one that shows a replaced file, one without an option" {
	start
	inside /bin/busybox umount /opt/libthing.so.1
	run -8 check --bundle="$bundle" all
	says "missing  mount  /opt/libthing.so.1" "nothing is mounted there: the mount is gone" "1 of 7"
	mkdir "$base/new" && mv "$base/new" "$base/data.new"
	mv -T "$base/data" "$base/data.old" && mv -T "$base/data.new" "$base/data"
	run -8 check --bundle="$bundle" all
	says "differs  mount  /opt/data" "shows another file than $base/data of the host" "2 of 7"
	mv -T "$base/data" "$base/data.new" && mv -T "$base/data.old" "$base/data"
	inside /bin/busybox mount -o remount,bind,rw /opt/data
	run -8 check --bundle="$bundle" all
	says "differs  mount  /opt/data" "is mounted without ro"
	inside /bin/busybox umount /opt/scratch
	inside /bin/busybox mount -t proc proc /opt/scratch
	run -8 check --bundle="$bundle" all
	says "a proc is mounted there instead of a tmpfs" "3 of 7"
}

@test "links of the container lead nowhere outside" {
	start
	# A link to where on the host the right node is, and one by the container's procfs.
	inside /bin/busybox rm /dev/thing /dev/other
	inside /bin/busybox ln -s "/../../../..$dev1" /dev/thing
	inside /bin/busybox ln -s "/proc/1/root$dev2" /dev/other
	run -8 check --pid="$pid_inside" all
	says "missing  node   /dev/thing" "differs  node   /dev/other" "Too many levels of symbolic links"
}

@test "what is no container is said in one sentence" {
	simple_spec
	run -7 check --pid="$BASHPID" node
	says "cdictl: process $BASHPID: no container: it is in the mount namespace of the host"
	process_with_namespace
	run -7 check --pid="$pid" node
	says "cdictl: process $pid: no container: its root directory is that of the host"
	run -7 check --pid=4194305 node
	says "cdictl: process 4194305: there is none"
	run -7 check --pid=2 node
	says "cdictl: process 2: "
	run -2 check --pid=12x node
	says "cdictl: check: --pid=12x: expected the number of a process"
	# It must not wrap to the number of another process.
	run -2 check --pid=4294967297 node
	says "cdictl: check: --pid=4294967297: expected the number of a process"
	run -2 check --pid=-1 node
	run -2 check node
	says "cdictl: check: name a container by either --pid=PID or --bundle=DIR"
	run -7 check --bundle="$base/none" node
	says "cdictl: bundle $base/none: open the directory: No such file or directory"
	run -7 check --bundle="$bundle" node
	says "cdictl: bundle $bundle: no process that we may look at has its root"
}

# process_in_root [OPTION...]: a process in a pid namespace and with $rootfs as its root, and what else unshare is to give it;
# $pid is its parent, which ignores all signals but SIGKILL
process_in_root() {
	local child=
	unshare --mount --pid --fork --kill-child "$@" chroot "$rootfs" /bin/sleep 300 3>&- &
	pid=$!
	until [[ $child && $(stat -L -c %d:%i "/proc/$child/root") == "$(stat -c %d:%i "$rootfs")" ]]; do
		sleep 0.05
		read -r child _ <"/proc/$pid/task/$pid/children" || true
	done
}

@test "several containers of one bundle are told apart by their processes" {
	local first
	simple_spec
	process_in_root
	first=$pid
	process_in_root
	run check --bundle="$bundle" node
	kill -KILL "$first" "$pid"
	pid=
	((status == 7))
	says "cdictl: bundle $bundle: several containers have its root, such as those of the processes " \
		": --pid=PID says which one is meant"
}

@test "a device that does not exist, and one whose host part is gone" {
	start
	run -3 check --pid="$pid_inside" nothing
	says "cdictl: device nothing: no spec file has it"
	spec gone.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/gone
		devices:
		- {name: gone, containerEdits: {deviceNodes: [{path: /dev/gone}]}}
	YAML
	run -6 check --pid="$pid_inside" gone
	says "device node /dev/gone of the host: No such file or directory"
}

@test "a rule that was taken away is found and named, and brought back" {
	start
	opens_inside /dev/thing /dev/other
	take_away "$num1"
	run opens_inside /dev/thing
	((status != 0))
	run -8 check --pid="$pid_inside" all
	says "missing  rule   $(rule "$num1")" "good     node   /dev/thing" \
		": an engine's update has written its own rules over it, or it never was allowed" \
		"7 nodes, mounts and device rules are not as they should be"
	run -8 check -o json --pid="$pid_inside" all
	[[ $(jq -c '.good, (.findings[] | select(.operation == "rule") | .state)' <<<"${output%cdictl:*}" | head -n 2) == $'false\n"missing"' ]]

	run -0 repair --pid="$pid_inside" all
	says "mended  rule   $(rule "$num1")" "good    node   /dev/thing"
	opens_inside /dev/thing /dev/other
	run -0 check --bundle="$bundle" all
	says_not missing
}

# start_below UNIT: as start, in a cgroup of its own below one of that name, whose directory is $directory
start_below() {
	edit_config '.linux.cgroupsPath = $path' --arg path "/$1/container"
	start
	opens_inside /dev/thing
	directory=$(dirname "$(device_cgroup)")
	[[ ${directory##*/} == "$1" ]]
}

stays_closed() {
	run opens_inside /dev/thing
	((status != 0))
}

left="units that are not the container's are left as they are: "

# is_left_to_administrator UNIT: its list, and the container happens to be alone in there: what is put there later must not have the
# devices.
is_left_to_administrator() {
	[[ ! -d /sys/fs/cgroup/devices ]] || skip "cgroup v1 has no device programs"
	start_below "$1"
	take_away "$num1" "$directory" sd_devices
	run -8 repair --pid="$pid_inside" all
	set -- "$1" $num1
	says "missing  rule   $(rule "$num1")" "of cgroup /$1 refuses rw" \
		": ${left}systemctl set-property '$1' 'DeviceAllow=/dev/char/$3:$4 rwm' would allow it to all that is in there" \
		"$1 above it limits devices too, and ${left}systemctl set-property '$1' 'DeviceAllow"
	stays_closed
}

@test "a slice above that refuses: check says what the administrator would type, and --repair leaves it alone" {
	is_left_to_administrator "$id.slice"
}

@test "a service above that refuses: as with a slice" { is_left_to_administrator "$id.service"; }

# Its table writes a backslash as \x5c: what were pasted would be another unit.
@test "a slice above with a backslash in its name: the hook says what to type, and check only what to set" {
	[[ ! -d /sys/fs/cgroup/devices ]] || skip "cgroup v1 has no device programs"
	start_below "$id-my\\x2dapp.slice"
	take_away "$num1" "$directory" sd_devices
	run -8 repair --pid="$pid_inside" all
	says ": ${left}an entry DeviceAllow=/dev/char/" " of $id-my\\x5cx2dapp.slice would allow it" \
		"limits devices too, and ${left}systemctl set-property '$id-my\\x2dapp.slice' 'DeviceAllow"
	stays_closed
}

# A first entry for a unit without a list would close it for all others in there.
@test "another's program at a slice above, beside systemd's: nothing to type is said" {
	[[ ! -d /sys/fs/cgroup/devices ]] || skip "cgroup v1 has no device programs"
	start_below "$id.slice"
	take_away "$num1" "$directory" sd_devices
	take_away "$num1" "$directory" their_own
	run -8 repair --pid="$pid_inside" all
	says "(sd_devices) of cgroup /$id.slice refuses rw" ": ${left}device program" \
		"(their_own) is not systemd's, and whoever attached it has to allow the device there" \
		"$id.slice above it limits devices too, and ${left}device program"
	says_not DeviceAllow
	stays_closed
}

@test "the list of a slice above on v1: nothing to type is said, since nobody knows whose it is" {
	[[ -d /sys/fs/cgroup/devices ]] || skip "cgroup v2 has no device lists"
	local entry
	mkdir "/sys/fs/cgroup/devices/$id.slice"
	echo a >"/sys/fs/cgroup/devices/$id.slice/devices.deny"
	for entry in "c *:* m" "b *:* m" "c 1:* rwm" "c 5:* rwm" "c 136:* rwm" "c 10:200 rwm" "$(rule "$num1")" "$(rule "$num2")"; do
		echo "$entry" >"/sys/fs/cgroup/devices/$id.slice/devices.allow"
	done
	start_below "$id.slice"
	take_away "$num1" "$directory"
	run -8 check --pid="$pid_inside" all
	says "the cgroup /$id.slice above the container's does not allow" \
		": ${left}whoever has set its list has to allow the device there"
	says_not DeviceAllow
	stays_closed
}

@test "a rule of old numbers: the driver has new ones since" {
	start
	take_away "$num1"
	inside /bin/busybox rm /dev/thing
	inside /bin/busybox mknod /dev/thing $num2
	run -8 check --pid="$pid_inside" all
	set -- $num2
	says "missing  rule" ": the container's node is $1 $2:$3, and the host's has new numbers since: only the old ones were allowed"
}

@test "--repair brings back what is missing, and says what that was" {
	start
	inside /bin/busybox rm /dev/thing
	inside /bin/busybox umount /opt/libthing.so.1
	inside /bin/busybox umount /opt/scratch
	run -0 repair --bundle="$bundle" all
	says "mended  node   /dev/thing          is not there" "mended  mount  /opt/libthing.so.1" \
		"mended  mount  /opt/scratch" "good    node   /dev/other" "good    mount  /opt/data"
	says_not "nothing to mend"
	opens_inside /dev/thing
	[[ $(inside /bin/busybox cat /opt/libthing.so.1) == library ]]
	run inside /bin/busybox touch /opt/libthing.so.1
	((status != 0))

	# By pid, without a bundle: the numbers of the process say whose the node is to be.
	inside /bin/busybox rm /dev/other
	run -0 repair -o json --pid="$pid_inside" all
	[[ $(jq -c '[.good, (.findings[] | select(.state != "good") | [.path, .state, .problem])]' <<<"$output") == \
		'[true,["/dev/other","mended","is not there"]]' ]]
	opens_inside /dev/other
	compgen -G "/run/cdictl-repair-*" && fail "a directory is left in /run"
	return 0
}

@test "--repair where nothing is missing says so, starts nothing and changes nothing" {
	local before
	start
	before=$(everything)
	run -0 check --repair --hook=/nonexistent --pid="$pid_inside" all
	says "There is nothing to mend." "good   rule"
	run -0 check --repair --hook=/nonexistent --output=json --pid="$pid_inside" all
	says_not "nothing to mend"
	jq -e .good <<<"$output"
	[[ $(everything) == "$before" ]]
}

@test "--repair runs no program of a spec a second time" {
	cat >"$base/vendor-program" <<-SH
		#!/bin/sh
		echo ran >>$base/log
	SH
	chmod +x "$base/vendor-program"
	spec hooked.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/hooked
		containerEdits:
		  hooks: [{hookName: createRuntime, path: $base/vendor-program}]
		devices:
		- {name: node, containerEdits: {deviceNodes: [{path: /dev/hooked, hostPath: $dev1}]}}
	YAML
	request vendor.example/hooked=node
	start
	[[ $(<"$base/log") == ran ]]
	inside /bin/busybox rm /dev/hooked
	run -0 repair --pid="$pid_inside" vendor.example/hooked=node
	says "mended  node  /dev/hooked"
	[[ $(<"$base/log") == ran ]]
}

@test "--repair that cannot: what is in the way is named, and all stays as it was" {
	local before
	start
	inside /bin/busybox rm /dev/thing /dev/other
	inside /bin/busybox touch /dev/thing
	before=$(everything)
	run -8 repair --pid="$pid_inside" all
	says "oci-cdi-hook: device vendor.example/thing=all" "/dev/thing" \
		"differs  node   /dev/thing" "missing  node   /dev/other" \
		"cdictl: process $pid_inside: the hook failed with 8 and has taken back what it did: 2 of 7 nodes"
	[[ $(everything) == "$before" ]]
	run -1 check --repair --hook=/nonexistent --pid="$pid_inside" all
	says "cdictl: run /nonexistent (--hook=FILE names another): No such file or directory"
	[[ $(everything) == "$before" ]]
}

@test "--repair leaves the cgroup alone where a program that nobody can read stands beside one that refuses" {
	[[ ! -d /sys/fs/cgroup/devices ]] || skip "cgroup v1 has no device programs"
	printf '#!/bin/sh\necho "$*" >%s/arguments\n' "$base" >"$base/tell"
	chmod +x "$base/tell"
	start
	take_away "$num1"
	run -8 check --repair --hook="$base/tell" --pid="$pid_inside" all
	[[ $(<"$base/arguments") != *--no-cgroup* ]]
	attach_program "8500000007000000 b700000001000000 9500000000000000" # call bpf_get_prandom_u32, r0 = 1, exit
	run -8 check --repair --hook="$base/tell" --pid="$pid_inside" all
	says "missing  rule" " refuses rw" "; device program " " cannot be read ("
	[[ $(<"$base/arguments") == *" --no-cgroup "* ]]
}

@test "--repair of a container that runs as a plain user" {
	edit_config '.process.user = {uid: 1000, gid: 1000}'
	start
	for named in --pid="$pid_inside" --bundle="$bundle"; do
		inside /bin/busybox rm /dev/thing
		run -0 repair "$named" all
		says "mended  node   /dev/thing"
	done
}

@test "--repair that looks too long starts no hook" {
	printf '#!/bin/sh\ntouch %s/started\n' "$base" >"$base/never"
	chmod +x "$base/never"
	start
	inside /bin/busybox rm /dev/thing
	run -12 strace --follow-forks --output=/dev/null --trace=openat2 --inject=openat2:delay_enter=400000 \
		"$top/build/ctl/cdictl" check --repair --hook="$base/never" --timeout=1 --spec-dir="$specs" --pid="$pid_inside" all
	says "cdictl: process $pid_inside: looking at it took longer than the 1 seconds that --timeout allows: the hook was not started, and nothing is changed"
	[[ ! -e $base/started ]]
}

@test "--repair whose hook was late does not say that all was taken back" {
	printf '#!/bin/sh\nexit 12\n' >"$base/late"
	chmod +x "$base/late"
	start
	inside /bin/busybox rm /dev/thing
	run -8 check --repair --hook="$base/late" --pid="$pid_inside" all
	says "cdictl: process $pid_inside: the hook failed with 12 and was late, so that it may not have taken back all that it did: 1 of 7 nodes"
}

# What would be made there would be made in a directory of the host.
@test "--repair refuses a process that has gone into a volume by chroot" {
	mkdir -p "$base/volume/bin" "$base/volume/dev"
	cp "$rootfs/bin/busybox" "$base/volume/bin/"
	edit_config '.mounts += [{destination: "/volume", type: "bind", source: $v, options: ["bind"]}]' --arg v "$base/volume"
	start
	nsenter --target "$pid_inside" --mount --root -- /bin/busybox chroot /volume /bin/busybox sleep 300 3>&- &
	pid=$!
	until [[ $(stat -L -c %d:%i "/proc/$pid/root") == "$(stat -c %d:%i "$base/volume")" ]]; do sleep 0.05; done
	run -8 repair --pid="$pid" all
	kill "$pid"
	says "oci-cdi-hook: the root directory of process $pid is not that of its mount namespace: it has gone into another directory by chroot()" \
		"missing  node   /dev/thing" "the hook failed with 7"
	[[ $(find "$base/volume" -mindepth 1 | LC_ALL=C sort | xargs -n 1 basename | xargs) == "bin busybox dev" ]]
	pid=
}

@test "--repair does nothing outside, wherever the container's links lead" {
	mkdir -p "$base/outside"
	start
	inside /bin/busybox rm /dev/thing
	inside /bin/busybox umount /opt/libthing.so.1
	inside /bin/busybox umount /opt/data
	inside /bin/busybox umount /opt/scratch
	inside /bin/busybox rm -r /opt
	inside /bin/busybox ln -s "/../../../..$base/outside" /opt
	inside /bin/busybox ln -s "/proc/1/root$base/outside/thing" /dev/thing
	run repair --pid="$pid_inside" all
	[[ -z $(ls -A "$base/outside") ]]
	[[ $(grep -c "$base/outside" /proc/self/mountinfo) == 0 ]]
}

@test "what --repair refuses: one sentence, and nothing is started" {
	printf '#!/bin/sh\ntouch %s/started\n' "$base" >"$base/never"
	chmod +x "$base/never"
	try() { run "$1" check --repair --hook="$base/never" "${@:2}" && [[ ! -e $base/started ]]; }
	simple_spec
	try -7 --pid="$BASHPID" node
	says "cdictl: process $BASHPID: no container: it is in the mount namespace of the host"
	try -7 --pid=4194305 node
	says "cdictl: process 4194305: there is none"
	try -7 --bundle="$bundle" node
	says "cdictl: bundle $bundle: no process that we may look at has its root: does it run?"

	start
	try -3 --pid="$pid_inside" nothing
	run -2 check --repair --pid="$pid_inside" --timeout=0 all
	says "cdictl: check: --timeout=0: expected whole seconds from 1 to 3600"
	run -2 check --timeout=1x --pid="$pid_inside" all
	run -7 setpriv --reuid=65534 --clear-groups "$top/build/ctl/cdictl" check --repair --hook="$base/never" \
		--spec-dir="$specs" --pid="$pid_inside" all
	says "cdictl: process $pid_inside: only root may look at it"
	"$runtime" --root "$base/runc" delete -f "$id"
	try -7 --pid="$pid_inside" all
	# Who reaped it is the machine's affair.
	[[ $output == "cdictl: process $pid_inside: "@("there is none"|"it has ended") ]]
	[[ ! -e $base/started ]]

	process_in_root --user --map-root-user
	read -r child _ <"/proc/$pid/task/$pid/children" || true
	try -7 --pid="$child" node
	kill -KILL "$pid"
	pid=
	says "cdictl: process $child: its container is in a user namespace, where it can be given devices at its start only"
}

@test "a file system that does not answer holds cdictl until its deadline, and no longer" {
	local started
	[[ -c /dev/fuse ]] || skip "no FUSE on this machine"
	mkdir "$base/silent"
	"$BATS_TEST_DIRNAME/silent-fuse" "$base/silent" 3>&- &
	pid=$!
	until grep -q " $base/silent " /proc/self/mountinfo; do
		[[ -d /proc/$pid ]] || fail "silent-fuse did not start"
		sleep 0.05
	done
	mountinfo_before=$(mountinfo)
	edit_config '.mounts += [{destination: "/data", type: "bind", source: $s, options: ["bind"]}]' --arg s "$base/silent"
	start
	inside /bin/busybox rm /dev/thing
	inside /bin/busybox ln -s /data/thing /dev/thing
	started=$SECONDS
	# What is held is left behind, and would hold bats by the streams that it has.
	run -12 timeout 10 "$top/build/ctl/cdictl" check --timeout=1 --spec-dir="$specs" --pid="$pid_inside" all 3>&-
	((SECONDS - started < 5)) || fail "$((SECONDS - started)) seconds"
	says "cdictl: not done by the deadline, and ended: a file system of the container"
	kill "$pid"
	wait "$pid" || true
	pid=
}
