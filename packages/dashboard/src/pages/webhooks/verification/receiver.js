// Receives Darkroom's callbacks and accepts only what Darkroom signed. Node 20 or newer, no packages.
//   DARKROOM_WEBHOOK_SECRET=… PORT=3000 node receiver.mjs
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const SECRET = process.env.DARKROOM_WEBHOOK_SECRET;
if (!SECRET) throw new Error('DARKROOM_WEBHOOK_SECRET is not set');
const PREFIX = 'X-Darkroom';
const TOLERANCE_SECONDS = 300;
const MAX_BODY_BYTES = 1_000_000;

/** @param rawBody the bytes as received: parsing and serializing them again would change them. */
function isGenuine(headers, rawBody) {
  const header = (name) => headers[`${PREFIX}-${name}`.toLowerCase()] ?? '';
  const timestamp = header('Timestamp');
  // Prevents replays of recorded deliveries.
  const ageSeconds = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (!/^\d+$/.test(timestamp) || ageSeconds > TOLERANCE_SECONDS) return false;
  const expected = createHmac('sha256', SECRET).update(`${timestamp}.`).update(rawBody).digest();
  // For a day after a rotation, the previous secret signs too, in its own header.
  return [header('Signature'), header('Signature-Previous')].some((signature) => {
    const given = Buffer.from(signature, 'hex');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

async function receive(request, response) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error('the body is too large');
    chunks.push(chunk);
  }
  const rawBody = Buffer.concat(chunks);
  if (!isGenuine(request.headers, rawBody)) return response.writeHead(401).end();
  const task = JSON.parse(rawBody);
  // Respond within 10 seconds and do the work afterwards. The same task can be delivered twice: ignore the second one.
  response.writeHead(204).end();
  console.log(task.taskId, task.status);
}

const server = createServer((request, response) => {
  receive(request, response).catch((error) => {
    console.error(error.message);
    response.destroy();
  });
});
server.listen(Number(process.env.PORT ?? 3000));
