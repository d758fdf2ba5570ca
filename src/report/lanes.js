// SPDX-License-Identifier: MIT
// The picture of the lanes (one for each thread), drawn into an array of pixels. Where many events or pairs
// share a pixel, a binary search skips all of them at once. So the time for a picture depends on the number
// of its pixels, not on the number of events.

const rowHeight = 15, eventHeight = 13, runHeight = 5, headHeight = 20, laneGap = 5;
const shortestSpan = 20;
const font = '11px system-ui, "Liberation Sans", "DejaVu Sans", sans-serif';

// The colour of a class depends only on its name, so that the class has the same colour in each report.
function colourOf(name, isDark) {
	let hash = 2166136261;
	for (let i = 0; i < name.length; i++)
		hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
	hash >>>= 0;
	const hue = hash % 360, saturation = 48 + (hash >>> 9) % 22;
	const lightness = (isDark ? 56 : 62) + (hash >>> 17) % 12;
	return hslToRgb(hue / 360, saturation / 100, lightness / 100);
}

// The colours of waits by kind, light and dark.
const waitColours = {lock: ['#e0787a', '#d9646a'], io: ['#d9a552', '#c99442'], net: ['#6fa8dc', '#5b93cc'],
	sleep: ['#b4bac4', '#8a93a1'], child: ['#b590d6', '#a07cc4']};

function hslToRgb(h, s, l) {
	const a = s * Math.min(l, 1 - l);
	const channel = n => {
		const k = (n + h * 12) % 12;
		return Math.round(255 * (l - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
	};
	return [channel(0), channel(8), channel(4)];
}

function css(rgb) {
	return 'rgb(' + rgb.join(',') + ')';
}

function pack(rgb) {
	return (255 << 24 | rgb[2] << 16 | rgb[1] << 8 | rgb[0]) >>> 0;
}

function mix(rgb, back, share) {
	return [0, 1, 2].map(i => Math.round(rgb[i] * share + back[i] * (1 - share)));
}

function makeLanes(model, canvas, overview, tip, events) {
	const context = canvas.getContext('2d', {alpha: false});
	const overviewContext = overview.getContext('2d', {alpha: false});
	const view = {from: 0, span: model.span, scroll: 0};
	const closed = new Set();
	let isDark = false, palette = null, rows = [], height = 0, gutter = 190, ratio = 1;
	let image = null, pixels = null, isDue = false, selected = null, matches = null;
	let overviewImage = null, frames = 0;

	// ---- the places of lanes

	const keyOf = lane => lane.is_rest ? 'rest' : lane.log + ' ' + lane.pid;

	function layOut() {
		rows = [];
		let y = 0, before = null;
		const order = model.lanes.slice().sort((a, b) =>
			(a.is_rest ? 1 : 0) - (b.is_rest ? 1 : 0) || a.log - b.log || a.pid - b.pid || a.tid - b.tid);
		for (const lane of order) {
			const key = keyOf(lane);
			if (key !== before && (lane.pid || lane.is_rest || model.meta.logs.length > 1)) {
				const log = model.meta.logs.length > 1 ? ' of ' + model.meta.logs[lane.log].name : '';
				rows.push({key, y, height: headHeight,
					text: ((processName(lane) || 'trace system') + log).trim()});
				y += headHeight;
			}
			before = key;
			if (closed.has(key))
				continue;
			const runs = lane.runs.count ? runHeight + 1 : 0;
			const events = lane.events.count || !lane.rows.length ? eventHeight : 0;
			const size = runs + lane.rows.length * rowHeight + events + (lane.dropped.length ? 4 : 0) + laneGap;
			rows.push({lane, key, y, height: Math.max(size, 18), runs, events});
			y += Math.max(size, 18);
		}
		height = y;
		// The canvas is no higher than the lanes need.
		canvas.parentElement.style.height = Math.max(140, Math.min(height + 40, window.innerHeight * 0.56)) + 'px';
	}

	function rowAt(y) {
		let low = 0, high = rows.length;
		while (low < high) {
			const middle = low + high >> 1;
			if (rows[middle].y + rows[middle].height <= y)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}

	const plotWidth = () => Math.max(canvas.clientWidth - gutter, 10);
	const timeAt = x => view.from + (x - gutter) / plotWidth() * view.span;
	const xOf = time => gutter + (time - view.from) / view.span * plotWidth();

	// ---- colours

	function makePalette() {
		const style = getComputedStyle(document.documentElement);
		const read = name => style.getPropertyValue(name).trim();
		const rgb = text => [1, 3, 5].map(i => parseInt(text.slice(i, i + 2), 16));
		const back = rgb(read('--back'));
		const colours = model.meta.classes.map((c, i) => model.kinds[i] ? rgb(waitColours[model.kinds[i]][isDark ? 1 : 0]) :
			c.kind === 2 ? rgb(isDark ? '#4fae7c' : '#4caf78') : colourOf(c.name, isDark));
		palette = {
			text: read('--text'), faint: read('--faint'), line: read('--line'), raised: read('--raised'),
			back: read('--back'), accent: read('--accent'), bad: read('--bad'),
			backPixel: pack(back), raisedPixel: pack(rgb(read('--raised'))),
			linePixel: pack(rgb(read('--line'))), dropped: pack(mix(rgb(read('--faint')), back, 0.6)),
			colours,
			// For each class, its shades from nearly the background to the full colour.
			shades: colours.map(c => [0.3, 0.45, 0.6, 0.8, 1].map(share => pack(mix(c, back, share)))),
		};
	}

	// ---- pixels

	let width = 0, depth = 0;

	function fill(x0, x1, y0, y1, colour) {
		if (x0 < plotLeft)
			x0 = plotLeft;
		if (x1 > width)
			x1 = width;
		if (y0 < axisDepth)
			y0 = axisDepth;
		if (y1 > depth)
			y1 = depth;
		if (x1 <= x0)
			return;
		if (x1 - x0 < 4) {
			for (let y = y0; y < y1; y++)
				for (let x = x0; x < x1; x++)
					pixels[y * width + x] = colour;
			return;
		}
		for (let y = y0; y < y1; y++)
			pixels.fill(colour, y * width + x0, y * width + x1);
	}

	let plotLeft = 0, axisDepth = 0, scale = 1;

	// Draws pairs or runs. Their texts, [x, y, width, class, row, lane, start], are drawn later, on top.
	function drawTrack(lane, track, y0, y1, texts) {
		const {begin, duration, sum} = track, count = track.count, end = view.from + view.span;
		const origin = plotLeft - view.from * scale;
		let i = lowerBound(begin, view.from);
		while (i > 0 && begin[i - 1] + duration[i - 1] > view.from)
			i--;
		while (i < count && begin[i] <= end) {
			const x = begin[i] * scale + origin, size = duration[i] * scale;
			const shades = palette.shades[track.class[i]];
			if (size >= 2.5) {
				const x0 = Math.round(x), x1 = Math.max(Math.round(x + size), x0 + 2);
				fill(x0, x1 - 1, y0, y1, shades[4]);
				fill(x1 - 1, x1, y0, y1, shades[2]);
				if (texts && size > 34 * ratio)
					texts.push([Math.max(x0, plotLeft), y0, Math.min(x1, width) - Math.max(x0, plotLeft), track.class[i],
						track.row[i], lane, x0]);
				i++;
				continue;
			}
			const pixel = Math.floor(x);
			const next = (pixel + 1 - origin) / scale;
			let j = i + 1;
			if (j < count && begin[j] < next)
				j = lowerBound(begin, next, j, count);
			const share = Math.min((sum[j] - sum[i]) * scale, 1);
			fill(pixel, pixel + 1, y0, y1, shades[share > 0.8 ? 4 : share > 0.5 ? 3 : share > 0.25 ? 2 : 1]);
			i = j;
		}
	}

	function drawEvents(track, y0, y1) {
		const {begin, count} = track, end = view.from + view.span;
		const origin = plotLeft - view.from * scale;
		let i = lowerBound(begin, view.from);
		while (i < count && begin[i] <= end) {
			const pixel = Math.floor(begin[i] * scale + origin);
			const next = (pixel + 1 - origin) / scale;
			let j = i + 1;
			if (j < count && begin[j] < next)
				j = lowerBound(begin, next, j, count);
			const shades = palette.shades[track.class[i]];
			const many = Math.min(Math.log2(j - i + 1) / 6, 1);
			const middle = y0 + Math.round((y1 - y0) * (1 - many) * 0.35);
			fill(pixel, pixel + Math.max(1, Math.round(ratio)), middle, y1, shades[4]);
			if (track.fate[i] && j === i + 1)
				fill(pixel - 2, pixel + 3, y0, y0 + 2, shades[3]);
			i = j;
		}
	}

	function drawDropped(lane, y0, y1) {
		const size = Math.pow(2, model.meta.shift);
		for (const d of lane.dropped) {
			const x = (d.at * size - view.from) * scale + plotLeft;
			const x1 = x + size * scale;
			if (x1 < plotLeft || x > width)
				continue;
			fill(Math.floor(x), Math.max(Math.ceil(x1), Math.floor(x) + 1), y0, y1, palette.dropped);
		}
	}

	// ---- the axis

	function stepOf(span, room) {
		const least = span / Math.max(room, 1);
		let step = Math.pow(10, Math.ceil(Math.log10(least)));
		if (step / 5 >= least)
			step /= 5;
		else if (step / 2 >= least)
			step /= 2;
		return Math.max(step, 1);
	}

	function drawAxis() {
		const step = stepOf(view.span, plotWidth() / 120);
		context.fillStyle = palette.raised;
		context.fillRect(0, 0, canvas.clientWidth, 22);
		context.fillStyle = palette.faint;
		context.textAlign = 'left';
		const digits = Math.max(0, Math.min(9, 9 - Math.floor(Math.log10(step))));
		for (let i = Math.ceil(view.from / step); i * step <= view.from + view.span; i++) {
			const time = i * step, x = xOf(time);
			context.fillRect(Math.round(x), 16, 1, 6);
			const seconds = time / 1e9;
			context.fillText(view.span < 1e6 && step < 1000
				? '+' + (time - Math.floor(view.from / 1000) * 1000) + ' ns' : seconds.toFixed(digits) + ' s', x + 4, 15);
		}
		context.fillStyle = palette.text;
		context.fillText(view.span < 1e6 && step < 1000
			? 'from ' + showOffset(Math.floor(view.from / 1000) * 1000) : showDuration(view.span) + ' shown', 8, 15);
	}

	// ---- the picture

	function draw() {
		isDue = false;
		frames++;
		ratio = window.devicePixelRatio || 1;
		gutter = canvas.clientWidth < 600 ? 96 : 190;
		width = Math.round(canvas.clientWidth * ratio);
		depth = Math.round(canvas.clientHeight * ratio);
		if (!width || !depth)
			return;
		if (canvas.width !== width || canvas.height !== depth || !image) {
			canvas.width = width;
			canvas.height = depth;
			image = context.createImageData(width, depth);
			pixels = new Uint32Array(image.data.buffer);
		}
		view.scroll = Math.max(0, Math.min(view.scroll, height - canvas.clientHeight + 30));
		plotLeft = Math.round(gutter * ratio);
		axisDepth = Math.round(22 * ratio);
		scale = plotWidth() * ratio / view.span;
		pixels.fill(palette.backPixel);
		const texts = [], labels = [];
		for (let i = rowAt(view.scroll); i < rows.length; i++) {
			const row = rows[i], top = row.y - view.scroll + 22;
			if (top > canvas.clientHeight)
				break;
			labels.push([row, top]);
			const at = y => Math.round((top + y) * ratio);
			if (!row.lane) {
				fill(plotLeft, width, at(0), at(headHeight - 1), palette.raisedPixel);
				continue;
			}
			fill(plotLeft, width, at(row.height - 1), at(row.height), palette.linePixel);
			let y = 2;
			if (row.runs) {
				drawTrack(row.lane, row.lane.runs, at(y), at(y + runHeight), null);
				y += row.runs;
			}
			for (const track of row.lane.rows) {
				drawTrack(row.lane, track, at(y), at(y + rowHeight - 1), texts);
				y += rowHeight;
			}
			if (row.lane.events.count)
				drawEvents(row.lane.events, at(y), at(y + eventHeight - 2));
			if (row.lane.dropped.length)
				drawDropped(row.lane, at(row.height - 5), at(row.height - 2));
		}
		context.setTransform(1, 0, 0, 1, 0, 0);
		context.putImageData(image, 0, 0);
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.font = font;
		context.textBaseline = 'alphabetic';
		drawTexts(texts);
		context.save();
		context.beginPath();
		context.rect(gutter, 22, plotWidth(), canvas.clientHeight);
		context.clip();
		drawLosses(labels);
		drawMarks(labels);
		drawHolders(texts);
		context.restore();
		drawLabels(labels);
		drawAxis();
		drawOverview();
	}

	function drawTexts(texts) {
		context.fillStyle = '#161b22';
		for (const [x, y, size, number, row, lane] of texts) {
			const wait = model.waitOf(lane, number, row);
			const name = wait ? wait.text : model.meta.classes[number].name;
			const room = Math.floor((size / ratio - 8) / 6.2);
			if (room < 3)
				continue;
			context.fillText(name.length > room ? name.slice(0, room - 1) + '…' : name, x / ratio + 4, y / ratio + 11);
		}
	}

	// Draws an arrow from the start of each wait for a lock, where there is room for its text, to the lane of the
	// thread that held the lock.
	function drawHolders(texts) {
		for (const [, y, , number, row, lane, start] of texts) {
			const wait = model.waitOf(lane, number, row);
			const to = wait && wait.holder && rows.find(r => r.lane === wait.holder);
			if (!to || to.lane === lane || start < plotLeft)
				continue;
			const isSelected = selected && selected.lane === lane && selected.class === number && selected.row === row;
			const x = start / ratio + 1, isDown = to.y - view.scroll + 22 > y / ratio;
			const from = y / ratio + (isDown ? rowHeight : 0), end = to.y - view.scroll + 22 + (isDown ? 2 : to.height - 6);
			const back = isDown ? -5 : 5;
			context.strokeStyle = context.fillStyle = isSelected ? palette.accent : palette.text;
			context.globalAlpha = isSelected ? 1 : 0.55;
			context.lineWidth = isSelected ? 2 : 1;
			context.beginPath();
			context.moveTo(x, from);
			context.lineTo(x, end + back);
			context.stroke();
			context.beginPath();
			context.moveTo(x, end);
			context.lineTo(x - 3, end + back);
			context.lineTo(x + 3, end + back);
			context.fill();
			context.globalAlpha = 1;
		}
	}

	function drawLosses(labels) {
		for (const loss of model.meta.losses) {
			const x = xOf(loss.from), x1 = xOf(loss.to);
			if (x1 < gutter || x > canvas.clientWidth)
				continue;
			for (const [row, top] of labels) {
				if (!row.lane || row.lane.log !== loss.log)
					continue;
				context.fillStyle = isDark ? 'rgba(255,90,95,.34)' : 'rgba(214,40,48,.26)';
				context.fillRect(x, top, Math.max(x1 - x, 2), row.height);
			}
		}
	}

	function drawMarks(labels) {
		for (const [row, top] of labels) {
			if (!row.lane)
				continue;
			const found = matches && matches.get(row.lane.number);
			if (found) {
				context.fillStyle = palette.accent;
				const end = view.from + view.span;
				let last = -1;
				for (let i = lowerBound(found, view.from); i < found.length && found[i] <= end;) {
					const x = Math.floor(xOf(found[i]));
					if (x !== last)
						context.fillRect(x - 1, top, 3, 3);
					last = x;
					i = lowerBound(found, timeAt(x + 1), i + 1);
				}
			}
			if (selected && selected.lane === row.lane) {
				const box = boxOf(row, selected);
				const x = xOf(selected.begin), x1 = xOf(selected.begin + selected.duration);
				context.strokeStyle = palette.text;
				context.lineWidth = 2;
				context.strokeRect(Math.max(x, gutter - 4) - 1, top + box.y - 1,
					Math.max(Math.min(x1, canvas.clientWidth + 8) - Math.max(x, gutter - 4), 2) + 2, box.height + 1);
			}
		}
	}

	function boxOf(row, item) {
		let y = 2;
		if (item.track.kind === 1)
			return {y, height: runHeight};
		y += row.runs;
		if (item.track.kind === 2)
			return {y: y + row.lane.rows.indexOf(item.track) * rowHeight, height: rowHeight - 1};
		return {y: y + row.lane.rows.length * rowHeight, height: eventHeight - 2};
	}

	function clip(text, room) {
		const most = Math.floor(room / 6);
		return text.length > most ? text.slice(0, Math.max(most - 1, 1)) + '…' : text;
	}

	function drawLabels(labels) {
		context.fillStyle = palette.back;
		context.fillRect(0, 22, gutter - 1, canvas.clientHeight);
		context.fillStyle = palette.line;
		context.fillRect(gutter - 1, 0, 1, canvas.clientHeight);
		for (const [row, top] of labels) {
			if (row.lane) {
				const name = laneName(row.lane);
				context.fillStyle = palette.text;
				context.fillText(clip(gutter < 120 ? name.replace('thread ', '') : name, gutter - 26), 20, top + 14);
				continue;
			}
			context.fillStyle = palette.raised;
			context.fillRect(0, top, gutter - 1, headHeight - 1);
			context.fillStyle = palette.text;
			context.font = '600 ' + font;
			context.fillText((closed.has(row.key) ? '▸ ' : '▾ ') + clip(row.text, canvas.clientWidth - 30), 6, top + 14);
			context.font = font;
		}
	}

	// ---- the overview: the number of events in each pixel of the whole time

	function countAll(places) {
		const counts = new Float64Array(places);
		for (const lane of model.lanes) {
			for (const track of [lane.events].concat(lane.rows)) {
				let i = 0;
				while (i < track.count) {
					const place = Math.min(Math.floor(track.begin[i] / model.span * places), places - 1);
					const next = place + 1 === places ? track.count
						: Math.max(lowerBound(track.begin, (place + 1) / places * model.span, i + 1), i + 1);
					counts[place] += (next - i) * (track.kind ? 2 : 1);
					i = next;
				}
			}
			for (const d of lane.dropped) {
				const first = d.at * Math.pow(2, model.meta.shift) / model.span * places;
				const size = Math.max(1, Math.pow(2, model.meta.shift) / model.span * places);
				for (let k = Math.floor(first); k < first + size && k < places; k++)
					counts[k] += d.count / size;
			}
		}
		return counts;
	}

	function makeOverview(size) {
		const off = document.createElement('canvas');
		off.width = size * ratio;
		off.height = 44 * ratio;
		const c = off.getContext('2d');
		c.scale(ratio, ratio);
		c.fillStyle = palette.raised;
		c.fillRect(0, 0, size, 44);
		const counts = countAll(Math.floor(size));
		const most = counts.reduce((a, b) => Math.max(a, b), 1);
		c.fillStyle = palette.accent;
		c.globalAlpha = 0.6;
		counts.forEach((count, x) => {
			if (count)
				c.fillRect(x, 44 - Math.max(2, 38 * Math.log1p(count) / Math.log1p(most)), 1, 44);
		});
		c.globalAlpha = 0.5;
		c.fillStyle = palette.bad;
		for (const loss of model.meta.losses)
			c.fillRect(loss.from / model.span * size, 0, Math.max((loss.to - loss.from) / model.span * size, 2), 44);
		return off;
	}

	function drawOverview() {
		const size = overview.clientWidth;
		if (overview.width !== Math.round(size * ratio)) {
			overview.width = Math.round(size * ratio);
			overview.height = Math.round(44 * ratio);
			overviewImage = null;
		}
		if (!size)
			return;
		if (!overviewImage)
			overviewImage = makeOverview(size);
		overviewContext.setTransform(1, 0, 0, 1, 0, 0);
		overviewContext.drawImage(overviewImage, 0, 0);
		overviewContext.setTransform(ratio, 0, 0, ratio, 0, 0);
		const x = view.from / model.span * size, w = Math.max(view.span / model.span * size, 2);
		overviewContext.globalAlpha = 0.55;
		overviewContext.fillStyle = palette.back;
		overviewContext.fillRect(0, 0, x, 44);
		overviewContext.fillRect(x + w, 0, size, 44);
		overviewContext.globalAlpha = 1;
		overviewContext.strokeStyle = palette.accent;
		overviewContext.lineWidth = 2;
		overviewContext.strokeRect(x + 1, 1, Math.max(w - 2, 1), 42);
	}

	function redraw() {
		if (!isDue) {
			isDue = true;
			requestAnimationFrame(draw);
		}
	}

	// ---- moving

	function show(from, span) {
		const most = model.span * 1.04;
		view.span = Math.max(shortestSpan, Math.min(span, most));
		view.from = Math.max(-model.span * 0.02, Math.min(from, model.span * 1.02 - view.span));
		redraw();
		events.moved();
	}

	function zoom(factor, time = view.from + view.span / 2) {
		const span = Math.max(shortestSpan, Math.min(view.span * factor, model.span * 1.04));
		show(time - (time - view.from) * span / view.span, span);
	}

	function scrollTo(lane) {
		if (closed.delete(keyOf(lane)))
			layOut();
		const row = rows.find(r => r.lane === lane);
		if (row && (row.y < view.scroll || row.y + row.height > view.scroll + canvas.clientHeight - 40))
			view.scroll = Math.max(0, row.y - 40);
		redraw();
	}

	// ---- the record at a place

	function itemOf(lane, track, i) {
		return {lane, track, index: i, begin: track.begin[i], duration: track.kind ? track.duration[i] : 0,
			class: track.class[i], row: track.row[i], fate: track.fate[i]};
	}

	// Returns the record that is nearest to the time, within some pixels. Among pairs, longer ones are
	// preferred.
	function findIn(lane, track, time) {
		const near = view.span / plotWidth() * 4;
		let best = -1, bestValue = -Infinity;
		let i = lowerBound(track.begin, time + near) - 1;
		for (let tries = 0; i >= 0 && tries < 4000; i--, tries++) {
			const end = track.begin[i] + (track.kind ? track.duration[i] : 0);
			if (end >= time - near) {
				const distance = time < track.begin[i] ? track.begin[i] - time : time > end ? time - end : 0;
				const value = (track.kind ? track.duration[i] * 1e-3 : 0) - distance;
				if (value > bestValue) {
					bestValue = value;
					best = i;
				}
			} else if (!track.kind || track.begin[i] < time - near) {
				break;
			}
		}
		return best < 0 ? null : itemOf(lane, track, best);
	}

	function itemAt(x, y) {
		if (x < gutter || y < 22)
			return null;
		const row = rows[rowAt(y - 22 + view.scroll)];
		if (!row || !row.lane)
			return null;
		const time = timeAt(x);
		let inside = y - 22 + view.scroll - row.y - 2;
		if (row.runs && inside < row.runs)
			return findIn(row.lane, row.lane.runs, time);
		inside -= row.runs;
		const track = row.lane.rows[Math.floor(inside / rowHeight)];
		return findIn(row.lane, inside >= 0 && track ? track : row.lane.events, time);
	}

	// Returns the record of the lane at the time; null if there is none.
	function recordAt(lane, time) {
		return [...lane.rows].reverse().concat(lane.events, lane.runs).map(track => findIn(lane, track, time)).find(Boolean) || null;
	}

	function lossAt(x, y) {
		const row = rows[rowAt(y - 22 + view.scroll)];
		if (x < gutter || y < 22 || !row || !row.lane)
			return null;
		const near = view.span / plotWidth() * 2, time = timeAt(x);
		return model.meta.losses.find(l => l.log === row.lane.log && time >= l.from - near && time <= l.to + near);
	}

	// ---- mouse, fingers, keys

	const pointers = new Map();
	let drag = null;

	function place(event) {
		const box = canvas.getBoundingClientRect();
		return [event.clientX - box.left, event.clientY - box.top];
	}

	canvas.addEventListener('wheel', event => {
		event.preventDefault();
		const [x] = place(event);
		const amount = event.deltaY * (event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 200 : 1);
		if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
			show(view.from + (event.deltaX || amount) / plotWidth() * view.span, view.span);
		else if (x < gutter)
			scrollBy(amount);
		else
			zoom(Math.exp(Math.max(-1, Math.min(amount / 300, 1))), timeAt(x));
	}, {passive: false});

	function scrollBy(amount) {
		view.scroll += amount;
		redraw();
	}

	canvas.addEventListener('pointerdown', event => {
		canvas.setPointerCapture(event.pointerId);
		const [x, y] = place(event);
		pointers.set(event.pointerId, [x, y]);
		drag = {x, y, from: view.from, scroll: view.scroll, hasMoved: false, span: view.span,
			distance: spread(), time: timeAt(x)};
	});

	function spread() {
		const all = [...pointers.values()];
		return all.length < 2 ? 0 : Math.abs(all[0][0] - all[1][0]);
	}

	canvas.addEventListener('pointermove', event => {
		const [x, y] = place(event);
		if (!pointers.has(event.pointerId) || !drag) {
			hover(x, y);
			return;
		}
		pointers.set(event.pointerId, [x, y]);
		if (pointers.size > 1) {
			const distance = spread();
			if (drag.distance > 10 && distance > 10)
				zoom(drag.distance / distance, drag.time);
			drag.distance = distance;
			drag.hasMoved = true;
			return;
		}
		if (Math.abs(x - drag.x) + Math.abs(y - drag.y) > 4)
			drag.hasMoved = true;
		if (!drag.hasMoved)
			return;
		tip.hidden = true;
		canvas.classList.add('dragging');
		view.scroll = drag.scroll - (y - drag.y);
		show(drag.from - (x - drag.x) / plotWidth() * view.span, view.span);
	});

	function endDrag(event) {
		const [x, y] = place(event);
		if (drag && !drag.hasMoved && event.type === 'pointerup')
			click(x, y);
		pointers.delete(event.pointerId);
		if (!pointers.size) {
			drag = null;
			canvas.classList.remove('dragging');
		}
	}
	canvas.addEventListener('pointerup', endDrag);
	canvas.addEventListener('pointercancel', endDrag);
	canvas.addEventListener('pointerleave', () => {
		tip.hidden = true;
	});

	function click(x, y) {
		const row = rows[rowAt(y - 22 + view.scroll)];
		if (y > 22 && row && !row.lane) {
			if (!closed.delete(row.key))
				closed.add(row.key);
			layOut();
			redraw();
			return;
		}
		events.selected(itemAt(x, y));
	}

	canvas.addEventListener('dblclick', event => {
		const item = itemAt(...place(event));
		if (item)
			zoomTo(item);
	});

	function hover(x, y) {
		const item = itemAt(x, y);
		const loss = item ? null : lossAt(x, y);
		tip.hidden = !item && !loss;
		if (tip.hidden)
			return;
		tip.textContent = item ? events.tipOf(item)
			: (loss.is_damage ? 'The log is damaged here.' : 'Events were lost here.') + '\n' + showDuration(loss.to - loss.from);
		const left = Math.min(x + 14, canvas.clientWidth - tip.offsetWidth - 4);
		tip.style.left = Math.max(left, 0) + 'px';
		tip.style.top = Math.max(y + 18 + tip.offsetHeight > canvas.clientHeight ? y - tip.offsetHeight - 8 : y + 18, 0) + 'px';
	}

	let isPicking = false;
	function pick(event) {
		const box = overview.getBoundingClientRect();
		const time = (event.clientX - box.left) / box.width * model.span;
		show(time - view.span / 2, view.span);
	}
	overview.addEventListener('pointerdown', event => {
		overview.setPointerCapture(event.pointerId);
		isPicking = true;
		if (view.span > model.span * 0.9)
			show(0, model.span / 10);
		pick(event);
	});
	overview.addEventListener('pointermove', event => isPicking && pick(event));
	overview.addEventListener('pointerup', () => {
		isPicking = false;
	});

	function zoomTo(item) {
		const span = Math.max(item.duration * 2.5, item.duration ? 0 : Math.min(view.span, model.span / 50));
		show(item.begin + item.duration / 2 - span / 2, span);
		scrollTo(item.lane);
	}

	function key(event) {
		const step = view.span / 6;
		const actions = {
			a: () => show(view.from - step, view.span), d: () => show(view.from + step, view.span),
			ArrowLeft: () => show(view.from - step, view.span), ArrowRight: () => show(view.from + step, view.span),
			w: () => zoom(0.6), '+': () => zoom(0.6), '=': () => zoom(0.6), s: () => zoom(1 / 0.6), '-': () => zoom(1 / 0.6),
			ArrowUp: () => scrollBy(-60), ArrowDown: () => scrollBy(60),
			PageUp: () => scrollBy(-canvas.clientHeight), PageDown: () => scrollBy(canvas.clientHeight),
			0: () => showAll(), Home: () => showAll(), Escape: () => events.selected(null),
		};
		if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey)
			return false;
		actions[event.key]();
		return true;
	}

	function showAll() {
		show(-model.span * 0.01, model.span * 1.02);
	}

	makePalette();
	layOut();
	showAll();
	new ResizeObserver(redraw).observe(canvas.parentElement);

	return {
		view, show, showAll, zoom, zoomTo, scrollTo, key, itemOf, itemAt, recordAt, redraw,
		select(item) {
			selected = item;
			redraw();
		},
		mark(found) {
			matches = found;
			redraw();
		},
		setTheme(dark) {
			isDark = dark;
			makePalette();
			overviewImage = null;
			redraw();
		},
		colour: number => css(palette.colours[number]),
		frames: () => frames,
		drawNow: draw,
		rows: () => rows,
		xOf, gutter: () => gutter,
	};
}
