// Roots of F(z) = sum of V_s z^(d-1-s), and what they say: which modes grow.
// Source: Congestion, equations (9) and (10).

/** Distance from the unit circle within which a root is placed on neither side. The bound on the
 *  error of each root is added to it. */
export const TOO_CLOSE = 1e-9;

const MOST_STEPS = 100;
const EPS = 2 ** -52;

/** Coefficients of F in ascending order of the power, times the common denominator: exact. */
export function coefficients(whole) {
  return whole.memory.slice().reverse();
}

/** All roots of a polynomial with positive coefficients, by the iteration of Ehrlich and Aberth:
 *  Newton's step for each root, with the others divided out, all at once.
 *
 *  @param ascending coefficients
 *  @param guess roots of a nearby polynomial of the same degree, or null
 *  @returns {re, im, error, steps}: `error` bounds the distance to a root, by n |F / F'| at the
 *  point, rounding included */
export function findRoots(ascending, guess = null) {
  const n = ascending.length - 1;
  const re = new Float64Array(n), im = new Float64Array(n), error = new Float64Array(n);
  if (n === 0) return { re, im, error, steps: 0 };
  setOut(ascending, guess, re, im);
  const open = new Uint8Array(n).fill(1);
  let left = n, steps = 0;
  // The roots of one output length lie next to the bound, and their search has to pass beyond it.
  const at = new Float64Array(5), farthest = 2 * largestModulus(ascending);
  while (left > 0 && steps < MOST_STEPS) {
    steps++;
    for (let i = 0; i < n; i++) {
      if (!open[i]) continue;
      evaluate(ascending, re[i], im[i], at);
      const [newtonRe, newtonIm] = divided(at[0], at[1], at[2], at[3]);
      let sumRe = 0, sumIm = 0;
      const x = re[i], y = im[i];
      for (let j = 0; j < n; j++) {
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
      if (modulus > farthest) { // F would overflow
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
  for (let i = 0; i < n; i++) {
    evaluate(ascending, re[i], im[i], at);
    error[i] = n * (Math.hypot(at[0], at[1]) + at[4]) / Math.hypot(at[2], at[3]);
  }
  return { re, im, error, steps };
}

/** No root is larger: Enestrom and Kakeya, for positive coefficients. */
function largestModulus(ascending) {
  let largest = 0;
  for (let k = 1; k < ascending.length; k++) largest = Math.max(largest, ascending[k - 1] / ascending[k]);
  return largest;
}

/** On a circle where the product of the roots puts them on average, off the real line. */
function setOut(ascending, guess, re, im) {
  const n = re.length;
  if (guess !== null && guess.re.length === n && new Set(guess.re).size > n / 4) {
    for (let i = 0; i < n; i++) { // apart from one another, should two have met
      re[i] = guess.re[i] * (1 + 1e-7 * Math.cos(i));
      im[i] = guess.im[i] * (1 + 1e-7 * Math.cos(i)) + 1e-9 * Math.sin(i);
    }
    return;
  }
  const radius = (ascending[0] / ascending[n]) ** (1 / n);
  for (let i = 0; i < n; i++) {
    const angle = 2 * Math.PI * (i + 0.25) / n + 0.3 / n;
    re[i] = radius * Math.cos(angle);
    im[i] = radius * Math.sin(angle);
  }
}

/** F and F' at z by Horner's rule, and a bound on the rounding of F, into `at`. */
function evaluate(ascending, x, y, at) {
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
 *  0 (too close to tell), -1 (inside). */
export function judge(roots) {
  const n = roots.re.length, side = new Int8Array(n);
  let radius = 0, leading = -1, outside = 0, close = 0;
  for (let i = 0; i < n; i++) {
    const modulus = Math.hypot(roots.re[i], roots.im[i]);
    // NaN is on no side, and so too close
    const margin = TOO_CLOSE + roots.error[i];
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
  return { verdict, outside, close, radius, period, side, modes: n };
}
