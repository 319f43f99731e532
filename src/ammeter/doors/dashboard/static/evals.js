// Evals: a link to a place of the trace opens the span around it; rows of the editor come and go.
"use strict";
(() => {
  const reveal = () => {
    const place = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!place) return;
    const span = place.closest("details");
    if (span) span.open = true;
    place.scrollIntoView({ block: "center" });
    (place.matches("details") ? place.querySelector("summary") : place).focus({ preventScroll: true });
  };
  addEventListener("hashchange", reveal);
  addEventListener("load", reveal);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    // The same place a second time changes no hash.
    if (link && link.hash === location.hash) reveal();
    const button = event.target.closest("button[data-adds], button[data-removes]");
    if (!button) return;
    if (button.dataset.adds) {
      const template = document.getElementById(button.dataset.adds);
      const row = template.content.cloneNode(true).firstElementChild;
      template.before(row);
      row.querySelector("input:not([type=hidden]), textarea, select").focus();
    } else {
      const row = button.closest(button.dataset.removes);
      const form = row.closest("form");
      row.remove();
      form.dispatchEvent(new Event("change", { bubbles: true }));
    }
  });
})();
