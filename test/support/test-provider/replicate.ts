/** Simulates Replicate's predictions: asynchronous, cancellable, no idempotency keys. */
import { readBehaviour } from './behaviour.ts';
import type { Job } from './jobs.ts';
import { answerSubmit, OTHER_TYPES, rejectionHeaders, textOf } from './protocol.ts';
import type { Incoming, Reply, Room, Wording } from './protocol.ts';

const CREATE = /^(?:\/models\/[\w.-]+\/([\w.-]+))?\/predictions$/;
const ONE = /^\/predictions\/([\w-]+)(\/cancel)?$/;

const wording: Wording = {
  error(status, kind, prompt) {
    const title =
      kind === 'model' ? 'Invalid version or not permitted' : 'The text of this provider, not to be passed on';
    return { status, json: { title, detail: title, status }, headers: rejectionHeaders(status, prompt) };
  },
};

/** Answers one request below `/replicate/v1`. */
export async function handleReplicate(room: Room, incoming: Incoming): Promise<Reply> {
  const { method, path, body } = incoming;
  const create = CREATE.exec(path);
  if (method === 'POST' && create !== null) {
    const prompt = textOf(body['input'], 'prompt');
    const behaviour = readBehaviour(prompt);
    const reject = (status: number, kind: 'model' | 'other' = 'other'): Reply => {
      room.log({ protocol: 'replicate', kind: 'rejected', prompt, status });
      return wording.error(status, kind, prompt);
    };
    const model = create[1] ?? textOf(body, 'version');
    if (model === '' || model === 'missing-model') return reject(422, 'model');
    if (behaviour.rejectStatus > 0) return reject(behaviour.rejectStatus);
    if (room.jobs.isStillRejected('replicate', prompt)) return reject(503);
    const hookUrl = textOf(body, 'webhook');
    const job = room.jobs.create('replicate', prompt, hookUrl === '' ? {} : { hookUrl });
    return answerSubmit(job, { status: 201, json: { ...prediction(room, job), status: 'starting' } }, wording);
  }

  const [, id = '', cancel] = ONE.exec(path) ?? [];
  const job = room.jobs.find('replicate', id);
  if (job === undefined) return wording.error(404, 'other');
  const identity = { protocol: 'replicate', jobId: job.id, prompt: job.prompt } as const;
  if (method === 'POST' && cancel !== undefined) {
    room.log({ kind: 'cancel', ...identity });
    job.cancel();
    return { status: 200, json: prediction(room, job) };
  }
  if (method !== 'GET' || cancel !== undefined) return wording.error(405, 'other');
  room.log({ kind: 'poll', ...identity });
  if (job.pollFailuresLeft-- > 0) return wording.error(500, 'other');
  if (job.behaviour.answersPollsWithHtml) return { status: 200, html: '<!doctype html><title>One moment</title>' };
  if (job.behaviour.answersPollsWithOtherTypes) return { status: 200, json: OTHER_TYPES };
  const { pollAfterSeconds } = job.behaviour;
  const asksForMore = pollAfterSeconds > 0 && job.state === 'running';
  return {
    status: 200,
    json: prediction(room, job),
    headers: asksForMore ? { 'retry-after': String(pollAfterSeconds) } : {},
  };
}

function prediction(room: Room, job: Job): Record<string, unknown> {
  const { isFailing, isContentRejected, hasNoOutput } = job.behaviour;
  const common = {
    id: job.id,
    model: 'test/image',
    input: { prompt: job.prompt },
    created_at: new Date(job.createdAt),
  };
  if (job.state === 'running') return { ...common, status: 'processing', output: null, error: null };
  if (job.state === 'cancelled') return { ...common, status: 'canceled', output: null, error: null };
  if (isContentRejected) {
    const error = 'The input or output was flagged as sensitive. (E005)';
    return { ...common, status: 'failed', output: null, error };
  }
  if (isFailing) return { ...common, status: 'failed', output: null, error: 'CUDA out of memory at /src/predict.py' };
  return { ...common, status: 'succeeded', output: hasNoOutput ? null : [room.fileUrl(job)], error: null };
}
