#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Labels, in a machine with SELinux (tests/vm/image debian12-selinux): what the hook makes has the container's, as if
# the runtime had made it, and nothing else gets it. The policy is Debian's, and permissive: it has no types for
# containers, so a type of its virtual machines stands for one, and what a policy for containers allows is not proved.

load ../e2e/engines

engines_setup=$(declare -f setup)
eval "engines_$engines_setup"

label=system_u:object_r:svirt_image_t:s0:c1,c2

setup() {
	[[ -e /sys/fs/selinux/enforce ]] || { echo "SELinux is not on here"; return 1; }
	engines_setup
	edit_config '.linux.mountLabel = $mount_label' --arg mount_label "$label"
}

# One of everything that makes something: in the /dev that the runtime has labelled, and in the image's own directories.
labels_spec() {
	spec labels.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/thing
		devices:
		- name: labels
		  containerEdits:
		    deviceNodes:
		    - {path: /dev/thing, hostPath: $dev1}
		    - {path: /dev/sub/thing, hostPath: $dev1}
		    - {path: /opt/nodes/thing, hostPath: $dev1}
		    mounts:
		    - {hostPath: $base/vendor/libgadget.so.1, containerPath: /opt/x/lib/libgadget.so.1, options: [ro, nosuid, nodev, bind]}
		    - {hostPath: $base/vendor, containerPath: /opt/vendor, options: [ro, bind]}
		    - {hostPath: tmpfs, containerPath: /opt/scratch, type: tmpfs, options: [nosuid]}
		    hooks:
		    - hookName: createContainer
		      path: /usr/bin/nvidia-cdi-hook
		      args: [nvidia-cdi-hook, create-symlinks, --link, "libgadget.so.1::/opt/x/lib/libgadget.so"]
	YAML
	request vendor.example/thing=labels
}

# labels DIRECTORY: what is in it, with labels; mounts are left out, but for their mount points
labels() { find "$1" -xdev -printf '%P %Z\n' | sort; }

# label_of PATH: as the container shows it
label_of() { stat --format %C "/proc/$pid/root$1"; }

has_label() {
	local path
	for path; do
		[[ $(label_of "$path") == "$label" ]] || fail "$path has the label $(label_of "$path")"
	done
}

# labels_are ENGINE STAGE: a container, and all that is new in its root
labels_are() {
	local before after new
	use_engine "$1"
	stages=("$2")
	labels_spec
	"$runtime" --root "$base/runc" run --bundle "$bundle" "$id" </dev/null || true
	before=$(labels "$rootfs")
	host=$(labels "$base/vendor")
	start
	run cat "$base/log"
	says_not "SELinux"
	# The root's own directory, without what is mounted in it.
	after=$(labels "$rootfs")
	new=$(comm -13 <(echo "$before") <(echo "$after"))
	echo "$new"
	# "NAME" and nothing else has changed.
	[[ -z $(comm -23 <(grep -v '^etc/ld\.so\.cache ' <<<"$before") <(echo "$after")) ]] || fail "relabelled: $new"
	[[ -z $(grep -v " $label\$" <<<"$new") ]] || fail "other labels: $new"
	for name in opt opt/nodes/thing opt/x/lib/libgadget.so.1 opt/x/lib/libgadget.so opt/vendor opt/scratch etc/ld.so.cache; do
		grep -q "^$name $label\$" <<<"$new" || fail "$name is not among" "$new"
	done
	has_label /dev/thing /dev/sub /dev/sub/thing /opt/nodes/thing /opt/scratch /etc/ld.so.cache
	inside 'echo text >/opt/scratch/file'
	has_label /opt/scratch/file
	# The host's keep theirs.
	[[ $(labels "$base/vendor") == "$host" && $host != *"$label"* ]] || fail "the host's:" "$(labels "$base/vendor")"
	[[ $(label_of /opt/x/lib/libgadget.so.1) == "$(stat --format %C "$base/vendor/libgadget.so.1")" ]]
	[[ $(sed -n 's/^thing //p' "/proc/$pid/root/dev/shm/seen") == opens ]] || fail "$(<"/proc/$pid/root/dev/shm/seen")"

	# A second run finds all of it.
	before=$(snapshot)
	run -0 second_run
	[[ $(snapshot) == "$before" ]] || fail "the second run changed:" "$(diff <(echo "$before") <(snapshot))"
	echo "# table: SELinux: $1 at $2: nodes, mount points, links, directories, cache and tmpfs have the container's label" >&3
}

@test "runc, createRuntime" { labels_are runc createRuntime; }
@test "crun, createRuntime" { labels_are crun createRuntime; }
@test "runc, createContainer" { labels_are runc createContainer; }
@test "crun, createContainer" { labels_are crun createContainer; }

@test "a cache that is mounted over a read-only root's" {
	use_engine crun
	read_only=true
	all_spec
	start
	sees_all
	grep -q ' /etc/ld.so.cache ' "/proc/$pid/mountinfo"
	has_label /etc/ld.so.cache /dev/thing
}

# What a container without a label gets is the kernel's, which is the directory's type here.
@test "no mountLabel: the kernel decides" {
	edit_config 'del(.linux.mountLabel)'
	use_engine runc
	labels_spec
	start
	run -0 labels "$rootfs/opt"
	says_not svirt_image_t
	[[ $(label_of /opt/nodes/thing) == "$(label_of /bin/busybox)" ]] || fail "$(label_of /opt/nodes/thing)"
}

@test "a label that the policy does not know: a warning, and the device is there" {
	use_engine runc
	all_spec
	edit_config '.linux.mountLabel = "system_u:object_r:no_such_t:s0"'
	process_with_namespace
	# Only CAP_MAC_ADMIN, which the hook does not keep, lets a process use labels of a policy to come.
	run -0 by_hand --no-cgroup
	says "SELinux (linux.mountLabel): write system_u:object_r:no_such_t:s0 to /proc/self/attr/fscreate: Invalid argument"
	[[ -c /proc/$pid/root$rootfs/dev/thing ]]
}

@test "an edited config.json: the runtime labels" {
	use_engine runc
	all_spec
	"$top/build/ctl/cdictl" inject --in-place --spec-dir="$specs" "$bundle" vendor.example/thing=all
	stages=()
	start
	has_label /dev/thing /dev/thing-r
}
