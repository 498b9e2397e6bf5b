
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const table = document.getElementById("cases");
  const form = document.getElementById("filter");
  const [byStatus, byJob, byText, shown] = ["by-status", "by-job", "by-text", "shown"].map((id) => document.getElementById(id));
  const failed = new Set(["differ", "fault", "timeout", "error"]);
  let rows = null; // made when first needed: there may be ten thousand

  const read = () => {
    rows ??= all("tbody tr", table).map((row, at) => {
      const cells = [...row.cells].map((cell) => cell.textContent.trim());
      return { row, at, cells, body: row.parentNode, text: cells.join(" ").toLowerCase(), fails: failed.has(cells[0]) };
    });
    return rows;
  };

  const unfold = () => {
    table.closest("details").open = true;
  };

  const filter = () => {
    const words = byText.value.toLowerCase().split(/\s+/).filter(Boolean);
    const job = byJob.value;
    let count = 0;
    for (const one of read()) {
      const fits =
        (!byStatus.value || one.cells[0] === byStatus.value || (byStatus.value === "failed" && one.fails)) &&
        (!job || one.cells[1] === job || one.cells[1].startsWith(`${job}/`)) &&
        words.every((word) => one.text.includes(word));
      one.row.hidden = !fits;
      count += fits;
    }
    shown.textContent = count === rows.length ? `${count} case${count === 1 ? "" : "s"}` : `${count} of ${rows.length} cases`;
  };

  const natural = new Intl.Collator("en", { numeric: true }).compare;
  const sort = (head, column) => {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of all("thead th", table)) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const by = column === 2 ? (a, b) => a.cells[2] - b.cells[2] : (a, b) => natural(a.cells[column], b.cells[column]);
    const sorted = read().toSorted((a, b) => (down ? by(b, a) : by(a, b)) || a.at - b.at);
    table.tBodies[0].append(...sorted.map((one) => one.row));
  };
  const unsort = () => {
    const sorted = table.querySelector("thead th[aria-sort]");
    if (!sorted) return;
    sorted.removeAttribute("aria-sort");
    for (const one of rows) one.body.append(one.row);
  };

  const keys = document.getElementById("keys"); // other pages have none
  if (keys) keys.hidden = false;
  if (form && table) {
    form.hidden = false;
    let wait = 0;
    form.addEventListener("input", () => {
      clearTimeout(wait);
      wait = setTimeout(() => {
        filter();
        unfold();
      }, 80);
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(filter));
    all("thead th", table).forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => sort(head, column));
    });
  }

  // Copy a command; a page that was opened from a disk may have no clipboard, but can still copy what is selected.
  for (const button of all("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const command = button.previousElementSibling;
      try {
        await navigator.clipboard.writeText(command.textContent);
      } catch {
        getSelection().selectAllChildren(command);
        document.execCommand("copy");
      }
      button.textContent = "copied";
      setTimeout(() => {
        button.textContent = "copy";
      }, 2000);
    });
  }

  // Folded parts: unfold what a link or a key leads to.
  const reveal = (element) => {
    for (let part = element; part; part = part.parentElement) if (part.localName === "details") part.open = true;
  };
  const follow = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    reveal(target);
    if (target.localName === "tbody") unsort(); // a group of rows is together only in the table's own order
    const row = target.localName === "tbody" ? target.rows[0] : null;
    if (row?.hidden) form.reset();
    (row ?? target).scrollIntoView();
  };
  addEventListener("hashchange", follow);
  if (location.hash) follow();

  // n and p: the next and the previous failure, cards first, then the rows of failures without a card.
  let last = null;
  const jump = (step) => {
    const targets = all("[data-fails]").filter((one) => !one.hidden);
    if (!targets.length) return;
    const inside = document.activeElement?.closest?.("[data-fails]");
    const at = targets.indexOf(inside ?? last);
    const near = targets.findIndex((one) => one.getBoundingClientRect().top > 8);
    const next = at >= 0 ? at + step : step > 0 ? near : (near < 0 ? targets.length : near) - 1;
    const target = targets[Math.min(targets.length - 1, Math.max(0, next < 0 && step > 0 ? 0 : next))];
    last = target;
    reveal(target);
    const focused = target.localName === "details" ? target.querySelector("summary") : target;
    if (target.localName === "tr") target.tabIndex = -1;
    focused.focus({ preventScroll: true });
    target.scrollIntoView({ block: "start" });
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest("input, select, textarea, [contenteditable]")) return;
    if (event.key === "n") jump(1);
    else if (event.key === "p") jump(-1);
    else return;
    event.preventDefault();
  });

  // The elements below the pointer in a picture, as the buffer counts them.
  const index = (shape, flat) => {
    const parts = [];
    for (const extent of [...shape].reverse()) {
      parts.unshift(flat % extent);
      flat = Math.floor(flat / extent);
    }
    return `[${parts.join(",")}]`;
  };
  for (const picture of all("svg[data-place]")) {
    const [numbers, shape] = picture.dataset.place.split(";").map((text) => text.split(" ").map(Number));
    const [left, top, side, tall, down, right, blockDown, blockRight] = numbers;
    const columns = shape.at(-1);
    const height = shape.slice(0, -1).reduce((a, b) => a * b, 1);
    const figure = picture.closest("figure");
    let line = null;
    picture.addEventListener("pointermove", (event) => {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
      // A column of one element each is drawn to the right, too.
      const across = columns === 1 && height > 1;
      const x = Math.floor((point.x - left) / side) * (across ? down : right);
      const y = across || height === 1 ? 0 : Math.floor((point.y - top) / tall) * down;
      const [row, column] = across ? [x, 0] : [y, x];
      if (!line) {
        line = document.createElement("p");
        line.className = "at";
        figure.append(line);
      }
      if (row < 0 || column < 0 || row >= height || column >= columns) {
        line.textContent = "";
        return;
      }
      const end = [Math.min(height, row + down) - 1, Math.min(columns, column + right) - 1];
      const [first, final] = [index(shape, row * columns + column), index(shape, end[0] * columns + end[1])];
      const block = blockDown && blockRight ? `, thread block ${Math.floor(row / blockDown) * Math.ceil(columns / blockRight) + Math.floor(column / blockRight)}` : "";
      line.textContent = `${first}${final === first ? "" : ` to ${final}`}${block}`;
    });
  }

  // Print what is folded, too, but not the rows of thousands of cases.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = all("details:not([open]):not(.rows)");
    for (const part of folded) part.open = true;
  });
  addEventListener("afterprint", () => {
    for (const part of folded) part.open = false;
  });
})();
