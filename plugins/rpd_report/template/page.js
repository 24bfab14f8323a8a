"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("page-data").textContent);
  const percent = (value, digits = 0) =>
    value === null ? "–" : `${(100 * value).toFixed(digits)}%`;
  const signed = (value) => (value > -0.005 ? "+" : "") + value.toFixed(2).replace("-0.00", "0.00");
  const figure = (value) => String(Number(value.toPrecision(4)));

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

  // ------------------------------------------------------------------- table

  const PAGE = window.matchMedia("(max-width: 46rem)").matches ? 10 : 25;
  const table = { rows: null, order: [], page: 0, key: "rank", down: false, kept: 0, measure: "" };
  const isKept = (row) => {
    const place = table.rows.ranks[table.measure]?.[row] ?? 0;
    return place > 0 && place <= table.kept;
  };
  const SORTED = {
    rank: (row) => row,
    state: (row) => text("state", row),
    policy: (row) => text("policy", row),
    default: (row) => text("default", row),
    mutated: (row) => table.rows.mutated[row],
    risk: (row) => table.rows.risk[row],
    effect: (row) => table.rows.effect[row],
    verdict: (row) => text("verdict", row),
    reached: (row) => table.rows.reached[row],
    episodes: (row) => table.rows.episodesMutated[row] + table.rows.episodesKept[row],
    kept: (row) => (isKept(row) ? 1 : 0) + (table.rows.kept[row] ? 2 : 0),
  };
  const text = (column, row) => {
    const found = table.rows[column];
    return found.texts[found.at[row]];
  };
  const picture = (row) => data.pictures[table.rows.key[row]] ?? null;

  function interval(low, estimate, high) {
    const [begin, end] = data.scale;
    const at = (value) => 4 + Math.min(Math.max((value - begin) / (end - begin || 1), 0), 1) * 112;
    const [from, to, zero] = [low, high, 0].map((value) => at(value).toFixed(1));
    const svg = drawing("svg", { class: "interval", viewBox: "0 0 120 16", "aria-hidden": "true" });
    svg.append(
      drawing("path", { class: "zero", d: `M${zero} 0V16` }),
      drawing("path", { class: "whisker", d: `M${from} 8H${to}M${from} 4V12M${to} 4V12` }),
      drawing("circle", { cx: at(estimate).toFixed(1), cy: 8, r: 3.5 }),
    );
    return svg;
  }

  function reachedWords(value) {
    return value === 0 ? "never" : value < 0.01 ? "<1%" : percent(value);
  }

  function cell(kind, label, content) {
    const element = make("td", { role: "cell", class: kind, "data-label": label });
    if (content instanceof Node) element.append(content);
    else element.textContent = content;
    return element;
  }

  function stateWords(row) {
    const words = text("state", row);
    if (words.includes("\n")) return make("span", { class: "map" }, words);
    const [first, ...drawn] = words.split("  [");
    if (drawn.length === 0 || !words.endsWith("]")) return make("span", {}, words);
    const both = make("span", {}, `${first} `);
    both.append(make("small", { class: "drawn-state" }, `[${drawn.join("  [")}`));
    return both;
  }

  function tableRow(row) {
    const rows = table.rows;
    const line = make("tr", { role: "row" });
    const rank = make("th", { role: "rowheader", scope: "row", class: "n c-rank", "data-label": "rank" });
    rank.textContent = row + 1;
    const state = cell("c-state", "state", "");
    const words = text("state", row);
    const long = !words.includes("\n") && words.split("  [")[0].length > 50;
    const inside = make("div", { class: long ? "state long" : "state" });
    if (picture(row)) inside.append(make("img", { src: picture(row), alt: "" }));
    inside.append(stateWords(row));
    state.append(inside);
    const effect = cell("c-effect", "effect", "");
    const [low, middle, high] = [rows.low[row], rows.effect[row], rows.high[row]];
    const figures = make("span", { class: "n" }, `${signed(middle)} `);
    figures.append(make("small", {}, `(${signed(low)} to ${signed(high)})`));
    effect.append(interval(low, middle, high), figures);
    const verdict = text("verdict", row);
    line.append(
      rank, state,
      cell("c-policy", "policy", text("policy", row)),
      cell("c-default", "default", text("default", row)),
      cell("n c-mutated", "risk if mutated", percent(rows.mutated[row])),
      cell("n c-risk", "risk if kept", percent(rows.risk[row])),
      effect,
      cell("c-verdict", "verdict",
        make("span", { class: `verdict ${verdict.replaceAll(" ", "-")}` }, verdict)),
      cell("n c-reached", "reached", reachedWords(rows.reached[row])),
      cell("n c-episodes", "episodes", `${rows.episodesMutated[row]} + ${rows.episodesKept[row]}`),
      keptCell(row),
      ...rows.further.map((one) => cell(`c-${one.name}`, one.heading, one.texts[one.at[row]])),
    );
    return line;
  }

  function keptCell(row) {
    const element = cell("c-kept", "kept", "");
    const marks = [[table.rows.kept[row], "◆", "kept by the pruned policy"],
      [isKept(row), "✓", "kept at the slider"]];
    for (const [holds, sign, words] of marks) {
      if (!holds) continue;
      const mark = make("span", { class: "mark", title: words }, sign);
      mark.append(make("span", { class: "hidden" }, ` ${words} `));
      element.append(mark);
    }
    return element;
  }

  function arrange() {
    const words = byId("table-search").value.trim().toLowerCase();
    const filter = byId("table-filter").value;
    const order = [];
    for (let row = 0; row < table.rows.key.length; row += 1) {
      if (words && !table.rows.haystack[row].includes(words)) continue;
      if (filter === "kept" && !isKept(row)) continue;
      if (filter === "confirmed" && !table.rows.kept[row]) continue;
      if (filter.startsWith("verdict:") && text("verdict", row) !== filter.slice(8)) continue;
      order.push(row);
    }
    const further = table.rows.further.find((one) => one.name === table.key);
    const value = further ? (row) => further.texts[further.at[row]] : SORTED[table.key];
    const way = table.down ? -1 : 1;
    if (table.key !== "rank" || table.down) {
      const values = new Map(order.map((row) => [row, value(row)]));
      order.sort((a, b) => {
        const [one, other] = [values.get(a), values.get(b)];
        if (one === other) return a - b;
        if (one === null) return 1;
        if (other === null) return -1;
        return way * (one < other ? -1 : 1);
      });
    }
    table.order = order;
    table.page = 0;
    showRows();
  }

  function showRows() {
    const first = table.page * PAGE;
    const shown = table.order.slice(first, first + PAGE);
    document.querySelector("#table tbody").replaceChildren(...shown.map(tableRow));
    const count = table.order.length;
    const pages = Math.max(Math.ceil(count / PAGE), 1);
    byId("table-status").textContent =
      count === table.rows.key.length ? `${count} decisions` : `${count} of ${table.rows.key.length} decisions`;
    byId("table-page").textContent = `${count ? first + 1 : 0} to ${first + shown.length} of ${count}`;
    byId("table-before").disabled = table.page === 0;
    byId("table-after").disabled = table.page >= pages - 1;
    byId("table-pager").hidden = pages < 2;
  }

  function sortBy(header) {
    const key = header.dataset.key;
    const falling = ["mutated", "risk", "effect", "reached", "episodes", "kept"].includes(key);
    table.down = table.key === key ? !table.down : falling;
    table.key = key;
    for (const other of document.querySelectorAll("#table th[data-key]")) {
      if (other === header) other.setAttribute("aria-sort", table.down ? "descending" : "ascending");
      else other.removeAttribute("aria-sort");
    }
    arrange();
  }

  async function startTable() {
    const rows = await unpack("table-data");
    if (rows === null) return;
    table.rows = rows;
    rows.haystack = rows.key.map((key, row) =>
      ["state", "policy", "default", "verdict"].map((name) => text(name, row)).join("\n").toLowerCase()
        + "\n" + key);
    for (const header of document.querySelectorAll("#table th[data-key]")) {
      const button = make("button", { type: "button" }, header.textContent);
      header.replaceChildren(button);
      button.addEventListener("click", () => sortBy(header));
    }
    document.querySelector("#table th[data-key=rank]").setAttribute("aria-sort", "ascending");
    byId("table-search").addEventListener("input", arrange);
    byId("table-filter").addEventListener("change", arrange);
    for (const [id, way] of [["table-before", -1], ["table-after", 1]]) {
      byId(id).addEventListener("click", () => { table.page += way; showRows(); });
    }
    byId("table-controls").hidden = false;
    arrange();
  }

  // ------------------------------------------------------------------ slider

  function startSlider() {
    const slider = byId("keep-number");
    const choice = byId("keep-measure");
    if (slider === null) return;
    const lines = Object.fromEntries(data.lines.map((line) => [line.measure, line]));
    const move = () => moveTo(lines[choice.value], slider);
    slider.addEventListener("input", move);
    choice.addEventListener("change", move);
    const first = lines[choice.value];
    const target = first.returns.findIndex((mean) => mean >= data.target);
    slider.value = target < 0 ? first.kept.length - 1 : target;
    move();
  }

  function moveTo(line, slider) {
    const at = Number(slider.value);
    const kept = line.kept[at];
    byId("keep-count").textContent = `${kept}`;
    slider.setAttribute("aria-valuetext", `${kept} states`);
    byId("keep-return").textContent = figure(line.returns[at]);
    byId("keep-return-note").textContent =
      `mean return (${figure(line.low[at])} to ${figure(line.high[at])}, ${line.episodes[at]} episodes)`;
    const span = data.original - data.reference;
    byId("keep-share").textContent = span ? percent((line.returns[at] - data.reference) / span) : "–";
    byId("keep-steps").textContent = percent(line.steps[at]);
    byId("keep-states").textContent = percent(line.states[at], 1);
    table.measure = line.measure;
    table.kept = kept;
    if (table.rows !== null) showKept(kept);
  }

  function showKept(kept) {
    const places = table.rows.ranks[table.measure] ?? [];
    const rows = [];
    places.forEach((place, row) => { if (place > 0 && place <= kept) rows.push(row); });
    rows.sort((a, b) => places[a] - places[b]);
    const chips = rows.slice(0, 12).map((row) => {
      const item = make("li");
      if (picture(row)) item.append(make("img", { src: picture(row), alt: "" }));
      item.append(stateWords(row));
      return item;
    });
    byId("keep-list").replaceChildren(...chips);
    byId("keep-note").textContent = `${rows.length} of the ${table.rows.key.length} decisions in the table `
      + `are kept${kept > rows.length ? "; the other kept states have too few episodes to be judged, or the default action never differed there" : ""}.`
      + (rows.length > chips.length ? ` The first ${chips.length}; the table marks all with ✓:` : "");
    const filter = byId("table-filter").value;
    if (filter === "kept" || table.key === "kept") arrange();
    else showRows();
  }

  // ------------------------------------------------------------------- clips

  function startClips() {
    for (const button of document.querySelectorAll("[data-play]")) {
      const number = button.dataset.play;
      const images = ["policy", "default"].map((side) =>
        document.querySelector(`[data-clip="${number}-${side}"]`));
      const stills = images.map((image) => image.src);
      const clips = data.clips[Number(number)];
      button.addEventListener("click", () => {
        const playing = button.textContent === "Stop";
        images.forEach((image, side) => {
          image.src = playing ? stills[side] : clips[side];
          image.classList.toggle("still-picture", playing);
        });
        button.textContent = playing ? "Play both" : "Stop";
      });
    }
  }

  function startPrinting() {
    const closed = [];
    window.addEventListener("beforeprint", () => {
      for (const part of document.querySelectorAll("details[data-print]:not([open])")) {
        part.open = true;
        closed.push(part);
      }
    });
    window.addEventListener("afterprint", () => { while (closed.length) closed.pop().open = false; });
  }

  async function start() {
    startClips();
    startPrinting();
    startCurves();
    await startTable();
    startSlider();
    document.documentElement.dataset.ready = "yes";
  }
  start();
})();
