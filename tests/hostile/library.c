/* SPDX-License-Identifier: Apache-2.0 */
/* A shared library with a soname, for the spec to bring into the container. */
int oci_cdi_hook_hostile(void);

int oci_cdi_hook_hostile(void)
{
	return 0;
}
