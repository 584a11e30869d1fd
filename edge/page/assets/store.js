// @ts-check
// What is known of the cluster: loaded once, then kept up to date by the stream of updates. When the stream breaks it is opened
// again, ever more seldom, and everything is loaded again, since nothing says what was missed.

/** @typedef {import("./types.js").ClusterNode} ClusterNode */

export const API = "/supercargo/v1alpha1";

const DECISIONS_MAX = 1000;
const SAMPLES_MAX = 1200;
/** A stream that says nothing for so long is dead: the server says something every five seconds. */
const SILENCE = 16_000;
const WAITS = [500, 1000, 2000, 4000, 8000];

/** What can be told: whatever the server said, as an error with what to do. */
export class Trouble extends Error {
  /** @param {string} message @param {string} hint @param {number} status */
  constructor(message, hint, status) {
    super(message);
    this.hint = hint;
    this.status = status;
  }
}

/**
 * Asks the server.
 * @param {string} path
 * @param {{ body?: any, signal?: AbortSignal }} [options]
 */
export async function ask(path, { body, signal } = {}) {
  let response;
  try {
    response = await fetch(API + path, body === undefined
      ? { signal }
      : { signal, method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Trouble("The server of this page does not answer.", "The page tries again by itself. Check that the command is running.", 0);
  }
  const value = await response.json().catch(() => ({}));
  if (!response.ok) throw new Trouble(value.message ?? response.statusText, value.hint ?? "", response.status);
  return value;
}

/** The path of names. @param {...string} parts */
export const joined = (...parts) => parts.map((part) => `/${encodeURIComponent(part)}`).join("");

export class Store {
  constructor() {
    /** @type {Map<string, ClusterNode>} */
    this.nodes = new Map();
    /** @type {Map<string, import("./types.js").Pool>} */
    this.shared = new Map();
    /** @type {string[]} */
    this.levels = [];
    /** @type {Map<string, import("./types.js").WaitingPod>} */
    this.waiting = new Map();
    this.waitingCount = 0;
    /** @type {import("./types.js").Decision[]} */
    this.decisions = [];
    /** @type {import("./types.js").Sample[]} */
    this.samples = [];
    /** @type {import("./types.js").Status|null} */
    this.status = null;
    /** @type {"Connecting"|"Open"|"Away"|"SignedOut"} */
    this.link = "Connecting";
    this.loaded = false;
    this.revision = 0;
    /** Nodes that are otherwise since a moment, and when that was. @type {Map<string, number>} */
    this.touched = new Map();
    /** When something was heard last. */
    this.heard = Date.now();
    this.retryAt = 0;
    /** @type {Set<(what: Set<string>) => void>} */
    this.listeners = new Set();
    /** @type {Set<string>} */
    this.changed = new Set();
    this.frame = 0;
    this.failures = 0;
    /** @type {EventSource|null} */
    this.source = null;
    /** @type {any[]|null} updates that came while everything was being loaded */
    this.held = null;
  }

  /** @param {(what: Set<string>) => void} listener */
  listen(listener) {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Tells listeners once for a frame. @param {...string} what */
  tell(...what) {
    for (const one of what) this.changed.add(one);
    if (this.frame) return;
    const run = () => {
      this.frame = 0;
      const changed = this.changed;
      this.changed = new Set();
      for (const listener of this.listeners) listener(changed);
    };
    // A page in the background draws no frames.
    this.frame = document.hidden ? window.setTimeout(run, 250) : requestAnimationFrame(run);
  }

  start() {
    this.open();
    window.setInterval(() => {
      if (this.source && Date.now() - this.heard > SILENCE) this.lost();
    }, 2000);
  }

  open() {
    const source = new EventSource(`${API}/watch`);
    this.source = source;
    this.held = [];
    /** @param {string} name @param {(value: any) => void} take */
    const on = (name, take) => source.addEventListener(name, (event) => {
      if (this.source !== source) return;
      this.heard = Date.now();
      take(JSON.parse(/** @type {MessageEvent} */ (event).data));
    });
    on("hello", (status) => {
      this.status = status;
      this.failures = 0;
      this.link = "Open";
      this.tell("status");
      void this.load(source);
    });
    on("status", (status) => {
      this.status = { ...status, canPlan: this.status?.canPlan };
      this.tell("status");
    });
    on("update", (update) => (this.held ? this.held.push(update) : this.apply(update)));
    on("figures", (sample) => {
      this.samples.push(sample);
      if (this.samples.length > SAMPLES_MAX) this.samples.splice(0, this.samples.length - SAMPLES_MAX);
      this.tell("figures");
    });
    on("reload", () => void this.load(source));
    on("beat", () => {});
    source.onerror = () => {
      if (this.source === source) this.lost();
    };
  }

  /** The stream is broken: says so, and opens it again after a while. */
  lost() {
    this.source?.close();
    this.source = null;
    this.link = "Away";
    const wait = WAITS[Math.min(this.failures, WAITS.length - 1)];
    this.failures += 1;
    this.retryAt = Date.now() + wait;
    this.tell("status");
    window.setTimeout(async () => {
      try {
        await ask("/status");
      } catch (error) {
        if (error instanceof Trouble && error.status === 401) {
          this.link = "SignedOut";
          this.retryAt = Date.now() + 8000;
          this.tell("status");
          window.setTimeout(() => this.lost(), 8000);
          return;
        }
        this.lost();
        return;
      }
      this.heard = Date.now();
      this.open();
    }, wait);
  }

  /** Loads everything, and then takes what came meanwhile. @param {EventSource} source */
  async load(source) {
    this.held ??= [];
    try {
      const [cluster, waiting, decisions, history] = await Promise.all([
        ask("/cluster"), ask("/waiting"), ask("/decisions"), ask("/history"),
      ]);
      if (this.source !== source) return;
      this.levels = cluster.levels;
      this.nodes = new Map(cluster.nodes.map((/** @type {ClusterNode} */ node) => [node.name, node]));
      this.shared = new Map(cluster.shared.map((/** @type {any} */ pool) => [`${pool.driver}/${pool.pool}`, pool]));
      this.waiting = new Map(waiting.pods.map((/** @type {any} */ pod) => [pod.uid, pod]));
      this.waitingCount = waiting.count;
      this.decisions = decisions.decisions;
      this.samples = history.samples;
      this.revision = Math.min(cluster.revision, waiting.revision);
      this.loaded = true;
      const held = this.held ?? [];
      this.held = null;
      for (const update of held) if (update.revision > this.revision) this.apply(update);
      this.tell("nodes", "layout", "waiting", "decisions", "figures", "status");
    } catch (error) {
      if (this.source === source) this.lost();
    }
  }

  /** @param {any} update */
  apply(update) {
    if (update.reload) {
      if (this.source) void this.load(this.source);
      return;
    }
    this.revision = update.revision;
    const now = performance.now();
    // Marks of changes that no view has drawn are of no use.
    if (this.touched.size > 2000) this.touched.clear();
    const what = new Set();
    if (update.levels) {
      this.levels = update.levels;
      what.add("layout");
    }
    for (const node of update.nodes ?? []) {
      const known = this.nodes.get(node.name);
      if (!known || devices(known) !== devices(node)) what.add("layout");
      this.nodes.set(node.name, node);
      this.touched.set(node.name, now);
      what.add("nodes");
    }
    for (const name of update.nodesGone ?? []) {
      this.nodes.delete(name);
      what.add("nodes").add("layout");
    }
    for (const pool of update.shared ?? []) {
      this.shared.set(`${pool.driver}/${pool.pool}`, pool);
      what.add("nodes").add("shared");
    }
    for (const name of update.sharedGone ?? []) {
      this.shared.delete(name);
      what.add("nodes").add("shared");
    }
    for (const pod of update.waiting ?? []) this.waiting.set(pod.uid, pod);
    for (const uid of update.waitingGone ?? []) this.waiting.delete(uid);
    if (update.waiting || update.waitingGone || update.waitingCount !== this.waitingCount) what.add("waiting");
    this.waitingCount = update.waitingCount;
    if (update.decisions) {
      const last = this.decisions.at(-1)?.number ?? -1;
      this.decisions.push(...update.decisions.filter((/** @type {any} */ one) => one.number > last));
      if (this.decisions.length > DECISIONS_MAX) this.decisions.splice(0, this.decisions.length - DECISIONS_MAX);
      what.add("decisions");
    }
    this.tell(...what);
  }
}

/** How many devices a node has. @param {ClusterNode} node */
function devices(node) {
  return node.pools.reduce((sum, pool) => sum + pool.devices.length, 0);
}
