// Power series with real coefficients at equally spaced points of a circle, by fast Fourier transform.

const TURNS = new Map(); // by the number of points: cosines and sines

function turnsOf(n) {
  if (!TURNS.has(n)) {
    const cos = new Float64Array(n / 2), sin = new Float64Array(n / 2);
    for (let k = 0; k < n / 2; k++) {
      cos[k] = Math.cos(2 * Math.PI * k / n);
      sin[k] = -Math.sin(2 * Math.PI * k / n);
    }
    TURNS.set(n, { cos, sin });
  }
  return TURNS.get(n);
}

/** In place: sum over j of x_j exp(-2 pi i j k / n), n a power of two. */
function transform(re, im) {
  const n = re.length, { cos, sin } = turnsOf(n);
  for (let i = 1, j = 0; i < n; i++) {
    let bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      const x = re[i], y = im[i];
      re[i] = re[j]; im[i] = im[j];
      re[j] = x; im[j] = y;
    }
  }
  for (let half = 1; half < n; half <<= 1) {
    const stride = n / (2 * half);
    for (let from = 0; from < n; from += 2 * half) {
      for (let k = 0, a = from; k < half; k++, a++) {
        const c = cos[k * stride], s = sin[k * stride], b = a + half;
        const x = re[b] * c - im[b] * s, y = re[b] * s + im[b] * c;
        re[b] = re[a] - x; im[b] = im[a] - y;
        re[a] += x; im[a] += y;
      }
    }
  }
}

/** Two real series at exp(-2 pi i k / points), k = 0 ... points / 2, in one transform.
 *  @param points a power of two, at least the length of each
 *  @returns [{re, im}, {re, im}] */
export function onCircle(first, second, points) {
  const re = new Float64Array(points), im = new Float64Array(points), half = points / 2;
  re.set(first);
  im.set(second);
  transform(re, im);
  const part = () => ({ re: new Float64Array(half + 1), im: new Float64Array(half + 1) });
  const a = part(), b = part();
  for (let k = 0; k <= half; k++) {
    const back = (points - k) % points;
    a.re[k] = (re[k] + re[back]) / 2; a.im[k] = (im[k] - im[back]) / 2;
    b.re[k] = (im[k] + im[back]) / 2; b.im[k] = (re[back] - re[k]) / 2;
  }
  return [a, b];
}
