/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/base/end_signal.h"

#include <stddef.h>

#include "src/base/output.h"

static volatile sig_atomic_t end_signal;

static void on_signal(int number)
{
	end_signal = number;
}

void ptrc_end_signal_set(const struct sigaction *action)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		struct sigaction old;

		if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(signals[i], action, NULL);
	}
}

void ptrc_end_signal_catch(void)
{
	const struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};

	ptrc_end_signal_set(&action);
	ptrc_output_give_up_at(&end_signal);
}

bool ptrc_end_signal_has_come(void)
{
	return end_signal;
}

void ptrc_end_signal_raise(void)
{
	if (!end_signal)
		return;
	signal(end_signal, SIG_DFL);
	raise(end_signal);
}
