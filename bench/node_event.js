// SPDX-License-Identifier: MIT
// Measures events of the package for Node, in a process that ptrace-run traces or that is not traced. Prints a
// JSON object: the nanoseconds of an event, the median of some batches, and those of an empty function of
// JavaScript and of a call of the addon that does nothing, isTraced().
'use strict';

const { event, isTraced, trace, span } = require('posixtrace');

const numbers = event('bench.numbers', 'u64 n, u64 time');
const query = event('bench.query', { id: 'u64', rows: 'u32', sql: 'str' });

function empty() {}

function measure(call) {
	// Batches are short, so that most of them are not interrupted. The first ones are not counted, because
	// the compiler of JavaScript is at work.
	const taken = [];
	for (let batch = 0; batch < 700; batch++) {
		const begin = process.hrtime.bigint();
		for (let i = 0; i < 200; i++) call(i);
		if (batch >= 200) taken.push(Number(process.hrtime.bigint() - begin) / 200);
	}
	taken.sort((a, b) => a - b);
	return taken[taken.length >> 1];
}

console.log(
	JSON.stringify({
		is_traced: isTraced(),
		empty: measure((n) => empty(n, 2)),
		call: measure(() => isTraced()),
		numbers: measure((n) => numbers(n, 2)),
		query: measure((n) => query(n, 3, 'select name from user where id = ?')),
		trace: measure((n) => trace('bench.trace', { n, time: 2 })),
		span: measure(() => span('bench.span', empty)),
	}),
);
