/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/query/libdw.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBRARY "libdw.so.1"

struct ptrc_libdw ptrc_dw;

bool ptrc_libdw_load(struct ptrc_cli_reason *why)
{
	static const struct {
		const char *name;
		size_t place;
	} functions[] = {
#define ENTRY(name) {#name, offsetof(struct ptrc_libdw, name)},
		PTRC_LIBDW_FUNCTIONS(ENTRY)
#undef ENTRY
	};
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return ptrc_cli_because(why, "%s", dlerror());
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *function = dlsym(library, functions[i].name);

		if (!function)
			return ptrc_cli_because(why, "%s has no %s", LIBRARY, functions[i].name);
		memcpy((char *)&ptrc_dw + functions[i].place, &function, sizeof(function));
	}
	return true;
}

int ptrc_libdw_open_regular(const char *path)
{
	struct stat st;
	int fd;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return -1;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}
