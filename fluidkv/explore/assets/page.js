// The page: controls on one side, what follows from them on the other.

const LIMITS = data.limits;
const PARTS = 50; // sliders of shares count in parts; the largest gets at least so many

const get = id => document.getElementById(id);
const embedded = document.documentElement.dataset.embed !== undefined;

let state = null;       // what is shown
let parts = [];         // of each class, as the sliders have them
let roots = null;       // the last ones: where the next search starts
let speaking = 0, writing = 0; // timers
let fields = [];

const times = {
  running: new TimeChart(get("running"), { height: 120 }),
  admitted: new TimeChart(get("admitted"), { height: 120 }),
  memory: new TimeChart(get("memory"), { height: 120 }),
  evicted: new TimeChart(get("evicted"), { height: 110, kind: "bars" }),
};
const plane = new RootChart(get("circle"));
const picture = new BatchPicture(
  { svg: get("batch-svg"), play: get("play"), back: get("back"), forward: get("forward"), slider: get("moment"), told: get("batch-told") },
  n => Object.values(times).forEach(chart => chart.x && chart.point(n)),
);

// ------------------------------------------------------------------------------ controls

/** Whole numbers that a slider steps through: by one, then by about 2 per cent. */
function grid(least, most) {
  const found = [];
  for (let value = least; value <= most; value = Math.max(value + 1, Math.round(value * 1.02))) found.push(value);
  if (found.at(-1) < most) found.push(most);
  return found;
}

const INPUTS = grid(1, LIMITS.input), MEMORY = grid(3, LIMITS.capacity), OUTPUTS = grid(1, LIMITS.output);

function nearest(values, value) {
  let best = 0;
  values.forEach((each, i) => { if (Math.abs(each - value) < Math.abs(values[best] - value)) best = i; });
  return best;
}

/** A slider with its number beside it; `read` and `write` are of the state. */
function slider(parent, { label, unit, values = null, least, most, read, write, told = () => unit }) {
  const id = `s${fields.length}`, box = document.createElement("div");
  box.className = "slider";
  box.innerHTML = `<label for="${id}"></label><span class="field"><input type="number" id="${id}n"><span class="unit"></span></span>
<input type="range" id="${id}">`;
  const [text, range, number] = [box.querySelector("label"), box.querySelector("[type=range]"), box.querySelector("[type=number]")];
  text.textContent = label;
  number.setAttribute("aria-label", `${label}, ${unit}`);
  Object.assign(range, values ? { min: 0, max: values.length - 1, step: 1 } : { min: least, max: most, step: 1 });
  Object.assign(number, { min: values ? values[0] : least, max: values ? values.at(-1) : most, step: unit === "%" ? "any" : 1 });
  const show = (moved = null) => {
    const value = read();
    if (moved !== range) range.value = values ? nearest(values, value) : value;
    if (moved !== number) number.value = value;
    box.querySelector(".unit").textContent = told();
    range.setAttribute("aria-valuetext", `${short(value, 12)} ${told()}`);
  };
  const take = (value, moved) => move(() => write(value), moved);
  range.addEventListener("input", () => take(values ? values[range.value] : Number(range.value), range));
  number.addEventListener("input", () => {
    if (number.value !== "" && number.validity.valid) take(Number(number.value), number);
  });
  number.addEventListener("change", () => show());
  parent.append(box);
  fields.push(show);
}

function build() {
  fields = [];
  const host = get("sliders"), pushHost = get("push");
  host.replaceChildren();
  pushHost.replaceChildren();
  slider(host, {
    label: "KV memory", unit: "tokens", values: MEMORY,
    read: () => state.capacity, write: value => { state.capacity = value; },
  });
  slider(host, {
    label: "Input length", unit: "tokens", values: INPUTS,
    read: () => state.input, write: value => { state.input = value; },
  });
  state.outputs.forEach((pair, k) => {
    const box = document.createElement("div"), name = state.outputs.length > 1 ? ` ${k + 1}` : "";
    box.className = "class";
    host.append(box);
    slider(box, {
      label: `Output length${name}`, unit: "tokens", values: OUTPUTS,
      read: () => state.outputs[k][0], write: value => { state.outputs[k][0] = value; },
    });
    if (name) {
      slider(box, {
        label: `Share${name}`, unit: "parts", least: 1, most: Math.max(100, ...parts),
        told: () => `parts: ${short(100 * parts[k] / parts.reduce((a, b) => a + b), 3)} %`,
        read: () => parts[k], write: value => { parts[k] = value; share(); },
      });
    }
  });
  slider(pushHost, {
    label: "Newest requests above the balance", unit: "%", least: 0, most: 100,
    read: () => state.start.percent ?? 25,
    write: value => { state.start = { kind: "over", percent: Math.round(value * 1000) / 1000 }; },
  });
  slider(pushHost, {
    label: "Iterations to run", unit: "iterations", values: grid(LIMITS.fewestIterations, LIMITS.iterations),
    read: () => state.iterations, write: value => { state.iterations = value; },
  });
  get("add").disabled = state.outputs.length >= LIMITS.classes;
  get("drop").disabled = state.outputs.length < 2;
}

function share() {
  const divisor = parts.reduce(gcd);
  parts.forEach((part, k) => { state.outputs[k][1] = part / divisor; });
}

/** Change the state, and show what follows: `moved` is the control in a hand. */
function move(change, moved = null) {
  const began = performance.now(), before = structuredClone({ state, parts });
  change();
  const refused = largestPart(state) > LIMITS.part; // no link could hold it
  if (refused) ({ state, parts } = before);
  const least = smallestMemory(state);
  if (state.capacity < least) {
    if (moved) say(`KV memory raised to ${short(least)} tokens: the largest request needs that much.`);
    state.capacity = least;
  } else say(refused ? `Lengths that are equal count as one, of at most ${short(LIMITS.part)} parts: that change was not made.` : "");
  const spent = compute();
  for (const show of fields) show(refused ? null : moved);
  clearTimeout(writing); // browsers limit how often an address may change
  writing = setTimeout(remember, 200);
  get("here").setAttribute("href", `#${writeLink(state)}`);
  if (!moved) return;
  void document.body.offsetHeight; // the layout belongs to the time of a move
  finish(began, spent);
}

/** The address says what is shown. `anew`: the one before it stays behind the back button. */
function remember(anew = false) {
  clearTimeout(writing);
  const link = `#${writeLink(state)}`;
  if (location.hash === link) return;
  if (anew && !embedded) history.pushState(null, "", link);
  else history.replaceState(null, "", link);
}

function finish(began, spent) {
  const total = performance.now() - began;
  const line = `Last move: ${total.toFixed(1)} ms (roots ${spent.roots.toFixed(1)}, ${state.iterations} iterations ${spent.map.toFixed(1)}, drawing ${(total - spent.roots - spent.map).toFixed(1)}).`;
  get("timing").textContent = line;
}

// ------------------------------------------------------------------------------ what follows

function compute() {
  const t0 = performance.now();
  const model = cohortModel(state);
  roots = findRoots(coefficients(model.whole), roots);
  const judged = judge(roots);
  const t1 = performance.now();
  let start = startMasses(model, state.start);
  if (start === null) {
    say("The masses to start from are of another system; it starts from the balance, pushed.");
    state.start = { kind: "over", percent: 25 };
    start = startMasses(model, state.start);
  }
  const found = run(model, start, state.iterations);
  const late = lateHalf(model, found);
  const t2 = performance.now();
  tellVerdict(judged, late);
  tellNumbers(model, judged, late);
  drawTimes(model, found, late);
  plane.show(roots, judged);
  picture.load(model, found);
  tellPreset();
  return { roots: t1 - t0, map: t2 - t1 };
}

const SAYS = {
  stable: "STABLE: a small push dies out",
  unstable: "UNSTABLE: a small push grows",
  close: "Too close to tell",
};

function tellVerdict(judged, late) {
  const box = get("verdict");
  box.className = judged.verdict;
  get("says").textContent = SAYS[judged.verdict];
  const why = {
    stable: judged.modes ? `All ${judged.modes} modes decay.` : "Requests last one iteration: there are no modes.",
    unstable: `${judged.close ? "At least " : ""}${judged.outside} of ${judged.modes} modes ${judged.outside === 1 ? "grows" : "grow"}.`,
    close: `${judged.close} of ${judged.modes} modes lie on the unit circle, or nearer to it than this arithmetic can tell.`,
  }[judged.verdict];
  get("why").textContent = `${why} From this start, in the last half of the run: ${throughput(late)}.`;
  const proved = data.proved[keyOf(state)];
  get("proof").textContent = proved
    ? `Proved in exact arithmetic before this page was made: ${proved.verdict.toUpperCase()}, ${proved.reason} (${proved.evidence}).`
    : `Float, not proved. To have it proved: fluidkv study ${asClasses()}`;
  clearTimeout(speaking);
  speaking = setTimeout(() => {
    const text = `${SAYS[judged.verdict]}. ${get("why").textContent}`;
    if (get("spoken").textContent !== text) get("spoken").textContent = text;
  }, 500);
}

function throughput(late) {
  const completed = `${short(100 * late.throughput)} % of the balance's throughput`;
  if (!late.evicting) return `${completed}, no preemptions`;
  return late.throughput > 0 ? `${completed}, ${short(late.evictions, 3)} preemptions per completed request` : "preemptions, and nothing completes";
}

function asClasses() {
  const { outputs, input, capacity } = canonical(state), whole = outputs.reduce((sum, pair) => sum + pair[1], 0);
  const classes = outputs.map(([length, part]) => `--class ${input}:${length}${outputs.length > 1 ? `:${part}/${whole}` : ""}`);
  return `${classes.join(" ")} --capacity ${capacity}`;
}

function tellNumbers(model, judged, late) {
  const growth = judged.radius - 1;
  const rows = [
    ["Running at the balance", short(model.inFlight), "requests"],
    ["Admitted at the balance", short(model.rate), "requests per iteration"],
    ["Throughput in the last half", `${short(100 * late.throughput)} %`, "of the balance"],
    ["Preemptions in the last half", late.evicting ? short(late.evictions, 3) : "0", "per completed request"],
    ["Leading mode", judged.modes ? `${growth >= 0 ? "+" : "−"}${short(Math.abs(100 * growth), 3)} %` : "-", "per iteration"],
    ["It turns once in", Number.isFinite(judged.period) ? short(judged.period) : "-", "iterations"],
  ];
  get("numbers").replaceChildren(...rows.map(([name, value, unit]) => {
    const box = document.createElement("div"), term = document.createElement("dt"), said = document.createElement("dd"), small = document.createElement("small");
    term.textContent = name;
    small.textContent = ` ${unit}`;
    said.append(value, small);
    box.append(term, said);
    return box;
  }));
}

function drawTimes(model, found, late) {
  const share = found.demand.map(tokens => 100 * tokens / model.capacity);
  const settled = Math.min(2, found.iterations - 1); // an empty server's first burst is off the scale
  times.running.show(found.running, { reference: model.inFlight, floor: null, from: settled });
  times.admitted.show(found.admitted, { reference: model.rate, from: settled, first: 1 });
  const low = Math.min(99, Math.floor(share.reduce((a, b) => Math.min(a, b)) / 10) * 10);
  times.memory.show(share, { reference: 100, floor: low, limit: 100 + 1e-7, ceiling: 102 });
  times.evicted.show(found.evicted.map(noDust), { ceiling: model.rate * 0.1 });
  const most = values => short(values.reduce((a, b) => Math.max(a, b)));
  const span = `over ${found.iterations} iterations`;
  get("d-running").textContent = `${span}: from ${short(found.running[0])} to ${short(found.running.at(-1))}, at most ${most(found.running)}; the balance is ${short(model.inFlight)}.`;
  get("d-admitted").textContent = `${span}: at most ${most(found.admitted)} in one iteration; the balance is ${short(model.rate)}.`;
  get("d-memory").textContent = `${span}: at most ${most(share)} per cent of capacity.`;
  get("d-evicted").textContent = `${span}: at most ${most(found.evicted.map(noDust))} in one iteration; ${late.evicting ? "still going on at the end" : "none in the last half"}.`;
}

function tellPreset() {
  const link = writeLink(state), preset = data.presets.find(each => each.link === link);
  get("preset").value = preset ? preset.name : "";
  get("finding").hidden = !preset;
  get("start").value = state.start.kind;
  get("push").firstElementChild.hidden = state.start.kind !== "over";
  get("start").querySelector("[value=list]").disabled = state.start.kind !== "list";
  if (!preset) return;
  const claims = document.createElement("code");
  claims.textContent = preset.claims.join(" ");
  get("finding").replaceChildren(`${preset.finding} Checked by: fluidkv verify `, claims);
}

function say(problem) {
  get("problem").textContent = problem;
  get("problem").hidden = !problem;
}

// ------------------------------------------------------------------------------ from outside

/** Light or dark, where a link says which. */
function paint(text) {
  const theme = new URLSearchParams(text).get("theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
}

/** Show the state of a link; a bad one says so in one line, and what is shown is the default. */
function open(text) {
  const options = new URLSearchParams(text);
  paint(text);
  const named = data.presets.find(each => each.name === options.get("preset"));
  const fallback = readLink(named?.link ?? data.opens, LIMITS, {}).state;
  let { state: next, error } = readLink(text, LIMITS, fallback);
  if (!error && options.has("preset") && !named) error = `preset: ${options.get("preset").slice(0, 40)}: no such example`;
  state = structuredClone(next ?? fallback);
  const most = Math.max(...state.outputs.map(pair => pair[1])), times = Math.max(1, Math.floor(PARTS / most));
  parts = state.outputs.map(pair => pair[1] * times);
  build();
  picture.rewind(state.start.kind === "empty" ? 1 : 0);
  move(() => {});
  if (error) say(`The link could not be read (${error}); this is the default.`);
}

/** Another number of output lengths. */
function edit(change) {
  remember();
  change();
  build();
  move(() => {});
  remember(true);
}

async function copyLink() {
  remember();
  let said = "Copied.";
  try {
    await navigator.clipboard.writeText(location.href);
  } catch {
    said = "This browser does not let a page copy: take it from the address bar.";
  }
  get("copied").textContent = said;
}

function measure() {
  for (const each of [...Object.values(times), picture]) each.measure();
}

function listPresets() {
  const group = document.createElement("optgroup");
  group.label = "Figures of Congestion";
  group.append(...data.presets.map(each => new Option(`${each.figure}: ${each.title}`, each.name)));
  get("preset").append(new Option("your own server", ""), group);
  get("preset").addEventListener("change", event => {
    const preset = data.presets.find(each => each.name === event.target.value);
    if (!preset) return;
    remember();
    open(preset.link);
    remember(true);
  });
}

listPresets();
measure();
get("made").textContent = `fluidkv ${data.version}.`;
get("add").addEventListener("click", () => edit(() => {
  state.outputs.push([Math.min(LIMITS.output, Math.max(...state.outputs.map(pair => pair[0])) + 1), 1]);
  parts.push(Math.max(1, Math.round(parts.reduce((a, b) => a + b) / parts.length)));
  share();
}));
get("drop").addEventListener("click", () => edit(() => {
  state.outputs.pop();
  parts.pop();
  share();
}));
get("copy").addEventListener("click", copyLink);
get("start").addEventListener("change", event => move(() => {
  state.start = event.target.value === "empty" ? { kind: "empty" } : { kind: "over", percent: 25 };
}, event.target));
addEventListener("hashchange", () => {
  const text = location.hash.slice(1);
  if (/^theme=[a-z]*$/.test(text)) { // the page around a frame has changed; what is shown stays
    paint(text);
    remember();
  } else if (text !== writeLink(state)) open(text);
});
addEventListener("resize", () => { measure(); compute(); });
open(location.hash.slice(1));
if (embedded && !picture.still.matches) picture.start();

// For tests, and for the curious in the console.
globalThis.fluidkv = {
  cohortModel, startMasses, run, lateHalf, coefficients, findRoots, judge, readLink, writeLink,
  limits: LIMITS, state: () => state,
};
