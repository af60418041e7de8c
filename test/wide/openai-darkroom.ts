/**
 * A running Darkroom for the official clients of OpenAI and the provider for the AI SDK: with the embedded models, a slow
 * model of images, and one of transcriptions and translations whose upstream is played here.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { verifyLedger } from '../../src/billing/verify.ts';
import { compatibleDefinition, compatibleTranscriptionDefinition } from '../catalogue/definitions.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, Role, TestAccount } from '../support/darkroom.ts';
import { startTestProvider } from '../support/test-provider/process.ts';

/** What the upstream of transcriptions answers; a translation has another text. */
const SPOKEN = {
  task: 'transcribe',
  language: 'english',
  duration: 2.5,
  text: ' Mind the gap. The doors close.',
  segments: [
    { id: 0, start: 0, end: 1.5, text: ' Mind the gap.' },
    { id: 1, start: 1.5, end: 2.5, text: ' The doors close.' },
  ],
};
const TRANSLATED = { task: 'translate', language: 'english', duration: 2.5, text: ' Watch out.' };

export interface OpenAiDarkroom {
  readonly darkroom: Darkroom;
  readonly api: Role;
  tasksOf(account: TestAccount): Promise<readonly { id: string; status: string; captured: string }[]>;
  /** One task, one charge, and sums that agree. */
  assertOneCharge(account: TestAccount): Promise<void>;
  stop(): Promise<void>;
}

/** @param receivers what it may also send to. */
export async function startOpenAiDarkroom(...receivers: readonly string[]): Promise<OpenAiDarkroom> {
  const provider = await startTestProvider();
  const modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-models-'));
  const upstream = { protocol: 'tasks', baseUrl: `${provider.url}/tasks/v1`, secret: 'test', model: 'owner/model' };
  const slow = compatibleDefinition({ name: 'acme/slow', routes: { default: { upstreams: [upstream] } } });
  await writeFile(path.join(modelsDir, 'slow.json'), JSON.stringify(slow));
  const speaker = createServer((request, response) => {
    request.resume().on('end', () => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(request.url === '/v1/audio/translations' ? TRANSLATED : SPOKEN));
    });
  });
  speaker.listen(0, '127.0.0.1');
  await once(speaker, 'listening');
  const speakerUrl = `http://127.0.0.1:${(speaker.address() as AddressInfo).port}`;
  const listens = { protocol: 'openai', baseUrl: `${speakerUrl}/v1`, secret: 'test', model: 'whisper' };
  const transcribing = compatibleTranscriptionDefinition({ routes: { default: { upstreams: [listens] } } });
  await writeFile(path.join(modelsDir, 'transcribing.json'), JSON.stringify(transcribing));
  const darkroom = await startDarkroom({
    apis: 1,
    environment: {
      MODELS_DIR: modelsDir,
      UPSTREAM_TEST_KEY: 'test-key',
      EGRESS_ALLOW: [provider.url, speakerUrl, ...receivers].join(),
      DRAIN_SECONDS: '0',
      SHUTDOWN_GRACE_SECONDS: '10',
    },
  });
  const tasksOf: OpenAiDarkroom['tasksOf'] = ({ id }) =>
    darkroom.testDatabase.database.query(
      {
        name: 'test_tasks_of_account',
        text: 'SELECT id, status, captured_micro_usd::text AS captured FROM tasks WHERE account_id = $1',
      },
      [id],
    );
  return {
    darkroom,
    api: darkroom.apis[0] ?? assert.fail(),
    tasksOf,
    async assertOneCharge(account) {
      const tasks = await tasksOf(account);
      assert.deepEqual(
        tasks.map(({ status, captured }) => [status, captured]),
        [['success', '10000']],
      );
      assert.deepEqual(await verifyLedger(darkroom.testDatabase.database), []);
    },
    async stop() {
      await darkroom.stop();
      await provider.stop();
      speaker.closeAllConnections();
      speaker.close();
      await rm(modelsDir, { recursive: true, force: true });
    },
  };
}
