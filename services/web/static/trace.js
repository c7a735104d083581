// Shows the paths through the step under the mouse or with the keyboard's focus.
"use strict";

const PARTS = ".paths [data-paths]";

function listPaths(part) {
  return part.dataset.paths.split(" ");
}

function light(paths) {
  for (const part of document.querySelectorAll(PARTS)) {
    const on = paths !== null && listPaths(part).some((path) => paths.has(path));
    part.classList.toggle("lit", on);
    part.classList.toggle("dim", paths !== null && !on);
  }
}

for (const begin of ["pointerover", "focusin"]) {
  document.addEventListener(begin, (event) => {
    const part = event.target.closest(PARTS);
    light(part === null ? null : new Set(listPaths(part)));
  });
}
