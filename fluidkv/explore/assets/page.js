// The page: controls on one side, what follows from them on the other.

const LIMITS = { ...data.limits, loads: data.loads };
const PARTS = 50; // sliders of shares count in parts; the largest gets at least so many

const get = id => document.getElementById(id);
const embedded = document.documentElement.dataset.embed !== undefined;

let state = null;       // what is shown
let parts = [];         // of each class, as the sliders have them
let last = {};          // what follows from lengths and what requests hold, by their `keyOf`
let drawn = null;       // what the charts show
let speaking = 0, writing = 0, settling = 0; // timers

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

const INPUTS = grid(1, LIMITS.input), MEMORY = grid(3, LIMITS.capacity), OUTPUTS = grid(1, LIMITS.output);
const WINDOWS = [0, ...grid(1, LIMITS.input + LIMITS.output)], SCALES = grid(10, 1000);

const sliders = new Sliders((change, moved) => move(change, moved));

function build() {
  sliders.clear();
  for (const id of ["sliders", "holding", "push"]) get(id).replaceChildren();
  const host = get("sliders"), own = state.load === null, apart = state.inputs.length > 1;
  sliders.add(host, {
    label: "KV memory", unit: "tokens", values: MEMORY,
    read: () => state.capacity, write: value => { state.capacity = value; },
  });
  if (own) {
    if (!apart) addInput(host, 0, "");
    state.outputs.forEach((_, k) => addClass(host, k, apart));
  } else {
    ["Input lengths", "Output lengths"].forEach((label, i) => sliders.add(host, {
      label: `${label} of the load`, unit: "%", values: SCALES,
      read: () => state.scale[i], write: value => { state.scale[i] = Math.round(value); },
    }));
  }
  addHolding(get("holding"));
  addPush(get("push"));
  get("class-buttons").hidden = !own;
  get("load-buttons").hidden = own;
  get("add").disabled = state.outputs.length >= LIMITS.classes;
  get("drop").disabled = state.outputs.length < 2;
  get("split").hidden = state.outputs.length < 2;
  get("split").textContent = apart ? "One input length for all" : "An input length for each";
}

function addInput(host, k, name) {
  sliders.add(host, {
    label: `Input length${name}`, unit: "tokens", values: INPUTS,
    read: () => state.inputs[k], write: value => { state.inputs[k] = value; },
  });
}

function addClass(host, k, apart) {
  const box = document.createElement("div"), name = state.outputs.length > 1 ? ` ${k + 1}` : "";
  box.className = "class";
  host.append(box);
  if (apart) addInput(box, k, name);
  sliders.add(box, {
    label: `Output length${name}`, unit: "tokens", values: OUTPUTS,
    read: () => state.outputs[k][0], write: value => { state.outputs[k][0] = value; },
  });
  if (!name) return;
  sliders.add(box, {
    label: `Share${name}`, unit: "parts", least: 1, most: Math.max(100, ...parts),
    told: () => `parts: ${short(100 * parts[k] / parts.reduce((a, b) => a + b), 3)} %`,
    read: () => parts[k], write: value => { parts[k] = value; share(); },
  });
}

/** What requests hold besides every token that they have. */
function addHolding(host) {
  const { holding } = state;
  sliders.add(host, {
    label: "Sliding window, 0 for none", unit: "tokens", values: WINDOWS,
    read: () => holding.window ?? 0, write: value => { holding.window = value || null; },
  });
  sliders.add(host, {
    label: "Layers with that window", unit: "%", least: 1, most: 100, hidden: () => holding.window === null,
    read: () => holding.share, write: value => { holding.share = Math.round(value); },
  });
  sliders.add(host, {
    label: "Speculative decoding", unit: "drafts an iteration", least: 0, most: LIMITS.drafts,
    read: () => holding.drafts, write: value => { holding.drafts = value; },
  });
  sliders.add(host, {
    label: "Acceptance of a draft", unit: "%", least: 0, most: 100, hidden: () => !holding.drafts,
    read: () => holding.acceptance, write: value => { holding.acceptance = Math.round(value); },
  });
}

function addPush(host) {
  sliders.add(host, {
    label: "Newest requests above the balance", unit: "%", least: 0, most: 100, hidden: () => state.start.kind !== "over",
    read: () => state.start.percent ?? 25,
    write: value => { state.start = { kind: "over", percent: Math.round(value * 1000) / 1000 }; },
  });
  sliders.add(host, {
    label: "Steps to run", unit: "steps", values: grid(LIMITS.fewestIterations, LIMITS.iterations),
    read: () => state.iterations, write: value => { state.iterations = value; },
  });
}

function share() {
  const divisor = parts.reduce(gcd);
  parts.forEach((part, k) => { state.outputs[k][1] = part / divisor; });
}

/** Change the state, and show what follows: `moved` is the control in a hand. */
function move(change, moved = null) {
  const began = performance.now(), before = structuredClone({ state, parts });
  change();
  // no link could hold it
  const refused = largestPart(state) > LIMITS.part ? `Lengths that are equal count as one, of at most ${short(LIMITS.part)} parts` :
    longestOutput(state, data.loads) > LIMITS.output ? `Outputs have at most ${short(LIMITS.output)} tokens` :
    smallestMemory(state, data.loads) > LIMITS.capacity ? `The largest request needs more than ${short(LIMITS.capacity)} tokens` : "";
  if (refused) {
    Object.assign(state, before.state, { holding: Object.assign(state.holding, before.state.holding) }); // sliders hold it
    parts = before.parts;
  }
  const least = smallestMemory(state, data.loads);
  if (state.capacity < least) {
    if (moved) say(`KV memory raised to ${short(least)} tokens: the largest request needs that much.`);
    state.capacity = least;
  } else say(refused && `${refused}: that change was not made.`);
  const spent = moved && walksLong() ? computeLater() : compute();
  sliders.show(refused ? null : moved);
  clearTimeout(writing); // browsers limit how often an address may change
  writing = setTimeout(remember, 200);
  get("here").setAttribute("href", `#${writeLink(state)}`);
  if (!moved || !spent) return;
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
  const line = `Last move: ${total.toFixed(1)} ms (modes ${spent.modes.toFixed(1)}, ${state.iterations} steps ${spent.map.toFixed(1)}, drawing ${(total - spent.modes - spent.map).toFixed(1)}).`;
  get("timing").textContent = line;
}

// ------------------------------------------------------------------------------ what follows

const SOON = 150;       // ms without a move until that is computed which takes long
const QUICK = 4096;     // points of the circle for which it does not
const LONG_WALK = 4096; // tokens of output with drafts from which it does

/** Whether a move takes a walk through the places of long outputs: drafts make its ages many. */
function walksLong() {
  return state.holding.drafts > 0 && longestOutput(state, data.loads) > LONG_WALK && keyOf(state) !== last.key;
}

function computeLater() {
  clearTimeout(settling);
  settling = setTimeout(compute, SOON);
  get("verdict").className = "";
  get("says").textContent = "Computed when the slider rests";
  get("why").textContent = "Drafts on outputs this long take a moment.";
  get("proof").textContent = "";
  return null;
}

/** What neither memory nor start changes: weights, and what is known of their modes. */
function judgeState() {
  const key = keyOf(state);
  if (key === last.key) return last;
  const classes = classesOf(state, data.loads), weights = footprintWeights(classes, state.holding);
  if (!areFew(weights.memory)) return { key, classes, weights, judged: countModes(weights.memory), modes: null };
  const modes = findModes(weights.memory, last.modes ?? null);
  return { key, classes, weights, judged: modes, modes };
}

function compute() {
  const t0 = performance.now();
  last = judgeState();
  const { classes, weights, modes } = last, judged = modes ?? last.judged;
  const t1 = performance.now();
  const model = cohortModel(weights, state.capacity, LIMITS.stages);
  let start = startMasses(model, state.start);
  const plain = model.unit === 1 && state.holding.window === null && !state.holding.drafts;
  if (start === null || (state.start.kind === "list" && !plain)) {
    say("The masses to start from are of another system; it starts from the balance, pushed.");
    state.start = { kind: "over", percent: 25 };
    start = startMasses(model, state.start);
  }
  const found = run(model, start, state.iterations), late = lateHalf(model, found);
  const t2 = performance.now();
  const shown = { classes, weights, model, found, late, judged, noise: null };
  tellVerdict(judged, late);
  picture.load(model, found);
  get("steps").hidden = model.unit === 1;
  get("steps").textContent = `Requests live long here: what is drawn by iteration, and the run, goes in steps of ${model.unit} iterations. The verdict, the modes and chance are of single iterations.`;
  tellPreset();
  clearTimeout(settling);
  if (areFew(weights.memory) && pointsFor(weights.memory.length, judged.radius) <= QUICK) settle(shown);
  else {
    tellDetails(shown);
    settling = setTimeout(() => settle(shown), SOON);
  }
  return { modes: t1 - t0, map: t2 - t1 };
}

/** What follows where nothing moves: where there are many modes the leading one, in parts between
 *  which the page answers, and chance. */
function settle(shown, search = searchModes(shown.weights.memory)) {
  const { classes, weights } = shown;
  if (!last.modes) {
    const { done, value } = search.next();
    if (done) last.modes = value;
    settling = setTimeout(() => settle(shown, search));
    return;
  }
  const { modes } = last, known = modes.verdict === "stable" && Number.isFinite(modes.radius);
  const noise = known ? runningNoise(classes, state.holding, weights, state.capacity, modes.radius) : null;
  tellDetails({ ...shown, judged: modes, noise });
}

function tellDetails(shown) {
  const { model, judged, late, found, noise } = drawn = shown;
  tellNumbers(model, judged, late, noise);
  drawTimes(model, found, late, noise);
  get("t-band").hidden = !noise;
  if (!judged.re) return;
  plane.show(judged);
  get("some").hidden = judged.re.length >= judged.modes;
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
  const proved = data.proved[keyOf(state)], options = asOptions();
  get("proof").textContent = proved
    ? `Proved in exact arithmetic before this page was made: ${proved.verdict.toUpperCase()}, ${proved.reason} (${proved.evidence}).`
    : `Float, not proved.${options ? ` To have it proved: fluidkv study ${options}` : ""}`;
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

/** What is shown, as options of a command; null where lengths that its words scale are scaled again,
 *  rounded in between, which no option does. */
function asOptions() {
  const { load, scale, outputs, inputs, capacity, holding } = canonical(state), whole = outputs.reduce((sum, pair) => sum + pair[1], 0);
  const words = load === null
    ? outputs.map(([length, part], k) => `--class ${inputs[k] ?? inputs[0]}:${length}${outputs.length > 1 ? `:${part}/${whole}` : ""}`)
    : [data.loads[load].words, ...["input", "output"].flatMap((name, i) => (scale[i] === 100 ? [] : [`--scale-${name} ${scale[i] / 100}`]))];
  if (load !== null && ["input", "output"].some((name, i) => scale[i] !== 100 && words[0].includes(`--scale-${name} `))) return null;
  words.push(`--capacity ${capacity}`);
  if (holding.window !== null) words.push(`--sliding-window ${holding.window}${holding.share < 100 ? `:${holding.share / 100}` : ""}`);
  if (holding.drafts) words.push(`--speculative ${holding.drafts}:${holding.acceptance / 100}`);
  return words.join(" ");
}

function tellNumbers(model, judged, late, noise) {
  const growth = judged.radius - 1, known = judged.modes > 0 && Number.isFinite(judged.radius);
  const rows = [
    ["Running at the balance", short(model.inFlight), "requests"],
    ["Swings by chance", noise ? `± ${short(noise.deviation, 3)}` : "-", noise ? `around ${short(noise.mean)} requests` : "requests, where stable"],
    ["Admitted at the balance", short(model.rate / model.unit), "requests per iteration"],
    ["Throughput in the last half", `${short(100 * late.throughput)} %`, "of the balance"],
    ["Preemptions in the last half", late.evicting ? short(late.evictions, 3) : "0", "per completed request"],
    ["Leading mode", known ? `${growth >= 0 ? "+" : "−"}${short(Math.abs(100 * growth), 3)} %` : "-", "per iteration"],
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

function drawTimes(model, found, late, noise) {
  const { unit } = model, each = values => values.map(value => noDust(value) / unit);
  const admitted = each(found.admitted), evicted = each(found.evicted), rate = model.rate / unit;
  const share = found.demand.map(tokens => 100 * tokens / model.capacity);
  const settled = Math.min(2, found.iterations - 1); // an empty server's first burst is off the scale
  times.running.show(found.running, { unit, reference: model.inFlight, floor: null, from: settled, band: noise && [Math.max(0, noise.mean - noise.deviation), noise.mean + noise.deviation] });
  times.admitted.show(admitted, { unit, reference: rate, from: settled, first: 1 });
  const low = Math.min(99, Math.floor(share.reduce((a, b) => Math.min(a, b)) / 10) * 10);
  times.memory.show(share, { unit, reference: 100, floor: low, limit: 100 + 1e-7, ceiling: 102 });
  times.evicted.show(evicted, { unit, ceiling: rate * 0.1 });
  Object.values(times).forEach(chart => chart.point(picture.now));
  const most = values => short(values.reduce((a, b) => Math.max(a, b)));
  const span = `over ${short(found.iterations * unit)} iterations`;
  const chance = noise ? ` Whole requests swing by chance by ${short(noise.deviation, 3)} around ${short(noise.mean)}.` : "";
  get("d-running").textContent = `${span}: from ${short(found.running[0])} to ${short(found.running.at(-1))}, at most ${most(found.running)}; the balance is ${short(model.inFlight)}.${chance}`;
  get("d-admitted").textContent = `${span}: at most ${most(admitted)} in one iteration; the balance is ${short(rate)}.`;
  get("d-memory").textContent = `${span}: at most ${most(share)} per cent of capacity.`;
  get("d-evicted").textContent = `${span}: at most ${most(evicted)} in one iteration; ${late.evicting ? "still going on at the end" : "none in the last half"}.`;
}

function tellPreset() {
  const link = writeLink(state), preset = data.presets.find(each => each.link === link);
  get("preset").value = preset ? preset.name : "";
  get("finding").hidden = !preset;
  get("start").value = state.start.kind;
  get("start").querySelector("[value=list]").disabled = state.start.kind !== "list";
  if (!preset) return;
  get("finding").replaceChildren(preset.finding);
  if (!preset.claims.length) return;
  const claims = document.createElement("code");
  claims.textContent = preset.claims.join(" ");
  get("finding").append(" Checked by: fluidkv verify ", claims);
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
  get("preset").append(new Option("your own server", ""));
  for (const label of new Set(data.presets.map(each => each.group))) {
    const group = document.createElement("optgroup");
    group.label = label;
    group.append(...data.presets.filter(each => each.group === label).map(each => new Option(each.title, each.name)));
    get("preset").append(group);
  }
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
  if (state.inputs.length > 1) state.inputs.push(state.inputs.at(-1));
  parts.push(Math.max(1, Math.round(parts.reduce((a, b) => a + b) / parts.length)));
  share();
}));
get("drop").addEventListener("click", () => edit(() => {
  state.outputs.pop();
  if (state.inputs.length > 1) state.inputs.pop();
  parts.pop();
  share();
}));
get("split").addEventListener("click", () => edit(() => {
  state.inputs = state.inputs.length > 1 ? state.inputs.slice(0, 1) : state.outputs.map(() => state.inputs[0]);
}));
get("own").addEventListener("click", () => edit(() => {
  const classes = classesOf(state, data.loads), whole = classes.reduce((sum, each) => sum + each[2], 0);
  const mean = k => Math.max(1, Math.round(classes.reduce((sum, each) => sum + each[k] * each[2], 0) / whole));
  Object.assign(state, { load: null, scale: [100, 100], inputs: [Math.min(mean(0), LIMITS.input)], outputs: [[mean(1), 1]] });
  parts = [PARTS];
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
addEventListener("resize", () => {
  measure();
  tellDetails(drawn);
  picture.load(drawn.model, drawn.found);
});
open(location.hash.slice(1));
if (embedded && !picture.still.matches) picture.start();

// For tests, and for the curious in the console.
globalThis.fluidkv = { state: () => state };
