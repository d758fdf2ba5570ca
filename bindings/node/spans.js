// SPDX-License-Identifier: MIT
// Spans: pairs of events with the same key, by which all commands pair them, so that spans of asynchronous
// functions, which take turns in one thread, are not mixed up.
'use strict';

const { AsyncLocalStorage } = require('node:async_hooks');
const { event, isTraced, newKey } = require('./posixtrace.node');

// The key of the innermost span of each asynchronous context.
const current = new AsyncLocalStorage();

const parentEvent = event('span.parent', 'u64 key, u64 parent');

// The two event types of spans, by the names of the spans.
const types = new Map();

function typesOf(name) {
	let found = types.get(name);
	if (!found) {
		if (typeof name !== 'string') throw new TypeError('the name of a span is a string');
		found = { begin: event(`${name}.begin`, 'u64 key'), end: event(`${name}.end`, 'u64 key') };
		types.set(name, found);
	}
	return found;
}

// Records the begin of a span with a new key, and that it is within the current span. Returns the key.
function beginWithin(begin, ...values) {
	const key = newKey();
	const parent = current.getStore();
	begin(key, ...values);
	if (parent !== undefined) parentEvent(key, parent);
	return key;
}

function startSpan(name) {
	const { begin, end } = typesOf(name);
	let key = isTraced() ? beginWithin(begin) : undefined;
	return {
		end() {
			if (key !== undefined) end(key);
			key = undefined;
		},
	};
}

function span(name, run) {
	const { begin, end } = typesOf(name);
	if (typeof run !== 'function') throw new TypeError(`span '${name}': a function is needed, not ${typeof run}`);
	if (!isTraced()) return run();
	const key = beginWithin(begin);
	let result;
	let isPromise = false;
	try {
		result = current.run(key, run);
		isPromise = typeof result?.then === 'function';
	} finally {
		if (!isPromise) end(key);
	}
	return isPromise ? Promise.resolve(result).finally(() => end(key)) : result;
}

function currentKey() {
	return current.getStore() ?? 0n;
}

module.exports = { beginWithin, current, currentKey, span, startSpan };
