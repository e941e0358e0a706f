// The roots of F in the complex plane, with the unit circle.

/** Frame once, dots at each move. */
export class RootChart {
  constructor(svg) {
    this.svg = svg;
    this.size = 300;
    svg.setAttribute("viewBox", `0 0 ${this.size} ${this.size}`);
    this.frame = draw(svg, "g", { class: "axis" });
    this.circle = draw(svg, "circle", { class: "unit" });
    this.dots = ["inside", "close", "outside"].map(kind => draw(svg, "path", { class: kind }));
  }

  /** @param judged what `findModes` finds */
  show(judged) {
    const reach = Math.max(1.15, (judged.radius || 1) * 1.08), half = this.size / 2;
    const at = scale(-reach, reach, 0, this.size);
    this.frame.replaceChildren();
    place(draw(this.frame, "line"), 0, half, this.size, half);
    place(draw(this.frame, "line"), half, 0, half, this.size);
    for (const [name, value] of Object.entries({ cx: half, cy: half, r: at(1) - half })) {
      this.circle.setAttribute(name, value);
    }
    const n = judged.re.length, r = n > 60 ? 2.5 : n > 20 ? 4 : 5.5;
    const marks = ["", "", ""];
    for (let i = 0; i < n; i++) {
      const side = judged.side[i], x = at(judged.re[i]), y = this.size - at(judged.im[i]);
      // outside a diamond, else a disc: not told apart by colour alone
      marks[side + 1] += side > 0 ? diamond(x, y, r * 1.4) : disc(x, y, r);
    }
    this.dots.forEach((dots, k) => dots.setAttribute("d", marks[k]));
    this.svg.setAttribute("aria-label", described(judged));
  }
}

function diamond(x, y, r) {
  return `M${tenth(x - r)},${tenth(y)}l${r},${-r}l${r},${r}l${-r},${r}z`;
}

function disc(x, y, r) {
  return `M${tenth(x - r)},${tenth(y)}a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0z`;
}

function described(judged) {
  const inside = judged.modes - judged.outside - judged.close;
  const close = judged.close ? `, ${judged.close} too close to the circle to tell` : "";
  return `Roots of F in the complex plane with the unit circle: ${judged.outside} outside, ${inside} inside${close}.`;
}
