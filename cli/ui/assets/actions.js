// What people can do: each action says what it will do, asks, and takes the same way as the command.

import { announce, h } from "./dom.js";
import { api, post } from "./server.js";

const ACTIONS = {
  pause: ["Pause", (ref) => `Its running batch is committed, then “${ref}” stays stopped until it is resumed, also in the next run.`],
  resume: ["Resume", (ref) => `“${ref}” continues from its checkpoint.`],
  restart: ["Restart", (ref) => `Its running batch is committed, then “${ref}” continues from its checkpoint. The code is not reloaded.`],
  scale: ["Scale", (ref) => `Its running batch is committed, then “${ref}” continues with another number of replicas, in this run.`],
  stop: ["Stop the application", () => "Each running batch is committed, then the run ends."],
};

/** Return a button for an action on a streamlet, or on the application. */
export function actionButton({ live, options }, action, ref = "") {
  const [label] = ACTIONS[action];
  return h("button", { "data-key": `action ${action}`, class: action === "stop" ? "danger" : null,
    disabled: options.read_only || !live.run.alive, onclick: () => ask(live, action, ref) }, label);
}

function ask(live, action, ref) {
  const [label, effect] = ACTIONS[action];
  const replicas = action === "scale" ? h("input", { type: "number", min: 1, max: 1000, value: live.streamlets[ref]?.replicas ?? 1, id: "replicas" }) : null;
  const command = action === "stop" ? "flow stop" : `flow ${action} ${ref}`;
  confirmed({
    title: ref ? `${label} ${ref}` : label,
    body: [h("p", {}, effect(ref)), replicas && h("p", {}, h("label", { for: "replicas" }, "Replicas "), replicas),
      h("p", { class: "quiet" }, "The same as ", h("code", {}, command), ".")],
    button: label,
    run: () => post(api(live.id, "actions"), { action, ...(ref && { streamlet: ref }), ...(replicas && { replicas: Number(replicas.value) }) }),
    done: `${label}: accepted`,
  });
}

/** Ask in a dialog, do it, and show what went wrong there; `then` takes the answer. */
export function confirmed({ title, body, button, run, done, then }) {
  const problem = h("p", { class: "bad", role: "alert" });
  const yes = h("button", { class: "strong", type: "button" }, button);
  const dialog = h("dialog", { "aria-labelledby": "dialog-title" }, h("h2", { id: "dialog-title" }, title), body, problem,
    h("div", { class: "row" }, yes, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel")));
  yes.addEventListener("click", async () => {
    yes.disabled = true;
    problem.textContent = "";
    try {
      const answer = await run();
      announce(done);
      dialog.close();
      then?.(answer);
    } catch (error) {
      problem.textContent = error.message;
      yes.disabled = false;
    }
  });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
