"use strict";
(() => {
  const all = [...document.querySelectorAll("details.c")];
  const homes = new Map(all.map((row) => [row, row.parentElement]));
  const groups = [...document.querySelectorAll(".group")];
  const flat = document.getElementById("flat");
  const box = document.getElementById("text");
  const count = document.getElementById("count");
  const chips = [...document.querySelectorAll("[data-chip]")];
  const sorters = [...document.querySelectorAll("[data-sort]")];
  const texts = new Map();
  let order = "urgency";
  let down = false;

  const textOf = (row) => {
    if (!texts.has(row)) texts.set(row, row.firstElementChild.textContent.toLowerCase());
    return texts.get(row);
  };

  const filter = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const on = chips.filter((chip) => chip.getAttribute("aria-pressed") === "true").map((chip) => chip.dataset.chip);
    const gate = on.includes("gate");
    const verdicts = on.filter((key) => key !== "gate");
    const active = words.length > 0 || on.length > 0;
    let left = 0;
    for (const row of all) {
      const keys = row.dataset.k.split(" ");
      const fits = (!gate || keys.includes("gate"))
        && (!verdicts.length || verdicts.some((key) => keys.includes(key)))
        && words.every((word) => textOf(row).includes(word));
      row.hidden = !fits;
      left += fits;
    }
    for (const part of document.querySelectorAll(".group, .fold")) {
      part.hidden = order !== "urgency" || !part.querySelector("details.c:not([hidden])");
      if (active && part.matches(".fold")) part.open = true;
    }
    count.textContent = active ? `${left.toLocaleString("en")} of ${all.length.toLocaleString("en")} cases` : "";
  };

  const values = {
    id: (row) => row.querySelector("b").textContent,
    rate: (row) => Number(row.dataset.r),
    p: (row) => Number(row.dataset.p),
    lost: (row) => -Number(row.dataset.l),
  };

  const sort = (by) => {
    down = by === order && by !== "urgency" && !down;
    order = by;
    if (by === "urgency") {
      for (const row of all) homes.get(row).append(row);
    } else {
      const keyed = all.map((row) => [values[by](row), row]);
      keyed.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
      flat.append(...keyed.map(([, row]) => row));
    }
    flat.hidden = by === "urgency";
    for (const sorter of sorters) {
      const mine = sorter.dataset.sort === by;
      sorter.setAttribute("aria-pressed", String(mine));
      sorter.classList.toggle("down", mine && down);
    }
    filter();
  };

  const follow = () => {
    let id = location.hash.slice(1);
    try {
      id = decodeURIComponent(id);
    } catch {
      return;
    }
    const found = id.startsWith("case=") ? document.getElementById(id) : null;
    if (!found) return;
    for (let part = found.parentElement; part; part = part.parentElement) {
      if (part.hidden) part.hidden = false;
      if (part.tagName === "DETAILS") part.open = true;
    }
    const row = found.closest("details.c");
    row.firstElementChild.focus({ preventScroll: true });
    requestAnimationFrame(() => row.scrollIntoView({ block: "start" }));
  };

  box.addEventListener("input", filter);
  document.getElementById("filter").addEventListener("submit", (event) => event.preventDefault());
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
      filter();
    });
  }
  for (const sorter of sorters) sorter.addEventListener("click", () => sort(sorter.dataset.sort));
  for (const row of all) {
    row.firstElementChild.addEventListener("click", () => {
      const id = row.querySelector(".d").id;
      history.replaceState(null, "", row.open ? location.pathname + location.search : `#${id}`);
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && event.target.tagName !== "INPUT") {
      event.preventDefault();
      box.focus();
    }
  });
  addEventListener("hashchange", follow);
  document.getElementById("filter").hidden = false;
  document.getElementById("sort").hidden = false;
  sorters.find((sorter) => sorter.dataset.sort === "urgency").setAttribute("aria-pressed", "true");
  follow();
  performance.mark("evalkit-ready");
})();
