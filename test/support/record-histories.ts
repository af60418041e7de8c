/**
 * Records the histories that test/replay replays, from a whole Darkroom with its real activities, into test/histories.
 *
 * Run after a change of the workflows that is meant to change their histories, and only once no task that began
 * before the change can still be running anywhere; every other change must replay the existing histories:
 *
 *   npm run ts -- test/support/record-histories.ts [<name>…]
 *
 * With names it records only those: the histories of a new workflow.
 */
import { writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { PACKAGE_ROOT, packageFile } from '../../src/config/package-root.ts';
import { promotionWorkflowId, taskQueueOf } from '../../src/domain/workflow-ids.ts';
import { SEARCH_ATTRIBUTES } from '../../src/temporal/search-attributes.ts';
import { startDarkroomWithUpstreams } from './darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from './darkroom-with-upstreams.ts';
import type { TestAccount } from './darkroom.ts';
import { openLab } from '../workflows/workflow-lab.ts';
import { startServices } from './services.ts';
import { waitFor } from '@darkroom/testing/wait-for';

interface Recording {
  /** The file's name, without its extension. */
  readonly name: string;
  readonly model: string;
  readonly prompt: string;
  readonly callbackPath?: string;
  /** What its provider has received when it is cancelled. */
  readonly cancelledAt?: 'submit' | 'poll';
  /** Whether it is cancelled with Temporal's tools, not through the API. */
  readonly isCancelledInTemporal?: boolean;
  /** Whether another task is at its upstream, which takes one at a time. */
  readonly isQueued?: boolean;
  /** Which of its workflows is recorded. */
  readonly keeps: 'task' | 'callback' | 'promotion';
}

const RECORDINGS: readonly Recording[] = [
  { name: 'success', model: 'darkroom/scene', prompt: 'a lighthouse', keeps: 'task' },
  { name: 'success-by-job', model: 'test/tasks', prompt: 'a lighthouse [slow 1000]', keeps: 'task' },
  { name: 'provider-failure', model: 'test/replicate', prompt: 'a lighthouse [fail]', keeps: 'task' },
  { name: 'provider-retry', model: 'test/replicate', prompt: 'a lighthouse [reject-first 1]', keeps: 'task' },
  { name: 'outcome-unknown', model: 'test/openai', prompt: 'a lighthouse [drop]', keeps: 'task' },
  { name: 'cancel', model: 'test/replicate', prompt: 'a lighthouse [slow 60000]', cancelledAt: 'poll', keeps: 'task' },
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
  {
    name: 'cancel-with-job',
    model: 'test/tasks',
    prompt: 'a lighthouse [slow 60000] [bills 0.004]',
    cancelledAt: 'poll',
    keeps: 'task',
  },
  {
    name: 'cancel-recorded',
    model: 'test/tasks',
    // Another one than in `cancel`, by which its poll is found.
    prompt: 'a lighthouse [slow 61000]',
    cancelledAt: 'poll',
    isCancelledInTemporal: true,
    keeps: 'task',
  },
  {
    name: 'cancel-while-submitting',
    model: 'test/openai',
    prompt: 'a lighthouse [slow 20000]',
    cancelledAt: 'submit',
    keeps: 'task',
  },
  { name: 'waits-in-queue', model: 'test/single', prompt: 'a lighthouse', isQueued: true, keeps: 'task' },
  { name: 'fails-over', model: 'test/failing', prompt: 'a lighthouse [fail-tasks] [bills 0]', keeps: 'task' },
  { name: 'promote-output', model: 'darkroom/scene', prompt: 'a lighthouse', keeps: 'promotion' },
];

/** Workflows that Schedules start. */
const PASSES: readonly { readonly name: string; readonly type: string; readonly args: readonly unknown[] }[] = [
  { name: 'sweep-deleted', type: 'sweepObjects', args: [{ target: 'deleted' }] },
  { name: 'sweep-unnamed', type: 'sweepObjects', args: [{ target: 'unnamed' }] },
  { name: 'maintain', type: 'maintain', args: [] },
  { name: 'meter-storage', type: 'meterStorage', args: [] },
];

const wanted = process.argv.slice(2);
const isWanted = ({ name }: { readonly name: string }): boolean => wanted.length === 0 || wanted.includes(name);

const services = await startServices(SEARCH_ATTRIBUTES, process.env, (line) => process.stderr.write(`${line}\n`));
try {
  process.env['DARKROOM_TEST_DATABASE_URL'] = services.databaseUrl;
  process.env['DARKROOM_TEST_TEMPORAL_ADDRESS'] = services.temporalAddress;
  const outside = await startDarkroomWithUpstreams({}, [], {
    single: [{ protocol: 'tasks', id: 'single', concurrency: 1 }],
    failing: {
      fallback: 'unbilled_failure',
      upstreams: [{ protocol: 'tasks', id: 'failing' }, { protocol: 'replicate' }],
    },
  });
  try {
    for (const recording of RECORDINGS.filter(isWanted)) await keep(recording.name, await record(outside, recording));
    for (const pass of PASSES.filter(isWanted)) await keep(pass.name, await recordPass(outside, pass));
    if (isWanted({ name: 'maintain-in-parts' })) await keep('maintain-in-parts', await recordPassInParts());
  } finally {
    await outside.stop();
  }
} finally {
  await services.stop();
}

async function keep(name: string, history: string): Promise<void> {
  const file = packageFile(`test/histories/${name}.json`);
  await writeFile(file, history);
  process.stdout.write(`${path.relative(PACKAGE_ROOT, file)}\n`);
}

async function recordPass(outside: DarkroomWithUpstreams, pass: (typeof PASSES)[number]): Promise<string> {
  const handle = await outside.darkroom.temporal.workflow.start(pass.type, {
    workflowId: pass.name,
    taskQueue: taskQueueOf('media', outside.darkroom.installationId),
    args: [...pass.args],
  });
  await handle.result();
  return scrub(historyToJSON(await handle.fetchHistory()));
}

/** A pass whose repair has several parts, as it has with thousands of open tasks: its activities are those of a lab. */
async function recordPassInParts(): Promise<string> {
  const lab = await openLab();
  try {
    await lab.startWorkers(['media', 'maintenance']);
    let parts = 0;
    const pass = await lab.startOther('maintain', {
      reconcileTasks: () =>
        Promise.resolve({ checked: 1, settled: 0, restarted: 0, ...(++parts < 3 ? { next: `after ${parts}` } : {}) }),
    });
    await pass.result();
    return scrub(historyToJSON(await pass.handle.fetchHistory()));
  } finally {
    await lab.close();
  }
}

async function record(outside: DarkroomWithUpstreams, recording: Recording): Promise<string> {
  const account = await outside.darkroom.createAccount();
  if (recording.isQueued === true) {
    const prompt = 'in the way [slow 3000]';
    await outside.create(account, { model: recording.model, input: { prompt } });
    await outside.waitForProvider(prompt, 'submit');
  }
  const taskId = await outside.create(account, {
    model: recording.model,
    input: { prompt: recording.prompt },
    ...(recording.callbackPath === undefined
      ? {}
      : { callback: { url: `${outside.receiver.url}${recording.callbackPath}` } }),
  });
  if (recording.cancelledAt !== undefined) {
    await outside.waitForProvider(recording.prompt, recording.cancelledAt);
    if (recording.isCancelledInTemporal === true) await outside.darkroom.temporal.workflow.getHandle(taskId).cancel();
    else await account.client.send('POST', `/v1/tasks/${taskId}/cancel`);
  }
  await account.client.waitFor(
    taskId,
    ({ status, callback }) =>
      ['success', 'fail'].includes(status) && !['waiting', 'pending'].includes(callback?.state ?? ''),
  );
  const workflowId = await keptWorkflow(account, taskId, recording);
  const handle = outside.darkroom.temporal.workflow.getHandle(workflowId);
  await handle.result().catch(() => undefined);
  return scrub(historyToJSON(await handle.fetchHistory()));
}

async function keptWorkflow(account: TestAccount, taskId: string, { keeps }: Recording): Promise<string> {
  if (keeps === 'task') return taskId;
  if (keeps === 'callback') return `callback-${taskId}`;
  const [output] = (await account.client.get(taskId)).body.data.output ?? [];
  const outputId = output?.id ?? '';
  await account.client.send('POST', '/v1/storages/promote', [outputId]);
  await waitFor('the output is persistent', async () => {
    const { body } = await account.client.send('GET', '/v1/storages?storage_tier=persistent');
    return (body.data as unknown as { total: number }).total === 1;
  });
  return promotionWorkflowId(outputId);
}

/** What a recording reveals about the machine it was made on: process identities, stacks, directories. */
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
