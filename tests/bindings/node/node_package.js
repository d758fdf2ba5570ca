// SPDX-License-Identifier: MIT
// The package for Node: what it records, as ptrace-dump shows it. node.sh runs it, in a directory for its log,
// and reads the results: for each case a line "# case: NAME", then what is wrong, then "ok" or "not ok".
//
// All cases record in one process, which ptrace-run traces: node_package.js record. An event before each case
// has its name, so that the events in the log can be compared with what each case expects.
'use strict';

const assert = require('node:assert');
const { execFileSync, fork } = require('node:child_process');
const { setTimeout: sleep } = require('node:timers/promises');
const { Worker, isMainThread } = require('node:worker_threads');
const posixtrace = require('posixtrace');
const { event, trace, span, startSpan, currentKey } = posixtrace;

// A case: its name, what it does, and what it expects: lines "NAME DATA", or a function that gets the events.
const cases = [];
const test = (name, run, expected = []) => cases.push({ name, run, expected });

const throws = (call, name, message) => assert.throws(call, (e) => e.name === name && e.message.includes(message), message);

test(
	'values by position, with the layout as an object or a text',
	() => {
		const query = event('db.query', { id: 'u64', rows: 'u32', sql: 'str' });
		query(7, 3, 'select 1');
		assert.strictEqual(query.name, 'db.query');
		event('db.query', 'u64 id, u32 rows, str sql')(7n, 3n, 'select 1');
	},
	['db.query {"id":7,"rows":3,"sql":"select 1"}', 'db.query {"id":7,"rows":3,"sql":"select 1"}'],
);

const numbers = 'u8 a, i8 b, u16 c, i16 d, u32 e, i32 f, u64 g, i64 h, f32 i, f64 j, bool k, x8 l, code m';
const values = [255, -128, 65535, -32768, 2 ** 32 - 1, -(2 ** 31), 2n ** 64n - 1n, -(2n ** 63n), 1.5, 0.1, true, 255, 1];
const shown =
	'{"a":255,"b":-128,"c":65535,"d":-32768,"e":4294967295,"f":-2147483648,"g":18446744073709551615,' +
	'"h":-9223372036854775808,"i":1.5,"j":0.1,"k":true,"l":"0xff","m":"0x1"}';

test(
	'numbers of all types stand as in a structure of C',
	() => {
		event('aligned', numbers)(...values);
		event('packed', `packed ${numbers}`)(...values);
		event('gap', 'u8 a, pad[3], u8 b')(1, 2);
		event('infinite', 'f32 a, f64 b, f32 c')(Infinity, NaN, -Infinity);
		event('exact', 'i64 a, u64 b, u8 c')(-(2 ** 60), 2 ** 63, -0);
	},
	[
		`aligned ${shown}`,
		`packed ${shown}`,
		'gap {"a":1,"b":2}',
		'infinite {"a":"inf","b":"nan","b_hex":"000000000000f87f","c":"-inf"}',
		'exact {"a":-1152921504606846976,"b":9223372036854775808,"c":0}',
	],
);

test(
	'arrays, enumerations, units, JSON and bytes',
	() => {
		event('unit', { time: 'u32 ms', size: 'u8 KiB' })(5, 6);
		event('array', 'u8 n, u16[3] ports, f32[1] x, u32[] rest')(1, [80, 443, 8080], new Float64Array([1.5]), [7n, 8]);
		event('none', 'u8 n, u32[] rest')(1, []);
		const state = event('state', { state: 'enum u8 {idle, busy=7, done}', other: 'enum{a=-1}' });
		state('done', -1);
		state(7, 'a');
		state(77, -2);
		event('json', 'u8 n, json more')(1, { a: [1, null], b: '\u00e4', c: undefined });
		event('all', 'json')({ a: NaN });
		event('halves', 'json')({ '\udc00': ['\ud800', '\ud83d\ude00', '\\ud800', 'x'.repeat(1010) + '\udfff'] });
		event('bytes', 'bytes[2] a, bytes b')(Buffer.from('ab'), new Uint16Array([0x6463]));
	},
	[
		'unit {"time":5,"size":6}',
		'array {"n":1,"ports":[80,443,8080],"x":[1.5],"rest":[7,8]}',
		'none {"n":1,"rest":[]}',
		'state {"state":"done","other":"a"}',
		'state {"state":"busy","other":"a"}',
		'state {"state":77,"other":-2}',
		'json {"n":1,"more":{"a":[1,null],"b":"\u00e4"}}',
		'all {"a":null}',
		`halves {"\ufffd":["\ufffd","\u{1f600}","\\\\ud800","${'x'.repeat(1010)}\ufffd"]}`,
		'bytes {"a":"6162","b":"6364"}',
	],
);

const long = '\u20ac'.repeat(1000);

test(
	'texts, whatever is in them',
	() => {
		const text = event('text', 'str t');
		for (const t of ['\u20ac\u{1f600}', 'a\ud83d!', '', Buffer.from('bytes'), long]) text(t);
		// Around the size from which on memory is allocated.
		for (let n = 1010; n < 1030; n++) text('x'.repeat(n));
		const texts = event('texts', 'str a, u32 n, char[3] c, str b');
		texts('one', 2, 'abcdef', 'three');
		// A null byte ends a text.
		texts('four\0five', 2, 'a', 'six\0seven');
		texts(Buffer.from('\0x'), 2, 'a', Buffer.from('\0x'));
		texts(long, 2, '', 'x');
	},
	[
		...['\u20ac\u{1f600}', 'a\ufffd!', '', 'bytes', long].map((t) => `text {"t":"${t}"}`),
		...Array.from({ length: 20 }, (_, n) => `text {"t":"${'x'.repeat(1010 + n)}"}`),
		'texts {"a":"one","n":2,"c":"abc","b":"three"}',
		'texts {"a":"four","n":2,"c":"a","b":"six"}',
		'texts {"a":"","n":2,"c":"a","b":""}',
		`texts {"a":"${long}","n":2,"c":"","b":"x"}`,
	],
);

test(
	'a text that is larger than the stream takes is cut, and the log says so',
	() => event('large', 'str t')('x'.repeat(100000)),
	([large]) => {
		assert.strictEqual(large.len, 4096);
		assert.notStrictEqual(large.truncated, 'no');
	},
);

test(
	'events without a layout',
	() => {
		const tick = event('tick');
		tick();
		tick('text');
		tick(Buffer.from([1, 0, 255]));
		throws(() => tick(7), 'TypeError', "event 'tick', field 'data': a string or bytes is needed, not a number");
		throws(() => tick('a', 'b'), 'TypeError', "event 'tick', field 'data': at most one value is needed, not 2");
		event('n\ud83d\u00e4me')();
	},
	['tick ""', 'tick "text"', 'tick 0100ff', 'n\ufffd\u00e4me ""'],
);

test(
	'trace() makes the layout of a name from its first fields',
	() => {
		trace('miss', { key: 'user:7', size: 512, hit: false, big: 5n });
		trace('miss', { size: 0.5, big: -5n, hit: true, key: 'x' });
		trace('bare');
		trace('bare', {});
		throws(() => trace('miss', { key: '' }), 'TypeError', 'its first call had key, size, hit, big, this one has key');
		throws(() => trace('miss', { key: '', size: 1, hit: true, big: 1n, b: 1 }), 'TypeError', 'this one has key, size, hit, big, b');
		throws(() => trace('miss', { key: '', size: 1, hit: true, gib: 1n }), 'TypeError', 'this one has key, size, hit, gib');
		throws(() => trace('miss', { key: '', size: 1n, hit: true, big: 1n }), 'TypeError', "field 'size': a number is needed, not a bigint");
		throws(() => trace('miss'), 'TypeError', 'this one has no fields');
		throws(() => trace('miss', null), 'TypeError', "event 'miss': an object with the fields is needed, not null");
		throws(() => trace('bare', 'x'), 'TypeError', "event 'bare': an object with the fields is needed, not string");
		throws(() => trace('object', { a: {} }), 'TypeError', "event 'object', field 'a': a number, bigint, string or boolean is needed, not object");
		throws(() => trace('object', { a: undefined }), 'TypeError', 'is needed, not undefined');
		throws(() => trace('words', { 'a ms': 1 }), 'TypeError', "event type 'words', field 'a ms': a name has only letters, digits and _");
		throws(() => trace('db.query', { id: 1 }), 'Error', "event type 'db.query': it has another layout than 'f64 id'");
	},
	[
		'miss {"key":"user:7","size":512,"hit":false,"big":5}',
		'miss {"key":"x","size":0.5,"hit":true,"big":-5}',
		'bare ""',
		'bare ""',
	],
);

test('what does not fit is an error that names event and field, and records nothing', () => {
	const query = event('fits', { id: 'u64', rows: 'u32[2]', sql: 'str' });
	const state = event('fits.too', 'enum u8{idle, busy} s, i8 n, f32 x, bool b');
	const json = event('fits.json', 'json');
	const bytes = event('fits.bytes', 'bytes[2] b');
	const circle = [];
	circle.push(circle);
	for (const [name, message, call] of [
		['RangeError', "event 'fits', field 'id': -1 is no u64", () => query(-1, [1, 2], '')],
		['RangeError', "field 'id': 1.5 is no u64", () => query(1.5, [1, 2], '')],
		['RangeError', "field 'id': NaN is no u64", () => query(NaN, [1, 2], '')],
		['RangeError', "field 'id': 18446744073709552000 is no u64", () => query(2 ** 64, [1, 2], '')],
		['RangeError', "field 'id': -1 is no u64", () => query(-1n, [1, 2], '')],
		['RangeError', "field 'id': 18446744073709551616 is no u64", () => query(2n ** 64n, [1, 2], '')],
		['TypeError', "field 'id': a number or bigint is needed, not a string", () => query('x', [1, 2], '')],
		['RangeError', "field 'rows': 2 values are needed, not 3", () => query(1, [1, 2, 3], '')],
		['RangeError', "field 'rows': 4294967296 is no u32", () => query(1, [1, 2 ** 32], '')],
		['TypeError', "field 'rows': an array is needed, not null", () => query(1, null, '')],
		['TypeError', "field 'sql': a string or bytes is needed, not undefined", () => query(1, [1, 2], undefined)],
		['TypeError', "event 'fits': 3 values are needed, not 2", () => query(1, [1, 2])],
		['TypeError', "event 'fits': 3 values are needed, not 9", () => query(1, 2, 3, 4, 5, 6, 7, 8, 9)],
		['RangeError', "field 's': 'away' is none of idle, busy", () => state('away', 1, 1, true)],
		['RangeError', " is none of idle, busy", () => state('idle\0', 1, 1, true)],
		['TypeError', "field 's': a number or the name of a member is needed, not a boolean", () => state(true, 1, 1, true)],
		['RangeError', "field 'n': 128 is no i8", () => state(1, 128, 1, true)],
		['RangeError', "field 'n': -129 is no i8", () => state(1, -129n, 1, true)],
		['RangeError', "field 'x': 1e+39 is no f32", () => state(1, 1, 1e39, true)],
		['TypeError', "field 'x': a number is needed, not a bigint", () => state(1, 1, 1n, true)],
		['TypeError', "field 'b': a boolean is needed, not a number", () => state(1, 1, 1, 1)],
		['TypeError', "field 'json': a value that JSON has is needed, not undefined", () => json(undefined)],
		['TypeError', "field 'json': an object is needed, not [{}]", () => json([{}])],
		['TypeError', "field 'json': an object is needed, not \"x\"", () => json({ toJSON: () => 'x' })],
		['TypeError', "field 'json': Do not know how to serialize a BigInt", () => json([1n])],
		['TypeError', "field 'json': Converting circular structure", () => json(circle)],
		['RangeError', "field 'b': 2 bytes are needed, not 3", () => bytes(Buffer.from('abc'))],
		['TypeError', "field 'b': a Buffer or another view is needed, not a string", () => bytes('ab')],
	])
		throws(call, name, message);
	// What an argument throws passes.
	const array = Object.defineProperty([1, 2], 1, { get: () => { throw new Error('mine'); } });
	assert.throws(() => query(1, array, ''), /^Error: mine$/);
	assert.throws(() => json({ toJSON: () => { throw new Error('mine'); } }), /^Error: mine$/);
});

test('layouts and names that are none', () => {
	for (const [message, name, layout] of [
		["event type 'wrong': layout 'u46 id', column 1: 'u46' ", 'wrong', 'u46 id'],
		["event type 'wrong', field 'a': '!' is no type", 'wrong', { a: '!' }],
		["event type 'wrong', field 'a': '7' is no type", 'wrong', { a: 7 }],
		["field 'a': 'u8, u8 b' is no type", 'wrong', { a: 'u8, u8 b' }],
		["field 'a': 'u8 B, u8' is no type", 'wrong', { a: 'u8 B, u8' }],
		["field 'a': 'enum u8 x, enum u8 {y}' is no type", 'wrong', { a: 'enum u8 x, enum u8 {y}' }],
		["field 'a, u8 b': a name has only letters", 'wrong', { 'a, u8 b': 'u8' }],
		["field 'a ms': a name has only letters", 'wrong', { 'a ms': 'u8' }],
		["layout '', column 1", 'wrong', ''],
		["two fields have the same name 'a'", 'wrong', 'u8 a, u8 a'],
		["'a' is a bit field, which cannot be recorded: use a whole integer", 'wrong', 'u32 a:3'],
		['a layout is a string, or an object of types', 'wrong', 7],
		['a layout is a string, or an object of types', 'wrong', null],
		['the name of an event type is a string', 7, undefined],
		['255 bytes at most', 'x'.repeat(256), undefined],
		['cannot have a null byte', 'a\0b', undefined],
		["'posix_trace_start': it is a type of the trace system", 'posix_trace_start', undefined],
	])
		assert.throws(() => event(name, layout), (e) => e.message.includes(message), message);
	assert.throws(() => event('db.query', 'u8 a'), { code: 'EEXIST' });
	assert.throws(() => event('wrong', 'u46 id'), { code: 'EINVAL' });
});

test(
	'an argument that records an event while another one is made',
	() => {
		const inner = event('inner', 'str t');
		event('outer', 'str t, json j')('first', { toJSON: () => (inner('x'.repeat(20)), 'second') });
	},
	[`inner {"t":"${'x'.repeat(20)}"}`, 'outer {"t":"first","j":"second"}'],
);

// Events of spans as letters: "begin a", "a within b", "end a", where the letter stands for the key.
function spansOf(events) {
	const letters = new Map();
	const letter = (key) => {
		if (!letters.has(key)) letters.set(key, String.fromCharCode(97 + letters.size));
		return letters.get(key);
	};
	return events.map(({ event, text }) => {
		const [key, parent] = text.match(/\d+/g).map(letter);
		return event === 'span.parent' ? `${key} within ${parent}` : `${event} ${key}`;
	});
}

test(
	'spans of functions that return, throw, or return a promise',
	async () => {
		assert.strictEqual(span('s', () => 7), 7);
		assert.throws(() => span('s', () => { throw new Error('mine'); }), /^Error: mine$/);
		const wait = span('s', async () => (await sleep(1), 8));
		trace('waiting', { a: 1 });
		assert.strictEqual(await wait, 8);
		await assert.rejects(span('s', async () => { await null; throw new Error('mine'); }), /^Error: mine$/);
		assert.strictEqual(await span('s', () => ({ then: (resolve) => resolve(9) })), 9);
		assert.throws(() => span('s', () => ({ get then() { throw new Error('mine'); } })), /^Error: mine$/);
		throws(() => span('s'), 'TypeError', "span 's': a function is needed, not undefined");
		throws(() => span(7, () => 1), 'TypeError', 'the name of a span is a string');
	},
	(events) => {
		const kinds = events.map((e) => e.event);
		assert.strictEqual(kinds.splice(5, 1)[0], 'waiting');
		assert.deepStrictEqual(kinds, Array(6).fill(['s.begin', 's.end']).flat());
		const keys = events.filter((e) => e.event === 's.begin').map((e) => e.text);
		assert.strictEqual(new Set(keys).size, 6);
		assert.deepStrictEqual(keys, events.filter((e) => e.event === 's.end').map((e) => e.text));
	},
);

test(
	'spans follow asynchronous contexts, and say within which one they are',
	async () => {
		assert.strictEqual(currentKey(), 0n);
		const task = (name, promise) => span(name, async () => {
			const key = currentKey();
			await promise;
			assert.strictEqual(currentKey(), key);
			await span('in', () => sleep(1));
			await new Promise((resolve) => process.nextTick(resolve));
			assert.strictEqual(currentKey(), key);
		});
		await task('two', task('one', sleep(1)));
		assert.strictEqual(currentKey(), 0n);
	},
	(events) =>
		assert.deepStrictEqual(spansOf(events), [
			'one.begin a', 'two.begin b', 'in.begin c', 'c within a', 'in.end c', 'one.end a',
			'in.begin d', 'd within b', 'in.end d', 'two.end b',
		]),
);

test(
	'a span that ends where the program says',
	() => span('around', () => {
		const started = startSpan('started');
		assert.notStrictEqual(currentKey(), 0n);
		return new Promise((resolve) => setImmediate(() => { started.end(); started.end(); resolve(); }));
	}),
	(events) =>
		assert.deepStrictEqual(spansOf(events), [
			'around.begin a', 'started.begin b', 'b within a', 'started.end b', 'around.end a',
		]),
);

test(
	'worker threads and child processes have keys of their own',
	async () => {
		const ended = (what) => new Promise((resolve, reject) => what.once('exit', resolve).once('error', reject));
		const workers = [1, 2, 3].map(() => ended(new Worker(__filename)));
		const child = ended(fork(__filename, ['child']));
		assert.deepStrictEqual(await Promise.all([...workers, child]), [0, 0, 0, 0]);
	},
	(events) => {
		const begins = events.filter((e) => e.event === 'thread.begin');
		assert.strictEqual(events.length, 4 * 200);
		assert.strictEqual(new Set(begins.map((e) => e.text)).size, 400);
		assert.strictEqual(new Set(begins.map((e) => e.pid)).size, 2);
		assert.strictEqual(new Set(begins.map((e) => e.tid)).size, 4);
	},
);

// ---- one process records, another one compares ----

async function record() {
	for (const { name, run } of cases) {
		trace('case', { name });
		try {
			await run();
		} catch (error) {
			trace('failed', { message: error.stack.slice(0, 3000) });
		}
	}
}

// The events of each case by its name, from the lines of ptrace-dump. JSON.parse() would round large numbers,
// so `text` has the data as it was printed.
function eventsOf(lines) {
	const found = new Map();
	let events = [];
	for (const line of lines) {
		const e = JSON.parse(line);
		e.text = /,"data(?:_hex)?":(.*)}$/.exec(line)?.[1] ?? '';
		if (!('data' in e)) e.text = e.data_hex ?? '';
		if (e.event === 'case') found.set(e.data.name, (events = []));
		else if (!e.event.startsWith('posix_trace_')) events.push(e);
	}
	return found;
}

function check({ expected }, events) {
	assert(events, 'it was not begun');
	for (const e of events) assert.notStrictEqual(e.event, 'failed', e.data?.message);
	if (typeof expected === 'function') return expected(events);
	for (const e of events) assert.strictEqual(e.decode_error, undefined, e.text);
	assert.deepStrictEqual(events.map((e) => `${e.event} ${e.text}`), expected);
}

function compare() {
	const log = `${process.argv[2]}/cases.log`;
	execFileSync('ptrace-run', ['-o', log, '--', process.execPath, __filename, 'record'], { stdio: ['ignore', 2, 'ignore'] });
	const dump = execFileSync('ptrace-dump', ['--format=json', log], { maxBuffer: 1 << 28 });
	const found = eventsOf(dump.toString().trim().split('\n'));
	for (const c of cases) {
		console.log(`# case: ${c.name}`);
		try {
			check(c, found.get(c.name));
			console.log('ok');
		} catch (error) {
			console.log(error.stack);
			console.log('not ok');
		}
	}
}

if (!isMainThread || process.argv[2] === 'child') for (let n = 0; n < 100; n++) span('thread', () => n);
else if (process.argv[2] === 'record') record();
else compare();
