# SPDX-License-Identifier: Apache-2.0
#
# What the tests of the library cache share, on top of helpers.bash: a small image with the C
# library of this machine, a vendor's library, and a program that finds libraries by their sonames.
#
#   glibc_image               adds the loader, the C library, `use` and `ldconfig` to $rootfs
#   library FILE SONAME TEXT  makes a library whose greeting is TEXT
#   library_spec HOST DEST    a device that mounts HOST, a file or a directory, on DEST
#   with_hook [FOLDER]        the spec has a hook that asks for the cache as well
#   cache_lists FILE          what `ldconfig -p` says about a cache, as SONAME PATH
#
# In a container `use SONAME...` prints the greetings of these libraries. The vendor's library is
# $base/vendor/libgadget.so.1; its greeting is "gadget of the host".

# On Ubuntu the usual name is a shell script, and the program stands beside it.
host_ldconfig=/sbin/ldconfig
[[ ! -x /sbin/ldconfig.real ]] || host_ldconfig=/sbin/ldconfig.real

conf_d=etc/ld.so.conf.d/00-oci-cdi-hook.conf

# Once a file of tests: compiling takes longer than a container.
setup_file() {
	# (A library of its own before glibc 2.34.)
	gcc -O1 -o "$BATS_FILE_TMPDIR/use" -x c - -ldl <<-'C'
		#include <dlfcn.h>
		#include <stdio.h>

		int main(int argc, char **argv)
		{
			int failed = 0;

			for (int i = 1; i < argc; i++) {
				void *lib = dlopen(argv[i], RTLD_NOW);
				const char **greeting = lib ? dlsym(lib, "greeting") : NULL;
				puts(greeting ? *greeting : dlerror());
				failed |= !greeting;
			}
			return failed;
		}
	C
	library "$BATS_FILE_TMPDIR/libgadget.so.1" libgadget.so.1 "gadget of the host"
}

library() {
	mkdir -p "$(dirname "$1")"
	echo "const char *greeting = \"$3\";" |
		gcc -shared -fPIC -nostdlib -Wl,-soname,"$2" -o "$1" -x c -
}

vendor_library() {
	mkdir -p "$base/vendor"
	cp "$BATS_FILE_TMPDIR/libgadget.so.1" "$base/vendor/"
}

glibc_image() {
	local file
	cp "$BATS_FILE_TMPDIR/use" "$rootfs/bin/"
	cp "$host_ldconfig" "$rootfs/bin/ldconfig"
	# The C library and its loader, at the paths where the program looks for them.
	for file in $(ldd "$rootfs/bin/use" | grep -o '/[^ ]*'); do
		mkdir -p "$rootfs$(dirname "$file")"
		cp -L "$file" "$rootfs$file"
	done
	libdir=$(dirname "$(ldd "$rootfs/bin/use" | sed -n 's,.* => \(/.*/libc\.so\.6\) .*,\1,p')")
	vendor_library
	options+=(--log-file="$base/log")
}

library_spec() {
	spec library.yaml <<-YAML
		cdiVersion: "0.6.0"
		kind: vendor.example/thing
		devices:
		- name: lib
		  containerEdits:
		    mounts:
		    - {hostPath: $1, containerPath: $2, options: [ro, nosuid, nodev, bind]}
	YAML
	request vendor.example/thing=lib
}

with_hook() {
	cat >>"$specs/library.yaml" <<-YAML
		    hooks:
		    - hookName: createContainer
		      path: /usr/bin/nvidia-cdi-hook
		      args: [nvidia-cdi-hook, update-ldcache, --folder, "${1:-/opt/x/lib}"]
	YAML
}

# The image's configuration as Debian has it.
includes_conf_d() {
	echo 'include /etc/ld.so.conf.d/*.conf' >"$rootfs/etc/ld.so.conf"
	mkdir -p "$rootfs/etc/ld.so.conf.d"
}

cache_lists() { "$host_ldconfig" -p -C "$1" | sed -n 's/^\t\(.*\) (.*) => \(.*\)$/\1 \2/p'; }

# logged TEXT...: what the hook must have said, whether or not the runtime showed it. Without an
# option for more, that is warnings and errors.
logged() {
	local text
	for text in "$@"; do
		grep -qF -- "$text" "$base/log" || fail "not logged: $text" "but:" "$(<"$base/log")"
	done
}

# What of the root file system's names came since $1, an earlier tree, one a line. Only names: a
# mount point has the size of what was there.
appeared() { comm -13 <(cut -d' ' -f1 <<<"$1" | sort) <(tree | cut -d' ' -f1 | sort); }
