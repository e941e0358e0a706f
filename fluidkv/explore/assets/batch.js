// The batch as cohorts that age: one bar a cohort, one step to the right an iteration.

const SHADES = 4, HEIGHT = 240;

/** Plays a run: bars move, what is preempted falls away, what is admitted comes in on the left. */
export class BatchPicture {
  /** @param parts {svg, play, back, forward, slider, told} elements; @param moved told the iteration */
  constructor(parts, moved) {
    Object.assign(this, parts);
    this.moved = moved;
    Object.assign(this, { now: 0, playing: false, left: 52, floor: 196, top: 44 });
    this.still = window.matchMedia("(prefers-reduced-motion: reduce)");
    this.frame = draw(this.svg, "g", { class: "axis" });
    this.bars = Array.from({ length: SHADES }, (_, k) => draw(this.svg, "path", { class: `shade-${k}` }));
    this.gone = draw(this.svg, "path", { class: "gone" });
    this.gauge = draw(this.svg, "g");
    this.play.addEventListener("click", () => (this.playing ? this.stop() : this.start()));
    this.back.addEventListener("click", () => this.go(this.now - 1));
    this.forward.addEventListener("click", () => this.go(this.now + 1));
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
  }

  /** Another run; from its start. */
  load(model, found) {
    this.model = model;
    this.found = found;
    this.slider.max = found.iterations;
    this.now = Math.min(this.now, found.iterations);
    this.coming = new Float64Array(found.iterations + 1); // the highest bar from an iteration on
    let highest = 0;
    for (let n = found.iterations, i = found.states.length - 1; n >= 0; n--) {
      for (let s = found.ages - 1; s >= 0; s--, i--) {
        highest = Math.max(highest, model.requests[s] * found.states[i]);
      }
      this.coming[n] = highest;
    }
    this.highest = null;
    this.show(1);
  }

  /** The end of the scale of an iteration: halved where nothing that comes reaches the lower half,
   *  as after the burst that an empty server takes in. */
  scaleOf(n) {
    let end = this.coming[0];
    while (this.coming[n] > 0 && end / 2 >= this.coming[n]) end /= 2;
    return end;
  }

  start() {
    if (this.now >= this.found.iterations) this.now = 0;
    this.playing = true;
    this.began = null;
    this.label();
    this.tick = this.tick.bind(this);
    requestAnimationFrame(this.tick);
  }

  stop() {
    this.playing = false;
    this.label();
    this.show(1);
  }

  /** To an iteration of the run that is loaded next. */
  rewind(now) {
    this.now = now;
    this.playing = false;
    this.label();
  }

  label() {
    this.play.textContent = this.playing ? "Pause" : "Play";
    this.told.setAttribute("aria-live", this.playing ? "off" : "polite");
  }

  /** Milliseconds of an iteration: long where there are few stages to follow. */
  get pace() {
    const d = this.found.ages;
    return d <= 8 ? 1100 : d <= 30 ? 500 : 140;
  }

  tick(time) {
    if (!this.playing) return;
    this.began ??= time;
    const part = (time - this.began) / this.pace;
    if (part >= 1) {
      this.began = time;
      if (this.now >= this.found.iterations) return this.stop();
      this.now++;
      this.show(this.still.matches ? 1 : 0);
    } else if (!this.still.matches) this.show(part);
    requestAnimationFrame(this.tick);
  }

  go(n) {
    this.playing = false;
    this.label();
    this.now = Math.max(0, Math.min(this.found.iterations, n));
    this.show(1);
  }

  /** Its width in pixels, and what depends on it alone. */
  measure() {
    this.width = Math.max(240, this.svg.clientWidth || 600);
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
    this.svg.setAttribute("height", HEIGHT);
    const full = this.gaugeWidth(1), edge = this.left + full, bar = { y: 18, height: 12 };
    this.gauge.replaceChildren();
    draw(this.gauge, "rect", { class: "gauge", x: this.left, width: full, ...bar });
    this.fill = draw(this.gauge, "rect", { class: "fill", x: this.left, ...bar });
    this.over = draw(this.gauge, "rect", { class: "gone", x: edge, ...bar });
    draw(this.gauge, "text", { x: this.left, y: 11 }, "KV memory, full at the line");
    place(draw(this.gauge, "line", { class: "edge" }), edge, 13, edge, 35);
  }

  layOut() {
    const d = this.found.ages, width = this.width;
    this.slot = (width - this.left - 24) / d;
    this.y = scale(0, this.highest * 1.05 || 1, this.floor, this.top);
    this.frame.replaceChildren();
    for (const value of ticks(0, this.highest * 1.05 || 1, 3)) {
      place(draw(this.frame, "line"), this.left, this.y(value), width - 8, this.y(value));
      draw(this.frame, "text", { x: this.left - 6, y: this.y(value) + 4, "text-anchor": "end" }, short(value));
    }
    for (const s of ticks(0, d - 1, Math.min(d - 1, 8) || 1)) {
      if (!Number.isInteger(s)) continue;
      draw(this.frame, "text", { x: this.middle(s), y: this.floor + 16, "text-anchor": "middle" }, short(s * this.model.unit));
    }
    draw(this.frame, "text", { x: this.left, y: this.floor + 34 }, "iterations since they were admitted");
  }

  middle(s) {
    return this.left + this.slot * (s + 0.5);
  }

  gaugeWidth(share) {
    return (this.width - this.left - 8) * 0.7 * share;
  }

  /** The iteration `now`, so far of it: everyone a step on, then preemption, then admission. */
  show(part) {
    const { found, model, now } = this, d = found.ages, highest = this.scaleOf(Math.max(0, now - 1));
    if (highest !== this.highest) {
      this.highest = highest;
      this.layOut();
    }
    const state = found.states.subarray(now * d, (now + 1) * d);
    const before = now > 0 ? found.states.subarray((now - 1) * d, now * d) : state;
    const first = now === 0;
    const step = first ? 1 : Math.min(1, part / 0.45);
    const evict = first ? 1 : Math.max(0, Math.min(1, (part - 0.45) / 0.3));
    const admit = first ? 1 : Math.max(0, Math.min(1, (part - 0.75) / 0.25));
    const ease = step * step * (3 - 2 * step);
    const still = part >= 1 && !this.playing; // what was preempted stays in sight
    const bars = Array(SHADES).fill("");
    let gone = "";
    for (let s = 0; s < d; s++) {
      const arrived = s === 0 || first ? state[s] : before[s - 1];
      const alive = s === 0 || first ? model.requests[s] : mix(model.requests[s - 1], model.requests[s], ease);
      const lost = s === 0 || first ? 0 : arrived - state[s];
      const kept = alive * (s === 0 ? state[0] * admit : arrived - lost);
      const x = this.left + this.slot * (s + 0.08 - (s === 0 || first ? 0 : 1 - ease));
      bars[(((now - s) % SHADES) + SHADES) % SHADES] += this.box(x, kept, 0);
      gone += this.box(x, alive * lost, kept, still ? 0 : 60 * evict * evict);
    }
    this.bars.forEach((path, k) => path.setAttribute("d", bars[k]));
    this.gone.setAttribute("d", gone);
    this.gone.style.opacity = still ? 0.5 : 1 - evict;
    const demand = found.demand[now] / model.capacity, full = held(model, state) / model.capacity;
    const used = first ? full : mix(demand, full, admit > 0 ? admit : 0);
    this.fill.setAttribute("width", this.gaugeWidth(Math.min(1, used)));
    this.over.setAttribute("width", this.gaugeWidth(Math.max(0, Math.min(0.4, (demand - 1) * (1 - evict)))));
    if (part >= 1 || part === 0) this.tell();
  }

  /** The path of a bar on top of what is `above` the floor. */
  box(x, height, above, fall = 0) {
    const low = this.y(above), high = this.y(above + height);
    if (low - high < 0.05) return "";
    return `M${tenth(x)},${tenth(low + fall)}V${tenth(high + fall)}h${tenth(this.slot * 0.84)}V${tenth(low + fall)}z`;
  }

  tell() {
    const { found, now } = this;
    this.slider.value = now;
    const flows = now === 0 ? "the start." :
      `${short(found.completed[now], 3)} completed, ${short(noDust(found.evicted[now]), 3)} preempted, ${short(found.admitted[now], 3)} admitted.`;
    this.told.textContent = `Iteration ${short(now * this.model.unit)}: ${short(found.running[now], 3)} requests running; ${flows}`;
    this.slider.setAttribute("aria-valuetext", this.told.textContent);
    this.moved(now);
  }
}

function noDust(value) {
  return value < 1e-9 ? 0 : value;
}

function mix(a, b, part) {
  return a + (b - a) * part;
}

function held(model, state) {
  let total = 0;
  for (let s = 0; s < state.length; s++) total += model.memory[s] * state[s];
  return total;
}
