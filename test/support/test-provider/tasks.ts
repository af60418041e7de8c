/** Simulates our own API (spec §2 to §4): asynchronous, cancellable, with idempotency keys. */
import { readBehaviour } from './behaviour.ts';
import type { Job } from './jobs.ts';
import { answerSubmit, OTHER_TYPES, rejectionHeaders, textOf } from './protocol.ts';
import type { Incoming, Reply, Room, Wording } from './protocol.ts';

const ONE = /^\/tasks\/([\w-]+)(\/cancel)?$/;

const wording: Wording = {
  error(status, kind, prompt) {
    const message = 'The text of this provider, which no one may pass on.';
    const errorCode = kind === 'model' ? 'MODEL_UNAVAILABLE' : status === 429 ? 'RATE_LIMITED' : 'INVALID_REQUEST';
    return {
      status,
      json: { code: status, message, data: null, error_code: errorCode },
      headers: rejectionHeaders(status, prompt),
    };
  },
};

function success(data: unknown, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status: 200, json: { code: 200, message: 'success', data, error_code: '' }, headers };
}

/** Answers one request below `/tasks/v1`. */
export async function handleTasks(room: Room, incoming: Incoming): Promise<Reply> {
  const { method, path, body, headers } = incoming;
  if (method === 'POST' && path === '/tasks') {
    const prompt = textOf(body['input'], 'prompt');
    const behaviour = readBehaviour(prompt);
    const key = typeof headers['idempotency-key'] === 'string' ? headers['idempotency-key'] : undefined;
    const keyed = key === undefined ? {} : { idempotencyKey: key };
    const known = key === undefined ? undefined : room.jobs.findByKey(key);
    if (known !== undefined) {
      if (known.prompt !== prompt) {
        room.log({ protocol: 'tasks', kind: 'rejected', prompt, status: 422, ...keyed });
        return { status: 422, json: { code: 422, message: '', data: null, error_code: 'IDEMPOTENCY_KEY_MISMATCH' } };
      }
      room.log({ protocol: 'tasks', kind: 'replay', jobId: known.id, prompt, ...keyed });
      return success({ taskId: known.id }, { 'idempotent-replay': 'true' });
    }
    const reject = (status: number, kind: 'model' | 'other' = 'other'): Reply => {
      room.log({ protocol: 'tasks', kind: 'rejected', prompt, status, ...keyed });
      return wording.error(status, kind, prompt);
    };
    if (textOf(body, 'model') === 'missing-model') return reject(400, 'model');
    if (behaviour.rejectStatus > 0) return reject(behaviour.rejectStatus);
    if (room.jobs.isStillRejected('tasks', prompt)) return reject(503);
    const job = room.jobs.create('tasks', prompt, { idempotencyKey: key });
    return answerSubmit(job, success({ taskId: job.id }), wording);
  }

  const [, id = '', cancel] = ONE.exec(path) ?? [];
  const job = room.jobs.find('tasks', id);
  if (job === undefined) return wording.error(404, 'other');
  const identity = {
    protocol: 'tasks',
    jobId: job.id,
    prompt: job.prompt,
    ...(job.idempotencyKey === undefined ? {} : { idempotencyKey: job.idempotencyKey }),
  } as const;
  if (method === 'POST' && cancel !== undefined) {
    room.log({ kind: 'cancel', ...identity });
    if (job.behaviour.leavesCancelsUnanswered) {
      await incoming.abandoned;
      return 'drop';
    }
    job.cancel();
    return success(detail(room, job));
  }
  if (method !== 'GET' || cancel !== undefined) return wording.error(405, 'other');
  room.log({ kind: 'poll', ...identity });
  if (job.pollFailuresLeft-- > 0) return wording.error(500, 'other');
  if (job.behaviour.answersPollsWithHtml) return { status: 200, html: '<!doctype html><title>One moment</title>' };
  if (job.behaviour.answersPollsWithOtherTypes) return { status: 200, json: OTHER_TYPES };
  const pollAfterSeconds = job.behaviour.pollAfterSeconds || 1;
  return success(detail(room, job), job.state === 'running' ? { 'retry-after': String(pollAfterSeconds) } : {});
}

function detail(room: Room, job: Job): Record<string, unknown> {
  const common = { taskId: job.id, created: Math.floor(job.createdAt / 1000) };
  const { billedUsd } = job.behaviour;
  const billing =
    billedUsd === undefined ? {} : { billing: { currency: 'USD', held: '1', captured: billedUsd, released: '0' } };
  const fail = (code: string, reason: string): Record<string, unknown> => ({
    ...common,
    status: 'fail',
    error: { code, reason, message: 'The text of this provider, which no one may pass on.' },
    ...billing,
  });
  if (job.state === 'running') return { ...common, status: 'handling', progress: 0.5 };
  if (job.state === 'cancelled') return fail('TASK_CANCELLED', 'cancelled');
  if (job.behaviour.isContentRejected) return fail('TASK_FAILED', 'content_rejected');
  if (job.behaviour.isFailing || job.behaviour.isFailingAsTask) return fail('TASK_FAILED', 'provider_error');
  const url = room.fileUrl(job);
  const expireAt = common.created + 1800;
  const output = [
    { url, expireAt, type: 'image' },
    { url, expireAt, type: 'thumbnail' },
  ];
  return { ...common, ...billing, status: 'success', output: job.behaviour.hasNoOutput ? [] : output };
}
