// What the server is asked for. Failures are errors with the server's own words.

const token = document.querySelector("meta[name=flow-token]").content;

export async function get(path) {
  return answered(await fetch(path, { headers: { accept: "application/json" } }));
}

export async function post(path, data) {
  return answered(await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-flow-token": token },
    body: JSON.stringify(data),
  }));
}

async function answered(response) {
  const text = await response.text();
  let data;
  try {
    data = JSON.parse(text);
  } catch {
    throw new Error(text.trim() || `the server answered with ${response.status}`);
  }
  if (!response.ok) throw new Error(data.error ?? text);
  return data;
}

export const api = (id, ...parts) => ["/api/applications", id, ...parts].map((part, index) =>
  index ? encodeURIComponent(part) : part).join("/");
