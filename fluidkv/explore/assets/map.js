// The mass model on cohorts: one decoding iteration is execute, arrive, evict, admit.
//
// A state is the mass y_s of each cohort by age s = 0 ... d-1, in units of admission: the requests
// that were admitted together s iterations ago. Of a unit, alpha_s requests are left, which hold V_s
// tokens. The same as fluidkv/exact/mass.py on states of this form, in floating point.
// Source: Congestion, sections 2.2, 2.3 and 4.1, Appendix B.8.

/** What the iteration needs to know: V, alpha, the capacity and the equilibrium rate x*.
 *
 *  A request that lives longer than `stages` iterations is drawn in steps of several: V and alpha are
 *  means over the iterations of a step, and a cohort is what is admitted in one. What walks on beyond
 *  all but a billionth of the requests is left out.
 *  @param weights A and B, as `footprintWeights`
 *  @returns beside V (`memory`) and alpha (`requests`): `unit`, iterations of a step; rate, requests
 *  admitted in one; inFlight, requests at the equilibrium */
export function cohortModel(weights, capacity, stages) {
  const { denominator } = weights;
  let ages = weights.memory.length;
  while (weights.requests[ages - 1] < 1e-9 * denominator) ages--;
  const unit = Math.ceil(ages / stages);
  const means = values => Float64Array.from({ length: Math.ceil(ages / unit) }, (_, s) => sum(values.subarray(s * unit, Math.min(ages, (s + 1) * unit))) / unit / denominator);
  const memory = means(weights.memory), requests = means(weights.requests), rate = capacity / sum(memory);
  return { memory, requests, capacity, unit, rate, inFlight: rate * sum(requests) };
}

/** One iteration. Requests, all classes: completed, evicted, admitted; `demand` is memory before
 *  eviction, tokens. `executed` and `kept` are written into, where they are given. */
export function iterate(model, state, executed = blank(state), kept = blank(state)) {
  const completed = execute(model, state, executed);
  const waiting = arrive();
  const { free, demand } = evict(model, executed, kept);
  let evicted = 0;
  for (let s = 1; s < kept.length; s++) evicted += model.requests[s] * (executed[s] - kept[s]);
  const admitted = admit(model, kept, free, waiting);
  return { completed, evicted, demand, admitted, executed, state: kept };
}

/** Every running request gets one token and moves up a stage; the last ones complete. */
export function execute(model, state, executed) {
  const d = state.length;
  let completed = 0;
  executed[0] = 0;
  for (let s = 0; s < d; s++) {
    const left = s + 1 < d ? model.requests[s + 1] : 0;
    completed += (model.requests[s] - left) * state[s];
    if (s + 1 < d) executed[s + 1] = state[s];
  }
  return completed;
}

/** The queue never empties: the saturated regime. */
export function arrive() {
  return Infinity;
}

/** Least progressed first, said the other way round: memory is handed out from the oldest cohort to
 *  the youngest. The first one that needs more than is left keeps what fits, those below it nothing.
 *
 *  Ties as in mass.py: memory exactly at capacity evicts nothing; a cohort that is emptied exactly
 *  leaves the next one alone. Once memory is full, `free` is exactly 0, and so are emptied cohorts
 *  and the admission. */
export function evict(model, executed, kept) {
  let free = model.capacity, demand = 0;
  for (let s = executed.length - 1; s >= 0; s--) {
    const needed = model.memory[s] * executed[s];
    demand += needed;
    if (needed > free) {
      kept[s] = executed[s] * (free / needed);
      free = 0;
    } else {
      kept[s] = executed[s];
      free -= needed;
    }
  }
  return { free, demand };
}

/** What memory is free is filled at stage 0, which execution left empty; classes in proportion to
 *  their shares. */
export function admit(model, kept, free, waiting) {
  const admitted = Math.min(free / model.memory[0], waiting);
  kept[0] = admitted;
  return admitted;
}

/** Requests running, all classes. */
export function running(model, state) {
  let total = 0;
  for (let s = 0; s < state.length; s++) total += model.requests[s] * state[s];
  return total;
}

/** Y^0 of a start, memory exactly full where it is pushed; null where a list does not fit. */
export function startMasses(model, start) {
  const d = model.memory.length;
  if (start.kind === "empty") return new Float64Array(d);
  if (start.kind === "list") {
    if (start.masses.length !== d) return null;
    const held = start.masses.reduce((total, y, s) => total + model.memory[s] * y, 0);
    return held <= model.capacity * (1 + 1e-12) ? Float64Array.from(start.masses) : null;
  }
  const masses = new Float64Array(d).fill(model.rate);
  masses[0] = Math.min(model.rate * (1 + start.percent / 100), model.capacity / model.memory[0]);
  let excess = (masses[0] - model.rate) * model.memory[0];
  for (let s = d - 1; s > 0; s--) {
    const taken = Math.min(excess, masses[s] * model.memory[s]);
    masses[s] -= taken / model.memory[s];
    excess -= taken;
  }
  masses[0] -= excess / model.memory[0];
  return masses;
}

/** X^0 ... X^n, row after row, and what happened on the way; entry 0 of a flow is 0. */
export function run(model, start, iterations) {
  const d = start.length, states = new Float64Array((iterations + 1) * d);
  const flow = () => new Float64Array(iterations + 1);
  const found = {
    states, ages: d, iterations, running: flow(), completed: flow(), evicted: flow(),
    admitted: flow(), demand: flow(),
  };
  const executed = blank(start);
  let state = start;
  states.set(state);
  found.running[0] = running(model, state);
  found.demand[0] = evict(model, state, executed).demand;
  for (let n = 1; n <= iterations; n++) {
    const step = iterate(model, state, executed, states.subarray(n * d, (n + 1) * d));
    state = step.state;
    found.running[n] = running(model, state);
    for (const name of ["completed", "evicted", "admitted", "demand"]) found[name][n] = step[name];
  }
  return found;
}

function blank(state) {
  return new Float64Array(state.length);
}

/** Means over the last half of a run: completed over x*, evicted over completed, and whether more
 *  was evicted than rounding does. */
export function lateHalf(model, found) {
  const from = Math.floor(found.iterations / 2) + 1;
  const completed = mean(found.completed, from), evicted = mean(found.evicted, from);
  return {
    throughput: completed / model.rate,
    evictions: completed > 0 ? evicted / completed : NaN,
    evicting: evicted > 1e-9 * model.rate,
  };
}

function mean(values, from) {
  return sum(values.subarray(from)) / (values.length - from);
}

function sum(values) {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
