/**
 * Unexpected requests, generated from the service's own OpenAPI document and sent to the running service: no response
 * is a fault of ours, and each matches the document. Skipped, with the reason, if there is no Python.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { startDarkroom } from '../support/darkroom.ts';
import type { ApiClient } from '../support/api-client.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { startAddressProxy } from './address-proxy.ts';
import type { AddressProxy } from './address-proxy.ts';
import { fuzzConfiguration } from './fuzz-configuration.ts';
import { obtainPackage, whyNoPackage } from './python-environment.ts';

/** Generates requests from an OpenAPI document: valid ones, invalid ones and sequences of them. */
const SCHEMATHESIS = { name: 'schemathesis', version: '4.32.5' };
/** Requests for each operation that are generated at random, in addition to those that try each rule of each schema. */
const EXAMPLES = process.env['FUZZ_EXAMPLES'] ?? '60';
/** The same seed generates the same requests, as far as ids allow. */
const SEED = process.env['FUZZ_SEED'] ?? '1';
/** Below the timeout of a test file. */
const RUN_TIMEOUT_MS = 540_000;

/** When lists of keys are read too, they find and revoke the key that the requests use. */
const TAKING_KEYS = ['revokeKey', 'rotateKey'];

/** Those of OpenAI's clients, which wait for results unless they prefer not to, and what belongs to them. */
const OF_MEDIA = [
  'createImage',
  'createImageEdit',
  'createSpeech',
  'createTranscription',
  'createTranslation',
  'createVideo',
  'remixVideo',
  'getVideo',
  'listVideos',
  'deleteVideo',
  'downloadVideo',
  'createBatch',
  'getBatch',
  'listBatches',
  'cancelBatch',
  'createUpload',
  'addUploadPart',
  'completeUpload',
  'cancelUpload',
  'createTasks',
  'createToken',
  'revokeToken',
];

/** Detects an invalid document; Schemathesis includes the schema that the standard's authors publish. */
const VALIDATE = `
import json, sys
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR
for error in OPENAPI_31_VALIDATOR.iter_errors(json.load(open(sys.argv[1]))):
    print(error.message, list(error.instance_path))
`;

/** The parts of the report that are checked. */
interface Report {
  readonly complete: boolean;
  readonly operations: { readonly selected: number; readonly tested: number; readonly errored: number };
  readonly test_cases: { readonly generated: number; readonly errored: number };
  readonly failures: readonly { readonly title: string; readonly operations: readonly string[] }[];
  readonly errors: readonly unknown[];
  readonly warnings: Readonly<Record<'rate_limited' | 'missing_auth', readonly string[]>>;
}

describe('the running service, asked by its own document', { skip: whyNoPackage(SCHEMATHESIS) }, () => {
  let python: string;
  let directory: string;
  let darkroom: Darkroom;
  let proxy: AddressProxy;
  before(async () => {
    python = await obtainPackage(SCHEMATHESIS);
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-fuzz-'));
    darkroom = await startDarkroom({ environment: { TRUSTED_PROXIES: '127.0.0.0/8' } });
    proxy = await startAddressProxy(darkroom.url);
  });
  after(async () => {
    await proxy?.close();
    await darkroom?.stop();
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
  });

  it('has a document that is one by the schema of OpenAPI 3.1 itself', async () => {
    const document = path.join(directory, 'openapi.json');
    await writeFile(document, await (await fetch(`${darkroom.url}/openapi.json`)).text());
    const result = await promisify(execFile)(python, ['-c', VALIDATE, document]);
    assert.equal(result.stdout, '');
    // This must be detected.
    await writeFile(document, JSON.stringify({ openapi: '3.1.0', info: { title: 'x' }, paths: { x: {} } }));
    assert.match((await promisify(execFile)(python, ['-c', VALIDATE, document])).stdout, /version/);
  });

  it('answers every request as the document says, and never with a fault', async (test) => {
    const others = [...TAKING_KEYS, ...OF_MEDIA];
    const report = await fuzz(...others.flatMap((id) => ['--exclude-operation-id', id]));
    test.diagnostic(`${report.test_cases.generated} requests to ${report.operations.tested} operations`);
    assert.ok(report.test_cases.generated > 1_000);
  });

  it('does so on the endpoints of media, batches and uploads, without waiting for results', async (test) => {
    const noWait = ['--header', 'Prefer: respond-async'];
    const report = await fuzz(...OF_MEDIA.flatMap((id) => ['--include-operation-id', id]), ...noWait);
    test.diagnostic(`${report.test_cases.generated} requests to ${report.operations.tested} operations`);
    assert.equal(report.operations.tested, OF_MEDIA.length);
    assert.ok(report.test_cases.generated > 500);
  });

  it('does so where keys are revoked and rotated, which would take the key of all other requests away', async (test) => {
    const report = await fuzz(...['createKey', ...TAKING_KEYS].flatMap((id) => ['--include-operation-id', id]));
    test.diagnostic(`${report.test_cases.generated} requests to ${report.operations.tested} operations`);
    assert.ok(report.test_cases.generated > 100);
  });

  /** Runs it on some operations, with an account of its own, and asserts that it found no error. */
  async function fuzz(...operations: readonly string[]): Promise<Report> {
    // One task at a time: most generated tasks are not worth rendering, and stay queued.
    const account = await darkroom.createAccount({ runningCap: 1, queueCap: 1_000_000, usd: 1_000_000_000n });
    const config = path.join(directory, 'schemathesis.toml');
    await writeFile(config, fuzzConfiguration(await valuesOf(account)));
    const reportFile = path.join(directory, 'report.json');
    const run = ['run', `${darkroom.url}/openapi.json`, '--url', proxy.url, ...operations];
    const header = ['--header', `Authorization: Bearer ${account.client.key}`];
    const generation = ['--max-examples', EXAMPLES, '--seed', SEED, '--generation-database', 'none'];
    const bounds = ['--request-timeout', '40', '--suppress-health-check', 'all', '--continue-on-failure'];
    const result = ['--no-color', '--report', 'json', '--report-json-path', reportFile];
    const output = await schemathesis(['--config-file', config, run, header, generation, bounds, result].flat());
    const report = JSON.parse(await readFile(reportFile, 'utf8')) as Report;

    assert.deepEqual([report.failures, report.errors], [[], []], output);
    assert.equal(report.complete, true, output);
    assert.deepEqual([report.test_cases.errored, report.operations.errored], [0, 0], output);
    assert.equal(report.operations.tested, report.operations.selected, output);
    // A run whose requests were mostly rejected early has shown nothing.
    assert.deepEqual([report.warnings.rate_limited, report.warnings.missing_auth], [[], []], output);
    return report;
  }

  /** Existing values, for the parameters that name them. */
  async function valuesOf({ client }: TestAccount): Promise<Record<string, readonly string[]>> {
    const created = await client.create({ model: 'darkroom/poster', input: { prompt: 'a fox' }, metadata: { a: 'b' } });
    const task = await client.waitForTerminal(created.body.data.taskId);
    const [output] = task.output ?? [];
    assert.ok(output, JSON.stringify(task));
    const [token = '', name = ''] = new URL(output.url).pathname.split('/').slice(2);
    const image = await (await fetch(output.url)).arrayBuffer();
    const many = Array.from({ length: 20 }, (_, place) => place);
    const keyIds = many.map(async (place) => {
      const made = await client.send('POST', '/v1/account/keys', { name: `key ${place}`, scopes: ['tasks:read'] });
      return (made.body.data as unknown as { id: string }).id;
    });
    const fileIds: string[] = [];
    // One after the other: an account may send only a limited number at once.
    for (const _place of many) {
      const headers = { Authorization: `Bearer ${client.key}`, 'Content-Type': 'image/png' };
      const made = await fetch(`${darkroom.url}/v1/files`, { method: 'POST', headers, body: image });
      fileIds.push(((await made.json()) as { data: { id: string } }).data.id);
    }
    return {
      ...(await mediaValues(client)),
      taskId: [task.taskId],
      outputId: [output.id],
      keyId: await Promise.all(keyIds),
      fileId: fileIds,
      modelName: [task.model],
      token: [token],
      name: [name],
      file: ['start.js', 'index.css'],
    };
  }

  /** The same for the endpoints of media, batches, uploads and tokens. */
  async function mediaValues(client: ApiClient): Promise<Record<string, readonly string[]>> {
    const idOf = async (path: string, body: object): Promise<string> => {
      const made = await client.send('POST', path, body);
      assert.equal(made.status, 200, JSON.stringify(made.body));
      return (made.body as unknown as { id: string }).id;
    };
    const form = new FormData();
    form.append('purpose', 'batch');
    form.append('file', new Blob(['{"custom_id":"a","method":"POST","url":"/v1/tasks","body":{}}']), 'lines.jsonl');
    const headers = { Authorization: `Bearer ${client.key}` };
    const stored = await fetch(`${darkroom.url}/v1/files`, { method: 'POST', headers, body: form });
    const { id: input } = (await stored.json()) as { id: string };
    const batch = { input_file_id: input, endpoint: '/v1/tasks', completion_window: '24h' };
    const upload = { filename: 'a.jsonl', purpose: 'batch', bytes: 9, mime_type: 'application/jsonl' };
    const token = await client.send('POST', '/v1/tokens', { scopes: ['tasks:read'], seconds: 3_600 });
    return {
      videoId: [await idOf('/v1/videos', { model: 'darkroom/motion', prompt: 'a fox' })],
      batchId: [await idOf('/v1/batches', batch)],
      // Several, because requests cancel and complete them.
      uploadId: await Promise.all(Array.from({ length: 20 }, () => idOf('/v1/uploads', upload))),
      tokenId: [(token.body.data as unknown as { id: string }).id],
    };
  }

  async function schemathesis(args: readonly string[]): Promise<string> {
    const options = { cwd: directory, timeout: RUN_TIMEOUT_MS, maxBuffer: 1e9 };
    return new Promise((resolve) => {
      // Its exit code reports findings, and so does the report.
      execFile(python, ['-m', 'schemathesis.cli', ...args], options, (_, stdout, stderr) =>
        resolve(`${stdout}${stderr}`),
      );
    });
  }
});
