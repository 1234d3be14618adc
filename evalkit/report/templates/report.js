"use strict";
(async () => {
  const PAGE = 100;
  const find = (selector, within = document) => [...within.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);

  // Every row's entry, the most urgent first. Rows that stand in the document are taken over from there.
  const unpack = async (text) => {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return (await new Response(stream).text()).split("\0");
  };
  const [index, ...parts] = await unpack(byId("packed").textContent);
  const entries = JSON.parse(index);
  entries.forEach((entry, at) => { [entry.html, entry.below] = parts.slice(2 * at, 2 * at + 2); });
  const byCase = new Map(entries.map((entry) => [entry.id, entry]));

  const entryOf = (row) => byCase.get(row.querySelector(".d").id.slice(5));
  for (const row of find("li.c")) entryOf(row).row = row;

  const drawn = (entry) => {
    if (!entry.row) {
      const template = document.createElement("template");
      template.innerHTML = entry.html;
      entry.row = template.content.querySelector("li");
      delete entry.html;
    }
    return entry.row;
  };

  const tell = (entry) => {
    if (!entry.below) return;
    drawn(entry).querySelector(".d").innerHTML = entry.below;
    delete entry.below;
  };

  // A list that draws its rows some at a time.
  const lists = [];
  const seen = new IntersectionObserver((changes) => {
    for (const change of changes) if (change.isIntersecting) change.target.list.draw(PAGE);
  }, { rootMargin: "600px" });
  class List {
    constructor(place, own) {
      [this.rows, this.more] = [place.querySelector("ul"), place.querySelector(".more")];
      [this.own, this.shown, this.count] = [own, own, this.rows.children.length];
      this.more.list = this;
      this.more.addEventListener("click", () => {
        const next = this.count;
        this.draw(PAGE);
        this.rows.children[next]?.querySelector("summary").focus();
      });
      seen.observe(this.more);
      lists.push(this);
      this.tell();
    }
    show(shown) {
      [this.shown, this.count] = [shown, 0];
      this.rows.replaceChildren();
      this.draw(PAGE);
    }
    draw(number) {
      const next = this.shown.slice(this.count, this.count + number);
      this.rows.append(...next.map(drawn));
      this.count += next.length;
      this.tell();
    }
    tell() {
      const left = this.shown.length - this.count;
      this.more.hidden = left === 0;
      this.more.textContent = `Show ${Math.min(left, PAGE)} more of ${left.toLocaleString("en")}`;
      seen.unobserve(this.more);
      if (left) seen.observe(this.more);
    }
  }

  const flat = new List(byId("flat"), []);
  const groups = find(".group").map((part) => {
    const mine = entries.filter((entry) => entry.section === part.dataset.section);
    const [open, fold] = [part.querySelector(":scope > .list"), part.querySelector(".fold")];
    return {
      part,
      fold,
      open: open && new List(open, mine.filter((entry) => !entry.folded)),
      folded: fold && new List(fold, mine.filter((entry) => entry.folded)),
    };
  });

  const box = byId("text");
  const chips = find("[data-chip]");
  const facets = find("[data-facet]");
  const sorters = find("[data-sort]");
  let order = "urgency";
  let down = false;
  let filtered = false;

  const wanted = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const on = chips.filter((chip) => chip.getAttribute("aria-pressed") === "true").map((chip) => chip.dataset.chip);
    const verdicts = on.filter((key) => key !== "gate");
    const chosen = facets.filter((facet) => facet.value).map((facet) => [facet.dataset.facet, facet.value]);
    filtered = words.length + on.length + chosen.length > 0;
    return (entry) => (!on.includes("gate") || entry.keys.includes("gate"))
      && (!verdicts.length || verdicts.some((key) => entry.keys.includes(key)))
      && chosen.every(([key, value]) => entry[key].includes(value))
      && words.every((word) => entry.text.includes(word));
  };

  const sorted = (found) => {
    const value = (entry) => entry[order] ?? Infinity;
    const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1);
    return found.map((entry) => [value(entry), entry]).sort(([a], [b]) => compare(a, b)).map(([, entry]) => entry);
  };

  const refresh = () => {
    const fits = wanted();
    let left = 0;
    const together = order !== "urgency";
    byId("flat").hidden = !together;
    for (const { part, fold, open, folded } of groups) {
      const found = [open?.own.filter(fits) ?? [], folded?.own.filter(fits) ?? []];
      left += found[0].length + found[1].length;
      part.hidden = together || !(found[0].length + found[1].length);
      if (open) {
        open.show(together ? [] : found[0]);
        open.rows.parentElement.hidden = !found[0].length;
      }
      if (folded) {
        folded.show(together ? [] : found[1]);
        fold.hidden = !found[1].length;
        if (filtered && !fold.open) fold.open = fold.byFilter = true;
        if (!filtered && fold.byFilter) fold.open = fold.byFilter = false;
      }
    }
    flat.show(together ? sorted(entries.filter(fits)) : []);
    const all = entries.length.toLocaleString("en");
    byId("count").textContent = filtered ? `${left.toLocaleString("en")} of ${all} cases` : "";
  };

  const sort = (by) => {
    down = by === order && by !== "urgency" && !down;
    order = by;
    for (const sorter of sorters) {
      const mine = sorter.dataset.sort === by;
      sorter.setAttribute("aria-pressed", String(mine));
      sorter.classList.toggle("down", mine && down);
    }
    refresh();
  };

  const clear = () => {
    box.value = "";
    for (const chip of chips) chip.setAttribute("aria-pressed", "false");
    for (const facet of facets) facet.value = "";
    refresh();
  };

  // #case=ID opens a case, #case=ID&sample=N one of its samples.
  const follow = () => {
    let id = location.hash.slice(1);
    try {
      id = decodeURIComponent(id);
    } catch {
      return;
    }
    const [place, number] = id.split("&sample=");
    const entry = place.startsWith("case=") ? byCase.get(place.slice(5)) : null;
    if (!entry) return;
    let list = lists.find((one) => one.shown.includes(entry));
    if (!list) {
      clear();
      list = lists.find((one) => one.shown.includes(entry));
    }
    while (!drawn(entry).isConnected) list.draw(PAGE);
    tell(entry);
    const target = (number && byId(id)) || entry.row.querySelector("summary");
    for (let part = target; part; part = part.parentElement) {
      part.hidden = false;
      if (part.tagName === "DETAILS") part.open = true;
    }
    entry.row.querySelector("details").open = true;
    for (const row of find(".at")) row.classList.remove("at");
    if (target.tagName === "TR") target.classList.add("at");
    (target.querySelector("a") ?? target).focus({ preventScroll: true });
    requestAnimationFrame(() => target.scrollIntoView({ block: target.tagName === "TR" ? "center" : "start" }));
  };

  const step = (from, by) => {
    const rows = find(".c > details > summary").filter((summary) => summary.checkVisibility());
    rows[rows.indexOf(from) + by]?.focus();
  };

  box.addEventListener("input", refresh);
  byId("filter").addEventListener("submit", (event) => event.preventDefault());
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
      refresh();
    });
  }
  for (const facet of facets) facet.addEventListener("change", refresh);
  for (const sorter of sorters) sorter.addEventListener("click", () => sort(sorter.dataset.sort));
  document.addEventListener("click", (event) => {
    const summary = event.target.closest?.(".c > details > summary");
    if (!summary) return;
    const details = summary.parentElement;
    tell(entryOf(details.parentElement));
    const id = details.querySelector(".d").id;
    history.replaceState(null, "", details.open ? location.pathname + location.search : `#${id}`);
  });
  document.addEventListener("toggle", (event) => {
    if (event.target.matches(".c > details")) tell(entryOf(event.target.parentElement));
  }, true);
  document.addEventListener("keydown", (event) => {
    const { target, key } = event;
    if (key === "/" && !["INPUT", "SELECT"].includes(target.tagName)) {
      event.preventDefault();
      box.focus();
    } else if (["ArrowDown", "ArrowUp"].includes(key) && target.matches?.(".c > details > summary")) {
      event.preventDefault();
      step(target, key === "ArrowDown" ? 1 : -1);
    }
  });
  addEventListener("hashchange", follow);
  byId("filter").hidden = false;
  byId("sort").hidden = false;
  sorters.find((sorter) => sorter.dataset.sort === "urgency").setAttribute("aria-pressed", "true");
  follow();
  performance.mark("evalkit-ready");
})();
