// SPDX-License-Identifier: MIT
// Events and spans of posixtrace, for Node; posixtrace-node(3) is the manual.
//
// The addon posixtrace.node turns arguments into the data of an event. Here are layouts as objects, and
// events whose layouts follow from their values; spans are in spans.js.
'use strict';

const addon = require('./posixtrace.node');
const { currentKey, span, startSpan } = require('./spans.js');

const { isTraced, version } = addon;

// Neither part has a comma, which would begin another field.
const typeAndUnit = /^\s*((?:packed\s+)?(?:enum[^{},]*\{[^}]*\}|\w+)\s*(?:\[[^\],]*\])?)\s*([^,]*?)\s*$/;

function checkField(name, field) {
	if (!/^\w+$/.test(field))
		throw new TypeError(`event type '${name}', field '${field}': a name has only letters, digits and _`);
}

// Returns the layout of an object such as { id: 'u64', size: 'u32 KiB' }.
function layoutOf(name, types) {
	return Object.entries(types)
		.map(([field, type]) => {
			checkField(name, field);
			const words = typeof type === 'string' && typeAndUnit.exec(type);
			if (!words)
				throw new TypeError(`event type '${name}', field '${field}': '${type}' is no type`);
			return `${words[1].trim()} ${field} ${words[2]}`.trim();
		})
		.join(', ');
}

function event(name, layout) {
	if (typeof layout === 'object' && layout !== null) layout = layoutOf(name, layout);
	return addon.event(name, layout);
}

// The types that trace() has made, by their names.
const traced = new Map();

const typesOfKinds = { number: 'f64', bigint: 'i64', string: 'str', boolean: 'bool' };

const kindOf = (value) => (value === null ? 'null' : typeof value);

function makeTraced(name, fields) {
	const keys = Object.keys(fields);
	const parts = keys.map((key) => {
		checkField(name, key);
		const type = typesOfKinds[typeof fields[key]];
		if (type) return `${type} ${key}`;
		throw new TypeError(
			`event '${name}', field '${key}': a number, bigint, string or boolean is needed, not ${kindOf(fields[key])}`,
		);
	});
	return { keys, record: addon.event(name, parts.length ? parts.join(', ') : undefined) };
}

function trace(name, fields = {}) {
	if (!isTraced()) return;
	if (kindOf(fields) !== 'object')
		throw new TypeError(`event '${name}': an object with the fields is needed, not ${kindOf(fields)}`);
	let type = traced.get(name);
	if (!type) {
		type = makeTraced(name, fields);
		traced.set(name, type);
	}
	const { keys, record } = type;
	const values = [];
	for (const key of keys) {
		if (!Object.hasOwn(fields, key)) refuseFields(name, keys, fields);
		values.push(fields[key]);
	}
	if (Object.keys(fields).length !== keys.length) refuseFields(name, keys, fields);
	record(...values);
}

function refuseFields(name, keys, fields) {
	const list = (names) => (names.length ? names.join(', ') : 'no fields');
	throw new TypeError(
		`event '${name}': its first call had ${list(keys)}, this one has ${list(Object.keys(fields))}`,
	);
}

module.exports = { trace, event, span, startSpan, currentKey, isTraced, version };
