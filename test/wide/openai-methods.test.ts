/**
 * Every method of OpenAI's official clients, unmodified, for what Darkroom has endpoints for: the methods are those that
 * the installed clients have, and docs/reference/openai-clients.md has the result of each. Clients for Python are
 * skipped, with the reason, if there is no Python.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import OpenAI from 'openai';
import { VERSION } from 'openai/version';
import sharp from 'sharp';
import { packageFile } from '../../src/config/package-root.ts';
import { drawAudio } from '../support/test-provider/audio.ts';
import { startOpenAiDarkroom } from './openai-darkroom.ts';
import type { OpenAiDarkroom } from './openai-darkroom.ts';
import { callMethods } from './openai-methods/javascript.ts';
import { assertClean, assertOnPage, renderTable } from './openai-methods/table.ts';
import type { Form, Results } from './openai-methods/table.ts';
import { obtainPackage, whyNoPackage } from './python-environment.ts';

/**
 * The newest one, with what its WebSockets need, and the last one of its first major version. They run once, and not again
 * with the newest client for JavaScript (`node-24.test.ts`).
 */
const PYTHON_CLIENTS =
  process.env['DARKROOM_TEST_NEWEST_CLIENTS'] === undefined
    ? [
        { name: 'openai[realtime]', version: '3.57.0' },
        { name: 'openai', version: '1.109.1' },
      ]
    : [];

describe("the methods of OpenAI's official clients", { timeout: 1_800_000 }, () => {
  let started: OpenAiDarkroom;
  let photo: Buffer;
  const sound = drawAudio('a station', 2.5);
  before(async () => {
    started = await startOpenAiDarkroom();
    const size = { width: 96, height: 64, channels: 3, background: '#c33' } as const;
    photo = await sharp({ create: size }).png().toBuffer();
  });
  after(() => started?.stop());

  const connection = async () => {
    const { client } = await started.darkroom.createAccount();
    return { apiKey: client.key, baseURL: `${started.darkroom.url}/v1` };
  };

  it('have the results that are documented, for JavaScript', async () => {
    const { results, unknown } = await callMethods(new OpenAI(await connection()), photo, sound);

    assert.deepEqual(unknown, []);
    const uncalled = Object.entries(results).filter(([, forms]) => forms.plain === undefined);
    assert.deepEqual(uncalled, []);
    assertClean(results);
    const heads = ['plain', '`stream: true`', '`withResponse()`', '`asResponse()`'];
    assertOnPage(`JavaScript, ${VERSION}`, renderTable(heads, results));
  });

  for (const client of PYTHON_CLIENTS) {
    const skip = whyNoPackage(client);
    it(`have the results that are documented, for Python ${client.version}`, { skip }, async () => {
      const python = await obtainPackage(client);
      const run = async (isAsync: boolean): Promise<Results> => {
        const { apiKey, baseURL } = await connection();
        const files = { photo: photo.toString('base64'), sound: sound.toString('base64') };
        const program = packageFile('test/wide/openai-methods/methods.py');
        const child = spawn(python, ['-W', 'ignore', program], { stdio: ['pipe', 'pipe', 'inherit'] });
        child.stdin.end(JSON.stringify({ ...files, url: baseURL, key: apiKey, isAsync }));
        const { methods, results } = JSON.parse(await text(child.stdout)) as {
          readonly methods: Readonly<Record<string, readonly Form[]>>;
          readonly results: Results;
        };
        const called = Object.entries(results).map(([method, forms]) => [method, Object.keys(forms)]);
        assert.deepEqual(Object.fromEntries(called), methods);
        assertClean(results);
        return results;
      };
      const results = await run(false);
      assert.deepEqual(await run(true), results, 'the results of `AsyncOpenAI` are those of `OpenAI`');

      const heads = ['plain', '`stream=True`', '`with_raw_response`', '`with_streaming_response`'];
      assertOnPage(`Python, ${client.version}`, renderTable(heads, results));
    });
  }
});
