/**
 * Simulates Runway's tasks, as specified in its API reference: created, polled, and cancelled by deleting them, which
 * also removes finished ones. No idempotency keys.
 */
import { readBehaviour } from './behaviour.ts';
import type { Job } from './jobs.ts';
import { answerSubmit, OTHER_TYPES, rejectionHeaders, textOf } from './protocol.ts';
import type { Incoming, Reply, Room, Wording } from './protocol.ts';

const ONE = /^\/tasks\/([\w-]+)$/;
const TEXT = 'The text of this provider, which no one may pass on.';

const wording: Wording = {
  error(status, kind, prompt) {
    const issues = kind === 'model' ? [{ code: 'invalid_value', path: ['model'], message: TEXT }] : [];
    return { status, json: { error: TEXT, issues }, headers: rejectionHeaders(status, prompt) };
  },
};

/** Answers one request below `/runway/v1`. */
export async function handleRunway(room: Room, incoming: Incoming): Promise<Reply> {
  const { method, path, body, headers } = incoming;
  if (headers['x-runway-version'] === undefined) return wording.error(400, 'other');
  if (method === 'POST' && path === '/text_to_video') {
    const prompt = textOf(body, 'promptText');
    const behaviour = readBehaviour(prompt);
    const reject = (status: number, kind: 'model' | 'other' = 'other'): Reply => {
      room.log({ protocol: 'runway', kind: 'rejected', prompt, status });
      return wording.error(status, kind, prompt);
    };
    if (textOf(body, 'model') === 'missing-model') return reject(400, 'model');
    if (behaviour.rejectStatus > 0) return reject(behaviour.rejectStatus);
    if (room.jobs.isStillRejected('runway', prompt)) return reject(503);
    const job = room.jobs.create('runway', prompt, { fields: body });
    return answerSubmit(job, { status: 200, json: { id: job.id } }, wording);
  }

  const job = room.jobs.find('runway', ONE.exec(path)?.[1] ?? '');
  if (job === undefined || job.isDeleted) return wording.error(404, 'other');
  const identity = { protocol: 'runway', jobId: job.id, prompt: job.prompt } as const;
  if (method === 'DELETE') {
    room.log({ kind: 'cancel', ...identity });
    job.cancel();
    job.isDeleted = true;
    return { status: 204, json: undefined };
  }
  if (method !== 'GET') return wording.error(405, 'other');
  room.log({ kind: 'poll', ...identity });
  if (job.pollFailuresLeft-- > 0) return wording.error(500, 'other');
  if (job.behaviour.answersPollsWithHtml) return { status: 200, html: '<!doctype html><title>One moment</title>' };
  if (job.behaviour.answersPollsWithOtherTypes) return { status: 200, json: OTHER_TYPES };
  return { status: 200, json: task(room, job) };
}

function task(room: Room, job: Job): Record<string, unknown> {
  const common = { id: job.id, createdAt: new Date(job.createdAt) };
  if (job.state === 'running') return { ...common, status: 'RUNNING', progress: 0.5 };
  if (job.behaviour.isContentRejected)
    return { ...common, status: 'FAILED', failure: TEXT, failureCode: 'SAFETY.INPUT.TEXT' };
  if (job.behaviour.isFailing) {
    return { ...common, status: 'FAILED', failure: 'CUDA out of memory at /src/predict.py', failureCode: 'INTERNAL' };
  }
  return { ...common, status: 'SUCCEEDED', output: job.behaviour.hasNoOutput ? [] : [room.fileUrl(job)] };
}
