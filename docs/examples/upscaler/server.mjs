/**
 * Enlarges images: `POST /upscale` with `{ "image": "<Base64 of a file>", "scale": 2 }` answers with a PNG, and with
 * `{ "error": … }` if that is not possible. One image at a time; a few may wait. `GET /health` says
 * whether it is ready, and how many images it has enlarged.
 *
 * Usage: node server.mjs [--port 8190] [--host 127.0.0.1]
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import { ImageError, SCALES, createUpscaler } from './upscale.mjs';

const MAX_BODY_BYTES = 32 * 1024 * 1024;
const MAX_WAITING = 4;
const RETRY_AFTER_SECONDS = 10;

/** A request that is not answered with an image. */
class RequestError extends Error {
  name = 'RequestError';

  constructor(status, message, headers = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

const { values: options } = parseArgs({
  options: { port: { type: 'string', default: '8190' }, host: { type: 'string', default: '127.0.0.1' } },
});
const upscale = await createUpscaler();
/** Images that are being enlarged, or wait for that. */
let held = 0;
let enlarged = 0;
let last = Promise.resolve();

/** Does the work after all work that was requested before. */
function inTurn(work) {
  if (held > MAX_WAITING) throw new RequestError(503, 'busy', { 'retry-after': String(RETRY_AFTER_SECONDS) });
  held += 1;
  const result = last.then(work).finally(() => {
    held -= 1;
  });
  last = result.then(
    () => {},
    () => {},
  );
  return result;
}

async function readJson(request) {
  const chunks = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) throw new RequestError(413, `the request has more than ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw new RequestError(400, 'the request is not JSON');
  }
}

async function answer(request, response) {
  const { pathname } = new URL(request.url, 'http://upscaler');
  if (request.method === 'GET' && pathname === '/health')
    return json({ status: held === 0 ? 'ready' : 'busy', enlarged });
  if (request.method !== 'POST' || pathname !== '/upscale') throw new RequestError(404, 'only POST /upscale is served');
  const body = await readJson(request);
  const { image, scale = 2 } = typeof body === 'object' && body !== null ? body : {};
  if (typeof image !== 'string' || image === '') throw new RequestError(400, 'image: missing; the Base64 of a file');
  if (!SCALES.includes(scale)) throw new RequestError(400, `scale: one of ${SCALES.join(', ')}`);
  // A caller that has gone needs no image.
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const bytes = await inTurn(() => {
    gone.signal.throwIfAborted();
    return upscale(Buffer.from(image, 'base64'), scale, gone.signal);
  });
  enlarged += 1;
  return { status: 200, headers: { 'content-type': 'image/png' }, body: bytes };
}

function json(value, status = 200, headers = {}) {
  return { status, headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(value) };
}

function answerOf(error) {
  if (error instanceof RequestError) return json({ error: error.message }, error.status, error.headers);
  if (error instanceof ImageError) return json({ error: error.message }, 422);
  process.stderr.write(`${error.stack}\n`);
  return json({ error: 'the image could not be enlarged' }, 500);
}

const server = createServer((request, response) => {
  answer(request, response)
    .catch((error) => (response.destroyed ? undefined : answerOf(error)))
    .then((result) => {
      if (result === undefined) return;
      // What is left of a request that was not read to its end is not.
      if (!request.complete) response.setHeader('connection', 'close');
      response.writeHead(result.status, result.headers).end(result.body);
    })
    .catch((error) => process.stderr.write(`${error.stack}\n`));
});
server.listen(Number(options.port), options.host);
await once(server, 'listening');
process.stdout.write(`Listening on http://${options.host}:${server.address().port}\n`);
