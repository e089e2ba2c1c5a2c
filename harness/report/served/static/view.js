// Lists runs and shows two of them by item. It filters and computes nothing; every text goes through textContent.
"use strict";

const element = (id) => document.getElementById(id);
const STEP = 50; // items that are shown at once
const POLL_MS = 2000; // between looks at runs that go on
const PASSED = { agrees: "as most raters", differs: "not as most raters" };
let pair = null; // what /items returned
let nShown = STEP;
let timer = null;

function make(tag, text, className) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
}

async function ask(path) {
  try {
    const response = await fetch(path);
    const isJson = response.headers.get("Content-Type")?.startsWith("application/json");
    const content = isJson ? await response.json() : { problem: await response.text() };
    element("problem").textContent = content?.problem || "";
    return response.ok ? content : null;
  } catch {
    element("problem").textContent = "The command isn't running any more. Start `harness view` again and open the address that it prints.";
    return null;
  }
}

// ---- List of runs

const chosen = () => [...document.querySelectorAll("#runs input:checked")].map((input) => input.value);

function cell(name, ...children) {
  const node = make("td");
  node.dataset.name = name;
  node.append(...children);
  return node;
}

function progressOf(run) {
  if (run.n_planned === null) return [];
  const bar = make("progress");
  bar.max = Math.max(run.n_planned, 1);
  bar.value = run.n_replies;
  bar.setAttribute("aria-label", `Replies of ${run.name}`);
  const last = run.last_reply ? `, last change ${minute(run.last_reply)}` : "";
  return [bar, make("span", `${run.n_replies} of ${run.n_planned} replies${last}`, "tag")];
}

const minute = (time) => `${time.slice(0, 16).replace("T", " ")} UTC`;

function link(run) {
  if (!run.has_report) return "";
  const anchor = make("a", "Open");
  anchor.href = `/report/${encodeURIComponent(run.name)}`;
  anchor.setAttribute("aria-label", `Report of ${run.name}`);
  return anchor;
}

function runRow(run, isChosen) {
  const row = make("tr");
  const box = make("input");
  box.type = "checkbox";
  box.value = run.name;
  box.checked = isChosen;
  box.setAttribute("aria-label", `Compare ${run.name}`);
  const name = make("div", run.task);
  name.append(make("div", run.name, "tag"));
  const task = make("th");
  task.scope = "row";
  task.dataset.name = "Task";
  task.append(name);
  const state = make("div");
  state.append(make("span", run.state_words), ...progressOf(run));
  row.append(cell("Compare", box), task, cell("Started", make("span", minute(run.created), "nowrap")), cell("State", state), cell("Recommendation", run.verdict), cell("Leader", run.leader), cell("Cost", run.cost), cell("Report", link(run)));
  return row;
}

function showChosen() {
  const n = chosen().length;
  element("chosen").textContent = n === 2 ? "" : n > 2 ? "Select only two runs." : n ? "Select one more run." : "Select two runs.";
}

async function showRuns() {
  const content = await ask("/runs");
  if (!content) return;
  const before = new Set(chosen());
  const focused = document.activeElement?.closest("#runs input, #runs a");
  const label = focused?.getAttribute("aria-label");
  element("warning").textContent = content.warning;
  element("empty").hidden = content.runs.length > 0;
  element("choice").hidden = content.runs.length === 0;
  element("runs").replaceChildren(...content.runs.map((run) => runRow(run, before.has(run.name))));
  if (label) document.querySelector(`#runs [aria-label="${CSS.escape(label)}"]`)?.focus();
  showChosen();
  clearTimeout(timer);
  if (content.runs.some((run) => run.is_running)) timer = setTimeout(onTimer, POLL_MS);
}

const onTimer = () => (element("list").hidden ? undefined : showRuns());

// ---- Two runs by item

const NO_JUDGE = "–"; // the line above the items names the judges that only one run has

function answerCell(side) {
  const node = make("td");
  if (!side) {
    node.append(make("span", NO_JUDGE, "tag"));
    return node;
  }
  node.append(side.text || side.outcomes.join(", "));
  if (side.agreement) node.append(" ", make("span", PASSED[side.agreement], "tag"));
  return node;
}

function answersTable(item) {
  const table = make("table", undefined, "answers");
  const head = make("tr");
  for (const name of ["Judge", "Before", "Now"]) {
    const title = make("th", name);
    title.scope = "col";
    head.append(title);
  }
  const body = make("tbody");
  for (const judge of item.judges) {
    const row = make("tr");
    if (judge.is_same === false) row.className = "changed";
    const name = make("th", judge.judge);
    name.scope = "row";
    row.append(name, answerCell(judge.before), answerCell(judge.now));
    body.append(row);
  }
  const heads = make("thead");
  heads.append(head);
  table.append(heads, body);
  return table;
}

function answerList(title, answers) {
  const block = make("div");
  const list = make("ul");
  for (const answer of answers) {
    const reply = answer.reply && answer.reply !== answer.text ? `\n${answer.reply}` : "";
    const how = answer.elicitation === "forced_choice" ? "" : ` (${answer.elicitation.replace("_", " ")})`;
    list.append(make("li", `${answer.name}${how}: ${answer.text}${reply}`));
  }
  block.append(make("h3", title), answers.length ? list : make("p", "None.", "quiet"));
  return block;
}

function replies(item) {
  const details = make("details");
  details.append(make("summary", "Ratings and replies"));
  details.addEventListener("toggle", async () => {
    if (!details.open || details.childElementCount > 1) return;
    const query = new URLSearchParams({ first: pair.first, second: pair.second, item: item.id });
    const full = await ask(`/item?${query}`);
    const block = make("div");
    if (full) {
      const lists = make("div", undefined, "replies");
      lists.append(answerList("Raters", full.raters), answerList("Before", full.before), answerList("Now", full.now));
      block.append(make("p", full.text, "text full"), lists);
    } else {
      block.append(make("p", "The reports of these runs leave out this item's replies.", "quiet"));
    }
    details.append(block);
  });
  return details;
}

function itemNode(item) {
  const node = make("li");
  const text = make("p", undefined, "text");
  text.dir = "auto";
  text.append(make("span", item.id, "id"), item.text);
  node.append(text, make("p", `Raters: ${item.raters.replaceAll("\n", "; ") || "none"}`, "quiet"), answersTable(item), replies(item));
  return node;
}

const valueOf = (id) => element(id).value;

function isShown(judge) {
  const { before, now, is_same } = judge;
  const change = valueOf("change");
  if (change && is_same !== (change === "same")) return false;
  const agreement = valueOf("agreement");
  if (agreement === "gained" && !(before?.agreement === "differs" && now?.agreement === "agrees")) return false;
  if (agreement === "lost" && !(before?.agreement === "agrees" && now?.agreement === "differs")) return false;
  if ((agreement === "agrees" || agreement === "differs") && now?.agreement !== agreement) return false;
  const outcome = valueOf("outcome");
  return !outcome || [before, now].some((side) => side?.outcomes.includes(outcome));
}

function matches(item) {
  const find = valueOf("find").trim().toLowerCase();
  if (find && !`${item.id}\n${item.text}`.toLowerCase().includes(find)) return false;
  const raters = valueOf("raters");
  if (raters && item.raters_agree !== (raters === "yes")) return false;
  const field = valueOf("field");
  if (field && !item.slices.includes(Number(field))) return false;
  const name = valueOf("judge");
  return item.judges.some((judge) => (!name || judge.judge === name) && isShown(judge));
}

function showItems() {
  const found = pair.items.filter(matches);
  const [n1, n2] = pair.n_items;
  const absent = ["before", "now"].map((side) => pair.judges.filter((name) => pair.items.every((item) => item.judges.every((judge) => judge.judge !== name || !judge[side]))));
  const missing = absent.map((names, i) => (names.length ? ` Not in the ${["first", "second"][i]} run: ${names.join(", ")}.` : ""));
  element("count").textContent = `Showing ${found.length} of ${pair.items.length} items that are in both runs. The runs have ${n1} and ${n2} items.${missing.join("")}`;
  element("items").replaceChildren(...found.slice(0, nShown).map(itemNode));
  element("more").hidden = found.length <= nShown;
}

function fill(id, first, names) {
  const options = names.map(([value, text]) => {
    const option = make("option", text);
    option.value = value;
    return option;
  });
  const all = make("option", first);
  all.value = "";
  element(id).replaceChildren(all, ...options);
}

async function showPair(first, second) {
  const query = new URLSearchParams({ first, second });
  const content = await ask(`/items?${query}`);
  if (!content) return false;
  pair = content;
  nShown = STEP;
  const names = [["Before", first], ["Now", second]];
  element("names").replaceChildren(...names.flatMap(([title, name]) => [make("dt", title), make("dd", name)]));
  fill("judge", "any judge", pair.judges.map((name) => [name, name]));
  const outcomes = new Set(pair.items.flatMap((item) => item.judges.flatMap((judge) => [...(judge.before?.outcomes || []), ...(judge.now?.outcomes || [])])));
  fill("outcome", "all", [...outcomes].sort().map((name) => [name, name.replace("_", " ")]));
  fill("field", "all", pair.slices.map((name, i) => [String(i), name]));
  element("filters").reset();
  showItems();
  return true;
}

// ---- Addresses, filters, theme

async function route() {
  const [, first, second] = location.hash.match(/^#first=([^&]*)&second=(.*)$/) || [];
  const isPair = Boolean(first && second) && (await showPair(decodeURIComponent(first), decodeURIComponent(second)));
  element("list").hidden = isPair;
  element("pair").hidden = !isPair;
  if (!isPair && !(first && second)) await showRuns();
  element(isPair ? "pair-heading" : "heading").focus({ preventScroll: true });
}

element("choice").addEventListener("submit", (event) => {
  event.preventDefault();
  const [second, first] = chosen(); // the list is newest first
  if (chosen().length !== 2) element("problem").textContent = "Select two runs.";
  else location.hash = `first=${encodeURIComponent(first)}&second=${encodeURIComponent(second)}`;
});
element("runs").addEventListener("change", showChosen);
element("filters").addEventListener("submit", (event) => event.preventDefault());
element("filters").addEventListener("input", () => {
  nShown = STEP;
  showItems();
});
element("more").addEventListener("click", () => {
  nShown += STEP;
  showItems();
});
addEventListener("hashchange", route);

const THEMES = ["auto", "light", "dark"];
element("theme").addEventListener("click", (event) => {
  const button = event.currentTarget;
  const theme = THEMES[(THEMES.indexOf(button.lastElementChild.textContent) + 1) % THEMES.length];
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  button.lastElementChild.textContent = theme;
  button.setAttribute("aria-label", `Colour scheme: ${theme === "auto" ? "automatic" : theme}`);
});
route();
