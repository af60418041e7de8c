/**
 * Runs calls of one official client, unmodified: `node main.mjs <client> <origin>`. A line of standard input is
 * `{"call", "arguments"}`, and the line of standard output for it `{"value"}`, or `{"error"}` with what the client
 * threw. Whatever host the client calls, the request goes to the origin instead, with that host in `x-oracle-host`.
 */
import { Buffer } from 'node:buffer';
import { createInterface } from 'node:readline';

const [, , name, origin] = process.argv;

const send = globalThis.fetch;
globalThis.fetch = async (input, init) => {
  const request = new Request(input, init);
  const url = new URL(request.url);
  // Some clients try out what `fetch` can do.
  if (url.protocol === 'data:') return send(request);
  const headers = new Headers(request.headers);
  headers.set('x-oracle-host', url.host);
  const body = request.body === null ? undefined : Buffer.from(await request.arrayBuffer());
  return send(new URL(`${url.pathname}${url.search}`, origin), {
    method: request.method,
    headers,
    body,
    signal: request.signal,
    redirect: request.redirect,
  });
};

const { calls } = await import(`./${name}.mjs`);

/** What is left of an error in JSON. */
function describe(error) {
  const { name: kind, message, status, statusCode, response, code, body } = error;
  return { name: kind, message: String(message), status: status ?? statusCode ?? response?.status, code, body };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { call, arguments: given } = JSON.parse(line);
  let answer;
  try {
    answer = { value: (await calls[call](...given)) ?? null };
  } catch (error) {
    answer = { error: describe(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
