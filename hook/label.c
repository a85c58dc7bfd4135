/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Under SELinux a process may use a file only where its policy says so for both labels. What a hook makes in a container
 * would get a label from the directory and from the hook's own, and a container of the type container_t could then not open it.
 *
 * The label is set before a file is made and not afterwards: what is made has it from its first moment, and nothing is
 * ever labelled by a name, behind which a hostile image could have put something else meanwhile. That is one write to
 * a file of procfs; libselinux does the same, and would bring pcre2 and its reading of /etc/selinux into a static
 * program for it.
 *
 * What is the host's keeps its label: libraries are of a type that containers may read, and who may use a device that is mounted
 * into a container is the policy's to say (the boolean container_use_devices).
 */
#include "label.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cleanup.h"

/* A file system that is read-only says no, as it does to libselinux: an engine that runs in a container sees one. */
bool label_is_used(void)
{
	struct statfs st;

	return statfs("/sys/fs/selinux", &st) == 0 && (unsigned long)st.f_type == SELINUX_MAGIC &&
	       !(st.f_flags & ST_RDONLY);
}

/* Runs in: any namespaces. Trusts: our procfs; the label, which the runtime has used before us. Hostile: nothing. */
int label_new_files(int proc_fd, const char *label, struct error *err)
{
	/* Of this thread, and we have no other. It is forgotten when a program is executed. */
	_cleanup_fd_ int fd = openat(proc_fd, "self/attr/fscreate", O_WRONLY | O_CLOEXEC);
	const size_t size = label ? strlen(label) : 0;

	if (fd < 0)
		return error_set(err, errno, "open /proc/self/attr/fscreate");
	/* Nothing written means no label. */
	if (write(fd, label, size) != (ssize_t)size)
		return error_set(err, errno, "write %s to /proc/self/attr/fscreate",
				 label ? SHOW(label) : "nothing");
	return 0;
}
