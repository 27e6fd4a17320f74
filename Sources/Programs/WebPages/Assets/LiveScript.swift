/// The script of every page. Without it everything works; with it a page shows by itself what changed.
enum LiveScript {
  static let text = #"""
    "use strict";
    // Shows what changed by itself, and keeps what the person was doing: the place, what is open, what is typed.
    (() => {
      const main = document.getElementById("main");

      // The opening page sends the code of its address, which no server has seen.
      const opening = document.getElementById("open");
      if (opening) {
        const code = decodeURIComponent(location.hash.slice(1));
        history.replaceState(null, "", location.pathname);
        if (code) {
          document.getElementById("code").value = code;
          opening.submit();
        }
      }
      if (!main || !main.dataset.page || !window.EventSource) return;

      const fields = "input:not([type=hidden]), select, textarea";
      const isTouched = (field) =>
        field.type === "checkbox" ? field.checked !== field.defaultChecked
        : field.tagName === "SELECT" ? [...field.options].some((option) => option.selected !== option.defaultSelected)
        : field.value !== field.defaultValue;

      const remember = () => ({
        open: [...document.querySelectorAll("#main details[id]")].map((part) => [part.id, part.open]),
        typed: [...document.querySelectorAll("#main " + fields)].filter((field) => field.id && isTouched(field))
          .map((field) => [field.id, field.value, field.checked]),
        focus: document.activeElement && document.activeElement.id,
        selection: document.activeElement && "selectionStart" in document.activeElement
          ? [document.activeElement.selectionStart, document.activeElement.selectionEnd] : null,
        scroll: [scrollX, scrollY],
      });

      const restore = (kept) => {
        for (const [id, open] of kept.open) Object.assign(document.getElementById(id) || {}, { open });
        for (const [id, value, checked] of kept.typed) {
          const field = document.getElementById(id);
          if (field) Object.assign(field, field.type === "checkbox" ? { checked } : { value });
        }
        const focused = kept.focus && document.getElementById(kept.focus);
        if (focused && focused !== document.activeElement) {
          focused.focus({ preventScroll: true });
          if (kept.selection && kept.selection[0] !== null) focused.setSelectionRange(...kept.selection);
        }
        scrollTo(...kept.scroll);
      };

      const ended = document.getElementById("ended");
      const tellEnded = (isOver) => {
        ended.hidden = !isOver;
        ended.textContent = !isOver ? "" : "This page has lost its connection and shows what was. Reload it; if it has ended, "
          + "open another one with `lanyard ui`.";
      };

      // A program that withdraws a request can bring another button under the pointer just before a click: the click counts
      // once the pointer has moved, or after a second.
      let [pointer, movedAt] = [[0, 0], 0];
      const aim = () => document.elementFromPoint(...pointer)?.closest("button, a")?.id;
      document.addEventListener("pointermove", ({ clientX, clientY }) => {
        if (clientX !== pointer[0] || clientY !== pointer[1]) [pointer, movedAt] = [[clientX, clientY], 0];
      });
      document.addEventListener("click", (click) => {
        if (click.detail > 0 && Date.now() - movedAt < 1000) click.preventDefault();
      }, true);

      let [isBusy, isLate] = [false, false];
      const renew = async () => {
        if (isBusy) { isLate = true; return; }
        isBusy = true;
        try {
          const answer = await fetch(location.href, { cache: "no-store", redirect: "error" });
          if (!answer.ok) throw new Error(answer.status);
          const news = new DOMParser().parseFromString(await answer.text(), "text/html");
          const [kept, aimed] = [remember(), aim()];
          const notice = main.querySelector(".notice[role=status]");
          for (const id of ["main", "pages", "standing"]) {
            const [was, now] = [document.getElementById(id), news.getElementById(id)];
            if (was && now && was.innerHTML !== now.innerHTML) was.replaceChildren(...now.childNodes);
          }
          // What the last action did stays until the person goes on.
          if (notice && !main.querySelector(".notice[role=status]")) main.querySelector("h1").after(notice);
          document.title = news.title;
          restore(kept);
          if (aim() !== aimed) movedAt = Date.now();
          tellEnded(false);
        } catch {
          tellEnded(true);
        }
        isBusy = false;
        if (isLate) { isLate = false; renew(); }
      };

      // A browser has six connections to a server at most, for all its tabs: six streams, and a seventh tab never loads. So a tab
      // in the background ends its stream when another tab begins one.
      const tabs = window.BroadcastChannel && new BroadcastChannel("live");
      let live = null;
      const follow = () => {
        if (live && live.readyState !== EventSource.CLOSED) return;
        live = new EventSource("/live?page=" + encodeURIComponent(main.dataset.page));
        live.onmessage = renew;
        live.onopen = live.onerror = () => tellEnded(live.readyState !== EventSource.OPEN);
        if (tabs) tabs.postMessage("begun");
      };
      if (tabs) tabs.onmessage = () => { if (document.hidden) live.close(); };
      // No event tells of each request of a program.
      document.addEventListener("visibilitychange", () => { if (!document.hidden) { follow(); renew(); } });
      follow();
    })();
    """#
}
