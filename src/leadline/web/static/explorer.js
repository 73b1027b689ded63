// What moves in Leadline's pages. The explorer loads this file as a module, the book as a classic script from a disk,
// where browsers refuse modules and fetch: so it imports nothing and waits for nothing at its top level.
// Every page can be read without it.
"use strict";

const root = document.body.dataset.root;
const byId = (id) => document.getElementById(id);

function make(tag, properties = {}, ...content) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...content);
  return element;
}

const spoken = make("p", { className: "unseen", role: "status" });

/** Tell those who listen to the page; what is seen is not changed. */
function announce(sentence) {
  spoken.textContent = sentence;
}

function loadScript(address) {
  return new Promise((resolve, reject) => {
    const script = make("script", { src: address, onload: () => resolve(script.src) });
    script.onerror = () => reject(new Error(`${address} did not load`));
    document.head.append(script);
  });
}

// ---- Search as you type ----

const MOST_RESULTS = 12;

/** Text as it is compared: small letters without accents, so that "erdos" finds Erdős. */
function folded(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

/** How far from the id the words of a query stand in an item, infinite where one is missing. */
function distance(item, words) {
  const texts = [`${item.id} ${item.title}`, item.statement, `${item.kind} ${item.chapter} ${item.more}`].map(folded);
  const far = words.map((word) => texts.findIndex((text) => text.includes(word)));
  if (far.includes(-1)) return Infinity;
  const begins = texts[0].startsWith(words[0]) ? 0 : 0.5;
  return far.reduce((sum, each) => sum + each, begins);
}

/** The items that have all the words: matches of the id first, then of the statement, then of other words. */
function found(index, query) {
  const words = folded(query).split(/\s+/).filter(Boolean);
  return index
    .map((item) => ({ item, far: distance(item, words) }))
    .filter(({ far }) => far < Infinity)
    .sort((a, b) => a.far - b.far || a.item.id.length - b.item.id.length)
    .map(({ item }) => item);
}

function beginning(text, length = 110) {
  return text.length <= length ? text : `${text.slice(0, length).replace(/\s+\S*$/, "")} …`;
}

function searchOption(address, id, ...content) {
  return make("a", { href: address, id, role: "option", tabIndex: -1, ariaSelected: "false" }, ...content);
}

function resultOption(item, base, id) {
  const about = make("span", { className: "quiet" }, [item.id, item.kind, item.chapter].filter(Boolean).join(", "));
  const lines = [make("strong", {}, item.title), " ", about, make("br"), beginning(item.statement)];
  return searchOption(new URL(item.at, base), id, ...lines);
}

function setUpSearch() {
  const form = byId("search-form"), box = byId("search"), panel = byId("search-results");
  if (!form) return;
  const live = !form.hidden;
  const list = make("div", { id: "search-list", role: "listbox", ariaLabel: "Entries" });
  const none = make("p", { className: "quiet", hidden: true }, "No entry has all these words.");
  let loading = null;
  let chosen = -1;

  form.hidden = false;
  panel.append(list, none);
  for (const [name, value] of Object.entries({ role: "combobox", "aria-expanded": "false",
    "aria-controls": list.id, "aria-autocomplete": "list" })) box.setAttribute(name, value);

  const load = () => (loading ??= loadScript(box.dataset.index)); // its promise gives where the index lies

  function choose(number) {
    list.children[chosen]?.setAttribute("aria-selected", "false");
    chosen = number;
    const option = list.children[chosen];
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) box.setAttribute("aria-activedescendant", option.id);
    else box.removeAttribute("aria-activedescendant");
  }

  function open(shown) {
    panel.hidden = !shown;
    box.setAttribute("aria-expanded", String(shown && list.children.length > 0));
    if (!shown) choose(-1);
  }

  async function show() {
    const query = box.value;
    if (!query.trim()) return open(false);
    let base;
    try {
      base = await load();
    } catch {
      loading = null;
      return announce("The search index did not load; reload the page.");
    }
    if (query !== box.value || document.activeElement !== box) return; // typed on, or left, while it loaded
    const items = found(globalThis.leadlineIndex, query);
    const options = items.slice(0, MOST_RESULTS).map((item, i) => resultOption(item, base, `found-${i}`));
    if (live && items.length > MOST_RESULTS) {
      const all = `${form.action}?${new URLSearchParams({ q: query })}`;
      options.push(searchOption(all, "found-all", `All ${items.length} results`));
    }
    choose(-1);
    list.replaceChildren(...options);
    list.hidden = !items.length;
    none.hidden = !list.hidden;
    open(true);
    announce(items.length ? `${items.length} found` : none.textContent);
  }

  function press(event) {
    const last = list.children.length - 1;
    const steps = {
      ArrowDown: () => (chosen < last ? chosen + 1 : 0),
      ArrowUp: () => (chosen > 0 ? chosen - 1 : last),
      ...(chosen >= 0 && { Home: () => 0, End: () => last }), // before a choice they move in the text
    };
    if (event.key === "Escape" && !panel.hidden) open(false);
    else if (event.key in steps && panel.hidden) show();
    else if (event.key in steps && last >= 0) choose(steps[event.key]());
    else return;
    event.preventDefault();
  }

  box.addEventListener("focus", () => load().catch(() => (loading = null)));
  box.addEventListener("input", show);
  box.addEventListener("keydown", press);
  panel.addEventListener("mousedown", (event) => event.preventDefault()); // the box keeps the focus
  form.addEventListener("focusout", (event) => form.contains(event.relatedTarget) || open(false));
  form.addEventListener("submit", (event) => {
    const option = panel.hidden ? null : list.children[Math.max(chosen, 0)];
    if (option || !live || !box.value.trim()) event.preventDefault();
    if (option) location.assign(option.href);
  });
  document.addEventListener("keydown", (event) => {
    const writing = event.target.closest("input, select, textarea");
    if (event.key !== "/" || writing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    box.focus();
    box.select();
  });
}

// ---- Controls: a slider and a number field for a parameter follow each other ----

const POSITIONS = 1000;

/** Round as Python does: a half goes to the even number. */
function wholeNumber(value) {
  const below = Math.floor(value);
  return value - below === 0.5 ? below + Math.abs(below % 2) : Math.round(value);
}

/** One parameter or the seed, whatever its kind; `value` is a number, a boolean or a word. */
class Control {
  constructor(element) {
    this.element = element;
    this.name = element.dataset.name;
    this.slider = element.querySelector("input[type=range]");
    this.field = element.querySelector("[name]");
    this.low = Number(element.dataset.low);
    this.high = Number(element.dataset.high);
    this.log = element.dataset.log === "yes";
    this.whole = element.dataset.whole === "yes";
    this.slider?.addEventListener("keydown", (event) => this.press(event));
  }

  get value() {
    const { type, checked, valueAsNumber, value } = this.field;
    return type === "checkbox" ? checked : type === "number" ? valueAsNumber : value;
  }

  /** The value as the address has it, or nothing where it is the default. */
  get changed() {
    const byDefault = this.element.dataset.default;
    const same = this.field.type === "number" ? this.value === Number(byDefault) : String(this.value) === byDefault;
    return same ? null : String(this.value);
  }

  set(text = this.element.dataset.default) {
    if (this.field.type === "checkbox") this.field.checked = ["true", "yes", "1"].includes(text.toLowerCase());
    else this.field.value = text;
    this.fieldMoved();
  }

  /** The value at a position of the slider: as `Parameter.at` in leadline.evidence. */
  at(position) {
    const { low, high } = this, share = position / POSITIONS;
    const value = this.log ? low * (high / low) ** share : low + (high - low) * share;
    const within = Math.min(Math.max(value, low), high);
    return this.whole ? wholeNumber(within) : Number(within.toPrecision(6));
  }

  position() {
    const { low, high, value } = this;
    if (high === low) return 0;
    const share = this.log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
    return Math.round(POSITIONS * Math.min(Math.max(share, 0), 1));
  }

  sliderMoved() {
    this.field.value = this.at(Number(this.slider.value));
    this.slider.ariaValueText = this.field.value;
  }

  fieldMoved() {
    if (!this.slider || !this.field.validity.valid) return;
    this.slider.value = this.position();
    this.slider.ariaValueText = this.field.value;
  }

  /** A key moves a slider of few whole numbers to the next one, which may be hundreds of positions away. */
  press(event) {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!step || !this.whole) return;
    event.preventDefault();
    const before = this.value;
    let position = Number(this.slider.value);
    do position += step; while (position > 0 && position < POSITIONS && this.at(position) === before);
    if (position < 0 || position > POSITIONS) return;
    this.slider.value = position;
    this.slider.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

// ---- Runs: asked for with POST, followed as server-sent events ----

const GONE = "The explorer's server does not answer; start it again with leadline serve.";
const MOST_FAILURES = 8; // of a connection, one after the other, half a second apart
const pageName = Array.from(crypto.getRandomValues(new Uint32Array(3)), (n) => n.toString(36)).join("");
const places = [];

/** What the server answers, or an Error whose message is a sentence for people. */
async function ask(wanted) {
  let response;
  try {
    response = await fetch(`${root}runs`, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(wanted),
    });
  } catch {
    throw new Error(GONE);
  }
  const text = await response.text();
  if (response.ok) return JSON.parse(text);
  let sentence = text;
  try {
    sentence = JSON.parse(text).error;
  } catch { /* a refusal before the application is plain text */ }
  throw new Error(sentence || `The server refused (${response.status}).`);
}

/** A place in the page that shows one run at a time: a new run there replaces the one before.
 *
 * `on` has what to do at each event: begin(), open() of the stream, comparison(), falsification(), done(), and failed(), which
 * is any other end. The second button, if there is one, stops a run. */
class Place {
  constructor({ progress, buttons: [start, stop], on }) {
    Object.assign(this, { progress, start, stop, on, run: null, asked: Promise.resolve() });
    this.name = `${pageName}-${places.push(this)}`;
    stop?.addEventListener("click", () => this.cancel());
  }

  /** Show how it goes; seconds that pass are not read out. */
  say(sentence, { aloud = true } = {}) {
    this.progress.ariaLive = aloud ? "polite" : "off";
    this.progress.textContent = sentence;
  }

  begin(wanted) {
    this.drop();
    const run = { token: null, source: null };
    this.run = run;
    this.say("Starting.");
    if (this.stop) this.stop.hidden = false;
    this.on.begin?.();
    // One request after the other: else an older one that arrives later would replace this one.
    this.asked = this.asked.then(() => this.run === run && this.request(run, { ...wanted, page: this.name }));
  }

  async request(run, wanted) {
    try {
      const answer = await ask({ id: byId("entry").dataset.id, ...wanted });
      run.token = answer.run;
      if (this.run === run) this.follow(run, answer.events);
      else forget(run);
    } catch (error) {
      if (this.run === run) this.fail(error.message);
    }
  }

  follow(run, address) {
    const source = new EventSource(address);
    let failures = 0;
    run.source = source;
    const hear = (name, act) => source.addEventListener(name, (event) => {
      failures = 0;
      act(JSON.parse(event.data));
    });
    // A server that is asked again tells all from the beginning.
    source.addEventListener("open", () => this.on.open?.());
    hear("queued", ({ sentence }) => this.say(sentence));
    hear("running", ({ sentence }) => this.say(sentence, { aloud: false }));
    hear("comparison", (event) => this.on.comparison?.(event));
    hear("falsification", (event) => this.on.falsification?.(event));
    hear("done", (event) => {
      this.finish();
      this.say(event.verdict ? `Done: ${event.verdict}.` : "");
      this.on.done(event);
    });
    hear("ended", ({ sentence }) => this.fail(sentence));
    // A stream also ends while a run waits in the queue; the browser then asks again by itself.
    source.addEventListener("error", () => {
      failures += 1;
      if (source.readyState !== EventSource.CLOSED && failures < MOST_FAILURES) return;
      this.fail(source.readyState === EventSource.CLOSED ? "The run is lost; check again." : GONE);
      forget(run); // a page that is left hears of the end of its stream before it hears that it is left
    });
  }

  fail(sentence) {
    this.finish();
    this.say(sentence);
    this.on.failed?.();
  }

  /** The run is over, whatever came of it. */
  finish() {
    this.run?.source?.close();
    this.run = null;
    if (this.stop) {
      if (document.activeElement === this.stop) this.start.focus();
      this.stop.hidden = true;
    }
  }

  /** Stop listening and tell the server that nobody waits for the run. */
  drop() {
    if (!this.run) return;
    const run = this.run;
    run.source?.close();
    this.run = null;
    forget(run);
  }

  cancel() {
    if (!this.run) return;
    this.drop();
    this.fail("Cancelled.");
  }
}

function forget({ token }) {
  if (token) fetch(`${root}runs/${token}`, { method: "DELETE", keepalive: true }).catch(() => {});
}

// ---- The entry's own panel: controls, address, result ----

const PAUSE = 350; // milliseconds without a change, after which a change is run

/** Shows a check in #result: the result before is dimmed, rows come into a table in the place of its own. */
function resultPanel() {
  const result = byId("result");
  let before = null, coming = null;

  function dim(dimmed) {
    for (const part of result.children) part.classList.toggle("stale", dimmed && part !== coming);
    result.ariaBusy = String(dimmed);
  }

  function back() {
    if (before) coming?.replaceWith(before);
    else coming?.remove();
    before = coming = null;
    dim(false);
  }

  return {
    begin() {
      back();
      dim(true);
    },
    open() {
      coming?.querySelector("tbody").replaceChildren();
    },
    comparison({ html }) {
      if (!coming) {
        coming = byId("running-table").content.firstElementChild.cloneNode(true);
        before = result.querySelector(":scope > .wide");
        if (before) before.replaceWith(coming);
        else result.querySelector(".verdict").after(coming);
      }
      coming.querySelector("tbody").insertAdjacentHTML("beforeend", html);
    },
    async done({ html }) {
      result.style.minHeight = `${result.offsetHeight}px`; // the page does not jump while figures are drawn
      before = coming = null;
      result.innerHTML = html;
      result.ariaBusy = "false";
      await decorate(result);
      result.style.minHeight = "";
    },
    failed: back,
  };
}

function setUpControls() {
  const form = byId("controls");
  if (!form) return;
  const controls = [...form.querySelectorAll(".field")].map((element) => new Control(element));
  const panel = resultPanel();
  const done = (event) => {
    if (controls.every((control) => control.changed === null)) markLine(event);
    return panel.done(event);
  };
  const buttons = [byId("check"), byId("cancel")];
  const place = new Place({ progress: byId("progress"), buttons, on: { ...panel, done } });
  let pause = 0;

  function check() {
    clearTimeout(pause);
    const wrong = controls.find(({ field }) => !field.validity.valid);
    if (wrong) return place.say(`${wrong.name}: ${wrong.field.validationMessage}`);
    writeAddress();
    const { seed, ...parameters } = Object.fromEntries(controls.map(({ name, value }) => [name, value]));
    place.begin({ kind: "check", parameters, seed });
  }

  function changed() {
    clearTimeout(pause);
    pause = setTimeout(check, PAUSE);
  }

  /** The address holds what differs from the defaults, so that a link gives the same view. */
  function writeAddress() {
    const query = new URLSearchParams(controls.filter((c) => c.changed !== null).map((c) => [c.name, c.changed]));
    const address = new URL(location);
    address.search = query;
    history.replaceState(null, "", address);
  }

  function readAddress() {
    const query = new URLSearchParams(location.search);
    for (const control of controls) control.set(query.get(control.name) ?? undefined);
  }

  form.addEventListener("input", ({ target }) => {
    const control = controls.find(({ element }) => element.contains(target));
    if (target === control.slider) control.sliderMoved();
    else control.fieldMoved();
    changed();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    check();
  });
  form.addEventListener("reset", (event) => {
    event.preventDefault(); // it would go back to what the page was opened with
    for (const control of controls) control.set();
    changed();
  });
  byId("another-seed").addEventListener("click", () => {
    const seed = controls.find(({ name }) => name === "seed");
    seed.set(String((seed.value || 0) + 1));
    changed();
  });
  addEventListener("popstate", () => {
    const shown = controls.map(({ value }) => value);
    readAddress();
    if (controls.some(({ value }, i) => value !== shown[i])) check();
  });
  if (byId("entry").dataset.run === "yes") check();
}

function setUpBreaking() {
  const form = byId("break");
  if (!form) return;
  const result = byId("break-result");
  const show = ({ html }) => { result.innerHTML = html; };
  const place = new Place({
    progress: byId("break-progress"), buttons: [byId("break-start"), byId("break-cancel")],
    on: { begin: () => result.replaceChildren(), falsification: show, done: show },
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    place.begin({ kind: "falsify", budget: Number(form.elements.budget.value) });
  });
}

function setUpExamples() {
  for (const button of document.querySelectorAll(".run-example")) {
    const output = button.closest(".object").querySelector(".output");
    const on = { done: ({ html }) => { output.innerHTML = html; } };
    const place = new Place({ progress: output, buttons: [button], on });
    button.addEventListener("click", () => place.begin({ kind: "example", object: button.dataset.object }));
  }
}

// ---- Figures: Vega draws them from their specification ----

let vega = null;

const BESIDE_AXES = 80; // pixels that labels take beside the plane of a chart
const NARROWEST = 320; // pixels that a panel must have
const LETTER = 7.5; // pixels of a letter in a title, on average
const SMALLEST = 0.8; // a figure is scaled down to this before it scrolls

/** A title in lines that fit into so many pixels. */
function inLines({ text, ...title }, width) {
  const longest = Math.max(20, Math.floor(width / LETTER)), lines = [];
  for (const word of [text].flat().join(" ").split(" ")) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : "";
    if (longer && longer.length <= longest) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return { ...title, text: lines };
}

/** The specification laid out anew where its box is too narrow: fewer panels in a row, smaller planes, longer titles. */
function fitted(spec, box) {
  const { continuousWidth, continuousHeight } = spec.config.view;
  const panels = spec.concat ?? [spec], inRow = Math.min(spec.columns ?? 1, panels.length);
  const widest = Math.max(...panels.map(({ width = continuousWidth }) => width));
  const title = LETTER * Math.max(...[spec.title.text].flat().map((line) => line.length));
  if (Math.max((widest + BESIDE_AXES) * inRow, title) <= box) return spec;
  const columns = Math.min(inRow, Math.max(1, Math.floor(box / NARROWEST))), part = box / columns;
  const factor = Math.min(1, (part / SMALLEST - BESIDE_AXES) / widest);
  const shrunk = ({ width = continuousWidth, height = continuousHeight, title, ...panel }) => (
    { ...panel, title: inLines(title, part), width: factor * width, height: factor * height });
  return spec.concat ? { ...spec, title: inLines(spec.title, box), columns, concat: panels.map(shrunk) } : shrunk(spec);
}

/** Whether both axes of a layer are numbers, so that it can be moved and zoomed. */
function isPlane({ encoding = {} }) {
  return ["x", "y"].every((channel) => encoding[channel]?.type === "quantitative" && !encoding[channel].bin);
}

/** The specification with scales that follow the pointer, or null for a chart that has none such. */
function withZoom(spec) {
  const layers = spec.layer ?? [spec];
  const first = layers.findIndex(isPlane);
  if (first < 0 || spec.resolve || spec.concat || !matchMedia("(pointer: fine)").matches) return null;
  // With Shift the wheel scrolls sideways and has no height; Control is also what a pinch on a touchpad sends.
  const select = { type: "interval", encodings: ["x", "y"], zoom: "wheel![event.ctrlKey || event.metaKey]" };
  const params = [{ name: "zoom", select, bind: "scales" }];
  // Beside a layer that can be moved, Vega-Lite lets no other be pointed at unless its own mark asks for it.
  const pointed = ({ mark, ...layer }) => ({ ...layer, mark: { ...(mark.type ? mark : { type: mark }), tooltip: true } });
  const bound = layers.map((layer, i) => (i === first ? { ...layer, params } : layer.mark ? pointed(layer) : layer));
  return spec.layer ? { ...spec, layer: bound } : bound[0];
}

/** Vega-Lite clips all marks of a chart that can be moved: points at its edge should be whole until it is. */
function clippedWhenMoved(compiled) {
  for (const mark of compiled.marks) if (mark.type === "symbol") mark.clip = { signal: "isValid(zoom_x)" };
  return compiled;
}

function saveButton(view, title, type) {
  const button = make("button", { type: "button" }, `Save ${type.toUpperCase()}`);
  button.addEventListener("click", async () => {
    make("a", { href: await view.toImageURL(type, 2), download: `${title}.${type}` }).click();
  });
  return button;
}

async function draw(figure) {
  const canvas = figure.querySelector(".canvas"), { title } = figure.dataset;
  try {
    await (vega ??= loadScript(`${root}assets/vega.js`));
    const spec = fitted(JSON.parse(figure.querySelector("script.spec").textContent), figure.parentElement.clientWidth);
    const zoomed = withZoom(spec);
    // `ast`: expressions are interpreted, because the page's policy forbids to make code from text.
    const options = { mode: "vega-lite", renderer: "svg", ast: true, actions: false, defaultStyle: false };
    if (zoomed) options.patch = clippedWhenMoved;
    const { view } = await vegaEmbed(canvas, { ...(zoomed ?? spec), description: title }, options);
    const hint = zoomed ? "Drag to move, Ctrl and wheel to zoom, double click to go back." : "";
    const actions = [saveButton(view, title, "svg"), " ", saveButton(view, title, "png"), " "];
    figure.append(make("p", { className: "actions" }, ...actions, make("span", { className: "quiet" }, hint)));
  } catch (error) {
    canvas.replaceChildren(make("p", {}, title), make("p", { className: "bad" }, `Not drawn: ${error.message}`));
  }
}

// ---- Copying ----

function addCopyButton(pre) {
  const button = make("button", { type: "button", className: "copy" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(pre.dataset.copy ?? pre.textContent);
      button.textContent = "Copied";
      announce("Copied");
    } catch { // a browser gives no clipboard to a page from another machine without encryption
      getSelection().selectAllChildren(pre);
      announce("Selected; copy it with Control and C");
    }
  });
  button.addEventListener("blur", () => { button.textContent = "Copy"; });
  const box = make("div", { className: "copying" });
  pre.replaceWith(box);
  box.append(pre, button);
}

/** What script adds to a piece of the page: at the beginning to all of it, later to each new result. */
function decorate(part) {
  for (const pre of part.querySelectorAll("pre.copied")) addCopyButton(pre);
  const figures = [...part.querySelectorAll("figure.chart")].filter((figure) => figure.querySelector("script.spec"));
  return Promise.all(figures.map(draw));
}

// ---- The list of chapters ----

/** On a wide screen the list is open; it shows the line of this page, without moving the page. */
function setUpChapters() {
  const chapters = byId("chapters"), wide = matchMedia("(min-width: 60rem)");
  if (!chapters) return;
  const open = () => { chapters.open = wide.matches; };
  wide.addEventListener("change", open);
  open();
  const line = chapters.querySelector("[aria-current]");
  if (!line || !wide.matches) return;
  const middle = chapters.getBoundingClientRect().top + chapters.clientHeight / 2;
  chapters.scrollTop += line.getBoundingClientRect().top - middle;
}

/** How the entry of this page came out, in its line of the list. */
function markLine({ mark, tone, verdict }) {
  const shown = document.querySelector("#chapters [aria-current] .mark");
  if (shown) Object.assign(shown, { textContent: mark, className: `mark ${tone}`, title: verdict });
}

document.body.append(spoken);
setUpSearch();
setUpControls();
setUpBreaking();
setUpExamples();
decorate(document);
setUpChapters();
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !event.defaultPrevented) for (const place of places) place.cancel();
});
addEventListener("pagehide", () => { for (const place of places) place.cancel(); });
