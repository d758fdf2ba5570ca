// SPDX-License-Identifier: MIT
// Spans: pairs of events with the same key, by which all commands pair them, so that spans of asynchronous
// functions, which take turns in one thread, are not mixed up.
'use strict';

const { AsyncLocalStorage } = require('node:async_hooks');
const { event, isTraced, newKey } = require('./posixtrace.node');

// The innermost span of each asynchronous context, { key, hasEnded }: a context may outlive its span.
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
	if (parent) parentEvent(key, parent.key);
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
	const own = { key: beginWithin(begin), hasEnded: false };
	const endOwn = () => {
		own.hasEnded = true;
		end(own.key);
	};
	let result;
	let isPromise = false;
	try {
		result = current.run(own, run);
		isPromise = typeof result?.then === 'function';
	} finally {
		if (!isPromise) endOwn();
	}
	return isPromise ? Promise.resolve(result).finally(endOwn) : result;
}

function currentKey() {
	return current.getStore()?.key ?? 0n;
}

module.exports = { beginWithin, current, currentKey, span, startSpan };
