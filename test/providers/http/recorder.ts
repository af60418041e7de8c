/** A server on the loopback that records what it gets and answers as a test scripts it, and a binding that calls it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createHttpProvider, httpProtocol } from '../../../src/providers/http/http-provider.ts';
import { findBinding } from '../../../src/providers/http/binding.ts';
import type { HttpBinding } from '../../../src/providers/http/binding.ts';
import type { GenerationRequest, InputFile, Provider, SubmitCall } from '../../../src/providers/provider.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';
import type { Logger } from '../../../src/telemetry/log.ts';
import { createSecretSource } from '../../../src/upstreams/secrets.ts';
import { submitCall } from '../submit-call.ts';

/** The job API that is sufficient for most cases. */
export const JOBS: HttpBinding = {
  submit: { path: "'/jobs'", body: '{ "say": prompt }' },
  jobId: 'id',
  poll: { path: "'/jobs/' & $jobId", state: 'state' },
  outputs: 'files',
};

/** A request as it arrived. */
export interface Recorded {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** What the server answers: JSON with 200, or whatever the function does. */
export type Answer = unknown;
export type Answers = (request: Recorded, response: ServerResponse) => Answer;

export interface Recorder {
  readonly origin: string;
  readonly requests: readonly Recorded[];
}

/** @param answers returns undefined if it has answered itself. */
export async function withRecorder(answers: Answers, work: (recorder: Recorder) => Promise<void>): Promise<void> {
  const requests: Recorded[] = [];
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url = '', headers } = incoming;
    const request = { method, url, headers, body: await buffer(incoming) };
    requests.push(request);
    const answer: unknown = answers(request, response);
    if (answer !== undefined) response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
  };
  const server = createServer((incoming, response) => {
    handle(incoming, response).catch(() => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await work({ origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** The adapter with one binding, and a request for it. */
export interface BoundProvider {
  readonly provider: Provider;
  readonly request: GenerationRequest;
}

/** @throws the problem of a binding that a model file could not have. */
export function bind(
  http: HttpBinding,
  {
    origin,
    secret,
    input = { prompt: 'a boat' },
    media,
    logger = silentLogger(),
  }: {
    readonly origin: string;
    readonly secret?: string;
    readonly input?: Readonly<Record<string, unknown>>;
    readonly media?: ReadonlyMap<string, InputFile>;
    readonly logger?: Logger;
  },
): BoundProvider {
  const upstream = { id: 'acme', protocol: 'http', baseUrl: `${origin}/v1`, secret: 'main', model: 'some/model', http };
  assert.deepEqual([...(httpProtocol.problemsOf?.(upstream) ?? []), ...(httpProtocol.gapsOf?.(upstream) ?? [])], []);
  assert.notEqual(findBinding(upstream), undefined);
  const secrets = createSecretSource({ MAIN: secret ?? 'the-key' });
  const provider = createHttpProvider({ secrets, logger }).boundTo?.(upstream, 'image');
  assert.ok(provider !== undefined);
  const taskId = 'tk-svc-00000000000000000000000001';
  return { provider, request: { taskId, upstream, input, ...(media === undefined ? {} : { media }) } };
}

/** A directory that is removed afterwards, for the files of an attempt. */
export async function withScratch(
  work: (scratch: {
    readonly call: SubmitCall;
    inputFile(mimeType: string, bytes: Buffer): Promise<InputFile>;
  }) => Promise<void>,
): Promise<void> {
  const scratch = await mkdtemp(path.join(tmpdir(), 'darkroom-binding-'));
  let count = 0;
  try {
    await work({
      call: submitCall({ scratch }),
      async inputFile(mimeType, bytes) {
        const file = path.join(scratch, `input-${count++}`);
        await writeFile(file, bytes);
        return { mimeType, path: file };
      },
    });
  } finally {
    await rm(scratch, { recursive: true });
  }
}
