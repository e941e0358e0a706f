// What the page shows, and the part of its address behind "#"; as fluidkv/explore/state.py.

const WHOLE = /^[0-9]{1,9}$/, MOST = 999_999_999;
const DECIMAL = /^[0-9]{1,9}(\.[0-9]{1,6})?$/;

/** The state of a text such as "in=50&out=2:1,4:1&kv=626&start=over:25&n=200"; fields that are left
 *  out are those of `fallback`.
 *  @returns {state, error}: one of them is null */
export function readLink(text, limits, fallback) {
  const state = { ...fallback }, seen = new Set();
  try {
    for (const item of text.split("&").filter(Boolean)) {
      const [name, value = "", ...more] = item.split("=");
      if (more.length) refuse(name, item, "one = in a field");
      if (seen.has(name)) refuse(name, value, "one field of this name");
      seen.add(name);
      if (Object.hasOwn(READERS, name)) READERS[name](state, decoded(name, value), limits);
      else if (!OPTIONS.includes(name)) refuse(name, value, `one of ${[...Object.keys(READERS), ...OPTIONS].join(", ")}`);
    }
    const least = smallestMemory(state);
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
  return `${keyOf(state)}&kv=${state.capacity}&start=${startText(state.start)}&n=${state.iterations}`;
}

/** What decides the verdict: all but the capacity and the start. */
export function keyOf(state) {
  return `in=${state.input}&out=${canonical(state).outputs.map(pair => pair.join(":")).join(",")}`;
}

/** Tokens that the cache needs at least: more than the largest request. */
export function smallestMemory(state) {
  return state.input + Math.max(...state.outputs.map(([length]) => length)) + 1;
}

/** The most parts of one length, as a link has them. */
export function largestPart(state) {
  return Math.max(...canonical(state).outputs.map(([, part]) => part));
}

/** Equal lengths together, shortest first, parts without a common divisor. */
export function canonical(state) {
  const parts = new Map();
  for (const [length, part] of state.outputs) parts.set(length, (parts.get(length) ?? 0) + part);
  const divisor = [...parts.values()].reduce(gcd);
  const outputs = [...parts].map(([length, part]) => [length, part / divisor]).sort((a, b) => a[0] - b[0]);
  return { ...state, outputs };
}

export function gcd(a, b) {
  while (b) [a, b] = [b, a % b];
  return a;
}

const OPTIONS = ["theme", "preset"];

const READERS = {
  in: (state, text, limits) => { state.input = whole("in", text, 1, limits.input); },
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
};

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
