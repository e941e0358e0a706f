// Small SVG charts: elements, scales, axes. No library: the page stays light enough to embed.

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element with attributes, in a parent. */
export function draw(parent, name, attributes = {}, text = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text) element.textContent = text;
  parent.append(element);
  return element;
}

/** A line from [a, b] to [low, high]. */
export function scale(a, b, low, high) {
  const slope = (high - low) / (b - a || 1);
  return value => low + (value - a) * slope;
}

/** Round numbers from `low` to `high`, about `count` of them. */
export function ticks(low, high, count) {
  const raw = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find(each => each * power >= raw * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) found.push(k * step || 0);
  return found;
}

const FORMATS = []; // by decimal places; making one is slow

/** Four digits, thousands separated. */
export function short(value, digits = 4) {
  if (!Number.isFinite(value)) return "-";
  if (value !== 0 && Math.abs(value) < 1e-4) return value.toExponential(1);
  const whole = Math.max(0, Math.floor(Math.log10(Math.abs(value) || 1)) + 1);
  const places = Number.isInteger(value) ? 0 : Math.max(0, digits - Math.max(whole, 1));
  FORMATS[places] ??= new Intl.NumberFormat("en", { maximumFractionDigits: places });
  return FORMATS[places].format(value);
}

/** To a tenth of a pixel. */
export function tenth(value) {
  return Math.round(value * 10) / 10;
}

/** A chart over iterations: its frame is made once, its lines are moved. */
export class TimeChart {
  /** @param svg an <svg>; @param options {height, kind: "line" or "bars", colour: class} */
  constructor(svg, { height = 120, kind = "line", label }) {
    Object.assign(this, { svg, height, kind, label });
    this.left = 52; this.right = 8; this.top = 8; this.bottom = 20;
    this.frame = draw(svg, "g", { class: "axis" });
    this.band = draw(svg, "rect", { class: "band" });
    this.reference = draw(svg, "line", { class: "reference" });
    this.path = draw(svg, "path", { class: kind });
    this.over = draw(svg, "path", { class: "over" });
    this.cursor = draw(svg, "line", { class: "cursor" });
  }

  /** Its width in pixels, which is not asked for at every move: the answer costs a layout. */
  measure() {
    this.width = Math.max(200, this.svg.clientWidth || 600);
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    this.svg.setAttribute("height", this.height);
  }

  /** @param values one an iteration; @param reference a line across, or null; @param from the
   *  first value that the axis is made for; @param floor lowest
   *  value of the axis, null: near the values'; @param limit values above it are marked, or null;
   *  @param first the first value drawn; @param unit iterations from value to value; @param band
   *  [low, high] that is shaded, or null */
  show(values, { reference = null, floor = 0, from = 0, limit = null, ceiling = 0, first = 0, unit = 1, band = null }) {
    const width = this.width, n = values.length - 1;
    this.unit = unit;
    let high = Math.max(ceiling, reference ?? 0, band?.[1] ?? 0, 1e-12), low = floor ?? band?.[0] ?? high;
    for (const value of values.subarray(from)) {
      high = Math.max(high, value);
      if (floor === null) low = Math.min(low, value);
    }
    if (floor === null) low = Math.max(0, Math.min(low, 0.9 * high) - 0.05 * (high - low));
    high = low + (high - low) * 1.06;
    this.x = scale(0, n, this.left, width - this.right);
    const y = scale(low, high, this.height - this.bottom, this.top);
    this.axes(width, n, low, high, y);
    const clamp = value => tenth(y(Math.min(high, Math.max(low, value))));
    const bottom = tenth(y(low)), edge = limit === null ? 0 : tenth(y(limit));
    let line = "", over = "";
    for (let i = first; i <= n; i++) {
      const px = tenth(this.x(i));
      if (this.kind === "line") line += `${i > first ? "L" : "M"}${px},${clamp(values[i])}`;
      else if (values[i] > 0) line += `M${px},${bottom}V${clamp(values[i])}`;
      if (limit !== null && values[i] > limit) over += `M${px},${edge}V${clamp(values[i])}`;
    }
    this.path.setAttribute("d", line);
    this.path.style.strokeWidth = this.kind === "bars" ? Math.max(1, Math.min(6, (width - 60) / n * 0.7)) : "";
    this.over.setAttribute("d", over);
    this.band.style.display = band ? "" : "none";
    if (band) {
      const [bottom, top] = band.map(clamp);
      const box = { x: this.left, y: top, width: width - this.right - this.left, height: bottom - top };
      for (const [name, value] of Object.entries(box)) this.band.setAttribute(name, value);
    }
    const shown = reference === null ? "none" : "";
    this.reference.style.display = shown;
    if (reference !== null) place(this.reference, this.left, y(reference), width - this.right, y(reference));
  }

  axes(width, n, low, high, y) {
    this.frame.replaceChildren();
    for (const value of ticks(low, high, 3)) {
      place(draw(this.frame, "line"), this.left, y(value), width - this.right, y(value));
      draw(this.frame, "text", { x: this.left - 6, y: y(value) + 4, "text-anchor": "end" }, short(value));
    }
    for (const value of ticks(0, n * this.unit, width < 480 ? 4 : 8)) {
      const anchor = value === n * this.unit ? "end" : "middle";
      draw(this.frame, "text", { x: this.x(value / this.unit), y: this.height - 4, "text-anchor": anchor }, short(value));
    }
  }

  /** Mark an iteration. */
  point(n) {
    place(this.cursor, this.x(n), this.top, this.x(n), this.height - this.bottom);
  }
}

export function place(line, x1, y1, x2, y2) {
  line.setAttribute("x1", x1);
  line.setAttribute("y1", y1);
  line.setAttribute("x2", x2);
  line.setAttribute("y2", y2);
}
