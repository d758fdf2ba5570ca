/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/check/kind.h"

const struct ptrc_judge_key *ptrc_now_key(struct ptrc_now *n)
{
	const struct ptrc_rule *r = n->trial->rule;
	struct ptrc_judge_key *k = &n->judge->keys[n->trial->key];

	if (n->trial->key && k->event != n->judge->event_count) {
		k->event = n->judge->event_count;
		ptrc_key_free(&k->key);
		k->has_key = ptrc_key_make(&k->key, 0, n->at.source, n->view,
					   k->by_text ? &r->by : NULL);
		k->hash = ptrc_table_hash(k->key.bytes, k->key.size);
	}
	if (k->has_key)
		return k;
	if (n->is_selected && n->trial->keyless_event != n->judge->event_count) {
		n->trial->keyless_event = n->judge->event_count;
		n->trial->without_key++;
	}
	return NULL;
}
