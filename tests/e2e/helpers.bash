# SPDX-License-Identifier: Apache-2.0
#
# What the end-to-end tests share: each test has a world of its own, a container of busybox in a
# bundle, two directories for spec files and an allow file, all in a tmpfs below /run (spec files
# must lie where only root can write, and /run itself is often mounted nodev). The hook is called
# by the runtime, as on any host.
#
#   setup            makes that world: $base $specs $specs2 $allow $rootfs $bundle, $dev1 and $dev2
#   spec FILE        writes stdin as a spec file, FILE relative to $specs
#   request NAME...  asks for these devices by an annotation (each call another annotation)
#   container TEXT   runs `sh -c TEXT` in a container; use it with bats' run
#   refused CODE     runs a container that must not start, because the hook exited with CODE
#   by_hand [OPT...] calls the hook directly, as a runtime would, with the state of $pid
#   says / says_not  what $output must or must not contain
#
# bats itself calls setup and teardown around each test.

bats_require_minimum_version 1.5.0

top=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
hook=${OCI_CDI_HOOK:-$top/build/hook/oci-cdi-hook}
runtime=${OCI_RUNTIME:-runc}

fail() {
	printf '%s\n' "$@" >&2
	return 1
}

setup() {
	umask 022
	[[ -x $hook ]] || fail "no hook at $hook: build it first"

	base=$(mktemp -d /run/oci-cdi-hook-test.XXXXXX)
	mount -t tmpfs -o mode=0755 oci-cdi-hook-test "$base"
	specs=$base/specs specs2=$base/specs2 allow=$base/allow
	bundle=$base/bundle rootfs=$bundle/rootfs
	id=oci-cdi-hook-test-$BATS_ROOT_PID-$BATS_TEST_NUMBER
	mkdir -p "$specs" "$specs2" "$rootfs"/{bin,dev,proc,sys,etc}
	echo 'vendor.example/*' >"$allow"

	cp /bin/busybox "$rootfs/bin/"
	local applet
	for applet in sh cat ls stat mknod grep touch id true test sleep; do
		ln -s busybox "$rootfs/bin/$applet"
	done

	# The hook's arguments and environment; tests change them before they start a container.
	options=(--spec-dir="$specs" --spec-dir="$specs2" --allow-file="$allow")
	stage=createRuntime
	requests=0
	pid= # a process that the test started, and a cgroup that it made for it
	cgroup=/sys/fs/cgroup/devices/$id

	(cd "$bundle" && "$runtime" spec)
	# CAP_MKNOD lets a container make any node it likes: what it may open is then the cgroup's
	# decision alone. CAP_SYSLOG is for /dev/kmsg.
	edit_config '
		.root.readonly = false
		| .process.terminal = false
		| .process.capabilities |= map_values(. + ["CAP_MKNOD", "CAP_SYSLOG", "CAP_DAC_OVERRIDE"])
		| .annotations = {}'

	two_devices
	mountinfo_before=$(mountinfo)
}

teardown() {
	[[ -d $base ]] || return 0
	local after
	after=$(mountinfo)

	"$runtime" --root "$base/runc" delete -f "$id" 2>/dev/null || true
	[[ -z $pid ]] || { kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; } || true
	umount -l "$base" && rmdir "$base"
	# A cgroup that the test made, and what a busy runtime leaves of a container that did not start.
	find /sys/fs/cgroup -depth -type d -path "*/$id*" -exec rmdir {} + 2>/dev/null || true

	# Whatever a test was about: the hook leaves no mount on the host.
	[[ $after == "$mountinfo_before" ]] ||
		fail "mounts of the host changed:" "$(diff <(echo "$mountinfo_before") <(echo "$after"))"
}

mountinfo() { cat /proc/self/mountinfo; }

# Two character devices of this machine that open here and that no runtime allows by default.
two_devices() {
	local name found=()
	for name in fuse loop-control vsock autofs kmsg kvm net/tun vhost-vsock uinput; do
		[[ -c /dev/$name ]] && (exec 3<>"/dev/$name") 2>/dev/null && found+=("/dev/$name")
	done
	((${#found[@]} >= 2)) || fail "this machine has fewer than two devices to test with"
	dev1=${found[0]} dev2=${found[1]}
	num1=$(node_number "$dev1") num2=$(node_number "$dev2")
}

# mknod's arguments for a character device, such as "c 10 229". (stat's %Hr is too new for Debian 11.)
node_number() {
	local major minor
	read -r major minor < <(stat -L -c '%t %T' "$1")
	echo "c $((16#$major)) $((16#$minor))"
}

# edit_config FILTER [JQ-OPTION]...: the bundle's config.json through jq
edit_config() {
	local filter=$1
	shift
	jq "$filter" "$@" <"$bundle/config.json" >"$bundle/config.json.new" &&
		mv "$bundle/config.json.new" "$bundle/config.json"
}

spec() {
	mkdir -p "$(dirname "$specs/$1")"
	cat >"$specs/$1"
}

request() {
	local value
	requests=$((requests + 1))
	printf -v value '%s,' "$@"
	annotate "cdi.k8s.io/test$requests" "${value%,}"
}

annotate() { edit_config '.annotations[$k] = $v' --arg k "$1" --arg v "$2"; }

# A spec with the device "node" that gives $dev1 as /dev/thing; most error tests start from it.
simple_spec() {
	spec thing.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/thing
		devices:
		- name: node
		  containerEdits:
		    deviceNodes:
		    - path: /dev/thing
		      hostPath: $dev1
		- name: spare
		  containerEdits:
		    deviceNodes:
		    - path: /dev/spare
		      hostPath: $dev2
	YAML
}

# In TEXT, `opens NODE...` opens device nodes for reading and writing. (A bare "<>" would not do: the
# shell makes a file where there is nothing.)
opens='opens() { local n; for n; do { test -c "$n" && : <>"$n"; } || return; done; }; '

container() {
	edit_config '
		.process.args = ["sh", "-c", $text]
		| .hooks[$stage] = [{
			path: $hook,
			args: (["oci-cdi-hook"] + $ARGS.positional + [$stage]),
			env: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"],
			timeout: 30
		}]' --arg text "$opens$1" --arg hook "$hook" --arg stage "$stage" --args -- "${options[@]}" ||
		return
	timeout 60 "$runtime" --root "$base/runc" run --bundle "$bundle" "$id" </dev/null
}

# Everything in the container's root file system with type, mode, owner, size and link target.
tree() { find "$rootfs" -printf '%P %y %m %U:%G %s %l\n' | sort; }

# The container must not start, and nothing may be left behind of the attempt. The runtime itself
# may make mount points while it sets a container up, so "before" is after a run without a hook.
refused() {
	local code=$1 before

	runtime_alone
	before=$(tree)
	run container 'echo THE PROCESS RAN; touch /ran'
	((status != 0)) || fail "the container started, with" "$output"
	says_not "THE PROCESS RAN"
	[[ ! -e $rootfs/ran ]] || fail "the process ran, with" "$output"
	says "exit status $code, "
	[[ $(tree) == "$before" ]] ||
		fail "left behind:" "$(diff <(echo "$before") <(tree))"
}

runtime_alone() {
	local saved
	saved=$(<"$bundle/config.json")
	edit_config 'del(.hooks) | .process.args = ["true"]'
	"$runtime" --root "$base/runc" run --bundle "$bundle" "$id" </dev/null
	echo "$saved" >"$bundle/config.json"
}

# The state that a runtime gives to a hook; $pid is the container's process.
state() {
	jq '{ociVersion: "1.0.2", id: $id, status: "creating", pid: ($pid | tonumber), bundle: $bundle,
	     annotations: .annotations}' \
		--arg id "$id" --arg pid "$pid" --arg bundle "$bundle" "$bundle/config.json"
}

by_hand() { state | timeout 30 "$hook" "${options[@]}" "$@" "$stage"; }

# A process that could be a container's: it has a mount namespace of its own, in which the root file
# system is a mount, as a runtime makes it.
process_with_namespace() {
	unshare --mount sh -c 'mount --bind "$0" "$0" && exec sleep 300' "$rootfs" 3>&- &
	pid=$!
	until [[ $(<"/proc/$pid/comm") == sleep ]]; do
		sleep 0.02
	done
}

process_without_namespace() {
	sleep 300 3>&- &
	pid=$!
}

says() {
	local text
	for text in "$@"; do
		[[ $output == *"$text"* ]] || { fail "not said: $text" "but:" "$output"; return 1; }
	done
}

says_not() {
	local text
	for text in "$@"; do
		[[ $output != *"$text"* ]] || { fail "said: $text" "in:" "$output"; return 1; }
	done
}
