/**
 * Records the histories that test/replay replays, from a whole Darkroom with its real activities, into test/histories.
 *
 * Run after a change of the workflows that is meant to change their histories, and only once no task that began before
 * the change can still be running anywhere; every other change must replay the histories that are there:
 *
 *   npm run build && node --import tsx test/support/record-histories.ts
 */
import { writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { PACKAGE_ROOT, packageFile } from '../../src/config/package-root.ts';
import { SEARCH_ATTRIBUTES } from '../../src/temporal/search-attributes.ts';
import { startDarkroomWithUpstreams } from './darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from './darkroom-with-upstreams.ts';
import { startServices } from './services.ts';

interface Recording {
  /** The file's name, without its ending. */
  readonly name: string;
  readonly model: string;
  readonly prompt: string;
  readonly callbackPath?: string;
  readonly isCancelled?: boolean;
  /** Which of the two workflows is kept. */
  readonly keeps: 'task' | 'callback';
}

const RECORDINGS: readonly Recording[] = [
  { name: 'success', model: 'darkroom/scene', prompt: 'a lighthouse', keeps: 'task' },
  { name: 'success-by-job', model: 'test/tasks', prompt: 'a lighthouse [slow 1000]', keeps: 'task' },
  { name: 'provider-failure', model: 'test/replicate', prompt: 'a lighthouse [fail]', keeps: 'task' },
  { name: 'provider-retry', model: 'test/replicate', prompt: 'a lighthouse [refuse-first 1]', keeps: 'task' },
  { name: 'outcome-unknown', model: 'test/openai', prompt: 'a lighthouse [drop]', keeps: 'task' },
  { name: 'cancel', model: 'test/replicate', prompt: 'a lighthouse [slow 60000]', isCancelled: true, keeps: 'task' },
  {
    name: 'callback-delivered',
    model: 'test/openai',
    prompt: 'a lighthouse',
    callbackPath: '/fail/1/recorded',
    keeps: 'callback',
  },
  {
    name: 'callback-exhausted',
    model: 'test/openai',
    prompt: 'a lighthouse',
    callbackPath: '/status/500/recorded',
    keeps: 'callback',
  },
];

const services = await startServices(SEARCH_ATTRIBUTES, process.env, (line) => process.stderr.write(`${line}\n`));
try {
  process.env['DARKROOM_TEST_DATABASE_URL'] = services.databaseUrl;
  process.env['DARKROOM_TEST_TEMPORAL_ADDRESS'] = services.temporalAddress;
  const outside = await startDarkroomWithUpstreams();
  try {
    for (const recording of RECORDINGS) {
      const file = packageFile(`test/histories/${recording.name}.json`);
      await writeFile(file, await record(outside, recording));
      process.stdout.write(`${path.relative(PACKAGE_ROOT, file)}\n`);
    }
  } finally {
    await outside.stop();
  }
} finally {
  await services.stop();
}

async function record(outside: DarkroomWithUpstreams, recording: Recording): Promise<string> {
  const account = await outside.darkroom.createAccount();
  const taskId = await outside.create(account, {
    model: recording.model,
    input: { prompt: recording.prompt },
    ...(recording.callbackPath === undefined
      ? {}
      : { callback: { url: `${outside.receiver.url}${recording.callbackPath}` } }),
  });
  if (recording.isCancelled === true) {
    await outside.untilProvider(recording.prompt, 'poll');
    await account.client.send('POST', `/v1/tasks/${taskId}/cancel`);
  }
  await account.client.until(
    taskId,
    ({ status, callback }) =>
      ['success', 'fail'].includes(status) && !['waiting', 'pending'].includes(callback?.state ?? ''),
  );
  const workflowId = recording.keeps === 'task' ? taskId : `callback-${taskId}`;
  const handle = outside.darkroom.temporal.workflow.getHandle(workflowId);
  await handle.result().catch(() => undefined);
  return scrub(historyToJSON(await handle.fetchHistory()));
}

/** What a recording tells of the machine it was made on: process identities, stacks, folders. */
function scrub(json: string): string {
  const scrubbed: unknown = JSON.parse(json, (name, value: unknown) => {
    if (name === 'identity') return 'recorded';
    if (name === 'stackTrace') return '';
    if (typeof value !== 'string') return value;
    // A sticky queue is named after the worker's process.
    return value.replace(/^\d+@.+$/, 'recorded-sticky').replaceAll(os.hostname(), 'recorded');
  });
  return `${JSON.stringify(scrubbed, undefined, 1)}\n`;
}
