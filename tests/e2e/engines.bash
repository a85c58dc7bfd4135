# SPDX-License-Identifier: Apache-2.0
#
# The same container under several engines, on top of helpers.bash and ldcache-helpers.bash. Here
# the container runs in the background and its first process writes what it sees to /dev/shm/seen; so
# the tests can look at it from outside, and run the hook a second time, while it is alive.
#
#   use_engine NAME     runc, crun, podman+runc or podman+crun; "new-" before either part is a release
#                       that is newer than this Debian's (tests/newer-engine.sh), new-youki too; the
#                       test is skipped where it is not to be had. $label is its name with versions
#   all_spec            a device that is all that a device can be; asks for it
#   start [OPTION...]   starts the container, its first process runs look; sets $pid;
#                       the options are podman's. Use it with bats' run only where it must fail.
#   stages=(STAGE...)   where the hook is registered, read by start
#   read_only=true      the container's root is, read by start
#   driver=systemd      systemd makes the container's cgroup, read by use_engine; it must be pid 1
#   sees_all            what look saw is what all_spec gives, and nothing more
#   inside TEXT         runs `sh -c TEXT` in the running container
#   stop_container      what it says; podman's is still there, and `podman start` starts it again
#   remove_container    nothing of it is left, whether or not it ever started
#   pod ...             podman, on a storage of the test's own
#
# The engines of this Debian are needed: a test fails where one is missing. All of it runs on cgroup v1 or v2
# alone, as tests/e2e/with-cgroup makes them, since crun refuses a machine where both are in use.

load "${BASH_SOURCE[0]%/*}/helpers"
load "${BASH_SOURCE[0]%/*}/ldcache-helpers"

# What both setups and teardowns do happens around ours.
eval "helpers_$(declare -f setup)"
eval "helpers_$(declare -f teardown)"

setup() {
	helpers_setup
	stages=(createRuntime)
	read_only=false
	driver=cgroupfs
	glibc_image
	mkdir "$base/bin" "$base/hooks.d"
	third_device
	cgroups_version
	in_cgroup="/$id"
}

teardown() {
	[[ -d ${base:-} ]] || return 0
	local problem= engine_of=${engine:-}

	[[ -n ${BATS_TEST_COMPLETED:-} || ! -s $base/log ]] || sed 's/^/log: /' "$base/log"
	# A test that was skipped for want of its podman has none.
	[[ $engine_of != *podman+* || -n ${podman:-} ]] || engine_of=
	case $engine_of in
	*podman+*)
		pod_rm_all || problem="podman does not remove its containers"
		# conmon does some of its work after podman has gone.
		wait_until nothing_of_podman || problem+=" podman left $(nothing_of_podman || true)"
		# podman mounts its storage on itself, and does not always take that off.
		umount "$base/podman/graph/overlay" 2>/dev/null || true
		;;
	?*)
		delete_container >/dev/null 2>&1 || true
		;;
	esac
	pid=
	wait_until no_cgroup_left || problem+=" cgroups are left: $(no_cgroup_left || true)"
	helpers_teardown
	[[ -z $problem ]] || fail "$problem"
}

# wait_until COMMAND...: for up to five seconds. (In a teardown "return" alone returns the test's
# status.)
wait_until() {
	local i
	for i in {1..100}; do
		"$@" >/dev/null && return 0
		sleep 0.05
	done
	return 1
}

# Processes that podman started: conmon and what it runs have the storage's path in their arguments.
nothing_of_podman() { ! pgrep --full --list-full -- "$base/"; }

# The cgroups that were made for this test, in all hierarchies: an engine removes the container's.
# Their parent is ours to remove, and so is one that podman makes for its conmons.
no_cgroup_left() {
	local directory left=0
	while read -r directory; do
		[[ ! -d $directory/conmon ]] || rmdir "$directory/conmon" 2>/dev/null || true
		rmdir "$directory" 2>/dev/null || { find "$directory" -type d; left=1; }
	done < <(find /sys/fs/cgroup -maxdepth 3 -type d -name "$id")
	return $left
}

cgroups_version() {
	cgroups=v1
	[[ $(stat -f -c %T /sys/fs/cgroup) != cgroup2fs ]] || cgroups=v2
	if [[ $cgroups == v1 ]] && mountpoint -q /sys/fs/cgroup/unified; then
		fail "cgroup v1 and v2 are both in use: run this by tests/e2e/with-cgroup v1-alone or v2"
	fi
}

# A device that opens here, too, and that no spec has.
third_device() {
	local name
	for name in fuse loop-control vsock autofs kmsg kvm net/tun vhost-vsock uinput; do
		[[ -c /dev/$name && /dev/$name != "$dev1" && /dev/$name != "$dev2" ]] || continue
		(exec 3<>"/dev/$name") 2>/dev/null || continue
		third=/dev/$name
		num3=$(node_number "$third")
		return
	done
	fail "this machine has fewer than three devices to test with"
}

use_engine() {
	engine=$1
	local name=${engine#*podman+} command
	program "$name"
	command=$path label="${name#new-} $(version_of "$path")"
	[[ $engine != *podman+* ]] || runtime_of_podman
	locked_memory "$name"
	# podman hands no option for the runtime on to the process that cleans up behind a container.
	[[ $engine != *podman+* ]] || command+=" --root $base/runc"
	[[ $driver != systemd || $engine == *podman+* ]] || command+=" --systemd-cgroup"
	runtime=$path
	if [[ $command != "$path" ]]; then
		runtime=$base/bin/${name#new-}
		printf '#!/bin/sh\nexec %s "$@"\n' "$command" >"$runtime"
		chmod +x "$runtime"
	fi

	if [[ $engine == *podman+* ]]; then
		podman_world
		podman_image
	elif [[ $driver == systemd ]]; then
		edit_config '.linux.cgroupsPath = $path' --arg path "system.slice:test:$id"
	else
		edit_config '.linux.cgroupsPath = $path' --arg path "$in_cgroup/container"
	fi
}

# program NAME: sets $path
program() {
	local status=0
	if [[ $1 == new-* ]]; then
		path=$("$top/tests/newer-engine.sh" "${1#new-}" 2>"$base/why") || status=$?
		((status != 77)) || skip "$(tail -n 1 "$base/why")"
		((status == 0)) || fail "$(<"$base/why")"
	else
		path=$(command -v "$1") || fail "no $1 on this machine: contrib/install-deps.sh test installs it"
	fi
}

# access_list NAME WHO:RIGHTS[:ID]...: of $base/dev/NAME; WHO is owner, user, group, mask or others, RIGHTS a digit
access_list() {
	python3 - "$base/dev/$1" "${@:2}" <<-'PY'
		import os, struct, sys

		TAGS = {"owner": (1, 1), "user": (2, 2), "group": (4, 8), "mask": (16, 16), "others": (32, 32)}
		acl = struct.pack("<I", 2)
		for entry in sys.argv[2:]:
		    who, rights, *id = entry.split(":")
		    acl += struct.pack("<HHI", TAGS[who][len(id)], int(rights), int(id[0]) if id else 0xffffffff)
		os.setxattr(sys.argv[1], "system.posix_acl_access", acl)
	PY
}

version_of() { "$1" --version | sed -En '1s/^[a-z]+ (version:? )?([^ +]*).*/\2/p'; }

runtime_of_podman() {
	local path
	program "${engine%%+*}"
	podman=$path label="podman $(version_of "$podman") + $label"
}

# crun before 1.14 and youki want to raise the limit on locked memory before they load their BPF program.
# Linux 5.11 and later need no such limit, and a machine may forbid to raise it even to root.
locked_memory() {
	[[ $cgroups == v2 && $1 =~ ^(crun|new-youki)$ ]] && ! (ulimit -H -l unlimited) 2>/dev/null || return 0
	gcc -shared -fPIC -o "$base/bin/memlock.so" -x c - <<-'C'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <sys/resource.h>

		int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
		{
			int (*next)(__rlimit_resource_t, const struct rlimit *) =
				dlsym(RTLD_NEXT, "setrlimit");

			return resource == RLIMIT_MEMLOCK ? 0 : next(resource, limit);
		}
	C
	command="env LD_PRELOAD=$base/bin/memlock.so $command"
}

# podman_older_than VERSION
podman_older_than() {
	local version
	version=$("$podman" --version)
	version=${version##* }
	[[ $version != "$1" && $(printf '%s\n' "$version" "$1" | sort -V | head -n 1) == "$version" ]]
}

# crun_older_than VERSION: is the engine's runtime a crun that is?
crun_older_than() {
	local version=${label##*crun }
	[[ $engine == *crun && $version != "$1" && $(printf '%s\n' "$version" "$1" | sort -V | head -n 1) == "$version" ]]
}

# podman with everything that it keeps below $base. The limits are those that need no special
# capability, and no controller that a test machine may lack.
podman_world() {
	[[ $driver != systemd ]] || in_cgroup=
	mkdir -p "$base/podman/tmp"
	cat >"$base/podman/containers.conf" <<-CONF
		[containers]
		netns = "none"
		pids_limit = 0
		default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]
		[engine]
		cgroup_manager = "$driver"
		events_logger = "none"
		cdi_spec_dirs = ["$specs"]
		lock_type = "file"
	CONF
	[[ $engine != new-podman+* ]] || cat >>"$base/podman/containers.conf" <<-CONF
		conmon_path = ["${podman%podman}conmon"]
		helper_binaries_dir = ["${podman%bin/podman}lib/podman"]
	CONF
	cat >"$base/podman/storage.conf" <<-CONF
		[storage]
		driver = "overlay"
		graphroot = "$base/podman/graph"
		runroot = "$base/podman/run"
	CONF
}

# The root file system as it is now becomes the image.
podman_image() {
	tar -C "$rootfs" -c -f "$base/podman/image.tar" .
	pod import --quiet "$base/podman/image.tar" localhost/test >/dev/null
}

pod() {
	timeout 60 env PODMAN_IGNORE_CGROUPSV1_WARNING=1 CONTAINERS_CONF="$base/podman/containers.conf" \
		CONTAINERS_STORAGE_CONF="$base/podman/storage.conf" TMPDIR="$base/podman/tmp" HOME="$base/podman" \
		"$podman" --root "$base/podman/graph" --runroot "$base/podman/run" --tmpdir "$base/podman/libpod" \
		--runtime "$runtime" --hooks-dir "$base/hooks.d" "$@" </dev/null
}

# At once, whatever runs in them.
pod_rm_all() {
	if podman_older_than 4; then
		pod kill --all >/dev/null 2>&1 || true
		pod rm --force --all >/dev/null
	else
		pod rm --force --all --time 0 >/dev/null
	fi
}

# The JSON files as they are installed, but for the path and the options.
hooks_d() {
	local stage
	rm -f "$base"/hooks.d/*
	for stage in "${stages[@]}"; do
		sed "s,@HOOK@,$hook," "$top/hooks.d/50-oci-cdi-hook-$stage.json.in" |
			jq '.hook.args = .hook.args[:1] + $ARGS.positional + .hook.args[1:]' --args -- "${options[@]}" \
				>"$base/hooks.d/50-oci-cdi-hook-$stage.json"
	done
}

hooks_in_config() {
	local stage
	edit_config '.hooks = {}'
	for stage in "${stages[@]}"; do
		edit_config '.hooks[$stage] = [{
			path: $hook,
			args: (["oci-cdi-hook"] + $ARGS.positional + [$stage]),
			env: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"],
			timeout: 30
		}]' --arg hook "$hook" --arg stage "$stage" --args -- "${options[@]}"
	done
}

all_spec() {
	spec all.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/thing
		devices:
		- name: all
		  containerEdits:
		    deviceNodes:
		    - {path: /dev/thing, hostPath: $dev1}
		    - {path: /dev/thing-r, hostPath: $dev2, permissions: r}
		    mounts:
		    - {hostPath: $base/vendor/libgadget.so.1, containerPath: /opt/x/lib/libgadget.so.1, options: [ro, nosuid, nodev, bind]}
	YAML
	request vendor.example/thing=all
}

# What the container's first process looks at. A redirection that fails ends the shell, hence the
# brackets.
look() {
	cat <<-SH
		$opens
		(opens /dev/thing && echo thing opens)
		(: </dev/thing-r && echo thing-r reads)
		(: >/dev/thing-r && echo thing-r writes)
		mknod /dev/own $num3 && (opens /dev/own && echo own opens)
		(: >>/opt/x/lib/libgadget.so.1 && echo library writes)
		use libgadget.so.1
	SH
}

sees_all() {
	local output
	output=$(<"/proc/$pid/root/dev/shm/seen")
	says "thing opens" "thing-r reads" "/dev/thing-r: Operation not permitted" \
		"/dev/own: Operation not permitted" "/opt/x/lib/libgadget.so.1: Read-only file system" \
		"gadget of the host"
	says_not "thing-r writes" "own opens" "library writes"
}

# Its argument says what podman is to be asked for besides.
start() {
	local text
	text="{ $(look); } >/dev/shm/seen.new 2>&1; echo seen >>/dev/shm/seen.new; mv /dev/shm/seen.new /dev/shm/seen; exec sleep 300"
	case $engine in
	*podman+*) start_podman "$text" "$@" ;;
	*) start_runtime "$text" ;;
	esac || return
	wait_until test -e "/proc/$pid/root/dev/shm/seen" || fail "the container's first process does nothing"
}

start_runtime() {
	hooks_in_config
	edit_config '.root.readonly = $read_only | .process.args = ["sh", "-c", $text]' \
		--argjson read_only "$read_only" --arg text "$1"
	# What the runtime prints goes through a pipe to bats, which waits until its last writer is gone.
	timeout 60 "$runtime" --root "$base/runc" run --detach --bundle "$bundle" "$id" \
		</dev/null >"$base/output" 2>&1 || { cat "$base/output"; return 1; }
	pid=$("$runtime" --root "$base/runc" state "$id" | jq .pid)
	running_bundle=$bundle
}

# podman_annotations: those of config.json, as options in $annotations. podman splits the value of
# --annotation at commas, unless it is quoted as in a CSV file.
podman_annotations() {
	mapfile -t annotations < <(jq -r '.annotations | to_entries[] | "\(.key)=\(.value)" |
		"--annotation=" + (if contains(",") then "\"\(.)\"" else . end)' "$bundle/config.json")
}

start_podman() {
	local text=$1 annotations code
	shift
	hooks_d
	podman_annotations
	pod run --detach --name "$id" ${in_cgroup:+--cgroup-parent "$in_cgroup"} --cap-add MKNOD --read-only="$read_only" \
		"${annotations[@]}" "$@" localhost/test sh -c "$text" >"$base/output" 2>&1 ||
		{ code=$?; cat "$base/output"; return $code; }
	podman_process "$id"
}

# podman_process NAME: sets $pid and $running_bundle
podman_process() {
	local config
	read -r pid config < <(pod inspect --format '{{.State.Pid}} {{.OCIConfigPath}}' "$1")
	running_bundle=$(dirname "$config")
}

inside() {
	case $engine in
	*podman+*) pod exec "$id" sh -c "$opens$1" ;;
	*) timeout 60 "$runtime" --root "$base/runc" exec "$id" sh -c "$opens$1" </dev/null ;;
	esac
}

stop_container() {
	case $engine in
	*podman+*) pod stop --time 0 "$id" >/dev/null ;;
	*) delete_container ;;
	esac
	pid=
}

remove_container() {
	case $engine in
	*podman+*) pod rm --force --time 0 "$id" >/dev/null ;;
	*) delete_container 2>/dev/null || true ;; # if it ever started
	esac
	pid=
}

# youki does not wait for the processes that it kills, and fails as long as they are in the container's cgroup.
delete_container() {
	local i
	for i in {1..10}; do
		"$runtime" --root "$base/runc" delete -f "$id" && return
		[[ $engine == new-youki && -e $base/runc/$id ]] || return
	done
}

# ---------------------------------------------------------------------------------------------
# What a container is made of, for comparisons: files, mounts, rules of its device cgroup

snapshot() {
	find "/proc/$pid/root/" "/proc/$pid/root/dev/" -xdev \
		-exec stat --printf '%N %F %t:%T inode %i mode %a owner %u:%g size %s changed %z\n' {} + | sort
	cat "/proc/$pid/mountinfo"
	device_rules
}

# A line of a table, without what is new in each run.
same_in_each_run() { sed "s,$base,,g; s/process [0-9]\+/process N/g; s/[0-9a-f]\{64\}/ID/g" <<<"$1"; }

# The lines of the v1 list, or the numbers of the v2 programs, in the container's cgroup.
device_rules() {
	local path
	if [[ $cgroups == v1 ]]; then
		path=$(sed -n 's/^[0-9]*:devices:\(.*\)/\1/p' "/proc/$pid/cgroup")
		cat "/sys/fs/cgroup/devices$path/devices.list"
	else
		path=$(sed -n 's/^0::\(.*\)/\1/p' "/proc/$pid/cgroup")
		bpf_programs "/sys/fs/cgroup$path"
	fi
}

# What the container has of the device: mounts, nodes, rules (without the numbers of programs, which are new
# for each container), variables.
has_of_device() {
	grep -o ' /[^ ]* /\(dev/thing\|opt\)[^ ]* .*' "/proc/$pid/mountinfo"
	find "/proc/$pid/root/dev" -xdev -type c -printf '%f %m %U:%G\n' | sort
	device_rules | sed 's/^program [0-9]* /program /'
	tr '\0' '\n' <"/proc/$pid/environ" | grep -E '^(PATH|THING)='
}

# bpf_programs CGROUP: those that decide on devices there, as "program NUMBER TAG"; equal tags mean
# equal instructions. (bpftool is not in every distribution.)
bpf_programs() {
	python3 - "$1" <<-'PY'
		import ctypes, os, platform, struct, sys

		GET_FD_BY_ID, GET_INFO_BY_FD, QUERY = 13, 15, 16
		CGROUP_DEVICE = 6
		libc = ctypes.CDLL(None, use_errno=True)

		def bpf(command, *words):
		    attr = ctypes.create_string_buffer(struct.pack("=IIIIQI", *words).ljust(128, b"\0"), 128)
		    result = libc.syscall({"x86_64": 321}.get(platform.machine(), 280), command, attr, 128)
		    if result < 0:
		        sys.exit("bpf: " + os.strerror(ctypes.get_errno()))
		    return result, attr

		cgroup = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
		ids = (ctypes.c_uint32 * 64)()
		attr = bpf(QUERY, cgroup, CGROUP_DEVICE, 0, 0, ctypes.addressof(ids), 64)[1]
		for number in ids[:struct.unpack_from("=I", attr, 24)[0]]:
		    program = bpf(GET_FD_BY_ID, number, 0, 0, 0, 0, 0)[0]
		    info = ctypes.create_string_buffer(256)
		    address = ctypes.addressof(info)
		    bpf(GET_INFO_BY_FD, program, 128, address & 0xFFFFFFFF, address >> 32, 0, 0)
		    print("program", number, info.raw[8:16].hex())
	PY
}

# The hook, called by hand on the running container. (createContainer cannot be: its place is inside.)
second_run() {
	local bundle=$running_bundle
	stage=createRuntime by_hand "$@"
}

# The sentence of the hook, from its own log: crun shows no more than the code.
sentence() { sed -n 's/^[^ ]* oci-cdi-hook\[[0-9]*\]: \(container [^ ]*: \)\?//p' "$base/log" | tail -n 1; }
