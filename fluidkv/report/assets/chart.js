"use strict";
/* Draws the charts of a document again from their JSON: every element with the class "chart".

   What it draws with is d3; what it draws is what fluidkv.report.charts read off a figure. Sizes
   there are in points of type. Every text is set as text, never as HTML. */
(() => {
  const PX = 96 / 72; // of a point of type
  const LEAST = 1 / 200; // of an axis: numbers are rounded to a hundredth of that
  const READ = new Set(["line", "points", "bars", "segments", "band", "grid"]);
  const CURVES = { before: d3.curveStepBefore, mid: d3.curveStep, after: d3.curveStepAfter };
  const pen = document.createElement("canvas").getContext("2d");

  /* --- numbers and words ----------------------------------------------------------------------*/

  const written = (value, digits) =>
    value === 0 ? "0"
      : Math.abs(value) >= 1e9 || Math.abs(value) < 1e-5
        ? value.toExponential(digits).replace(/\.?0*e\+?/, "e").replace("-", "−")
        : value.toLocaleString("en-US", { maximumFractionDigits: digits, minimumFractionDigits: 0 })
          .replace("-", "−");

  /** A value with as many digits as the data have. */
  const exactly = (axis, value) => {
    if (value === null || value === undefined) return "none";
    if (axis.written === null) {
      const near = d3.least(axis.ticks, (tick) => Math.abs(tick[0] - value));
      const apart = axis.scale === "linear" ? 0.5 : 1e-9 * Math.abs(value);
      if (near && near[1] && Math.abs(near[0] - value) <= apart) return near[1].replace(/\s+/g, " ");
      return written(value, 12);
    }
    const rule = axis.written, shown = Number((value * rule.times).toPrecision(12));
    return (rule.plus && shown > 0 ? "+" : "") + written(shown, 12) + rule.after;
  };

  const withUnit = (axis, value) => exactly(axis, value) + (axis.unit ? ` ${axis.unit}` : "");

  /** [what, value] of a coordinate; nothing for one that has neither name nor words. */
  const told = (axis, value) => [axis.name, withUnit(axis, value)];
  const fromTo = (axis, low, high) =>
    [axis.name, `${exactly(axis, low)} to ${withUnit(axis, high)}`];

  const width = (text, size, bold) => {
    pen.font = `${bold ? "bold " : ""}${size}px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif`;
    return Math.max(...text.split("\n").map((line) => pen.measureText(line).width));
  };

  const wrapped = (text, size, room) => text.split("\n").flatMap((line) => {
    const lines = [""];
    for (const word of line.split(" ")) {
      const last = lines[lines.length - 1], longer = last ? `${last} ${word}` : word;
      if (last && width(longer, size) > room) lines.push(word);
      else lines[lines.length - 1] = longer;
    }
    return lines;
  });

  const element = (tag, name, text) => {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text !== undefined) made.textContent = text;
    return made;
  };

  /* --- scales ---------------------------------------------------------------------------------*/

  /** To the coordinate in which an axis is even, and back; as Matplotlib has them. */
  const even = (axis) => {
    if (axis.scale === "log") {
      return [(v) => (v > 0 ? Math.log10(v) : NaN), (t) => 10 ** t];
    }
    if (axis.scale === "symlog") {
      const base = Math.log(axis.base), t0 = axis.threshold, inner = axis.share / (1 - 1 / axis.base);
      return [
        (v) => (Math.abs(v) <= t0 ? v * inner
          : Math.sign(v) * t0 * (inner + Math.log(Math.abs(v) / t0) / base)),
        (t) => (Math.abs(t) <= t0 * inner ? t / inner
          : Math.sign(t) * t0 * Math.exp(base * (Math.abs(t) / t0 - inner))),
      ];
    }
    return [(v) => v, (t) => t];
  };

  /** From values to pixels, for the part [a, b] of an axis that is shown. */
  const scaled = (axis, [a, b], [from, to]) => {
    const [there, back] = even(axis), [low, high] = axis.limits.map(there);
    const first = low + a * (high - low), last = low + b * (high - low);
    const scale = (v) => (v === null ? NaN : from + ((there(v) - first) / (last - first)) * (to - from));
    scale.invert = (p) => back(first + ((p - from) / (to - from)) * (last - first));
    scale.ends = [back(first), back(last)];
    scale.even = (v) => (there(v) - low) / (high - low);
    return scale;
  };

  const decades = (low, high) => {
    const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
    const many = Math.log10(high / low);
    const subs = many > 3.5 ? [1] : many > 1.6 ? [1, 3] : [1, 2, 3, 5, 7];
    const powers = d3.range(first, last + 1, Math.max(1, Math.ceil((last - first) / 8)));
    return powers.flatMap((power) => subs.map((sub) => Number(`${sub}e${power}`)));
  };

  const between = (axis, low, high, count) => {
    if (axis.scale === "linear" || (axis.scale === "log" && high < 3 * low)) return d3.ticks(low, high, count);
    let places = axis.scale === "log" ? decades(low, high) : [0];
    if (axis.scale === "symlog") {
      const far = Math.max(Math.abs(low), Math.abs(high));
      const powers = far > axis.threshold ? decades(axis.threshold, far) : [];
      places = [...powers.map((v) => -v).reverse(), 0, ...powers];
    }
    places = places.filter((v) => v >= low && v <= high);
    return places.length > 1 ? places : d3.ticks(low, high, count);
  };

  /** [value, words, bold]: those of the figure until one zooms in; others follow the zoom. */
  const ticksOf = (axis, scale, shown, count) => {
    const [low, high] = [...scale.ends].sort((a, b) => a - b), slack = 1e-9 * (high - low);
    const given = axis.ticks.filter(([v]) => v >= low - slack && v <= high + slack);
    const ours = given.some(([, words]) => words === null);
    const zoomed = shown[0] > 0 || shown[1] < 1;
    if (axis.written === null || !(zoomed || ours)) return given;
    const places = ours && !zoomed && axis.scale === "linear"
      ? given.map(([v]) => v) : between(axis, low, high, count);
    const rule = axis.written, sorted = [...places].sort((a, b) => a - b);
    const step = axis.scale === "linear" ? d3.min(d3.pairs(sorted, (a, b) => b - a)) : 0;
    const digits = step ? Math.max(0, Math.ceil(-Math.log10(step * rule.times) - 1e-9) + 1) : 6;
    return places.map((v) => {
      const value = Number((v * rule.times).toPrecision(12));
      return [v, (rule.plus && value >= 0 ? "+" : "") + written(value, Math.min(digits, 12)) + rule.after, 0];
    });
  };

  /** The ticks whose words have room: every one, every second, ... */
  const thinned = (ticks, extent, room) => {
    for (let every = 1; every < ticks.length; every += 1) {
      const kept = ticks.filter((_, i) => i % every === 0);
      const clear = d3.pairs(kept, (a, b) => Math.abs(extent(b) - extent(a)) >= room(a, b));
      if (clear.every(Boolean)) return kept;
    }
    return ticks.slice(0, 1);
  };

  /* --- one panel ------------------------------------------------------------------------------*/

  class Panel {
    constructor(chart, number) {
      const { spec } = chart;
      Object.assign(this, { chart, number, spec: spec.panels[number], selected: null });
      this.layers = spec.panels.map((each, n) => ({ ...each, number: n }))
        .filter((each) => each.number === number || each.over === number);
      this.root = element("div", "chart-panel");
      this.head = this.root.appendChild(element("div", "chart-head"));
      if (this.spec.title) this.head.append(element("p", "chart-panel-title", this.spec.title));
      this.legend = this.head.appendChild(element("div", "chart-legends"));
      this.above = this.head.appendChild(element("p", "chart-y"));
      this.svg = d3.select(this.root).append("svg").attr("class", "chart-plot").attr("tabindex", 0)
        .attr("role", "application").attr("aria-roledescription", "chart")
        .attr("aria-label", this.name()).attr("aria-describedby", `${chart.id}-help`);
      this.below = this.root.appendChild(element("p", "chart-x", this.spec.x.label));
      this.tip = this.root.appendChild(element("div", "chart-tip"));
      this.tip.setAttribute("aria-hidden", "true");
      this.tip.hidden = true;
      this.listen();
    }

    /** What a screen reader says when one arrives. */
    name() {
      const { x, y, title } = this.spec, many = this.chart.spec.panels.length;
      const of = many > 1 ? `, panel ${this.number + 1} of ${many}` : "";
      const axes = [y.label, x.label].filter(Boolean).join(" against ");
      return `${this.chart.spec.title}${of}: ${[title, axes].filter(Boolean).join(". ")}`;
    }

    get window() { return this.chart.windowOf(this.number); }

    /** Labels of an axis that another panel shows, until that is no longer beside this one. */
    shows(axis) {
      if (this.spec[axis].shown) return true;
      const { stacked, spec, order } = this.chart, group = spec.linked[axis];
      if (axis === "y") return stacked;
      const next = order[order.indexOf(this.number) + 1];
      return stacked && (next === undefined || group[next] !== group[this.number]);
    }

    /** Ticks and margins for a width; the chart evens the margins out. */
    measure(room) {
      const { size } = this.chart.spec, [, y0, , y1] = this.spec.box;
      const [x, y] = [this.spec.x, this.spec.y];
      const rows = y.written === null ? y.ticks.length : 0;
      this.height = Math.max(96, 17 * rows, (y1 - y0) * size[1] * 96);
      const probe = scaled(y, this.window.y, [this.height, 0]);
      const count = Math.max(2, Math.min(6, Math.round(this.height / 45)));
      this.yTicks = thinned(ticksOf(y, probe, this.window.y, count), (t) => probe(t[0]), () => 15);
      this.right = this.layers.find((each) => each.over !== undefined);
      const labels = this.shows("y") ? this.yTicks : [];
      const most = d3.max(labels, (t) => width(t[1], 12, t[2])) ?? 0;
      const left = Math.min(Math.max(most + 14, 16), 0.45 * room);
      let right = 12;
      if (this.right) {
        const other = scaled(this.right.y, this.window.y, [this.height, 0]);
        this.rightTicks = thinned(ticksOf(this.right.y, other, this.window.y, count), (t) => other(t[0]), () => 15);
        right = (d3.max(this.rightTicks, (t) => width(t[1], 12)) ?? 0) + 14;
      }
      return { left, right };
    }

    draw(room, margin) {
      const { spec } = this, x = spec.x;
      let inner = Math.max(60, room - margin.left - margin.right), { height } = this;
      if (spec.equal) inner = height = Math.min(inner, Math.max(height, 260));
      Object.assign(this, { inner, height, margin });
      const probe = scaled(x, this.window.x, [0, inner]);
      const count = Math.max(2, Math.round(inner / 90));
      let ticks = ticksOf(x, probe, this.window.x, count);
      const labelled = this.shows("x");
      const place = (tick) => probe(tick[0]);
      const half = (a, b) => (width(a[1], 12, a[2]) + width(b[1], 12, b[2])) / 2 + 8;
      const names = x.written === null && ticks.some(([, words]) => /[^\d.,+−%×-]/.test(words));
      const slanted = names && !d3.pairs(ticks, (a, b) => Math.abs(place(b) - place(a)) >= half(a, b)).every(Boolean);
      if (!names) ticks = thinned(ticks, place, half);
      const longest = d3.max(ticks, (t) => (slanted ? 0.6 * width(t[1], 12) : 15 * t[1].split("\n").length)) ?? 0;
      const bottom = labelled ? 10 + longest + (slanted ? 8 : 4) : 8;
      const total = { width: margin.left + inner + margin.right, height: height + bottom + 8 };
      this.svg.attr("viewBox", `0 0 ${total.width} ${total.height}`)
        .attr("width", total.width).attr("height", total.height);
      this.svg.selectAll("*").remove();
      const plot = this.svg.append("g").attr("aria-hidden", "true")
        .attr("transform", `translate(${margin.left},8)`);
      const clip = `${this.chart.id}-clip-${this.number}`;
      plot.append("clipPath").attr("id", clip).append("rect").attr("width", inner).attr("height", height);
      plot.append("rect").attr("class", "chart-ground").attr("width", inner).attr("height", height);
      const over = `${clip}-points`; // a point on the edge is seen whole
      plot.append("clipPath").attr("id", over).append("rect").attr("x", -6).attr("y", -6)
        .attr("width", inner + 12).attr("height", height + 12);
      const inside = plot.append("g");
      this.clips = { points: `url(#${over})`, others: `url(#${clip})` };
      this.places = [];
      for (const layer of this.layers) this.drawLayer(layer, inside, plot);
      this.drawAxes(plot, ticks, labelled, slanted);
      this.cursor = plot.append("g").attr("class", "chart-cursor");
      this.words();
      this.point();
    }

    drawLayer(layer, inside, plot) {
      const x = scaled(layer.x, this.window.x, [0, this.inner]);
      const y = scaled(layer.y, this.window.y, [this.height, 0]);
      layer.marks.forEach((mark, index) => {
        const key = `${layer.number}:${index}`;
        if (this.chart.hidden(key)) return;
        const at = {
          x: (v) => (mark.cx ? v * this.inner : x(v)),
          y: (v) => (mark.cy ? (1 - v) * this.height : y(v)),
        };
        const to = (mark.kind === "words" ? plot : inside).append("g")
          .attr("data-mark", key).attr("clip-path", this.clips[mark.kind] ?? (mark.kind === "words" ? null : this.clips.others)).attr("opacity", mark.kind === "words" ? null : mark.opacity ?? null);
        const shown = DRAW[mark.kind](to, mark, at, this, layer);
        if (shown && READ.has(mark.kind) && !mark.beside) this.places.push({ key, mark, layer, shown, x, y });
      });
    }

    drawAxes(plot, ticks, labelled, slanted) {
      const { inner, height, spec } = this;
      const x = scaled(spec.x, this.window.x, [0, inner]);
      const y = scaled(spec.y, this.window.y, [height, 0]);
      const axes = plot.append("g").attr("class", "chart-axes");
      axes.append("path").attr("d", `M0,0V${height}H${inner}${this.right ? "V0" : ""}`);
      const zoomed = (shown) => shown[0] > 0 || shown[1] < 1;
      if (!zoomed(this.window.x)) for (const v of spec.x.minor) axes.append("path").attr("d", `M${x(v)},${height}v3`);
      if (!zoomed(this.window.y)) for (const v of spec.y.minor) axes.append("path").attr("d", `M0,${y(v)}h-3`);
      const label = (words, bold) => axes.append("text").attr("font-weight", bold ? "bold" : null)
        .each(function () { lines(d3.select(this), words.split("\n"), 12); });
      for (const [v, words, bold] of ticks) {
        axes.append("path").attr("d", `M${x(v)},${height}v5`);
        if (!labelled) continue;
        const text = label(words, bold);
        if (slanted) text.attr("transform", `translate(${x(v)},${height + 12}) rotate(-35)`).attr("text-anchor", "end");
        else text.attr("transform", `translate(${x(v)},${height + 17})`).attr("text-anchor", "middle");
      }
      const side = (ticksHere, scale, edge, sign, room) => {
        for (const [v, words, bold] of ticksHere) {
          axes.append("path").attr("d", `M${edge},${scale(v)}h${sign * 5}`);
          const cut = fitted(words, room);
          label(cut, bold).attr("transform", `translate(${edge + sign * 8},${scale(v) + 4 - 7 * (cut.split("\n").length - 1)})`)
            .attr("text-anchor", sign < 0 ? "end" : "start");
        }
      };
      side(this.shows("y") ? this.yTicks : this.yTicks.map(([v]) => [v, "", 0]), y, 0, -1, this.margin.left - 10);
      if (this.right) side(this.rightTicks, scaled(this.right.y, this.window.y, [height, 0]), inner, 1, 200);
    }

    /** The labels of both axes, as text above and below. */
    words() {
      const { x, y } = this.spec, { panels } = this.chart.spec;
      const first = panels.findIndex((each) => each.y.label === y.label) === this.number;
      const up = y.own || first || this.chart.stacked ? y.label : "";
      const right = this.right ? `right: ${this.right.y.label}` : "";
      this.above.textContent = [up && `↑ ${up}`, right && `${right} ↑`].filter(Boolean).join("   ");
      this.below.hidden = !x.label || !(x.own || (this.chart.stacked && this.shows("x")));
      this.below.style.paddingLeft = `${this.margin.left}px`;
    }

    /* --- pointing ---------------------------------------------------------------------------*/

    /** The nearest value to a pixel of the plot: {place, index}. */
    nearest(px, py) {
      let best = null, least = 48 ** 2;
      for (const place of this.places) {
        if (place.mark.kind === "grid") {
          const index = place.shown.at(px, py);
          if (index !== null && !best) best = { place, index };
          continue;
        }
        place.shown.forEach(([x, y], index) => {
          if (!(x >= -1 && x <= this.inner + 1 && y >= -1 && y <= this.height + 1)) return;
          const apart = (x - px) ** 2 + (y - py) ** 2;
          if (apart < least) [best, least] = [{ place, index }, apart];
        });
      }
      return best;
    }

    /** Name, and [what, value] pairs of what is selected. */
    said({ place, index }) {
      const { mark, layer } = place, { x, y } = layer;
      const pairs = [];
      if (mark.kind === "line" || mark.kind === "points") {
        pairs.push(told(x, mark.x[index]), told(y, mark.y[index]));
        pairs.push(...this.beside(place, index));
      } else if (mark.kind === "bars") {
        const upright = mark.along !== "h", [w, h] = upright ? [x, y] : [y, x];
        const [a, b] = upright ? ["x", "y"] : ["y", "x"];
        const middle = (mark[a][index] + mark[`${a}2`][index]) / 2;
        pairs.push(w.written === null ? told(w, middle) : fromTo(w, mark[a][index], mark[`${a}2`][index]));
        const low = mark[b][index], high = mark[`${b}2`][index];
        pairs.push(low === 0 || h.scale === "log" ? told(h, high) : high === 0 ? told(h, low) : fromTo(h, low, high));
      } else if (mark.kind === "segments") {
        for (const [name, axis] of [["x", x], ["y", y]]) {
          const [a, b] = [mark[name][index], mark[`${name}2`][index]];
          pairs.push(a === b ? told(axis, a) : fromTo(axis, a, b));
        }
      } else if (mark.kind === "band") {
        const [along, over] = mark.along === "x" ? [x, y] : [y, x];
        pairs.push(told(along, mark.at[index]), fromTo(over, mark.low[index], mark.high[index]));
      } else {
        pairs.push(...place.shown.told(index, x, y));
      }
      return { name: mark.name, pairs: pairs.filter(([what, value]) => what || value) };
    }

    /** Bars of an error through a point, and bands around a line. */
    beside({ mark, layer }, index) {
      const [vx, vy] = [mark.x[index], mark.y[index]], found = [];
      for (const each of layer.marks) {
        if (each.beside && each.kind === "segments") {
          each.x.forEach((x, k) => {
            const [x2, y, y2] = [each.x2[k], each.y[k], each.y2[k]];
            const near = (a, b) => Math.abs(a - b) <= 1e-3 * Math.max(Math.abs(a), Math.abs(b));
            if (near(x, x2) && near(x, vx) && y < y2 && vy >= y && vy <= y2) found.push(["range", fromTo(layer.y, y, y2)[1]]);
            if (near(y, y2) && near(y, vy) && x < x2 && vx >= x && vx <= x2) found.push(["range", fromTo(layer.x, x, x2)[1]]);
          });
        } else if (each.beside && each.kind === "band" && each.fill === (mark.stroke ?? mark.face)) {
          const k = each.along === "x" ? each.at.indexOf(vx) : -1;
          if (k >= 0) found.push(["band", fromTo(layer.y, each.low[k], each.high[k])[1]]);
        }
      }
      return found.slice(0, 1);
    }

    select(found, aloud) {
      this.selected = found;
      this.point();
      if (aloud && found) {
        const { name, pairs } = this.said(found), { mark, shown } = found.place;
        const of = mark.kind === "grid" ? "" : ` ${shown.order.indexOf(found.index) + 1} of ${shown.order.length}.`;
        this.chart.live.textContent = `${name}: ${pairs.map((pair) => pair.filter(Boolean).join(" ")).join(", ")}.${of}`;
      }
    }

    /** Crosshair and words at what is selected. */
    point() {
      if (!this.cursor) return;
      this.cursor.selectAll("*").remove();
      this.tip.hidden = true;
      if (!this.selected) return;
      const place = this.places.find((each) => each.key === this.selected.place.key);
      if (!place) { this.selected = null; return; }
      this.selected.place = place;
      const [x, y] = place.mark.kind === "grid" ? place.shown.middle(this.selected.index) : place.shown[this.selected.index];
      if (!(x >= -1 && x <= this.inner + 1 && y >= -1 && y <= this.height + 1)) return;
      this.cursor.append("path").attr("d", `M${x},0V${this.height}M0,${y}H${this.inner}`);
      this.cursor.append("circle").attr("cx", x).attr("cy", y).attr("r", 5);
      const { name, pairs } = this.said(this.selected);
      this.tip.replaceChildren(element("strong", "", name),
        ...pairs.map(([what, value]) => element("span", "", what ? `${what}: ${value}` : value)));
      this.tip.hidden = false;
      const total = this.root.clientWidth, [outer, frame] = [this.root, this.svg.node()].map((each) => each.getBoundingClientRect());
      const ratio = frame.width / (this.margin.left + this.inner + this.margin.right);
      const left = frame.left - outer.left + (this.margin.left + x) * ratio, top = frame.top - outer.top + (8 + y) * ratio;
      const { offsetWidth: w, offsetHeight: h } = this.tip;
      const flip = left + 14 + w > total ? left - 14 - w : left + 14;
      this.tip.style.left = `${Math.max(0, Math.min(flip, total - w))}px`;
      this.tip.style.top = `${Math.max(0, top - h - 10)}px`;
    }

    /* --- hands ------------------------------------------------------------------------------*/

    listen() {
      const node = this.svg.node(), touches = new Map();
      let box = null, pinch = null;
      const spot = (event) => {
        const frame = node.getBoundingClientRect();
        const ratio = (this.margin.left + this.inner + this.margin.right) / frame.width;
        return [(event.clientX - frame.left) * ratio - this.margin.left, (event.clientY - frame.top) * ratio - 8];
      };
      const shares = ([px, py]) => [px / this.inner, 1 - py / this.height];
      node.addEventListener("wheel", (event) => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        this.chart.zoom([this], Math.exp(event.deltaY * (event.deltaMode ? 0.05 : 0.004)), shares(spot(event)));
      }, { passive: false });
      node.addEventListener("pointerdown", (event) => {
        touches.set(event.pointerId, spot(event));
        if (event.pointerType === "touch") {
          if (touches.size === 2) pinch = [...touches.values()];
          this.select(this.nearest(...spot(event)), false);
        } else if (event.button === 0) {
          box = { from: spot(event), pan: event.shiftKey };
          node.setPointerCapture(event.pointerId);
        }
      });
      node.addEventListener("pointermove", (event) => {
        const here = spot(event);
        if (touches.has(event.pointerId)) touches.set(event.pointerId, here);
        if (pinch && touches.size === 2) pinch = this.pinched(pinch, [...touches.values()]);
        else if (box?.pan) { this.pan(box.from, here); box.from = here; }
        else if (box) this.band(box.from, here);
        else this.select(this.nearest(...here), false);
      });
      const up = (event) => {
        if (box && !box.pan && event.type === "pointerup") this.into(box.from, spot(event));
        box = null;
        touches.delete(event.pointerId);
        if (touches.size < 2) pinch = null;
      };
      node.addEventListener("pointerup", up);
      node.addEventListener("pointercancel", up);
      node.addEventListener("pointerleave", () => { if (!box && document.activeElement !== node) this.select(null, false); });
      node.addEventListener("dblclick", () => this.chart.reset());
      node.addEventListener("keydown", (event) => this.key(event));
      node.addEventListener("blur", () => this.select(null, false));
    }

    band([x0, y0], [x1, y1]) {
      this.cursor.selectAll("*").remove();
      this.tip.hidden = true;
      this.cursor.append("rect").attr("x", Math.min(x0, x1)).attr("y", Math.min(y0, y1))
        .attr("width", Math.abs(x1 - x0)).attr("height", Math.abs(y1 - y0));
    }

    /** Zoom into a box; one that is thin changes the long axis alone. */
    into([x0, y0], [x1, y1]) {
      const part = (low, high, of) => [low / of, high / of].sort((a, b) => a - b);
      if (Math.abs(x1 - x0) < 8 && Math.abs(y1 - y0) < 8) { this.select(this.nearest(x1, y1), false); return; }
      const x = Math.abs(x1 - x0) < 8 ? [0, 1] : part(x0, x1, this.inner);
      const y = Math.abs(y1 - y0) < 8 ? [0, 1] : part(this.height - y0, this.height - y1, this.height);
      this.chart.crop(this, x, y);
    }

    pan([x0, y0], [x1, y1]) { this.chart.move(this, (x0 - x1) / this.inner, (y1 - y0) / this.height); }

    pinched([a, b], [c, d]) {
      const apart = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1]);
      const middle = [(c[0] + d[0]) / 2 / this.inner, 1 - (c[1] + d[1]) / 2 / this.height];
      this.chart.zoom([this], apart(a, b) / Math.max(8, apart(c, d)), middle);
      return [c, d];
    }

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const moves = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
      const move = moves[event.key];
      const keys = {
        "+": () => this.chart.zoom([this], 1 / 1.5), "=": () => this.chart.zoom([this], 1 / 1.5),
        "-": () => this.chart.zoom([this], 1.5), 0: () => this.chart.reset(),
        Escape: () => this.select(null, false), Home: () => this.go(-Infinity), End: () => this.go(Infinity),
        PageDown: () => this.go(Math.ceil(this.many() / 10)), PageUp: () => this.go(-Math.ceil(this.many() / 10)),
      };
      if (move && event.shiftKey) this.chart.move(this, 0.1 * move[0], 0.1 * move[1]);
      else if (move && move[0]) this.go(move[0]);
      else if (move) this.series(-move[1]);
      else if (Object.hasOwn(keys, event.key)) keys[event.key]();
      else return;
      event.preventDefault();
    }

    /** Where a zoom holds still: what is selected, or the middle. */
    spot() {
      if (!this.selected || this.selected.place.mark.kind === "grid") return [0.5, 0.5];
      const [x, y] = this.selected.place.shown[this.selected.index];
      return [x / this.inner, 1 - y / this.height].map((share) => Math.max(0, Math.min(1, share)));
    }

    many() { return this.selected ? this.selected.place.shown.length : 1; }

    /** Along a series: its points from left to right, as they come where two have one place. */
    go(step) {
      if (!this.selected) { this.series(0); if (Number.isFinite(step)) return; }
      if (!this.selected) return;
      const { place, index } = this.selected, { order } = place.shown;
      const at = order.indexOf(index);
      const next = order[Math.max(0, Math.min(order.length - 1, at + step))];
      this.chart.follow(this, place, next);
      this.select({ place: this.places.find((each) => each.key === place.key), index: next }, true);
    }

    /** To another series, to the value nearest to where one is. */
    series(step) {
      if (!this.places.length) return;
      const now = this.selected ? this.places.findIndex((each) => each.key === this.selected.place.key) : -1;
      const to = this.places[now < 0 ? 0 : (now + step + this.places.length) % this.places.length];
      let index = to.shown.order[0];
      if (now >= 0 && to.mark.kind !== "grid" && this.places[now].mark.kind !== "grid") {
        const [x] = this.places[now].shown[this.selected.index];
        index = d3.least(to.shown.order, (i) => Math.abs(to.shown[i][0] - x));
      }
      this.select({ place: to, index }, true);
    }
  }

  /* --- marks: each draws itself, and returns where its values are -------------------------------*/

  /** Pixels of values, and the order in which arrow keys go through them: to the right. */
  const reading = (points, sorted) => {
    points.order = d3.range(points.length).filter((i) => points[i].every(Number.isFinite));
    if (!points.order.length) return null;
    const [first, last] = [points.order[0], points.order[points.order.length - 1]];
    if (sorted) points.order.sort((i, j) => points[i][0] - points[j][0]);
    else if (points[first][0] > points[last][0]) points.order.reverse();
    return points;
  };

  const markers = (to, mark, points) => {
    const rows = mark.marked ?? d3.range(points.length);
    const scale = mark.size * PX;
    to.append("g").selectAll("path").data(rows.filter((i) => points[i].every(Number.isFinite))).join("path")
      .attr("d", mark.shape).attr("vector-effect", "non-scaling-stroke")
      .attr("transform", (i) => `translate(${points[i]}) scale(${scale},${-scale})`)
      .style("fill", mark.face).style("stroke", mark.edge).attr("stroke-width", Math.max(0.6, mark.edge_width * PX));
  };

  const stroked = (path, mark) => path.attr("fill", "none").style("stroke", mark.stroke)
    .attr("stroke-width", Math.max(1, mark.width * PX))
    .attr("stroke-dasharray", mark.dash ? mark.dash.split(" ").map((v) => v * PX).join(" ") : null);

  const filled = (path, mark) => path.style("fill", mark.fill)
    .style("stroke", mark.stroke ?? "none").attr("stroke-width", mark.width ? mark.width * PX : 0);

  /** On a logarithmic axis 0 is infinitely far down: the edge will do. */
  const kept = (pixel, least, most) => (Number.isFinite(pixel) ? Math.max(-1e5, Math.min(1e5, pixel)) : most ?? least);

  const DRAW = {
    line(to, mark, at) {
      const points = mark.x.map((x, i) => [at.x(x), at.y(mark.y[i])]);
      const path = d3.line().defined((p) => p.every(Number.isFinite)).curve(CURVES[mark.step] ?? d3.curveLinear);
      if (mark.stroke) stroked(to.append("path").attr("d", path(points)).attr("stroke-linejoin", "round"), mark);
      if (mark.shape) markers(to, mark, points);
      return reading(points, false);
    },
    points(to, mark, at) {
      const points = mark.x.map((x, i) => [at.x(x), at.y(mark.y[i])]);
      markers(to, mark, points);
      return reading(points, true);
    },
    rule(to, mark, at, panel) {
      const path = mark.along === "h" ? `M0,${at.y(mark.at)}H${panel.inner}` : `M${at.x(mark.at)},0V${panel.height}`;
      if (!path.includes("NaN")) stroked(to.append("path").attr("d", path), mark);
      return null;
    },
    segments(to, mark, at, panel) {
      const ends = mark.x.map((x, i) => [at.x(x), at.y(mark.y[i]), at.x(mark.x2[i]), at.y(mark.y2[i])]);
      const there = (i) => !mark.beside || !panel.chart.alone(panel, mark, i);
      const paths = ends.map(([x, y, x2, y2], i) => (there(i)
        ? `M${kept(x, 0)},${kept(y, panel.height)}L${kept(x2, 0)},${kept(y2, panel.height)}` : ""));
      stroked(to.append("path").attr("d", paths.join("")), mark);
      return reading(ends.map(([, , x2, y2]) => [kept(x2, 0), kept(y2, panel.height)]), false);
    },
    band(to, mark, at, panel) {
      const along = mark.along === "x", rows = d3.range(mark.at.length);
      const area = along
        ? d3.area().x((i) => at.x(mark.at[i])).y0((i) => kept(at.y(mark.low[i]), panel.height)).y1((i) => kept(at.y(mark.high[i]), panel.height))
        : d3.area().y((i) => at.y(mark.at[i])).x0((i) => kept(at.x(mark.low[i]), 0)).x1((i) => kept(at.x(mark.high[i]), 0));
      const value = along ? mark.low : mark.at, other = along ? mark.at : mark.low;
      area.defined((i) => value[i] !== null && other[i] !== null && Number.isFinite(along ? at.x(mark.at[i]) : at.y(mark.at[i])));
      filled(to.append("path").attr("d", area(rows)), mark);
      return reading(rows.map((i) => (along ? [at.x(mark.at[i]), kept(at.y(mark.high[i]), panel.height)]
        : [kept(at.x(mark.high[i]), 0), at.y(mark.at[i])])), false);
    },
    area(to, mark, at, panel) {
      const corners = mark.x.map((x, i) => [kept(at.x(x), 0), kept(at.y(mark.y[i]), panel.height)]);
      filled(to.append("path").attr("d", `${d3.line()(corners)}Z`), mark);
      return null;
    },
    box(to, mark, at, panel) {
      const [x, x2] = mark.x.map((v) => kept(at.x(v), 0)).sort((a, b) => a - b);
      const [y, y2] = mark.y.map((v) => kept(at.y(v), panel.height)).sort((a, b) => a - b);
      filled(to.append("rect").attr("x", x).attr("y", y).attr("width", x2 - x).attr("height", y2 - y), mark);
      return null;
    },
    bars(to, mark, at, panel) {
      const ends = mark.x.map((x, i) => [
        ...[x, mark.x2[i]].map((v) => kept(at.x(v), 0)), ...[mark.y[i], mark.y2[i]].map((v) => kept(at.y(v), panel.height)),
      ]);
      filled(to.selectAll("rect").data(ends).join("rect")
        .attr("x", ([x, x2]) => Math.min(x, x2)).attr("width", ([x, x2]) => Math.abs(x2 - x))
        .attr("y", ([, , y, y2]) => Math.min(y, y2)).attr("height", ([, , y, y2]) => Math.abs(y2 - y)), mark);
      return reading(ends.map(([x, x2, y, y2]) => (mark.along === "h" ? [x2, (y + y2) / 2] : [(x + x2) / 2, y2])), false);
    },
    grid(to, mark, at, panel) {
      const { inner, height } = panel, sharp = window.devicePixelRatio || 1;
      const board = document.createElement("canvas");
      [board.width, board.height] = [Math.round(inner * sharp), Math.round(height * sharp)];
      const ink = board.getContext("2d");
      ink.scale(sharp, sharp);
      const shades = mark.colours.map((colour) => panel.chart.resolved(colour));
      const x = mark.x.map(at.x), y = mark.y.map(at.y), columns = x.length - 1;
      const cells = new Int16Array(columns * (y.length - 1));
      let place = 0;
      for (let k = 0; k < mark.runs.length; k += 2) {
        const [code, many] = [mark.runs[k], mark.runs[k + 1]];
        cells.fill(code, place, place + many);
        for (let left = many; left > 0;) {
          const row = Math.floor(place / columns), column = place % columns, here = Math.min(left, columns - column);
          if (code >= 0) {
            ink.fillStyle = shades[code];
            const [a, b, c, d] = [x[column], x[column + here], y[row], y[row + 1]];
            ink.fillRect(Math.min(a, b), Math.min(c, d), Math.abs(b - a) + 0.3, Math.abs(d - c) + 0.3);
          }
          [place, left] = [place + here, left - here];
        }
      }
      to.append("image").attr("width", inner).attr("height", height).attr("preserveAspectRatio", "none")
        .attr("href", board.toDataURL());
      const find = (edges, p) => d3.range(edges.length - 1).find((i) => (p - edges[i]) * (p - edges[i + 1]) <= 0);
      const middle = (edges, i) => (edges[i] + edges[i + 1]) / 2;
      return {
        order: d3.range(cells.length).filter((i) => cells[i] >= 0), length: cells.length,
        at(px, py) {
          const [column, row] = [find(x, px), find(y, py)];
          if (column === undefined || row === undefined) return null;
          const index = row * columns + column;
          return cells[index] >= 0 ? index : null;
        },
        middle: (i) => [middle(x, i % columns), middle(y, Math.floor(i / columns))],
        told(i, ax, ay) {
          const [low, high] = [mark.low[cells[i]], mark.high[cells[i]]];
          const value = mark.said ? mark.said[cells[i]] : low === high ? written(low, 12) : `${written(low, 12)} to ${written(high, 12)}`;
          const centre = (edges, axis, k) => told(axis, Number(((edges[k] + edges[k + 1]) / 2).toPrecision(6)));
          return [centre(mark.x, ax, i % columns), centre(mark.y, ay, Math.floor(i / columns)), ["value", value]];
        },
      };
    },
    words(to, mark, at, panel) {
      const x = at.x(mark.x), y = at.y(mark.y), size = Math.max(11, mark.size * PX);
      const off = (v, c, end) => !c && (Number.isNaN(v) || v < -1 || v > end + 1);
      if (off(x, mark.cx, panel.inner) || off(y, mark.cy, panel.height)) return null;
      if (mark.to) arrow(to, mark, [x, y], [at.x(mark.to.x), at.y(mark.to.y)]);
      if (!mark.text) return null;
      const text = wrapped(mark.text, size, panel.inner - 8), high = size * 1.25;
      const wide = Math.max(...text.map((line) => width(line, size, mark.bold)));
      const anchor = { left: "start", center: "middle", right: "end" }[mark.ha] ?? "start";
      const before = { start: 0, middle: wide / 2, end: wide }[anchor];
      let px = x + (mark.dx ?? 0) * PX, py = y - (mark.dy ?? 0) * PX;
      py += { top: size * 0.85, bottom: -high * (text.length - 1) - size * 0.2,
        center: size * 0.35 - (high * (text.length - 1)) / 2, center_baseline: size * 0.35 - (high * (text.length - 1)) / 2,
      }[mark.va] ?? -high * (text.length - 1);
      if (!mark.turned) {
        px = Math.max(before - panel.margin.left + 2, Math.min(px, panel.inner + panel.margin.right - 2 - wide + before));
        py = Math.max(size * 0.8, Math.min(py, panel.height - high * (text.length - 1) - 2));
      }
      lines(to.append("text").attr("class", "chart-words").attr("text-anchor", anchor).attr("font-size", size)
        .attr("font-weight", mark.bold ? "bold" : null).style("fill", mark.fill)
        .attr("transform", `translate(${px},${py})${mark.turned ? ` rotate(${-mark.turned})` : ""}`), text, size);
      return null;
    },
  };

  const arrow = (to, mark, [x, y], [x2, y2]) => {
    const from = [x + (mark.dx ?? 0) * PX, y - (mark.dy ?? 0) * PX];
    const path = [`M${from}L${[x2, y2]}`];
    const head = ([a, b], [c, d]) => {
      const turn = Math.atan2(d - b, c - a), tip = (by) => [c - 7 * Math.cos(turn + by), d - 7 * Math.sin(turn + by)];
      path.push(`M${tip(0.45)}L${[c, d]}L${tip(-0.45)}`);
    };
    if (mark.heads & 1) head(from, [x2, y2]);
    if (mark.heads & 2) head([x2, y2], from);
    to.append("path").attr("d", path.join("")).attr("fill", "none").style("stroke", mark.stroke);
  };

  /** Lines of a text, the first where the text stands. */
  const lines = (text, each, size) => text.selectAll("tspan").data(each).join("tspan")
    .attr("x", 0).attr("dy", (_, i) => (i ? size * 1.25 : 0)).text((line) => line);

  /** Words of an axis in a margin: in two lines, and then cut, where they are too wide. */
  const fitted = (words, room) => {
    if (width(words, 12) <= room) return words;
    const text = wrapped(words, 12, room).slice(0, 2);
    return text.map((line) => {
      let end = line.length;
      while (end > 1 && width(`${line.slice(0, end)}…`, 12) > room) end -= 1;
      return end < line.length && width(line, 12) > room ? `${line.slice(0, end)}…` : line;
    }).join("\n");
  };

  /* --- one chart --------------------------------------------------------------------------------*/

  class Chart {
    constructor(root) {
      const spec = JSON.parse(root.querySelector("script[type='application/json']").textContent);
      for (const panel of spec.panels) for (const mark of panel.marks) {
        for (const key of ["x", "y", "at"]) if (typeof mark[key] === "number" && mark.kind !== "rule" && mark.kind !== "words") mark[key] = spec.arrays[mark[key]];
      }
      Object.assign(this, { root, spec, id: root.id, off: new Set(), windows: {}, stacked: false, printing: false });
      this.live = root.querySelector(".chart-live");
      this.stage = root.querySelector(".chart-stage");
      const number = spec.panels.map((each, n) => (each.over === undefined ? n : null)).filter((n) => n !== null);
      this.panels = new Map(number.map((n) => [n, new Panel(this, n)]));
      this.order = [];
      this.stage.append(this.box(spec.layout));
      this.legends();
      this.tools();
      this.wide = 0;
      new ResizeObserver(() => { if (this.stage.clientWidth !== this.wide) this.render(); }).observe(this.stage);
      this.render();
    }

    /** Boxes of rows and columns, panels in them. */
    box(node) {
      if (typeof node === "number") {
        this.order.push(node);
        return this.panels.get(node).root;
      }
      const [name, inner] = node.rows ? ["chart-rows", node.rows] : ["chart-columns", node.columns];
      const made = element("div", name);
      inner.forEach((each, n) => {
        const child = made.appendChild(this.box(each));
        if (node.columns) child.style.flex = `${node.share[n] / d3.sum(node.share)} 1 0`;
      });
      return made;
    }

    tools() {
      const bar = this.root.querySelector(".chart-tools");
      const button = (sign, label, press) => {
        const made = element("button", "", sign);
        made.type = "button";
        made.setAttribute("aria-label", label);
        made.title = label;
        made.addEventListener("click", press);
        bar.append(made);
      };
      const all = () => [...this.panels.values()];
      button("+", "Zoom in", () => this.zoom(all(), 1 / 1.5));
      button("−", "Zoom out", () => this.zoom(all(), 1.5));
      button("Reset", "Reset the zoom", () => this.reset());
      const touch = window.matchMedia("(pointer: coarse)").matches;
      this.root.querySelector(".chart-help").textContent = touch
        ? "Tap for values, pinch to zoom. With a keyboard: arrow keys read values, up and down change the series, + and − zoom, 0 resets."
        : "Point for values, drag a box to zoom, double-click to reset. With a keyboard: arrow keys read values, up and down change the series, + and − zoom, 0 resets.";
      bar.hidden = false;
    }

    legends() {
      for (const legend of this.spec.legends) {
        const list = element("div", "chart-legend");
        list.setAttribute("role", "group");
        const of = legend.panel === undefined ? null : this.panels.get(legend.panel);
        list.setAttribute("aria-label", legend.title || `Series of ${of ? of.spec.title || of.spec.y.label || "this panel" : "the chart"}`);
        if (legend.title) list.append(element("span", "chart-legend-title", legend.title));
        for (const entry of legend.entries) list.append(this.entry(entry));
        if (of) of.legend.append(list);
        else this.root.querySelector(".chart-key").append(list);
      }
    }

    entry(entry) {
      const made = element(entry.marks.length ? "button" : "span", "chart-entry");
      const swatch = d3.select(made).append("svg").attr("width", 26).attr("height", 14).attr("aria-hidden", "true");
      const { look } = entry;
      if (look.fill !== undefined) {
        filled(swatch.append("rect").attr("x", 2).attr("y", 2).attr("width", 22).attr("height", 10), look).attr("opacity", Math.max(0.35, look.opacity ?? 1));
      }
      if (look.stroke && look.fill === undefined) stroked(swatch.append("path").attr("d", "M1,7H25"), look);
      if (look.shape) markers(swatch, { ...look, size: Math.min(look.size, 8) }, [[13, 7]]);
      made.append(entry.label);
      if (entry.marks.length) {
        made.type = "button";
        made.setAttribute("aria-pressed", "true");
        made.addEventListener("click", () => {
          const on = this.off.delete(entry);
          if (!on) this.off.add(entry);
          made.setAttribute("aria-pressed", String(on));
          this.render();
        });
      }
      return made;
    }

    hidden(key) {
      if (this.printing) return false;
      return [...this.off].some((entry) => entry.marks.some(([panel, mark]) => `${panel}:${mark}` === key));
    }

    /** Whether all points that a bar of an error belongs to are switched off. */
    alone(panel, bars, index) {
      if (!this.off.size || this.printing) return false;
      const layer = panel.layers.find((each) => each.marks.includes(bars));
      const on = (mark, k) => bars.x[index] <= mark.x[k] && mark.x[k] <= bars.x2[index]
        && bars.y[index] <= mark.y[k] && mark.y[k] <= bars.y2[index];
      const of = layer.marks.filter((mark) => (mark.kind === "points" || mark.kind === "line") && mark.x.some((_, k) => on(mark, k)));
      return of.length > 0 && of.every((mark) => this.hidden(`${layer.number}:${layer.marks.indexOf(mark)}`));
    }

    /* --- zoom: the part of each axis that is shown, the same for axes that are linked ---------- */

    windowOf(number) {
      const of = (axis) => this.windows[axis + this.spec.linked[axis][number]] ?? [0, 1];
      return this.printing ? { x: [0, 1], y: [0, 1] } : { x: of("x"), y: of("y") };
    }

    show(number, axis, [a, b]) {
      const wide = Math.min(1, Math.max(LEAST, b - a)), first = Math.max(0, Math.min(1 - wide, (a + b - wide) / 2));
      this.windows[axis + this.spec.linked[axis][number]] = [first, first + wide];
    }

    /** Around a share of what is shown, or around what is selected, or the middle. */
    zoom(panels, factor, around) {
      const done = new Set();
      for (const panel of panels) {
        const spot = around ?? panel.spot();
        ["x", "y"].forEach((axis, k) => {
          const group = axis + this.spec.linked[axis][panel.number];
          if (done.has(group)) return;
          done.add(group);
          const [a, b] = panel.window[axis], at = a + spot[k] * (b - a);
          this.show(panel.number, axis, [at - (at - a) * factor, at + (b - at) * factor]);
        });
      }
      this.render();
    }

    crop(panel, x, y) {
      for (const [axis, [low, high]] of [["x", x], ["y", y]]) {
        const [a, b] = panel.window[axis];
        this.show(panel.number, axis, [a + low * (b - a), a + high * (b - a)]);
      }
      this.render();
    }

    move(panel, right, up) {
      for (const [axis, by] of [["x", right], ["y", up]]) {
        const [a, b] = panel.window[axis], step = Math.max(-a, Math.min(1 - b, by * (b - a)));
        this.show(panel.number, axis, [a + step, b + step]);
      }
      this.render();
    }

    /** Moves what is shown so that a value is in it. */
    follow(panel, place, index) {
      const point = place.mark.kind === "grid" ? place.shown.middle(index) : place.shown[index];
      const out = (v, end) => (v < 0 ? v / end - 0.1 : v > end ? v / end - 0.9 : 0);
      const [right, down] = [out(point[0], panel.inner), out(point[1], panel.height)];
      if (right || down) this.move(panel, right, -down);
    }

    reset() {
      this.windows = {};
      this.render();
    }

    /* --- drawing -------------------------------------------------------------------------------*/

    /** A colour as a canvas takes it. */
    resolved(colour) {
      const probe = this.stage.appendChild(element("i"));
      probe.style.color = colour;
      const found = getComputedStyle(probe).color;
      probe.remove();
      return found;
    }

    /** Plots that stand in one row begin at one height. */
    evenHeads() {
      for (const panel of this.panels.values()) panel.head.style.minHeight = "";
      if (this.stacked) return;
      const high = new Map([...this.panels.values()].map((panel) => [panel, panel.head.offsetHeight]));
      for (const [panel] of high) {
        const top = panel.spec.box[3], row = [...high].filter(([other]) => Math.abs(other.spec.box[3] - top) < 0.01);
        panel.head.style.minHeight = `${d3.max(row, ([, tall]) => tall)}px`;
      }
    }

    /** Columns of panels that would be too narrow stand below each other. */
    render() {
      this.wide = this.stage.clientWidth;
      this.root.classList.remove("chart-stacked");
      this.stacked = false;
      const margins = new Map([...this.panels].map(([n, panel]) => [n, panel.measure(panel.root.clientWidth)]));
      const narrow = [...this.panels].some(([n, panel]) => panel.root.clientWidth - margins.get(n).left - margins.get(n).right < 120);
      this.stacked = this.order.length > 1 && this.stage.querySelector(".chart-columns") !== null && (narrow || this.wide < 620);
      this.root.classList.toggle("chart-stacked", this.stacked);
      for (const [n, panel] of this.panels) margins.set(n, panel.measure(panel.root.clientWidth));
      for (const [n, panel] of this.panels) {
        const alike = (side, edge) => Math.max(...[...this.panels].filter(([, other]) => this.stacked
          || Math.abs(other.spec.box[edge] - panel.spec.box[edge]) < 0.01).map(([m]) => margins.get(m)[side]));
        panel.draw(panel.root.clientWidth, { left: Math.min(alike("left", 0), 0.45 * panel.root.clientWidth), right: alike("right", 2) });
      }
      this.evenHeads();
    }
  }

  const charts = [...document.querySelectorAll("figure.chart")].map((root) => new Chart(root));
  const again = () => charts.forEach((chart) => chart.render());
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  new MutationObserver(again).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  const print = (printing) => () => charts.forEach((chart) => { chart.printing = printing; chart.render(); });
  window.addEventListener("beforeprint", print(true));
  window.addEventListener("afterprint", print(false));
})();
