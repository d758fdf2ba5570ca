/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/doctor/doctor_list.h"

#include <stdbool.h>

#include "src/cli/cli.h"
#include "src/session/session_client.h"

const struct ptrc_doctor_list *ptrc_doctor_list(void)
{
	static struct ptrc_doctor_list all;
	static bool is_loaded;

	if (is_loaded)
		return &all;
	is_loaded = true;
	/* A directory that cannot be listed is a finding of doctor_machine.c. */
	ptrc_session_names(false, &all.names, &all.count);
	all.replies = ptrc_cli_allocate(all.count * sizeof(*all.replies));
	all.errors = ptrc_cli_allocate(all.count * sizeof(*all.errors));
	ptrc_session_stat_all(all.names, all.count, false, all.replies, all.errors);
	return &all;
}

const char *ptrc_doctor_session_of(pid_t controller)
{
	const struct ptrc_doctor_list *all = ptrc_doctor_list();

	for (size_t i = 0; i < all->count; i++)
		if (!all->errors[i] && all->replies[i].state.controller == controller)
			return all->names[i];
	return NULL;
}
