"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const roles = data.roles;
  const style = getComputedStyle(document.documentElement);
  const colour = roles.map((role) => style.getPropertyValue("--" + role).trim());
  const names = data.names;
  const DATA = roles.indexOf("data");

  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const bytes = (n) => {
    let unit = 0;
    while (n >= 1024 && unit < units.length - 1) { n /= 1024; unit += 1; }
    return unit ? n.toFixed(1) + " " + units[unit] : n + " B";
  };
  const count = (n) => n.toLocaleString("en-US");

  // A piece is [start, size, role, depth, name of its table, name of its column, content].
  const START = 0, SIZE = 1, ROLE = 2, DEPTH = 3, TABLE = 4, COLUMN = 5, CONTENT = 6;
  const label = (piece) => [names[piece[TABLE]], names[piece[COLUMN]]].filter(Boolean).join(" · ");
  const describe = (piece) =>
    `${piece[CONTENT]}\nbytes ${count(piece[START])} – ${count(piece[START] + piece[SIZE])} (${bytes(piece[SIZE])})\n` +
    roles[piece[ROLE]] + (label(piece) ? " · " + label(piece) : "");

  // The data of a column has a colour of its own, the same in all tables; everything else has that of its meaning.
  const palette = ["#4a7fb5", "#5b9a5b", "#b5763f", "#8a6bb0", "#2f8f9d", "#a85a8a", "#7d8a3c", "#b05252", "#5566a8", "#3f8f6f", "#9a6b3f", "#6f7f95"];
  const bySize = new Map();
  for (const file of data.files) for (const piece of file.pieces)
    if (piece[ROLE] === DATA && piece[COLUMN]) bySize.set(piece[COLUMN], (bySize.get(piece[COLUMN]) || 0) + piece[SIZE]);
  const shade = new Map([...bySize.entries()].sort((a, b) => b[1] - a[1]).map(([column], i) => [column, palette[i % palette.length]]));
  const tint = (role, column) => (role === DATA && shade.get(column)) || colour[role];

  // Legend.
  const totals = roles.map(() => 0);
  for (const file of data.files) for (const piece of file.pieces) if (piece[DEPTH] === 0) totals[piece[ROLE]] += piece[SIZE];
  roles.forEach((role, i) => {
    if (!totals[i]) return;
    const item = document.createElement("span");
    item.style.setProperty("--swatch", `var(--${role})`);
    item.textContent = `${role} ${bytes(totals[i])}`;
    byId("legend").append(item);
  });

  // Tooltip.
  const tip = byId("tip");
  const showTip = (event, text) => {
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 4)) + "px";
    tip.style.top = Math.max(4, event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 10 : event.clientY + 18) + "px";
  };

  // Treemap: rows of boxes that are as square as they can be.
  const treemap = (place, items, onClick) => {
    place.replaceChildren();
    let { width, height } = place.getBoundingClientRect();
    const total = items.reduce((sum, item) => sum + item.size, 0);
    if (!total || !width) return;
    const scale = (width * height) / total;
    let rest = items.filter((item) => item.size * scale >= 1).sort((a, b) => b.size - a.size);
    let x = 0, y = 0;
    const worst = (row, area, side) => {
      const sum = area * area;
      let out = 0;
      for (const item of row) {
        const part = item.size * scale;
        out = Math.max(out, (side * side * part) / sum, sum / (side * side * part));
      }
      return out;
    };
    while (rest.length) {
      const side = Math.min(width, height);
      if (side < 1) break;
      let row = [rest[0]], area = rest[0].size * scale, best = worst(row, area, side), used = 1;
      while (used < rest.length) {
        const grown = area + rest[used].size * scale;
        const now = worst([...row, rest[used]], grown, side);
        if (now > best) break;
        row.push(rest[used]);
        area = grown;
        best = now;
        used += 1;
      }
      const thick = area / side;
      let along = 0;
      for (const item of row) {
        const length = (item.size * scale) / thick;
        const box = document.createElement("div");
        const upright = width >= height;
        const [left, top, w, h] = upright ? [x, y + along, thick, length] : [x + along, y, length, thick];
        box.style.cssText = `left:${left}px;top:${top}px;width:${w}px;height:${h}px;background:${item.colour}`;
        if (w > 40 && h > 16) box.textContent = `${item.name} ${bytes(item.size)}`;
        box.onmousemove = (event) => showTip(event, `${item.name}\n${bytes(item.size)}, ${((100 * item.size) / total).toFixed(1)} %\n${item.more}`);
        box.onmouseleave = () => showTip(null, "");
        if (onClick) box.onclick = () => onClick(item);
        place.append(box);
        along += length;
      }
      if (width >= height) { x += thick; width -= thick; } else { y += thick; height -= thick; }
      rest = rest.slice(used);
    }
  };

  // The strip.
  const canvas = byId("strip");
  let file = data.files[0], low = 0, high = 1, chosen = null, focus = null;
  // A row of a table is chosen: its bytes stand out.
  const lit = (piece) => !focus || focus(piece);
  const end = () => Math.max(1, file.size);
  const firstAfter = (list, byte) => {
    let a = 0, b = list.length;
    while (a < b) {
      const mid = (a + b) >> 1;
      if (list[mid][START] + list[mid][SIZE] <= byte) a = mid + 1; else b = mid;
    }
    return a;
  };
  const lane = (pieces, top, height, pixels, context) => {
    const scale = pixels / (high - low);
    // Pieces below a pixel share one: the meaning with the most bytes gives its colour.
    let pixel = -1, shares = null;
    const paint = (fill, lit) => {
      context.fillStyle = fill;
      context.globalAlpha = lit ? 1 : 0.18;
    };
    const flush = () => {
      if (!shares) return;
      let most = null;
      for (const share of shares.values()) if (!most || share.size > most.size) most = share;
      paint(most.fill, most.lit);
      context.fillRect(pixel, top, 1, height);
      shares = null;
    };
    for (let i = firstAfter(pieces, low); i < pieces.length && pieces[i][START] < high; i += 1) {
      const piece = pieces[i];
      const from = (piece[START] - low) * scale, to = (piece[START] + piece[SIZE] - low) * scale;
      if (to - from >= 2) {
        flush();
        paint(tint(piece[ROLE], piece[COLUMN]), lit(piece));
        context.fillRect(Math.max(0, from), top, Math.min(pixels, to) - Math.max(0, from) - (to - from > 4 ? 1 : 0), height);
      } else {
        const at = Math.floor(from);
        if (at !== pixel || !shares) { flush(); pixel = at; shares = new Map(); }
        const fill = tint(piece[ROLE], piece[COLUMN]), bright = lit(piece), key = fill + bright;
        const share = shares.get(key) || { fill, lit: bright, size: 0 };
        share.size += piece[SIZE];
        shares.set(key, share);
      }
    }
    flush();
    context.globalAlpha = 1;
  };
  const draw = () => {
    const ratio = devicePixelRatio || 1;
    const width = Math.max(1, Math.round(canvas.clientWidth * ratio)), height = Math.round(84 * ratio);
    canvas.width = width;
    canvas.height = height;
    const context = canvas.getContext("2d");
    const inner = file.nests;
    lane(file.outer, 0, inner ? height * 0.6 : height, width, context);
    if (inner) lane(file.inner, height * 0.64, height * 0.36, width, context);
    if (chosen) {
      const scale = width / (high - low);
      context.strokeStyle = style.getPropertyValue("--ink");
      context.lineWidth = 2 * ratio;
      context.strokeRect((chosen[START] - low) * scale, 1, Math.max(2, chosen[SIZE] * scale), height - 2);
    }
    const marks = byId("ruler").children;
    [low, (low + high) / 2, high].forEach((at, i) => { marks[i].textContent = count(Math.round(at)); });
  };
  let waiting = false;
  const redraw = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };
  const view = (from, to) => {
    const size = Math.max(16, Math.min(end(), to - from));
    low = Math.max(0, Math.min(from, end() - size));
    high = low + size;
    redraw();
  };
  const byteAt = (event) => {
    const box = canvas.getBoundingClientRect();
    return low + ((event.clientX - box.left) / box.width) * (high - low);
  };
  const pieceAt = (event) => {
    const byte = byteAt(event), box = canvas.getBoundingClientRect();
    const list = file.nests && event.clientY - box.top > box.height * 0.62 ? file.inner : file.outer;
    const piece = list[firstAfter(list, byte)];
    return piece && piece[START] <= byte ? piece : null;
  };
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const at = byteAt(event), factor = Math.exp(event.deltaY / 400);
    view(at - (at - low) * factor, at + (high - at) * factor);
  }, { passive: false });
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, low, high, moved: false }; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    if (drag && Math.abs(event.clientX - drag.x) > 3) {
      drag.moved = true;
      const moved = ((drag.x - event.clientX) / canvas.clientWidth) * (drag.high - drag.low);
      view(drag.low + moved, drag.high + moved);
      return;
    }
    const piece = pieceAt(event);
    showTip(event, piece ? describe(piece) : "");
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) choose(pieceAt(event), false);
    drag = null;
  });
  canvas.addEventListener("pointerleave", () => showTip(null, ""));
  canvas.addEventListener("dblclick", () => view(0, end()));
  canvas.addEventListener("keydown", (event) => {
    const step = (high - low) / 8;
    if (event.key === "ArrowLeft") view(low - step, high - step);
    else if (event.key === "ArrowRight") view(low + step, high + step);
    else if (event.key === "+") view(low + step, high - step);
    else if (event.key === "-") view(low - step * 1.5, high + step * 1.5);
    else if (event.key === "Home") view(0, end());
    else return;
    event.preventDefault();
  });
  const HINT = "Click a piece, or a row of a table, to see its bytes.";
  const choose = (piece, zoom) => {
    chosen = piece;
    byId("detail").textContent = piece ? describe(piece).replaceAll("\n", " · ") : HINT;
    if (piece && zoom) view(piece[START] - piece[SIZE] * 2, piece[START] + piece[SIZE] * 3);
    redraw();
  };

  // The list of pieces: only the rows in sight exist.
  const ROW = 20, list = byId("list"), space = byId("space");
  let rows = [];
  const fill = () => {
    const word = byId("search").value.trim().toLowerCase();
    rows = word
      ? file.pieces.filter((p) => p[CONTENT].toLowerCase().includes(word) || roles[p[ROLE]].includes(word) || label(p).toLowerCase().includes(word))
      : file.pieces;
    // Pieces lie inside others; no byte counts twice.
    let covered = 0, edge = 0;
    for (const piece of rows) {
      const stop = piece[START] + piece[SIZE];
      covered += Math.max(0, stop - Math.max(edge, piece[START]));
      edge = Math.max(edge, stop);
    }
    byId("count").textContent = `${count(rows.length)} of ${count(file.pieces.length)} pieces, ${bytes(covered)}`;
    // Browsers bound the height of an element; above it the list is scaled.
    space.style.height = Math.min(rows.length * ROW, 8e6) + "px";
    list.scrollTop = 0;
    scroll();
  };
  const scroll = () => {
    for (const old of list.querySelectorAll(".row")) old.remove();
    const full = rows.length * ROW, shown = Math.min(full, 8e6);
    const share = shown > list.clientHeight ? list.scrollTop / (shown - list.clientHeight) : 0;
    const first = Math.floor((share * Math.max(0, full - list.clientHeight)) / ROW);
    const visible = Math.ceil(list.clientHeight / ROW) + 1;
    for (let i = first; i < Math.min(rows.length, first + visible); i += 1) {
      const piece = rows[i], row = document.createElement("div");
      row.className = "row";
      row.style.top = list.scrollTop + (i - first) * ROW + "px";
      row.style.setProperty("--swatch", tint(piece[ROLE], piece[COLUMN]));
      row.textContent = `${String(piece[START]).padStart(14)} ${String(piece[SIZE]).padStart(12)}  ${"  ".repeat(piece[DEPTH])}${piece[CONTENT]}`;
      row.onclick = () => choose(piece, true);
      list.append(row);
    }
  };
  list.addEventListener("scroll", scroll);
  byId("search").addEventListener("input", fill);

  // Tables: a click on a title sorts, a click on a row shows its bytes in the strip.
  const table = (id, rows, most) => {
    const place = byId(id), body = place.tBodies[0], heads = [...place.tHead.rows[0].cells];
    let sorted = rows, by = -1, up = false, all = false, active = null;
    const show = () => {
      body.replaceChildren();
      for (const one of all ? sorted.slice(0, 5000) : sorted.slice(0, most)) {
        const row = body.insertRow();
        row.className = one === active ? "on" : "";
        one.cells.forEach((value, i) => {
          const cell = row.insertCell();
          cell.textContent = one.shown[i];
          if (heads[i].className) cell.className = "n";
        });
        if (one.swatch) row.cells[0].style.setProperty("--swatch", one.swatch);
        row.cells[0].classList.toggle("swatch", Boolean(one.swatch));
        row.onclick = () => {
          active = active === one ? null : one;
          focus = active && active.focus;
          show();
          redraw();
        };
      }
      if (id !== "columns") return;
      byId("more").hidden = all || rows.length <= most;
      byId("more").textContent = `show all ${count(rows.length)}`;
    };
    if (id === "columns") byId("more").onclick = () => { all = true; show(); };
    heads.forEach((head, i) => {
      head.onclick = () => {
        up = by === i ? !up : !head.className;
        by = i;
        const order = (a, b) => (a.cells[i] < b.cells[i] ? -1 : a.cells[i] > b.cells[i] ? 1 : 0);
        sorted = [...rows].sort((a, b) => (up ? order(a, b) : order(b, a)));
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        show();
      };
    });
    show();
  };

  // Sizes by column. In a file of many tables the same column of all of them is one.
  const tables = new Set();
  for (const one of data.files) for (const piece of one.pieces) if (piece[TABLE]) tables.add(piece[TABLE]);
  const joined = tables.size > 3;
  const named = (piece) => (joined ? names[piece[COLUMN]] || (piece[TABLE] ? "" : label(piece)) : label(piece));
  const groups = new Map();
  let whole = 0;
  for (const one of data.files) {
    one.outer = one.pieces.filter((p) => p[DEPTH] === 0);
    one.inner = one.pieces.filter((p) => p[DEPTH] > 0 && !(p[SIZE] === 0));
    // Nested pieces may lie in each other; the deepest come last and are drawn over the others.
    one.inner.sort((a, b) => a[START] - b[START] || a[DEPTH] - b[DEPTH]);
    // A lane of its own is for files that nest, not for a few parts of a footer.
    one.nests = one.inner.reduce((sum, p) => sum + (p[DEPTH] === 1 ? p[SIZE] : 0), 0) > one.size / 5;
    whole += one.size;
    const columns = new Set(one.pieces.filter((p) => p[COLUMN]).map((p) => p[DEPTH]));
    const depth = columns.size ? Math.min(...columns) : 0;
    for (const piece of one.pieces) {
      if (piece[DEPTH] !== depth && !(piece[DEPTH] === 0 && !piece[COLUMN])) continue;
      const inside = piece[DEPTH] === 0 && depth > 0 && piece[ROLE] === DATA;
      if (inside) continue;
      const time = joined && piece[ROLE] === DATA && piece[TABLE] && !piece[COLUMN];
      const own = time ? "time" : named(piece);
      const key = own ? `${own}\u0000${piece[ROLE]}` : `\u0000${piece[ROLE]}`;
      const group = groups.get(key) || { name: own || roles[piece[ROLE]], role: piece[ROLE], column: piece[COLUMN], own, size: 0, pieces: 0 };
      group.size += piece[SIZE];
      group.pieces += 1;
      groups.set(key, group);
    }
  }
  const sizes = [...groups.values()].sort((a, b) => b.size - a.size);
  if (joined) byId("by-column").textContent = `By column, of ${count(tables.size)} tables`;
  table("columns", sizes.map((group) => {
    const name = group.name + (group.name === roles[group.role] ? "" : ` (${roles[group.role]})`);
    const share = whole ? (100 * group.size) / whole : 0;
    return {
      cells: [name, group.pieces, group.size, share],
      shown: [name, count(group.pieces), bytes(group.size), share.toFixed(1) + " %"],
      swatch: tint(group.role, group.column),
      focus: (piece) => piece[ROLE] === group.role && (group.column ? piece[COLUMN] === group.column && (joined || label(piece) === group.own) : !piece[COLUMN]),
    };
  }), 24);
  table("encodings", data.encodings.map((one) => {
    const ratio = one.raw && one.stored ? one.raw / one.stored : 0;
    return {
      cells: [one.column, one.encoding, one.chunks, one.stored, one.raw, ratio],
      shown: [one.column, one.encoding, count(one.chunks), bytes(one.stored), one.raw ? bytes(one.raw) : "–", ratio ? ratio.toFixed(2) + "×" : "–"],
      // An encoding is one of a column, of a whole table, or of the times that the columns of a table share.
      focus: (piece) => piece[ROLE] === DATA && (
        one.of === "table" ? names[piece[TABLE]] === one.column
        : one.of === "times" ? piece[DEPTH] > 0 && piece[TABLE] && !piece[COLUMN]
        : names[piece[COLUMN]] === one.column),
    };
  }), 500);

  // Bounds of the values of a column, chunk by chunk.
  const series = new Map();
  for (const [of, column, min, max, nulls] of data.bounds || []) {
    const name = [names[of], names[column]].filter(Boolean).join(" · ");
    if (!series.has(name)) series.set(name, { column, list: [] });
    series.get(name).list.push([min, max, nulls]);
  }
  const values = byId("values-map"), pick = byId("values-of");
  const drawValues = () => {
    const found = series.get(pick.value);
    if (!found) return;
    const ratio = devicePixelRatio || 1, width = Math.max(1, Math.round(values.clientWidth * ratio)), height = Math.round(120 * ratio);
    values.width = width;
    values.height = height;
    const context = values.getContext("2d");
    const least = Math.min(...found.list.map((b) => b[0])), most = Math.max(...found.list.map((b) => b[1]));
    const step = width / found.list.length, y = (value) => height - 4 - ((value - least) / (most - least || 1)) * (height - 8);
    context.fillStyle = shade.get(found.column) || colour[DATA];
    found.list.forEach(([min, max], i) => {
      context.fillRect(i * step, y(max), Math.max(1, step - (step > 3 ? 1 : 0)), Math.max(2, y(min) - y(max)));
    });
    let rising = true, nulls = 0;
    found.list.forEach((b, i) => {
      if (i && b[0] < found.list[i - 1][1]) rising = false;
      nulls += b[2] || 0;
    });
    byId("values-range").textContent = `${count(found.list.length)} chunk${found.list.length === 1 ? "" : "s"}, from ${least} to ${most}` +
      (found.list.length > 1 ? (rising ? ", in ascending order" : ", in no order") : "") + (nulls ? `, ${count(nulls)} nulls` : "");
  };
  if (series.size) {
    byId("values").hidden = false;
    for (const name of [...series.keys()].slice(0, 2000)) pick.append(new Option(name, name));
    pick.addEventListener("input", drawValues);
  }

  const open = (next) => {
    file = next;
    chosen = null;
    byId("strip-name").textContent = `${file.name}, ${bytes(file.size)}`;
    byId("detail").textContent = HINT;
    view(0, end());
    fill();
  };
  const maps = () => {
    treemap(byId("size-map"), sizes.map((g) => ({ name: g.name, size: g.size, colour: tint(g.role, g.column), more: `${roles[g.role]}, ${count(g.pieces)} parts` })));
    if (data.files.length > 1) {
      byId("files").hidden = false;
      // Names begin with what all have in common, and end in what matters.
      const common = data.files.map((one) => one.name).reduce((a, b) => {
        let n = 0;
        while (n < a.length && a[n] === b[n]) n += 1;
        return a.slice(0, n);
      });
      const cut = common.lastIndexOf("/") + 1;
      const items = data.files.map((one) => {
        const parts = new Map();
        for (const piece of one.outer) {
          const fill = tint(piece[ROLE], piece[COLUMN]), part = parts.get(fill) || { fill, size: 0, name: "" };
          part.size += piece[SIZE];
          if (piece[ROLE] === DATA && piece[COLUMN]) part.name = label(piece);
          parts.set(fill, part);
        }
        const most = [...parts.values()].sort((a, b) => b.size - a.size)[0] || { fill: colour[DATA], name: "" };
        const short = one.name.slice(cut).replace(/[0-9a-f]{32}/g, (hash) => hash.slice(0, 6) + "…");
        return { name: most.name ? `${most.name} · ${short}` : short, size: one.size, colour: most.fill, more: `${one.name}\n${count(one.pieces.length)} pieces`, file: one };
      });
      treemap(byId("file-map"), items, (item) => open(item.file));
    }
  };
  if (file) open(data.files.reduce((best, one) => (one.size > best.size ? one : best), file));
  maps();
  drawValues();
  addEventListener("resize", () => { maps(); redraw(); scroll(); drawValues(); });
})();
