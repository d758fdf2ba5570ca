/* SPDX-License-Identifier: MIT */
/* Loads, stores and exchanges of shared words, with the memory order in the name. */
#ifndef PTRC_LIB_BASE_ATOMIC_H
#define PTRC_LIB_BASE_ATOMIC_H

#include <stdatomic.h>

#define ptrc_load_relaxed(word) atomic_load_explicit(word, memory_order_relaxed)
#define ptrc_load_acquire(word) atomic_load_explicit(word, memory_order_acquire)
#define ptrc_load_seq_cst(word) atomic_load_explicit(word, memory_order_seq_cst)

#define ptrc_store_relaxed(word, value) atomic_store_explicit(word, value, memory_order_relaxed)
#define ptrc_store_release(word, value) atomic_store_explicit(word, value, memory_order_release)
#define ptrc_store_seq_cst(word, value) atomic_store_explicit(word, value, memory_order_seq_cst)

/* Stores `value` if the word is equal to *seen (acquire and release). False: the word had another
 * value, which is now in *seen. */
#define ptrc_cas(word, seen, value)                                                      \
	atomic_compare_exchange_strong_explicit(word, seen, value, memory_order_acq_rel, \
						memory_order_acquire)
#define ptrc_add_relaxed(word, n) atomic_fetch_add_explicit(word, n, memory_order_relaxed)

#endif
