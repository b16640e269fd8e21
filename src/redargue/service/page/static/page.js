// Keeps a page up to date: the server sends elements with ids, this puts each in its place. See frames.py.
const main = document.querySelector("main[data-frames]");
const connection = document.getElementById("connection");
const RETRY = 3000; // milliseconds

/** Puts one element in its place; what the reader has opened and where the keyboard is stays as it was. */
function place(html, add) {
  const template = document.createElement("template");
  template.innerHTML = html; // escaped by the server; the policy of the page runs no script in it
  const element = template.content.firstElementChild;
  if (!element?.id) return;
  const old = document.getElementById(element.id);
  if (!old) {
    const parent = add && document.getElementById(element.dataset.in);
    if (parent) parent.append(element);
    return;
  }
  const open = [...old.querySelectorAll("details[id][open]")].map((details) => details.id);
  const focused = old.contains(document.activeElement) ? path(old, document.activeElement) : null;
  if (old instanceof HTMLSelectElement) {
    const chosen = [...element.options].find((option) => option.value === old.value);
    if (chosen) chosen.selected = true;
  }
  old.replaceWith(element);
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  if (focused) follow(element, focused)?.focus({ preventScroll: true });
}

function path(from, to) {
  const steps = [];
  for (let at = to; at !== from; at = at.parentElement) steps.unshift([...at.parentElement.children].indexOf(at));
  return steps;
}

function follow(from, steps) {
  return steps.reduce((at, step) => at?.children[step], from);
}

function say(words) {
  if (connection?.isConnected && connection.textContent !== words) connection.textContent = words;
}

function listen(address) {
  let last = "";
  const stream = new EventSource(address);
  const on = (name, act) =>
    stream.addEventListener(name, (event) => {
      last = event.lastEventId || last;
      act(event);
    });
  on("append", (event) => place(event.data, true));
  on("replace", (event) => place(event.data, false));
  on("end", () => {
    stream.close();
    document.title = `Finished: ${document.title}`;
  });
  on("reset", () => {
    stream.close();
    location.reload();
  });
  stream.onopen = () => say("Connected: this page changes while the check runs.");
  stream.onerror = () => {
    say("The connection is lost; trying again.");
    if (stream.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
    const again = new URL(address, location);
    if (last) again.searchParams.set("after", last);
    setTimeout(() => listen(again), RETRY);
  };
}

if (main) {
  say("Connecting.");
  listen(main.dataset.frames);
}
