"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("page-data").textContent);
  function make(tag, attributes = {}, text = null) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== null) element.textContent = text;
    return element;
  }

  function drawing(tag, attributes) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  }

  async function unpack(id) {
    const place = byId(id);
    if (place === null || !place.textContent) return null;
    const bytes = Uint8Array.from(atob(place.textContent), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return JSON.parse(await new Response(stream).text());
  }

  // ------------------------------------------------------------------ curves

  function startCurves() {
    for (const box of document.querySelectorAll("[data-line]")) {
      box.addEventListener("change", () => {
        for (const line of document.querySelectorAll("[data-curve]")) {
          if (line.dataset.curve === box.dataset.line) line.style.display = box.checked ? "" : "none";
        }
      });
    }
  }

  // ------------------------------------------------------------------ tables

  const PAGE = window.matchMedia("(max-width: 46rem)").matches ? 10 : 25;

  async function startTable(place) {
    const name = place.dataset.table;
    const rows = await unpack(`${name}-data`);
    if (rows === null) return;
    const part = (what) => byId(`${name}-${what}`);
    const columns = new Map(rows.columns.map((one) => [one.name, one]));
    const text = (column, row) => column.texts[column.at[row]];
    const haystack = rows.keys.map((key, row) =>
      [...rows.columns.filter((one) => one.numbers === null).map((one) => text(one, row)), key]
        .join("\n").toLowerCase());
    const sorted = { key: "rank", down: false };
    let order = [];
    let page = 0;
    let only = null;

    function interval(row) {
      const [begin, end] = rows.scale;
      const at = (value, instead) => 4
        + Math.min(Math.max(((value ?? instead) - begin) / (end - begin || 1), 0), 1) * 112;
      const [low, middle, high] = rows.ends[row];
      const [from, to, zero] = [at(low, begin), at(high, end), at(0)].map((one) => one.toFixed(1));
      const cut = [];
      if (low !== null && low < begin) cut.push(drawing("path", { class: "cut", d: "M0 8L6 4V12Z" }));
      if (high !== null && high > end) cut.push(drawing("path", { class: "cut", d: "M120 8L114 4V12Z" }));
      const svg = drawing("svg", { class: "interval", viewBox: "0 0 120 16", "aria-hidden": "true" });
      svg.append(
        drawing("path", { class: "zero", d: `M${zero} 0V16` }),
        drawing("path", { class: "whisker", d: `M${from} 8H${to}M${from} 4V12M${to} 4V12` }),
        drawing("circle", { cx: at(middle, 0).toFixed(1), cy: 8, r: 3.5 }),
        ...cut,
      );
      return svg;
    }

    function stateCell(words) {
      const inside = make("div", { class: "state" });
      inside.append(stateWords(words));
      return inside;
    }

    function cell(column, row) {
      const words = text(column, row);
      const kind = column.numbers !== null && column.name !== rows.drawn
        && column.name !== rows.chosenBy ? "n " : column.name === rows.drawn ? "drawn " : "";
      const label = column.name === "rank" ? "rank" : column.heading;
      const heads = column.name === "rank";
      const element = make(heads ? "th" : "td",
        { role: heads ? "rowheader" : "cell", class: `${kind}c-${column.name}`, "data-label": label });
      if (heads) element.setAttribute("scope", "row");
      if (column.name === "state") element.append(stateCell(words));
      else if (column.name === rows.drawn) {
        const figures = make("span", { class: "n" }, `${words} `);
        figures.append(make("small", {}, `(${rows.said[row]})`));
        element.append(interval(row), figures);
      } else if (column.name === rows.chosenBy) {
        element.append(make("span", { class: `verdict ${words.replaceAll(" ", "-")}` }, words));
      } else element.textContent = words;
      return element;
    }

    function tableRow(row) {
      const line = make("tr", { role: "row" });
      line.append(...rows.columns.map((column) => cell(column, row)));
      return line;
    }

    function show() {
      const first = page * PAGE;
      const shown = order.slice(first, first + PAGE);
      place.querySelector("tbody").replaceChildren(...shown.map(tableRow));
      const [count, all] = [order.length, rows.keys.length];
      part("status").textContent = count === all ? `${count} decisions` : `${count} of ${all} decisions`;
      part("page").textContent = `${count ? first + 1 : 0} to ${first + shown.length} of ${count}`;
      part("before").disabled = page === 0;
      part("after").disabled = first + PAGE >= count;
      part("pager").hidden = count <= PAGE;
    }

    function arrange() {
      const words = part("search").value.trim().toLowerCase();
      const wanted = part("filter").value;
      const chosenBy = columns.get(rows.chosenBy);
      order = rows.keys.map((_, row) => row).filter((row) =>
        (!words || haystack[row].includes(words)) && (!wanted || text(chosenBy, row) === wanted)
        && (only === null || only.has(text(columns.get("rank"), row))));
      const column = columns.get(sorted.key);
      const value = (row) => (column.numbers === null ? text(column, row) : column.numbers[row]);
      const way = sorted.down ? -1 : 1;
      order.sort((a, b) => {
        const [one, other] = [value(a), value(b)];
        if (one === other) return a - b;
        if (one === null) return 1;
        if (other === null) return -1;
        return way * (one < other ? -1 : 1);
      });
      page = 0;
      show();
    }

    function sortBy(header) {
      const key = header.dataset.key;
      const falling = columns.get(key).numbers !== null && key !== "rank";
      sorted.down = sorted.key === key ? !sorted.down : falling;
      sorted.key = key;
      for (const other of place.querySelectorAll("th[data-key]")) {
        if (other === header) other.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
        else other.removeAttribute("aria-sort");
      }
      arrange();
    }

    for (const header of place.querySelectorAll("th[data-key]")) {
      const button = make("button", { type: "button" }, header.textContent);
      header.replaceChildren(button);
      button.addEventListener("click", () => sortBy(header));
    }
    place.querySelector("th[data-key=rank]").setAttribute("aria-sort", "ascending");
    for (const link of name === "decisions" ? document.querySelectorAll("[data-rows]") : []) {
      link.addEventListener("click", () => {
        only = new Set(link.dataset.rows.split(","));
        part("search").value = "";
        part("filter").value = "";
        place.closest("details").open = true;
        arrange();
      });
    }
    part("csv").addEventListener("click", () => {
      const quoted = (value) => `"${String(value).replaceAll('"', '""')}"`;
      const lines = [rows.columns.map((one) => quoted(one.heading)).concat(quoted("95 %")).join(",")];
      for (const row of order) {
        lines.push(rows.columns.map((one) => quoted(text(one, row)))
          .concat(quoted(rows.said[row])).join(","));
      }
      const file = new Blob([lines.join("\r\n")], { type: "text/csv" });
      const link = make("a", { href: URL.createObjectURL(file), download: `${name}.csv` });
      link.click();
      URL.revokeObjectURL(link.href);
    });
    part("search").addEventListener("input", () => { only = null; arrange(); });
    part("filter").addEventListener("change", arrange);
    for (const [what, way] of [["before", -1], ["after", 1]]) {
      part(what).addEventListener("click", () => { page += way; show(); });
    }
    part("controls").hidden = false;
    arrange();
  }

  function stateWords(words) {
    if (words.includes("\n")) return make("span", { class: "map" }, words);
    const [first, ...drawn] = words.split("  [");
    if (drawn.length === 0 || !words.endsWith("]")) return make("span", {}, words);
    const both = make("span", {}, `${first} `);
    both.append(make("small", { class: "drawn-state" }, `[${drawn.join("  [")}`));
    return both;
  }

  // ------------------------------------------------------------------ slider

  function startSlider() {
    const slider = byId("keep-number");
    if (slider === null) return;
    const move = () => {
      const point = data.front[Number(slider.value)];
      byId("keep-count").textContent = point.kept;
      slider.setAttribute("aria-valuetext", `${point.kept} decisions`);
      for (const name of ["share", "return", "episodes", "overrides", "steps", "states"]) {
        byId(`keep-${name}`).textContent = point[name];
      }
    };
    slider.addEventListener("input", move);
    move();
  }

  // ---------------------------------------------------------------- timeline

  const points = (svg) => (svg.dataset.track || "").split(" ").filter(Boolean)
    .map((one) => one.split(",").map(Number));

  function startTimeline() {
    const slider = byId("step");
    if (slider === null) return;
    const line = document.querySelector("#timeline svg");
    const tracked = [...document.querySelectorAll("svg[data-track]")].map((svg) =>
      ({ marker: svg.querySelector(".marker"), places: points(svg) }));
    const own = points(line);
    const framed = Object.keys(data.frames).map(Number);
    const frame = byId("frame");
    const last = data.steps.at.length - 1;
    function move(step) {
      slider.value = step;
      for (const { marker, places } of tracked) {
        const place = places[step];
        marker.setAttribute("visibility", place ? "visible" : "hidden");
        if (place) { marker.setAttribute("cx", place[0]); marker.setAttribute("cy", place[1]); }
      }
      const words = data.steps.texts[data.steps.at[step]];
      byId("told").textContent = `Step ${step}: ${words}.`;
      slider.setAttribute("aria-valuetext", `step ${step}: ${words}`);
      if (framed.length) {
        const near = framed.reduce((one, other) =>
          (Math.abs(other - step) < Math.abs(one - step) ? other : one));
        frame.src = data.frames[near];
        frame.alt = `What step ${near} looks like`;
        frame.hidden = false;
      }
    }
    function point(event) {
      const box = line.getBoundingClientRect();
      const x = (event.clientX - box.left) * line.viewBox.baseVal.width / box.width;
      let near = 0;
      own.forEach((place, step) => {
        if (Math.abs(place[0] - x) < Math.abs(own[near][0] - x)) near = step;
      });
      move(near);
    }
    line.addEventListener("pointermove", point);
    line.addEventListener("pointerdown", point);
    slider.addEventListener("input", () => move(Number(slider.value)));
    byId("step-before").addEventListener("click", () => move(Math.max(Number(slider.value) - 1, 0)));
    byId("step-after").addEventListener("click", () => move(Math.min(Number(slider.value) + 1, last)));
    byId("scrub").hidden = false;
  }

  function startHero() {
    const menu = byId("hero-menu");
    if (menu === null) return;
    menu.addEventListener("change", () => {
      for (const one of document.querySelectorAll("[data-hero]")) {
        one.hidden = one.dataset.hero !== menu.value;
      }
    });
  }

  function startPrinting() {
    const closed = [];
    window.addEventListener("beforeprint", () => {
      for (const part of document.querySelectorAll("details:not([open])")) {
        part.open = true;
        closed.push(part);
      }
    });
    window.addEventListener("afterprint", () => { while (closed.length) closed.pop().open = false; });
  }

  async function start() {
    startTimeline();
    startHero();
    startPrinting();
    startCurves();
    startSlider();
    for (const place of document.querySelectorAll("[data-table]")) await startTable(place);
    document.documentElement.dataset.ready = "yes";
  }
  start();
})();
