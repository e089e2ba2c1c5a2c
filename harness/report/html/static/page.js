"use strict";
// Shows what was computed; computes no statistic. Every text is set as text, never as markup.
(() => {
  const byId = (id) => document.getElementById(id);
  const block = JSON.parse(byId("block").textContent);
  document.querySelectorAll("[data-js]").forEach((el) => { el.hidden = false; });

  const make = (tag, text, kind) => {
    const el = document.createElement(tag);
    if (text !== undefined) el.textContent = text;
    if (kind) el.className = kind;
    return el;
  };
  const shown = (x, digits) => (x === null || x === undefined ? "NA" : x.toFixed(digits).replace(/^-(?=[0.]+$)/, ""));

  // ---- colour scheme
  const themes = ["auto", "light", "dark"];
  const theme = byId("theme");
  const setTheme = (name) => {
    if (name === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    theme.lastElementChild.textContent = name;
    theme.setAttribute("aria-label", "Colour scheme: " + (name === "auto" ? "automatic" : name));
  };
  let current = "auto";
  theme.addEventListener("click", () => {
    current = themes[(themes.indexOf(current) + 1) % themes.length];
    setTheme(current);
  });

  // ---- data and drawings as files
  const save = (name, type, text) => {
    const url = URL.createObjectURL(new Blob([text], { type }));
    const link = make("a");
    link.href = url;
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  };
  const cellOf = (text) => {
    const inert = /^[=+@\t\r-]/.test(text) && isNaN(Number(text)) ? "'" + text : text;
    return /[",\n]/.test(inert) ? '"' + inert.replaceAll('"', '""') + '"' : inert;
  };
  const csv = (table) => [...table.rows].map((row) =>
    [...row.cells].map((cell) => cellOf(cell.textContent)).join(",")).join("\n") + "\n";
  const SVG = "http://www.w3.org/2000/svg";
  const svg = (figure) => {
    const copy = figure.querySelector("svg").cloneNode(true);
    const [, , width, height] = figure.dataset.box.split(" ");
    const above = { xmlns: SVG, viewBox: figure.dataset.box, width, height };
    Object.entries(above).forEach(([name, value]) => copy.setAttribute(name, value));
    const style = document.createElementNS(SVG, "style");
    style.textContent = block.chartStyle;
    const title = document.createElementNS(SVG, "text");
    title.textContent = figure.querySelector("figcaption").textContent;
    Object.entries({ class: "title", x: 0, y: -10 }).forEach(([name, value]) => title.setAttribute(name, value));
    copy.prepend(style, title);
    return new XMLSerializer().serializeToString(copy);
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-save]");
    if (!button) return;
    const figure = button.closest("figure");
    const name = figure.dataset.name;
    if (button.dataset.save === "csv") save(name + ".csv", "text/csv", csv(figure.querySelector("table")));
    else save(name + ".svg", "image/svg+xml", svg(figure));
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    const source = byId(button.dataset.copy);
    getSelection().selectAllChildren(source);
    const done = () => { button.firstChild.textContent = "Copied"; };
    if (navigator.clipboard) navigator.clipboard.writeText(source.textContent).then(done, () => {});
  });

  // ---- beta, tau and goal: steps through a grid
  const grid = block.grid;
  const state = grid && { beta: grid.beta, tau: grid.tau, goal: "consistency" };
  const standing = () => {
    const rows = grid.judges.map(([name, style, baseline], j) => ({
      name, style, baseline,
      consistency: grid.consistency[j][state.tau][state.beta],
      bias: grid.bias[j][state.tau][state.beta],
    }));
    const loss = (r) => {
      if (r[state.goal] === null) return Infinity;
      return state.goal === "consistency" ? -r.consistency : Math.abs(r.bias);
    };
    rows.sort((a, b) => (loss(a) === loss(b) ? 0 : loss(a) - loss(b)));
    rows.forEach((r, i) => {
      r.rank = loss(r) === Infinity ? null : i && loss(rows[i - 1]) === loss(r) ? rows[i - 1].rank : i + 1;
    });
    return rows;
  };
  const frame = (drawing) => {
    const read = (text) => {
      const [low, high, start, end] = text.split(" ").map(Number);
      return (value) => start + ((value - low) / (high - low)) * (end - start);
    };
    return [read(drawing.dataset.x), read(drawing.dataset.y)];
  };
  const redraw = (name, values) => {
    const drawing = document.querySelector("#chart-" + name + " svg");
    if (!drawing) return;
    const [x, y] = frame(drawing);
    const paths = new Map([...drawing.querySelectorAll("path.series")].map((p) => [p.dataset.of, p]));
    grid.judges.forEach(([judge], j) => {
      const path = paths.get(judge);
      if (!path) return;
      const points = [];
      values(j).forEach((v, i) => { if (v !== null) points.push([x(grid.betas[i]), y(v)]); });
      path.setAttribute("d", points.length ? "M" + points.map((p) => p[0].toFixed(2) + " " + p[1].toFixed(2)).join(" L") : "");
    });
    const atRun = state.tau === grid.tau;
    drawing.querySelectorAll(".rule, .rule-label, .band").forEach((el) => { el.setAttribute("visibility", atRun ? "visible" : "hidden"); });
    const cursor = drawing.querySelector(".cursor");
    const at = x(grid.betas[state.beta]).toFixed(2);
    cursor.setAttribute("visibility", "visible");
    cursor.setAttribute("x1", at);
    cursor.setAttribute("x2", at);
  };
  const update = () => {
    const beta = grid.betas[state.beta];
    const tau = grid.taus[state.tau];
    const rows = standing();
    byId("beta").value = state.beta;
    byId("tau").value = state.tau;
    byId("tau-choice").value = state.tau;
    byId("beta").setAttribute("aria-valuetext", "beta " + beta.toFixed(3));
    byId("tau").setAttribute("aria-valuetext", "tau " + tau.toFixed(2));
    byId("beta-shown").textContent = beta.toFixed(3);
    byId("tau-shown").textContent = tau.toFixed(2);
    const table = byId("live");
    table.caption.textContent = "At tau " + tau.toFixed(2) + ", supposing that beta of the raters is " + beta.toFixed(3) + "; " + grid.items + ".";
    table.tBodies[0].replaceChildren(...rows.map((r) => {
      const row = make("tr", undefined, r.baseline ? "baseline" : r.rank === 1 ? "best" : "");
      const name = make("th", r.name);
      name.scope = "row";
      row.append(make("td", r.rank === null ? "NA" : r.rank, "n"), name,
        make("td", shown(r.consistency, 3), "n"), make("td", shown(r.bias, 3), "n"));
      return row;
    }));
    const goal = state.goal === "consistency" ? "consistency" : "|bias|";
    byId("live-line").textContent = "By " + goal + " at beta " + beta.toFixed(3) + " and tau " + tau.toFixed(2) + ": " +
      rows.map((r) => (r.rank === null ? "NA" : r.rank) + " " + r.name).join(", ") + ".";
    redraw("decision-consistency-by-beta", (j) => grid.consistency[j][state.tau]);
    redraw("prevalence-bias-by-beta", (j) => grid.bias[j][state.tau].map((b) => (b === null ? null : Math.abs(b))));
  };
  if (grid) {
    const listen = (id, key, read) => byId(id).addEventListener("input", (event) => {
      state[key] = read(event.target.value);
      update();
    });
    listen("beta", "beta", Number);
    listen("tau", "tau", Number);
    listen("tau-choice", "tau", Number);
    listen("goal", "goal", String);
    update();
  }

  // ---- items, a page at a time
  const items = block.items;
  if (items) {
    const size = block.pageSize;
    const body = byId("items").tBodies[0];
    let found = items.rows;
    let first = 0;
    const answers = (row) => [row[2], ...row.slice(5)].map((i) => items.answers[i]);
    const show = () => {
      body.replaceChildren(...found.slice(first, first + size).map((r) => {
        const row = make("tr");
        const id = make("th", r[0]);
        id.scope = "row";
        row.append(id, make("td", r[1], "text"), make("td", items.answers[r[2]]),
          make("td", shown(r[3], 2), "n"), make("td", r[4], "n"), ...r.slice(5).map((i) => make("td", items.answers[i])));
        return row;
      }));
      const last = Math.min(first + size, found.length);
      byId("item-count").textContent = found.length ? `${first + 1} to ${last} of ${found.length} items` : "no item found";
      byId("before").disabled = first === 0;
      byId("after").disabled = last >= found.length;
    };
    byId("before").addEventListener("click", () => { first = Math.max(0, first - size); show(); });
    byId("after").addEventListener("click", () => { first += size; show(); });
    byId("find").addEventListener("input", (event) => {
      const wanted = event.target.value.toLowerCase();
      found = wanted ? items.rows.filter((r) => [r[0], r[1], ...answers(r)].some((t) => t.toLowerCase().includes(wanted))) : items.rows;
      first = 0;
      show();
    });
    show();
  }
  // ---- frames that hold more than they show say so
  const hint = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const frame = target.closest(".scroll");
      frame.classList.toggle("more", frame.scrollWidth > frame.clientWidth + 1);
    }
  });
  document.querySelectorAll(".scroll, .scroll > *").forEach((el) => hint.observe(el));
  addEventListener("beforeprint", () => { document.querySelectorAll("details.group:has(figure)").forEach((el) => { el.open = true; }); });
})();
