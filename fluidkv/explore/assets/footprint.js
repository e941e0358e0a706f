// What requests hold on average at each age: A = E P and B = E Q of fluidkv/footprints.
//
// A request of lengths l0 and l1 holds l0 + 1 + K in its first iteration, K slots being reserved for
// drafts, and then walks along places m = 0 ... l1 - 2, where it holds l0 + 2 + K + m, or W + K if
// that is less in layers with a window of W. Each iteration it goes 1 ... K + 1 places on.

/** Chances of 1, 2, ... K + 1 tokens in an iteration. */
export function stepsOf({ drafts, acceptance }) {
  const steps = [];
  let reached = 1;
  for (let k = 0; k < drafts; k++) {
    steps.push(reached * (100 - acceptance) / 100);
    reached *= acceptance / 100;
  }
  return [...steps, reached];
}

/** E of memory and requests left at each age, of one admitted request, times `denominator`.
 *  @param classes [[input, output, part], ...]
 *  @param holding {window, share, drafts, acceptance}: window null for none, share and acceptance
 *  in per cent
 *  @returns {memory, requests, denominator}; whole numbers, and exact, where nothing is drawn */
export function footprintWeights(classes, holding) {
  const { held, alive, first, denominator } = placesOf(classes, holding);
  const [memory, requests] = walked([held, alive], stepsOf(holding));
  const behind = (start, rest) => {
    const all = new Float64Array(rest.length + 1);
    all[0] = start;
    all.set(rest, 1);
    return all;
  };
  return { memory: behind(first, memory), requests: behind(denominator, requests), denominator };
}

/** Sums over classes of what is held and who is there at each place; each class may weigh more. */
export function placesOf(classes, { window, share, drafts }, weigh = () => 1) {
  const unit = window === null || share === 100 ? 1 : 100;
  const less = window === null ? 0 : unit * share / 100, most = (window ?? 0) + drafts;
  const places = Math.max(...classes.map(([, output]) => output)) - 1;
  const jumps = new Float64Array(places + 1), slopes = new Float64Array(places + 1), ends = new Float64Array(places + 1);
  let first = 0, denominator = 0;
  for (const each of classes) {
    const [input, output, part] = each, last = output - 1, begins = input + 2 + drafts;
    const count = part * weigh(each);
    first += count * unit * (begins - 1);
    denominator += count * unit;
    if (!last) continue;
    const ramp = (from, value, slope) => { // from a place on, to the last one
      if (from >= last) return;
      jumps[from] += value; slopes[from] += slope;
      jumps[last] -= value + slope * (last - from); slopes[last] -= slope;
    };
    ramp(0, count * unit * begins, count * unit);
    if (less) ramp(Math.max(0, most - begins), -count * less * Math.max(0, begins - most), -count * less);
    ends[last] += count * unit;
  }
  const held = new Float64Array(places), alive = new Float64Array(places);
  let value = 0, slope = 0, left = denominator - classes.reduce((n, each) => n + (each[1] === 1 ? each[2] * weigh(each) * unit : 0), 0);
  for (let m = 0; m < places; m++) {
    value += jumps[m];
    slope += slopes[m];
    left -= ends[m];
    held[m] = value;
    alive[m] = left;
    value += slope;
  }
  return { held, alive, first, denominator, unit };
}

const NOTHING = 1e-20; // chance of a place that is left out

/** Means of functions of the place after k = 0, 1, ... iterations of a walk from place 0. */
export function walked(functions, steps) {
  const places = functions[0].length;
  if (steps.length === 1) return functions;
  const shortest = steps.findIndex(chance => chance > 0) + 1, ages = Math.ceil(places / shortest);
  const means = functions.map(() => new Float64Array(ages));
  let chances = new Float64Array(places), next = new Float64Array(places), low = 0, high = 0;
  chances[0] = 1;
  for (let k = 0; k < ages && low <= high; k++) {
    for (let i = 0; i < functions.length; i += 2) { // two at once, which takes little longer than one
      const f = functions[i], g = functions[i + 1] ?? f;
      let first = 0, second = 0;
      for (let m = low; m <= high; m++) {
        first += chances[m] * f[m];
        second += chances[m] * g[m];
      }
      means[i][k] = first;
      if (i + 1 < functions.length) means[i + 1][k] = second;
    }
    const to = Math.min(places - 1, high + steps.length);
    next[low] = 0;
    for (let m = low + 1; m <= to; m++) {
      let sum = 0;
      const last = Math.max(0, m - 1 - high);
      for (let j = Math.min(steps.length, m - low) - 1; j >= last; j--) sum += chances[m - j - 1] * steps[j];
      next[m] = sum;
    }
    [chances, next] = [next, chances];
    high = to;
    while (low <= high && chances[low] < NOTHING) low++;
    while (low <= high && chances[high] < NOTHING) high--;
  }
  return means;
}
