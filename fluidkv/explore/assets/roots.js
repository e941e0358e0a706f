// Roots of F(z) = sum of V_s z^(d-1-s), and what they say: which modes grow.

/** Distance from the unit circle within which a root is placed on neither side. The bound on the
 *  error of each root is added to it. */
export const TOO_CLOSE = 1e-9;

const MOST_STEPS = 100, FEW_STEPS = 12;
const EPS = 2 ** -52;

/** Coefficients of F in ascending order of the power, without those that no double feels. */
export function coefficients(memory) {
  const most = memory.reduce((a, b) => Math.max(a, b));
  let ages = memory.length;
  while (memory[ages - 1] < 1e-40 * most) ages--;
  return memory.slice(0, ages).reverse();
}

/** Roots of a polynomial with positive coefficients, by the iteration of Ehrlich and Aberth:
 *  Newton's step for each root, with the others divided out, all at once.
 *
 *  @param ascending coefficients
 *  @param starts {re, im}: roots of a nearby polynomial or, of a long one, of some roots; null for
 *  all of them from a circle
 *  @returns {re, im, error, steps}: of some, those that were found; `error` bounds the distance to a root, by n |F / F'| at the
 *  point, rounding included */
export function findRoots(ascending, starts = null) {
  const n = ascending.length - 1, { re, im } = setOut(ascending, starts), count = re.length;
  const descending = ascending.slice().reverse(), error = new Float64Array(count), open = new Uint8Array(count).fill(1);
  let left = count, steps = 0;
  // The roots of one output length lie next to the bound, and their search has to pass beyond it.
  const at = new Float64Array(5), farthest = 2 * largestModulus(ascending);
  while (left > 0 && steps < (count < n ? FEW_STEPS : MOST_STEPS)) {
    steps++;
    for (let i = 0; i < count; i++) {
      if (!open[i]) continue;
      newton(ascending, descending, re[i], im[i], at);
      const [newtonRe, newtonIm] = divided(at[0], at[1], at[2], at[3]);
      let sumRe = 0, sumIm = 0;
      const x = re[i], y = im[i];
      for (let j = 0; j < count; j++) {
        if (j === i) continue;
        const dx = x - re[j], dy = y - im[j];
        const scale = 1 / (dx * dx + dy * dy);
        sumRe += dx * scale;
        sumIm -= dy * scale;
      }
      const below = [1 - (newtonRe * sumRe - newtonIm * sumIm), -(newtonRe * sumIm + newtonIm * sumRe)];
      const [stepRe, stepIm] = divided(newtonRe, newtonIm, below[0], below[1]);
      re[i] -= stepRe;
      im[i] -= stepIm;
      const modulus = Math.hypot(re[i], im[i]);
      if (modulus > farthest) {
        re[i] *= farthest / modulus;
        im[i] *= farthest / modulus;
      }
      const done = Math.hypot(stepRe, stepIm) <= 4 * EPS * modulus;
      if (done || Math.hypot(at[0], at[1]) <= at[4]) {
        open[i] = 0;
        left--;
      }
    }
  }
  for (let i = 0; i < count; i++) {
    newton(ascending, descending, re[i], im[i], at);
    error[i] = n * (Math.hypot(at[0], at[1]) + at[4]) / Math.hypot(at[2], at[3]);
  }
  const settled = values => (count < n ? values.filter((_, i) => !open[i]) : values);
  return { re: settled(re), im: settled(im), error: settled(error), steps };
}

/** Numerator and denominator of Newton's step F / F' at z, and a bound on the rounding of the
 *  numerator, into `at`; outside the circle by F(z) = z^n A(1/z), which does not overflow. */
function newton(ascending, descending, x, y, at) {
  const size = x * x + y * y;
  if (!(size > 1)) return evaluate(ascending, x, y, at);
  const backX = x / size, backY = -y / size, n = ascending.length - 1;
  evaluate(descending, backX, backY, at); // F / F' = z A / (n A - A' / z)
  const [a, b, da, db, error] = at;
  at[0] = x * a - y * b; at[1] = x * b + y * a;
  at[2] = n * a - (da * backX - db * backY); at[3] = n * b - (da * backY + db * backX);
  at[4] = error * Math.sqrt(size);
}

/** No root is larger: Enestrom and Kakeya, for positive coefficients. */
function largestModulus(ascending) {
  let largest = 0;
  for (let k = 1; k < ascending.length; k++) largest = Math.max(largest, ascending[k - 1] / ascending[k]);
  return largest;
}

/** The starts, apart from one another, or on a circle where the product of the roots puts them on
 *  average, off the real line. */
function setOut(ascending, starts) {
  const n = ascending.length - 1;
  const lasting = starts?.error === undefined || (starts.re.length === n && new Set(starts.re).size > n / 4);
  if (starts !== null && lasting) {
    const near = part => (value, i) => value * (1 + 1e-7 * Math.cos(i)) + part * 1e-9 * Math.sin(i);
    return { re: starts.re.map(near(0)), im: starts.im.map(near(1)) };
  }
  const radius = (ascending[0] / ascending[n]) ** (1 / n), angle = (_, i) => 2 * Math.PI * (i + 0.25) / n + 0.3 / n;
  const angles = new Float64Array(n).map(angle);
  return { re: angles.map(each => radius * Math.cos(each)), im: angles.map(each => radius * Math.sin(each)) };
}

/** A polynomial and its derivative by Horner's rule, and a bound on the rounding of the first, into
 *  `at`. */
export function evaluate(ascending, x, y, at) {
  let p = ascending[ascending.length - 1], q = 0, dp = 0, dq = 0;
  const modulus = Math.sqrt(x * x + y * y);
  let size = p;
  for (let k = ascending.length - 2; k >= 0; k--) {
    const nextDp = dp * x - dq * y + p;
    dq = dp * y + dq * x + q;
    dp = nextDp;
    const nextP = p * x - q * y + ascending[k];
    q = p * y + q * x;
    p = nextP;
    size = size * modulus + ascending[k];
  }
  at[0] = p; at[1] = q; at[2] = dp; at[3] = dq;
  at[4] = 4 * ascending.length * EPS * size;
}

function divided(a, b, c, d) {
  const scale = 1 / (c * c + d * d);
  return [(a * c + b * d) * scale, (b * c - a * d) * scale];
}

/** What the roots say of the equilibrium; in floating point, which proves nothing.
 *
 *  Fields: verdict "stable", "unstable" or "close"; outside and close, numbers of roots; radius, the
 *  largest modulus; period, iterations for one turn of that root; side, of each root 1 (outside),
 *  0 (too close to tell), -1 (inside).
 *  @param errors how far each may be from the root that it stands for */
export function judge(roots, errors = roots.error) {
  const n = roots.re.length, side = new Int8Array(n);
  let radius = 0, leading = -1, outside = 0, close = 0;
  for (let i = 0; i < n; i++) {
    const modulus = Math.hypot(roots.re[i], roots.im[i]);
    // NaN is on no side, and so too close
    const margin = TOO_CLOSE + errors[i];
    side[i] = modulus > 1 + margin ? 1 : modulus < 1 - margin ? -1 : 0;
    if (side[i] === 1) outside++;
    if (side[i] === 0) close++;
    if (modulus > radius) {
      radius = modulus;
      leading = i;
    }
  }
  const angle = leading < 0 ? NaN : Math.abs(Math.atan2(roots.im[leading], roots.re[leading]));
  const period = angle > 0 ? 2 * Math.PI / angle : NaN;
  const verdict = outside > 0 ? "unstable" : close > 0 ? "close" : "stable";
  return { verdict, outside, close, radius, period, side };
}
