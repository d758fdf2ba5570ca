// SPDX-License-Identifier: MIT
// The data of the report. Lanes have their events, pairs and times on a processor as arrays of numbers. The
// data of each class is decoded when it is first used. Times are nanoseconds since the first event.

function decodeBase64(text) {
	const values = new Uint8Array(128);
	const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
	for (let i = 0; i < 64; i++)
		values[digits.charCodeAt(i)] = i;
	const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
	const bytes = new Uint8Array(text.length / 4 * 3 - padding);
	let to = 0;
	for (let i = 0; i < text.length; i += 4) {
		const four = values[text.charCodeAt(i)] << 18 | values[text.charCodeAt(i + 1)] << 12 |
			values[text.charCodeAt(i + 2) & 127] << 6 | values[text.charCodeAt(i + 3) & 127];
		bytes[to++] = four >> 16;
		bytes[to++] = four >> 8 & 255;
		bytes[to++] = four & 255;
	}
	return bytes;
}

// Reads numbers in the forms that src/report/columns.h describes.
class Reader {
	constructor(bytes, at) {
		this.bytes = bytes;
		this.at = at;
	}
	number() {
		let byte = this.bytes[this.at++];
		if (byte < 128)
			return byte;
		let value = byte & 127, factor = 128;
		do {
			byte = this.bytes[this.at++];
			value += (byte & 127) * factor;
			factor *= 128;
		} while (byte > 127);
		return value;
	}
	big() {
		let byte, value = 0n, shift = 0n;
		do {
			byte = this.bytes[this.at++];
			value |= BigInt(byte & 127) << shift;
			shift += 7n;
		} while (byte > 127);
		return value;
	}
	signed() {
		const value = this.number();
		return value % 2 ? -(value + 1) / 2 : value / 2;
	}
	bigSigned() {
		const value = this.big();
		return value & 1n ? -(value + 1n) / 2n : value / 2n;
	}
}

// Returns the index of the first number that is not less than the value.
function lowerBound(numbers, value, low = 0, high = numbers.length) {
	while (low < high) {
		const middle = low + high >> 1;
		if (numbers[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

function makeModel(element) {
	const meta = JSON.parse(element('meta').textContent);
	const reader = new Reader(decodeBase64(element('records').textContent), 0);
	const ordinals = new Uint32Array(meta.classes.length);
	const runsClass = meta.classes.findIndex(c => c.kind === 2);

	// Reads a row of a lane: the starts, durations and classes of its records, their rows in the columns of the
	// class, and prefix sums of the durations. So the busy time of any part of the time is the difference of two
	// sums.
	function readTrack(kind) {
		const count = reader.number();
		const track = {
			kind, count, begin: new Float64Array(count),
			duration: kind ? new Float64Array(count) : null,
			class: new Uint32Array(count), row: new Uint32Array(count),
			sum: kind ? new Float64Array(count + 1) : null,
			fate: new Uint8Array(count),
		};
		let time = 0;
		for (let i = 0; i < count; i++) {
			time += reader.number();
			track.begin[i] = time;
			if (kind) {
				const duration = reader.number();
				track.duration[i] = duration;
				track.sum[i + 1] = track.sum[i] + duration;
			}
			let number = runsClass;
			if (kind !== 1) {
				const both = reader.number();
				number = both >>> 2;
				track.fate[i] = both & 3;
			}
			track.class[i] = number;
			track.row[i] = ordinals[number]++;
		}
		return track;
	}

	const lanes = meta.lanes.map((lane, number) => {
		const events = readTrack(0);
		const runs = readTrack(1);
		const rows = [];
		for (let left = reader.number(); left; left--)
			rows.push(readTrack(2));
		const dropped = [];
		let at = 0;
		for (let left = reader.number(); left; left--) {
			at += reader.number();
			dropped.push({at, count: reader.number()});
		}
		return Object.assign({number, events, runs, rows, dropped}, lane);
	});

	// ---- data, decoded on first use
	let data = null, texts = null, stacks = null;
	const utf8 = new TextDecoder();

	function load() {
		if (data)
			return;
		data = decodeBase64(element('data').textContent);
		const r = new Reader(data, meta.texts.at);
		texts = [];
		for (let i = 0; i < meta.texts.count; i++) {
			const size = r.number();
			texts.push(utf8.decode(data.subarray(r.at, r.at + size)));
			r.at += size;
		}
		const s = new Reader(data, meta.stacks.at);
		stacks = [];
		for (let i = 0; i < meta.stacks.count; i++) {
			const end = s.number() + s.at;
			const frames = [];
			while (s.at < end)
				frames.push(texts[s.number()]);
			stacks.push(frames);
		}
	}

	function readColumn(column, rows) {
		const r = new Reader(data, column.at);
		const values = new Array(rows);
		const isFloat = column.form === 'f';
		let runs = null, left = rows, isMissing = false;
		if (column.gaps) {
			const size = r.number();
			runs = new Reader(data, r.at);
			r.at += size;
			left = runs.number();
		}
		const view = new DataView(data.buffer, data.byteOffset);
		let before = column.wide ? 0n : 0;
		for (let row = 0; row < rows; row++) {
			while (runs && !left) {
				left = runs.number();
				isMissing = !isMissing;
			}
			left--;
			if (isMissing)
				continue;
			if (isFloat) {
				values[row] = view.getFloat64(r.at, true);
				r.at += 8;
				continue;
			}
			if (column.form === 'd') {
				if (column.wide) {
					before += r.bigSigned();
					before = column.signed ? BigInt.asIntN(64, before) : BigInt.asUintN(64, before);
				} else {
					before += r.signed();
				}
			} else if (column.form === 'v' || values.first === undefined) {
				before = column.wide ? column.signed ? r.bigSigned() : r.big()
					: column.signed ? r.signed() : r.number();
				values.first = before;
			}
			values[row] = before;
		}
		return values;
	}

	// Returns the values of a column, by row. `number` is that of the class.
	function values(column, number) {
		if (!column.values) {
			load();
			column.values = readColumn(column, meta.classes[number].kept);
		}
		return column.values;
	}

	// Returns a value as text.
	function shown(column, value) {
		if (value === undefined)
			return '';
		switch (column.kind) {
		case 'x':
			return '0x' + value.toString(16);
		case 'b':
			return value ? 'true' : 'false';
		case 'e': {
			const at = column.members.findIndex((m, i) => i % 2 === 0 && m === String(value));
			return at < 0 ? String(value) : column.members[at + 1] + ' (' + value + ')';
		}
		case 'g':
			return String(Number(value.toPrecision(7)));
		case 's': case 'a': case 'j':
			return texts[value];
		case 'l':
			return laneName(lanes[value]);
		case 't':
			return 'yes';
		case 'z':
			return stacks[value].join('\n');
		}
		if (column.unit === 'ns')
			return showDuration(Number(value));
		return String(value) + (column.unit ? ' ' + column.unit : '');
	}

	// Returns the fields of an event or a pair: [{name, column, value, text, isEnd}].
	function fieldsOf(number, row) {
		load();
		return meta.classes[number].columns.map(column => {
			const value = values(column, number)[row];
			return {name: column.name, column, value, text: shown(column, value), isEnd: column.end};
		}).filter(f => f.value !== undefined);
	}

	// ---- waits: wait.KIND.begin and wait.KIND.end, see posixtrace-waits(7)

	// The kind of the waits of each class; undefined if it has no waits. With --label-by, a label follows the name.
	const kinds = meta.classes.map(c => c.kind === 1 ? (/^wait\.(lock|io|net|sleep|child)(?:$|: )/.exec(c.name) || [])[1] : undefined);
	const laneOf = new Map(lanes.map(lane => [lane.log + ' ' + lane.pid + ' ' + lane.tid, lane]));
	const variables = new Map();
	for (const lock of meta.waits ? meta.waits.locks : [])
		if (lock.variable)
			variables.set(lock.pid + ' ' + lock.lock, lock.variable);

	function fieldOf(number, row, name) {
		const column = meta.classes[number].columns.find(c => c.name === name && !c.end);
		const value = column && values(column, number)[row];
		return value === undefined ? undefined : {value, text: shown(column, value)};
	}

	// Returns what a wait is for: {text, holder}; null if the record is no wait. The holder is the lane of the thread
	// that held the lock, or the number of the thread if it has no lane.
	function waitOf(lane, number, row) {
		if (!kinds[number])
			return null;
		const call = fieldOf(number, row, 'call'), about = fieldOf(number, row, kinds[number] === 'io' ? 'path' : 'peer');
		const lock = fieldOf(number, row, 'lock'), holder = fieldOf(number, row, 'holder');
		const name = lock ? variables.get(lane.pid + ' ' + lock.text) || lock.text : about && about.text;
		const tid = holder && Number(holder.value);
		return {
			text: [call ? call.text.replace(/ \(.*/, '') : '', name].filter(Boolean).join(' '),
			holder: tid > 0 ? laneOf.get(lane.log + ' ' + lane.pid + ' ' + tid) || tid : undefined,
		};
	}

	return {meta, lanes, values, shown, fieldsOf, kinds, waitOf, span: Math.max(meta.span, 1),
		stackOf: value => stacks[value]};
}

function laneName(lane) {
	if (lane.is_rest)
		return 'further threads';
	if (!lane.pid && !lane.tid)
		return 'trace system';
	return 'thread ' + lane.tid + (lane.name ? ' ' + lane.name : '');
}

function processName(lane) {
	if (lane.is_rest || (!lane.pid && !lane.tid))
		return '';
	return 'process ' + lane.pid + (lane.process ? ' ' + lane.process : '');
}

// ---- times for people

const units = [[1, 'ns'], [1e3, 'µs'], [1e6, 'ms'], [1e9, 's'], [6e10, 'min'], [3.6e12, 'h'], [8.64e13, 'd']];

function showDuration(ns) {
	const size = Math.abs(ns);
	let unit = units[0];
	for (const u of units)
		if (size >= u[0])
			unit = u;
	if (unit[0] === 1)
		return Math.round(ns) + ' ns';
	return String(Number((ns / unit[0]).toPrecision(4))) + ' ' + unit[1];
}

// Shows a time with all its digits: 1.234 567 890 s
function showOffset(ns) {
	const whole = BigInt(Math.round(ns));
	const sign = whole < 0n ? '-' : '';
	const amount = whole < 0n ? -whole : whole;
	const digits = String(amount % 1000000000n).padStart(9, '0');
	return sign + amount / 1000000000n + '.' + digits.replace(/(...)(?=.)/g, '$1 ') + ' s';
}

// Returns the time of day in the time zone of the first log's machine; in UTC if that zone is unknown.
function showTime(meta, ns) {
	const offset = meta.logs.length && meta.logs[0].utc_offset_s !== undefined ? meta.logs[0].utc_offset_s : 0;
	const time = BigInt(meta.begin_ns) + BigInt(Math.round(ns));
	const second = time / 1000000000n - (time % 1000000000n < 0n ? 1n : 0n);
	const digits = String(time - second * 1000000000n).padStart(9, '0');
	const date = new Date((Number(second) + offset) * 1000);
	const text = date.toISOString().slice(0, 19).replace('T', ' ');
	const minutes = Math.abs(Math.trunc(offset / 60));
	const zone = (offset < 0 ? '-' : '+') + String(Math.trunc(minutes / 60)).padStart(2, '0') + ':' +
		String(minutes % 60).padStart(2, '0');
	return text + '.' + digits + ' ' + zone;
}

function showCount(count) {
	return String(count).replace(/\B(?=(\d{3})+$)/g, ' ');
}
