/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A plan as JSON, for programs: an array with one operation an element, in the order of plan-text.h. */
#include "plan.h"

/*
 * Keys always stand in the order that is shown here, one element a line:
 *
 *   {"operation":"allow","type":"c","major":10,"minor":229,"access":"rw","origin":ORIGIN}
 *   {"operation":"label","label":"system_u:object_r:container_file_t:s0:c1,c2"}
 *                                   of all that is created, where SELinux is on; absent where config.json has none
 *   {"operation":"mount","type":"bind","source":"/usr/lib/libx.so.1",
 *    "destination":"/usr/lib/libx.so.1","options":"bind,ro,private","origin":ORIGIN}
 *   {"operation":"mount","type":"tmpfs","source":null,"destination":"/run/x",...}
 *   {"operation":"node","path":"/dev/x","type":"c","major":10,"minor":229,"mode":"0660",
 *    "uid":0,"gid":44,"origin":ORIGIN}                       a FIFO ("p") has null for its numbers
 *   {"operation":"library","soname":"libx.so.1","path":"/usr/lib/libx.so.1.2","origin":ORIGIN}
 *   {"operation":"ldcache","folders":["/usr/lib"],"origin":ORIGIN}
 *   {"operation":"link","target":"../card0","path":"/dev/dri/by-path/x","origin":ORIGIN}
 *   {"operation":"chmod","path":"/dev/dri","mode":"0755","origin":ORIGIN}
 *   {"operation":"cuda-compat","path":"/usr/local/cuda/compat","driver":"550.54","cuda":null,
 *    "origin":ORIGIN}
 *   {"operation":"driver-params","path":"/proc/driver/nvidia/params","origin":ORIGIN}
 *   {"operation":"application-profile","path":"/etc/nvidia/...","origin":ORIGIN}
 *   {"operation":"refresh","way":"merge","path":"/etc/ld.so.cache","why":"TEXT"}
 *                                   merge, ldconfig, new, musl-path or nothing; absent where there is no root to look at
 *   {"operation":"hook","stage":"createContainer","path":"/usr/bin/x","args":["x","-v"],
 *    "env":[],"timeout":null,"origin":ORIGIN}
 *   {"operation":"env","entry":"NAME=value","origin":ORIGIN}
 *   {"operation":"additionalGid","gid":44,"origin":ORIGIN}
 *   {"operation":"netDevice","hostInterfaceName":"eth1","name":"net1","origin":ORIGIN}
 *   {"operation":"intelRdt","closID":"gold","origin":ORIGIN}
 *   {"operation":"unsupported","edit":"env","value":"NAME=value","origin":ORIGIN}
 *
 *   ORIGIN: {"device":"vendor.com/gpu=0","kind":"vendor.com/gpu","file":"/etc/cdi/vendor.yaml",
 *            "line":8,"column":7}      "device" is null for an edit that all devices of a spec share
 *
 * Strings are UTF-8 as they are, but for control characters and such, which are escaped. A byte that is no UTF-8 (a file name may have any) is written as
 * the escape of the character with its number, so that every reader takes the text: \xff shows as
 * "\u00ff". Who needs the bytes themselves has them in the text form.
 */
const char *plan_json(struct arena *arena, const struct plan *plan, struct error *err)
	__attribute__((nonnull, warn_unused_result));
