"use strict";
/* The colours of a report: as the system has them, or as one asks. */
(() => {
  const group = document.getElementById("theme"), buttons = [...group.querySelectorAll("button")];
  const choose = (chosen) => {
    if (chosen.dataset.to) document.documentElement.dataset.theme = chosen.dataset.to;
    else delete document.documentElement.dataset.theme;
    buttons.forEach((each) => each.setAttribute("aria-pressed", String(each === chosen)));
  };
  buttons.forEach((each) => each.addEventListener("click", () => choose(each)));
  group.hidden = false;
})();
