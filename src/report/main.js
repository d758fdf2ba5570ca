// SPDX-License-Identifier: MIT
// The page: summary, tables, search, and the panel of the selected record. Everything from a log is shown as
// text, never as markup.

const element = id => document.getElementById(id);

function make(tag, content, className) {
	const node = document.createElement(tag);
	if (className)
		node.className = className;
	if (content !== undefined)
		node.append(...[].concat(content));
	return node;
}

function button(text, action) {
	const node = make('button', text);
	node.type = 'button';
	node.addEventListener('click', action);
	return node;
}

const model = makeModel(element);
const {meta} = model;
let current = null;
// This function is called when another part of the time is shown.
let whenMoved = null;
let results = [], resultAt = -1;

// What a record's fate means, by enum ptrc_span_fate.
const fateTexts = ['', 'may have lost its other half', 'has no begin', 'has no end'];

const fateOf = item => fateTexts[item.fate] + (item.track.kind ? ' among the selected events' : '');

function noteOf(item) {
	return (!item.track.kind ? 'This event ' : model.kinds[item.class] ? 'This wait ' : 'This pair ') + fateOf(item) + '.';
}

const holderName = holder => typeof holder === 'object' ? laneName(holder) : 'thread ' + holder;

function showTook(item) {
	return (item.track.kind && item.fate ? 'at least ' : '') + showDuration(item.duration);
}

const lanes = makeLanes(model, element('lanes'), element('overview'), element('tip'), {
	moved: () => whenMoved && whenMoved(),
	selected: select,
	tipOf(item) {
		const c = meta.classes[item.class];
		let text = c.name + (item.track.kind ? '\n' + showTook(item) : '');
		const wait = item.track.kind === 2 && model.waitOf(item.lane, item.class, item.row);
		if (wait)
			text += '\n' + wait.text + (wait.holder ? '\nheld by ' + holderName(wait.holder) : '');
		if (item.fate)
			text += '\n' + fateOf(item);
		return text + '\n' + showTime(meta, item.begin);
	},
});

// ---- summary

function putSummary() {
	const complete = meta.logs.every(l => l.is_complete);
	const commands = [...new Set(model.lanes.map(l => l.command || l.executable || l.process).filter(Boolean))];
	const what = commands.length ? commands.slice(0, 3).join(', ') + (commands.length > 3 ? ' and ' + (commands.length - 3) + ' more' : '')
		: meta.logs.map(l => l.name).join(', ');
	element('title').textContent = what;
	document.title = what + ' - ptrace-report';
	element('verdict').textContent = complete ? 'complete' : 'incomplete';
	element('verdict').className = complete ? 'good' : 'bad';
	const facts = element('facts');
	const fact = (name, value) => value && facts.append(make('div', [make('dt', name), make('dd', value)]));
	fact('Log', meta.logs.map(l => l.path).join(', '));
	fact('From', meta.events ? showTime(meta, 0) : 'no events');
	fact('Took', meta.events ? showDuration(meta.span) : '');
	fact('Where', [...new Set(meta.logs.map(l => [l.host, [l.system, l.release].filter(Boolean).join(' '), l.machine]
		.filter(Boolean).join(', ')).filter(Boolean))].join('; '));
	fact('Events', showCount(meta.events));
	const processes = new Set(model.lanes.filter(l => l.pid).map(l => l.log + ' ' + l.pid)).size;
	const threads = model.lanes.filter(l => l.pid || l.is_rest).length;
	fact('Threads', threads ? showCount(threads) + ' of ' + showCount(processes) + (processes === 1 ? ' process' : ' processes') : '');
	const options = meta.arguments.filter((a, i) => a.startsWith('-') || !meta.logs.some(l => l.path === a) && meta.arguments[i - 1] !== '-o');
	fact('Selected', options.filter(a => !/^(-o|--output|--force|--max-size|--allow-loss)/.test(a)).join(' '));
	fact('Made', meta.made.slice(0, 19).replace('T', ' ') + ' UTC by ' + meta.generator);
	const notes = [];
	for (const log of meta.logs)
		if (!log.is_complete)
			notes.push((meta.logs.length > 1 ? log.name + ': ' : '') + 'Data is missing: ' + log.missing.join('; ') + '.');
	if (meta.dropped)
		notes.push('To stay within ' + showCount(Math.round(meta.size_max / 1024)) + ' KiB the report has only ' + showCount(meta.kept) + ' single events and pairs; '
			+ showCount(meta.dropped) + ' others are counted in the tables and drawn as grey stretches.');
	if (meta.losses_merged)
		notes.push(showCount(meta.losses_merged) + ' losses are drawn together with the last one.');
	if (meta.span > 2 ** 53)
		notes.push('The trace is so long that times are rounded to ' + 2 ** Math.ceil(Math.log2(meta.span / 2 ** 53)) + ' ns.');
	if (meta.waits && !meta.waits.has_any)
		notes.push('Why threads did not run is not known: the log has no waits (ptrace-run --waits).');
	if (meta.no_symbols)
		notes.push('Where in the source events come from is not shown: ' + meta.no_symbols);
	if (meta.is_without_names)
		notes.push('Functions are shown by their addresses: the option --symbols gives their names.');
	element('notes').textContent = notes.join('\n');
}

// ---- what is selected

function select(item) {
	current = item;
	lanes.select(item);
	const details = element('details');
	details.replaceChildren();
	if (!item) {
		details.append(make('p', 'Click an event, a pair or a row of a table.', 'faint'));
		return;
	}
	const c = meta.classes[item.class];
	const name = make('h2', [swatch(item.class), c.name]);
	details.append(name);
	const table = (rows) => make('table', make('tbody', rows.map(([key, value]) => make('tr', [make('th', key), make('td', value)]))));
	const rows = [];
	if (item.fate)
		rows.push(['Note', noteOf(item)]);
	if (item.track.kind)
		rows.push(['Took', showTook(item) + ' (' + showCount(item.duration) + ' ns)']);
	rows.push([item.track.kind ? 'Begin' : 'Time', showTime(meta, item.begin)], ['Since begin', showOffset(item.begin)]);
	if (item.track.kind)
		rows.push(['End', showTime(meta, item.begin + item.duration)]);
	rows.push(['Thread', laneName(item.lane)]);
	if (processName(item.lane))
		rows.push(['Process', processName(item.lane)]);
	if (meta.logs.length > 1)
		rows.push(['Log', meta.logs[item.lane.log].name]);
	const wait = item.track.kind === 2 && model.waitOf(item.lane, item.class, item.row);
	if (wait && wait.holder)
		rows.push(['Held by', typeof wait.holder === 'object'
			? button(holderName(wait.holder), () => goToHolder(wait.holder, item)) : holderName(wait.holder)]);
	details.append(table(rows));
	const fields = model.fieldsOf(item.class, item.row);
	for (const [title, isEnd] of item.track.kind ? [['Begin', false], ['End', true]] : [['Data', false]]) {
		const own = fields.filter(f => f.isEnd === isEnd);
		if (own.length)
			details.append(make('h3', title), table(own.map(f => [f.name, f.text])));
	}
	details.append(make('div', [
		button('Zoom to it', () => lanes.zoomTo(item)),
		button('‹ in this row', () => step(-1)), button('in this row ›', () => step(1)),
	], 'buttons'));
}

// Goes to what the thread that held the lock did when the wait began.
function goToHolder(lane, item) {
	const record = lanes.recordAt(lane, item.begin);
	if (record)
		select(record);
	lanes.show(item.begin - lanes.view.span / 2, lanes.view.span);
	lanes.scrollTo(lane);
}

function step(by) {
	const i = current.index + by;
	if (i < 0 || i >= current.track.count)
		return;
	select(lanes.itemOf(current.lane, current.track, i));
	if (current.begin < lanes.view.from || current.begin > lanes.view.from + lanes.view.span)
		lanes.show(current.begin - lanes.view.span / 2, lanes.view.span);
}

function swatch(number) {
	const node = make('span', undefined, 'swatch');
	node.style.background = lanes.colour(number);
	return node;
}

// Returns the record of the class that starts nearest to the time; null if all records of the class were
// dropped.
function nearest(number, time) {
	let best = null, distance = Infinity;
	const kind = meta.classes[number].kind;
	for (const lane of model.lanes)
		for (const track of kind === 0 ? [lane.events] : kind === 2 ? [lane.runs] : lane.rows) {
			const at = lowerBound(track.begin, time);
			for (const direction of [1, -1])
				for (let i = direction > 0 ? at : at - 1; i >= 0 && i < track.count; i += direction) {
					if (Math.abs(track.begin[i] - time) >= distance)
						break;
					if (track.class[i] !== number)
						continue;
					best = lanes.itemOf(lane, track, i);
					distance = Math.abs(track.begin[i] - time);
					break;
				}
		}
	return best;
}

// Goes to the longest pair of a class, or to the longest time between two events of a type.
function goToWorst(number) {
	const c = meta.classes[number];
	// A type with a single event has no time between two events. If all pairs of a class go beyond the selected
	// time, c.longest is undefined, too; then the first pair is shown.
	if (c.longest === undefined && !c.kind)
		return;
	const item = nearest(number, c.longest || 0);
	if (c.kind && item) {
		select(item);
		lanes.zoomTo(item);
		return;
	}
	if (c.longest !== undefined)
		lanes.show(c.longest - c.max * 0.25, Math.max(c.max * 1.5, 1000));
	if (item) {
		select(item);
		lanes.scrollTo(item.lane);
	}
}

// ---- tables

function drawHistogram(counts) {
	const canvas = make('canvas');
	const ratio = window.devicePixelRatio || 1;
	canvas.width = 120 * ratio;
	canvas.height = 22 * ratio;
	const used = counts.map((count, i) => count ? i : -1).filter(i => i >= 0);
	const first = used[0], last = used[used.length - 1], most = Math.max(...counts);
	canvas.title = used.map(i => showDuration(i ? 2 ** i : 0) + ' to ' + showDuration(2 ** (i + 1)) + ': ' + showCount(counts[i])).join('\n');
	const context = canvas.getContext('2d');
	context.scale(ratio, ratio);
	context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--accent');
	const wide = Math.min(120 / (last - first + 1), 14);
	for (const i of used) {
		const high = Math.max(1, 21 * counts[i] / most);
		context.fillRect(120 - (last - i + 1) * wide, 22 - high, Math.max(wide - 1, 1), high);
	}
	return canvas;
}

// Makes a table. columns: [title, value of a row, text of a value, class]. A click on a title sorts the rows.
function makeTable(columns, rows, action, sortAt) {
	const body = make('tbody');
	let sorted = sortAt, isDown = true;
	const put = () => {
		const value = columns[sorted][1];
		rows.sort((a, b) => {
			const x = value(a), y = value(b);
			const order = typeof x === 'string' ? x.localeCompare(y) : (y === undefined ? -1 : y) - (x === undefined ? -1 : x);
			return isDown ? order : -order;
		});
		body.replaceChildren(...rows.slice(0, 1000).map(row => {
			const line = make('tr', columns.map(([, get, show, className]) => {
				const cell = make('td', undefined, className);
				const value = get(row);
				cell.append(show ? show(value, row) : value === undefined ? '' : String(value));
				return cell;
			}));
			line.tabIndex = 0;
			line.addEventListener('click', () => action(row));
			line.addEventListener('keydown', event => {
				if (event.key === 'Enter')
					action(row);
			});
			return line;
		}));
	};
	const head = make('tr', columns.map(([title, , , className], i) => {
		const cell = make('th', title, className);
		cell.addEventListener('click', () => {
			isDown = sorted === i ? !isDown : true;
			sorted = i;
			put();
		});
		return cell;
	}));
	put();
	return make('table', [make('thead', head), body]);
}

const duration = value => value === undefined ? '' : showDuration(value);

function classColumns(isPair) {
	const columns = [
		['Name', c => c.name, (v, c) => make('span', [swatch(c.number), v]), 'name'],
		['Count', c => c.count, showCount],
		['p50', c => c.p50, duration], ['p99', c => c.p99, duration], ['Max', c => c.max, duration],
		[isPair ? 'Distribution of durations' : 'Distribution of times in between', c => c.max,
			(v, c) => v === undefined ? '' : drawHistogram(c.histogram)],
	];
	if (isPair)
		columns.splice(2, 0, ['Total', c => c.total, duration]);
	if (isPair && meta.classes.some(c => c.before || c.behind))
		columns.push(['Cut', c => c.before + c.behind, (v, c) => {
			const span = make('span', showCount(v));
			span.title = c.before + ' without a begin, ' + c.behind + ' without an end among the selected events; they do not count among the durations';
			return span;
		}]);
	if (isPair && meta.classes.some(c => c.no_begin || c.no_end || c.cut))
		columns.push(['Unmatched', c => c.no_begin + c.no_end + c.cut, (v, c) => {
			const span = make('span', v ? showCount(v) : '');
			span.title = c.no_begin + ' without a begin, ' + c.no_end + ' without an end, ' + c.cut + ' cut by losses, a restart or time that is not selected';
			return span;
		}]);
	return columns;
}

function putClasses(isPair) {
	const rows = meta.classes.map((c, number) => Object.assign({number}, c)).filter(c => isPair ? c.kind : !c.kind);
	return [makeTable(classColumns(isPair), rows, c => goToWorst(c.number), isPair ? 2 : 1),
		make('p', isPair ? 'A click goes to the longest one.'
			: 'Times are those since the previous event of the same type. A click goes to the longest one.', 'faint')];
}

function putThreads() {
	const hasRuns = model.lanes.some(l => l.runs.count);
	const columns = [
		['Thread', l => laneName(l), null, 'name'], ['Process', l => processName(l), null, 'name'],
		['Events', l => l.count, showCount], ['Longest gap', l => l.gap, duration],
	];
	if (hasRuns)
		columns.push(['On a processor', l => l.runs.sum[l.runs.count], v => v ? duration(v) + ' (' + (100 * v / model.span).toPrecision(3) + ' %)' : '']);
	return [makeTable(columns, model.lanes.slice(), lane => {
		if (lane.gap)
			lanes.show(lane.gap_at - lane.gap * 0.25, Math.max(lane.gap * 1.5, 1000));
		lanes.scrollTo(lane);
	}, 2), make('p', 'A click goes to the longest time in which the thread has no event.', 'faint')];
}

// ---- waits

const percent = (part, all) => all ? Math.round(100 * part / all) + ' %' : '';

const laneOfRow = row => model.lanes.find(l => l.pid === row.pid && l.tid === row.tid &&
	(row.log === undefined || meta.logs[l.log].path === row.log));

function subjectOf(row) {
	return row.variable || row.lock || row.path || row.peer || row.call || '';
}

const threadOf = t => 'thread ' + t.tid + (t.thread ? ' ' + t.thread : '');

// The table `key` of the waits, below its title; nothing if it is empty. A click on a row calls the action.
function waitTable(key, title, columns, action, sortAt) {
	const rows = meta.waits[key], all = meta.waits.rows[key];
	if (!rows.length)
		return [];
	return [make('h2', title), makeTable(columns, rows.slice(), action, sortAt)]
		.concat(all > rows.length ? make('p', 'and ' + showCount(all - rows.length) + ' more', 'faint') : []);
}

// Searches for the waits of a row, by the field of their events that has its lock, path, peer or call.
function searchFor(row) {
	const field = ['lock', 'path', 'peer', 'call'].find(key => key in row);
	element('query').value = `wait. ${field}="${row[field]}"` + (row.lock ? ' pid=' + row.pid : '');
	search(element('query').value);
	goToMatch(1);
}

function putWaits() {
	const w = meta.waits;
	const goTo = row => {
		const lane = laneOfRow(row);
		if (lane)
			lanes.scrollTo(lane);
	};
	const share = (name, get) => [name, get, (v, t) => v === undefined ? 'unknown' : duration(v) + ' ' + percent(v, t.seen_ns)];
	const measures = [['Waits', r => r.count, showCount], ['Open', r => r.open, v => v ? showCount(v) : ''],
		['Total', r => r.total_ns, duration], ['p50', r => r.p50_ns, duration], ['p99', r => r.p99_ns, duration], ['Max', r => r.max_ns, duration]];
	const shares = (list, name, all) => list.slice(0, 3).map(s => name(s) + ' (' + percent(s.count, all) + ')').join(', ');
	const bytes = [['Read', r => r.read_bytes, showCount], ['Written', r => r.written_bytes, showCount]];
	const named = title => [title, subjectOf, null, 'name'];
	const process = ['Process', row => row.pid + (row.process ? ' ' + row.process : ''), null, 'name'];
	const kinds = w.kinds.filter(k => k.count).map(k => k.kind);
	return [].concat(
		waitTable('still_waiting', 'Still waiting at the end', [
			['Thread', threadOf, null, 'name'], process, ['For', o => o.duration_ns, duration], ['Call', o => o.call, null, 'name'],
			['What', subjectOf, null, 'name'], ['Held by', o => o.holder ? threadOf({tid: o.holder, thread: o.holder_name}) : '', null, 'name'],
			['Called by', o => o.place, null, 'name']], goTo, 2),
		waitTable('threads', 'Threads, and where their time went', [
			['Thread', threadOf, null, 'name'], process,
			['Seen', t => t.seen_ns, duration], share('Processor', t => t.processor_ns), share('Runnable', t => t.runnable_ns),
			share('Waiting', t => t.waiting_ns)]
			.concat(kinds.map(kind => share(kind, t => t.by_kind[kind])), w.has_switches ? [share('Not known', t => t.not_known_ns)] : [],
				[['Longest', t => t.longest && t.longest.duration_ns, (v, t) => v === undefined ? '' : duration(v) + ' ' + subjectOf(t.longest)]]), goTo, 5),
		waitTable('locks', 'Locks', [named('Lock'), process, ...measures,
			['Held by', r => shares(r.holders, threadOf, r.count), null, 'name'],
			['Called by', r => shares(r.places, s => s.place, r.count), null, 'name']], searchFor, 4),
		waitTable('files', 'Files', [named('File'), ...measures, ...bytes], searchFor, 3),
		waitTable('peers', 'Peers', [named('Peer'), ...measures, ...bytes], searchFor, 3),
		waitTable('sleeps', 'Sleeps', [named('Call'), ...measures], searchFor, 3),
		waitTable('children', 'Children', [named('Call'), ...measures], searchFor, 3),
		make('p', 'A click on a thread goes to it, one on another row searches for its waits.', 'faint'));
}

// ---- flame graph of the samples in the part of the time that is shown

const sampleClass = meta.classes.findIndex(c => c.kind === 0 && c.name === 'os.sample');

function countStacks(from, to) {
	const root = {name: 'all', count: 0, children: new Map()};
	const column = meta.classes[sampleClass].columns.find(c => c.kind === 'z');
	if (!column)
		return root;
	const values = model.values(column, sampleClass);
	for (const lane of model.lanes) {
		const track = lane.events;
		for (let i = lowerBound(track.begin, from); i < track.count && track.begin[i] <= to; i++) {
			if (track.class[i] !== sampleClass || values[track.row[i]] === undefined)
				continue;
			let node = root;
			node.count++;
			const frames = model.stackOf(values[track.row[i]]);
			for (let k = frames.length - 1; k >= 0; k--) {
				let child = node.children.get(frames[k]);
				if (!child)
					node.children.set(frames[k], child = {name: frames[k], count: 0, children: new Map()});
				child.count++;
				node = child;
			}
		}
	}
	return root;
}

function putFlame(top) {
	const root = top || countStacks(lanes.view.from, lanes.view.from + lanes.view.span);
	const box = make('div', undefined, 'flame');
	let deepest = 0;
	const put = (node, depth, left, share) => {
		if (share < 0.002)
			return;
		deepest = Math.max(deepest, depth);
		const bar = make('div', node.name);
		bar.title = node.name + ': ' + showCount(node.count) + ' samples, ' + (100 * node.count / root.count).toFixed(1) + ' %';
		bar.style.left = left * 100 + '%';
		bar.style.width = share * 100 + '%';
		bar.style.top = depth * 20 + 'px';
		bar.style.background = css(colourOf(node.name, false));
		bar.addEventListener('click', () => element('table').replaceChildren(...putFlame(node === root ? null : node)));
		box.append(bar);
		for (const child of [...node.children.values()].sort((a, b) => b.count - a.count)) {
			put(child, depth + 1, left, share * child.count / node.count);
			left += share * child.count / node.count;
		}
	};
	if (!root.count)
		return [make('p', 'No samples in the time that is shown.', 'faint')];
	put(root, 0, 0, 1);
	box.style.height = (deepest + 1) * 20 + 'px';
	return [make('p', showCount(root.count) + (top ? ' samples of ' + root.name + '; a click on the top bar shows all.'
		: ' samples in the time that is shown above. A click shows a part.'), 'faint'), box];
}

// ---- search

const operators = {
	'<': (a, b) => a < b, '>': (a, b) => a > b, '<=': (a, b) => a <= b, '>=': (a, b) => a >= b,
};

// Units of time. A unit is a factor times a power of ten of nanoseconds; the second number is the exponent.
const timeUnits = {ns: [1, 0], us: [1, 3], 'µs': [1, 3], ms: [1, 6], s: [1, 9], m: [60, 9], min: [60, 9],
	h: [3600, 9], d: [86400, 9], w: [604800, 9]};

// Splits a query into words. A word becomes {field, operator, text, amount, unit}, or {text} if it is to be
// found in names and texts. The amount has the digits of a number.
function readQuery(text) {
	const words = text.match(/(?:[^\s"]|"[^"]*")+/g) || [];
	return words.map(word => {
		const parts = /^([^<>=!~"]+)(!=|<=|>=|=|<|>|~)(.*)$/.exec(word);
		const bare = t => t.replace(/"/g, '').toLowerCase();
		if (!parts)
			return {text: bare(word)};
		const number = /^(-?[\d.]+(?:e[-+]?\d+)?|0x[\da-f]+) ?(ns|us|µs|ms|s|m|min|h|d|w)?$/.exec(bare(parts[3])) || [];
		return {field: bare(parts[1]).replace(/^((begin|end)\.)?data\./, '$1'), operator: parts[2], text: bare(parts[3]),
			amount: number[1], unit: number[2]};
	});
}

// Returns the number of a word, converted to a unit. Returns NaN if the word is not a number, or if it is a
// time and the unit is not one of time.
function numberIn(word, unit) {
	if (word.amount === undefined || !word.unit)
		return Number(word.amount);
	const [factor, power] = timeUnits[word.unit];
	const [by, less] = timeUnits[unit] || [NaN];
	const [digits, exponent = 0] = word.amount.split('e');
	return Number(digits + 'e' + (Number(exponent) + power - (less || 0))) * factor / by;
}

// Whether a value meets a word. The value has texts, as it is shown, and perhaps a number. That number is
// compared with `wanted`, which is the number of the word in the unit of the value.
function holds(word, texts, number, wanted = NaN) {
	const isOne = test => texts.some(text => test(text.toLowerCase()));
	switch (word.operator) {
	case '~':
		return isOne(text => text.includes(word.text));
	case '=': case '!=':
		// This is == and not ===, because one of the numbers may be a BigInt.
		return (number == wanted || isOne(text => text === word.text)) === (word.operator === '=');
	}
	return number === undefined ? operators[word.operator](texts[0].toLowerCase(), word.text)
		: operators[word.operator](number, wanted);
}

// Returns the value at a path such as a.b[2] in JSON; undefined if there is none. The path is in lower case.
function memberOf(json, path) {
	let value;
	try {
		value = JSON.parse(json);
	} catch (error) {
		return undefined;
	}
	for (const part of path.match(/[^.[\]]+/g) || []) {
		const key = value && typeof value === 'object' && Object.keys(value).find(k => k.toLowerCase() === part);
		value = typeof key === 'string' ? value[key] : undefined;
	}
	return value;
}

// Whether the records of a class match a word: true for all of them, false for none, or a function that
// decides for one record.
function asks(word, c, number) {
	if (!word.operator) {
		if (c.name.toLowerCase().includes(word.text))
			return true;
		const texts = c.columns.filter(column => 'saej'.includes(column.kind)).map(column => [column, model.values(column, number)]);
		return texts.length ? (lane, track, i) => texts.some(([column, values]) =>
			model.shown(column, values[track.row[i]]).toLowerCase().includes(word.text)) : false;
	}
	switch (word.field) {
	case 'event': case 'name': case 'pair':
		return holds(word, [c.name]);
	case 'took': case 'duration':
		return c.kind ? (lane, track, i) => holds(word, [showDuration(track.duration[i])], track.duration[i], numberIn(word, 'ns')) : false;
	case 'pid': return lane => holds(word, [String(lane.pid)], lane.pid, numberIn(word));
	case 'tid': return lane => holds(word, [String(lane.tid)], lane.tid, numberIn(word));
	case 'thread': return lane => holds(word, [lane.name || '']);
	case 'process': return lane => holds(word, [lane.process || '']);
	}
	const tests = c.columns.map(column => asksColumn(word, column, number)).filter(Boolean);
	return tests.length ? (lane, track, i) => tests.some(test => test(track.row[i])) : false;
}

// Returns a function that decides whether a row of a column meets a word; null if the column does not have
// the field of the word.
function asksColumn(word, column, number) {
	const name = column.name.toLowerCase();
	const field = word.field.replace(column.end ? /^end\./ : /^begin\./, '');
	const path = field.startsWith(name) ? field.slice(name.length) : null;
	if (path === null || (path && (column.kind !== 'j' || (name && !'.['.includes(path[0])))))
		return null;
	const values = model.values(column, number);
	// The wanted number is rounded to an f32 if the column has f32 values, because 0.1 as an f32 differs from
	// 0.1 as an f64.
	const wanted = (column.kind === 'g' ? Math.fround : Number)(numberIn(word, column.unit));
	return row => {
		const value = values[row];
		if (value === undefined)
			return false;
		const shown = model.shown(column, value);
		if (path) {
			const member = memberOf(shown, path);
			return member !== undefined && holds(word, [typeof member === 'string' ? member : JSON.stringify(member)],
				'number boolean'.includes(typeof member) ? Number(member) : undefined, wanted);
		}
		return holds(word, column.kind === 'e' ? [shown.replace(/ \(.*/, ''), shown] : [shown],
			'iuxbfge'.includes(column.kind) ? value : undefined, wanted);
	};
}

function search(text) {
	const words = readQuery(text);
	results = [];
	resultAt = -1;
	if (!words.length) {
		element('found').textContent = '';
		lanes.mark(null);
		return results;
	}
	const tests = meta.classes.map((c, number) => {
		if (!c.kept)
			return null;
		const asked = words.map(word => asks(word, c, number));
		return asked.includes(false) ? null : asked.filter(a => a !== true);
	});
	const marks = new Map();
	for (const lane of model.lanes) {
		const found = [];
		for (const track of [lane.events, lane.runs].concat(lane.rows))
			for (let i = 0; i < track.count; i++) {
				const test = tests[track.class[i]];
				if (!test || !test.every(t => t(lane, track, i)))
					continue;
				found.push(track.begin[i]);
				results.push({lane, track, i, begin: track.begin[i]});
			}
		if (found.length)
			marks.set(lane.number, Float64Array.from(found).sort());
	}
	results.sort((a, b) => a.begin - b.begin);
	lanes.mark(marks);
	element('found').textContent = showCount(results.length) + (results.length === 1 ? ' match' : ' matches');
	return results;
}

function goToMatch(by) {
	if (!results.length)
		return;
	resultAt = resultAt < 0 ? Math.max(by > 0 ? results.findIndex(r => r.begin >= lanes.view.from) : results.length - 1, 0)
		: (resultAt + by + results.length) % results.length;
	const {lane, track, i} = results[resultAt];
	const item = lanes.itemOf(lane, track, i);
	select(item);
	if (item.begin < lanes.view.from || item.begin + item.duration > lanes.view.from + lanes.view.span)
		lanes.show(item.begin + item.duration / 2 - Math.max(lanes.view.span, item.duration * 2) / 2, Math.max(lanes.view.span, item.duration * 2));
	lanes.scrollTo(lane);
	element('found').textContent = showCount(resultAt + 1) + ' of ' + showCount(results.length);
}

// ---- tabs and theme

const tabs = {
	open(name) {
		tabs.name = name;
		whenMoved = null;
		for (const tab of element('tabs').children)
			tab.setAttribute('aria-selected', String(tab.textContent === name));
		element('table').replaceChildren(...tabs.list[name]());
		if (name === 'Flame graph') {
			let timer = 0;
			whenMoved = () => {
				clearTimeout(timer);
				timer = setTimeout(() => tabs.name === name && element('table').replaceChildren(...putFlame()), 150);
			};
		}
	},
	list: {},
};

function putTabs() {
	if (meta.classes.some(c => c.kind))
		tabs.list['Pairs'] = () => putClasses(true);
	tabs.list['Event types'] = () => putClasses(false);
	tabs.list['Threads'] = putThreads;
	if (meta.waits && meta.waits.has_any)
		tabs.list['Waits'] = putWaits;
	if (sampleClass >= 0)
		tabs.list['Flame graph'] = () => putFlame();
	for (const name of Object.keys(tabs.list)) {
		const tab = button(name, () => tabs.open(name));
		tab.setAttribute('role', 'tab');
		element('tabs').append(tab);
	}
	tabs.open(Object.keys(tabs.list)[0]);
}

function setTheme(isDark) {
	document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
	element('theme').textContent = isDark ? 'Light' : 'Dark';
	lanes.setTheme(isDark);
	if (tabs.name)
		tabs.open(tabs.name);
	if (current)
		select(current);
}

const prefersDark = matchMedia('(prefers-color-scheme: dark)');
setTheme(prefersDark.matches);
prefersDark.addEventListener('change', event => setTheme(event.matches));
element('theme').addEventListener('click', () => setTheme(document.documentElement.dataset.theme !== 'dark'));
element('print').addEventListener('click', () => window.print());
let wasDark = false;
window.addEventListener('beforeprint', () => {
	wasDark = document.documentElement.dataset.theme === 'dark';
	setTheme(false);
	lanes.drawNow();
});
window.addEventListener('afterprint', () => setTheme(wasDark));
element('all').addEventListener('click', () => lanes.showAll());
element('in').addEventListener('click', () => lanes.zoom(0.5));
element('out').addEventListener('click', () => lanes.zoom(2));
element('next').addEventListener('click', () => goToMatch(1));
element('previous').addEventListener('click', () => goToMatch(-1));
let searchTimer = 0;
element('query').addEventListener('input', () => {
	clearTimeout(searchTimer);
	searchTimer = setTimeout(() => search(element('query').value), 200);
});
element('query').addEventListener('keydown', event => {
	if (event.key !== 'Enter')
		return;
	clearTimeout(searchTimer);
	if (resultAt < 0)
		search(element('query').value);
	goToMatch(event.shiftKey ? -1 : 1);
});
document.addEventListener('keydown', event => {
	if (event.target instanceof HTMLInputElement) {
		if (event.key === 'Escape')
			event.target.blur();
		return;
	}
	const isInTable = event.target.closest && event.target.closest('#below');
	if (isInTable && (event.key.startsWith('Arrow') || event.key.startsWith('Page') || event.key === 'Home'))
		return;
	if (event.key === '/') {
		element('query').focus();
		event.preventDefault();
	} else if (event.key === 'n' || event.key === 'N') {
		goToMatch(event.key === 'n' ? 1 : -1);
	} else if (lanes.key(event)) {
		event.preventDefault();
	}
});

putSummary();
putTabs();
// These functions are for tests and for the console of the browser.
window.ptraceReport = {model, lanes, select, search, goToMatch, goToWorst, nearest, setTheme, tabs, current: () => current};
