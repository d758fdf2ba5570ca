/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/config/configuration.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "src/config/kept.h"
#include "src/os/os_trace.h"
#include "src/session/preload.h"
#include "src/session/session_path.h"
#include "src/session/watch.h"
#include "src/fields/when.h"

#define EVERYBODY (PTRC_CONFIG_FOR_CREATE | PTRC_CONFIG_FOR_RUN | PTRC_CONFIG_FOR_DUMP)
#define RUN_ONLY (PTRC_CONFIG_FOR_RUN | PTRC_CONFIG_FOR_DUMP)
#define CREATE_ONLY (PTRC_CONFIG_FOR_CREATE | PTRC_CONFIG_FOR_DUMP)
#define OF_LOG (EVERYBODY | PTRC_CONFIG_OF_LOG)

/* The default of the setting snapshot-max. It is small, because a snapshot may be as large as the stream. */
#define SNAPSHOT_MAX 10

static const struct ptrc_attributes_policy stacks = {
	{"dwarf", "fp", NULL, NULL},
	{PTRC_OS_STACKS_DWARF, PTRC_OS_STACKS_FP, -1},
};

/* clang-format off */
#define SETTING(key, name, kind, users, member, low, high, policy) \
	[PTRC_CONFIG_##key] = {name, PTRC_CONFIG_##kind, users, \
		offsetof(struct ptrc_config, member), \
		sizeof(((struct ptrc_config *)0)->member), low, high, policy}
#define SIZE_SETTING(key, name, users, member) \
	SETTING(key, name, SIZE, users, member, 0, SIZE_MAX, NULL)
#define POLICY_SETTING(key, name, users, member, policy) \
	SETTING(key, name, POLICY, users, member, 0, 0, &ptrc_attributes_##policy)

const struct ptrc_config_setting ptrc_config_settings[PTRC_CONFIG_KEYS] = {
	SETTING(NAME, "name", TEXT, EVERYBODY, name, 1, TRACE_NAME_MAX - 1, NULL),
	SETTING(PID, "pid", NUMBER, CREATE_ONLY, pid, 1, INT_MAX, NULL),
	SETTING(OUTPUT, "output", TEXT, EVERYBODY, output, 1, PATH_MAX - 1, NULL),
	SETTING(COUNT_ONLY, "count-only", BOOL, EVERYBODY, only_counts, 0, 1, NULL),
	SETTING(FORCE, "force", BOOL, OF_LOG, is_forced, 0, 1, NULL),
	SETTING(NO_FSYNC, "no-fsync", BOOL, OF_LOG, is_unsynced, 0, 1, NULL),
	SETTING(NO_COMMAND_LINE, "no-command-line", BOOL, EVERYBODY, hides_command_lines, 0, 1,
		NULL),
	SETTING(START, "start", BOOL, CREATE_ONLY, is_started, 0, 1, NULL),
	SETTING(KEEP, "keep", BOOL, CREATE_ONLY, is_kept, 0, 1, NULL),
	SIZE_SETTING(STREAM_MIN_SIZE, "stream-min-size", EVERYBODY, stream_min_size),
	POLICY_SETTING(STREAM_FULL_POLICY, "stream-full-policy", EVERYBODY, stream_full_policy,
		       stream_full_policies),
	SETTING(FULL_WAIT, "full-wait", DURATION, OF_LOG, full_wait_ns, 0, INT64_MAX, NULL),
	SIZE_SETTING(MAX_DATA_SIZE, "max-data-size", EVERYBODY, max_data_size),
	POLICY_SETTING(INHERITANCE, "inheritance", EVERYBODY, inheritance, inheritance_policies),
	SIZE_SETTING(LOG_MAX_SIZE, "log-max-size", OF_LOG, log_max_size),
	POLICY_SETTING(LOG_FULL_POLICY, "log-full-policy", OF_LOG, log_full_policy,
		       log_full_policies),
	SETTING(LOG_ROTATE, "log-rotate", ROTATION, OF_LOG, log_rotate, 0, 0, NULL),
	SETTING(LOG_KEEP, "log-keep", NUMBER, OF_LOG, log_keep, 2, INT_MAX, NULL),
	SETTING(SNAPSHOT_ON, "snapshot-on", LIST, EVERYBODY, snapshot_on, 1, TRACE_EVENT_NAME_MAX,
		NULL),
	SETTING(SNAPSHOT_MAX, "snapshot-max", NUMBER, EVERYBODY, snapshot_max, 1, 999, NULL),
	SETTING(OS, "os", OS_KINDS, EVERYBODY, os, 0, 0, NULL),
	SETTING(STACKS, "stacks", POLICY, EVERYBODY, stacks, 0, 0, &stacks),
	SETTING(WAITS, "waits", LIST, RUN_ONLY, waits, 1, PTRC_PRELOAD_WAIT_MAX, NULL),
	SETTING(SDT, "sdt", LIST, RUN_ONLY, sdt, 1, TRACE_EVENT_NAME_MAX, NULL),
	SETTING(ONLY, "only", LIST, EVERYBODY, only, 1, TRACE_EVENT_NAME_MAX, NULL),
	SETTING(EXCLUDE, "exclude", LIST, EVERYBODY, exclude, 1, TRACE_EVENT_NAME_MAX, NULL),
	SETTING(DECODE, "decode", MAP, EVERYBODY, decode, 1, 4096, NULL),
};
/* clang-format on */

void ptrc_config_init(struct ptrc_config *c)
{
	trace_attr_t attr;

	memset(c, 0, sizeof(*c));
	if (ptrc_attributes_init(&attr))
		ptrc_cli_no_memory();
	/* The following calls do not fail, because the attributes object is initialised. */
	posix_trace_attr_getstreamsize(&attr, &c->stream_min_size);
	posix_trace_attr_getmaxdatasize(&attr, &c->max_data_size);
	posix_trace_attr_getlogsize(&attr, &c->log_max_size);
	posix_trace_attr_getinherited(&attr, &c->inheritance);
	posix_trace_attr_getlogfullpolicy(&attr, &c->log_full_policy);
	posix_trace_attr_destroy(&attr);
	c->snapshot_max = SNAPSHOT_MAX;
}

static bool is_text(const struct ptrc_config_setting *s, const char *text,
		    struct ptrc_cli_reason *why)
{
	size_t size = strlen(text);

	if (size < s->low)
		return ptrc_cli_because(why, "is empty");
	if (size > s->high)
		return ptrc_cli_because(why, "is longer than %llu bytes",
					(unsigned long long)s->high);
	return true;
}

static bool has_room(size_t count, struct ptrc_cli_reason *why)
{
	return count < PTRC_CONFIG_ITEMS_MAX ||
	       ptrc_cli_because(why, "has more than %d entries", PTRC_CONFIG_ITEMS_MAX);
}

static bool set_rotation(struct ptrc_config_rotation *r, const char *text,
			 struct ptrc_cli_reason *why)
{
	struct ptrc_cli_reason no_size;
	int64_t ns = 0;
	size_t bytes = 0;

	*r = (struct ptrc_config_rotation){0};
	if (ptrc_when_duration(text, &ns)) {
		if (ns < 1000000000)
			return ptrc_cli_because(why, "'%.60s' is less than a second", text);
		r->ns = (uint64_t)ns;
		return true;
	}
	if (!ptrc_cli_parse_size(text, &bytes, &no_size))
		return ptrc_cli_because(
			why, "'%.60s' is neither a size such as 100M nor a duration such as 1h",
			text);
	if (bytes < POSIXTRACE_LOG_ROTATION_MIN)
		return ptrc_cli_because(why, "'%.60s' is less than %dK", text,
					POSIXTRACE_LOG_ROTATION_MIN / 1024);
	r->bytes = bytes;
	return true;
}

static const struct {
	const char *word;
	unsigned int kind;
} os_kinds[] = {{"process", PTRC_OS_PROCESS},
		{"sched", PTRC_OS_SCHED},
		{"syscalls", PTRC_OS_SYSCALLS},
		{"faults", PTRC_OS_FAULTS},
		{"samples", PTRC_OS_SAMPLES}};

#define OS_KIND_COUNT (sizeof(os_kinds) / sizeof(os_kinds[0]))

static bool set_frequency(struct ptrc_config_os *os, const char *text, size_t length,
			  struct ptrc_cli_reason *why)
{
	char digits[24] = "";
	uint64_t number;

	if (length < sizeof(digits))
		memcpy(digits, text, length);
	if (!ptrc_cli_parse_number(digits, 1, PTRC_OS_FREQUENCY_MAX, &number, why))
		return ptrc_cli_because(
			why, "'%.*s' is not a number of samples a second from 1 to %d",
			(int)(length < 60 ? length : 60), text, PTRC_OS_FREQUENCY_MAX);
	os->frequency = (unsigned int)number;
	return true;
}

/* Adds a kind of events to the setting `os'. '=' and a frequency may follow the word samples. */
static bool add_os_kind(struct ptrc_config_os *os, const char *text, size_t length,
			struct ptrc_cli_reason *why)
{
	size_t word = 0, i = 0;

	while (word < length && text[word] != '=')
		word++;
	while (i < OS_KIND_COUNT &&
	       (strlen(os_kinds[i].word) != word || strncmp(os_kinds[i].word, text, word) != 0))
		i++;
	if (i == OS_KIND_COUNT || (word < length && os_kinds[i].kind != PTRC_OS_SAMPLES))
		return ptrc_cli_because(
			why,
			"'%.*s' is none of process, sched, syscalls, faults, samples and "
			"samples=HZ; auto and none stand alone",
			(int)(length < 60 ? length : 60), text);
	os->kinds |= os_kinds[i].kind;
	return word == length || set_frequency(os, text + word + 1, length - word - 1, why);
}

static bool set_os(struct ptrc_config_os *os, const char *text, struct ptrc_cli_reason *why)
{
	const char *at = text;

	*os = (struct ptrc_config_os){.frequency = PTRC_OS_FREQUENCY};
	if (!strcmp(text, "none"))
		return true;
	if (!strcmp(text, "auto")) {
		os->kinds = PTRC_OS_AUTO;
		return true;
	}
	for (;;) {
		size_t length = strcspn(at, ",");

		if (!add_os_kind(os, at, length, why))
			return false;
		if (!at[length])
			return true;
		at += length + 1;
	}
}

void ptrc_config_os_text(const struct ptrc_config_os *os, char text[PTRC_CONFIG_OS_BYTES])
{
	size_t used = 0;

	snprintf(text, PTRC_CONFIG_OS_BYTES, "%s", os->kinds == PTRC_OS_AUTO ? "auto" : "none");
	for (size_t i = 0; i < OS_KIND_COUNT; i++)
		if (os->kinds & os_kinds[i].kind)
			used += (size_t)snprintf(text + used, PTRC_CONFIG_OS_BYTES - used, "%s%s",
						 used ? "," : "", os_kinds[i].word);
	if (os->kinds & PTRC_OS_SAMPLES && os->frequency != PTRC_OS_FREQUENCY)
		snprintf(text + used, PTRC_CONFIG_OS_BYTES - used, "=%u", os->frequency);
}

bool ptrc_config_set(struct ptrc_config *c, enum ptrc_config_key key, enum ptrc_config_user user,
		     const char *text, struct ptrc_cli_reason *why)
{
	static const char *const booleans[] = {"false", "true", NULL};
	const struct ptrc_config_setting *s = &ptrc_config_settings[key];
	void *field = (char *)c + s->offset;
	bool is_valid = true;
	int64_t ns = 0;
	int i;

	switch (s->kind) {
	case PTRC_CONFIG_TEXT:
		if (!is_text(s, text, why))
			return false;
		if (key == PTRC_CONFIG_NAME && user != PTRC_CONFIG_FOR_DUMP &&
		    !ptrc_session_is_name(text))
			return ptrc_cli_because(
				why,
				"'%.80s' is not a name for a session: up to %d letters, "
				"digits and ._-+:@=,",
				text, PTRC_SESSION_NAME_MAX);
		if (key == PTRC_CONFIG_OUTPUT && !strcmp(text, "-"))
			return ptrc_cli_because(
				why, "%s",
				user == PTRC_CONFIG_FOR_CREATE
					? "'-' is not standard output, which gets the names of "
					  "sessions; ./- is a file of this name"
					: "'-' is not standard output here: use /dev/stdout, or ./- "
					  "for a file of this name");
		*(const char **)field = text;
		break;
	case PTRC_CONFIG_NUMBER:
		is_valid = ptrc_cli_parse_number(text, s->low, s->high, field, why);
		break;
	case PTRC_CONFIG_SIZE:
		is_valid = ptrc_cli_parse_size(text, field, why);
		break;
	case PTRC_CONFIG_DURATION:
		if (!ptrc_when_plain_duration(text, &ns))
			return ptrc_cli_because(
				why, "'%.60s' is not a duration such as 10s or 1.5ms", text);
		*(uint64_t *)field = (uint64_t)ns;
		break;
	case PTRC_CONFIG_ROTATION:
		is_valid = set_rotation(field, text, why);
		break;
	case PTRC_CONFIG_OS_KINDS:
		is_valid = set_os(field, text, why);
		break;
	case PTRC_CONFIG_BOOL:
		i = ptrc_cli_parse_word(text, booleans, why);
		if (i < 0)
			return false;
		*(bool *)field = i;
		break;
	case PTRC_CONFIG_POLICY:
		i = ptrc_cli_parse_word(text, s->policy->words, why);
		if (i < 0)
			return false;
		*(int *)field = s->policy->values[i];
		break;
	case PTRC_CONFIG_LIST:
		if (!is_text(s, text, why) ||
		    !has_room(((struct ptrc_cli_texts *)field)->count, why) ||
		    (key == PTRC_CONFIG_SNAPSHOT_ON && !ptrc_watch_is_valid(text, why)))
			return false;
		if (key == PTRC_CONFIG_WAITS && !ptrc_preload_has_waits(text))
			return ptrc_cli_because(
				why, "'%.60s' matches no kind of waits: " PTRC_PRELOAD_WAIT_KINDS,
				text);
		if (key == PTRC_CONFIG_SDT && strchr(text, '\n'))
			return ptrc_cli_because(why, "a pattern has one line");
		ptrc_cli_add_text(field, text);
		break;
	case PTRC_CONFIG_MAP:
		return ptrc_cli_because(why, "needs the name of an event");
	}
	_Static_assert(PTRC_CONFIG_KEYS <= 32, "a bit of .given for each key");
	if (is_valid)
		c->given |= 1U << key;
	return is_valid;
}

bool ptrc_config_add_layout(struct ptrc_config *c, const struct ptrc_config_layout *layout,
			    struct ptrc_cli_reason *why)
{
	struct ptrc_config_map *m = &c->decode;

	if (!is_text(&ptrc_config_settings[PTRC_CONFIG_EXCLUDE], layout->event, why) ||
	    !is_text(&ptrc_config_settings[PTRC_CONFIG_DECODE], layout->text, why) ||
	    !has_room(m->count, why))
		return false;
	*ptrc_append(m->layouts, m->count) = *layout;
	c->given |= 1U << PTRC_CONFIG_DECODE;
	return true;
}

void ptrc_config_overlay(struct ptrc_config *below, const struct ptrc_config *above)
{
	for (int key = 0; key < PTRC_CONFIG_KEYS; key++) {
		const struct ptrc_config_setting *s = &ptrc_config_settings[key];

		if (!(above->given & 1U << key))
			continue;
		if (s->kind == PTRC_CONFIG_LIST) {
			/* The list that is replaced cannot be freed, because another session may share it. Keeps
			 * a copy of its pointer, so that a leak checker does not report the list. */
			struct ptrc_cli_texts *replaced = ptrc_config_keep(sizeof(*replaced));

			memcpy(replaced, (char *)below + s->offset, sizeof(*replaced));
		}
		memcpy((char *)below + s->offset, (const char *)above + s->offset, s->size);
		below->marks[key] = above->marks[key];
	}
	below->given |= above->given;
	below->from_defaults &= ~above->given;
}

bool ptrc_config_is_of_kept_events(enum ptrc_config_key key)
{
	/* PTRC_CONFIG_FORCE is not about logs alone: it also makes ptrace-run replace files of results. */
	return (ptrc_config_settings[key].users & PTRC_CONFIG_OF_LOG &&
		key != PTRC_CONFIG_FULL_WAIT && key != PTRC_CONFIG_FORCE) ||
	       key == PTRC_CONFIG_OUTPUT || key == PTRC_CONFIG_STREAM_FULL_POLICY ||
	       key == PTRC_CONFIG_SNAPSHOT_ON || key == PTRC_CONFIG_SNAPSHOT_MAX;
}

int ptrc_config_stream_full_policy(const struct ptrc_config *c, bool has_log)
{
	if (c->stream_full_policy)
		return c->stream_full_policy;
	/* Loop instead of flush, because snapshots would lack events that were flushed. */
	if (c->snapshot_on.count)
		return POSIX_TRACE_LOOP;
	return has_log ? POSIX_TRACE_FLUSH : POSIX_TRACE_LOOP;
}

int ptrc_config_attributes(const struct ptrc_config *c, trace_attr_t *attr)
{
	const struct timespec full_wait = ptrc_when_timespec((int64_t)c->full_wait_ns);
	const struct posixtrace_log_rotation rotation = {
		.pt_bytes = c->log_rotate.bytes,
		.pt_time = ptrc_when_timespec((int64_t)c->log_rotate.ns),
		.pt_keep = c->log_keep};
	int error = ptrc_attributes_init(attr);

	if (error)
		return error;
	/* ptrc_config_set() has checked all values, so these functions do not fail. */
	if (c->name)
		posix_trace_attr_setname(attr, c->name);
	posix_trace_attr_setstreamsize(attr, c->stream_min_size);
	posix_trace_attr_setmaxdatasize(attr, c->max_data_size);
	posix_trace_attr_setlogsize(attr, c->log_max_size);
	posix_trace_attr_setinherited(attr, c->inheritance);
	posix_trace_attr_setlogfullpolicy(attr, c->log_full_policy);
	posixtrace_attr_setfullwait(attr, &full_wait);
	posixtrace_attr_setlogrotation(attr, &rotation);
	if (c->stream_full_policy || c->snapshot_on.count)
		posix_trace_attr_setstreamfullpolicy(attr,
						     ptrc_config_stream_full_policy(c, false));
	return 0;
}

struct ptrc_session_plan ptrc_config_plan(const struct ptrc_config *c)
{
	const struct ptrc_cli_texts *const lists[] = {&c->only, &c->exclude};
	static const int kinds[] = {POSIXTRACE_ONLY, POSIXTRACE_EXCLUDE};
	struct posixtrace_pattern *p =
		ptrc_config_keep((c->only.count + c->exclude.count + 1) * sizeof(*p));
	size_t count = 0;

	for (size_t k = 0; k < sizeof(lists) / sizeof(*lists); k++)
		for (size_t i = 0; i < lists[k]->count; i++) {
			p[count] = (struct posixtrace_pattern){.pt_how = kinds[k]};
			strcpy(p[count++].pt_glob, lists[k]->texts[i]);
		}
	return (struct ptrc_session_plan){
		.name = c->name,
		.patterns = p,
		.pattern_count = count,
		.is_unsynced = c->is_unsynced,
		.hides_command_lines = c->hides_command_lines,
		.snapshots = {.texts = c->snapshot_on.texts,
			      .count = c->snapshot_on.count,
			      .max = c->snapshot_max},
		.os = {.kinds = c->os.kinds,
		       .frequency = c->os.frequency,
		       .stacks = (enum ptrc_os_stacks)c->stacks,
		       .hides_command_lines = c->hides_command_lines},
	};
}
