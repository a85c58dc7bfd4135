# SPDX-License-Identifier: Apache-2.0
#
# The transcript in README.md is what cdictl says about the demo's device, in a container that runs.
# README_WRITE=1 writes it anew.

load helpers

# An /etc and an /opt that this test may write to, for cdictl's own defaults.
private_etc() {
	mkdir "$base/upper" "$base/work"
	mount -t overlay -o "lowerdir=/etc,upperdir=$base/upper,workdir=$base/work" overlay /etc
	mount -t tmpfs -o mode=0755 tmpfs /opt
	rm -rf /etc/cdi /etc/oci-cdi-hook
	mkdir /etc/cdi /opt/vendor
}

# The demo's vendor: its spec, with the library below /opt, and the library.
vendor() {
	sed -n '/cdi\/gadget.yaml" <<YAML/,/^YAML/p' "$top/contrib/demo.sh" | sed '1d;$d' |
		sed "s,\$device,$dev1,; s,\$dir,/opt," >/etc/cdi/gadget.yaml
	grep -q '^kind: vendor.example/gadget' /etc/cdi/gadget.yaml
	echo 'int gadget;' | gcc -shared -fPIC -Wl,-soname,libgadget.so.1 -o /opt/vendor/libgadget.so.1.2.3 -x c -
}

# The container that README.md calls my-container.
start() {
	edit_config '
		.process.args = ["sleep", "300"]
		| .linux.cgroupsPath = $cgroup
		| .annotations = {"cdi.k8s.io/demo": "vendor.example/gadget=0"}
		| .hooks.createRuntime = [{
			path: $hook, args: ["oci-cdi-hook", "createRuntime"],
			env: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"], timeout: 30
		}]' --arg hook "$hook" --arg cgroup "/$id"
	"$runtime" --root "$base/runc" run --detach --bundle "$bundle" "$id" </dev/null >"$base/output" 2>&1 ||
		fail "$(<"$base/output")"
}

# say COMMAND: the command as it is typed, and what it prints on a terminal of 80 columns. What is
# another on other machines (the device, its mode, the process) gets the README's words.
say() {
	printf '$ %s\n' "$1"
	NO_COLOR=1 TERM=xterm script -qec "stty cols 80; $1" /dev/null </dev/null |
		tr -d '\r' | sed "s,$dev1\>,/dev/fuse,g; s,${num1/ /\\s}\>,c 10:229,g; s,process [0-9]\+,process 4711," |
		sed "s,^\(node .*\) 0[0-7]* ,\1 0666 ,"
}

transcript() {
	echo '```'
	say "cdictl list"
	say "cdictl show vendor.example/gadget=0"
	say "cdictl allow 'vendor.example/gadget=*'"
	say "cdictl plan --bundle=my-container vendor.example/gadget=0"
	start
	say "runc run --detach --bundle my-container my-container"
	say "cdictl check --bundle=my-container vendor.example/gadget=0"
	say "runc exec my-container busybox rm /dev/gadget0"
	say "cdictl check --bundle=my-container vendor.example/gadget=0"
	echo '```'
}

@test "the transcript in README.md is what cdictl says" {
	local status=0
	runtime=$(command -v "$runtime")
	mkdir "$base/commands"
	ln -s "${CDICTL:-$top/build/ctl/cdictl}" "$base/commands/cdictl"
	# The README's runc starts nothing (that is done above, with another name for the container), and
	# runs commands in the container.
	cat >"$base/commands/runc" <<-SH
		#!/bin/sh
		shift
		case \$1 in --detach) ;; *) shift; exec $runtime --root $base/runc exec $id "\$@" ;; esac
	SH
	chmod +x "$base/commands/runc"
	ln -s bundle "$base/my-container"
	cd "$base"
	PATH=$base/commands:$PATH
	private_etc
	vendor
	transcript >"$base/transcript" || status=$?
	"$runtime" --root "$base/runc" delete -f "$id"
	cd /
	umount -l /opt /etc
	((status == 0))

	if [[ ${README_WRITE:-} ]]; then
		sed -i -e "/^<!-- transcript -->/,/^<!-- end of transcript -->/{/^<!--/!d}" \
			-e "/^<!-- transcript -->/r $base/transcript" "$top/README.md"
	fi
	diff <(sed -n '/^<!-- transcript -->/,/^<!-- end of transcript -->/p' "$top/README.md" | sed '1d;$d') "$base/transcript"
}
