/**
 * Takes the place of ComfyUI behind its API v2: it has no model and draws a plain colour, but accepts, queues, reports,
 * cancels and forgets jobs in the same way, and answers in the same words. Compared with ComfyUI 0.27.0 on a processor.
 * One job at a time; all of them are in memory.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import { json } from 'node:stream/consumers';
import sharp from 'sharp';
import { waitFor } from '@darkroom/testing/wait-for';
import { reservePort } from '../support/reserve-port.ts';

/** The only checkpoint that it has. */
export const CHECKPOINT = 'sd_xl_base_1.0.safetensors';

/** The node of a workflow that has the value of an input, or a link to another node. */
interface WorkflowNode {
  readonly class_type: string;
  readonly inputs: Readonly<Record<string, unknown>>;
}
type Workflow = Readonly<Record<string, WorkflowNode>>;

interface Job {
  readonly id: string;
  readonly workflow: Workflow;
  state: 'waiting' | 'running' | 'success' | 'error' | 'interrupted';
  files: readonly string[];
}

export interface ComfyBackend {
  readonly url: string;
  /** How the jobs ended, or where they are, whose prompt contains this: in the order in which they came. */
  statesOf(marker: string): readonly (Job['state'] | 'removed')[];
  waitForState(marker: string, state: Job['state'] | 'removed'): Promise<void>;
  /** The files that the jobs with this prompt made. */
  filesOf(marker: string): readonly Buffer[];
  /** Lets the job that is held by `[hold]` in its prompt end. */
  release(): void;
  /** Ends it as a crash does, with all that it has in memory except its files. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** Starts it on a free port. `[hold]` in a prompt runs until it is released or cancelled, `[fail]` fails. */
export async function startComfyBackend(): Promise<ComfyBackend> {
  const port = await reservePort();
  const files = new Map<string, Buffer>();
  const all: Job[] = [];
  const removed = new Set<Job>();
  let jobs: Job[] = [];
  let server: Server | undefined;
  let release = (): void => {};

  const runNext = (): void => {
    const next = jobs.find(({ state }) => state === 'waiting');
    if (next === undefined || jobs.some(({ state }) => state === 'running')) return;
    next.state = 'running';
    const isHeld = promptOf(next).includes('[hold]');
    const released = isHeld ? new Promise<void>((resolve) => (release = resolve)) : Promise.resolve();
    void released.then(async () => {
      const isFailing = promptOf(next).includes('[fail]');
      const made = isFailing ? [] : await draw(next.workflow);
      if (next.state === 'running') {
        next.files = made.map((bytes) => {
          const name = `darkroom_${String(files.size + 1).padStart(5, '0')}_.png`;
          files.set(name, bytes);
          return name;
        });
        next.state = isFailing ? 'error' : 'success';
      }
      runNext();
    });
  };

  const cancel = (id: string): boolean => {
    const job = jobs.find((one) => one.id === id);
    if (job?.state === 'waiting') {
      // Without a trace in its history.
      jobs = jobs.filter((one) => one !== job);
      removed.add(job);
      return true;
    }
    if (job?.state !== 'running') return false;
    job.state = 'interrupted';
    release();
    return true;
  };

  const answer = async (request: IncomingMessage): Promise<Answer> => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://comfy');
    const [, first, second = ''] = pathname.split('/');
    if (request.method === 'POST' && pathname === '/prompt') {
      const { prompt, prompt_id: id } = (await json(request)) as { prompt: Workflow; prompt_id: string };
      const problem = findProblem(prompt);
      if (problem !== undefined) return { status: 400, body: problem };
      const job: Job = { id, workflow: prompt, state: 'waiting', files: [] };
      jobs.push(job);
      all.push(job);
      runNext();
      return { body: { prompt_id: id, number: all.length, node_errors: {} } };
    }
    if (request.method === 'POST') return { body: { cancelled: cancel(pathname.split('/')[3] ?? '') } };
    if (first === 'history') {
      const job = jobs.find(({ id, state }) => id === second && !['waiting', 'running'].includes(state));
      return { body: job === undefined ? {} : { [second]: historyOf(job) } };
    }
    if (first === 'queue') {
      const entries = (state: string) => jobs.flatMap((job) => (job.state === state ? [[0, job.id]] : []));
      return { body: { queue_running: entries('running'), queue_pending: entries('waiting') } };
    }
    const file = files.get(searchParams.get('filename') ?? '');
    return file === undefined ? { status: 404, body: {} } : { body: file };
  };

  const start = async (): Promise<void> => {
    server = createServer((request, response) => {
      answer(request).then(
        ({ status = 200, body }) => {
          const isFile = Buffer.isBuffer(body);
          response.writeHead(status, { 'content-type': isFile ? 'image/png' : 'application/json' });
          response.end(isFile ? body : JSON.stringify(body));
        },
        () => response.destroy(),
      );
    }).listen(port, '127.0.0.1');
    await once(server, 'listening');
  };

  const withPrompt = (marker: string) => all.filter((job) => promptOf(job).includes(marker));
  const statesOf: ComfyBackend['statesOf'] = (marker) =>
    withPrompt(marker).map((job) => (removed.has(job) ? 'removed' : job.state));
  await start();
  return {
    url: `http://127.0.0.1:${port}`,
    statesOf,
    waitForState: (marker, state) => waitFor(`${marker} is ${state}`, () => statesOf(marker).includes(state)),
    filesOf: (marker) =>
      withPrompt(marker).flatMap((job) => job.files.map((name) => files.get(name) ?? assert.fail(name))),
    release: () => release(),
    start,
    async stop() {
      jobs = [];
      release();
      server?.closeAllConnections();
      server?.close();
      if (server !== undefined) await once(server, 'close');
    },
  };
}

interface Answer {
  readonly status?: number;
  readonly body: object;
}

function nodesOf(workflow: Workflow, type: string): readonly WorkflowNode[] {
  return Object.values(workflow).filter(({ class_type }) => class_type === type);
}

function promptOf({ workflow }: Job): string {
  return nodesOf(workflow, 'CLIPTextEncode')
    .map(({ inputs }) => String(inputs['text']))
    .join('\n');
}

/** What its validation says of a checkpoint that it does not have. */
function findProblem(workflow: Workflow): object | undefined {
  const [node, loader] =
    Object.entries(workflow).find(([, { class_type }]) => class_type === 'CheckpointLoaderSimple') ?? [];
  const name = String(loader?.inputs['ckpt_name']);
  if (node === undefined || name === CHECKPOINT) return undefined;
  const error = {
    type: 'value_not_in_list',
    message: 'Value not in list',
    details: `ckpt_name: '${name}' not in [...]`,
  };
  return {
    error: { type: 'prompt_outputs_failed_validation', message: 'Prompt outputs failed validation', details: '' },
    node_errors: { [node]: { errors: [error], dependent_outputs: ['save'], class_type: 'CheckpointLoaderSimple' } },
  };
}

/** One file for each image of the batch, in a colour that follows from workflow and position. */
function draw(workflow: Workflow): Promise<readonly Buffer[]> {
  const [canvas] = nodesOf(workflow, 'EmptyLatentImage');
  const { width, height, batch_size: count } = canvas?.inputs ?? {};
  return Promise.all(
    Array.from({ length: Number(count) }, (_, index) => {
      const [r = 0, g = 0, b = 0] = createHash('sha256')
        .update(`${JSON.stringify(workflow)} ${index}`)
        .digest();
      return sharp({ create: { width: Number(width), height: Number(height), channels: 3, background: { r, g, b } } })
        .png()
        .toBuffer();
    }),
  );
}

function historyOf({ id, state, files }: Job): object {
  const about = { prompt_id: id };
  const messages: Readonly<Partial<Record<Job['state'], readonly [string, object]>>> = {
    success: ['execution_success', about],
    error: ['execution_error', { ...about, node_type: 'KSampler', exception_message: 'CUDA out of memory' }],
    interrupted: ['execution_interrupted', { ...about, node_type: 'KSampler' }],
  };
  const images = files.map((filename) => ({ filename, subfolder: '', type: 'output' }));
  return {
    outputs: images.length === 0 ? {} : { save: { images } },
    status: {
      status_str: state === 'success' ? 'success' : 'error',
      completed: state === 'success',
      messages: [['execution_start', about], ['execution_cached', { nodes: [], ...about }], messages[state]],
    },
  };
}
