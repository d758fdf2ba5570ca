/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/config/kept.h"

#include "src/base/message.h"

void *ptrc_config_keep(size_t size)
{
	struct kept {
		struct kept *next;
		max_align_t bytes[];
	};
	static struct kept *all;
	struct kept *k = ptrc_cli_allocate(sizeof(*k) + size);

	k->next = all;
	all = k;
	return k->bytes;
}
