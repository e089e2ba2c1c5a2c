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
  const dataOf = (figure) => {
    const { columns, texts, rows } = JSON.parse(figure.dataset.rows);
    const shown = (cell) => (cell === null ? "NA" : Array.isArray(cell) ? texts[cell[0]] : String(cell));
    return [columns, ...rows.map((row) => row.map(shown))];
  };
  const csvOf = (figure) => dataOf(figure).map((row) => row.map(csvCell).join(",")).join("\n") + "\n";
  const dataTable = (figure) => {
    const [columns, ...rows] = dataOf(figure);
    const table = create("table");
    const head = document.createElement("tr");
    head.append(...columns.map((column) => Object.assign(create("th", column), { scope: "col" })));
    table.createTHead().append(head);
    table.createTBody().append(...rows.map(([first, ...cells]) => {
      const row = document.createElement("tr");
      row.append(Object.assign(create("th", first), { scope: "row" }), ...cells.map((cell) => create("td", cell)));
      return row;
    }));
    return table;
  };
  document.querySelectorAll("details.data").forEach((details) => details.addEventListener("toggle", () => {
    const place = details.querySelector(".scroll");
    if (!place.firstChild) place.append(dataTable(details.closest("figure")));
  }));
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
    if (button.dataset.save === "csv") download(name + ".csv", "text/csv", csvOf(figure));
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
    table.caption.textContent = `At tau ${tau}, if the raters' beta is ${beta}, on ${grid.items}.`;
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

  // ---- Item table: filtered, one page at a time, each item opened in place

  const items = block.items;
  const FILTERS = ["judge", "raters", "answer", "agreement", "outcome", "stratum", "slice", "find"];
  const JUDGES = 7; // where the cells of the judges start in a row
  const COLUMNS = 5; // of the table before those of the judges
  const filters = { page: 0, opened: new Set() };
  let matches = [];
  const cellsOf = (row) => {
    const cells = row.slice(JUDGES).map((index) => items.cells[index]);
    return filters.judge ? [cells[items.judges.indexOf(filters.judge)]] : cells;
  };
  const isMatch = (row) => {
    const [raters, raterClasses] = items.raters[row[2]];
    const hasClass = (classes, name) => !name || classes.some((index) => items.classes[index] === name);
    const cells = cellsOf(row);
    const isJudgeMatch = ([, classes, outcomes, agreement]) =>
      hasClass(classes, filters.answer) &&
      (!filters.outcome || outcomes.includes(filters.outcome)) &&
      (!filters.agreement || agreement === filters.agreement);
    const ofJudges = filters.answer || filters.outcome || filters.agreement;
    if (!hasClass(raterClasses, filters.raters)) return false;
    if (filters.stratum && !items.strata[row[5]].some((index) => block.strata[index] === filters.stratum)) return false;
    if (filters.slice && !items.slices[row[6]].some((index) => block.slices[index] === filters.slice)) return false;
    if (ofJudges && !cells.some(isJudgeMatch)) return false;
    const query = (filters.find ?? "").toLowerCase();
    const texts = [row[0], row[1], raters, ...cells.map(([text]) => text)];
    return !query || texts.some((text) => text.toLowerCase().includes(query));
  };
  const answerRows = (indices, className) => {
    const rows = [];
    for (let i = 0; i < indices.length; i += 4) {
      const [name, elicitation, answer, reply] = indices.slice(i, i + 4).map((index) => items.texts[index]);
      const row = create("tr", undefined, className);
      row.append(
        rowHeader(className === "judge" ? name : "rater " + name),
        create("td", elicitation.replaceAll("_", " ")),
        create("td", answer),
        create("td", reply, "reply"),
      );
      rows.push(row);
    }
    return rows;
  };
  const openedRow = (row, index) => {
    const [text, raters, judges] = items.full[index];
    const table = create("table");
    const head = create("tr");
    ["source", "elicitation", "answer", "reply"].forEach((name) => {
      const cell = create("th", name);
      cell.scope = "col";
      head.append(cell);
    });
    table.createTHead().append(head);
    table.createTBody().append(...answerRows(raters, "rater"), ...answerRows(judges, "judge"));
    const inside = create("div", undefined, "inside");
    const shown = text === null ? row[1] : items.texts[text];
    inside.append(shown ? create("blockquote", shown) : create("p", "(text not kept)", "quiet"), table);
    const cell = create("td");
    cell.colSpan = COLUMNS + 1 + items.judges.length;
    cell.append(inside);
    const element = create("tr", undefined, "opened");
    element.append(cell);
    return element;
  };
  const itemHeader = (row, index) => {
    const header = rowHeader(index < items.full.length ? undefined : row[0]);
    if (index >= items.full.length) return header;
    const button = create("button", row[0], "open");
    button.type = "button";
    button.title = "Ratings and replies";
    button.setAttribute("aria-expanded", filters.opened.has(row[0]));
    button.addEventListener("click", () => {
      if (!filters.opened.delete(row[0])) filters.opened.add(row[0]);
      showItems();
      writeAddress();
      [...document.querySelectorAll("#items .open")].find(({ textContent }) => textContent === row[0]).focus();
    });
    header.append(button);
    return header;
  };
  const answersCell = (text) => {
    const shown = text.replace(/×(\d)(?!\d)/g, (_, count) => "●".repeat(Number(count)));
    const cell = create("td", shown, "answers");
    if (shown !== text) cell.setAttribute("aria-label", text);
    return cell;
  };
  const itemRows = (index) => {
    const row = items.rows[index];
    const element = create("tr");
    element.append(
      itemHeader(row, index),
      create("td", row[1], "text"),
      answersCell(items.raters[row[2]][0]),
      create("td", formatNumber(row[3], 2), "n"),
      create("td", formatNumber(row[4], 0), "n"),
      ...cellsOf(row).map(([text]) => answersCell(text)),
    );
    const isOpened = filters.opened.has(row[0]) && index < items.full.length;
    return isOpened ? [element, openedRow(row, index)] : [element];
  };
  const showItems = () => {
    const size = block.pageSize;
    matches = [...items.rows.keys()].filter((index) => isMatch(items.rows[index]));
    filters.page = Math.max(0, Math.min(filters.page, Math.ceil(matches.length / size) - 1));
    const first = filters.page * size;
    const last = Math.min(first + size, matches.length);
    const table = byId("items");
    table.tBodies[0].replaceChildren(...matches.slice(first, last).flatMap(itemRows));
    [...table.tHead.rows[0].cells].slice(COLUMNS).forEach((cell, j) => {
      cell.hidden = Boolean(filters.judge) && items.judges[j] !== filters.judge;
    });
    byId("item-count").textContent = matches.length ? `${first + 1} to ${last} of ${matches.length} items` : "no matching item";
    byId("previous").disabled = first === 0;
    byId("next").disabled = last >= matches.length;
  };
  const inputs = items ? [...document.querySelectorAll("[data-filter]")] : [];
  const setFilters = (parameters) => {
    inputs.forEach((input) => {
      input.value = parameters.get(input.dataset.filter) ?? "";
      filters[input.dataset.filter] = input.value; // "" where a list has no such value
    });
    filters.opened = new Set(parameters.getAll("item"));
    filters.page = Number(parameters.get("page") ?? 1) - 1 || 0;
    showItems();
    if (parameters.has("page") || !filters.opened.size) return;
    const place = matches.findIndex((index) => filters.opened.has(items.rows[index][0]));
    filters.page = Math.floor(Math.max(0, place) / block.pageSize);
    showItems();
  };
  const turnTo = (page) => {
    filters.page = page;
    showItems();
    writeAddress();
  };
  if (items) {
    inputs.forEach((input) => input.addEventListener("input", () => {
      filters[input.dataset.filter] = input.value;
      turnTo(0);
    }));
    byId("all-items").addEventListener("click", () => {
      setFilters(new URLSearchParams());
      writeAddress();
    });
    byId("previous").addEventListener("click", () => turnTo(filters.page - 1));
    byId("next").addEventListener("click", () => turnTo(filters.page + 1));
  }

  // ---- Changed answers: the first that the lists select

  const changedRows = [...document.querySelectorAll("table.changed tbody tr")];
  const changedLists = [...document.querySelectorAll("[data-changed]")];
  const showChanged = () => {
    const wanted = Object.fromEntries(changedLists.map((list) => [list.dataset.changed, list.value]));
    const selected = changedRows.filter(({ dataset }) =>
      (!wanted.judge || dataset.judge === wanted.judge) && (!wanted.change || dataset.change === wanted.change));
    const shown = new Set(wanted.n ? selected.slice(0, Number(wanted.n)) : selected);
    changedRows.forEach((row) => { row.hidden = !shown.has(row); });
    byId("changed-count").textContent = `${shown.size} of ${selected.length}`;
  };
  if (changedRows.length) {
    changedLists.forEach((list) => list.addEventListener("input", showChanged));
    showChanged();
  }

  // ---- The address: open sections and the filters of the item table, as in #open=errors&judge=A

  const parts = [...document.querySelectorAll("details.part")];
  const unfoldAround = (element) => {
    for (let outer = element; outer; outer = outer.parentElement) {
      if (outer.tagName === "DETAILS") outer.open = true;
    }
  };
  const readAddress = (hash) => {
    const address = hash.slice(1);
    if (address && !address.includes("=")) {
      const target = byId(decodeURIComponent(address));
      unfoldAround(target);
      target?.scrollIntoView?.();
      return;
    }
    const parameters = new URLSearchParams(address);
    const names = parameters.get("open")?.split(",") ?? [];
    if (names.length) parts.forEach((part) => { part.open = names.includes(part.id); });
    const hasItems = items && [...FILTERS, "item", "page"].some((name) => parameters.has(name));
    if (items) setFilters(parameters);
    const target = hasItems ? byId("item-list") : byId(names[0]);
    unfoldAround(target);
    target?.scrollIntoView();
    if (hasItems) target.focus({ preventScroll: true });
  };
  const writeAddress = () => {
    const parameters = new URLSearchParams();
    const names = parts.filter((part) => part.open).map((part) => part.id);
    if (names.length) parameters.set("open", names.join(","));
    FILTERS.forEach((name) => { if (filters[name]) parameters.set(name, filters[name]); });
    if (filters.page) parameters.set("page", filters.page + 1);
    filters.opened.forEach((id) => parameters.append("item", id));
    const text = parameters.toString().replaceAll("+", "%20").replaceAll("%2C", ",");
    history.replaceState(null, "", "#" + text);
  };
  readAddress(location.hash);
  addEventListener("hashchange", (event) => readAddress(new URL(event.newURL).hash));
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
