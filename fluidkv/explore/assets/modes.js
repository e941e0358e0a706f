// The modes of the batch: roots of F(z) = z^(d-1) A(1/z), all of them where outputs are short, and
// where they are long those near the unit circle and the leading one, with the number that grow.
// Source: Congestion, equations (9) and (10).

const ALL = 255;          // modes that are all found
const SOME = 24, FEW = 8; // otherwise pairs that are looked for, and inside a circle behind the leading one
const MOST_COUNTS = 120;  // on circles in search of the leading one
const RING = 1e-7;        // wider than the leaves in which `follow` gives up

/** The verdict alone, in a time that does not show where requests live long; then `findModes`. */
export function countModes(memory) {
  const series = coefficients(memory).reverse(), at = countInside(series, 1);
  let outside = at.inside, close = 0;
  if (at.close) { // rounding alone would say on which side these are
    outside = countInside(series, 1 - RING).inside;
    close = countInside(series, 1 + RING).inside - outside;
  }
  const verdict = outside > 0 ? "unstable" : close > 0 ? "close" : "stable";
  return { verdict, outside, close, modes: memory.length - 1, at };
}

/** Whether all modes are found: few enough to do so at each move of a slider. */
export function areFew(memory) {
  return memory.length - 1 <= ALL;
}

/** Modes and what they say of the equilibrium; in floating point, which proves nothing.
 *  @param memory A, ascending
 *  @param last roots found before, or null: where the search starts
 *  @returns {re, im, error, side, verdict, outside, close, radius, period, modes} as `judge`; where
 *  there are many, roots are the leading one and others near the circle, and radius and period are
 *  NaN where no circle shows which one leads */
export function findModes(memory, last = null) {
  const search = searchModes(memory, last);
  let step = search.next();
  while (!step.done) step = search.next();
  return step.value;
}

/** The same in parts, each of few counts on a circle. */
export function *searchModes(memory, last = null) {
  const ascending = coefficients(memory);
  if (areFew(memory)) {
    const roots = findRoots(ascending, last);
    return { ...roots, ...judge(roots), modes: memory.length - 1 };
  }
  const counted = countModes(memory), series = ascending.slice().reverse();
  yield;
  let roots = mirrored(findRoots(ascending, startsOf(counted.at))), judged = judge(roots), low = smallestRatio(series);
  // the leading one is that in front of which there is none
  let leads = false;
  for (let counts = 1; counts <= MOST_COUNTS; counts++) {
    yield;
    let high = judged.radius ? 1 / judged.radius : beyond(series), at = countInside(series, high * (1 - 1e-7));
    leads = at.inside === 0;
    if (leads) break;
    while (counts < MOST_COUNTS && (at.inside === 0 || (at.inside > FEW && high / low > 1 + 1e-9))) {
      yield;
      const middle = Math.sqrt(low * high);
      at = countInside(series, middle);
      counts++;
      if (at.inside) high = middle;
      else low = middle;
    }
    roots = joined(roots, mirrored(findRoots(ascending, startsOf(at))));
    judged = judge(roots);
  }
  const { verdict, outside, close, modes } = counted, unknown = leads ? {} : { radius: NaN, period: NaN };
  // bounds of so long sums are far above their errors
  return { ...roots, ...judge(roots, new Float64Array(roots.re.length)), ...unknown, verdict, outside, close, modes };
}

/** No zero of a series with positive coefficients is smaller: Enestrom and Kakeya. */
function smallestRatio(series) {
  let least = 1;
  for (let k = 1; k < series.length; k++) least = Math.min(least, series[k - 1] / series[k]);
  return least;
}

/** A circle within which there are zeros. */
function beyond(series) {
  let gap = 1 / series.length;
  while (countInside(series, 1 + gap).inside === 0) gap *= 2;
  return 1 + gap;
}

/** With the other one of each pair. */
function mirrored(roots) {
  return joined(roots, { ...roots, im: roots.im.map(each => -each) });
}

function joined(...each) {
  const all = name => Float64Array.from(each.flatMap(roots => Array.from(roots[name])));
  return { re: all("re"), im: all("im"), error: all("error"), steps: 0 };
}

/** Zeros of A within a circle, by the turns of G = A(z) / z^c around 0, c half the degree: the phase
 *  from point to point where what the derivative says of it fits, else by way of the middle.
 *  @returns {inside, close, radius, centre, A, D}: `close`, whether some are on the circle as far as
 *  one can tell; centre is c; A and D = z A'(z) are at radius exp(-i w) */
export function countInside(series, radius) {
  const scaled = onRadius(series, radius), centre = (scaled.length - 1) / 2;
  const points = 2 ** Math.ceil(Math.log2(8 * scaled.length)), width = 2 * Math.PI / points;
  const [A, D] = onCircle(scaled, scaled.map((value, k) => k * value), points);
  /** G and its derivative by the angle. */
  const centred = (angle, x, y, dx, dy) => {
    const cos = Math.cos(centre * angle), sin = Math.sin(centre * angle), u = dx - centre * x, v = dy - centre * y;
    return [x * cos - y * sin, x * sin + y * cos, u * sin + v * cos, v * sin - u * cos];
  };
  const at = k => centred(width * k, A.re[k], A.im[k], D.re[k], D.im[k]);
  const exact = angle => {
    const values = new Float64Array(5), x = Math.cos(angle), y = -Math.sin(angle);
    evaluate(scaled, x, y, values);
    return centred(angle, values[0], values[1], values[2] * x - values[3] * y, values[2] * y + values[3] * x);
  };
  let turned = 0, close = false;
  const follow = (from, left, to, right) => {
    const h = to - from, phase = Math.atan2(right[1] * left[0] - right[0] * left[1], right[0] * left[0] + right[1] * left[1]);
    const expected = h * (speed(left) + speed(right)) / 2, turns = unwound(phase, expected);
    if (h < TOO_CLOSE) {
      close = true;
      turned += phase;
    } else if (Math.min(distance(left), distance(right)) < 0.5 * h || Math.abs(turns - expected) > 0.5) {
      const angle = (from + to) / 2, middle = between(h, left, right) ?? exact(angle);
      follow(from, left, angle, middle);
      follow(angle, middle, to, right);
    } else turned += turns;
  };
  // the same in numbers alone, where nothing is near: there are many points
  let x = A.re[0], y = A.im[0], fast = centre - D.re[0] / x, far = x / (D.re[0] - centre * x || 1e-300);
  for (let k = 1; k <= points / 2; k++) {
    const p = A.re[k], q = A.im[k], dp = D.re[k], dq = D.im[k], size = p * p + q * q;
    const next = centre - (dp * p + dq * q) / size, away = Math.sqrt(size / ((dp - centre * p) ** 2 + (dq - centre * q) ** 2));
    const expected = width * (fast + next) / 2, turns = unwound(Math.atan2(q * x - p * y, p * x + q * y) + centre * width, expected);
    if (Math.min(Math.abs(far), away) < 0.5 * width || !(Math.abs(turns - expected) <= 0.5)) follow(width * (k - 1), at(k - 1), width * k, at(k));
    else turned += turns;
    x = p; y = q; fast = next; far = away;
  }
  return { inside: Math.max(0, Math.round(centre - turned / Math.PI)), close, radius, centre, A, D };
}

/** The series at radius times z, without what no double feels. */
function onRadius(series, radius) {
  const scaled = new Float64Array(series.length);
  let power = 1, most = 0;
  for (let k = 0; k < series.length; k++, power *= radius) {
    scaled[k] = series[k] * power;
    most = Math.max(most, scaled[k]);
  }
  let ages = scaled.length;
  while (ages > 2 && scaled[ages - 1] < 1e-24 * most) ages--;
  return scaled.subarray(0, ages);
}

/** A phase that is known up to whole turns, nearest to the expected one. */
function unwound(phase, expected) {
  return phase + 2 * Math.PI * Math.round((expected - phase) / (2 * Math.PI));
}

/** G halfway by the cubic through both ends; null where that is too near 0 to go by it. */
function between(h, left, right) {
  const middle = [0, 1].map(i => (left[i] + right[i]) / 2 + h * (left[i + 2] - right[i + 2]) / 8);
  const slope = [0, 1].map(i => 1.5 * (right[i] - left[i]) / h - (left[i + 2] + right[i + 2]) / 4);
  const size = each => Math.max(Math.hypot(each[0], each[1]), h * Math.hypot(each[2], each[3]));
  return Math.hypot(...middle) < 0.02 * Math.max(size(left), size(right)) ? null : [...middle, ...slope];
}

/** How fast the phase of G turns. */
function speed([x, y, dx, dy]) {
  return (dy * x - dx * y) / (x * x + y * y);
}

/** Newton's step to the nearest zero, an angle. */
function distance([x, y, dx, dy]) {
  return Math.hypot(x, y) / Math.hypot(dx, dy);
}

/** Where roots of F are looked for: one Newton step of G from points that are nearer to a zero than
 *  their neighbours; those that grow fastest, or decay most slowly, first. */
function startsOf({ radius, centre, A, D }) {
  const n = A.re.length, starts = [], steps = Array.from(A.re, (x, k) => {
    const y = A.im[k], u = D.re[k] - centre * x, v = D.im[k] - centre * y, scale = 1 / (u * u + v * v);
    return [(x * u + y * v) * scale, (y * u - x * v) * scale];
  });
  const away = steps.map(step => Math.hypot(...step));
  for (let k = 1; k < n; k++) {
    if (away[k] > away[k - 1] || away[k] > (away[k + 1] ?? Infinity) || away[k] > 0.5) continue;
    const x = 1 - steps[k][0], y = -steps[k][1], size = radius * Math.hypot(x, y);
    const turn = Math.PI * k / (n - 1) - Math.atan2(y, x); // of 1 / z
    starts.push({ size, re: Math.cos(turn) / size, im: k === n - 1 ? 0 : Math.sin(turn) / size });
  }
  starts.sort((a, b) => a.size - b.size);
  const best = starts.slice(0, SOME), list = name => Float64Array.from(best, each => each[name]);
  return { re: list("re"), im: list("im") };
}
