// What the pages need beside htmx: times in the reader's zone, dialogs, copying, the theme, signs of work.
"use strict";
(() => {
  const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
  const secure = location.protocol === "https:" ? "; Secure" : "";
  const keep = (name, value) => {
    document.cookie = `${name}=${encodeURIComponent(value)}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
  };
  const two = (number) => String(number).padStart(2, "0");
  // As render.py writes it, so that nothing moves once the server knows the zone.
  const shown = (at) =>
    `${at.getDate()} ${MONTHS[at.getMonth()]} ${at.getFullYear()}, ${two(at.getHours())}:${two(at.getMinutes())}`;
  const full = (at) =>
    `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ` +
    `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())} ${zone}`;

  const localise = (root) => {
    for (const time of root.querySelectorAll("time[datetime]")) {
      if (time.dataset.zone === zone) continue;
      const at = new Date(time.dateTime);
      time.textContent = shown(at);
      time.title = full(at);
      time.dataset.zone = zone;
    }
    for (const cell of root.querySelectorAll("[data-unix]")) {
      cell.textContent = shown(new Date(Number(cell.dataset.unix) * 1000));
      cell.removeAttribute("data-unix");
    }
  };

  // What scrolls sideways is reached by keyboard too.
  const reach = (root) => {
    for (const box of root.querySelectorAll(".scroll:not([tabindex])")) {
      if (box.scrollWidth <= box.clientWidth) continue;
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", box.closest("section")?.querySelector("h2")?.textContent || document.title);
    }
  };

  const prepare = (root) => {
    localise(root);
    reach(root);
  };

  const say = (text) => {
    const toast = document.createElement("p");
    toast.className = "toast";
    toast.textContent = text;
    document.querySelector(".toasts")?.append(toast);
    fade(toast);
  };
  const fade = (toast) => {
    setTimeout(() => toast.classList.add("gone"), 6000);
    setTimeout(() => toast.remove(), 6400);
  };

  const copy = async (button) => {
    const text = button.closest("figure, .copyable").querySelector("code, input").innerText;
    try {
      await navigator.clipboard.writeText(text);
      say("Copied");
    } catch {
      getSelection().selectAllChildren(button.closest("figure, .copyable").querySelector("code"));
      say("Selected: copy it with the keyboard");
    }
  };

  const use = (button) => {
    const field = document.getElementById(button.dataset.uses);
    if (!field) return;
    // The header of the script, which says what it is for, stays.
    const header = /^\s*\/\*\*[\s\S]*?\*\/\n/.exec(field.value)?.[0] ?? "";
    field.value = header + button.closest("figure").querySelector("code").innerText;
    field.focus();
  };

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const switchTheme = () => {
    const now = document.documentElement.dataset.theme || (dark.matches ? "dark" : "light");
    const next = now === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    keep("theme", next);
    document.dispatchEvent(new Event("ammeter:theme"));
  };

  const loading = (on) => {
    if (on) document.documentElement.dataset.loading = "";
    else delete document.documentElement.dataset.loading;
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button, a");
    if (!button) return;
    if (button.dataset.opens) document.getElementById(button.dataset.opens).showModal();
    else if ("closes" in button.dataset) button.closest("dialog").close();
    else if ("copies" in button.dataset) copy(button);
    else if (button.dataset.uses) use(button);
    else if ("themeSwitch" in button.dataset) switchTheme();
    else if (button.matches("a[href^='/']:not([download])") && !event.ctrlKey && !event.metaKey && !event.shiftKey)
      loading(true);
  });
  document.addEventListener("submit", (event) => {
    if (event.target.matches("[hx-post], [hx-get]")) return;
    loading(true);
    // After the form was read: a button that is off would not be sent.
    setTimeout(() => event.submitter?.setAttribute("aria-busy", "true"));
  });
  document.addEventListener("change", (event) => {
    if ("submits" in event.target.dataset) event.target.form.requestSubmit();
    if (event.target.dataset.fills && event.target.files[0])
      event.target.files[0].text().then((text) => {
        document.getElementById(event.target.dataset.fills).value = text;
      });
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("textarea[data-runs]"))
      event.target.form.requestSubmit();
  });
  addEventListener("pageshow", () => {
    loading(false);
    for (const button of document.querySelectorAll("button[aria-busy]")) button.removeAttribute("aria-busy");
  });
  document.addEventListener("htmx:beforeRequest", (event) => event.target.setAttribute("aria-busy", "true"));
  document.addEventListener("htmx:afterRequest", (event) => event.target.removeAttribute("aria-busy"));
  document.addEventListener("htmx:afterSettle", () => prepare(document));
  document.addEventListener("htmx:sendError", () => say("The server cannot be reached; trying again."));

  keep("zone", zone);
  prepare(document);
  document.querySelectorAll(".toast").forEach(fade);
})();
