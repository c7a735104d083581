// The page works without this script; with it, live parts are updated, times are shown and asked for
// in the visitor's zone, and a lost connection is told and restored.
"use strict";

const TRY_AGAIN_MS = 2000;
const SLOW_MS = 20000;

// Times: the server writes UTC, the visitor's zone is known only here.
function showTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]:not([data-shown])")) {
    const moment = new Date(time.getAttribute("datetime"));
    if (Number.isNaN(moment.getTime())) continue;
    time.dataset.shown = "";
    time.title = time.textContent;
    time.textContent = moment.toLocaleString(undefined, {
      year: "numeric", month: "short", day: "numeric",
      hour: "2-digit", minute: "2-digit", second: "2-digit",
    });
  }
}

// Times in forms: the server reads and writes UTC; the visitor types the time of her own zone.
const TIME = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?$/;

// The moment that a text names in UTC ("Z") or in the visitor's zone (""); null if there is none.
// Browsers make March 2 of February 30, and another hour of one that the clock leaves out.
function readTime(text, zone) {
  if (!TIME.test(text)) return null;
  const whole = text.length === 10 ? `${text}T00:00` : text.replace(" ", "T");
  const moment = new Date(`${whole}${zone}`);
  if (Number.isNaN(moment.getTime())) return null;
  const shift = zone === "Z" ? 0 : -60000 * moment.getTimezoneOffset();
  return writeTime(moment, shift).slice(0, 16) === whole.slice(0, 16) ? moment : null;
}

function writeTime(moment, shift) {
  const written = new Date(moment.getTime() + shift).toISOString();
  return moment.getTime() % 60000 === 0 ? written.slice(0, 16) : written.slice(0, -1);
}

function askTimesInZone() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const place of document.querySelectorAll("[data-zone]")) place.textContent = zone;
  for (const field of document.querySelectorAll("input[data-utc]")) {
    const moment = readTime(field.defaultValue, "Z");
    if (moment !== null) field.value = writeTime(moment, -60000 * moment.getTimezoneOffset());
    const shown = field.value;
    field.addEventListener("input", () => {
      const absent = TIME.test(field.value) && readTime(field.value, "") === null;
      field.setCustomValidity(absent ? `There is no such time in ${zone}.` : "");
    });
    field.form.addEventListener("formdata", (event) => {
      const typed = readTime(field.value, "");
      if (typed === null) return;
      const utc = field.value === shown ? field.defaultValue : writeTime(typed, 0); // to the microsecond
      event.formData.set(field.name, `${utc}Z`);
    });
  }
}

function say(sentence) {
  const place = document.getElementById("connection");
  if (place.textContent === sentence) return;
  place.textContent = sentence;
  place.hidden = sentence === "";
}

// A part is replaced only if nothing in it has the keyboard's focus, so that nobody loses her place.
// What came meanwhile is shown when the focus leaves the part.
const held = new Map();

// The health's markup while nothing is heard, and "away" stands in its place; null while frames come.
let healthBefore = null;

function replacePart(id, markup) {
  const place = document.getElementById(id);
  if (place === null) return;
  if (id === "health" && healthBefore !== null) {
    held.delete(id);
    healthBefore = markup;
    return;
  }
  if (place.contains(document.activeElement)) {
    held.set(id, markup);
    return;
  }
  held.delete(id);
  place.innerHTML = markup;
  showTimes(place);
}

function showHeld() {
  for (const [id, markup] of [...held]) replacePart(id, markup);
}

function loseConnection(sentence) {
  say(sentence);
  const place = document.getElementById("health");
  if (place === null || healthBefore !== null) return;
  healthBefore = held.get("health") ?? place.innerHTML;
  const shown = place.querySelector(".health");
  if (shown === null) return;
  shown.className = "health bad";
  shown.querySelector("strong").textContent = "away";
  shown.querySelector("span").textContent = "The page hears nothing of the service.";
}

function regainConnection() {
  const before = healthBefore;
  healthBefore = null;
  if (before !== null) replacePart("health", before);
}

// What each router's messages did in the last minutes. A dot or a row flashes when more flowed.
function showFlows(flows) {
  const counted = new Map(flows.map(([router, ...counts]) => [String(router), counts]));
  for (const place of document.querySelectorAll("[data-router]")) {
    const counts = counted.get(place.dataset.router) ?? [0, 0, 0];
    const [sent, merged, dropped] = counts;
    const known = place.dataset.flow?.split(" ").map(Number);
    place.dataset.flow = counts.join(" ");
    place.classList.toggle("busy", sent + merged + dropped > 0);
    if (known !== undefined && counts.some((count, kind) => count > known[kind])) {
      place.classList.remove("flowing");
      void place.getBoundingClientRect(); // restarts the animation
      place.classList.add("flowing");
    }
    for (const cell of place.querySelectorAll("[data-flow-of]")) {
      cell.textContent = { sent, merged, dropped }[cell.dataset.flowOf].toLocaleString("en");
    }
  }
}

function follow(view) {
  let source = null;
  let last = Date.now();

  function open() {
    if (source !== null || document.hidden) return;
    last = Date.now();
    source = new EventSource(`/live?view=${encodeURIComponent(view)}`);
    source.addEventListener("frame", (event) => {
      last = Date.now();
      const frame = JSON.parse(event.data);
      say(frame.problem);
      regainConnection();
      for (const [id, markup] of Object.entries(frame.parts)) replacePart(id, markup);
      showFlows(frame.flows);
    });
    source.addEventListener("signed-out", () => window.location.reload());
    source.addEventListener("error", () => {
      loseConnection("The connection is lost, so the figures are of before. It is tried again every second.");
      if (source !== null && source.readyState === EventSource.CLOSED) {
        source = null;
        setTimeout(open, TRY_AGAIN_MS);
      }
    });
  }

  // A browser keeps six connections to a host, so hidden tabs give theirs back.
  function close() {
    if (source !== null) source.close();
    source = null;
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  window.addEventListener("pagehide", close);
  setInterval(() => {
    if (source !== null && Date.now() - last > SLOW_MS) loseConnection("Nothing was heard from the page's server for 20 seconds.");
  }, 5000);
  open();
}

async function tryAgain() {
  try {
    const answer = await fetch(window.location.href, { method: "GET", cache: "no-store" });
    if (answer.status !== 503) window.location.reload();
  } catch {
    // Still away: the next try follows.
  }
}

document.addEventListener("DOMContentLoaded", () => {
  showTimes(document);
  askTimesInZone();
  document.addEventListener("focusout", () => setTimeout(showHeld, 0)); // the focus is still leaving
  if (document.body.dataset.live !== undefined) follow(document.body.dataset.live);
  if (document.body.dataset.again !== undefined) setInterval(tryAgain, TRY_AGAIN_MS);
});
