(() => {
  const found = [];
  const where = (element) => `${element.tagName.toLowerCase()}${element.id ? `#${element.id}` : ""}${element.className && typeof element.className === "string" ? `.${element.className.trim().replace(/\s+/g, ".")}` : ""} "${(element.textContent ?? "").trim().slice(0, 40)}"`;
  const isSeen = (element) => {
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    return style.visibility !== "hidden" && style.display !== "none" && box.width > 1 && box.height > 1 && !element.closest("[hidden]");
  };
  const named = (element) => {
    const by = (element.getAttribute("aria-labelledby") ?? "").split(/\s+/).filter(Boolean).map((id) => document.getElementById(id)?.textContent ?? "").join(" ");
    const labels = element.labels ? [...element.labels].map((label) => label.textContent).join(" ") : "";
    return (element.getAttribute("aria-label") || by || labels || element.getAttribute("alt") || element.textContent || element.getAttribute("title") || "").trim();
  };
  // Controls have names.
  for (const element of document.querySelectorAll("a[href], button, input, select, textarea, summary, [role=button], [role=application], [role=region], [role=img]")) {
    if (isSeen(element) && !named(element)) found.push(`no name: ${where(element)}`);
  }
  // Fields are named by more than a placeholder.
  for (const element of document.querySelectorAll("input, select, textarea")) {
    if (isSeen(element) && !element.getAttribute("aria-label") && !(element.labels?.length > 0)) found.push(`no label: ${where(element)}`);
  }
  // Headings begin with the first level and leave out none.
  let level = 0;
  for (const element of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    if (!isSeen(element)) continue;
    const own = Number(element.tagName[1]);
    if (own > level + 1) found.push(`heading of level ${own} after ${level}: ${where(element)}`);
    level = own;
  }
  if (document.querySelectorAll("h1").length !== 1) found.push(`${document.querySelectorAll("h1").length} headings of level 1`);
  // Landmarks, language, title.
  if (document.querySelectorAll("main").length !== 1) found.push("not one main");
  if (!document.querySelector("header") || !document.querySelector("nav")) found.push("no header or nav");
  for (const name of ["nav", "aside", "section"]) {
    for (const element of document.querySelectorAll(name)) if (isSeen(element) && !named(element)) found.push(`unnamed ${where(element)}`);
  }
  if (!document.documentElement.lang) found.push("no language");
  if (!document.title) found.push("no title");
  // Ids are unique, and lists have items only.
  const ids = new Map();
  for (const element of document.querySelectorAll("[id]")) ids.set(element.id, (ids.get(element.id) ?? 0) + 1);
  for (const [id, count] of ids) if (count > 1) found.push(`id ${id} ${count} times`);
  for (const list of document.querySelectorAll("ul, ol")) {
    for (const child of list.children) if (child.tagName !== "LI") found.push(`${child.tagName} in a list: ${where(list)}`);
  }
  for (const table of document.querySelectorAll("table")) {
    if (!table.caption) found.push(`a table without a caption: ${where(table)}`);
    if (!table.querySelector("th[scope]")) found.push(`a table without heads: ${where(table)}`);
  }
  // References lead somewhere.
  for (const name of ["aria-labelledby", "aria-describedby", "aria-controls", "for"]) {
    for (const element of document.querySelectorAll(`[${name}]`)) {
      for (const id of element.getAttribute(name).split(/\s+/)) if (!document.getElementById(id)) found.push(`${name}=${id} leads nowhere: ${where(element)}`);
    }
  }
  // What takes the focus is not hidden from readers.
  for (const element of document.querySelectorAll("[aria-hidden=true] a[href], [aria-hidden=true] button, [aria-hidden=true][tabindex]")) found.push(`hidden but in the way of the focus: ${where(element)}`);
  // Contrast of text.
  const parsed = (colour) => {
    const parts = colour.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
    return { r: parts[0], g: parts[1], b: parts[2], a: parts[3] ?? 1 };
  };
  const over = (top, under) => ({ r: top.r * top.a + under.r * (1 - top.a), g: top.g * top.a + under.g * (1 - top.a), b: top.b * top.a + under.b * (1 - top.a), a: 1 });
  const light = ({ r, g, b }) => {
    const part = (value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const ground = (element) => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) {
      const colour = parsed(getComputedStyle(one).backgroundColor);
      if (colour.a > 0) layers.push(colour);
      if (colour.a === 1) break;
    }
    return layers.reverse().reduce((under, top) => over(top, under), { r: 255, g: 255, b: 255, a: 1 });
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.textContent.trim() || !element || seen.has(element) || !isSeen(element)) continue;
    if (element.closest("svg, .sr, .skip, option, datalist, noscript")) continue;
    seen.add(element);
    const style = getComputedStyle(element);
    const under = ground(element);
    const [one, other] = [light(over(parsed(style.color), under)), light(under)].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    const isLarge = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (isLarge ? 3 : 4.5)) found.push(`contrast ${ratio.toFixed(2)}: ${where(element)}`);
  }
  // Nothing but maps and tables is wider than the window.
  if (document.documentElement.scrollWidth > window.innerWidth + 1) found.push(`the page is ${document.documentElement.scrollWidth} wide in a window of ${window.innerWidth}`);
  return [...new Set(found)];
})()
