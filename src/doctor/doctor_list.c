/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "src/doctor/doctor.h"

const struct ptrc_session_list *ptrc_doctor_list(void)
{
	static struct ptrc_session_list all;

	/* An error is a finding of doctor_machine.c. */
	if (!all.errors)
		ptrc_session_list(&all, false);
	return &all;
}

const char *ptrc_doctor_session_of(pid_t controller)
{
	const struct ptrc_session_list *all = ptrc_doctor_list();

	for (size_t i = 0; i < all->count; i++)
		if (!all->errors[i] && !ptrc_session_is_foreign(&all->replies[i].state) &&
		    all->replies[i].state.controller == controller)
			return all->names[i];
	return NULL;
}
