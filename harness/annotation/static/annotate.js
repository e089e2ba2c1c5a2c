// Shows one question at a time; every text goes through textContent. Answers are kept by the server.
"use strict";

const element = (id) => document.getElementById(id);
let step = null;
let busy = false;
let paused = false;
let isShown = false; // whether the first question was shown

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

function optionRow(option, index) {
  const row = make("label", "option");
  const input = make("input");
  input.type = step.elicitation === "response_set" ? "checkbox" : "radio";
  input.name = "option";
  input.value = option.key;
  const label = make("span", "", option.label);
  label.dir = "auto";
  row.append(input, make("kbd", "", index < 9 ? String(index + 1) : ""), label);
  return row;
}

function picture(digest) {
  const image = make("img", "picture");
  image.src = `/image?${digest}`;
  image.alt = "The image of this item";
  return image;
}

function showStep(nItems) {
  const part = step.part ? `, part ${step.part} of 2` : "";
  const criterion = step.criterion ? `: ${step.criterion}` : "";
  element("heading").textContent = `Item ${step.number} of ${nItems}${part}${criterion}`;
  element("question").textContent = step.question;
  const images = step.image ? [picture(step.image)] : [];
  element("texts").replaceChildren(...step.texts.map(textBlock), ...images);
  element("options").replaceChildren(...step.options.map(optionRow));
  element("abstain").hidden = !step.abstention;
  element("change-set").hidden = !step.can_change_set;
}

function show(view) {
  const isSame = step && view.step && step.item === view.step.item && step.elicitation === view.step.elicitation;
  step = view.step;
  element("count").textContent = `${view.n_complete} of ${view.n_items} rated`;
  element("progress").max = view.n_items;
  element("progress").value = view.n_complete;
  element("undo").disabled = element("undo-last").disabled = !view.can_undo;
  if (!isSame) {
    if (step) showStep(view.n_items);
    reveal();
  }
  element("problem").textContent = view.problem;
}

function reveal() {
  const name = paused ? "paused" : step ? "work" : "done";
  for (const id of ["work", "paused", "done"]) element(id).hidden = id !== name;
  const heading = element(name).querySelector("h2");
  heading.focus({ preventScroll: true });
  if (isShown) heading.scrollIntoView({ block: "nearest" }); // instructions come first
  isShown = true;
}

async function send(path, body) {
  if (busy) return;
  busy = true;
  try {
    const options = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
    const response = await fetch(path, options);
    if (response.headers.get("Content-Type")?.startsWith("application/json")) {
      show(await response.json());
      if (response.ok && body) element("status").textContent = path === "/answer" ? "Saved." : "Taken back.";
    } else {
      element("problem").textContent = await response.text();
    }
  } catch {
    element("problem").textContent = "Not saved: the command no longer runs. Start `harness annotate` again and open the address that it prints; earlier answers are safe.";
  } finally {
    busy = false;
  }
}

const inputs = () => [...element("options").querySelectorAll("input")];
const post = (value) => send("/answer", { item: step.item, elicitation: step.elicitation, value });

function save() {
  const keys = inputs().filter((input) => input.checked).map((input) => input.value);
  if (!keys.length) element("problem").textContent = "Choose an option first.";
  else post(step.elicitation === "response_set" ? keys : keys[0]);
}

function pause() {
  paused = !paused;
  reveal();
}

function choose(input) {
  if (!input) return;
  input.checked = input.type === "radio" || !input.checked;
  input.focus();
  element("problem").textContent = "";
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || !element("shortcuts").checked) return;
  const onButton = event.target.closest("button, summary, #shortcuts");
  const isWork = step && !paused;
  if (event.key === "u" && !paused) send("/undo", {});
  else if (event.key === "p" && step) pause();
  else if (isWork && event.key >= "1" && event.key <= "9") choose(inputs()[event.key - 1]);
  else if (isWork && event.key === "0" && step.abstention) post(step.abstention);
  else if (isWork && event.key === "c" && step.can_change_set) send("/change-set", {});
  else if (isWork && event.key === "Enter" && !onButton) save();
  else return;
  event.preventDefault();
}

element("form").addEventListener("submit", (event) => {
  event.preventDefault();
  save();
});
element("abstain").addEventListener("click", () => post(step.abstention));
element("change-set").addEventListener("click", () => send("/change-set", {}));
element("undo").addEventListener("click", () => send("/undo", {}));
element("undo-last").addEventListener("click", () => send("/undo", {}));
element("pause").addEventListener("click", pause);
element("resume").addEventListener("click", pause);
document.addEventListener("keydown", onKey);
send("/question").then(() => {
  const isNarrow = matchMedia("(max-width: 700px)").matches;
  if (isNarrow && element("progress").value > 0) element("instructions").open = false;
});
