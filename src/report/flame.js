/* flame.js - zoom and search of a flame graph; it stands in the SVG itself.
 * A frame's place is in its data: x and w in ns, d its depth. What is searched
 * for and zoomed to is in the address behind #, so a view can be passed on. */
(function () {
	'use strict';
	var svg = document.documentElement, total = +svg.dataset.total;
	var left = 10, width, height = svg.viewBox.baseVal.height;
	var frames = [].slice.call(document.querySelectorAll('.f'));
	var input = document.getElementById('search');
	var matched = document.getElementById('matched');
	var detail = document.getElementById('detail');
	var atRight = [].slice.call(document.querySelectorAll('.right'));
	var zoomed = -1, home = detail.textContent;

	frames.forEach(function (g, i) {
		var text = g.querySelector('title').textContent;

		g.at = { x: +g.dataset.x, w: +g.dataset.w, d: +g.dataset.d };
		g.name = text.slice(0, text.indexOf('\n'));
		g.addEventListener('click', function () { zoom(i); });
		g.addEventListener('mouseover', function () {
			detail.textContent = text.replace('\n', ': ');
		});
		g.addEventListener('mouseout', function () { detail.textContent = home; });
	});

	function label(name, w) {
		var n = Math.floor((w - 4) / 7.3);

		if (n < 3)
			return '';
		return name.length <= n ? name : name.slice(0, n - 2) + '..';
	}

	function place(g, x, w) {
		var rect = g.querySelector('rect'), text = g.querySelector('text');

		g.style.display = w < 0.1 ? 'none' : '';
		rect.setAttribute('x', x.toFixed(2));
		rect.setAttribute('width', w.toFixed(2));
		text.setAttribute('x', (x + 3).toFixed(2));
		text.textContent = label(g.name, w);
	}

	/* Frame i and what is above it fill the width; what it stands on is dim. */
	function zoom(i) {
		var z = i < 0 ? { x: 0, w: total, d: -1 } : frames[i].at;

		zoomed = i;
		frames.forEach(function (g) {
			var a = g.at, from = Math.max(a.x, z.x);
			var to = Math.min(a.x + a.w, z.x + z.w);
			var below = a.d < z.d && a.x <= z.x && a.x + a.w >= z.x + z.w;

			g.classList.toggle('dim', below);
			if (a.d < z.d && !below)
				to = from;
			place(g, left + (from - z.x) / z.w * width,
			      Math.max(0, to - from) / z.w * width);
		});
		remember();
	}

	/* As wide as the window; what stands at the right stays there. */
	function fit() {
		var bar = height > window.innerHeight ? 16 : 0;
		var all = Math.max(600, window.innerWidth - bar);

		width = all - 2 * left;
		svg.setAttribute('width', all);
		svg.setAttribute('viewBox', '0 0 ' + all + ' ' + height);
		atRight.forEach(function (e) {
			e.setAttribute('x', all - e.dataset.right);
		});
		zoom(zoomed);
	}

	/* Half a regular expression, while it is typed, is searched for as it stands. */
	function matcher(word) {
		try {
			var re = new RegExp(word, 'i');

			return function (name) { return re.test(name); };
		} catch (e) {
			return function (name) {
				return name.toLowerCase().indexOf(word.toLowerCase()) >= 0;
			};
		}
	}

	function search(word) {
		var end = 0, sum = 0, matches = matcher(word);
		var hits = frames.filter(function (g) {
			var hit = word && matches(g.name);

			g.classList.toggle('hit', !!hit);
			return hit;
		});

		/* One above another counts once. */
		hits.sort(function (a, b) { return a.at.x - b.at.x || b.at.w - a.at.w; });
		hits.forEach(function (g) {
			var to = g.at.x + g.at.w;

			if (to > end)
				sum += to - Math.max(g.at.x, end);
			end = Math.max(end, to);
		});
		matched.textContent = word ? hits.length + ' matched, ' +
			(100 * sum / total).toFixed(2) + ' %' : '';
		remember();
	}

	function remember() {
		var parts = [];

		if (zoomed >= 0)
			parts.push('zoom=' + zoomed);
		if (input.value)
			parts.push('search=' + encodeURIComponent(input.value));
		try {
			history.replaceState(null, '', '#' + parts.join('&'));
		} catch (e) {
			/* some viewers have no address */
		}
	}

	/* What somebody typed may be no such code: 50% is 50%. */
	function decode(text) {
		try {
			return decodeURIComponent(text);
		} catch (e) {
			return text;
		}
	}

	function recall() {
		location.hash.slice(1).split('&').forEach(function (part) {
			var value = decode(part.slice(part.indexOf('=') + 1));

			if (part.indexOf('search=') === 0)
				input.value = value;
			else if (part.indexOf('zoom=') === 0 && frames[+value])
				zoomed = +value;
		});
	}

	recall();
	fit();
	search(input.value);
	window.scrollTo(0, height);		/* the root is at the bottom */
	window.addEventListener('resize', fit);
	input.addEventListener('input', function () { search(input.value); });
	document.getElementById('reset').addEventListener('click', function () { zoom(-1); });
	window.addEventListener('keydown', function (e) {
		if (e.key === 'Escape') {
			input.value = '';
			search('');
			zoom(-1);
		} else if (e.key === 'f' && (e.ctrlKey || e.metaKey)) {
			e.preventDefault();
			input.focus();
		}
	});
})();
