"use strict";
(() => {
  const body = document.body;
  const steps = [...document.querySelectorAll(".step")];
  const links = [...document.querySelectorAll("a[data-step]")];
  const columns = [...document.querySelectorAll(".chart .column")];
  const tabs = [...document.querySelectorAll(".tabs button")];
  const moves = [...document.querySelectorAll("[data-move]")];
  const went = document.querySelector(".went");
  const [place, spoken] = document.querySelectorAll(".moves output span");
  const figure = document.querySelector("figure");
  let current = 0;

  function scrollToChange() {
    const view = steps[current].querySelector(`.view[data-view="${body.dataset.view}"] pre`);
    const change = view && view.querySelector(body.classList.contains("kept") ? "ins" : "ins, del");
    if (view) view.scrollTop = change ? change.offsetTop - view.offsetTop - 60 : 0;
  }

  function show(number, remember = true) {
    current = Math.max(0, Math.min(steps.length - 1, number));
    steps.forEach((step, n) => step.classList.toggle("shown", n === current));
    for (const column of columns) column.classList.toggle("chosen", Number(column.dataset.step) === current);
    for (const link of links) {
      if (Number(link.dataset.step) === current) link.setAttribute("aria-current", "step");
      else link.removeAttribute("aria-current");
    }
    const item = document.querySelector("nav a[aria-current]");
    for (const list of [item.closest("ol"), item.closest("nav")]) {
      const [box, row] = [list.getBoundingClientRect(), item.getBoundingClientRect()];
      if (row.top < box.top || row.bottom > box.bottom) list.scrollTop += row.top - box.top - list.clientHeight / 2;
    }
    place.textContent = `${current} of ${steps.length - 1}`;
    spoken.textContent = steps[current].querySelector("h2 code").textContent;
    figure.scrollLeft = (figure.scrollWidth * (current + 0.5)) / steps.length - figure.clientWidth / 2;
    moves[0].disabled = current === 0;
    moves[1].disabled = current === steps.length - 1;
    if (remember) remembered();
    scrollToChange();
  }

  function remembered() {
    history.replaceState(null, "", `#step-${current}${body.dataset.view === "loops" ? "" : `-${body.dataset.view}`}`);
  }

  function view(name, remember = true) {
    body.dataset.view = name;
    if (remember) remembered();
    tabs.forEach((tab) => tab.setAttribute("aria-pressed", String(tab.dataset.view === name)));
    scrollToChange();
  }

  function toggleWent() {
    went.setAttribute("aria-pressed", String(!body.classList.toggle("kept")));
  }

  function fromAddress() {
    const [, step, name] = /^#step-(\d+)(?:-(c|asm))?$/.exec(location.hash) || [null, 0, null];
    view(name === "asm" && tabs.length < 3 ? "loops" : name || "loops", false);
    show(Number(step), false);
  }

  if (!document.querySelector('.view[data-view="asm"]')) tabs.pop().remove();
  tabs.forEach((tab) => tab.addEventListener("click", () => view(tab.dataset.view)));
  moves.forEach((button) => button.addEventListener("click", () => show(current + Number(button.dataset.move))));
  went.addEventListener("click", toggleWent);
  links.forEach((link) => link.addEventListener("click", (event) => {
    event.preventDefault();
    show(Number(link.dataset.step));
  }));
  addEventListener("hashchange", fromAddress);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.shiftKey && /^Arrow(Left|Right)$/.test(event.key) && event.target.matches("pre")) {
      event.target.scrollBy(event.key === "ArrowLeft" ? -80 : 80, 0);
      return;
    }
    const actions = {
      ArrowRight: () => show(current + 1),
      ArrowLeft: () => show(current - 1),
      Home: () => show(0),
      End: () => show(steps.length - 1),
      l: () => view("loops"),
      c: () => view("c"),
      a: () => tabs.length > 2 && view("asm"),
      d: toggleWent,
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  body.classList.add("js");
  steps.forEach((step) => step.removeAttribute("id")); // the address chooses a step, it does not scroll to it
  fromAddress();
})();
