// Small helps for the pages; everything also works without them.
"use strict";

(function () {
  const words = new Set(("SELECT FROM WHERE GROUP BY ORDER HAVING LIMIT AS AND OR NOT IN BETWEEN IS NULL " +
    "COUNT SUM AVG MEDIAN QUANTILE_CONT VAR_POP STDDEV_POP MIN MAX MODE DISTINCT WITH JOIN ON USING DESC ASC " +
    "CASE WHEN THEN ELSE END DATE FLOOR DATE_TRUNC EXTRACT COVAR_POP CORR REGR_SLOPE").split(" "));

  function highlight(text, into) {
    into.replaceChildren();
    const tokens = text.match(/'(?:[^']|'')*'?|\d+(?:\.\d+)?|[A-Za-z_]\w*|\s+|[^\s\w]/g) || [];
    for (const token of tokens) {
      let kind = "";
      if (token[0] === "'") kind = "sql-text";
      else if (/^\d/.test(token)) kind = "sql-number";
      else if (words.has(token.toUpperCase())) kind = "sql-word";
      if (kind) {
        const part = document.createElement("span");
        part.className = kind;
        part.textContent = token;
        into.append(part);
      } else into.append(token);
    }
    into.append("\n");
  }

  const editor = document.querySelector(".editor");
  if (editor) {
    const area = editor.querySelector("textarea");
    const shown = document.createElement("pre");
    shown.setAttribute("aria-hidden", "true");
    editor.append(shown);
    editor.classList.add("live");
    const draw = () => { highlight(area.value, shown); shown.scrollTop = area.scrollTop; };
    area.addEventListener("input", draw);
    area.addEventListener("scroll", draw);
    draw();
  }

  const form = document.querySelector("form[data-preview]");
  const preview = document.getElementById("preview");
  if (form && preview) {
    const slider = form.querySelector("input[type=range]");
    const price = form.querySelector("input[name=epsilon]");
    let timer = 0, asked = 0;
    const refresh = () => {
      window.clearTimeout(timer);
      timer = window.setTimeout(async () => {
        const mine = ++asked;
        const response = await fetch(form.dataset.preview, {
          method: "POST", body: new URLSearchParams(new FormData(form)),
          headers: { "X-CSRF-Token": form.elements.csrf.value },
        });
        const text = await response.text();
        if (mine !== asked) return;
        const parsed = new DOMParser().parseFromString(text, "text/html");
        preview.replaceChildren(...parsed.body.childNodes);
      }, 250);
    };
    if (slider && price) {
      slider.hidden = false;
      slider.addEventListener("input", () => {
        price.value = Number((10 ** Number(slider.value)).toPrecision(3));
        refresh();
      });
      price.addEventListener("input", () => {
        if (Number(price.value) > 0) slider.value = Math.log10(Number(price.value));
        refresh();
      });
    }
    form.querySelector("textarea").addEventListener("input", refresh);
    for (const example of document.querySelectorAll("button[data-example]")) {
      example.addEventListener("click", () => {
        const area = form.querySelector("textarea");
        area.value = example.dataset.example;
        area.dispatchEvent(new Event("input"));
        area.focus();
      });
    }
  }

  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const source = document.getElementById(button.dataset.copy);
      await navigator.clipboard.writeText(source.textContent.trim());
      button.textContent = "Copied";
    });
  }
})();
