/**
 * Speech from a provider that sends the file while it generates it: the client has the first bytes before the provider
 * has made the last ones, and the task is an ordinary one.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { drawAudio } from '../support/test-provider/audio.ts';

const FILE = drawAudio('High water is at six.', 10);
const HALF = FILE.length / 2;

/** Sends the first half of the file, and the second one when it is asked to. */
class SlowSpeaker {
  requests = 0;
  /** What ends the speech of each input. */
  readonly ends = new Map<string, (isComplete: boolean) => void>();
  readonly #server: Server = createServer((request, response) => void this.#answer(request, response));

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { input } = JSON.parse(Buffer.concat(chunks).toString()) as { input: string };
    this.requests += 1;
    response.writeHead(200, { 'Content-Type': 'audio/wav' });
    response.write(FILE.subarray(0, HALF));
    this.ends.set(input, (isComplete) => {
      if (isComplete) response.end(FILE.subarray(HALF));
      else response.destroy();
    });
  }
}

const definitionOf = (url: string): object => ({
  name: 'test/speaker',
  modality: 'audio',
  ownedBy: 'test',
  created: 1_763_683_200,
  description: 'a test of speech',
  routes: { default: { upstreams: [{ protocol: 'openai', baseUrl: `${url}/v1`, model: 'speaker' }] } },
  inputSchema: {
    type: 'object',
    additionalProperties: false,
    required: ['text'],
    properties: {
      text: { type: 'string', minLength: 1, maxLength: 1_000 },
      voice: { type: 'string', enum: ['alloy'] },
    },
  },
  dialects: { openai: { 'audio/speech': { input: { field: 'text' }, voice: { field: 'voice' } } } },
  pricing: { unit: 'task', usd: '0.01' },
  typicalSeconds: 1,
  examples: [{ text: 'Good day.', voice: 'alloy' }],
});

describe('speech that a provider sends while it generates it', () => {
  let speaker: SlowSpeaker;
  let modelsDir: string;
  let darkroom: Darkroom;
  before(async () => {
    speaker = await new SlowSpeaker().start();
    modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-models-'));
    await writeFile(path.join(modelsDir, 'speaker.json'), JSON.stringify(definitionOf(speaker.url)));
    darkroom = await startDarkroom({ environment: { EGRESS_ALLOW: speaker.url, MODELS_DIR: modelsDir } });
  });
  after(async () => {
    await darkroom?.stop();
    speaker?.stop();
    await rm(modelsDir, { recursive: true, force: true });
  });

  async function speak(input: string) {
    const account = await darkroom.createAccount();
    const answer = await fetch(`${darkroom.url}/v1/audio/speech`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ model: 'test/speaker', input, voice: 'alloy' }),
    });
    assert.equal(answer.status, 200);
    const body = answer.body ?? assert.fail('no body');
    return { account, taskId: answer.headers.get('x-darkroom-task-id') ?? '', body };
  }

  // Proves C10-3.
  it('reaches the client before its last byte is generated', async () => {
    const { account, taskId, body } = await speak('complete');
    const received: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of body) {
      received.push(chunk);
      length += chunk.length;
      // Only now does the provider generate the second half.
      if (length === HALF) speaker.ends.get('complete')?.(true);
    }

    assert.ok(Buffer.concat(received).equals(FILE));
    const task = await account.client.waitForTerminal(taskId);
    assert.equal(task.status, 'success', JSON.stringify(task));
    assert.equal(task.billing.captured, '0.01');
    assert.equal(task.output?.[0]?.mimeType, 'audio/wav');
    const [output] = task.output ?? [];
    assert.ok(Buffer.from(await (await fetch(output?.url ?? '')).arrayBuffer()).equals(FILE));
    assert.deepEqual(await verifyLedger(darkroom.testDatabase.database), []);
  });

  it('breaks off without a charge when the provider breaks off', async () => {
    const { account, taskId, body } = await speak('broken');
    const reader = body.getReader();
    let length = 0;
    while (length < HALF) length += (await reader.read()).value?.length ?? assert.fail('ended early');
    speaker.ends.get('broken')?.(false);

    await assert.rejects(reader.read());
    const task = await account.client.waitForTerminal(taskId);
    assert.equal(task.status, 'fail');
    assert.equal(task.billing.captured, '0');
    assert.equal(speaker.requests, 2);
    assert.deepEqual(await verifyLedger(darkroom.testDatabase.database), []);
  });
});
