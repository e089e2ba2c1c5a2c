"use strict";
// Shows computed values and computes no statistic. All text is set as text, never as markup.
(() => {
  const byId = (id) => document.getElementById(id);
  const block = JSON.parse(byId("block").textContent);
  document.querySelectorAll("[data-js]").forEach((element) => { element.hidden = false; });

  const create = (tag, text, className) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    return element;
  };
  const rowHeader = (text) => {
    const cell = create("th", text);
    cell.scope = "row";
    return cell;
  };
  const formatNumber = (value, digits) => {
    if (value === null || value === undefined) return "NA";
    return value.toFixed(digits).replace(/^-(?=[0.]+$)/, "");
  };

  // ---- Colour scheme

  const themes = ["auto", "light", "dark"];
  const themeButton = byId("theme");
  let theme = "auto";
  themeButton.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    themeButton.lastElementChild.textContent = theme;
    themeButton.setAttribute("aria-label", "Colour scheme: " + (theme === "auto" ? "automatic" : theme));
  });

  // ---- Downloads and the clipboard

  const SVG = "http://www.w3.org/2000/svg";
  const download = (name, type, text) => {
    const link = create("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const csvCell = (text) => {
    const isFormula = /^[=+@\t\r-]/.test(text) && isNaN(Number(text));
    const escaped = isFormula ? "'" + text : text;
    return /[",\n]/.test(escaped) ? '"' + escaped.replaceAll('"', '""') + '"' : escaped;
  };
  const csvOf = (table) => {
    const lines = [...table.rows].map((row) => [...row.cells].map((cell) => csvCell(cell.textContent)).join(","));
    return lines.join("\n") + "\n";
  };
  const setAttributes = (element, attributes) => {
    Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
  };
  const svgOf = (figure) => {
    const svg = figure.querySelector("svg").cloneNode(true);
    const [, , width, height] = figure.dataset.box.split(" ");
    setAttributes(svg, { xmlns: SVG, viewBox: figure.dataset.box, width, height });
    const style = document.createElementNS(SVG, "style");
    style.textContent = block.chartStyle;
    const title = document.createElementNS(SVG, "text");
    title.textContent = figure.querySelector("figcaption").textContent;
    setAttributes(title, { class: "title", x: 0, y: -10 });
    svg.prepend(style, title);
    return new XMLSerializer().serializeToString(svg);
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-save]");
    if (!button) return;
    const figure = button.closest("figure");
    const name = figure.dataset.name;
    if (button.dataset.save === "csv") download(name + ".csv", "text/csv", csvOf(figure.querySelector("table")));
    else download(name + ".svg", "image/svg+xml", svgOf(figure));
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    const source = byId(button.dataset.copy);
    getSelection().selectAllChildren(source);
    const confirm = () => { button.firstChild.textContent = "Copied"; };
    if (navigator.clipboard) navigator.clipboard.writeText(source.textContent).then(confirm, () => {});
  });

  // ---- Beta, tau and goal: steps through the computed grid

  const grid = block.grid;
  const state = grid && { beta: grid.beta, tau: grid.tau, goal: "consistency" };
  const rankedRows = () => {
    const rows = grid.judges.map((name, j) => ({
      name,
      consistency: grid.consistency[j][state.tau][state.beta],
      bias: grid.bias[j][state.tau][state.beta],
    }));
    const loss = (row) => {
      if (row[state.goal] === null) return Infinity;
      return state.goal === "consistency" ? -row.consistency : Math.abs(row.bias);
    };
    rows.sort((a, b) => (loss(a) === loss(b) ? 0 : loss(a) - loss(b)));
    rows.forEach((row, i) => {
      if (loss(row) === Infinity) row.rank = "NA";
      else row.rank = i && loss(rows[i - 1]) === loss(row) ? rows[i - 1].rank : i + 1;
    });
    return rows;
  };
  const scaleOf = (text) => {
    const [low, high, start, end] = text.split(" ").map(Number);
    return (value) => start + ((value - low) / (high - low)) * (end - start);
  };
  const pathOf = (points) => {
    const steps = points.map(([x, y]) => x.toFixed(2) + " " + y.toFixed(2));
    return points.length ? "M" + steps.join(" L") : "";
  };
  const redraw = (name, valuesOf) => {
    const chart = document.querySelector("#chart-" + name + " svg");
    if (!chart) return;
    const [x, y] = [scaleOf(chart.dataset.x), scaleOf(chart.dataset.y)];
    const paths = new Map([...chart.querySelectorAll("path.series")].map((path) => [path.dataset.of, path]));
    grid.judges.forEach((judge, j) => {
      const points = [];
      valuesOf(j).forEach((value, i) => { if (value !== null) points.push([x(grid.betas[i]), y(value)]); });
      paths.get(judge)?.setAttribute("d", pathOf(points));
    });
    const visibility = state.tau === grid.tau ? "visible" : "hidden"; // drawn for the run's tau alone
    chart.querySelectorAll(".rule, .rule-label, .region").forEach((mark) => { setAttributes(mark, { visibility }); });
    const position = x(grid.betas[state.beta]).toFixed(2);
    setAttributes(chart.querySelector(".cursor"), { visibility: "visible", x1: position, x2: position });
  };
  const goalRow = (row) => {
    const element = create("tr", undefined, row.rank === 1 ? "best" : "");
    element.append(
      create("td", row.rank, "n"),
      rowHeader(row.name),
      create("td", formatNumber(row.consistency, 3), "n"),
      create("td", formatNumber(row.bias, 3), "n"),
    );
    return element;
  };
  const update = () => {
    const beta = grid.betas[state.beta].toFixed(3);
    const tau = grid.taus[state.tau].toFixed(2);
    const goal = state.goal === "consistency" ? "consistency" : "|bias|";
    const rows = rankedRows();
    byId("beta").value = state.beta;
    byId("tau").value = state.tau;
    byId("tau-choice").value = state.tau;
    byId("beta").setAttribute("aria-valuetext", "beta " + beta);
    byId("tau").setAttribute("aria-valuetext", "tau " + tau);
    byId("beta-shown").textContent = beta;
    byId("tau-shown").textContent = tau;
    const table = byId("live");
    table.caption.textContent = `At tau ${tau}, if beta of the raters is ${beta}; ${grid.items}.`;
    table.tBodies[0].replaceChildren(...rows.map(goalRow));
    const order = rows.map((row) => row.rank + " " + row.name).join(", ");
    byId("live-line").textContent = `By ${goal} at beta ${beta} and tau ${tau}: ${order}.`;
    redraw("decision-consistency-by-beta", (j) => grid.consistency[j][state.tau]);
    redraw("prevalence-bias-by-beta", (j) => grid.bias[j][state.tau].map((bias) => (bias === null ? null : Math.abs(bias))));
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

  // ---- Item table, one page at a time

  const items = block.items; // rows: id, text, raters, disagreement, judges apart, then each judge
  if (items) {
    const size = block.pageSize;
    let matches = items.rows;
    let first = 0;
    const answersOf = ([, , raters, , , ...judges]) => [raters, ...judges].map((index) => items.answers[index]);
    const itemRow = (row) => {
      const [id, text, , disagreement, apart] = row;
      const [raters, ...judges] = answersOf(row);
      const element = create("tr");
      element.append(
        rowHeader(id),
        create("td", text, "text"),
        create("td", raters),
        create("td", formatNumber(disagreement, 2), "n"),
        create("td", apart, "n"),
        ...judges.map((answers) => create("td", answers)),
      );
      return element;
    };
    const showPage = (start) => {
      first = Math.max(0, start);
      const last = Math.min(first + size, matches.length);
      byId("items").tBodies[0].replaceChildren(...matches.slice(first, last).map(itemRow));
      byId("item-count").textContent = matches.length ? `${first + 1} to ${last} of ${matches.length} items` : "no matching item";
      byId("previous").disabled = first === 0;
      byId("next").disabled = last >= matches.length;
    };
    byId("previous").addEventListener("click", () => showPage(first - size));
    byId("next").addEventListener("click", () => showPage(first + size));
    byId("find").addEventListener("input", (event) => {
      const query = event.target.value.toLowerCase();
      const isMatch = (row) => [row[0], row[1], ...answersOf(row)].some((text) => text.toLowerCase().includes(query));
      matches = query ? items.rows.filter(isMatch) : items.rows;
      showPage(0);
    });
    showPage(0);
  }

  // ---- Folded sections: the address names those that are open, as in #open=ranking,errors

  const parts = [...document.querySelectorAll("details.part")];
  const readAddress = () => {
    const address = decodeURIComponent(location.hash.slice(1));
    const names = new URLSearchParams(address).get("open")?.split(",");
    if (names) parts.forEach((part) => { part.open = names.includes(part.id); });
    const target = names ? byId(names[0]) : address && byId(address);
    for (let element = target; element; element = element.parentElement) {
      if (element.tagName === "DETAILS") element.open = true;
    }
    target?.scrollIntoView?.();
  };
  const writeAddress = () => {
    const names = parts.filter((part) => part.open).map((part) => part.id);
    history.replaceState(null, "", names.length ? "#open=" + names.join(",") : "#");
  };
  readAddress();
  addEventListener("hashchange", readAddress);
  parts.forEach((part) => part.addEventListener("toggle", writeAddress));

  // ---- Hints on frames that scroll, and folded charts in print

  const resized = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const frame = target.closest(".scroll");
      frame.classList.toggle("more", frame.scrollWidth > frame.clientWidth + 1);
    }
  });
  document.querySelectorAll(".scroll, .scroll > *").forEach((element) => resized.observe(element));
  const folded = "details.part:not([open]), details.group:has(figure, .own):not([open])";
  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll(folded)];
    unfolded.forEach((element) => { element.open = true; });
  });
  addEventListener("afterprint", () => {
    unfolded.forEach((element) => { element.open = false; });
  });
})();
