# SPDX-License-Identifier: Apache-2.0
#
# cdictl check on a running container of runc, that the hook gave a device.

load helpers

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

check() {
	"${CDICTL:-$top/build/ctl/cdictl}" check --spec-dir="$specs" --spec-dir="$specs2" "$@"
}

@test "a container that has everything is good, by pid and by bundle" {
	start
	run -0 check --pid="$pid_inside" vendor.example/thing=all
	says "STATE  WHAT   PATH" "good   node   /dev/thing" "good   mount  /opt/libthing.so.1" \
		"good   mount  /opt/scratch"
	says_not missing differs
	run -0 check --bundle="$bundle" all
	says "good   mount  /opt/data"
	run -0 check --bundle="$bundle" --output=json all all vendor.example/thing=all
	[[ $(jq -c '[.pid, .good, (.findings | length)]' <<<"$output") == "[$pid_inside,true,5]" ]]
}

@test "a node that was removed, one with other numbers, one that is a file" {
	start
	inside /bin/busybox rm /dev/thing
	run -8 check --pid="$pid_inside" all
	says "missing  node   /dev/thing" "is not there" "good     node   /dev/other" \
		"cdictl: process $pid_inside: 1 of 5 nodes and mounts are not as they should be"
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
	says "missing  mount  /opt/libthing.so.1" "nothing is mounted there: the mount is gone" "1 of 5"
	mkdir "$base/new" && mv "$base/new" "$base/data.new"
	mv -T "$base/data" "$base/data.old" && mv -T "$base/data.new" "$base/data"
	run -8 check --bundle="$bundle" all
	says "differs  mount  /opt/data" "shows another file than $base/data of the host" "2 of 5"
	mv -T "$base/data" "$base/data.new" && mv -T "$base/data.old" "$base/data"
	inside /bin/busybox mount -o remount,bind,rw /opt/data
	run -8 check --bundle="$bundle" all
	says "differs  mount  /opt/data" "is mounted without ro"
	inside /bin/busybox umount /opt/scratch
	inside /bin/busybox mount -t proc proc /opt/scratch
	run -8 check --bundle="$bundle" all
	says "a proc is mounted there instead of a tmpfs" "3 of 5"
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

# process_in_root: a process in a pid namespace and with $rootfs as its root; $pid is its parent, which
# ignores all signals but SIGKILL
process_in_root() {
	local child=
	unshare --mount --pid --fork --kill-child chroot "$rootfs" /bin/sleep 300 3>&- &
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
