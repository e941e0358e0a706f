// What the page shows, and the part of its address behind "#"; as fluidkv/explore/state.py, and with
// `scale`, per cent of the lengths of a load.

const WHOLE = /^[0-9]{1,9}$/, MOST = 999_999_999;
const DECIMAL = /^[0-9]{1,9}(\.[0-9]{1,6})?$/;

/** Values of fields that a link leaves out. */
export const DEFAULTS = {
  load: null, inputs: [50], outputs: [[2, 1], [4, 1]], scale: [100, 100],
  holding: { window: null, share: 100, drafts: 0, acceptance: 60 },
};

/** The state of a text such as "in=50&out=2:1,4:1&kv=626&start=over:25&n=200"; fields that are left
 *  out are those of `fallback`, but what requests hold and how a load is scaled: that is nothing else
 *  than its every token.
 *  @param limits largest values, and `loads` by their names
 *  @returns {state, error}: one of them is null */
export function readLink(text, limits, fallback) {
  const { holding, scale } = DEFAULTS, seen = new Set();
  const state = { ...DEFAULTS, ...structuredClone(fallback), holding: { ...holding }, scale: [...scale] };
  try {
    for (const item of text.split("&").filter(Boolean)) {
      const [name, value = "", ...more] = item.split("=");
      if (more.length) refuse(name, item, "one = in a field");
      if (seen.has(name)) refuse(name, value, "one field of this name");
      seen.add(name);
      if (Object.hasOwn(READERS, name)) READERS[name](state, decoded(name, value), limits);
      else if (!OPTIONS.includes(name)) refuse(name, value, `one of ${[...Object.keys(READERS), ...OPTIONS].join(", ")}`);
    }
    const own = seen.has("in") || seen.has("out");
    if (own && seen.has("load")) refuse("load", state.load, "no in and no out beside it");
    if (own) state.load = null;
    if (state.load === null && seen.has("scale")) refuse("scale", state.scale.join(":"), "together with load");
    if (seen.has("out") && !seen.has("in")) state.inputs = state.inputs.slice(0, 1);
    if (![1, state.outputs.length].includes(state.inputs.length)) refuse("in", state.inputs, "one input length, or one for each output length");
    if (longestOutput(state, limits.loads) > limits.output) refuse("scale", state.scale.join(":"), `outputs of at most ${limits.output} tokens`);
    const least = smallestMemory(state, limits.loads);
    if (state.capacity < least) refuse("kv", state.capacity, `at least ${least}, one request and a token`);
    const part = largestPart(state);
    if (part > limits.part) refuse("out", part, `at most ${limits.part} parts for a length, once equal lengths are added`);
    return { state: canonical(state), error: null };
  } catch (error) {
    if (error instanceof RangeError) return { state: null, error: error.message };
    throw error;
  }
}

/** The text of a state. */
export function writeLink(state) {
  const start = startText(state.start);
  return `${loadText(state)}&kv=${state.capacity}&start=${start}&n=${state.iterations}${holdingText(state)}`;
}

/** What decides the verdict: all but the capacity and the start. */
export function keyOf(state) {
  return `${loadText(state)}${holdingText(state)}`;
}

function loadText(state) {
  if (state.load !== null) return `load=${state.load}${state.scale.every(each => each === 100) ? "" : `&scale=${state.scale.join(":")}`}`;
  const { inputs, outputs } = canonical(state);
  return `in=${inputs.join(",")}&out=${outputs.map(pair => pair.join(":")).join(",")}`;
}

function holdingText({ holding: { window, share, drafts, acceptance } }) {
  return `${window === null ? "" : `&window=${window}:${share}`}${drafts ? `&drafts=${drafts}:${acceptance}` : ""}`;
}

/** [input, output, part] of each class. */
export function classesOf({ load, scale, inputs, outputs }, loads) {
  if (load === null) return outputs.map(([length, part], k) => [inputs[k] ?? inputs[0], length, part]);
  const scaled = (tokens, i) => Math.ceil(tokens * scale[i] / 100);
  return loads[load].classes.map(([input, output, part]) => [scaled(input, 0), scaled(output, 1), part]);
}

export function longestOutput(state, loads) {
  return classesOf(state, loads).reduce((most, [, output]) => Math.max(most, output), 1);
}

/** Tokens that the cache needs at least: more than the largest request. */
export function smallestMemory(state, loads) {
  const largest = classesOf(state, loads).reduce((most, [input, output]) => Math.max(most, input + output), 0);
  return largest + state.holding.drafts + 1;
}

/** The most parts of one length, as a link has them. */
export function largestPart(state) {
  return Math.max(...canonical(state).outputs.map(([, part]) => part));
}

/** Equal lengths together, shortest first, parts without a common divisor. */
export function canonical(state) {
  const parts = new Map();
  for (const [input, length, part] of classesOf({ ...state, load: null })) {
    const same = parts.get(`${length}:${input}`) ?? [length, 0, input];
    parts.set(`${length}:${input}`, same);
    same[1] += part;
  }
  const sorted = [...parts.values()].sort((a, b) => a[0] - b[0] || a[2] - b[2]), inputs = sorted.map(each => each[2]);
  const divisor = sorted.map(each => each[1]).reduce(gcd);
  const outputs = sorted.map(([length, part]) => [length, part / divisor]);
  return { ...state, outputs, inputs: new Set(inputs).size > 1 ? inputs : inputs.slice(0, 1) };
}

export function gcd(a, b) {
  while (b) [a, b] = [b, a % b];
  return a;
}

const OPTIONS = ["theme", "preset"];

const READERS = {
  load: (state, text, { loads }) => {
    if (!Object.hasOwn(loads, text)) refuse("load", text, `a load of this page: ${Object.keys(loads).join(", ")}`);
    state.load = text;
  },
  scale: (state, text) => {
    state.scale = pair("scale", text, "INPUTS:OUTPUTS, per cent").map(each => whole("scale", each, 10, 1000));
  },
  in: (state, text, limits) => { state.inputs = text.split(",").map(each => whole("in", each, 1, limits.input)); },
  out: (state, text, limits) => {
    const items = text.split(",");
    if (items.length > limits.classes) refuse("out", text, `at most ${limits.classes} output lengths`);
    state.outputs = items.map(item => {
      const [length, part = "1", ...more] = item.split(":");
      if (more.length) refuse("out", item, "LENGTH:PART, such as 4:1");
      return [whole("out", length, 1, limits.output), whole("out", part, 1, MOST)];
    });
  },
  kv: (state, text, limits) => { state.capacity = whole("kv", text, 3, limits.capacity); },
  n: (state, text, limits) => {
    state.iterations = whole("n", text, limits.fewestIterations, limits.iterations);
  },
  start: (state, text) => {
    const [kind, given = "", ...more] = text.split(":");
    const numbers = given.split(",");
    const plain = !more.length && numbers.every(each => DECIMAL.test(each));
    if (text === "empty") state.start = { kind: "empty" };
    else if (kind === "over" && plain && numbers.length === 1) state.start = { kind, percent: Number(given) };
    else if (kind === "list" && plain) state.start = { kind, masses: numbers.map(Number) };
    else refuse("start", text, "empty, over:PERCENT or list:MASS,MASS,...");
  },
  window: (state, text, limits) => {
    const [tokens, share] = pair("window", text, "TOKENS:PERCENT, such as 128:50");
    state.holding.window = whole("window", tokens, 1, limits.input + limits.output);
    state.holding.share = whole("window", share, 1, 100);
  },
  drafts: (state, text, limits) => {
    const [drafts, acceptance] = pair("drafts", text, "DRAFTS:PERCENT, such as 3:60");
    state.holding.drafts = whole("drafts", drafts, 1, limits.drafts);
    state.holding.acceptance = whole("drafts", acceptance, 0, 100);
  },
};

function pair(name, text, allowed) {
  const parts = text.split(":");
  return parts.length === 2 ? parts : refuse(name, text, allowed);
}

function decoded(name, value) {
  try {
    return decodeURIComponent(value);
  } catch {
    return refuse(name, value, "a % begins a character's code, such as %3A");
  }
}

function startText(start) {
  if (start.kind === "over") return `over:${start.percent}`;
  return start.kind === "list" ? `list:${start.masses.join(",")}` : "empty";
}

function whole(name, text, least, most) {
  const value = Number(text);
  if (!WHOLE.test(text) || value < least || value > most) refuse(name, text, `a whole number from ${least} to ${most}`);
  return value;
}

function refuse(name, value, allowed) {
  throw new RangeError(`${name}: ${String(value).slice(0, 40)}: ${allowed}`);
}
