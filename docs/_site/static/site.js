// Forms that narrow down a list: each field is kept in the address, so that a view can be sent.
"use strict";

function narrowed(form) {
  const items = [...document.querySelectorAll(form.dataset.filters)].map((element) => ({
    element, words: `${element.id} ${element.textContent}`.toLowerCase(),
  }));
  const fields = [...form.elements].filter((field) => field.name);
  const told = form.querySelector("output");

  function show() {
    const asked = Object.fromEntries(fields.map((field) => [field.name, field.value.trim()]));
    const words = (asked.words || "").toLowerCase().split(/\s+/);
    let count = 0;
    for (const { element, words: text } of items) {
      const fits = words.every((word) => text.includes(word))
        && fields.every(({ name }) => name === "words" || !asked[name] || element.dataset[name] === asked[name]);
      element.hidden = !fits;
      count += fits;
    }
    told.textContent = `${count.toLocaleString("en")} of ${items.length.toLocaleString("en")} ${form.dataset.noun}`;
    const query = new URLSearchParams(Object.entries(asked).filter(([, value]) => value)).toString();
    history.replaceState(null, "", `${location.pathname}${query ? `?${query}` : ""}${location.hash}`);
  }

  const given = new URLSearchParams(location.search);
  for (const field of fields) field.value = given.get(field.name) || "";
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  show();
}

document.querySelectorAll("form[data-filters]").forEach(narrowed);

// Wide tables scroll on their own; the keyboard reaches them.
for (const box of document.querySelectorAll(".pst-scrollable-table-container, div.highlight pre")) {
  if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
}

// A frame is a page of its own, which is told light or dark by its address.
for (const frame of document.querySelectorAll("iframe.moving")) {
  const address = frame.src, root = document.documentElement;
  const tell = () => frame.contentWindow.location.replace(`${address}#theme=${root.dataset.theme}`);
  new MutationObserver(tell).observe(root, { attributeFilter: ["data-theme"] });
  if (root.dataset.theme) tell();
}
