"use strict";
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const make = (tag, props = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), props);
    element.append(...children);
    return element;
  };
  const stored = (id) => JSON.parse($("#" + CSS.escape(id)).textContent);
  const fold = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

  const save = (name, type, content) => {
    const url = URL.createObjectURL(new Blob([content], { type }));
    const link = make("a", { href: url, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  };

  const csvCell = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const csvOfTable = (table) =>
    [...table.rows].map((row) => [...row.cells].map((cell) => csvCell(cell.textContent.replace(/\s+/g, " ").trim())).join(",")).join("\n") + "\n";

  const svgText = (picture) => {
    const svg = $("svg", picture).cloneNode(true);
    const box = svg.viewBox.baseVal;
    const paper = document.createElementNS(svg.namespaceURI, "rect");
    for (const [name, value] of [["x", box.x], ["y", box.y], ["width", box.width], ["height", box.height], ["fill", "#ffffff"]]) {
      paper.setAttribute(name, value);
    }
    svg.prepend(paper);
    return new XMLSerializer().serializeToString(svg);
  };

  const savePng = async (name, picture) => {
    const scale = 3;
    const box = $("svg", picture).viewBox.baseVal;
    const image = new Image();
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svgText(picture));
    await image.decode();
    const canvas = make("canvas", { width: Math.ceil(box.width * scale), height: Math.ceil(box.height * scale) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(name + ".png", "image/png", blob), "image/png");
  };

  const copy = async (button, text) => {
    let done = false;
    try {
      await navigator.clipboard.writeText(text);
      done = true;
    } catch {
      const area = make("textarea", { value: text });
      document.body.append(area);
      area.select();
      done = document.execCommand("copy");
      area.remove();
    }
    button.textContent = done ? "Copied" : "Select and copy by hand";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const { csv, csvOf, svg, png, copy: from } = button.dataset;
    if (csv) save(csv + ".csv", "text/csv", stored("csv-" + csv));
    if (csvOf) save($("#" + CSS.escape(csvOf)).dataset.name + ".csv", "text/csv", csvOfTable($("#" + CSS.escape(csvOf))));
    if (svg) save(svg + ".svg", "image/svg+xml", svgText($(".picture", button.closest("figure"))));
    if (png) savePng(png, $(".picture", button.closest("figure")));
    if (from) copy(button, $("#" + CSS.escape(from)).textContent);
  });

  const numbers = () => {
    const { heading, rows, words } = stored("grid-estimates");
    const table = $("#all-numbers");
    const search = rows.map((row) => fold(row.join(" ")));
    const most = 200;
    const draw = (query) => {
      const wanted = fold(query).split(/\s+/).filter(Boolean);
      const found = rows.filter((_, at) => wanted.every((word) => search[at].includes(word)));
      const head = make("tr", {}, ...heading.map((text, at) => make("th", { textContent: text, scope: "col", className: at < words ? "" : "num" })));
      const body = found.slice(0, most).map((row) =>
        make("tr", {}, ...row.map((text, at) => make("td", { textContent: text || "–", className: at < words ? "" : "num" }))));
      table.replaceChildren(make("thead", {}, head), make("tbody", {}, ...body));
      const more = found.length > most ? `; the first ${most} are shown` : "";
      $("#numbers-shown").textContent = `${found.length} of ${rows.length} rows${more}`;
    };
    $("#find-number").addEventListener("input", (event) => draw(event.target.value));
    draw("");
  };

  const STATES = {
    hit: ["●", "said there and chosen"],
    missed: ["○", "said there, not chosen"],
    added: ["✕", "chosen, not said there"],
    quietcell: ["·", "neither"],
  };
  const state = (reference, reply) => {
    if (reply === "1") return reference === "+" ? ["hit", "●"] : reference === "-" ? ["added", "✕"] : ["quietcell", "?●"];
    if (reply === "0") return reference === "+" ? ["missed", "○"] : ["quietcell", reference === "-" ? "·" : "?"];
    if (reply === "x") return ["quietcell", reference === "+" ? "+∅" : "∅"];
    return ["quietcell", reference === "+" ? "+" : reference === "-" ? "" : "?"];
  };

  const mark = (layer, column, row) => (layer && layer.cells[column][row]) || ".";

  const grid = (page, layer, names) => {
    const head = make("tr", {}, make("th", { scope: "col", textContent: "variant" }),
      ...page.columns.map((code) => make("th", { scope: "col", textContent: code, title: names[code] || code })));
    const rows = page.rows.map((label, row) =>
      make("tr", {}, make("th", { scope: "row", textContent: label, dir: "auto" }),
        ...page.columns.map((code, column) => {
          const reference = page.reference[column][row];
          const [name, symbol] = state(reference, mark(layer, column, row));
          const said = { "+": "said there", "-": "not said there", "?": "unlabelled" }[reference];
          const done = { 1: "chosen", 0: "not chosen", x: "no readable reply", ".": "not asked" }[mark(layer, column, row)];
          return make("td", { className: name, textContent: symbol, title: `${label} · ${names[code] || code}: ${said}, ${done}` });
        })));
    const table = make("table", { className: "grid" }, make("thead", {}, head), make("tbody", {}, ...rows));
    return make("div", { className: "scroll", tabIndex: 0 }, table);
  };

  const inWords = (page, layer, names) => {
    const pick = (column, test) => page.rows.filter((_, row) => test(page.reference[column][row], mark(layer, column, row))).join(" · ") || "–";
    const head = make("tr", {}, ...["place", "said there", "chosen", "missed", "added"].map((text) => make("th", { scope: "col", textContent: text })));
    const rows = page.columns.map((code, at) => make("tr", {},
      make("th", { scope: "row", textContent: names[code] ? `${names[code]} (${code})` : code }),
      ...[(a) => a === "+", (_, b) => b === "1", (a, b) => a === "+" && b === "0", (a, b) => a === "-" && b === "1"].map((test) =>
        make("td", { textContent: pick(at, test), dir: "auto" }))));
    const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
    return make("details", { className: "folded" }, make("summary", { textContent: "The same in words" }), make("div", { className: "scroll", tabIndex: 0 }, table));
  };

  const pages = (root) => {
    const { pages: all, names, layers } = stored("pages-" + root.dataset.pages);
    const search = all.map((page) => fold([page.id, page.title, page.text || "", ...page.rows, ...Object.values(page.facts || {})].join(" ")));
    const list = $(".found", root);
    const view = $(".page", root);
    let chosen = null;
    let layerTitle = null;
    const show = (page) => {
      chosen = page;
      const own = page.layers;
      const layer = own.find((one) => layers[one.title] === layerTitle) || own[0];
      const select = make("select", { ariaLabel: "Whose replies" },
        ...own.map((one) => make("option", { textContent: layers[one.title], selected: one === layer })));
      select.addEventListener("change", () => {
        layerTitle = select.value;
        show(page);
        $("select", view).focus();
      });
      const facts = Object.entries(page.facts || {}).map(([name, words]) => `${name}: ${words}`).join(" · ");
      const key = make("p", { className: "key" },
        ...Object.entries(STATES).map(([name, [symbol, words]]) => make("span", {}, make("b", { className: name, textContent: symbol }), " " + words)),
        make("span", {}, make("b", { textContent: "+" }), " said there, not asked"),
        make("span", {}, make("b", { textContent: "∅" }), " no readable reply"),
        make("span", {}, make("b", { textContent: "?" }), " unlabelled"));
      view.replaceChildren(
        make("h3", { textContent: page.title, dir: "auto" }),
        ...(page.text ? [make("p", { className: "text", textContent: page.text, dir: "auto" })] : []),
        make("p", { className: "meta", textContent: [page.id, facts].filter(Boolean).join(" · "), dir: "auto" }),
        ...(own.length ? [select] : []), grid(page, layer, names), key, inWords(page, layer, names));
      for (const button of list.querySelectorAll("button")) button.setAttribute("aria-selected", String(button.dataset.id === page.id));
    };
    const find = (query) => {
      const wanted = fold(query).split(/\s+/).filter(Boolean);
      const found = all.filter((_, at) => wanted.every((word) => search[at].includes(word)));
      list.replaceChildren(...found.slice(0, 60).map((page) => {
        const button = make("button", { type: "button", role: "option" }, make("span", { textContent: page.title, dir: "auto" }),
          make("small", { textContent: page.rows.slice(0, 6).join(", ") + (page.rows.length > 6 ? ", …" : ""), dir: "auto" }));
        button.dataset.id = page.id;
        button.setAttribute("aria-selected", String(page === chosen));
        button.addEventListener("click", () => show(page));
        return button;
      }));
      if (found.length > 60) list.append(make("p", { textContent: `and ${found.length - 60} more; type to narrow` }));
      if (!found.length) list.append(make("p", { textContent: "nothing found" }));
      return found;
    };
    $("input", root).addEventListener("input", (event) => {
      const found = find(event.target.value);
      if (found.length && !found.includes(chosen)) show(found[0]);
    });
    const first = find("");
    if (first.length) show(first[0]);
  };

  if ($("#all-numbers")) numbers();
  document.querySelectorAll("[data-pages]").forEach(pages);
  if (matchMedia("(max-width: 67.99rem)").matches) $("nav.contents details").open = false;
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => (one.open = true)));
})();
