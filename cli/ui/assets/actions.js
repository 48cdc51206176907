// What people can do: each action says what it will do, asks, and takes the same way as the command.

import { announce, fill, h } from "./dom.js";
import { now, span } from "./format.js";
import { replicasOf } from "./live.js";
import { api, post } from "./server.js";

const AGAIN = { paused: "resumed", stopped: "restarted", completed: "restarted", failed: "restarted" };
const ACTIONS = {
  pause: ["Pause", (ref) => `Its running batch is committed, then “${ref}” stays stopped until it is resumed, also in the next run.`],
  resume: ["Resume", (ref) => `“${ref}” continues from its checkpoint.`],
  restart: ["Restart", (ref) => `Its running batch is committed, then “${ref}” continues from its checkpoint. The code is not reloaded.`],
  scale: ["Scale", (ref, state) => (AGAIN[state]
    ? `“${ref}” is ${state}. It has the new number of replicas when it is ${AGAIN[state]}, in this run.`
    : `Its running batch is committed, then “${ref}” continues with the new number of replicas, in this run.`)],
  stop: ["Stop the application", () => "Each running batch is committed, then the run ends."],
};

/** Return a button for an action on a streamlet, or on the application; none if there is no run to ask. */
export function actionButton({ live, options }, action, ref = "") {
  const [label] = ACTIONS[action];
  return live.run.alive && h("button", { "data-key": `action ${action}`, class: action === "stop" ? "danger" : null,
    disabled: options.read_only, title: options.read_only ? "This page is read-only" : null, onclick: () => ask(live, action, ref) }, label);
}

function ask(live, action, ref) {
  const [label, effect] = ACTIONS[action];
  const scaling = action === "scale" ? replicasInput(live, ref) : null;
  confirmed({
    title: ref ? `${label} ${ref}` : label,
    body: [h("p", {}, effect(ref, live.streamlets[ref]?.state)), scaling?.body ?? sameAs(action === "stop" ? "flow stop" : `flow ${action} ${ref}`)],
    button: label,
    run: () => post(api(live.id, "actions"), { action, ...(ref && { streamlet: ref }), ...(scaling && { replicas: scaling.number() }) }),
    done: `${label}: accepted`,
  });
}

/** Return a question for a number of replicas, and a function that returns it. */
function replicasInput(live, ref) {
  const { requested, planned } = replicasOf(live, ref);
  const present = requested ?? planned;
  const command = sameAs("");
  const show = () => command.querySelector("code").replaceChildren(`flow scale ${ref} ${input.value || "REPLICAS"}`);
  const input = h("input", { type: "number", min: 1, max: 1000, step: 1, required: true, value: present, id: "replicas", "aria-describedby": "present", oninput: show });
  show();
  const now = present === null ? "None are set: Spark decides how many tasks work side by side."
    : requested === null ? `Now: ${present}, as the blueprint sets.`
      : `Now: ${requested}, for this run; the blueprint sets ${planned ?? "none"}.`;
  return {
    body: [h("p", {}, h("label", { for: "replicas" }, "Replicas "), input), h("p", { class: "quiet", id: "present" }, now), command],
    number() {
      if (!input.checkValidity()) throw new Error("The number of replicas must be a whole number from 1 to 1,000.");
      return Number(input.value);
    },
  };
}

/** Return the line that names the command with the same effect. */
export const sameAs = (command) => h("p", { class: "quiet" }, "The same as ", h("code", {}, command), ".");

/** Return an argument as a shell reads it. */
export const quoted = (text) => (/^[\w.,:=@%+/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** Return a line about what is waited for, with the time that has passed, and the function that ends it. */
function progress(text) {
  const begin = now();
  const passed = h("span", { "aria-hidden": "true" });
  const timer = setInterval(() => { passed.textContent = ` ${span(now() - begin)}`; }, 1000);
  const line = h("p", { class: "quiet", role: "status" }, text, passed);
  return { line, end: () => { clearInterval(timer); line.remove(); } };
}

/**
 * Ask in a dialog, do it, and show what went wrong there; `then` takes the answer.
 *
 * `prepare` returns a promise of `{ body, button }`, which the dialog waits for. Without a button there is nothing to do.
 */
export function confirmed({ title, body, button, prepare, waiting, run, done, then }) {
  const content = h("div", {}, body);
  const problem = h("p", { class: "bad", role: "alert" });
  const yes = h("button", { class: "strong", type: "button", hidden: !button }, button);
  const no = h("button", { type: "button", onclick: () => dialog.close() }, "Cancel");
  const dialog = h("dialog", { "aria-labelledby": "dialog-title" }, h("h2", { id: "dialog-title" }, title), content, problem,
    h("div", { class: "row" }, yes, no));

  async function waitFor(text, work) {
    const { line, end } = progress(text);
    problem.textContent = "";
    problem.before(line);
    try {
      return await work();
    } catch (error) {
      problem.textContent = error.message;
      return null;
    } finally {
      end();
    }
  }

  yes.addEventListener("click", async () => {
    yes.disabled = true;
    no.textContent = "Close"; // what has begun goes on
    const answer = await waitFor("Waiting for the answer ...", run);
    yes.disabled = false;
    no.textContent = "Cancel";
    if (answer === null) return;
    announce(done);
    dialog.close();
    then?.(answer);
  });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  if (!prepare) return;
  waitFor(waiting, prepare).then((question) => {
    if (!question?.button) no.textContent = "Close";
    if (!question) return;
    fill(content, question.body);
    yes.hidden = !question.button;
    yes.textContent = question.button ?? "";
  });
}
