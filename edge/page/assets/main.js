// @ts-check
// The page: which view is shown, and how it stands with the server. The state of a view is in the address, so links can be shared.

import { fill, h } from "./dom.js";
import { Store, ask } from "./store.js";
import { clusterView } from "./view-cluster.js";
import { decisionsView } from "./view-decisions.js";
import { historyView } from "./view-history.js";
import { objectView } from "./view-object.js";
import { planView } from "./view-plan.js";
import { waitingView } from "./view-waiting.js";
import { ago } from "./words.js";

/** @typedef {import("./types.js").Route} Route */
/** @typedef {import("./types.js").View} View */

const store = new Store();
/** @type {Record<string, [string, (store: Store, route: Route) => View]>} */
const VIEWS = {
  cluster: ["Cluster", clusterView],
  waiting: ["Waiting", waitingView],
  decisions: ["Decisions", decisionsView],
  plan: ["What if", planView],
  history: ["Over time", historyView],
};

/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const [main, tabs, live, liveText, banner, where] = ["main", "tabs", "live", "live-text", "banner", "where"].map(byId);

/** @returns {Route} */
function route() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { path: path.split("/").filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(query ?? "") };
}

/** @type {View|null} */
let view = null;
let shown = "";

function navigate() {
  const to = route();
  const name = to.path[0] ?? "cluster";
  // The same view takes another state by itself, so that the focus stays.
  const key = name === "object" || name === "device" ? to.path.join("/") : name;
  if (view && key === shown) {
    view.update(new Set(["route"]));
  } else {
    view?.close?.();
    const make = name === "object" || name === "device" ? objectView : (VIEWS[name] ?? VIEWS.cluster)[1];
    const isFirst = shown === "";
    shown = key;
    view = make(store, to);
    fill(main, view.element, foot);
    view.update(new Set(["route", "nodes", "layout", "waiting", "decisions", "figures", "status"]));
    if (!isFirst) main.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }
  drawTabs();
}

/** @type {Map<string, { link: HTMLElement, count: HTMLElement }>} */
const links = new Map();
for (const [name, [title]] of Object.entries(VIEWS)) {
  const count = h("span", { class: "count", hidden: true });
  const link = h("a", { href: `#/${name}` }, title, count);
  links.set(name, { link, count });
  tabs.append(link);
}

function drawTabs() {
  const name = route().path[0] ?? "cluster";
  for (const [of, { link, count }] of links) {
    if (of === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
    if (of === "plan") link.hidden = store.status?.canPlan === false;
    if (of === "waiting") {
      count.hidden = store.waitingCount === 0;
      count.textContent = `${store.waitingCount}`;
    }
  }
  const title = VIEWS[name]?.[0] ?? route().path.slice(2).join("/");
  document.title = `${title} - Supercargo`;
}

function drawStatus() {
  const { status, link } = store;
  where.textContent = status?.title ?? "";
  let [state, text, message, todo] = ["Connecting", "Connecting", "", ""];
  if (link === "SignedOut") {
    [state, text] = ["Away", "Signed out"];
    message = "This page is signed out, because the server was started again.";
    todo = "Open the link that the command printed. This page continues by itself then.";
  } else if (link === "Away") {
    [state, text] = ["Away", "Disconnected"];
    message = `The server of this page does not answer. ${store.loaded ? `What you see is ${ago(new Date(store.heard).toISOString())} old.` : ""}`;
    todo = "The page tries again by itself. If the command has ended, start it again.";
  } else if (status) {
    [state, text] = [status.state, { Live: "Live", Reading: "Reading", Stale: "Stale", Still: "Saved state" }[status.state] ?? status.state];
    if (status.state === "Stale") {
      message = `The API server does not answer: ${status.message}`;
      todo = "What you see may be out of date. The page continues by itself when the server answers.";
    } else if (status.state === "Reading") {
      message = "Reading the cluster.";
      todo = status.troubles.length > 0 ? `Not all requests succeed: ${status.troubles.at(-1)}` : "";
      if (status.troubles.length === 0) message = "";
    } else if (status.limits.length > 0) {
      const kinds = status.limits.map((limit) => limit.kind).join(", ");
      message = `You may not list all objects of these kinds: ${kinds}.`;
      const spaces = [...new Set(status.limits.flatMap((limit) => limit.namespaces))];
      todo = spaces.length > 0 ? `Only those in ${spaces.join(", ")} are shown.` : "They are not shown.";
    }
  }
  live.dataset.state = state;
  if (liveText.textContent !== text) liveText.textContent = text;
  banner.hidden = message === "";
  const said = `${message} ${todo}`;
  if (message && banner.textContent !== said) fill(banner, h("strong", {}, message), " ", todo);
}

const linkOut = h("span", {});
const foot = h("footer", { class: "foot" },
  h("span", {}, "Read-only"),
  h("button", { class: "link", type: "button", onclick: async () => {
    try {
      const { link } = await ask("/links", { body: {} });
      fill(linkOut, h("label", { class: "field" }, "Works once:", h("input", { type: "text", readonly: true, size: 64, value: link })));
      linkOut.querySelector("input")?.select();
    } catch (error) {
      fill(linkOut, error instanceof Error ? error.message : "failed");
    }
  } }, "Sign in elsewhere"),
  linkOut,
  h("a", { href: "/supercargo/v1alpha1/openapi.json" }, "API"));

store.listen((what) => {
  if (what.has("status") || what.has("waiting")) {
    drawStatus();
    drawTabs();
  }
  view?.update(what);
});
window.setInterval(() => {
  if (store.link !== "Open") drawStatus();
  if (!document.hidden) view?.update(new Set(["time"]));
}, 5000);
window.addEventListener("hashchange", navigate);
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
navigate();
store.start();
// For the tests of the page, which ask what it knows.
Object.assign(window, { supercargo: store });
