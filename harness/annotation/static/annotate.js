// Shows one screen at a time; every text goes through textContent. Answers are kept by the server.
"use strict";

const element = (id) => document.getElementById(id);
const LETTERS = "adeghijklmoqrtvwxyz"; // of the options after the ninth; the others are commands
let screen = null;
let active = 0; // number of the question that keys answer
let busy = false;
let paused = false;
let isShown = false; // whether the first screen was shown

function make(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function textBlock({ name, text }) {
  const block = make("article");
  if (name) block.append(make("h3", "", name));
  const body = make("p", "text", text);
  body.dir = "auto";
  body.tabIndex = 0; // long texts scroll by the keyboard
  block.append(body);
  return block;
}

function textBlocks(texts) {
  const blocks = texts.filter((text) => !text.is_side).map(textBlock);
  const sides = texts.filter((text) => text.is_side).map(textBlock);
  if (!sides.length) return blocks;
  const pair = make("div", "pair");
  pair.append(...sides);
  return [...blocks, pair];
}

const keyOf = (index) => (index < 9 ? String(index + 1) : LETTERS[index - 9] || "");

function optionRow(option, index, name, value) {
  const row = make("label", "option");
  const input = make("input");
  input.type = screen.kind === "several" ? "checkbox" : "radio";
  input.name = name;
  input.value = option.key;
  input.checked = Array.isArray(value) ? value.includes(option.key) : value === option.key;
  const label = make("span", "", option.label);
  label.dir = "auto";
  row.append(input, make("kbd", "", keyOf(index)), label);
  return row;
}

function abstentionRow(index, name, value) {
  const row = optionRow({ key: screen.abstention, label: "Cannot assess" }, index, name, value);
  row.classList.add("abstention");
  row.querySelector("kbd").textContent = "0";
  return row;
}

function field(question, name) {
  const isText = screen.kind === "text";
  const input = make(isText ? "textarea" : "input", "field");
  input.name = name;
  input.dir = "auto";
  if (!isText) {
    input.type = "number";
    input.step = "any";
    if (screen.bounds) [input.min, input.max] = screen.bounds;
  }
  input.value = question.value === screen.abstention ? "" : (question.value ?? "");
  input.setAttribute("aria-label", question.criterion || screen.question);
  return input;
}

function questionBlock(question, number) {
  const block = make("fieldset");
  const legend = make("legend", "", question.criterion || screen.question);
  if (!question.criterion || screen.questions.length === 1) legend.id = "question";
  block.append(legend);
  const name = `answer-${number}`;
  if (screen.kind === "one" || screen.kind === "several") {
    block.append(...question.options.map((option, i) => optionRow(option, i, name, question.value)));
  } else {
    if (screen.bounds) block.append(make("p", "quiet", `From ${screen.bounds[0]} to ${screen.bounds[1]}.`));
    block.append(field(question, name));
  }
  if (screen.abstention && screen.questions.length > 1) block.append(abstentionRow(0, name, question.value));
  block.addEventListener("focusin", () => activate(number));
  return block;
}

function activate(number) {
  active = number;
  blocks().forEach((block, i) => block.classList.toggle("active", i === number));
}

function picture(digest) {
  const image = make("img", "picture");
  image.src = `/image?${digest}`;
  image.alt = "The image of this item";
  return image;
}

function showScreen() {
  const part = screen.part ? `, part ${screen.part} of 2` : "";
  const [first] = screen.questions;
  const isOne = screen.questions.length === 1;
  const criterion = isOne && first.criterion ? `: ${first.criterion}` : "";
  element("heading").textContent = `Item ${screen.number} of ${screen.n_outputs}${part}${criterion}`;
  const images = screen.image ? [picture(screen.image)] : [];
  element("texts").replaceChildren(...textBlocks(screen.texts), ...images);
  element("asked").textContent = screen.question;
  element("asked").hidden = isOne && !first.criterion;
  element("questions").replaceChildren(...screen.questions.map(questionBlock));
  activate(Math.max(screen.questions.findIndex((question) => question.value === null), 0));
  element("comment").value = screen.comment;
  element("flag").checked = screen.flagged;
  element("remarks").open = Boolean(screen.comment || screen.flagged);
  element("abstain").hidden = !screen.abstention || !isOne;
  element("change-set").hidden = !screen.can_change_set;
  element("forward").hidden = !screen.is_answered;
  const isAbstained = isOne && screen.abstention && first.value === screen.abstention;
  element("note").textContent = screen.is_skipped ? "You skipped this item." : isAbstained ? "You could not assess this item." : "";
}

const screenKey = (shown) => shown && JSON.stringify(shown.questions.map((q) => [q.item, q.elicitation]));

function show(view) {
  const isSame = screen && screenKey(screen) === screenKey(view.screen);
  screen = view.screen;
  const skipped = view.n_skipped ? `, ${view.n_skipped} skipped` : "";
  element("count").textContent = `${view.n_complete} of ${view.n_items} rated${skipped}`;
  element("progress").max = view.n_items;
  element("progress").value = view.n_complete;
  element("back").disabled = element("back-last").disabled = !view.can_go_back;
  element("skipped").hidden = !view.n_skipped;
  element("done-heading").textContent = view.n_skipped ? "All other items are rated" : "All items are rated";
  if (!isSame) {
    if (screen) showScreen();
    reveal();
  }
  element("problem").textContent = view.problem;
}

function reveal() {
  const name = paused ? "paused" : screen ? "work" : "done";
  for (const id of ["work", "paused", "done"]) element(id).hidden = id !== name;
  const heading = element(name).querySelector("h2");
  heading.focus({ preventScroll: true });
  if (isShown) heading.scrollIntoView({ block: "nearest" }); // instructions come first
  isShown = true;
}

const SAID = { "/answer": "Saved.", "/skip": "Skipped." };

async function send(path, body) {
  if (busy) return;
  busy = true;
  try {
    const options = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
    const response = await fetch(path, options);
    if (response.headers.get("Content-Type")?.startsWith("application/json")) {
      show(await response.json());
      if (response.ok && body) element("status").textContent = SAID[path] || "";
    } else {
      element("problem").textContent = await response.text();
    }
  } catch {
    element("problem").textContent = "Not saved, because the command has stopped. Start `harness annotate` again, and open the address that it prints. Earlier answers are safe.";
  } finally {
    busy = false;
  }
}

const blocks = () => [...element("questions").querySelectorAll("fieldset")];
const inputsOf = (block) => [...block.querySelectorAll(".option:not(.abstention) input")];

function valueOf(block) {
  const open = block.querySelector(".field");
  const keys = [...block.querySelectorAll("input:checked")].map((input) => input.value);
  if (keys.includes(screen.abstention)) return screen.abstention;
  if (open) return open.value.trim() || null;
  if (!keys.length) return null;
  return screen.kind === "several" ? keys : keys[0];
}

function post(path, values) {
  const answers = screen.questions.map(({ item, elicitation }, i) => ({ item, elicitation, value: values[i] ?? null }));
  return send(path, { answers, comment: element("comment").value, flagged: element("flag").checked });
}

function save() {
  const values = blocks().map(valueOf);
  const open = values.indexOf(null);
  if (open < 0) return post("/answer", values);
  const isOpenScale = screen.kind === "continuous" || screen.kind === "text";
  element("problem").textContent = isOpenScale ? "Write an answer first." : "Choose an option first.";
  activate(open);
}

const abstain = () => post("/answer", screen.questions.map(() => screen.abstention));

function pause() {
  paused = !paused;
  reveal();
}

function choose(index) {
  const block = blocks()[active];
  const input = index < 0 ? block.querySelector(".abstention input") : inputsOf(block)[index];
  if (!input) return false;
  input.checked = input.type === "radio" || !input.checked;
  input.focus();
  element("problem").textContent = "";
  if (input.type === "radio" && active + 1 < blocks().length) activate(active + 1);
  return true;
}

function indexOf(key) {
  if (key >= "1" && key <= "9") return Number(key) - 1;
  const letter = key.length === 1 ? LETTERS.indexOf(key) : -1;
  return letter < 0 ? null : 9 + letter;
}

function onWorkKey(key, onButton) {
  const index = indexOf(key);
  if (index !== null) return choose(index);
  if (key === "0" && screen.abstention) return screen.questions.length > 1 ? choose(-1) : abstain();
  if (key === "c" && screen.can_change_set) return send("/back", {});
  if (key === "s") return post("/skip", []);
  if (key === "f") return (element("flag").checked = !element("flag").checked, element("remarks").open = true);
  if (key === "n" && screen.is_answered) return send("/forward", {});
  if (key === "Enter" && !onButton) return save() ?? true;
  return false;
}

function onKey(event) {
  const isTyping = event.target.closest("textarea, input[type=number]");
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (isTyping && !(event.key === "Enter" && event.target.matches("input"))) return;
  if (!element("shortcuts").checked) return;
  const onButton = event.target.closest("button, summary, #shortcuts, #flag");
  if (event.key === "b" && !paused) send("/back", {});
  else if (event.key === "p" && screen) pause();
  else if (!screen || paused || !onWorkKey(event.key, onButton)) return;
  event.preventDefault();
}

element("form").addEventListener("submit", (event) => {
  event.preventDefault();
  save();
});
element("abstain").addEventListener("click", abstain);
element("change-set").addEventListener("click", () => send("/back", {}));
element("skip").addEventListener("click", () => post("/skip", []));
for (const id of ["back", "back-last"]) element(id).addEventListener("click", () => send("/back", {}));
element("forward").addEventListener("click", () => send("/forward", {}));
element("skipped").addEventListener("click", () => send("/skipped", {}));
element("pause").addEventListener("click", pause);
element("resume").addEventListener("click", pause);
document.addEventListener("keydown", onKey);
send("/question").then(() => {
  const isNarrow = matchMedia("(max-width: 700px)").matches;
  if (isNarrow && element("progress").value > 0) element("instructions").open = false;
});
