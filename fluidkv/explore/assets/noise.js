// How far running requests swing by chance in a stable full server: fluidkv/footprints/densities.py.
//
// Each request draws its lengths and its steps. Second moments are sums along lags k of
// E phi(j) phi(j + k), and the spectral density of what runs is, with u admitted an iteration and v
// the variance of the slack that whole requests leave,
//     S_R = u E|Q - (B / A) P|^2 + v |B / A|^2    at exp(-i w).

const MOST_POINTS = 2 ** 18;

/** Points of the circle that are enough for the slowest mode. */
export function pointsFor(ages, radius) {
  const wanted = Math.max(64, ages, Math.min(Math.max(4 * ages, 40 / Math.max(1e-6, 1 - radius)), MOST_POINTS));
  return 2 ** Math.ceil(Math.log2(wanted));
}

/** Mean and standard deviation of running requests, and the period at which they swing most.
 *  @param weights A and B, as `footprintWeights`
 *  @param radius of the leading mode, below 1: how many points of the circle are enough
 *  @returns {mean, deviation, period}; period null where no frequency stands out */
export function runningNoise(classes, holding, weights, capacity, radius) {
  const points = pointsFor(weights.memory.length, radius);
  const lags = laggedMoments(classes, holding), free = slackOf(classes, holding, capacity);
  const over = values => values.map(each => each / weights.denominator);
  const [A, B] = onCircle(over(weights.memory), over(weights.requests), points);
  const [P2, Q2] = onCircle(lags.memory, lags.running, points);
  const [ahead, behind] = onCircle(lags.ahead, lags.behind, points);
  const rate = (capacity - free.mean) / A.re[0];
  let sum = 0, highest = 0, peak = 0;
  for (let k = 0; k <= points / 2; k++) {
    const scale = 1 / (A.re[k] ** 2 + A.im[k] ** 2);
    const x = (B.re[k] * A.re[k] + B.im[k] * A.im[k]) * scale, y = (B.im[k] * A.re[k] - B.re[k] * A.im[k]) * scale;
    const size = x * x + y * y, crossRe = ahead.re[k] + behind.re[k], crossIm = ahead.im[k] - behind.im[k];
    const alive = 2 * Q2.re[k] - lags.running[0] - 2 * (crossRe * x + crossIm * y) + size * (2 * P2.re[k] - lags.memory[0]);
    const density = rate * Math.max(0, alive) + free.variance * size;
    sum += k === 0 || k === points / 2 ? density : 2 * density;
    if (density > highest) [highest, peak] = [density, k];
  }
  return {
    mean: rate * B.re[0], deviation: Math.sqrt(sum / points),
    period: peak && highest > 1e-9 * rate ? points / peak : null,
  };
}

/** Slack of whole requests: uniform below the first tokens of the one that waits, in grains of which
 *  all that is ever held is a multiple. */
export function slackOf(classes, { window, share, drafts }, capacity) {
  const unit = window === null ? 1 : 100 / gcd(share, 100), less = window === null ? 0 : unit * share / 100;
  let parts = 0, weight = 0, mean = 0, square = 0; // of a token
  for (const [input, output] of classes) {
    const first = input + 1 + drafts, count = output - 1, kink = window === null ? count : Math.max(0, window + drafts - first - 1);
    parts = gcd(parts, unit * first);
    if (count) parts = gcd(parts, unit * (first + 1) - less * Math.max(0, first + 1 - (window ?? 0) - drafts));
    if (Math.min(kink, count - 1) > 0) parts = gcd(parts, unit);
    if (count > kink + 1) parts = gcd(parts, unit - less);
  }
  const grain = parts / unit;
  for (const [input, , part] of classes) {
    const places = (input + 1 + drafts) / grain;
    weight += part * places;
    mean += part * places * (places - 1) / 2;
    square += part * places * (places - 1) * (2 * places - 1) / 6;
  }
  mean /= weight;
  return { mean: capacity % grain + grain * mean, variance: grain ** 2 * (square / weight - mean ** 2) };
}

/** Sums over j of E phi(j) phi(j + k), E psi(j) psi(j + k), E phi(j) psi(j + k) and, without lag 0,
 *  E psi(j) phi(j + k): of P = first + z W, Q = 1 + z V with a walk W, V. */
export function laggedMoments(classes, holding) {
  const steps = stepsOf(holding), whole = classes.reduce((sum, each) => sum + each[2], 0);
  const firstOf = ([input]) => input + 1 + holding.drafts;
  const plain = placesOf(classes, holding), weighted = placesOf(classes, holding, firstOf);
  const along = alongWalks(classes, holding, visitsOf(steps, plain.held.length));
  const [W, V, firstW, firstV, ...drawn] = walked([plain.held, plain.alive, weighted.held, weighted.alive, ...along], steps);
  const unit = plain.unit * whole, mean = plain.first / unit;
  const square = classes.reduce((sum, each) => sum + each[2] * firstOf(each) ** 2, 0) / whole;
  const lagged = (walk, zero, cross, over) => {
    const all = new Float64Array(walk.length + 1);
    all[0] = zero + (walk[0] ?? 0) / whole;
    for (let k = 1; k < all.length; k++) all[k] = (walk[k] ?? 0) / whole + cross[k - 1] / over;
    return all;
  };
  const behind = lagged(drawn[3], 0, W, unit);
  behind[0] = 0;
  return {
    memory: lagged(drawn[0], square, firstW, unit), running: lagged(drawn[1], 1, V, unit),
    ahead: lagged(drawn[2], mean, firstV, unit), behind,
  };
}

/** How often a walk visits each place. */
function visitsOf(steps, places) {
  const visits = new Float64Array(places);
  for (let s = 0; s < places; s++) {
    visits[s] = s === 0 ? 1 : 0;
    steps.forEach((chance, j) => { if (s > j) visits[s] += chance * visits[s - j - 1]; });
  }
  return visits;
}

/** Sums over places s of visits(s) x(s) y(s + m) for each m, of x, y what is held and who is there;
 *  what is held is a + b s, and beyond a place where a window begins to slide another such line. */
function alongWalks(classes, { window, share, drafts }, visits) {
  const places = visits.length, powers = [0, 1, 2].map(() => new Float64Array(places + 1));
  for (let s = 0; s < places; s++) powers.forEach((sum, i) => { sum[s + 1] = sum[s] + visits[s] * s ** i; });
  const [S0, S1, S2] = powers, sums = [0, 1, 2, 3].map(() => new Float64Array(places));
  const [held, alive, ahead, behind] = sums;
  const less = window === null ? 0 : share / 100, most = (window ?? 0) + drafts;
  const lines = new Map(); // those of one line, by slope and places: sums of parts, parts a, parts a^2
  const line = (slope, count, part, a) => {
    const key = slope === 1 ? count : -count;
    const sum = lines.get(key) ?? [slope, count, 0, 0, 0];
    sum[2] += part; sum[3] += part * a; sum[4] += part * a * a;
    lines.set(key, sum);
  };
  for (const [input, output, part] of classes) {
    const count = output - 1, a = input + 2 + drafts, kink = most - a;
    if (!less || kink >= count) line(1, count, part, a);
    else if (kink <= 0) line(1 - less, count, part, a - less * (a - most));
    else bent(count, part, a, kink);
  }
  for (const [b, count, part, first, square] of lines.values()) {
    for (let m = 0; m < count; m++) {
      const r = count - m, s0 = S0[r], s1 = S1[r], s2 = S2[r];
      held[m] += square * s0 + first * b * (2 * s1 + m * s0) + part * b * b * (s2 + m * s1);
      alive[m] += part * s0;
      ahead[m] += first * s0 + part * b * s1;
      behind[m] += first * s0 + part * b * (s1 + m * s0);
    }
  }
  /** Of one class: the lines meet at the place `kink`. */
  function bent(count, part, a, kink) {
    const b = 1 - less, c = a + less * kink; // beyond it: c + b s
    for (let m = 0; m < count; m++) {
      const r = count - m, p = Math.max(0, Math.min(kink - m, r)), q = Math.min(kink, r);
      const [low0, low1, low2] = [S0[p], S1[p], S2[p]];
      const mid0 = S0[q] - low0, mid1 = S1[q] - low1, mid2 = S2[q] - low2;
      const top0 = S0[r] - S0[q], top1 = S1[r] - S1[q], top2 = S2[r] - S2[q];
      const then = c + b * m;
      held[m] += part * (a * (a + m) * low0 + (2 * a + m) * low1 + low2
        + a * then * mid0 + (a * b + then) * mid1 + b * mid2
        + c * then * top0 + (c * b + b * then) * top1 + b * b * top2);
      alive[m] += part * S0[r];
      ahead[m] += part * (a * S0[q] + S1[q] + c * top0 + b * top1);
      behind[m] += part * ((a + m) * low0 + low1 + then * (mid0 + top0) + b * (mid1 + top1));
    }
  }
  return sums;
}
