/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "lib/preload/elf_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/base/file.h"
#include "lib/base/sys.h"

bool ptrc_elf_map(struct ptrc_elf *e, const char *path, uint64_t inode)
{
	long bytes = -1;
	struct stat st;
	PTRC_FD(fd);

	/* The path is that of a loaded program or library, so it is not a device or a pipe, whose
	 * opening could have side effects. */
	if (ptrc_file_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &fd))
		return false;
	if (!ptrc_file_stat(fd, &st) && S_ISREG(st.st_mode) && (!inode || st.st_ino == inode))
		bytes = ptrc_sys(SYS_mmap, 0, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (ptrc_sys_is_error(bytes))
		return false;
	*e = (struct ptrc_elf){(const uint8_t *)bytes, (uint64_t)st.st_size};
	return true;
}

void ptrc_elf_unmap(const struct ptrc_elf *e)
{
	ptrc_sys(SYS_munmap, e->bytes, e->size);
}
