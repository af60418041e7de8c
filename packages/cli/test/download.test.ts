/**
 * How the command line saves an output over an unreliable connection. The far side is a server of ours, which breaks
 * off, ignores ranges, or sends wrong bytes; the saved file is checked.
 */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createApiClient } from '@darkroom/api/client/api-client';
import { saveOutputs } from '../src/download.ts';
import type { WireTask } from '@darkroom/api/tasks/task';

const TASK_ID = 'tk-svc-5GHPJG2WW25S6576YWMQVAPVE3';
const BYTES = randomBytes(300_000);

type Serve = (request: IncomingMessage, response: ServerResponse, index: number) => void;

let server: Server;
let serve: Serve;
let ranges: (string | undefined)[];
let directory: string;
beforeEach(async () => {
  ranges = [];
  server = createServer((request, response) => {
    ranges.push(request.headers.range);
    serve(request, response, ranges.length);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-cli-'));
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await rm(directory, { recursive: true, force: true });
});

function origin(): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function task(): WireTask {
  const output = {
    id: 'out_1',
    url: `${origin()}/media/token/${TASK_ID}-1.png`,
    type: 'image',
    mimeType: 'image/png',
    sizeBytes: BYTES.length,
    sha256: createHash('sha256').update(BYTES).digest('hex'),
    expireAt: 2_000_000_000,
    storage: 'temp' as const,
    retainUntil: 2_000_000_000,
  };
  return {
    taskId: TASK_ID,
    model: 'acme/images',
    status: 'success',
    created: 1_000_000_000,
    started: 1_000_000_001,
    completed: 1_000_000_002,
    storage: 'temp',
    keyId: 'key_1',
    output: [output],
    billing: { currency: 'USD', held: '1', captured: '1', released: '0' },
  };
}

function save(signal = new AbortController().signal) {
  const api = createApiClient({ baseUrl: `${origin()}/v1`, apiKey: 'key' });
  return saveOutputs(api, task(), { directory, signal, onBytes: () => undefined });
}

const file = (): string => path.join(directory, `${TASK_ID}-1.png`);

/** Sends the given number of bytes of the requested rest, and breaks off if that is not all of it. */
function sendSome(request: IncomingMessage, response: ServerResponse, count: number): void {
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
  const rest = BYTES.subarray(from);
  response.writeHead(from === 0 ? 200 : 206, { 'Content-Length': rest.length });
  response.write(rest.subarray(0, count), () => {
    if (count < rest.length) response.destroy();
    else response.end();
  });
}

describe('a download', () => {
  it('resumes where the connection broke, as long as each attempt makes progress', async () => {
    serve = (request, response, index) => sendSome(request, response, index < 6 ? 50_000 : BYTES.length);

    const [saved] = await save();

    assert.deepEqual(await readFile(file()), BYTES);
    assert.equal(saved?.isKept, false);
    assert.equal(ranges[0], undefined);
    assert.ok(ranges.length === 6 && ranges.slice(1).every((range) => range !== undefined), ranges.join(' '));
    assert.deepEqual(await readdir(directory), [path.basename(file())]);
  });

  it('starts again when the server does not support ranges', async () => {
    serve = (request, response, index) => {
      delete request.headers.range;
      sendSome(request, response, index === 1 ? 100_000 : BYTES.length);
    };

    await save();

    assert.deepEqual(await readFile(file()), BYTES);
  });

  it('requests a new URL when the one it has is expired', async () => {
    serve = (request, response, index) => {
      if (request.url?.startsWith('/v1/') === true) {
        response.setHeader('Content-Type', 'application/json');
        response.end(JSON.stringify({ code: 200, message: 'success', data: task(), error_code: '' }));
        return;
      }
      if (index > 1) return sendSome(request, response, BYTES.length);
      response.writeHead(403, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ code: 403, message: 'expired', data: null, error_code: 'URL_EXPIRED' }));
    };

    await save();

    assert.deepEqual(await readFile(file()), BYTES);
  });

  it('does not save a response that is not the output', async () => {
    const other = Buffer.from(BYTES);
    other[7] = (other[7] ?? 0) ^ 1;
    for (const bytes of [other, Buffer.concat([BYTES, other])]) {
      serve = (_request, response) => response.end(bytes);

      await assert.rejects(save(), { name: 'NotDoneError', message: /not saved/ });

      assert.deepEqual(await readdir(directory), []);
    }
  });

  it('gives up on a connection that breaks every time, and leaves no file behind', async () => {
    serve = (_request, response) => response.destroy();

    await assert.rejects(save(), { name: 'UnreachableError' });

    assert.equal(ranges.length, 4);
    assert.deepEqual(await readdir(directory), []);
  });

  it('leaves no file behind at Ctrl-C', async () => {
    const stop = new AbortController();
    serve = (_request, response) => {
      response.writeHead(200, { 'Content-Length': BYTES.length });
      response.write(BYTES.subarray(0, 1_000), () => stop.abort());
    };

    await assert.rejects(save(stop.signal), { name: 'AbortError' });

    assert.deepEqual(await readdir(directory), []);
  });

  it('sends no request when the file exists and is complete, and replaces a file that is not', async () => {
    serve = (request, response) => sendSome(request, response, BYTES.length);
    await writeFile(file(), BYTES);

    const [kept] = await save();
    assert.equal(kept?.isKept, true);
    assert.deepEqual(ranges, []);

    await writeFile(file(), BYTES.subarray(1));
    await save();
    assert.deepEqual(await readFile(file()), BYTES);
  });

  it('does not send the API key to the storage host', async () => {
    const authorizations: (string | undefined)[] = [];
    serve = (request, response) => {
      authorizations.push(request.headers.authorization);
      sendSome(request, response, BYTES.length);
    };

    await save();

    assert.deepEqual(authorizations, [undefined]);
  });
});
