// Asking the server again and again: never twice at once, so that answers that take long do not pile up.

const SHARE = 4; // a pause is at least four times as long as the last answer took

/** Call a function, and again some seconds after it has ended, but not while the page is hidden. */
export function repeatedly(load, seconds) {
  let timer = null;
  let running = false;
  let again = false;
  let closed = false;

  async function run() {
    clearTimeout(timer);
    again = running;
    if (running) return;
    running = true;
    const begin = performance.now();
    try {
      do {
        again = false;
        await load();
      } while (again && !closed);
    } finally {
      running = false;
    }
    plan(Math.max(seconds * 1000, SHARE * (performance.now() - begin)));
  }

  function plan(milliseconds) {
    if (!closed) timer = setTimeout(() => (document.hidden ? plan(milliseconds) : run()), milliseconds);
  }

  run();
  return { now: run, close: () => { closed = true; clearTimeout(timer); } };
}
