// Sliders, each with its number beside it.

/** Whole numbers that a slider steps through: by one, then by about 2 per cent. */
export function grid(least, most) {
  const values = [];
  for (let value = least; value <= most; value = Math.max(value + 1, Math.round(value * 1.02))) values.push(value);
  if (values.at(-1) < most) values.push(most);
  return values;
}

function nearest(values, value) {
  let best = 0;
  values.forEach((each, i) => { if (Math.abs(each - value) < Math.abs(values[best] - value)) best = i; });
  return best;
}

/** A panel of sliders. */
export class Sliders {
  /** @param moved called with (change, control) where one is moved */
  constructor(moved) {
    this.moved = moved;
    this.clear();
  }

  clear() {
    this.fields = [];
  }

  /** What each shows is read again, but by the control in a hand. */
  show(moved) {
    for (const show of this.fields) show(moved);
  }

  /** A slider with its number; `read` and `write` are of the state; `hidden` says when it is not there. */
  add(parent, { label, unit, values = null, least, most, read, write, told = () => unit, hidden = () => false }) {
    const id = `s${this.fields.length}`, box = document.createElement("div");
    box.className = "slider";
    box.innerHTML = `<label for="${id}"></label><span class="field"><input type="number" id="${id}n"><span class="unit"></span></span>
<input type="range" id="${id}">`;
    const [text, range, number] = [box.querySelector("label"), box.querySelector("[type=range]"), box.querySelector("[type=number]")];
    text.textContent = label;
    number.setAttribute("aria-label", `${label}, ${unit}`);
    Object.assign(range, values ? { min: 0, max: values.length - 1, step: 1 } : { min: least, max: most, step: 1 });
    Object.assign(number, { min: values ? values[0] : least, max: values ? values.at(-1) : most, step: unit === "%" ? "any" : 1 });
    const show = (moved = null) => {
      const value = read();
      box.hidden = hidden();
      if (moved !== range) range.value = values ? nearest(values, value) : value;
      if (moved !== number) number.value = value;
      box.querySelector(".unit").textContent = told();
      range.setAttribute("aria-valuetext", `${short(value, 12)} ${told()}`);
    };
    const take = (value, moved) => this.moved(() => write(value), moved);
    range.addEventListener("input", () => take(values ? values[range.value] : Number(range.value), range));
    number.addEventListener("input", () => {
      if (number.value !== "" && number.validity.valid) take(Number(number.value), number);
    });
    number.addEventListener("change", () => show());
    parent.append(box);
    this.fields.push(show);
  }
}
